/**
 * The operational clock. Recorded times, decay, leases and review read this one and nothing else;
 * when something happened in a person's life is `referent.ts` and is kept out of operational passes.
 */

/** Milliseconds since the epoch, UTC. */
export type Millis = number;

export interface Clock {
  now(): Millis;
}

export const systemClock: Clock = { now: () => Date.now() };

export const MS_PER_MINUTE = 60_000;
export const MS_PER_HOUR = 3_600_000;
export const MS_PER_DAY = 86_400_000;

/** Whole UTC days since the epoch: the unit of access counting. */
export function dayOf(at: Millis): number {
  return Math.floor(at / MS_PER_DAY);
}
