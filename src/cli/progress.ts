/**
 * How far a long command is, in a few words for one line of a terminal. Extraction and downloads count bytes; all other
 * stages count what they go through one by one.
 */
import type { Progress } from "../core/ports.ts";

const BYTES_PER_MB = 1_000_000;
/** Stages whose `done` and `total` are bytes. */
const BYTE_STAGES: ReadonlySet<string> = new Set(["extract", "download"]);

/** "extract 26 % (1.0 of 4.0 MB)", or "link 26 % (12 of 46)", or without a total "link 12". */
export function describeProgress({ stage, done, total }: Progress): string {
  const isBytes = BYTE_STAGES.has(stage);
  const count = (value: number) => (isBytes ? (value / BYTES_PER_MB).toFixed(1) : String(value));
  const unit = isBytes ? " MB" : "";
  if (total === null || total === 0) return `${stage} ${count(done)}${unit}`;
  // A file that grows while it is read must not come to more than all of it.
  const percent = Math.min(100, Math.floor((100 * done) / total));
  return `${stage} ${percent} % (${count(done)} of ${count(total)}${unit})`;
}
