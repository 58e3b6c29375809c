/**
 * The file behind the built-in embedder: vocabulary, its hash and one int8 row a token, laid out so that
 * reading is making views. Refuses files it cannot trust to be whole; knows nothing of how a row came about.
 *
 * Little-endian, sections in this order without gaps unless said:
 *   header   64 bytes: 0 magic "DMST", 4 format version 1, 8 token count n, 12 dimensions d, 16 slot count s
 *            (a power of two), 20 unit count u, 24 id of the unknown token, 28 units of the longest token (all
 *            uint32), 32 the first 16 bytes of the SHA-256 of everything after the header, 48 zeros
 *   starts   uint32[n + 1]  where each token's units begin
 *   scales   float32[n]     what a row's numbers are multiplied by; 0 for tokens that say nothing
 *   slots    uint16[s]      hash of the tokens, see text/wordpiece.ts
 *   units    uint16[u]      UTF-16 of the tokens; then zeros up to a multiple of 4 bytes
 *   rows     int8[n · d]
 */
import { createHash } from "node:crypto";
import { DormouseError } from "../../core/errors.ts";
import { buildWordPieceSlots, type WordPieceVocabulary } from "../../text/wordpiece.ts";

const MAGIC = 0x54534d44;
const FORMAT_VERSION = 1;
const HEADER_BYTES = 64;
const DIGEST_AT = 32;
const DIGEST_BYTES = 16;
const SLOTS = 65_536;

/** One row a token; a text is the sum of its tokens' rows, each times its scale. */
export interface StaticTable {
  readonly vocabulary: WordPieceVocabulary;
  readonly dimensions: number;
  /** Hexadecimal digest that stands in the header; changes with any byte of the table. */
  readonly digest: string;
  /** Length: tokens. */
  readonly scales: Float32Array;
  /** Row-major, tokens × dimensions. */
  readonly rows: Int8Array;
}

interface Layout {
  readonly starts: number;
  readonly scales: number;
  readonly slots: number;
  readonly units: number;
  readonly rows: number;
  readonly end: number;
}

/**
 * Views over the bytes of a table file; keeps `bytes` alive and copies it only when it is not aligned.
 * Checks shape and size, not the digest, which would cost more than everything else at start.
 * @throws DormouseError `damaged`
 */
export function parseTable(bytes: Uint8Array): StaticTable {
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  const header = bytes.length < HEADER_BYTES ? new Uint32Array(8) : new Uint32Array(buffer, byteOffset, 8);
  const [magic = 0, version = 0, tokens = 0, dimensions = 0, slotCount = 0, unitCount = 0, unknownId = 0, longest = 0] =
    header;
  const layout = layOut(tokens, dimensions, slotCount, unitCount);
  if (magic !== MAGIC || version !== FORMAT_VERSION || layout.end !== bytes.length) {
    throw new DormouseError("damaged", "the built-in embedding table is damaged or of another version", {
      hint: "Install dormouse again; the table is a file of the package.",
    });
  }
  return {
    vocabulary: {
      units: new Uint16Array(buffer, byteOffset + layout.units, unitCount),
      starts: new Uint32Array(buffer, byteOffset + layout.starts, tokens + 1),
      slots: new Uint16Array(buffer, byteOffset + layout.slots, slotCount),
      longest,
      unknownId,
    },
    dimensions,
    digest: Buffer.from(buffer, byteOffset + DIGEST_AT, DIGEST_BYTES).toString("hex"),
    scales: new Float32Array(buffer, byteOffset + layout.scales, tokens),
    rows: new Int8Array(buffer, byteOffset + layout.rows, tokens * dimensions),
  };
}

/**
 * The bytes of a table file. Each row is scaled so that its largest number is ±127.
 * @param tokens token strings, their place is their id
 * @param rows row-major, tokens × dimensions; an all-zero row for tokens that say nothing
 */
export function encodeTable(tokens: readonly string[], rows: Float64Array, unknownId: number): Uint8Array {
  const dimensions = rows.length / tokens.length;
  const starts = new Uint32Array(tokens.length + 1);
  for (const [id, token] of tokens.entries()) starts[id + 1] = (starts[id] as number) + token.length;
  const units = new Uint16Array(starts[tokens.length] as number);
  for (const [id, token] of tokens.entries()) {
    for (let at = 0; at < token.length; at++) units[(starts[id] as number) + at] = token.charCodeAt(at);
  }
  const layout = layOut(tokens.length, dimensions, SLOTS, units.length);
  const buffer = new ArrayBuffer(layout.end);
  const longest = tokens.reduce((most, token) => Math.max(most, token.length), 0);
  new Uint32Array(buffer, 0, 8).set([
    MAGIC,
    FORMAT_VERSION,
    tokens.length,
    dimensions,
    SLOTS,
    units.length,
    unknownId,
    longest,
  ]);
  new Uint32Array(buffer, layout.starts, starts.length).set(starts);
  new Uint16Array(buffer, layout.slots, SLOTS).set(buildWordPieceSlots(units, starts, SLOTS));
  new Uint16Array(buffer, layout.units, units.length).set(units);
  const scales = new Float32Array(buffer, layout.scales, tokens.length);
  const cells = new Int8Array(buffer, layout.rows, rows.length);
  for (let id = 0; id < tokens.length; id++) {
    const row = rows.subarray(id * dimensions, (id + 1) * dimensions);
    const peak = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (peak === 0) continue;
    scales[id] = peak / 127;
    for (let at = 0; at < dimensions; at++) {
      cells[id * dimensions + at] = Math.round(((row[at] as number) * 127) / peak);
    }
  }
  const bytes = new Uint8Array(buffer);
  bytes.set(digestTable(bytes), DIGEST_AT);
  return bytes;
}

/** What the header's digest must be, computed from the bytes after the header. */
export function digestTable(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes.subarray(HEADER_BYTES)).digest().subarray(0, DIGEST_BYTES);
}

/** Byte offset of each section. */
function layOut(tokens: number, dimensions: number, slotCount: number, unitCount: number): Layout {
  const starts = HEADER_BYTES;
  const scales = starts + 4 * (tokens + 1);
  const slots = scales + 4 * tokens;
  const units = slots + 2 * slotCount;
  const rows = Math.ceil((units + 2 * unitCount) / 4) * 4;
  return { starts, scales, slots, units, rows, end: rows + tokens * dimensions };
}
