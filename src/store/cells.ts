/**
 * Cells of one vector table: near vectors share a partition, so that a query reads the partitions whose
 * centroids are nearest instead of all. A row is in exactly one cell at any time; cell 0 holds what is fresh and
 * has no centroid. Decides nothing: sleep makes, fills and splits cells.
 */
import type { Connection } from "./connection.ts";
import { Squares } from "./squares.ts";
import {
  bytesOf,
  type Chunk,
  chunkSql,
  countSlots,
  isTaken,
  type ModelRow,
  nodeIdAt,
  toHalves,
  toInt8,
} from "./vector-table.ts";

/** Where rows are until sleep shelves them. */
export const FRESH_CELL = 0;

/** More than a brain can have; times the square of any distance it still is a safe integer. */
const MAX_CELLS = 2 ** 20;

export interface StoredVector {
  readonly nodeId: number;
  readonly vector: Int8Array;
}

/** Cells that take rows. */
export interface OpenCells {
  readonly ids: readonly number[];
  /** Side by side, in the order of the ids. */
  readonly centroids: Int8Array;
}

export interface CellSize {
  readonly cell: number;
  readonly rows: number;
  readonly isOpen: boolean;
  /** The size at which a split was tried last and parted nothing. */
  readonly settledRows: number;
}

interface CellRow {
  readonly id: number;
  readonly centroid: Buffer;
}

export class Cells {
  readonly #connection: Connection;
  readonly #model: () => ModelRow;
  /** Centroids in memory, by the highest id among them: cells never change, and a new one has a higher id. */
  #known: { readonly key: string; readonly ids: readonly number[]; readonly squares: Squares } | null = null;

  constructor(connection: Connection, model: () => ModelRow) {
    this.#connection = connection;
    this.#model = model;
  }

  /** Ids of all cells but the fresh one, nearest to the vector first. Empty before the first shelving. */
  byDistance(vector: Int8Array): number[] {
    const { ids, squares } = this.#load();
    if (ids.length === 0) return [];
    // One number a cell, distance before place: numbers sort several times as fast as by a comparison of ours.
    const keys = new Float64Array(ids.length);
    squares.from(vector).forEach((square, at) => {
      keys[at] = square * MAX_CELLS + at;
    });
    const order: number[] = [];
    for (const key of keys.sort()) order.push(ids[key % MAX_CELLS] as number);
    return order;
  }

  open(): OpenCells {
    const rows = this.#connection
      .sql<CellRow>("SELECT id, centroid FROM vector_cell WHERE model_id = ? AND open = 1 ORDER BY id")
      .all(this.#model().id);
    return { ids: rows.map(({ id }) => id), centroids: joinCentroids(rows, this.#model().dimensions) };
  }

  /** Every cell with its rows, the fresh one first. Reads one bit a row. */
  sizes(): CellSize[] {
    const rowsByCell = new Map<number, number>([[FRESH_CELL, 0]]);
    const chunks = this.#connection
      .tuples<[cell: number, validity: Buffer]>(`SELECT partition00, validity FROM ${this.#model().vecTable}_chunks`)
      .iterate();
    for (const [cell, validity] of chunks) rowsByCell.set(cell, (rowsByCell.get(cell) ?? 0) + countBits(validity));
    const cells = this.#connection
      .sql<{ id: number; open: number; settled: number }>(
        "SELECT id, open, settled_rows AS settled FROM vector_cell WHERE model_id = ? ORDER BY id",
      )
      .all(this.#model().id);
    return [
      { cell: FRESH_CELL, rows: rowsByCell.get(FRESH_CELL) ?? 0, isOpen: false, settledRows: 0 },
      ...cells.map(({ id, open, settled }) => ({
        cell: id,
        rows: rowsByCell.get(id) ?? 0,
        isOpen: open === 1,
        settledRows: settled,
      })),
    ];
  }

  /** Makes cells around the centroids. */
  add(centroids: Int8Array): void {
    const { id: modelId, dimensions, vecTable } = this.#model();
    // sqlite-vec looks a cell's chunks up by this column, and has no index on it.
    this.#connection.db.exec(`CREATE INDEX IF NOT EXISTS ${vecTable}_by_cell ON ${vecTable}_chunks (partition00)`);
    const insert = this.#connection.sql("INSERT INTO vector_cell (model_id, centroid) VALUES (?, ?)");
    for (let start = 0; start < centroids.length; start += dimensions) {
      insert.run(modelId, bytesOf(centroids.subarray(start, start + dimensions)));
    }
  }

  /** From now on the cell takes no rows and is emptied. It is still searched. */
  close(cell: number): void {
    this.#connection.sql("UPDATE vector_cell SET open = 0 WHERE id = ?").run(cell);
  }

  /** Notes that no split parts so many rows. */
  settle(cell: number, rows: number): void {
    this.#connection.sql("UPDATE vector_cell SET settled_rows = ? WHERE id = ?").run(rows, cell);
  }

  /** Removes closed cells that hold nothing more. @returns how many */
  removeEmptied(): number {
    const { id, vecTable } = this.#model();
    return this.#connection
      .sql(
        `DELETE FROM vector_cell WHERE model_id = ? AND open = 0
           AND NOT EXISTS (SELECT 1 FROM ${vecTable}_chunks c WHERE c.partition00 = vector_cell.id)`,
      )
      .run(id).changes;
  }

  /** Rows of a cell in the order of their chunks: at least `limit` of them where it has so many. */
  rowsOf(cell: number, limit: number): StoredVector[] {
    const { vecTable, dimensions } = this.#model();
    const rows: StoredVector[] = [];
    for (const chunk of this.#connection.tuples<Chunk>(chunkSql(vecTable, "one")).iterate(cell)) {
      eachRow(chunk, dimensions, (nodeId, vector) => rows.push({ nodeId, vector: vector.slice() }));
      if (rows.length >= limit) break;
    }
    return rows;
  }

  /** Calls `take` for every row of the table. The vector's bytes are valid during the call only. */
  eachVector(take: (nodeId: number, vector: Int8Array) => void): void {
    const { vecTable, dimensions } = this.#model();
    const sql = chunkSql(vecTable, "all");
    for (const chunk of this.#connection.tuples<Chunk>(sql).iterate()) {
      eachRow(chunk, dimensions, take);
    }
  }

  /** Moves a row that still is what it was when its new cell was chosen. @returns whether it was moved */
  move(from: number, { nodeId, vector }: StoredVector, to: number): boolean {
    const table = this.#model().vecTable;
    const id = BigInt(nodeId);
    const row = this.#connection
      .tuples<[scope: number, kind: number, domain: number, hidden: number, cell: number, embedding: Buffer]>(
        `SELECT scope, kind, domain, hidden, cell, embedding FROM ${table} WHERE node_id = ?`,
      )
      .get(id);
    if (row === undefined) return false;
    const [scope, kind, domain, hidden, cell, embedding] = row;
    if (cell !== from || !embedding.equals(bytesOf(vector))) return false;
    this.#connection.sql(`DELETE FROM ${table} WHERE node_id = ?`).run(id);
    this.#connection
      .sql(
        `INSERT INTO ${table} (scope, kind, domain, hidden, node_id, cell, embedding) VALUES (?, ?, ?, ?, ?, ?, vec_int8(?))`,
      )
      .run(...[scope, kind, domain, hidden].map(BigInt), id, BigInt(to), embedding);
    return true;
  }

  #load(): { readonly ids: readonly number[]; readonly squares: Squares } {
    const { id: modelId, dimensions } = this.#model();
    const newest = this.#connection
      .values<number | null>("SELECT max(id) FROM vector_cell WHERE model_id = ?")
      .get(modelId);
    const key = `${modelId} ${newest}`;
    if (this.#known?.key === key) return this.#known;
    const rows = this.#connection
      .sql<CellRow>("SELECT id, centroid FROM vector_cell WHERE model_id = ? ORDER BY id")
      .all(modelId);
    const squares = new Squares(dimensions);
    squares.load(joinCentroids(rows, dimensions));
    this.#known = { key, ids: rows.map(({ id }) => id), squares };
    return this.#known;
  }
}

function joinCentroids(rows: readonly CellRow[], dimensions: number): Int8Array {
  const joined = new Int8Array(rows.length * dimensions);
  rows.forEach(({ centroid }, at) => {
    joined.set(toInt8(centroid), at * dimensions);
  });
  return joined;
}

function eachRow(chunk: Chunk, dimensions: number, take: (nodeId: number, vector: Int8Array) => void): void {
  const [validity, rowIds, vectors] = chunk;
  const slots = countSlots(chunk, dimensions);
  const ids = toHalves(rowIds);
  const numbers = new Int8Array(vectors.buffer, vectors.byteOffset, vectors.length);
  for (let slot = 0; slot < slots; slot++) {
    if (!isTaken(validity, slot)) continue;
    take(nodeIdAt(ids, slot), numbers.subarray(slot * dimensions, (slot + 1) * dimensions));
  }
}

function countBits(bytes: Buffer): number {
  let bits = 0;
  for (const byte of bytes) for (let rest = byte; rest > 0; rest &= rest - 1) bits += 1;
  return bits;
}
