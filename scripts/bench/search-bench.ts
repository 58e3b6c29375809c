/**
 * Search latency by brain size, beside the plainest thing that could answer: a full scan of the vectors and
 * FTS5's own bm25, ten best each, not fused. Both take turns at every query, in one process.
 */
import Database from "better-sqlite3";
import * as sqliteVec from "sqlite-vec";
import { Brain } from "../../src/app.ts";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import { asIndexed } from "../../src/store/thoughts.ts";
import { percentile } from "../statistics.ts";
import { type BrainShelf, createTimedEmbedder, generateTurns } from "./brain-files.ts";
import { type BenchReport, formatGrowth, type Progress } from "./figures.ts";
import { createTextSource } from "./texts.ts";

const QUERIES = 300;
/** Queries before the first that counts: statements are compiled, pages read. */
const WARM_UP = 20;
const K = 10;
const QUERY_SEED = 7;
const BASELINE_BATCH = 1_000;

/** Milliseconds of each query. */
interface Times {
  readonly excluded: number[];
  readonly included: number[];
  readonly noted: number[];
  readonly baseline: number[];
}

/** @throws DormouseError as Brain does. */
export async function benchSearch(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const measured: { nodes: number; times: Times }[] = [];
  for (const nodes of sizes) {
    const path = await shelf.brainOf(nodes);
    onProgress(`making the baseline of ${nodes} texts`);
    const baseline = await openBaseline(shelf.pathOf(`baseline-${nodes}.db`), nodes);
    onProgress(`searching ${nodes} thoughts`);
    measured.push({ nodes, times: await timeQueries(path, nodes, baseline) });
    baseline.close();
  }
  const kinds = [
    ["embedding excluded", "excluded"],
    ["embedding included", "included"],
    ["with access noted", "noted"],
    ["baseline", "baseline"],
  ] as const;
  const rows = kinds.flatMap(([title, kind]) => {
    const p95s = measured.map(({ nodes, times }) => ({ nodes, value: percentile(times[kind], 0.95) }));
    return measured.map(({ nodes, times }, index) => [
      title,
      String(nodes),
      percentile(times[kind], 0.5).toFixed(2),
      percentile(times[kind], 0.95).toFixed(2),
      formatGrowth(p95s, index),
    ]);
  });
  return {
    name: "search",
    title: `search, ${K} results, milliseconds`,
    head: ["what", "thoughts", "p50", "p95", "p95 a doubling"],
    rows,
    notes: [
      `${QUERIES} queries of words of the texts, after ${WARM_UP} to warm up`,
      "with access noted: the whole call, with the durable note of what was read",
      "baseline: full scan by sqlite-vec and FTS5 with its bm25, ten best of each, embedding excluded, nothing fused",
    ],
    figures: measured.map(({ nodes, times }) => ({
      nodes,
      ...Object.fromEntries(
        kinds.map(([, kind]) => [
          `${kind}Ms`,
          { p50: percentile(times[kind], 0.5), p95: percentile(times[kind], 0.95) },
        ]),
      ),
    })),
  };
}

async function timeQueries(path: string, nodes: number, baseline: Baseline): Promise<Times> {
  const embedder = createTimedEmbedder();
  const brain = Brain.open({ path, embedder });
  const times: Times = { excluded: [], included: [], noted: [], baseline: [] };
  try {
    for (const [index, query] of makeQueries(nodes, QUERIES + WARM_UP).entries()) {
      embedder.takeMs();
      const started = performance.now();
      const { tookMs } = await brain.search(query, { k: K });
      const noted = performance.now() - started;
      const embedding = embedder.takeMs();
      const plain = baseline.search(query, await embedder.embedQuery(query));
      if (index < WARM_UP) continue;
      times.excluded.push(tookMs - embedding);
      times.included.push(tookMs);
      times.noted.push(noted);
      times.baseline.push(plain);
    }
  } finally {
    brain.close();
  }
  return times;
}

/** Queries about texts from all over the brain. */
function makeQueries(nodes: number, count: number): string[] {
  const stride = Math.max(1, Math.floor(nodes / count));
  const texts: string[] = [];
  let index = 0;
  for (const { content } of generateTurns(nodes)) if (index++ % stride === 0) texts.push(content);
  const { queryFor } = createTextSource(QUERY_SEED);
  return Array.from({ length: count }, (_, at) => queryFor(texts[at % texts.length] ?? ""));
}

interface Baseline {
  /** Milliseconds that both searches took. */
  search(query: string, vector: Int8Array): number;
  close(): void;
}

async function openBaseline(path: string, nodes: number): Promise<Baseline> {
  const embedder = createBuiltinEmbedder();
  const db = new Database(path);
  sqliteVec.load(db);
  db.pragma("journal_mode = WAL");
  db.exec(`CREATE VIRTUAL TABLE words USING fts5(body);
    CREATE VIRTUAL TABLE vectors USING vec0(id INTEGER PRIMARY KEY, embedding int8[${embedder.model.dimensions}])`);
  const addWords = db.prepare("INSERT INTO words (rowid, body) VALUES (?, ?)");
  const addVector = db.prepare("INSERT INTO vectors (id, embedding) VALUES (?, vec_int8(?))");
  let texts: string[] = [];
  let id = 0;
  const flush = async () => {
    const vectors = await embedder.embedPassages(texts);
    const write = db.transaction(() => {
      for (const [index, text] of texts.entries()) {
        id++;
        addWords.run(id, text);
        addVector.run(BigInt(id), bytesOf(vectors[index] ?? new Int8Array(embedder.model.dimensions)));
      }
    });
    write();
    texts = [];
  };
  for (const { content, speaker } of generateTurns(nodes)) {
    texts.push(asIndexed({ speaker: speaker ?? null, heading: null }, content));
    if (texts.length === BASELINE_BATCH) await flush();
  }
  await flush();
  const byWords = db.prepare(`SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ${K}`);
  const byVector = db.prepare(`SELECT id FROM vectors WHERE embedding MATCH vec_int8(?) AND k = ${K}`);
  return {
    search(query, vector) {
      const started = performance.now();
      byWords.all(toPlainMatch(query));
      byVector.all(bytesOf(vector));
      return performance.now() - started;
    },
    close: () => db.close(),
  };
}

/** Any of the words, each as a string of FTS5. */
function toPlainMatch(query: string): string {
  return [...new Set(query.match(/[a-z']+/gi) ?? [])].map((word) => `"${word}"`).join(" OR ");
}

function bytesOf(vector: Int8Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
