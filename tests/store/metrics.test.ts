/** The numbers of the nights: what is kept as they grow old, and latencies sampled in between. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readMetrics } from "../../src/app/metrics.ts";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { addMetrics, cyclesToThin, noteLatency, takeLatencies, thinMetrics } from "../../src/store/metrics.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const sleep = () => runSleep(brain.store, brain.embedder);
const seriesOf = (name: string) => readMetrics(brain.store, { names: [name] }).series.map(({ values }) => values)[0];

describe("what a night leaves", () => {
  it("counts states, kinds by name, decays of the night and near-duplicates", async () => {
    await brain.remember(
      { content: "the heating is serviced in autumn", kind: "decision" },
      "the cat sleeps in the laundry basket",
      "the cat sleeps in the laundry basket.",
    );
    await sleep();
    brain.clock.advance(60 * MS_PER_DAY);
    await brain.remember("the library closes early on thursdays");
    await sleep();
    expect(seriesOf("thoughts")).toEqual([3, 4]);
    expect(seriesOf("kind.decision")?.[0]).toBe(1);
    expect(seriesOf("state.merged")).toHaveLength(2);
    expect(seriesOf("night.decayed.disuse")?.[0]).toBe(0);
    expect(seriesOf("links.per_thought")?.every((value) => (value ?? -1) >= 0)).toBe(true);
    expect(seriesOf("vectors.coverage")).toEqual([1, 1]);
    expect(seriesOf("phase.link.ms")).toHaveLength(2);
  });

  it("keeps no word: a kind whose label is not there has no series", async () => {
    await brain.remember({ content: "the heating is serviced in autumn", kind: "appointment" });
    await sleep();
    expect(seriesOf("kind.appointment")).toEqual([1]);
    const { connection, labels } = brain.store;
    const names = connection.values<string>("SELECT name FROM metric").all();
    expect(names.filter((name) => name.includes("appointment"))).toEqual([]);
    const id = labels.find("kind", "appointment") ?? 0;
    connection.db.prepare("UPDATE metric SET name = ? WHERE name = ?").run(`kind.${id + 10_000}`, `kind.${id}`);
    expect(readMetrics(brain.store, { names: ["kind.*"] }).series).toEqual([]);
  });

  it("estimates near-duplicates by the model, and asks again only when something happened", async () => {
    for (const copy of Array.from({ length: 60 }, (_, at) => at)) {
      await brain.remember(`word${copy} stands alone among ${copy} others of its kind`);
    }
    const { store } = brain;
    await sleep();
    const [first] = seriesOf("duplicates.near") ?? [];
    expect(first).toBeGreaterThanOrEqual(0);
    await sleep();
    await sleep();
    expect(
      seriesOf("duplicates.near")
        ?.slice(-2)
        .every((value) => value === seriesOf("duplicates.near")?.[1]),
    ).toBe(true);
    expect(store.read(() => readMetrics(store, { per: "day" })).cycles).toHaveLength(1);
  });
});

describe("numbers that grow old", () => {
  const night = (cycle: number) => ({ cycle, at: cycle * (MS_PER_DAY / 2) });
  const nights = Array.from({ length: 2_000 }, (_, at) => night(at + 1));
  const now = 1_000 * MS_PER_DAY;

  it("keep every cycle of a month, the last of each day of a year, the last of each week before", () => {
    const going = new Set(cyclesToThin(nights, now));
    const kept = nights.filter(({ cycle }) => !going.has(cycle));
    const ages = kept.map(({ at }) => (now - at) / MS_PER_DAY);
    expect(ages.filter((age) => age <= 30)).toHaveLength(61);
    const ofDays = kept.filter(({ at }) => now - at > 30 * MS_PER_DAY && now - at <= 365 * MS_PER_DAY);
    expect(new Set(ofDays.map(({ at }) => Math.floor(at / MS_PER_DAY))).size).toBe(ofDays.length);
    expect(ofDays).toHaveLength(335);
    const older = kept.filter(({ at }) => now - at > 365 * MS_PER_DAY);
    expect(new Set(older.map(({ at }) => Math.floor(at / (7 * MS_PER_DAY)))).size).toBe(older.length);
    expect(older.length).toBeLessThan(95);
    // Thinned again a night later, hardly anything more goes.
    expect(cyclesToThin(kept, now + MS_PER_DAY).length).toBeLessThan(5);
  });

  it("go from the file, the newest never", () => {
    const { store } = brain;
    store.write(() => {
      for (const one of nights) addMetrics(store.connection, one, { thoughts: one.cycle });
      expect(thinMetrics(store.connection, now)).toBeGreaterThan(1_000);
    });
    const { cycles, series } = readMetrics(store, {});
    expect(cycles.at(-1)?.cycle).toBe(2_000);
    expect(series[0]?.values).toEqual(cycles.map(({ cycle }) => cycle));
  });
});

describe("latencies between two nights", () => {
  it("are a bounded sample, told once", () => {
    const { store } = brain;
    store.write(() => {
      for (let ms = 1; ms <= 1_000; ms++) noteLatency(store.connection, "search", ms, 0);
      noteLatency(store.connection, "recall", 7, 0);
    });
    expect(store.connection.values<number>("SELECT count(*) FROM gauge").get()).toBe(64 + 1 + 1 + 1);
    const taken = store.write(() => takeLatencies(store.connection));
    expect(taken).toMatchObject({ "search.count": 1_000, "recall.count": 1, "recall.p50.ms": 7, "recall.p95.ms": 7 });
    // Of a fair sample of 64 the median lies here in all but one of a billion.
    expect(taken["search.p50.ms"]).toBeGreaterThan(150);
    expect(taken["search.p50.ms"]).toBeLessThan(850);
    expect(taken["search.p95.ms"]).toBeGreaterThan(taken["search.p50.ms"] ?? 0);
    expect(store.write(() => takeLatencies(store.connection))).toEqual({});
  });
});
