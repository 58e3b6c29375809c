/**
 * The bytes in which a graph of aliveness is kept: legs, states and ranks, with a checksum. The children of each node
 * are left out: they follow from the legs, and laying them anew costs less than reading them. Native byte order.
 */
import { createHash } from "node:crypto";

/** Also tells the byte order: read the other way round it is another number. */
const MAGIC = 0x444d_4752;
const VERSION = 1;
const HEADER_WORDS = 5;
const CHECKSUM_BYTES = 16;

export interface Snapshot {
  /** By node id from 0, as `LegTable.restore` takes it. */
  readonly sole: Int32Array;
  readonly words: Int32Array;
  /** Node id and rank by turns. */
  readonly ranks: Int32Array;
  /** States by node id from 0. */
  readonly flags: Uint8Array;
}

export function encodeSnapshot({ sole, words, ranks, flags }: Snapshot): Uint8Array {
  const header = Int32Array.of(MAGIC, VERSION, sole.length, words.length, ranks.length);
  const body = 4 * (HEADER_WORDS + sole.length + words.length + ranks.length);
  const bytes = new Uint8Array(body + sole.length + CHECKSUM_BYTES);
  const view = new Int32Array(bytes.buffer, 0, body / 4);
  let at = 0;
  for (const part of [header, sole, words, ranks]) {
    view.set(part, at);
    at += part.length;
  }
  bytes.set(flags.subarray(0, sole.length), body);
  bytes.set(checksum(bytes), bytes.length - CHECKSUM_BYTES);
  return bytes;
}

/** @throws Error when the bytes are cut, changed, of another version or of a machine with the other byte order */
export function decodeSnapshot(bytes: Uint8Array): Snapshot {
  // A copy of its own: what the database hands out starts anywhere, and typed arrays of words may not.
  const own = new Uint8Array(bytes);
  if (own.length < 4 * HEADER_WORDS + CHECKSUM_BYTES) throw new Error("the snapshot is cut short");
  const [magic, version, nodes = 0, words = 0, ranks = 0] = new Int32Array(own.buffer, 0, HEADER_WORDS);
  if (magic !== MAGIC || version !== VERSION) throw new Error("the snapshot is of another version");
  const body = 4 * (HEADER_WORDS + nodes + words + ranks);
  if (nodes < 1 || words < 0 || ranks < 0 || ranks % 2 !== 0 || own.length !== body + nodes + CHECKSUM_BYTES) {
    throw new Error("the snapshot has another length than it says");
  }
  if (Buffer.compare(checksum(own), own.subarray(own.length - CHECKSUM_BYTES)) !== 0) {
    throw new Error("the snapshot does not match its checksum");
  }
  const part = (from: number, length: number) => new Int32Array(own.buffer, 4 * (HEADER_WORDS + from), length).slice();
  return {
    sole: part(0, nodes),
    words: part(nodes, words),
    ranks: part(nodes + words, ranks),
    flags: own.slice(body, body + nodes),
  };
}

/** Of everything but the place it goes to. */
function checksum(bytes: Uint8Array): Uint8Array {
  const hash = createHash("sha256").update(bytes.subarray(0, bytes.length - CHECKSUM_BYTES));
  return hash.digest().subarray(0, CHECKSUM_BYTES);
}
