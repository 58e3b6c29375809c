/** What comes next, by an injected clock: nights on time, missed, put off, and looks through folders between them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSchedule } from "../../src/app/schedule.ts";
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE } from "../../src/core/clock.ts";
import { jitterOf, type PlanInput, planNext, retryDelay, SCAN_EVERY_MS } from "../../src/daemon/plan-next.ts";

const schedule = parseSchedule("0 3 * * *");
/** Three at night on the day after which the tests go. */
const THREE = new Date(2026, 2, 2, 3).getTime();

function plan(change: Partial<PlanInput>) {
  return planNext({
    now: THREE - MS_PER_HOUR,
    startedAt: THREE - 2 * MS_PER_HOUR,
    nextDue: (after) => schedule.next(after),
    restedAt: THREE - MS_PER_DAY,
    jitter: () => 0,
    retryAt: null,
    scannedAt: null,
    isWatching: false,
    ...change,
  });
}

describe("the next night", () => {
  it("is at the schedule's next time after the brain slept", () => {
    expect(plan({})).toEqual({ what: "night", at: THREE, reason: "scheduled" });
  });

  it("is due at its time, not before and not again after it", () => {
    expect(plan({ now: THREE - 1 }).at).toBeGreaterThan(THREE - 1);
    expect(plan({ now: THREE }).at).toBe(THREE);
    expect(plan({ now: THREE + 1, restedAt: THREE + 1 }).at).toBe(new Date(2026, 2, 3, 3).getTime());
  });

  it("is late by its jitter", () => {
    expect(plan({ jitter: (due) => (due === THREE ? 7 * MS_PER_MINUTE : 0) }).at).toBe(THREE + 7 * MS_PER_MINUTE);
  });

  it("is due at once when it was missed, however many were, and once only", () => {
    const now = THREE + 5 * MS_PER_DAY;
    expect(plan({ now, startedAt: now })).toEqual({ what: "night", at: THREE, reason: "missed" });
    const after = plan({ now: now + MS_PER_MINUTE, startedAt: now, restedAt: now });
    expect(after.at).toBe(new Date(2026, 2, 8, 3).getTime());
  });

  it("is not missed for a brain that was made or slept after its time", () => {
    const now = THREE + 5 * MS_PER_HOUR;
    expect(plan({ now, restedAt: THREE + MS_PER_HOUR }).at).toBeGreaterThan(now);
  });

  it("waits after a failure, and then comes as another try", () => {
    const now = THREE + MS_PER_MINUTE;
    expect(plan({ now, retryAt: now + 500 })).toEqual({ what: "night", at: now + 500, reason: "retry" });
    expect([1, 2, 3, 7, 50].map((failures) => retryDelay(failures) / MS_PER_MINUTE)).toEqual([1, 2, 4, 60, 60]);
  });

  it("goes by the start when the brain slept in the future, so that a wrong clock stops no night", () => {
    const restedAt = THREE + 400 * MS_PER_DAY;
    expect(plan({ restedAt }).at).toBe(THREE);
    expect(plan({ restedAt, now: THREE }).at).toBe(THREE);
    expect(plan({ restedAt, now: THREE + MS_PER_HOUR })).toMatchObject({ at: THREE, reason: "missed" });
  });

  it("comes for every schedule exactly once a time, whenever the daemon looks", () => {
    const looks = fc.array(fc.integer({ min: 1, max: 9 * MS_PER_HOUR }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(looks, (gaps) => {
        let now = THREE - MS_PER_DAY;
        let restedAt = now;
        const begun: number[] = [];
        for (const gap of gaps) {
          now += gap;
          if (plan({ now, startedAt: THREE - MS_PER_DAY, restedAt }).at > now) continue;
          begun.push(now);
          restedAt = now;
        }
        // Oracle: between two looks at least one three o'clock went by.
        const times = gaps.map(
          (_, at) => THREE - MS_PER_DAY + gaps.slice(0, at + 1).reduce((sum, gap) => sum + gap, 0),
        );
        const wanted = times.filter(
          (time, at) => schedule.next(at === 0 ? THREE - MS_PER_DAY : (times[at - 1] ?? 0)) <= time,
        );
        expect(begun).toEqual(wanted);
      }),
    );
  });
});

describe("looks through watched folders", () => {
  it("begin with the start, then come every ten minutes, and never when nothing is watched", () => {
    const now = THREE - MS_PER_HOUR;
    expect(plan({ isWatching: true })).toEqual({ what: "scan", at: now, reason: "watch" });
    expect(plan({ isWatching: true, scannedAt: now })).toEqual({
      what: "scan",
      at: now + SCAN_EVERY_MS,
      reason: "watch",
    });
    expect(plan({ scannedAt: now }).what).toBe("night");
  });

  it("give way to a night, which looks itself", () => {
    expect(plan({ isWatching: true, now: THREE }).what).toBe("night");
    expect(plan({ isWatching: true, scannedAt: THREE - MS_PER_MINUTE, now: THREE - 1 })).toMatchObject({
      what: "night",
      at: THREE,
    });
  });

  it("go on while a night waits for another try", () => {
    const now = THREE + MS_PER_MINUTE;
    const retryAt = now + MS_PER_HOUR;
    expect(plan({ isWatching: true, now, retryAt, scannedAt: now - SCAN_EVERY_MS })).toMatchObject({ what: "scan" });
  });

  it("do not wait for a time that a wrong clock noted", () => {
    const now = THREE - MS_PER_HOUR;
    expect(plan({ isWatching: true, scannedAt: now + 9 * MS_PER_DAY })).toMatchObject({ at: now + SCAN_EVERY_MS });
  });
});

describe("the jitter", () => {
  it("is the same for a night whenever it is asked for, within its bound, and spread over it", () => {
    const max = 10 * MS_PER_MINUTE;
    const nights = Array.from({ length: 2_000 }, (_, night) => THREE + night * MS_PER_DAY);
    const delays = nights.map((due) => jitterOf(77, due, max));
    expect(delays).toEqual(nights.map((due) => jitterOf(77, due, max)));
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThan(max);
    for (let tenth = 0; tenth < 10; tenth++) {
      const count = delays.filter((delay) => Math.floor((delay * 10) / max) === tenth).length;
      expect(count).toBeGreaterThan(120);
      expect(count).toBeLessThan(280);
    }
  });

  it("differs from brain to brain, and is none without a bound", () => {
    const delays = new Set(Array.from({ length: 50 }, (_, seed) => jitterOf(seed, THREE, 600_000)));
    expect(delays.size).toBeGreaterThan(45);
    expect(jitterOf(1, THREE, 0)).toBe(0);
  });
});
