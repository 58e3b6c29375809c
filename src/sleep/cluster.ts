/**
 * k-means over int8 unit vectors (Lloyd 1982), in levels when many centres are wanted, and the search for the
 * nearest of many centres. Pure, without chance: the same vectors in the same order give the same centres.
 */
import { VECTOR_SCALE } from "../core/ports.ts";
import { Squares } from "../store/squares.ts";

/** Centres up to which all are fitted at once; more of them are fitted within groups. */
const FLAT_CENTERS = 128;
/** Rounds of moving the centres to the mean of what is nearest to them. */
const ROUNDS = 5;
/** Share of the groups looked into for the nearest centre; finds it for 95 vectors of 100, else one as near. */
const GROUP_SHARE = 1 / 6;
const MIN_GROUPS = 4;

/** The place of the least value, the first of equal ones. */
function indexOfLeast(values: Int32Array): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    if (value < least) {
      least = value;
      best = at;
    }
  }
  return best;
}

function rowOf(vectors: Int8Array, dimensions: number, row: number): Int8Array {
  return vectors.subarray(row * dimensions, (row + 1) * dimensions);
}

/** The nearest center of each vector. */
function assign(vectors: Int8Array, dimensions: number, centers: Int8Array): Int32Array {
  const squares = new Squares(dimensions);
  squares.load(centers);
  const assigned = new Int32Array(vectors.length / dimensions);
  for (let row = 0; row < assigned.length; row++) {
    assigned[row] = indexOfLeast(squares.from(rowOf(vectors, dimensions, row)));
  }
  return assigned;
}

function fitCenters(vectors: Int8Array, dimensions: number, wanted: number): Int8Array {
  const count = vectors.length / dimensions;
  const centers = new Int8Array(wanted * dimensions);
  for (let center = 0; center < wanted; center++) {
    centers.set(rowOf(vectors, dimensions, Math.floor((center * count) / wanted)), center * dimensions);
  }
  for (let round = 0; round < ROUNDS; round++) moveCenters(vectors, dimensions, centers);
  return centers;
}

/** Moves every centre to the mean direction of its vectors; one that has none stays. */
function moveCenters(vectors: Int8Array, dimensions: number, centers: Int8Array): void {
  const sums = new Float64Array(centers.length);
  assign(vectors, dimensions, centers).forEach((center, row) => {
    const from = row * dimensions;
    const to = center * dimensions;
    for (let at = 0; at < dimensions; at++) sums[to + at] = (sums[to + at] as number) + (vectors[from + at] as number);
  });
  for (let start = 0; start < sums.length; start += dimensions) {
    const sum = sums.subarray(start, start + dimensions);
    const length = Math.sqrt(sum.reduce((square, value) => square + value * value, 0));
    if (length === 0) continue;
    for (let at = 0; at < dimensions; at++) {
      centers[start + at] = Math.round(((sum[at] as number) * VECTOR_SCALE) / length);
    }
  }
}

/** Vectors by the center each is nearest to, side by side, in their order. */
function gatherByCenter(vectors: Int8Array, dimensions: number, centers: Int8Array): Int8Array[] {
  const assigned = assign(vectors, dimensions, centers);
  const sizes = new Int32Array(centers.length / dimensions);
  for (const center of assigned) sizes[center] = (sizes[center] as number) + 1;
  const groups = Array.from(sizes, (size) => new Int8Array(size * dimensions));
  const filled = new Int32Array(sizes.length);
  assigned.forEach((center, row) => {
    const at = filled[center] as number;
    groups[center]?.set(rowOf(vectors, dimensions, row), at * dimensions);
    filled[center] = at + 1;
  });
  return groups;
}

/**
 * About `wanted` centres of the vectors, side by side.
 * @param vectors side by side, at least one
 */
export function clusterVectors(vectors: Int8Array, dimensions: number, wanted: number): Int8Array {
  const count = vectors.length / dimensions;
  const possible = Math.max(1, Math.min(wanted, count));
  if (possible <= FLAT_CENTERS) return fitCenters(vectors, dimensions, possible);
  const centers = fitCenters(vectors, dimensions, Math.ceil(Math.sqrt(possible)));
  const parts = gatherByCenter(vectors, dimensions, centers)
    .filter((group) => group.length > 0)
    .map((group) => {
      const share = Math.round((possible * group.length) / vectors.length);
      return clusterVectors(group, dimensions, Math.max(1, share));
    });
  const joined = new Int8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Share of the vectors that are nearest to one and the same centre, the one that has most; in (0, 1]. */
export function largestShare(vectors: Int8Array, dimensions: number, centers: Int8Array): number {
  const largest = gatherByCenter(vectors, dimensions, centers).reduce((most, { length }) => Math.max(most, length), 0);
  return largest / vectors.length;
}

/** Finds the nearest of many centres without measuring all: by groups of centres, of which the nearest are looked into. */
export class CenterFinder {
  readonly #groups: Squares;
  readonly #members: readonly { readonly squares: Squares; readonly centers: readonly number[] }[];
  readonly #looks: number;

  /** @param centers side by side, at least one */
  constructor(centers: Int8Array, dimensions: number) {
    const count = centers.length / dimensions;
    const groupCount = count <= FLAT_CENTERS ? 1 : Math.ceil(Math.sqrt(count));
    const groups = fitCenters(centers, dimensions, groupCount);
    const assigned = assign(centers, dimensions, groups);
    this.#groups = new Squares(dimensions);
    this.#groups.load(groups);
    this.#members = Array.from({ length: groupCount }, (_, group) => {
      const places = Array.from(assigned.keys()).filter((place) => assigned[place] === group);
      const rows = new Int8Array(places.length * dimensions);
      places.forEach((place, at) => {
        rows.set(rowOf(centers, dimensions, place), at * dimensions);
      });
      const squares = new Squares(dimensions);
      squares.load(rows);
      return { squares, centers: places };
    });
    this.#looks = Math.min(groupCount, Math.max(MIN_GROUPS, Math.ceil(groupCount * GROUP_SHARE)));
  }

  /** The place of the nearest centre among those given, the first of equally near ones in the groups looked into. */
  nearest(vector: Int8Array): number {
    const toGroups = Array.from(this.#groups.from(vector));
    const order = Array.from(toGroups.keys()).sort((a, b) => (toGroups[a] ?? 0) - (toGroups[b] ?? 0) || a - b);
    let best = 0;
    let least = Number.POSITIVE_INFINITY;
    for (const group of order.slice(0, this.#looks)) {
      const member = this.#members[group];
      if (member === undefined || member.centers.length === 0) continue;
      const squares = member.squares.from(vector);
      const at = indexOfLeast(squares);
      const square = squares[at] as number;
      const center = member.centers[at] as number;
      if (square < least || (square === least && center < best)) {
        least = square;
        best = center;
      }
    }
    return best;
  }
}
