/**
 * Lines of a stream that comes once, such as standard input, in the shape that files are read in. Holds one
 * line; a line over the limit is passed over, and bytes that are no UTF-8 are reported, not repaired.
 */
import { isUtf8 } from "node:buffer";
import type { Line } from "./lines.ts";

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const LINE_FEED = 10;

/** The first bytes of a stream and the stream with them still in it. */
export async function peekStream(
  stream: AsyncIterable<Uint8Array>,
  bytes: number,
): Promise<{ head: Buffer; chunks: AsyncIterable<Uint8Array> }> {
  const iterator = stream[Symbol.asyncIterator]();
  const taken: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  while (size < bytes && !ended) {
    const next = await iterator.next();
    if (next.done === true) ended = true;
    else {
      taken.push(next.value);
      size += next.value.length;
    }
  }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield* taken.splice(0);
    while (!ended) {
      const next = await iterator.next();
      if (next.done === true) return;
      yield next.value;
    }
  }
  return { head: Buffer.concat(taken).subarray(0, bytes), chunks: chunks() };
}

/** The lines of a stream. Its end ends the last line, as nothing can follow. */
export async function* readStreamLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let held = 0;
  let number = 0;
  let start = 0;
  const finish = (breakBytes: number): Line => {
    const tooLong = held > MAX_LINE_BYTES;
    const bytes = tooLong ? Buffer.alloc(0) : Buffer.concat(parts);
    const invalidUtf8 = !tooLong && !isUtf8(bytes);
    const text = bytes.toString("utf8").replace(/\r$/, "");
    number += 1;
    const line: Line = {
      text: tooLong || invalidUtf8 ? null : number === 1 ? text.replace(/^\uFEFF/, "") : text,
      number,
      start,
      end: start + held + breakBytes,
      terminated: true,
      tooLong,
      invalidUtf8,
    };
    start = line.end;
    parts = [];
    held = 0;
    return line;
  };
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, from)) {
      hold(bytes.subarray(from, at));
      yield finish(1);
      from = at + 1;
    }
    hold(bytes.subarray(from));
  }
  if (held > 0) yield finish(0);

  function hold(part: Buffer): void {
    held += part.length;
    if (held <= MAX_LINE_BYTES) parts.push(part);
    else parts = [];
  }
}
