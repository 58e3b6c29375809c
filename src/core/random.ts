/** Random bytes from the system's generator, drawn in blocks: single draws cost 10 µs each, and every thought takes two. */
import { randomFillSync } from "node:crypto";

const BLOCK_BYTES = 8_192;

let block = Buffer.alloc(0);
let used = 0;

/** `length` fresh random bytes in a buffer of their own. */
export function freshBytes(length: number): Buffer {
  if (used + length > block.length) {
    block = randomFillSync(Buffer.alloc(Math.max(BLOCK_BYTES, length)));
    used = 0;
  }
  const bytes = Buffer.from(block.subarray(used, used + length));
  block.fill(0, used, used + length);
  used += length;
  return bytes;
}
