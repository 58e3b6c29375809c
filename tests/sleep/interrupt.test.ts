/** A cycle that is called off ends after its batch, says so, does not count as a night, and the next one goes on. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { PHASE_NAMES, runSleep } from "../../src/sleep/cycle.ts";
import { WHOLE_CYCLE_CURSOR } from "../../src/store/operations.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { readSleepState } from "../support/sleep-state.ts";

/** Texts that share no word, so that nothing links them and all of them decay. */
const TEXTS = Array.from({ length: 900 }, (_, index) =>
  [1, 2, 3, 4, 5, 6].map((part) => `w${index}x${part}`).join(" "),
);

let brain: TestStore;
beforeEach(async () => {
  brain = createTestStore();
  await brain.remember(...TEXTS);
  brain.clock.advance(40 * MS_PER_DAY);
});
afterEach(() => brain.close());

const restedAt = () => brain.store.operations.cursorMovedAt(WHOLE_CYCLE_CURSOR);

describe("a cycle of sleep", () => {
  it("counts as a night when it ran whole, and only then", async () => {
    expect(restedAt()).toBeNull();
    await runSleep(brain.store, brain.embedder, { dryRun: true });
    await runSleep(brain.store, brain.embedder, { phases: ["link", "metrics"] });
    expect(restedAt()).toBeNull();
    const report = await runSleep(brain.store, brain.embedder);
    expect(report).not.toHaveProperty("interrupted");
    expect(restedAt()).toBe(brain.clock.now());
  });

  it("ends after the batch in which it is called off, and the next one ends where one alone would have", async () => {
    const twin = createTestStore();
    await twin.remember(...TEXTS);
    twin.clock.advance(40 * MS_PER_DAY);
    await runSleep(twin.store, twin.embedder);
    const calm = readSleepState(twin.store);
    twin.close();

    const stop = new AbortController();
    let batches = 0;
    const report = await runSleep(brain.store, brain.embedder, {
      signal: stop.signal,
      onProgress: ({ stage }) => {
        if (stage !== "decay") return;
        batches += 1;
        stop.abort();
      },
    });
    expect(batches).toBe(1);
    expect(report.interrupted).toBe(true);
    const last = report.phases.at(-1);
    expect(last).toMatchObject({ name: "decay", details: { stopped: 1 } });
    expect(last?.applied).toBeGreaterThan(0);
    expect(last?.applied).toBeLessThan(900);
    expect(restedAt()).toBeNull();
    expect(brain.store.leases.get("sleep")).toBeNull();

    await runSleep(brain.store, brain.embedder);
    const { decays, merges, vectors } = readSleepState(brain.store);
    expect([decays.length, merges.length, vectors]).toEqual([calm.decays.length, calm.merges.length, calm.vectors]);
    expect(restedAt()).not.toBeNull();
  });

  it("begins no phase when it was called off before", async () => {
    const report = await runSleep(brain.store, brain.embedder, { signal: AbortSignal.abort() });
    expect(report).toMatchObject({ interrupted: true, phases: [] });
  });

  it("rests after every batch, outside transactions", async () => {
    const inside: boolean[] = [];
    let told = 0;
    const { phases } = await runSleep(brain.store, brain.embedder, {
      onProgress: () => {
        told += 1;
      },
      rest: async () => {
        inside.push(brain.store.connection.db.inTransaction);
      },
    });
    expect(phases.map(({ name }) => name)).toEqual(PHASE_NAMES);
    expect(inside.length).toBeGreaterThan(3);
    expect(inside.length).toBe(told);
    expect(inside.includes(true)).toBe(false);
  });
});
