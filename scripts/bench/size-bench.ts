/**
 * What a thought takes on disk, by table and index, beside the bytes of its text. Reads the pages of a file
 * that nobody writes.
 */
import Database from "better-sqlite3";
import { generateTurns } from "./brain-files.ts";
import type { BenchReport, Progress } from "./figures.ts";
import type { BrainShelf } from "./shelf.ts";

/** Objects under this many bytes a thought are summed. */
const SMALLEST_SHOWN = 20;

/** @throws DormouseError as Brain does. */
export async function benchSize(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const measured = [];
  for (const nodes of sizes) {
    const path = await shelf.brainOf(nodes);
    onProgress(`weighing ${nodes} thoughts`);
    let textBytes = 0;
    for (const { content } of generateTurns(nodes)) textBytes += Buffer.byteLength(content);
    measured.push({ nodes, textBytes: textBytes / nodes, bytesByTable: weigh(path, nodes) });
  }
  const rows = measured.flatMap(({ nodes, textBytes, bytesByTable }) => {
    const entries = Object.entries(bytesByTable);
    const total = entries.reduce((sum, [, bytes]) => sum + bytes, 0);
    const shown = entries.filter(([, bytes]) => bytes >= SMALLEST_SHOWN);
    const rest = total - shown.reduce((sum, [, bytes]) => sum + bytes, 0);
    return [
      ["the whole file", String(nodes), total.toFixed(0), (total / textBytes).toFixed(1)],
      ["(its text alone)", "", textBytes.toFixed(0), "1.0"],
      ...shown.map(([name, bytes]) => [`  ${name}`, "", bytes.toFixed(0), (bytes / textBytes).toFixed(1)]),
      ["  all others", "", rest.toFixed(0), (rest / textBytes).toFixed(1)],
    ];
  });
  return {
    name: "size",
    title: "size of the file, bytes a thought",
    head: ["table or index", "thoughts", "bytes", "× text"],
    rows,
    notes: ["pages of each table and index by SQLite's dbstat, before any sleep"],
    figures: measured,
  };
}

/** Bytes a thought of each table and index, largest first. */
function weigh(path: string, nodes: number): Record<string, number> {
  const db = new Database(path, { readonly: true });
  try {
    const rows = db
      .prepare<[], { name: string; bytes: number }>(
        "SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC, name",
      )
      .all();
    return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes / nodes]));
  } finally {
    db.close();
  }
}
