/**
 * How many thoughts a second `remember` writes, durable, with the built-in embedder: in batches and one by
 * one. Beside it the same texts as rows of one plain table, which shows what the disk alone costs.
 */
import Database from "better-sqlite3";
import { Brain } from "../../src/app.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { BATCH, generateTurns } from "./brain-files.ts";
import type { BenchReport, Progress } from "./figures.ts";
import type { BrainShelf } from "./shelf.ts";

const ONE_BY_ONE = 1_000;

interface IngestFigures {
  readonly nodes: number;
  /** Thoughts of one durable commit. */
  readonly batch: number;
  readonly perSecond: number;
  /** The same over the last tenth, when the brain is at its largest. */
  readonly lastPerSecond: number;
  readonly plainPerSecond: number;
}

/** @throws DormouseError as Brain does. */
export async function benchIngest(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const measured: IngestFigures[] = [];
  for (const nodes of sizes) {
    for (const [batch, count] of [
      [BATCH, nodes],
      [1, Math.min(nodes, ONE_BY_ONE)],
    ] as const) {
      onProgress(`remembering ${count} thoughts, ${batch} at a time`);
      const turns = [...generateTurns(count)];
      const groups = Array.from({ length: Math.ceil(count / batch) }, (_, at) =>
        turns.slice(at * batch, (at + 1) * batch),
      );
      const seconds = await timeBrain(shelf.pathOf(`ingest-${nodes}-${batch}.db`), groups);
      const plain = timePlainTable(shelf.pathOf(`plain-${nodes}-${batch}.db`), groups);
      const last = Math.max(1, Math.floor(groups.length / 10));
      measured.push({
        nodes: count,
        batch,
        perSecond: rate(groups, seconds),
        lastPerSecond: rate(groups.slice(-last), seconds.slice(-last)),
        plainPerSecond: rate(groups, plain),
      });
    }
  }
  return {
    name: "ingest",
    title: "ingest, durable, built-in embedder, thoughts a second",
    head: ["a commit", "thoughts", "thoughts/s", "last tenth", "plain table"],
    rows: measured.map(({ batch, nodes, perSecond, lastPerSecond, plainPerSecond }) => [
      batch === 1 ? "1 thought" : `${batch} thoughts`,
      String(nodes),
      perSecond.toFixed(0),
      lastPerSecond.toFixed(0),
      plainPerSecond.toFixed(0),
    ]),
    notes: ["plain table: the texts alone as rows of one SQLite table, flushed to disk at the same commits"],
    figures: measured,
  };
}

/** Seconds of each group. */
async function timeBrain(path: string, groups: readonly (readonly RememberInput[])[]): Promise<number[]> {
  const brain = Brain.open({ path, create: true });
  try {
    // The embedder's table is read at the first use; that is start-up, not ingest.
    await brain.remember({ content: "a first thought that loads the table of the embedder" });
    const seconds: number[] = [];
    for (const group of groups) {
      const started = performance.now();
      await brain.rememberAll(group);
      seconds.push((performance.now() - started) / 1000);
    }
    return seconds;
  } finally {
    brain.close();
  }
}

function timePlainTable(path: string, groups: readonly (readonly RememberInput[])[]): number[] {
  const db = new Database(path);
  try {
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = FULL");
    if (process.platform === "darwin") db.pragma("fullfsync = ON");
    db.exec("CREATE TABLE plain (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT");
    const insert = db.prepare("INSERT INTO plain (body) VALUES (?)");
    const write = db.transaction((group: readonly RememberInput[]) => {
      for (const { content } of group) insert.run(content);
    });
    return groups.map((group) => {
      const started = performance.now();
      write.immediate(group);
      return (performance.now() - started) / 1000;
    });
  } finally {
    db.close();
  }
}

function rate(groups: readonly (readonly unknown[])[], seconds: readonly number[]): number {
  const thoughts = groups.reduce((sum, group) => sum + group.length, 0);
  return thoughts / seconds.reduce((sum, value) => sum + value, 0);
}
