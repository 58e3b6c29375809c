/**
 * Reads the chunks in which sqlite-vec keeps a vector table and measures their rows against a query: exact
 * distances, filtered before the cut to any k. sqlite-vec's own search does the same at a third of the speed,
 * and refuses k above 4,096. Writes nothing; a chunk of another shape is reported as damage, never guessed at.
 */
import type { Connection } from "./connection.ts";
import type { Squares } from "./squares.ts";
import { type Chunk, chunkSql, countSlots, isTaken, METADATA, nodeIdAt, toHalves } from "./vector-table.ts";

/** Candidates kept beyond k before the list is cut again. */
const SLACK = 256;

/** What a row must be, besides unhidden. */
export interface RowFilter {
  readonly scopeIds?: readonly number[];
  readonly kindIds?: readonly number[];
  readonly domainIds?: readonly number[];
  /** Asked last, and only for rows near enough to count. */
  readonly test?: (nodeId: number) => boolean;
}

interface Condition {
  readonly column: number;
  readonly allowed: ReadonlySet<number>;
}

export interface NearRow {
  readonly nodeId: number;
  /** Squared L2 distance. */
  readonly square: number;
}

/** One query's walk over any number of cells, in any portions; each cell at most once. */
export class VectorScan {
  readonly #connection: Connection;
  readonly #table: string;
  readonly #query: Int8Array;
  readonly #k: number;
  readonly #conditions: readonly Condition[];
  readonly #test: ((nodeId: number) => boolean) | undefined;
  readonly #squares: Squares;
  #found: NearRow[] = [];
  #limit = Number.POSITIVE_INFINITY;
  /** Rows whose columns passed, those of them that were tested, and those that passed the test. */
  #matching = 0;
  #tested = 0;
  #passed = 0;

  /** @param squares may be shared by scans one after the other */
  constructor(connection: Connection, table: string, squares: Squares, query: Int8Array, k: number, filter: RowFilter) {
    this.#connection = connection;
    this.#table = table;
    this.#query = query;
    this.#k = k;
    this.#test = filter.test;
    this.#squares = squares;
    const allow = (column: number, ids: readonly number[] | undefined) =>
      ids === undefined ? [] : [{ column, allowed: new Set(ids) }];
    this.#conditions = [
      ...allow(METADATA.hidden, [0]),
      ...allow(METADATA.scope, filter.scopeIds),
      ...allow(METADATA.kind, filter.kindIds),
      ...allow(METADATA.domain, filter.domainIds),
    ];
  }

  /** Takes in the rows of these cells, or of all. */
  read(cells: readonly number[] | "all"): void {
    const columns = this.#conditions.map(({ column }) => column);
    const isAll = cells === "all";
    const statement = this.#connection.tuples<Chunk>(chunkSql(this.#table, isAll ? "all" : "given", columns));
    for (const chunk of isAll ? statement.iterate() : statement.iterate(JSON.stringify(cells))) this.#readChunk(chunk);
  }

  /** Rows in hand, at most k and a few. */
  get found(): number {
    return this.#found.length;
  }

  /** How many of the rows read pass the whole filter, if those that were tested are like the others. */
  estimatePassing(): number {
    return this.#tested === 0 ? this.#matching : (this.#matching * this.#passed) / this.#tested;
  }

  /** The k nearest of what was read, nearest first, ties by node id. */
  nearest(): readonly NearRow[] {
    this.#cut();
    return this.#found;
  }

  #readChunk(chunk: Chunk): void {
    const [validity, rowIds, vectors, ...metadata] = chunk;
    const slots = countSlots(chunk, this.#query.length);
    const columns = metadata.map(toHalves);
    let squares: Int32Array | undefined;
    for (let slot = 0; slot < slots; slot++) {
      if (!isTaken(validity, slot)) continue;
      if (!this.#passes(columns, slot)) continue;
      this.#matching += 1;
      squares ??= this.#measure(vectors);
      const square = squares[slot] as number;
      if (square > this.#limit) continue;
      const nodeId = nodeIdAt(rowIds, slot);
      if (this.#test !== undefined) {
        this.#tested += 1;
        if (!this.#test(nodeId)) continue;
        this.#passed += 1;
      }
      this.#found.push({ nodeId, square });
      if (this.#found.length >= this.#k + SLACK) this.#cut();
    }
  }

  #measure(vectors: Buffer): Int32Array {
    this.#squares.load(vectors);
    return this.#squares.from(this.#query);
  }

  #passes(columns: readonly Int32Array[], slot: number): boolean {
    for (let index = 0; index < columns.length; index++) {
      // Label and scope ids are far below 2³¹: the low half of the word says it all.
      const value = columns[index]?.[slot * 2] as number;
      if (this.#conditions[index]?.allowed.has(value) !== true) return false;
    }
    return true;
  }

  #cut(): void {
    this.#found.sort((a, b) => a.square - b.square || a.nodeId - b.nodeId);
    if (this.#found.length < this.#k) return;
    this.#found.length = this.#k;
    this.#limit = this.#found[this.#k - 1]?.square ?? Number.NEGATIVE_INFINITY;
  }
}
