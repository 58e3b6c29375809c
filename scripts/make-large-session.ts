/**
 * Makes a transcript of any size out of a real one, for measuring extraction: each repetition gets ids, times
 * and words of its own, so that every record is new. Never a fixture; it is written, measured and deleted.
 *
 *   tsx scripts/make-large-session.ts --from session.jsonl --bytes 1000000000 --out large.jsonl
 */

import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TOOL_ID = /\btoolu_[A-Za-z0-9]+/g;
const TIMESTAMP = /"timestamp":"(\d{4}-\d{2}-\d{2}T[\d:.]+Z)"/g;
const TEXT = /"(text|content)":"(?!")/g;
/** Time between two repetitions. */
const STEP_MS = 86_400_000;

const { values } = parseArgs({
  options: { from: { type: "string" }, bytes: { type: "string" }, out: { type: "string" } },
});
const { from, out } = values;
const wanted = Number(values.bytes);
if (from === undefined || out === undefined || !(wanted > 0)) {
  process.stderr.write("usage: make-large-session --from FILE --bytes N --out FILE\n");
  process.exitCode = 2;
} else {
  await repeat(from, out, wanted);
}

async function repeat(source: string, target: string, bytes: number): Promise<void> {
  const lines = readFileSync(source, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const stream = createWriteStream(target);
  let written = 0;
  for (let round = 0; written < bytes; round++) {
    for (const line of lines) {
      const next = `${vary(line, round)}\n`;
      written += Buffer.byteLength(next);
      if (!stream.write(next)) await once(stream, "drain");
    }
  }
  stream.end();
  await once(stream, "finish");
  process.stdout.write(`${target}: ${written} bytes\n`);
}

/** The record of one round: other ids, a later day, and a number before its words. The session stays one. */
function vary(line: string, round: number): string {
  const session = /"sessionId":"([^"]+)"/.exec(line)?.[1];
  const mark = round.toString(16).padStart(8, "0");
  return line
    .replace(UUID, (uuid) => (uuid === session ? uuid : `${mark}${uuid.slice(8)}`))
    .replace(TOOL_ID, (id) => `${id}r${round}`)
    .replace(TIMESTAMP, (_, time: string) => {
      return `"timestamp":"${new Date(Date.parse(time) + round * STEP_MS).toISOString()}"`;
    })
    .replace(TEXT, (_, field: string) => `"${field}":"Round ${round}: `);
}
