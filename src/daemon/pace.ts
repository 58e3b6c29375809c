/**
 * Keeps the work of a night to a share of one processor: after each batch it rests until the processor time spent
 * since the last rest is no more than that share of the time gone by. Refuses to save up: time spent waiting for
 * something else gives no right to a burst.
 */
import { setTimeout } from "node:timers/promises";

/** Shorter rests are put together, since a timer is no finer. */
const LEAST_REST_MS = 10;
/** One rest at most: the lease of sleep bears ten minutes of silence. */
const LONGEST_REST_MS = 120_000;
/** Time gone by that counts at most before a rest. */
const WINDOW_MS = 5_000;

/** The two clocks, in milliseconds; injected by tests. */
export interface PaceClock {
  readonly cpuMs: () => number;
  readonly wallMs: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

const processClock: PaceClock = {
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  wallMs: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await setTimeout(ms, undefined, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  },
};

/**
 * @param share of one processor, above 0; 1 and more never rests
 * @param signal ends a rest early
 * @returns what is awaited between batches
 */
export function createPacer(share: number, signal: AbortSignal, clock: PaceClock = processClock): () => Promise<void> {
  let cpuMark = clock.cpuMs();
  let wallMark = clock.wallMs();
  return async () => {
    if (share >= 1 || signal.aborted) return;
    const worked = clock.cpuMs() - cpuMark;
    const gone = Math.min(WINDOW_MS, clock.wallMs() - wallMark);
    const rest = Math.min(LONGEST_REST_MS, worked / share - Math.max(worked, gone));
    if (rest < LEAST_REST_MS && gone < WINDOW_MS) return;
    if (rest >= LEAST_REST_MS) await clock.sleep(rest, signal);
    cpuMark = clock.cpuMs();
    wallMark = clock.wallMs();
  };
}
