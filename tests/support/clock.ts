/** A clock that stands still until a test moves it. */
import type { Clock } from "../../src/core/clock.ts";

/** 2026-03-01T12:00:00Z: where test time begins unless told otherwise. */
const DEFAULT_START = Date.UTC(2026, 2, 1, 12);

export interface TestClock extends Clock {
  /** Moves the clock by this many milliseconds. */
  advance(ms: number): void;
}

export function createTestClock(start: number = DEFAULT_START): TestClock {
  let now = start;
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
  };
}
