/** Lists cut into parts, for what is written or asked in bounded portions. */

/** The items in order, `size` at a time, the last part with what is left; none for an empty list. */
export function batchesOf<T>(items: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let start = 0; start < items.length; start += size) batches.push(items.slice(start, start + size));
  return batches;
}
