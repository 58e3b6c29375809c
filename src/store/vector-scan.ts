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
  /** Rows that are hidden, too. */
  readonly hidden?: boolean;
  /** Asked last, and only for rows near enough to count. */
  readonly test?: (nodeId: number) => boolean;
}

interface Condition {
  readonly column: number;
  readonly allowed: ReadonlySet<number>;
}

/** Room that scans of one table use one after the other. */
export interface Scratch {
  readonly squares: Squares;
  /** What the last scan measured. */
  readonly measured: MeasuredRows;
}

export interface NearRow {
  readonly nodeId: number;
  /** Squared L2 distance. */
  readonly square: number;
}

/** Squared distances from the query that was scanned with last to every row that was read, by node id. */
export class MeasuredRows {
  #query: Int8Array | null = null;
  #squares = new Int32Array(0);
  /** The query that wrote each entry, counted; entries of older ones do not count. */
  #turns = new Uint32Array(0);
  #turn = 0;

  /** Goes on with the same query, or forgets what was measured for another. */
  begin(query: Int8Array): void {
    if (query === this.#query) return;
    this.#query = query;
    this.#turn += 1;
  }

  /** A vector changed. */
  forget(): void {
    this.#query = null;
  }

  set(nodeId: number, square: number): void {
    if (nodeId >= this.#squares.length) this.#grow(nodeId + 1);
    this.#squares[nodeId] = square;
    this.#turns[nodeId] = this.#turn;
  }

  /** Undefined for a row that was not read for this very query. */
  get(query: Int8Array, nodeId: number): number | undefined {
    return query === this.#query && this.#turns[nodeId] === this.#turn ? this.#squares[nodeId] : undefined;
  }

  #grow(least: number): void {
    const length = Math.max(least, 2 * this.#squares.length, 1024);
    const [squares, turns] = [new Int32Array(length), new Uint32Array(length)];
    squares.set(this.#squares);
    turns.set(this.#turns);
    this.#squares = squares;
    this.#turns = turns;
  }
}

/** One query's walk over any number of cells, in any portions; each cell at most once. */
export class VectorScan {
  readonly #connection: Connection;
  readonly #table: string;
  readonly #query: Int8Array;
  /** Squared distance of the query to the zero vector. */
  readonly #fromZero: number;
  readonly #k: number;
  readonly #conditions: readonly Condition[];
  readonly #test: ((nodeId: number) => boolean) | undefined;
  readonly #squares: Squares;
  readonly #measured: MeasuredRows;
  #found: NearRow[] = [];
  #limit = Number.POSITIVE_INFINITY;
  /** Rows whose columns passed, those of them that were tested, and those that passed the test. */
  #matching = 0;
  #tested = 0;
  #passed = 0;

  /** @param scratch may be shared by scans one after the other */
  constructor(connection: Connection, table: string, scratch: Scratch, query: Int8Array, k: number, filter: RowFilter) {
    this.#connection = connection;
    this.#table = table;
    this.#query = query;
    this.#fromZero = squareOf(query);
    this.#k = k;
    this.#test = filter.test;
    this.#squares = scratch.squares;
    this.#measured = scratch.measured;
    this.#measured.begin(query);
    const allow = (column: number, ids: readonly number[] | undefined) =>
      ids === undefined ? [] : [{ column, allowed: new Set(ids) }];
    this.#conditions = [
      ...allow(METADATA.hidden, filter.hidden === true ? undefined : [0]),
      ...allow(METADATA.scope, filter.scopeIds),
      ...allow(METADATA.kind, filter.kindIds),
      ...allow(METADATA.domain, filter.domainIds),
    ];
  }

  /** Takes in the rows of these cells. */
  readCells(cells: readonly number[]): void {
    const columns = this.#conditions.map(({ column }) => column);
    const statement = this.#connection.tuples<Chunk>(chunkSql(this.#table, "given", columns));
    const places = columns.map((_, index) => index);
    for (const chunk of statement.iterate(JSON.stringify(cells))) this.#readChunk(chunk, places);
  }

  /** Takes in the rows of chunks that were selected with every metadata column. */
  readChunks(chunks: Iterable<Chunk>): void {
    const places = this.#conditions.map(({ column }) => column);
    for (const chunk of chunks) this.#readChunk(chunk, places);
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

  /** @param places of the conditions' columns among the chunk's */
  #readChunk(chunk: Chunk, places: readonly number[]): void {
    const [validity, rowIds, vectors, ...metadata] = chunk;
    const slots = countSlots(chunk, this.#query.length);
    const ids = toHalves(rowIds);
    const columns = places.map((place) => toHalves(metadata[place] as Buffer));
    let squares: Int32Array | undefined;
    for (let slot = 0; slot < slots; slot++) {
      if (!isTaken(validity, slot)) continue;
      if (!this.#passes(columns, slot)) continue;
      this.#matching += 1;
      squares ??= this.#measure(vectors);
      const square = squares[slot] as number;
      // The vector of a text without a token says nothing, though its distance is that of cosine 0.5.
      if (square === this.#fromZero && isZero(vectors, slot * this.#query.length, this.#query.length)) continue;
      const nodeId = nodeIdAt(ids, slot);
      this.#measured.set(nodeId, square);
      if (square > this.#limit) continue;
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

/** Squared length of a vector. */
export function squareOf(vector: Int8Array): number {
  return vector.reduce((sum, value) => sum + value * value, 0);
}

/** Whether `length` bytes from `start` on are all zero. */
export function isZero(bytes: Uint8Array | Int8Array, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) if (bytes[at] !== 0) return false;
  return true;
}
