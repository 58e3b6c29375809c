/**
 * What the daemon does next, and when: pure, from the clock it is given. A night is due when the schedule named a
 * moment since the brain last slept, so one that was missed is due at once. Refuses to believe in the future: a brain
 * that slept "tomorrow", under a clock that was wrong, counts as slept when the daemon started.
 */
import { type Millis, MS_PER_MINUTE } from "../core/clock.ts";
import type { NextRun } from "./status-file.ts";

/** How often watched folders are looked through. */
export const SCAN_EVERY_MS = 10 * MS_PER_MINUTE;
/** A night that begins later than this after its time was missed. */
const MISSED_AFTER_MS = 5 * MS_PER_MINUTE;
/** Wait before the first new try after a failure; doubled with each. */
const FIRST_RETRY_MS = MS_PER_MINUTE;
const LAST_RETRY_MS = 60 * MS_PER_MINUTE;

export interface PlanInput {
  readonly now: Millis;
  /** When this daemon started. */
  readonly startedAt: Millis;
  /** The schedule's first moment after one. */
  readonly nextDue: (after: Millis) => Millis;
  /** When the brain slept whole the last time, or was made. */
  readonly restedAt: Millis;
  /** How much later than its time the night that is due then begins, in milliseconds. */
  readonly jitter: (due: Millis) => number;
  /** When a night that failed is tried again; null: nothing failed. */
  readonly retryAt: Millis | null;
  /** When the watched folders were looked through; null: not since the start. */
  readonly scannedAt: Millis | null;
  readonly isWatching: boolean;
}

export interface Plan {
  readonly what: NextRun["what"];
  /** At or before `now`: at once. */
  readonly at: Millis;
  readonly reason: NextRun["reason"];
}

/** The night, or a look through the watched folders when that comes first. A night looks through them itself. */
export function planNext(input: PlanInput): Plan {
  const night = planNight(input);
  if (!input.isWatching) return night;
  const scanAt = input.scannedAt === null ? input.now : Math.min(input.scannedAt, input.now) + SCAN_EVERY_MS;
  return scanAt < night.at && night.at > input.now ? { what: "scan", at: scanAt, reason: "watch" } : night;
}

function planNight({ now, startedAt, nextDue, restedAt, jitter, retryAt }: PlanInput): Plan {
  const due = nextDue(restedAt <= now ? restedAt : Math.min(startedAt, now));
  const at = due + jitter(due);
  if (retryAt !== null && retryAt > at) return { what: "night", at: retryAt, reason: "retry" };
  return { what: "night", at, reason: now - at > MISSED_AFTER_MS ? "missed" : "scheduled" };
}

/** Milliseconds to wait after so many failures in a row. */
export function retryDelay(failures: number): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, failures - 1));
}

/**
 * A share of the jitter that is the same whenever it is asked for this night, so that a restart does not begin it
 * again, and another one for another brain, so that many on a machine do not begin at once.
 * @param seed of the brain, 32 bits
 */
export function jitterOf(seed: number, due: Millis, maxMs: number): number {
  let hash = (seed ^ Math.floor(due / MS_PER_MINUTE)) >>> 0;
  for (const shift of [16, 15, 16]) hash = Math.imul(hash ^ (hash >>> shift), 0x45d9f3b) >>> 0;
  return Math.floor((hash / 2 ** 32) * maxMs);
}
