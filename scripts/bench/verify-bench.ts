/**
 * Proving the history of a whole brain, with a recall in it: seconds, and how long it takes for each record (an event
 * or a row that names one). The baseline is the chain alone, recomputed event by event.
 */
import { copyFileSync } from "node:fs";
import { systemClock } from "../../src/core/clock.ts";
import { commitRecall } from "../../src/recall/recall.ts";
import { settleRecalls } from "../../src/remember/settle.ts";
import { Store } from "../../src/store/store.ts";
import { verifyHistory } from "../../src/store/verify.ts";
import { type BenchReport, formatGrowth, type Progress } from "./figures.ts";
import type { BrainShelf } from "./shelf.ts";

interface VerifyFigures {
  readonly nodes: number;
  readonly records: number;
  readonly chainMs: number;
  readonly verifyMs: number;
  readonly microsecondsPerRecord: number;
}

/** @throws DormouseError as Store does; Error when a brain of our own does not verify */
export async function benchVerify(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const figures: VerifyFigures[] = [];
  for (const nodes of sizes) {
    const path = shelf.pathOf(`verify-${nodes}.db`);
    copyFileSync(await shelf.brainOf(nodes), path);
    onProgress(`verifying ${nodes} thoughts`);
    figures.push(measureVerify(path, nodes));
  }
  const values = figures.map(({ nodes, verifyMs }) => ({ nodes, value: verifyMs }));
  return {
    name: "verify",
    title: "proof of the whole history",
    head: ["thoughts", "records", "chain alone, s", "verify, s", "µs a record", "growth"],
    rows: figures.map((row, index) => [
      String(row.nodes),
      String(row.records),
      (row.chainMs / 1_000).toFixed(2),
      (row.verifyMs / 1_000).toFixed(2),
      row.microsecondsPerRecord.toFixed(1),
      formatGrowth(values, index),
    ]),
    notes: ["A record is an event, or a row beside its event. Growth is for each doubling of the brain."],
    figures,
  };
}

function measureVerify(path: string, nodes: number): VerifyFigures {
  const store = Store.open(path, systemClock);
  try {
    const first = store.connection.values<number>("SELECT min(node_id) FROM source").get();
    if (first !== undefined) {
      commitRecall(store, { ids: [store.thoughts.publicId(first)] });
      settleRecalls(store, "person");
    }
    const beforeChain = performance.now();
    const firstBreak = store.ledger.firstBreak();
    const chainMs = performance.now() - beforeChain;
    const before = performance.now();
    const { ok, events, rows } = verifyHistory(store);
    const verifyMs = performance.now() - before;
    if (!ok || firstBreak !== null) throw new Error("a brain of the bench does not verify");
    const records = events + rows;
    return { nodes, records, chainMs, verifyMs, microsecondsPerRecord: (1_000 * verifyMs) / records };
  } finally {
    store.close();
  }
}
