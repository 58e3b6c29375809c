/** A cycle that is called off ends after its batch, says so, does not count as a night, and the next one goes on. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { PHASE_NAMES, runSleep } from "../../src/sleep/cycle.ts";
import { WHOLE_CYCLE_CURSOR } from "../../src/store/operations.ts";
import { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { readSleepState } from "../support/sleep-state.ts";

/** Texts that share no word. */
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
    const path = `${brain.path}.twin`;
    brain.store.connection.db.prepare("VACUUM INTO ?").run(path);
    const twin = Store.open(path, brain.clock);
    await runSleep(twin, brain.embedder);
    const calm = readSleepState(twin);
    twin.close();

    const stop = new AbortController();
    let batches = 0;
    const report = await runSleep(brain.store, brain.embedder, {
      signal: stop.signal,
      onProgress: ({ stage }) => {
        if (stage !== "link") return;
        batches += 1;
        stop.abort();
      },
    });
    expect(batches).toBe(1);
    expect(report.interrupted).toBe(true);
    const last = report.phases.at(-1);
    expect(last).toMatchObject({ name: "link", details: { stopped: 1 } });
    expect(last?.applied).toBeGreaterThan(0);
    expect(last?.applied).toBeLessThan(calm.links.length);
    expect(restedAt()).toBeNull();
    expect(brain.store.leases.get("sleep")).toBeNull();

    await runSleep(brain.store, brain.embedder);
    expect(readSleepState(brain.store)).toEqual(calm);
    expect(restedAt()).not.toBeNull();
  });

  it.each([
    ["calibrate", {}],
    ["link", { exactComparisons: 1 }],
  ] as const)("is heard in %s before anything was written there", async (phase, config) => {
    const stop = new AbortController();
    const before = brain.store.ledger.head().seq;
    const report = await runSleep(brain.store, brain.embedder, {
      config,
      signal: stop.signal,
      onProgress: ({ stage }) => {
        if (stage === phase) stop.abort();
      },
    });
    expect(report.phases.at(-1)).toMatchObject({ name: phase, applied: 0, details: { stopped: 1 } });
    expect(brain.store.ledger.head().seq).toBe(before);
    const next = await runSleep(brain.store, brain.embedder, { config });
    const { phases } = next;
    expect(phases.find(({ name }) => name === "calibrate")?.applied).toBe(phase === "calibrate" ? 1 : 0);
    expect(phases.find(({ name }) => name === "link")?.details).toMatchObject({ visited: 900, stopped: 0 });
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
