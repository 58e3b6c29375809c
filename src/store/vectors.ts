/**
 * Vectors in sqlite-vec, one table per model: unit int8 rows with the metadata that filters before the
 * cut to k. A derived index; the visibility of each row mirrors its node.
 */
import { cosineFromL2, type EmbeddingModel } from "../core/ports.ts";
import type { Connection } from "./connection.ts";
import { readable, unhidden } from "./visibility.ts";

/** sqlite-vec refuses larger k; beyond it rows are scanned outside the index. */
const MAX_K = 4096;
/** Rows per chunk of the vector table; small, so that partitions (cells) stay cheap. */
const CHUNK_SIZE = 256;
/** Ids bound in one statement. */
const IN_BATCH = 500;

export interface Neighbor {
  readonly nodeId: number;
  /** Cosine in [−1, 1]. */
  readonly cosine: number;
}

export interface VectorFilter {
  readonly scopeIds: readonly number[];
  readonly kindIds?: readonly number[];
  readonly domainIds?: readonly number[];
  /** SQL `SELECT id …` of eligible nodes with its parameters; filters before the cut. */
  readonly eligible?: { readonly sql: string; readonly params: readonly (number | string)[] };
}

/** A model that has a vector table in this brain. */
export interface ModelRow extends EmbeddingModel {
  readonly id: number;
  readonly vecTable: string;
}

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

/** The vectors of one model; `model` says which, asked anew at each use because the active one can change. */
export class Vectors {
  readonly #connection: Connection;
  readonly #model: () => ModelRow;

  constructor(connection: Connection, model: () => ModelRow) {
    this.#connection = connection;
    this.#model = model;
  }

  /** Stores the vector of a node, replacing an older one. */
  put(nodeId: number, vector: Int8Array): void {
    this.#connection.sql(`DELETE FROM ${this.#table()} WHERE node_id = ?`).run(BigInt(nodeId));
    this.insert(nodeId, vector);
  }

  /** Stores the vector of a node that has none. The zero vector is stored too: its node is in no neighbourhood. */
  insert(nodeId: number, vector: Int8Array): void {
    const table = this.#table();
    this.#connection
      .sql(
        `INSERT INTO ${table} (scope, kind, domain, hidden, node_id, cell, embedding) VALUES (?, ?, ?, ?, ?, 0, vec_int8(?))`,
      )
      .run(...this.#metadata(nodeId), BigInt(nodeId), bytesOf(vector));
  }

  /** Mirrors the node's visibility, scope, kind and domain into its row, if it has one. */
  refresh(nodeId: number): void {
    const node = this.#metadata(nodeId);
    this.#connection
      .sql(`UPDATE ${this.#table()} SET scope = ?, kind = ?, domain = ?, hidden = ? WHERE node_id = ?`)
      .run(...node, BigInt(nodeId));
  }

  get(nodeId: number): Int8Array | null {
    const row = this.#connection
      .sql<{ embedding: Buffer }>(`SELECT embedding FROM ${this.#table()} WHERE node_id = ?`)
      .get(BigInt(nodeId));
    return row === undefined ? null : toInt8(row.embedding);
  }

  /** Exact nearest unhidden neighbours, nearest first, ties by node id. */
  nearest(query: Int8Array, k: number, filter: VectorFilter): Neighbor[] {
    const conditions = [`scope IN (${filter.scopeIds.map(() => "?").join(", ")})`];
    const params: unknown[] = filter.scopeIds.map(BigInt);
    for (const [column, ids] of [
      ["kind", filter.kindIds],
      ["domain", filter.domainIds],
    ] as const) {
      if (ids === undefined) continue;
      conditions.push(`${column} IN (${ids.map(() => "?").join(", ")})`);
      params.push(...ids.map(BigInt));
    }
    if (filter.eligible !== undefined) {
      conditions.push(`node_id IN (${filter.eligible.sql})`);
      params.push(...filter.eligible.params);
    }
    const rows = this.#connection
      .tuples<[nodeId: number, distance: number]>(
        `SELECT node_id, distance FROM ${this.#table()}
         WHERE embedding MATCH vec_int8(?) AND k = ? AND hidden = 0 AND ${conditions.join(" AND ")}`,
      )
      .all(bytesOf(query), BigInt(Math.min(k, MAX_K)), ...params);
    return rows
      .sort(([idA, a], [idB, b]) => a - b || idA - idB)
      .map(([nodeId, distance]) => ({ nodeId, cosine: cosineFromL2(distance) }));
  }

  /** Cosine of the query with each given node that has a vector. */
  cosines(query: Int8Array, nodeIds: readonly number[]): Map<number, number> {
    const found = new Map<number, number>();
    const table = this.#table();
    for (let start = 0; start < nodeIds.length; start += IN_BATCH) {
      const batch = nodeIds.slice(start, start + IN_BATCH);
      const rows = this.#connection
        .tuples<[nodeId: number, distance: number]>(
          `SELECT v.node_id, vec_distance_l2(v.embedding, vec_int8(?))
           FROM json_each(?) wanted CROSS JOIN ${table} v ON v.node_id = wanted.value`,
        )
        .all(bytesOf(query), JSON.stringify(batch));
      for (const [nodeId, distance] of rows) found.set(nodeId, cosineFromL2(distance));
    }
    return found;
  }

  /** Ids of visible thoughts above `after` that have no vector yet, in id order. */
  missing(after: number, limit: number): number[] {
    return this.#connection
      .sql<{ id: number }>(
        `SELECT n.id FROM node n WHERE n.id > ? AND n.role = 1 AND ${unhidden("n")} AND ${readable("n")}
           AND NOT EXISTS (SELECT 1 FROM ${this.#table()}_rowids r WHERE r.rowid = n.id)
         ORDER BY n.id LIMIT ?`,
      )
      .all(after, limit)
      .map(({ id }) => id);
  }

  count(): number {
    return this.#connection.sql<{ n: number }>(`SELECT count(*) AS n FROM ${this.#table()}_rowids`).get()?.n ?? 0;
  }

  /** Scope, kind, domain and hidden, in the form in which sqlite-vec takes them. */
  #metadata(nodeId: number): [bigint, bigint, bigint, bigint] {
    const node = this.#connection
      .sql<{ scope: number; kind: number; domain: number | null; hidden: number }>(
        `SELECT scope_id AS scope, kind_id AS kind, domain_id AS domain, NOT ${unhidden("n")} AS hidden FROM node n WHERE id = ?`,
      )
      .get(nodeId);
    if (node === undefined) throw new RangeError("no such node");
    return [BigInt(node.scope), BigInt(node.kind), BigInt(node.domain ?? 0), BigInt(node.hidden)];
  }

  #table(): string {
    return this.#model().vecTable;
  }
}

function bytesOf(vector: Int8Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

function toInt8(bytes: Buffer): Int8Array {
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice();
}
