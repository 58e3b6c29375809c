/**
 * Nearest neighbours for sleep. A night with little to look up asks the vector index, exactly. A night with
 * much sorts all vectors into cells once, in memory, and looks into the nearest cells only, so that a brain
 * twice the size costs less than three times the night. Neighbours are of the same scope and visible.
 */
import { cosineFromL2, VECTOR_SCALE } from "../core/ports.ts";
import { eachVector } from "../store/sleep-links.ts";
import type { Store } from "../store/store.ts";
import type { Neighbor } from "../store/vectors.ts";

/** Neighbours of one node, nearest first, ties by id; never itself. Empty without a vector or without words. */
export type NeighborSearch = (nodeId: number, scopeId: number, k: number) => Neighbor[];

/** Cells looked into for one node. */
const PROBES = 8;
/** A cell this many times the average is cut, so that a heap of copies cannot make one look-up slow. */
const OVERSIZE = 4;
/** Dimensions summed before asking whether a vector is too far already. */
const BLOCK = 32;
/** Rounds of moving the cells' centres to the mean of what they hold. */
const ROUNDS = 2;

export function createExactSearch(store: Store): NeighborSearch {
  return (nodeId, scopeId, k) => nearestExactly(store, nodeId, scopeId, k);
}

export function nearestExactly(store: Store, nodeId: number, scopeId: number, k: number): Neighbor[] {
  const vector = store.vectors.get(nodeId);
  if (vector === null || vector.every((value) => value === 0)) return [];
  return store.vectors
    .nearest(vector, k + 1, { scopeIds: [scopeId] })
    .filter((neighbor) => neighbor.nodeId !== nodeId)
    .slice(0, k);
}

/** All visible vectors in id order, side by side. */
interface Rows {
  readonly ids: Float64Array;
  readonly scopes: Int32Array;
  readonly vectors: Int8Array;
  readonly dimensions: number;
}

/**
 * Sorts the visible vectors into about `cells` cells. Memory: the vectors, and about 20 bytes a node. The same
 * vectors give the same cells, whatever was looked up before.
 */
export function createCellSearch(store: Store, cells: number): NeighborSearch {
  const rows = store.read(() => loadRows(store));
  const count = rows.ids.length;
  if (count === 0) return () => [];
  const places = new Map<number, number>();
  for (let row = 0; row < count; row++) places.set(rows.ids[row] as number, row);
  const { centers, members } = sortIntoCells(rows, Math.max(1, Math.min(cells, count)));
  return (nodeId, scopeId, k) => {
    const row = places.get(nodeId);
    if (row === undefined || isZero(rows, row)) return [];
    const found: Place[] = [];
    for (const cell of nearestCells(rows, row, centers)) {
      for (const other of members[cell] ?? []) {
        if (other !== row && rows.scopes[other] === scopeId) consider(found, k, rows, row, rows, other);
      }
    }
    return found.map(({ row: other, square }) => ({
      nodeId: rows.ids[other] as number,
      cosine: cosineFromL2(Math.sqrt(square)),
    }));
  };
}

function loadRows(store: Store): Rows {
  const model = store.models.active();
  if (model === null)
    return { ids: new Float64Array(), scopes: new Int32Array(), vectors: new Int8Array(), dimensions: 0 };
  const { dimensions } = model;
  const capacity = store.vectors.count();
  const ids = new Float64Array(capacity);
  const scopes = new Int32Array(capacity);
  const vectors = new Int8Array(capacity * dimensions);
  let count = 0;
  eachVector(store.connection, model.vecTable, (nodeId, scopeId, vector) => {
    ids[count] = nodeId;
    scopes[count] = scopeId;
    vectors.set(vector, count * dimensions);
    count += 1;
  });
  return {
    ids: ids.subarray(0, count),
    scopes: scopes.subarray(0, count),
    vectors: vectors.subarray(0, count * dimensions),
    dimensions,
  };
}

interface Cells {
  readonly centers: Rows;
  readonly members: readonly Int32Array[];
}

function sortIntoCells(rows: Rows, cells: number): Cells {
  const count = rows.ids.length;
  const { dimensions } = rows;
  const vectors = new Int8Array(cells * dimensions);
  for (let cell = 0; cell < cells; cell++) {
    const row = Math.floor((cell * count) / cells);
    vectors.set(rows.vectors.subarray(row * dimensions, (row + 1) * dimensions), cell * dimensions);
  }
  const centers: Rows = { ids: new Float64Array(cells), scopes: new Int32Array(cells), vectors, dimensions };
  // Centres settle on a sample; only the last pass places every row.
  const sampleStep = Math.max(1, Math.floor(count / (cells * 16)));
  for (let round = 0; round < ROUNDS; round++) moveCenters(rows, centers, sampleStep);
  const assigned = new Int32Array(count);
  for (let row = 0; row < count; row++) assigned[row] = nearestCell(rows, row, centers);
  return cutOversized(centers, assigned, cells, count);
}

function moveCenters(rows: Rows, centers: Rows, step: number): void {
  const { dimensions } = rows;
  const cells = centers.ids.length;
  const sums = new Float64Array(cells * dimensions);
  for (let row = 0; row < rows.ids.length; row += step) {
    const from = row * dimensions;
    const to = nearestCell(rows, row, centers) * dimensions;
    for (let at = 0; at < dimensions; at++) {
      sums[to + at] = (sums[to + at] as number) + (rows.vectors[from + at] as number);
    }
  }
  for (let cell = 0; cell < cells; cell++) {
    const sum = sums.subarray(cell * dimensions, (cell + 1) * dimensions);
    const length = Math.sqrt(sum.reduce((square, value) => square + value * value, 0));
    if (length === 0) continue;
    for (let at = 0; at < dimensions; at++) {
      centers.vectors[cell * dimensions + at] = Math.round(((sum[at] as number) * VECTOR_SCALE) / length);
    }
  }
}

/** Members by cell; a cell that is too large becomes several with the same centre. */
function cutOversized(centers: Rows, assigned: Int32Array, cells: number, count: number): Cells {
  const sizes = new Int32Array(cells);
  for (const cell of assigned) sizes[cell] = (sizes[cell] as number) + 1;
  const members = Array.from(sizes, (size) => new Int32Array(size));
  const filled = new Int32Array(cells);
  assigned.forEach((cell, row) => {
    const list = members[cell];
    const at = filled[cell] as number;
    if (list !== undefined) list[at] = row;
    filled[cell] = at + 1;
  });
  const most = Math.max(1, Math.ceil((OVERSIZE * count) / cells));
  const { dimensions } = centers;
  const pieces = members.flatMap((list, cell) =>
    Array.from({ length: Math.ceil(list.length / most) }, (_, piece) => ({
      cell,
      rows: list.subarray(piece * most, (piece + 1) * most),
    })),
  );
  const vectors = new Int8Array(pieces.length * dimensions);
  pieces.forEach(({ cell }, index) => {
    vectors.set(centers.vectors.subarray(cell * dimensions, (cell + 1) * dimensions), index * dimensions);
  });
  return {
    centers: { ids: new Float64Array(pieces.length), scopes: new Int32Array(pieces.length), vectors, dimensions },
    members: pieces.map((piece) => piece.rows),
  };
}

function nearestCell(rows: Rows, row: number, centers: Rows): number {
  let best = 0;
  let nearest = Number.POSITIVE_INFINITY;
  for (let cell = 0; cell < centers.ids.length; cell++) {
    const square = squareBetween(rows, row, centers, cell, nearest);
    if (square < nearest) {
      nearest = square;
      best = cell;
    }
  }
  return best;
}

function nearestCells(rows: Rows, row: number, centers: Rows): number[] {
  const found: Place[] = [];
  for (let cell = 0; cell < centers.ids.length; cell++) consider(found, PROBES, rows, row, centers, cell);
  return found.map(({ row: cell }) => cell);
}

/** A row and its squared L2 distance. */
interface Place {
  readonly row: number;
  readonly square: number;
}

/** Puts a row into a short list of the nearest ones, if it is near enough: nearest first, ties by row. */
function consider(found: Place[], k: number, rows: Rows, row: number, others: Rows, other: number): void {
  const last = found.length < k ? undefined : found[k - 1];
  const square = squareBetween(rows, row, others, other, last?.square ?? Number.POSITIVE_INFINITY);
  if (last !== undefined && !isNearer(square, other, last)) return;
  let at = found.length;
  while (at > 0 && isNearer(square, other, found[at - 1] as Place)) at -= 1;
  found.splice(at, 0, { row: other, square });
  if (found.length > k) found.pop();
}

function isNearer(square: number, row: number, than: Place): boolean {
  return square < than.square || (square === than.square && row < than.row);
}

function isZero({ vectors, dimensions }: Rows, row: number): boolean {
  return vectors.subarray(row * dimensions, (row + 1) * dimensions).every((value) => value === 0);
}

/** Squared L2 distance of two rows, or any number above `limit` once it is seen to be farther. */
function squareBetween(a: Rows, rowA: number, b: Rows, rowB: number, limit: number): number {
  const { dimensions } = a;
  const x = a.vectors;
  const y = b.vectors;
  const fromA = rowA * dimensions;
  const fromB = rowB * dimensions;
  let square = 0;
  for (let start = 0; start < dimensions && square <= limit; start += BLOCK) {
    const end = Math.min(dimensions, start + BLOCK);
    for (let at = start; at < end; at++) {
      const difference = (x[fromA + at] as number) - (y[fromB + at] as number);
      square = (square + Math.imul(difference, difference)) | 0;
    }
  }
  return square;
}
