/** How every adapter ends: a sum of numbers becomes the unit int8 vector that the Embedder port promises. Pure. */
import { VECTOR_SCALE } from "../core/ports.ts";

/** The sum brought to unit length and scaled to int8; zeros stay zeros. */
export function toUnitVector(sum: Float64Array): Int8Array {
  let square = 0;
  for (const value of sum) square += value * value;
  const vector = new Int8Array(sum.length);
  if (square === 0) return vector;
  const factor = VECTOR_SCALE / Math.sqrt(square);
  for (let at = 0; at < sum.length; at++) vector[at] = Math.round((sum[at] as number) * factor);
  return vector;
}
