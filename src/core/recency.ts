/**
 * Recency on the biographical clock: how much a thought's age by when it HAPPENED weighs in retrieval.
 * Operational passes (sleep, decay, leases) may not import this module; the linter refuses it.
 */
import { MS_PER_DAY } from "./clock.ts";

/** Days in which the weight's distance to its floor halves. */
const HALF_LIFE_DAYS = 365;
const FLOOR = 0.5;

/**
 * Weight in [0.5, 1] for an event at `happenedAt` seen from `now`; an unknown time weighs 1, a future one too.
 */
export function recencyWeight(happenedAt: number | null, now: number): number {
  if (happenedAt === null || happenedAt >= now) return 1;
  const ageDays = (now - happenedAt) / MS_PER_DAY;
  return FLOOR + (1 - FLOOR) * 2 ** (-ageDays / HALF_LIFE_DAYS);
}
