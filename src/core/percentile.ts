/** Percentiles of small samples. */

/** Nearest rank of an ascending sample; 0 for an empty one. @param share in [0, 1] */
export function percentileOf(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1))] ?? 0;
}
