/**
 * How a vector table is laid out in sqlite-vec: its columns, and the chunks in which it keeps rows side by side
 * (its documented shadow tables), for readers that measure whole chunks at once. Writes no row.
 */
import { DormouseError } from "../core/errors.ts";
import type { EmbeddingModel } from "../core/ports.ts";
import type { Connection } from "./connection.ts";

/** Rows per chunk: a cell of 160 rows leaves less of its last chunk empty than with 256, and few chunks are read. */
const CHUNK_SIZE = 128;
/** Bytes of a row id or a metadata value in a chunk. */
const WORD_BYTES = 8;

/** A model that has a vector table in this brain. */
export interface ModelRow extends EmbeddingModel {
  readonly id: number;
  readonly vecTable: string;
}

/** Numbers of the metadata columns, in the order in which `createVectorTable` declares them. */
export const METADATA = { scope: 0, kind: 1, domain: 2, hidden: 3 } as const;

/** Makes a table of unit int8 vectors with the metadata that filters before the cut to k. */
export function createVectorTable(connection: Connection, table: string, dimensions: number): void {
  connection.db.exec(
    `CREATE VIRTUAL TABLE ${table} USING vec0(node_id INTEGER PRIMARY KEY, cell INTEGER PARTITION KEY,
       scope INTEGER, kind INTEGER, domain INTEGER, hidden INTEGER,
       embedding int8[${dimensions}] distance_metric=L2, chunk_size=${CHUNK_SIZE})`,
  );
}

export function dropVectorTable(connection: Connection, table: string): void {
  connection.db.exec(`DROP TABLE ${table}`);
}

/** A chunk as `chunkSql` selects it. */
export type Chunk = readonly [validity: Buffer, rowIds: Buffer, vectors: Buffer, ...metadata: Buffer[]];

/**
 * SQL that selects chunks with the values of some metadata columns.
 * @param cells given: of the cells in a JSON array, which is bound; one: of the cell that is bound, in the order in
 * which its chunks were begun; all: of every cell
 */
export function chunkSql(table: string, cells: "given" | "one" | "all", metadata: readonly number[] = []): string {
  const columns = ["c.validity", "c.rowids", "x.vectors", ...metadata.map((column) => `m${column}.data`)];
  const given = cells === "given" ? "json_each(?) wanted CROSS JOIN" : "";
  const isWanted = { given: "ON c.partition00 = wanted.value", one: "", all: "" }[cells];
  // The side tables declare a column named rowid, which is not the key that sqlite-vec opens them by.
  const joins = metadata.map((column) => {
    const side = `${table}_metadatachunks${String(column).padStart(2, "0")}`;
    return `CROSS JOIN ${side} m${column} ON m${column}._rowid_ = c.chunk_id`;
  });
  return `SELECT ${columns.join(", ")} FROM ${given} ${table}_chunks c ${isWanted}
    CROSS JOIN ${table}_vector_chunks00 x ON x._rowid_ = c.chunk_id ${joins.join(" ")}
    ${cells === "one" ? "WHERE c.partition00 = ? ORDER BY c.chunk_id" : ""}`;
}

/** @returns the number of slots, taken or not. @throws DormouseError `damaged` for a chunk of another shape */
export function countSlots([validity, rowIds, vectors]: Chunk, dimensions: number): number {
  const slots = validity.length * 8;
  if (rowIds.length !== slots * WORD_BYTES || vectors.length !== slots * dimensions) {
    throw new DormouseError("damaged", "a chunk of the vector index has another shape than it should", {
      hint: "`dormouse doctor --rebuild` makes the vector index again.",
    });
  }
  return slots;
}

/** True when the slot holds a row. */
export function isTaken(validity: Uint8Array, slot: number): boolean {
  return (((validity[slot >> 3] as number) >> (slot & 7)) & 1) === 1;
}

/** @param rowIds of the chunk, as `toHalves` gives them */
export function nodeIdAt(rowIds: Int32Array, slot: number): number {
  return (rowIds[2 * slot + 1] as number) * 2 ** 32 + ((rowIds[2 * slot] as number) >>> 0);
}

/** The chunk's row ids, or its values of one metadata column, as pairs of halves, low half first. */
export function toHalves(words: Buffer): Int32Array {
  const aligned = words.byteOffset % 4 === 0 ? words : new Uint8Array(words);
  return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
}

export function bytesOf(vector: Int8Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** A copy that outlives the row it was read from. */
export function toInt8(bytes: Buffer): Int8Array {
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice();
}
