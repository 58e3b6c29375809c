import { describe, expect, test } from "vitest";
import { runSleep } from "../../src/sleep/cycle.ts";
import { DEFAULT_SLEEP_CONFIG, type SleepConfig } from "../../src/sleep/phase.ts";
import { planThresholds, readThresholds, toWeight } from "../../src/sleep/thresholds.ts";
import { MODEL_GAUGES } from "../../src/store/operations.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const spread = (from: number, to: number, count = 400) =>
  Array.from({ length: count }, (_, index) => from + ((to - from) * index) / (count - 1));

describe("thresholds from a sample", () => {
  test("a model whose random texts are far apart", () => {
    const thresholds = planThresholds({ random: spread(-0.2, 0.4), nearest: spread(0.5, 0.9) });
    expect(thresholds.randomMean).toBeCloseTo(0.1, 2);
    expect(thresholds.link).toBeCloseTo(0.6, 2);
    expect(thresholds.duplicate).toBeCloseTo(0.982, 2);
  });

  test("a model that finds all texts alike gets thresholds on its own scale", () => {
    const thresholds = planThresholds({ random: spread(0.7, 0.85), nearest: spread(0.84, 0.94) });
    expect(thresholds.link).toBeCloseTo(0.865, 2);
    expect(thresholds.duplicate).toBeGreaterThan(0.99);
    expect(thresholds.merge).toBeGreaterThan(thresholds.link);
  });

  test("a brain full of copies still links, and the order link, merge, duplicate, 1 holds", () => {
    for (const nearest of [spread(0.2, 0.3), spread(1, 1), spread(0.5, 1)]) {
      for (const random of [spread(-0.5, 0.1), spread(0.1, 0.9), spread(0.99, 1)]) {
        const { link, merge, duplicate } = planThresholds({ random, nearest });
        expect(link).toBeLessThanOrEqual(merge);
        expect(merge).toBeLessThan(duplicate);
        expect(duplicate).toBeLessThan(1);
        expect(link).toBeGreaterThan(0.5);
      }
    }
  });

  test("a link's weight runs from two random texts to identical", () => {
    const thresholds = planThresholds({ random: spread(0.6, 0.8), nearest: spread(0.8, 0.9) });
    expect([0.5, 0.7, 0.85, 1].map((cosine) => toWeight(cosine, thresholds))).toEqual([0, 0, 500, 1000]);
  });
});

const fill = (brain: TestStore, from: number, count: number) =>
  brain.remember(
    ...Array.from({ length: count }, (_, at) => `w${from + at} x${(from + at) * 7} y${(from + at) % 11} z`),
  );

const calibrated = async (brain: TestStore) =>
  (await runSleep(brain.store, brain.embedder)).phases.find(({ name }) => name === "calibrate")?.applied;

describe("calibrating a brain", () => {
  test("a small one keeps to safe defaults and has no gauges", async () => {
    const brain = createTestStore();
    await fill(brain, 0, 20);
    expect(await calibrated(brain)).toBe(0);
    expect(brain.store.operations.gauge(MODEL_GAUGES.duplicate)).toBeNull();
    expect(readThresholds(brain.store)).toMatchObject({ link: 0.9, duplicate: 0.985 });
    brain.close();
  });

  test("a larger one is measured once, and again when it has grown by a tenth", async () => {
    const brain = createTestStore();
    await fill(brain, 0, 60);
    expect(await calibrated(brain)).toBe(1);
    const measured = readThresholds(brain.store);
    expect(brain.store.operations.gauge(MODEL_GAUGES.duplicate)).toBe(measured.duplicate);
    await fill(brain, 60, 3);
    expect(await calibrated(brain)).toBe(0);
    expect(readThresholds(brain.store)).toEqual(measured);
    await fill(brain, 63, 5);
    expect(await calibrated(brain)).toBe(1);
    brain.close();
  });

  test("what was measured with another model counts for nothing", async () => {
    const brain = createTestStore();
    const untouched = readThresholds(brain.store);
    await fill(brain, 0, 60);
    await calibrated(brain);
    expect(readThresholds(brain.store)).not.toEqual(untouched);
    brain.store.write(() => {
      brain.store.models.begin({ ...brain.embedder.model, name: "another" });
      brain.store.models.activate();
    });
    expect(brain.store.operations.gauge(MODEL_GAUGES.link)).not.toBeNull();
    expect(readThresholds(brain.store)).toEqual(untouched);
    brain.close();
  });

  test("two copies of one brain get the same thresholds", async () => {
    const [a, b] = [createTestStore(), createTestStore()];
    await fill(a, 0, 80);
    await fill(b, 0, 80);
    await calibrated(a);
    await calibrated(b);
    expect(readThresholds(a.store)).toEqual(readThresholds(b.store));
    a.close();
    b.close();
  });
});

describe("kin", () => {
  test("is what random texts are not: their median, where most thoughts have something nearer", () => {
    const oneTopic = { random: spread(0.75, 0.93), nearest: spread(0.85, 0.95) };
    expect(planThresholds(oneTopic).kin).toBeCloseTo(0.84, 2);
    // A brain in which much is nearer by chance than the nearest of many: one thought of a hundred is isolated.
    const twoHeaps = { random: spread(0.3, 0.9), nearest: spread(0.42, 0.95) };
    expect(planThresholds(twoHeaps).kin).toBeCloseTo(0.425, 2);
  });

  test("and links move with the numbers of sleep", () => {
    const sample = { random: spread(0.3, 0.9), nearest: spread(0.42, 0.95) };
    const withNumbers = (numbers: Partial<SleepConfig>) =>
      planThresholds(sample, { ...DEFAULT_SLEEP_CONFIG, ...numbers });
    expect(withNumbers({})).toEqual(planThresholds(sample));
    expect(withNumbers({ isolatedShare: 0.2 }).kin).toBeCloseTo(0.526, 2);
    expect(withNumbers({ leastKinCosine: 0.5 }).kin).toBe(0.5);
    expect(withNumbers({ leastKinCosine: 1 }).kin).toBe(withNumbers({}).link);
    const far = { random: spread(-0.2, 0.4), nearest: spread(0.5, 0.9) };
    const linkFrom = (linkedShare: number) => planThresholds(far, { ...DEFAULT_SLEEP_CONFIG, linkedShare }).link;
    expect(linkFrom(0.5)).toBeCloseTo(0.7, 2);
    expect(linkFrom(0.5)).toBeGreaterThan(linkFrom(0.75));
  });

  test("never lies above what is linked anyway, nor where unrelated texts meet by chance", () => {
    for (const nearest of [spread(0.2, 0.3), spread(1, 1), spread(0.5, 1)]) {
      for (const random of [spread(-0.5, 0.1), spread(0.1, 0.9), spread(0.99, 1)]) {
        const { kin, link } = planThresholds({ random, nearest });
        expect(kin).toBeLessThanOrEqual(link);
        expect(kin).toBeGreaterThanOrEqual(0.4);
      }
    }
  });

  test("a brain measured by a release without it is measured again, and all its thoughts are looked at once more", async () => {
    const brain = createTestStore();
    await fill(brain, 0, 100);
    expect(await calibrated(brain)).toBe(1);
    expect(await calibrated(brain)).toBe(0);
    brain.store.write(() => brain.store.connection.db.exec("DELETE FROM gauge WHERE name = 'kin_cosine'"));
    const report = await runSleep(brain.store, brain.embedder);
    expect(report.phases.find(({ name }) => name === "calibrate")?.applied).toBe(1);
    expect(report.phases.find(({ name }) => name === "link")?.details).toMatchObject({ visited: 100 });
    expect(await calibrated(brain)).toBe(0);
    brain.close();
  });
});
