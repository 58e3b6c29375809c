/**
 * Search latency, file size and memory by brain size, beside a plain baseline and, when one is given, a peer.
 * Every question goes to each of them in turn, so that a busy machine slows them alike.
 */
import { statSync } from "node:fs";
import { percentile } from "../statistics.ts";
import { generateTurns } from "./brain-files.ts";
import { type BenchReport, formatGrowth, type Progress } from "./figures.ts";
import { makeQuestions, QUESTION_SHAPES, type QuestionShape } from "./questions.ts";
import type { AskedQuestion, SearchTimes } from "./searcher-process.ts";
import { type Peer, type Searcher, startPeer, startSearcher } from "./searchers.ts";
import type { BrainShelf } from "./shelf.ts";

const QUESTIONS = 300;
/** Questions before the first that counts: statements are compiled, pages read. */
const WARM_UP = 25;
const K = 10;
/** A peer is handed texts no longer than this, however many it took by then. */
const PEER_FILL_MS = 180_000;
const TENFOLD = 10;
const MIB = 2 ** 20;

/** One searcher over one brain. */
interface Measured {
  readonly name: string;
  readonly nodes: number;
  readonly times: readonly { readonly shape: QuestionShape; readonly times: SearchTimes }[];
  readonly fileBytes: number | null;
  readonly peakBytes: number | null;
}

/**
 * @param peerCommand a command as `startPeer` takes it; null: no peer
 * @throws Error when a searcher fails; DormouseError as Brain does.
 */
export async function benchSearch(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
  peerCommand: string | null = null,
): Promise<BenchReport> {
  const measured: Measured[] = [];
  const notes: string[] = [];
  for (const nodes of sizes) {
    const path = await shelf.brainOf(nodes);
    const baselinePath = await shelf.baselineOf(nodes);
    const peer = peerCommand === null ? null : startPeer(peerCommand, K);
    if (peer !== null) notes.push(await fillPeer(peer, nodes, onProgress));
    onProgress(`searching ${nodes} thoughts`);
    const { entries, failures } = await measure(path, baselinePath, peer, nodes);
    measured.push(...entries.filter(({ times }) => times.length > 0));
    if (failures.length > 0) notes.push(`the peer failed at ${failures.length} questions: ${failures[0] ?? ""}`);
  }
  return {
    name: "search",
    title: `search, ${K} results, milliseconds`,
    head: ["what", "thoughts", "p50", "p95", "p95 a tenfold", "file MiB", "peak MiB"],
    rows: formatRows(measured),
    notes: [
      `${QUESTIONS} questions of ${QUESTION_SHAPES.length} shapes in turn, after ${WARM_UP} to warm up; each shape has its row`,
      "with access noted: the whole call, with embedding and the durable note of what was read",
      "baseline: full scan by sqlite-vec and FTS5 with its bm25, ten best of each, embedding excluded, nothing fused, no filter",
      ...notes,
    ],
    figures: measured.map(({ name, nodes, times, fileBytes, peakBytes }) => ({
      name,
      nodes,
      fileBytes,
      peakBytes,
      excludingEmbeddingMs: spread(times.map((entry) => entry.times.excludingEmbeddingMs)),
      withAccessMs: spread(times.map((entry) => entry.times.withAccessMs)),
      shapes: Object.fromEntries(QUESTION_SHAPES.map((shape) => [shape, spread(ofShape(times, shape))])),
    })),
  };
}

async function fillPeer(peer: Peer, nodes: number, onProgress: Progress): Promise<string> {
  onProgress(`handing the peer up to ${nodes} texts`);
  const { texts, ms } = await peer.fill(contents(nodes), PEER_FILL_MS);
  return `the peer beside ${nodes} thoughts holds ${texts} of the texts, taken in ${(ms / 1000).toFixed(0)} s`;
}

function* contents(nodes: number): Generator<string> {
  for (const { content } of generateTurns(nodes)) yield content;
}

async function measure(
  path: string,
  baselinePath: string,
  peer: Searcher | null,
  nodes: number,
): Promise<{ entries: Measured[]; failures: string[] }> {
  const searchers = [
    { name: "dormouse", searcher: startSearcher({ kind: "brain", path }), file: path },
    { name: "baseline", searcher: startSearcher({ kind: "baseline", path: baselinePath }), file: baselinePath },
    ...(peer === null ? [] : [{ name: "peer", searcher: peer, file: null }]),
  ];
  const failures: string[] = [];
  const timesOf = new Map(searchers.map(({ name }) => [name, [] as { shape: QuestionShape; times: SearchTimes }[]]));
  for (const [index, { shape, query, filters }] of makeQuestions(path, QUESTIONS + WARM_UP).entries()) {
    for (const { name, searcher } of searchers) {
      const times = await askOnce(searcher, name, { query, filters }, failures);
      if (times !== null && index >= WARM_UP) timesOf.get(name)?.push({ shape, times });
    }
  }
  const measured: Measured[] = [];
  for (const { name, searcher, file } of searchers) {
    const peakBytes = await searcher.end();
    const fileBytes = file === null ? null : statSync(file).size;
    measured.push({ name, nodes, times: timesOf.get(name) ?? [], fileBytes, peakBytes });
  }
  return { entries: measured, failures };
}

/** A question that a peer fails at is counted against it and gives no time; one of ours ends the bench. */
async function askOnce(
  searcher: Searcher,
  name: string,
  question: AskedQuestion,
  failures: string[],
): Promise<SearchTimes | null> {
  try {
    return await searcher.ask(question);
  } catch (error) {
    if (name !== "peer") throw error;
    failures.push(error instanceof Error ? error.message : String(error));
    return null;
  }
}

function formatRows(measured: readonly Measured[]): string[][] {
  const names = [...new Set(measured.map(({ name }) => name))];
  return names.flatMap((name) => {
    const ofName = measured.filter((entry) => entry.name === name);
    const lines: (readonly [string, (entry: Measured) => number[]])[] = [
      [name, ({ times }) => times.map((entry) => entry.times.excludingEmbeddingMs)],
      ...QUESTION_SHAPES.map((shape) => [`  ${shape}`, ({ times }: Measured) => ofShape(times, shape)] as const),
      ["  with access noted", ({ times }) => times.map((entry) => entry.times.withAccessMs)],
    ];
    return lines.flatMap(([title, sampleOf], line) => {
      const ofLine = ofName.filter((entry) => sampleOf(entry).length > 0);
      const p95s = ofLine.map((entry) => ({ nodes: entry.nodes, value: percentile(sampleOf(entry), 0.95) }));
      return ofLine.map((entry, index) => [
        title,
        String(entry.nodes),
        percentile(sampleOf(entry), 0.5).toFixed(2),
        percentile(sampleOf(entry), 0.95).toFixed(2),
        formatGrowth(p95s, index, TENFOLD),
        line === 0 ? formatMebibytes(entry.fileBytes) : "",
        line === 0 ? formatMebibytes(entry.peakBytes) : "",
      ]);
    });
  });
}

function ofShape(times: Measured["times"], wanted: QuestionShape): number[] {
  return times.filter(({ shape }) => shape === wanted).map((entry) => entry.times.excludingEmbeddingMs);
}

function spread(sample: readonly number[]): { readonly p50: number; readonly p95: number } | null {
  if (sample.length === 0) return null;
  return { p50: percentile(sample, 0.5), p95: percentile(sample, 0.95) };
}

function formatMebibytes(bytes: number | null): string {
  return bytes === null ? "" : (bytes / MIB).toFixed(0);
}
