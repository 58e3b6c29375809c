/**
 * Principal component analysis of token vectors, with the symmetric eigenproblem solved by cyclic Jacobi
 * rotations: slow, exact and without a dependency. Part of scripts/distil.ts.
 */

const MAX_SWEEPS = 30;
const CONVERGED = 1e-18;

/**
 * The strongest axis of all tokens says how common a token is, not what it means, and is left out (Mu and Viswanath
 * 2018, "All-but-the-top").
 */
const DROPPED_AXES = 1;

/**
 * Centres the kept rows on their mean and writes them in the `dimensions` axes after the strongest, scaled so that
 * the mean length is 1. Rows not kept become zero.
 * @param rows row-major, n × width
 * @returns row-major, n × dimensions
 */
export function projectOnPrincipalAxes(
  rows: Float64Array,
  width: number,
  kept: readonly number[],
  dimensions: number,
): Float64Array {
  const mean = new Float64Array(width);
  for (const id of kept) {
    for (let at = 0; at < width; at++)
      mean[at] = (mean[at] as number) + (rows[id * width + at] as number) / kept.length;
  }
  const covariance = new Float64Array(width * width);
  const centred = new Float64Array(width);
  for (const id of kept) {
    for (let at = 0; at < width; at++) centred[at] = (rows[id * width + at] as number) - (mean[at] as number);
    for (let i = 0; i < width; i++) {
      const factor = centred[i] as number;
      for (let j = 0; j < width; j++) {
        covariance[i * width + j] = (covariance[i * width + j] as number) + factor * (centred[j] as number);
      }
    }
  }
  const axes = findEigenvectors(covariance, width).slice(DROPPED_AXES, DROPPED_AXES + dimensions);
  const projected = new Float64Array((rows.length / width) * dimensions);
  let lengths = 0;
  for (const id of kept) {
    for (let at = 0; at < width; at++) centred[at] = (rows[id * width + at] as number) - (mean[at] as number);
    let square = 0;
    for (const [place, axis] of axes.entries()) {
      let value = 0;
      for (let at = 0; at < width; at++) value += (axis[at] as number) * (centred[at] as number);
      projected[id * dimensions + place] = value;
      square += value * value;
    }
    lengths += Math.sqrt(square);
  }
  return projected.map((value) => (value * kept.length) / lengths);
}

/** Unit eigenvectors of a symmetric matrix (destroyed), strongest first. */
function findEigenvectors(matrix: Float64Array, width: number): Float64Array[] {
  const vectors = new Float64Array(width * width);
  for (let at = 0; at < width; at++) vectors[at * width + at] = 1;
  for (let sweep = 0; sweep < MAX_SWEEPS && !isDiagonal(matrix, width); sweep++) {
    for (let p = 0; p < width - 1; p++) {
      for (let q = p + 1; q < width; q++) rotate(matrix, vectors, width, p, q);
    }
  }
  return Array.from({ length: width }, (_, at) => at)
    .sort((a, b) => (matrix[b * width + b] as number) - (matrix[a * width + a] as number))
    .map((row) => vectors.subarray(row * width, (row + 1) * width));
}

function isDiagonal(matrix: Float64Array, width: number): boolean {
  let off = 0;
  let diagonal = 0;
  for (let i = 0; i < width; i++) {
    for (let j = 0; j < width; j++) {
      const square = (matrix[i * width + j] as number) ** 2;
      if (i === j) diagonal += square;
      else off += square;
    }
  }
  return off <= CONVERGED * diagonal;
}

/** One Jacobi rotation that makes matrix[p][q] zero; eigenvectors are the rows of `vectors`. */
function rotate(matrix: Float64Array, vectors: Float64Array, width: number, p: number, q: number): void {
  const apq = matrix[p * width + q] as number;
  if (apq === 0) return;
  const theta = ((matrix[q * width + q] as number) - (matrix[p * width + p] as number)) / (2 * apq);
  const tangent = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  for (let at = 0; at < width; at++) turn(matrix, at * width + p, at * width + q, cosine, sine);
  for (let at = 0; at < width; at++) {
    turn(matrix, p * width + at, q * width + at, cosine, sine);
    turn(vectors, p * width + at, q * width + at, cosine, sine);
  }
}

function turn(values: Float64Array, first: number, second: number, cosine: number, sine: number): void {
  const a = values[first] as number;
  const b = values[second] as number;
  values[first] = cosine * a - sine * b;
  values[second] = sine * a + cosine * b;
}
