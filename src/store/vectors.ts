/**
 * Vectors in sqlite-vec, one table per model: unit int8 rows with the metadata that filters before the
 * cut to k, and the search over them: all rows while they are few, the nearest cells once sleep has shelved them.
 * A derived index; the visibility of each row mirrors its node.
 */
import { batchesOf } from "../core/batches.ts";
import { cosineFromL2 } from "../core/ports.ts";
import { Cells, FRESH_CELL } from "./cells.ts";
import type { Connection } from "./connection.ts";
import { Squares } from "./squares.ts";
import { isZero, MeasuredRows, type NearRow, type Scratch, squareOf, VectorScan } from "./vector-scan.ts";
import { bytesOf, type Chunk, chunkSql, METADATA, type ModelRow, toInt8 } from "./vector-table.ts";
import { readable, unhidden } from "./visibility.ts";

/** Ids bound in one statement. */
const IN_BATCH = 500;
/** Where a filter passes at most so many nodes of a shelved table, they are read one by one and no cell is. */
const POINT_READS = 5_000;
/** Cells are about this full; only the first portion of a search rests on it. */
const TYPICAL_CELL_ROWS = 160;
/**
 * Share of the cells that holds 97 to 98 of 100 true neighbours among the ten nearest, measured on vectors of real
 * texts: 0.18 for 100,000 rows, and less for more rows by this power.
 */
const COVERAGE_AT = 100_000;
const COVERAGE_SHARE = 0.18;
const COVERAGE_POWER = -0.4;

/** A table of at most so many chunks, 20,000 rows and some, is kept in memory between the searches of a process. */
const KEPT_CHUNKS = 200;

/** All chunks of a table, and of when they are. */
interface KeptChunks {
  readonly table: string;
  /** SQLite's count of what other connections committed. */
  readonly dataVersion: number;
  readonly chunks: readonly Chunk[];
}

export interface Neighbor {
  readonly nodeId: number;
  /** Cosine in [−1, 1]. */
  readonly cosine: number;
}

/** A condition that an index of its own may know. */
export interface NodeTest {
  /** SQL `SELECT id …` of the nodes that pass, with its parameters. */
  subquery(): { readonly sql: string; readonly params: readonly (number | string)[] };
  passes(nodeId: number): boolean;
}

export interface VectorFilter {
  readonly scopeIds: readonly number[];
  readonly kindIds?: readonly number[];
  readonly domainIds?: readonly number[];
  /** Any other condition; filters before the cut. */
  readonly eligible?: NodeTest;
  /** Left out, however near. */
  readonly except?: ReadonlySet<number>;
  /** Read every cell, however many there are. */
  readonly exact?: true;
}

export interface Nearest {
  /** Nearest first, ties by node id. */
  readonly neighbors: readonly Neighbor[];
  /** False when cells were left out that may hold a nearer one. */
  readonly exact: boolean;
}

/** The vectors of one model; `model` says which, asked anew at each use because the active one can change. */
export class Vectors {
  readonly #connection: Connection;
  readonly #model: () => ModelRow;
  readonly #pending: () => ReadonlySet<number>;
  readonly cells: Cells;
  #kept: KeptChunks | null = null;
  /** Whether this connection wrote a row in the transaction that is open. */
  #hasWritten = false;
  #room: (Scratch & { readonly table: string }) | null = null;

  /** @param pending nodes that are hidden although their rows do not say so yet */
  constructor(connection: Connection, model: () => ModelRow, pending: () => ReadonlySet<number>) {
    this.#connection = connection;
    this.#model = model;
    this.#pending = pending;
    this.cells = new Cells(connection, model);
  }

  /** Stores the vector of a node, replacing an older one. */
  put(nodeId: number, vector: Int8Array): void {
    this.#touch();
    this.#connection.sql(`DELETE FROM ${this.#table()} WHERE node_id = ?`).run(BigInt(nodeId));
    this.insert(nodeId, vector);
  }

  /** Stores the vector of a node that has none. The zero vector is stored too: its node is in no neighbourhood. */
  insert(nodeId: number, vector: Int8Array): void {
    const table = this.#table();
    this.#touch();
    this.#connection
      .sql(
        `INSERT INTO ${table} (scope, kind, domain, hidden, node_id, cell, embedding) VALUES (?, ?, ?, ?, ?, 0, vec_int8(?))`,
      )
      .run(...this.#metadata(nodeId), BigInt(nodeId), bytesOf(vector));
  }

  /** Mirrors the node's visibility, scope, kind and domain into its row, if it has one. */
  refresh(nodeId: number): void {
    this.#touch();
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

  /**
   * The k nearest unhidden rows that pass the filter, whatever k. Exact before the first shelving and where few
   * rows pass; else over the nearest cells, which are the more of all the fewer rows pass, and the fresh rows.
   */
  nearest(query: Int8Array, k: number, filter: VectorFilter): Nearest {
    // One snapshot: a row that sleep moves meanwhile must not be met in both cells, or in neither.
    return this.#connection.read(() => this.#nearest(query, k, filter));
  }

  #nearest(query: Int8Array, k: number, filter: VectorFilter): Nearest {
    // Rows say what is hidden, of which kind and domain now. A past moment goes by the nodes, row by row.
    const isPast = this.#connection.asOfSeq !== null;
    const order = filter.exact === true || isPast ? [] : this.cells.byDistance(query);
    const { eligible, scopeIds, kindIds, domainIds, except } = filter;
    const few = order.length === 0 ? null : (this.#few(filter)?.filter((id) => except?.has(id) !== true) ?? null);
    if (few !== null) return { neighbors: this.#nearestAmong(query, k, filter, few), exact: true };
    const columns = isPast
      ? { hidden: true }
      : { ...(kindIds === undefined ? {} : { kindIds }), ...(domainIds === undefined ? {} : { domainIds }) };
    const scopes = this.#isEveryScope(scopeIds) ? {} : { scopeIds };
    const pending = this.#pending();
    const passes = (nodeId: number) =>
      !pending.has(nodeId) && except?.has(nodeId) !== true && eligible?.passes(nodeId) !== false;
    const passesAll = eligible === undefined && except === undefined && pending.size === 0;
    const test = passesAll ? {} : { test: passes };
    const scan = new VectorScan(this.#connection, this.#table(), this.#scratch(), query, k, {
      ...columns,
      ...scopes,
      ...test,
    });
    const exact = order.length === 0 || !readCells(scan, order, k);
    if (order.length === 0) scan.readChunks(this.#allChunks());
    const neighbors = scan.nearest().map(({ nodeId, square }) => ({ nodeId, cosine: toCosine(square) }));
    return { neighbors, exact };
  }

  /** The store's transaction is over: rows that it wrote are in the file, or gone. */
  endTransaction(): void {
    this.#hasWritten = false;
  }

  /** Every writer of rows calls this: what was read before says nothing now. */
  #touch(): void {
    this.#hasWritten = true;
    this.#kept = null;
    this.#room?.measured.forget();
  }

  #allChunks(): Iterable<Chunk> {
    const table = this.#table();
    const dataVersion = this.#connection.db.pragma("data_version", { simple: true }) as number;
    if (this.#kept?.table === table && this.#kept.dataVersion === dataVersion) return this.#kept.chunks;
    this.#kept = null;
    const statement = this.#connection.tuples<Chunk>(chunkSql(table, "all", Object.values(METADATA)));
    const count = this.#connection.values<number>(`SELECT count(*) FROM ${table}_chunks`).get() ?? 0;
    if (count > KEPT_CHUNKS) return statement.iterate();
    const chunks = statement.all();
    // Rows that are not committed yet could vanish again without a sign.
    if (!this.#hasWritten) this.#kept = { table, dataVersion, chunks };
    return chunks;
  }

  /** Cosine of the query with each given node that has a vector. */
  cosines(query: Int8Array, nodeIds: readonly number[]): Map<number, number> {
    const found = new Map<number, number>();
    const { measured } = this.#scratch();
    const unknown = nodeIds.filter((nodeId) => {
      const square = measured.get(query, nodeId);
      if (square !== undefined) found.set(nodeId, toCosine(square));
      return square === undefined;
    });
    for (const { nodeId, square } of this.#measure(query, unknown)) found.set(nodeId, toCosine(square));
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

  /** Vectors there are; as of a past moment, those of what was known then. */
  count(): number {
    const known = this.#connection.asOfSeq === null ? "" : "WHERE EXISTS (SELECT 1 FROM node n WHERE n.id = r.rowid)";
    return this.#connection.values<number>(`SELECT count(*) FROM ${this.#table()}_rowids r ${known}`).get() ?? 0;
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

  /** The ids that can pass, when an index knows them to be few; null otherwise. */
  #few({ scopeIds, kindIds, domainIds, eligible }: VectorFilter): readonly number[] | null {
    const marks = (ids: readonly number[]) => ids.map(() => "?").join(", ");
    const ways: { readonly sql: string; readonly params: readonly (number | string)[] }[] = [];
    if (eligible !== undefined) ways.push(eligible.subquery());
    if (kindIds !== undefined) {
      ways.push({ sql: `SELECT id FROM node WHERE kind_id IN (${marks(kindIds)})`, params: kindIds });
    }
    if (domainIds !== undefined) {
      ways.push({ sql: `SELECT id FROM node WHERE domain_id IN (${marks(domainIds)})`, params: domainIds });
    }
    if (!this.#isEveryScope(scopeIds)) {
      // Only what was erased has no value key, and that is hidden.
      const sql = `SELECT id FROM main.node INDEXED BY node_by_value
                   WHERE scope_id IN (${marks(scopeIds)}) AND value_key IS NOT NULL`;
      ways.push({ sql, params: scopeIds });
    }
    for (const { sql, params } of ways) {
      const ids = this.#ids(`SELECT id FROM (${sql}) LIMIT ${POINT_READS + 1}`, params);
      if (ids.length <= POINT_READS) return ids;
    }
    return null;
  }

  #isEveryScope(scopeIds: readonly number[]): boolean {
    return scopeIds.length >= (this.#connection.values<number>("SELECT count(*) FROM main.scope").get() ?? 0);
  }

  #ids(sql: string, params: readonly (number | string)[]): number[] {
    return this.#connection.values<number>(sql).all(...params);
  }

  #nearestAmong(query: Int8Array, k: number, filter: VectorFilter, nodeIds: readonly number[]): Neighbor[] {
    const { scopeIds, kindIds, domainIds, eligible } = filter;
    const wanted = this.#connection
      .values<number>(
        `SELECT n.id FROM json_each(@ids) wanted CROSS JOIN node n ON n.id = wanted.value
         WHERE ${unhidden("n")} AND n.scope_id IN (SELECT value FROM json_each(@scopes))
           AND (@kinds IS NULL OR n.kind_id IN (SELECT value FROM json_each(@kinds)))
           AND (@domains IS NULL OR n.domain_id IN (SELECT value FROM json_each(@domains)))`,
      )
      .all({
        ids: JSON.stringify(nodeIds),
        scopes: JSON.stringify(scopeIds),
        kinds: kindIds === undefined ? null : JSON.stringify(kindIds),
        domains: domainIds === undefined ? null : JSON.stringify(domainIds),
      })
      .filter((id) => eligible?.passes(id) !== false);
    return this.#measure(query, [...new Set(wanted)])
      .sort((a, b) => a.square - b.square || a.nodeId - b.nodeId)
      .slice(0, k)
      .map(({ nodeId, square }) => ({ nodeId, cosine: toCosine(square) }));
  }

  /** Squared distances of the query to those of the nodes that have a vector, but for zero vectors, which say nothing. */
  #measure(query: Int8Array, nodeIds: readonly number[]): NearRow[] {
    const measured: NearRow[] = [];
    const fromZero = squareOf(query);
    for (const batch of batchesOf(nodeIds, IN_BATCH)) {
      const rows = this.#connection
        .tuples<[nodeId: number, distance: number]>(
          `SELECT v.node_id, vec_distance_l2(v.embedding, vec_int8(?))
           FROM json_each(?) wanted CROSS JOIN ${this.#table()} v ON v.node_id = wanted.value`,
        )
        .all(bytesOf(query), JSON.stringify(batch));
      // Squares of unit vectors are whole numbers: rounded, they are those that a scan finds.
      for (const [nodeId, distance] of rows) {
        const square = Math.round(distance * distance);
        if (square !== fromZero || !this.#hasZero(nodeId)) measured.push({ nodeId, square });
      }
    }
    return measured;
  }

  #hasZero(nodeId: number): boolean {
    const vector = this.get(nodeId);
    return vector !== null && isZero(vector, 0, vector.length);
  }

  /** Room for measuring, kept from query to query as long as the table is the same. */
  #scratch(): Scratch {
    const { vecTable, dimensions } = this.#model();
    if (this.#room?.table !== vecTable) {
      this.#room = { table: vecTable, squares: new Squares(dimensions), measured: new MeasuredRows() };
    }
    return this.#room;
  }

  #table(): string {
    return this.#model().vecTable;
  }
}

/**
 * Reads the fresh cell and as many of the others, in order, as the rows that pass the filter call for.
 * @returns whether cells were left out
 */
function readCells(scan: VectorScan, order: readonly number[], k: number): boolean {
  scan.readCells([FRESH_CELL]);
  const fresh = scan.estimatePassing();
  let read = 0;
  let wanted = Math.ceil(coverage(order.length * TYPICAL_CELL_ROWS) * order.length);
  while (read < wanted) {
    scan.readCells(order.slice(read, wanted));
    read = Math.min(wanted, order.length);
    const estimate = (Math.max(0, scan.estimatePassing() - fresh) / read) * order.length;
    wanted = Math.ceil(coverage(estimate) * order.length);
    if (scan.found < k) wanted = Math.max(wanted, Math.min(order.length, 2 * read));
  }
  return read < order.length;
}

/** Share of the cells that a search over so many rows reads, in (0, 1]. */
function coverage(rows: number): number {
  return Math.min(1, COVERAGE_SHARE * (Math.max(1, rows) / COVERAGE_AT) ** COVERAGE_POWER);
}

function toCosine(square: number): number {
  return cosineFromL2(Math.sqrt(square));
}
