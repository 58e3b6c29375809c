/**
 * Order statistics of measured times, for eval and bench. Refuses an empty sample: a missing measurement
 * must not print as zero.
 */
import { percentileOf } from "../src/core/percentile.ts";

/**
 * The value that a share of the sample does not exceed, by the nearest-rank rule.
 * @param share in (0, 1].
 * @throws RangeError for an empty sample or a share outside the range.
 */
export function percentile(sample: readonly number[], share: number): number {
  if (!(share > 0 && share <= 1)) throw new RangeError(`a share of ${share} is no percentile`);
  if (sample.length === 0) throw new RangeError("an empty sample has no percentile");
  return percentileOf(
    [...sample].sort((a, b) => a - b),
    share,
  );
}

/** The middle value; of an even sample the mean of the two in the middle. @throws RangeError when empty. */
export function median(sample: readonly number[]): number {
  const sorted = [...sample].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError("an empty sample has no median");
  return (lower + upper) / 2;
}
