/** Bounds of work: many short nights end where one long night ends, and every plan is what is then done. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import { PHASE_NAMES, runSleep, type SleepConfig } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { checkpoint } from "../../src/store/sleep-upkeep.ts";
import { Store } from "../../src/store/store.ts";
import { createTestStore } from "../support/brain.ts";
import { SMALL_CELLS, WIDE } from "../support/cells.ts";
import { createTestClock } from "../support/clock.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";
import { readSleepState, type SleepState } from "../support/sleep-state.ts";

const NOTE = "the heating in our cellar gets serviced every autumn by that same firm from";
const alone = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");

let folder = "";
let now = 0;

/** Copies, near texts, isolated ones, a family that follows its parent, a hub and a thought that is read. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-bounds-"));
  const brain = createTestStore({ path: join(folder, "brain.db"), dimensions: WIDE });
  const { store, clock } = brain;
  const results = await brain.remember(
    ...Array.from({ length: 60 }, (_, index) => `${NOTE} town${index % 20}${index < 20 ? "" : index < 40 ? "." : "!"}`),
    ...Array.from({ length: 80 }, (_, index) => `${NOTE} place${index} street${index * 7}`),
    ...Array.from({ length: 70 }, (_, index) => alone(`lone${index}`)),
  );
  const [hub = "", reader = "", gone = ""] = [100, 101, 150].map((at) => results[at]?.id ?? "");
  // Unlike each other: what decays before its like is looked at leaves that one to find others.
  const childrenOf = (parent: string, name: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      content: alone(`${name}${index}x`),
      legs: [{ parents: [parent] }],
    }));
  const [child] = await brain.remember(...childrenOf(gone, "child", 9));
  await brain.remember(...childrenOf(child?.id ?? "", "grandchild", 5), ...childrenOf(hub, "spoke", 12));
  clock.advance(40 * MS_PER_DAY);
  const readerId = store.thoughts.resolve(reader);
  store.write(() => {
    for (let back = 0; back < 9; back++) store.operations.noteAccess([readerId], dayOf(clock.now()) - back);
    const goneId = store.thoughts.resolve(gone);
    store.ledger.record({
      kind: "decayed",
      actor: "extractor",
      payload: {},
      changes: [{ nodeId: goneId, axis: "decayed", to: 4 }],
    });
    store.connection.db.exec(`DELETE FROM ${store.models.active()?.vecTable} WHERE node_id % 5 = 0`);
  });
  now = clock.now();
  checkpoint(store.connection);
  brain.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function withCopy<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const path = join(folder, "copy.db");
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  copyFileSync(join(folder, "brain.db"), path);
  const store = Store.open(path, createTestClock(now));
  try {
    return await use(store);
  } finally {
    store.close();
  }
}

/** Nights at one and the same time until one plans nothing. */
async function sleepUntilRested(
  store: Store,
  config: Partial<SleepConfig>,
): Promise<{ nights: number; state: SleepState }> {
  for (let nights = 1; nights < 500; nights++) {
    const { phases } = await runSleep(store, createHashEmbedder(WIDE), { config: { ...SMALL_CELLS, ...config } });
    expect(phases.filter(({ error }) => error !== undefined)).toEqual([]);
    const isRested = phases.every(({ planned, details }) => planned === 0 && (details?.stopped ?? 0) === 0);
    if (!isRested) continue;
    expect(checkIntegrity(store).filter(({ violations }) => violations > 0)).toEqual([]);
    return { nights, state: readSleepState(store) };
  }
  throw new Error("it never came to rest");
}

describe("many short nights end where one long night ends", () => {
  let long: { nights: number; state: SleepState };
  beforeAll(async () => {
    long = await withCopy((store) => sleepUntilRested(store, {}));
    // Control: there is work for every bound, and one night does it all.
    expect(long.nights).toBe(2);
    expect(long.state.merges.length).toBe(40);
    expect(long.state.links.length).toBeGreaterThan(100);
    expect(long.state.decays.filter((line) => line.endsWith("disuse")).length).toBeGreaterThan(40);
    expect(long.state.decays.filter((line) => line.endsWith("cascade")).length).toBe(14);
  });

  test.each<[string, Partial<SleepConfig>, number]>([
    ["three visits for links a night", { linkPerNight: 3 }, 2],
    ["two thoughts that decay a night", { decayPerNight: 2 }, 25],
    ["both at once", { linkPerNight: 150, decayPerNight: 5 }, 10],
  ])("with %s", async (_, config, least) => {
    const short = await withCopy((store) => sleepUntilRested(store, config));
    expect(short.nights).toBeGreaterThan(least);
    expect(short.state).toEqual(long.state);
  });
});

describe("a plan", () => {
  test("is what is then done, phase by phase, and nothing is left to plan", async () => {
    await withCopy(async (store) => {
      for (const name of PHASE_NAMES) {
        const options = { phases: [name], config: SMALL_CELLS };
        const embedder = createHashEmbedder(WIDE);
        const before = readSleepState(store);
        const [dry] = (await runSleep(store, embedder, { ...options, dryRun: true })).phases;
        expect(readSleepState(store)).toEqual(before);
        const [real] = (await runSleep(store, embedder, options)).phases;
        expect([name, real?.planned, real?.applied]).toEqual([name, dry?.planned, dry?.planned]);
        const [again] = (await runSleep(store, embedder, { ...options, dryRun: true })).phases;
        expect([name, again?.planned]).toEqual([name, 0]);
      }
    });
  });

  test("of a whole night knows the thresholds and the merges of that night when it counts links", async () => {
    await withCopy(async (store) => {
      const embedder = createHashEmbedder(WIDE);
      await runSleep(store, embedder, { phases: ["embed"] });
      const linksOf = (report: Awaited<ReturnType<typeof runSleep>>) =>
        report.phases.find(({ name }) => name === "link")?.planned ?? 0;
      const alone = linksOf(await runSleep(store, embedder, { dryRun: true, phases: ["link"] }));
      const dry = linksOf(await runSleep(store, embedder, { dryRun: true }));
      const real = linksOf(await runSleep(store, embedder));
      // Control: without the earlier phases' plans it is far off.
      expect(Math.abs(alone - real)).toBeGreaterThan(0.2 * real);
      expect(Math.abs(dry - real)).toBeLessThan(0.1 * real);
    });
  });
});
