/**
 * Nearest neighbours for sleep. A night with little to look up asks the vector index, exactly. A night with
 * much sorts all vectors into cells once, in memory, and looks into the nearest cells only, so that a brain
 * twice the size costs less than three times the night. Neighbours are of the same scope and visible.
 */
import { cosineFromL2 } from "../core/ports.ts";
import { eachVector, type ScopedNode, sampleThoughts } from "../store/sleep-links.ts";
import { Squares } from "../store/squares.ts";
import type { Store } from "../store/store.ts";
import type { Neighbor } from "../store/vectors.ts";
import { CenterFinder, clusterVectors } from "./cluster.ts";

/** Neighbours of one node, nearest first, ties by id; never itself. Empty without a vector or without words. */
export type NeighborSearch = (nodeId: number, scopeId: number, k: number) => Neighbor[];

/** Cells looked into for one node. */
const PROBES = 16;
/** A cell this many times the average is cut, so that a heap of copies cannot make one look-up slow. */
const OVERSIZE = 4;
/** Vectors that a centre is fitted to. */
const SAMPLE_PER_CELL = 16;
/** Vectors sorted between two looks at the time. */
const SORTED_BETWEEN = 5_000;

export function createExactSearch(store: Store): NeighborSearch {
  return (nodeId, scopeId, k) => nearestExactly(store, nodeId, scopeId, k);
}

/** Visible thoughts spread over the brain, at most so many, those among them that have a vector with a word in it. */
export function sampleVectors(store: Store, limit: number): (ScopedNode & { readonly vector: Int8Array })[] {
  return sampleThoughts(store.connection, limit).flatMap(({ id, scopeId }) => {
    const vector = store.vectors.get(id);
    return vector === null || vector.every((value) => value === 0) ? [] : [{ id, scopeId, vector }];
  });
}

export function nearestExactly(store: Store, nodeId: number, scopeId: number, k: number): Neighbor[] {
  const vector = store.vectors.get(nodeId);
  if (vector === null || vector.every((value) => value === 0)) return [];
  return store.vectors
    .nearest(vector, k + 1, { scopeIds: [scopeId], exact: true })
    .neighbors.filter((neighbor) => neighbor.nodeId !== nodeId)
    .slice(0, k);
}

/** Visible vectors side by side. */
interface Rows {
  readonly ids: Float64Array;
  readonly scopes: Int32Array;
  readonly vectors: Int8Array;
  readonly dimensions: number;
}

/** Rows sorted by cell, in id order within one. */
interface CellRows extends Rows {
  /** Centres of the cells, side by side. */
  readonly centers: Int8Array;
  /** Where each cell begins, and the end of the last. */
  readonly starts: readonly number[];
}

/**
 * Sorts the visible vectors into about `cells` cells. Memory: twice the vectors while sorting, once afterwards, and
 * about 30 bytes a node. The same vectors give the same cells, whatever was looked up before.
 * @param goOn asked every few thousand vectors, some hundred milliseconds of sorting; false ends it
 * @returns null when it was ended
 */
export async function createCellSearch(
  store: Store,
  cells: number,
  goOn: () => Promise<boolean> = async () => true,
): Promise<NeighborSearch | null> {
  const loaded = store.read(() => loadRows(store));
  const count = loaded.ids.length;
  if (count === 0) return () => [];
  const rows = await sortIntoCells(loaded, Math.max(1, Math.min(cells, count)), goOn);
  if (rows === null) return null;
  const places = new Map<number, number>();
  for (let row = 0; row < count; row++) places.set(rows.ids[row] as number, row);
  const toCenters = new Squares(rows.dimensions);
  toCenters.load(rows.centers);
  const toRows = new Squares(rows.dimensions);
  return (nodeId, scopeId, k) => {
    const row = places.get(nodeId);
    const vector = row === undefined ? null : vectorsOf(rows, row, row + 1);
    if (vector === null || vector.every((value) => value === 0)) return [];
    const found: Place[] = [];
    for (const cell of nearestCells(toCenters.from(vector))) {
      const start = rows.starts[cell] as number;
      toRows.load(vectorsOf(rows, start, rows.starts[cell + 1] as number));
      toRows.from(vector).forEach((square, at) => {
        const other = start + at;
        if (other !== row && rows.scopes[other] === scopeId) consider(found, k, rows.ids[other] as number, square);
      });
    }
    return found.map(({ id, square }) => ({ nodeId: id, cosine: cosineFromL2(Math.sqrt(square)) }));
  };
}

function vectorsOf({ vectors, dimensions }: Rows, start: number, end: number): Int8Array {
  return vectors.subarray(start * dimensions, end * dimensions);
}

/** In id order. */
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

async function sortIntoCells(rows: Rows, wanted: number, goOn: () => Promise<boolean>): Promise<CellRows | null> {
  const count = rows.ids.length;
  const { dimensions } = rows;
  const centers = clusterVectors(sampleOf(rows, wanted * SAMPLE_PER_CELL), dimensions, wanted);
  const finder = new CenterFinder(centers, dimensions);
  const members: number[][] = Array.from({ length: centers.length / dimensions }, () => []);
  for (let row = 0; row < count; row++) {
    if (row % SORTED_BETWEEN === 0 && !(await goOn())) return null;
    members[finder.nearest(vectorsOf(rows, row, row + 1))]?.push(row);
  }
  const most = Math.max(1, Math.ceil((OVERSIZE * count) / members.length));
  const pieces = members.flatMap((list, cell) =>
    Array.from({ length: Math.ceil(list.length / most) }, (_, piece) => ({
      cell,
      rows: list.slice(piece * most, (piece + 1) * most),
    })),
  );
  const sorted = {
    ids: new Float64Array(count),
    scopes: new Int32Array(count),
    vectors: new Int8Array(count * dimensions),
    centers: new Int8Array(pieces.length * dimensions),
    starts: [0],
    dimensions,
  };
  let place = 0;
  pieces.forEach((piece, index) => {
    sorted.centers.set(centers.subarray(piece.cell * dimensions, (piece.cell + 1) * dimensions), index * dimensions);
    for (const row of piece.rows) {
      sorted.ids[place] = rows.ids[row] as number;
      sorted.scopes[place] = rows.scopes[row] as number;
      sorted.vectors.set(vectorsOf(rows, row, row + 1), place * dimensions);
      place += 1;
    }
    sorted.starts.push(place);
  });
  return sorted;
}

/** About `wanted` vectors from all over the rows, side by side. */
function sampleOf(rows: Rows, wanted: number): Int8Array {
  const count = rows.ids.length;
  const { dimensions } = rows;
  const step = Math.max(1, Math.floor(count / wanted));
  const sample = new Int8Array(Math.ceil(count / step) * dimensions);
  for (let row = 0; row < count; row += step) sample.set(vectorsOf(rows, row, row + 1), (row / step) * dimensions);
  return sample;
}

function nearestCells(squares: Int32Array): number[] {
  const found: Place[] = [];
  squares.forEach((square, cell) => {
    consider(found, PROBES, cell, square);
  });
  return found.map(({ id }) => id);
}

/** A node or a cell and its squared L2 distance. */
interface Place {
  readonly id: number;
  readonly square: number;
}

/** Puts one into a short list of the nearest, if it is near enough: nearest first, ties by id. */
function consider(found: Place[], k: number, id: number, square: number): void {
  const last = found.length < k ? undefined : found[k - 1];
  if (last !== undefined && !isNearer(square, id, last)) return;
  let at = found.length;
  while (at > 0 && isNearer(square, id, found[at - 1] as Place)) at -= 1;
  found.splice(at, 0, { id, square });
  if (found.length > k) found.pop();
}

function isNearer(square: number, id: number, than: Place): boolean {
  return square < than.square || (square === than.square && id < than.id);
}
