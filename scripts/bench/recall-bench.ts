/**
 * What the cells of the vector index cost and save, on vectors of real texts: recall of the ten nearest against
 * the exact answer, latency beside reading every row and beside sqlite-vec's own search, and the shelving itself.
 */
import type { Embedder } from "../../src/core/ports.ts";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import { type PhaseReport, runSleep } from "../../src/sleep/cycle.ts";
import { Store } from "../../src/store/store.ts";
import { percentile } from "../statistics.ts";

import { type BenchReport, formatGrowth, type Progress } from "./figures.ts";
import { loadRealTexts } from "./real-texts.ts";
import type { BrainShelf } from "./shelf.ts";

const QUESTIONS = 200;
/** Questions by which the exact searches are timed; the others are asked once, for the truth. */
const EXACT_QUESTIONS = 60;
const WARM_UP = 10;
/** Recall is of so many; a search asks the vector channel for CANDIDATES. */
const K = 10;
const CANDIDATES = 40;
const BATCH = 1_000;

interface RecallFigures {
  readonly nodes: number;
  readonly cells: number;
  readonly recallAt10: number;
  readonly cellsMs: readonly number[];
  readonly exactMs: readonly number[];
  readonly sqliteVecMs: readonly number[];
  readonly shelvingSeconds: number;
  readonly againSeconds: number;
}

/** @throws DormouseError as Store does; Error when the texts do not suffice. */
export async function benchRecall(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const { texts, questions } = loadRealTexts(Math.max(...sizes), QUESTIONS);
  const embedder = createBuiltinEmbedder();
  const queries: Int8Array[] = [];
  for (const question of questions) queries.push(await embedder.embedQuery(question));
  const measured: RecallFigures[] = [];
  for (const nodes of sizes) {
    onProgress(`embedding ${nodes} real texts`);
    const store = Store.open(shelf.pathOf(`recall-${nodes}.db`), { now: () => Date.now() }, { create: true });
    try {
      await fill(store, texts.slice(0, nodes), embedder);
      onProgress(`asking ${nodes} vectors`);
      measured.push(await measure(store, nodes, queries, embedder, onProgress));
    } finally {
      store.close();
    }
  }
  return report(measured);
}

/** Rows of the vector index alone: neither nodes nor words are asked here. */
async function fill(store: Store, texts: readonly string[], embedder: Embedder): Promise<void> {
  store.write(() => store.models.use(embedder.model));
  const scope = BigInt(store.scopes.idOf());
  const insert = store.connection.db.prepare(
    `INSERT INTO ${store.models.required().vecTable} (scope, kind, domain, hidden, node_id, cell, embedding)
     VALUES (?, 1, 0, 0, ?, 0, vec_int8(?))`,
  );
  for (let start = 0; start < texts.length; start += BATCH) {
    const vectors = await embedder.embedPassages(texts.slice(start, start + BATCH));
    store.write(() => {
      for (const [index, vector] of vectors.entries()) insert.run(scope, BigInt(start + index + 1), bytesOf(vector));
    });
  }
}

async function measure(
  store: Store,
  nodes: number,
  queries: readonly Int8Array[],
  embedder: Embedder,
  onProgress: Progress,
): Promise<RecallFigures> {
  const exactMs: number[] = [];
  const sqliteVecMs: number[] = [];
  const plain = store.connection.db.prepare(
    `SELECT node_id FROM ${store.models.required().vecTable}
     WHERE embedding MATCH vec_int8(?) AND k = ${CANDIDATES} AND hidden = 0`,
  );
  for (const [index, query] of queries.slice(0, EXACT_QUESTIONS + WARM_UP).entries()) {
    const exact = elapsed(() => nearest(store, query, CANDIDATES, true));
    const sqliteVec = elapsed(() => plain.all(bytesOf(query)));
    if (index < WARM_UP) continue;
    exactMs.push(exact);
    sqliteVecMs.push(sqliteVec);
  }
  onProgress(`shelving ${nodes} vectors`);
  const first = await shelve(store, embedder);
  const again = await shelve(store, embedder);
  const cellsMs: number[] = [];
  let found = 0;
  let wanted = 0;
  for (const [index, query] of queries.entries()) {
    const took = elapsed(() => nearest(store, query, CANDIDATES, false));
    if (index >= WARM_UP) cellsMs.push(took);
    const truth = nearest(store, query, K, true).neighbors;
    // Copies at the distance of the tenth are as good as the tenth.
    const least = truth.at(-1)?.cosine ?? 1;
    found += nearest(store, query, K, false).neighbors.filter(({ cosine }) => cosine >= least).length;
    wanted += truth.length;
  }
  return {
    nodes,
    cells: first.details?.cells ?? 0,
    recallAt10: found / wanted,
    cellsMs,
    exactMs,
    sqliteVecMs,
    shelvingSeconds: first.tookMs / 1000,
    againSeconds: again.tookMs / 1000,
  };
}

function nearest(store: Store, query: Int8Array, k: number, exact: boolean) {
  return store.vectors.nearest(query, k, { scopeIds: store.scopes.readableIds(), ...(exact ? { exact } : {}) });
}

/** Cells are made at any size, so that their cost is seen where search does without them, too. */
async function shelve(store: Store, embedder: Embedder): Promise<PhaseReport> {
  const { phases } = await runSleep(store, embedder, { phases: ["shelve"], config: { shelveMinVectors: 1 } });
  const [phase] = phases;
  if (phase === undefined || phase.error !== undefined) throw new Error("shelving failed");
  return phase;
}

function report(measured: readonly RecallFigures[]): BenchReport {
  const kinds = [
    ["cells", "cellsMs"],
    ["every row", "exactMs"],
    ["every row, sqlite-vec", "sqliteVecMs"],
  ] as const;
  return {
    name: "recall",
    title: `vectors of real texts, the ${CANDIDATES} nearest, milliseconds`,
    head: ["what", "vectors", "recall@10", "p50", "p95", "p95 a doubling", "shelving s", "again s"],
    rows: kinds.flatMap(([title, kind]) => {
      const p95s = measured.map((entry) => ({ nodes: entry.nodes, value: percentile(entry[kind], 0.95) }));
      return measured.map((entry, index) => [
        title,
        String(entry.nodes),
        kind === "cellsMs" ? entry.recallAt10.toFixed(3) : "1",
        percentile(entry[kind], 0.5).toFixed(2),
        percentile(entry[kind], 0.95).toFixed(2),
        formatGrowth(p95s, index),
        kind === "cellsMs" ? entry.shelvingSeconds.toFixed(1) : "",
        kind === "cellsMs" ? entry.againSeconds.toFixed(2) : "",
      ]);
    }),
    notes: [
      "sentences of WordNet and of the installed packages' documentation, and windows of them; questions are sentences left out",
      "recall@10: share of the ten nearest by every row that the cells gave too",
      "again: shelving once more with nothing new",
    ],
    figures: measured.map(({ cellsMs, exactMs, sqliteVecMs, ...entry }) => ({
      ...entry,
      ...Object.fromEntries(
        Object.entries({ cellsMs, exactMs, sqliteVecMs }).map(([name, times]) => [
          name,
          { p50: percentile(times, 0.5), p95: percentile(times, 0.95) },
        ]),
      ),
    })),
  };
}

function elapsed(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

function bytesOf(vector: Int8Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
