import { describe, expect, test } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { contradict, resolve } from "../../src/recall/belief.ts";
import { recall } from "../../src/recall/recall.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const NOTE = "The heating in our cellar gets serviced every autumn by that same firm";

/** The same note in one of 4,096 spellings: each bit says whether a word begins with a capital. */
function copy(index: number): string {
  return NOTE.split(" ")
    .map((word, at) => ((index >> at) & 1 ? `${word[0]?.toUpperCase()}${word.slice(1)}` : word.toLowerCase()))
    .join(" ");
}

const sleep = (brain: TestStore, options = {}) => runSleep(brain.store, brain.embedder, options);

async function rememberAll(brain: TestStore, ...inputs: (RememberInput | string)[]): Promise<number[]> {
  return (await brain.remember(...inputs)).map(({ id }) => brain.store.thoughts.resolve(id ?? ""));
}

const survivorOf = (brain: TestStore, id: number) => brain.store.thoughts.state(id).mergedInto;
const visibleCount = (brain: TestStore) => brain.store.thoughts.recent(10_000).length;

function expectSound(brain: TestStore): void {
  expect(brain.store.ledger.firstBreak()).toBeNull();
  expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
}

describe("merging", () => {
  test("copies go behind the oldest, under one event that can be replayed", async () => {
    const brain = createTestStore();
    const first = await rememberAll(brain, copy(0));
    brain.clock.advance(1000);
    const later = await rememberAll(brain, copy(1), copy(2));
    await sleep(brain);
    expect(later.map((id) => survivorOf(brain, id))).toEqual([first[0], first[0]]);
    expect(survivorOf(brain, first[0] ?? 0)).toBeNull();
    const events = brain.store.ledger.list({ limit: 100 }).filter(({ kind }) => kind === "merged");
    expect(events).toHaveLength(1);
    expect(events[0]?.payload).toMatchObject({ count: 2, legs: 1, accessDays: 0 });
    expect(events[0]?.payload).toHaveProperty("states.length", 2);
    expectSound(brain);
    brain.close();
  });

  test.each<[string, Partial<RememberInput>]>([
    ["scope", { scope: "work" }],
    ["kind", { kind: "decision" }],
    ["domain", { domain: "house" }],
    ["speaker", { speaker: "Ada" }],
    ["due time", { due: 1_900_000_000_000 }],
    ["validity", { valid: { from: 0, to: null } }],
    ["tags", { tags: ["winter"] }],
  ])("never across a different %s", async (_, difference) => {
    const brain = createTestStore();
    const [, other] = await rememberAll(brain, copy(0), { content: copy(2), ...difference });
    const [, twin] = await rememberAll(brain, "unrelated words about a fox on the lake", {
      content: copy(4),
      ...difference,
    });
    await sleep(brain);
    expect(survivorOf(brain, other ?? 0)).toBeNull();
    expect(survivorOf(brain, twin ?? 0)).toBe(other);
    brain.close();
  });

  test("a disputed thought stays apart from its copies until the dispute is resolved", async () => {
    const brain = createTestStore();
    const ids = await rememberAll(brain, copy(0), copy(1), "The heating is serviced by another firm");
    const [first = "", twin = "", other = ""] = ids.map((id) => brain.store.thoughts.publicId(id));
    contradict(brain.store, twin, other, "person");
    await sleep(brain);
    expect(ids.map((id) => survivorOf(brain, id))).toEqual([null, null, null]);
    resolve(brain.store, twin, "person", { both: true });
    await sleep(brain);
    expect(ids.map((id) => survivorOf(brain, id))).toEqual([null, brain.store.thoughts.resolve(first), null]);
    expectSound(brain);
    brain.close();
  });

  test("texts that differ in a number stay apart, whatever the model finds", async () => {
    const brain = createTestStore();
    const run = (km: number) => `Yesterday evening I ran ${km} km along the river with Tom and his old dog`;
    const ids = await rememberAll(brain, run(5), run(8), `${run(5)}!`);
    // A model that sees no numbers: all three have the same vector.
    const blind = await brain.embedder.embedQuery(run(5));
    brain.store.write(() => {
      for (const id of ids) brain.store.vectors.put(id, blind);
    });
    await sleep(brain);
    expect(ids.map((id) => survivorOf(brain, id))).toEqual([null, null, ids[0]]);
    brain.close();
  });

  test("short things that somebody said live by their place and stay", async () => {
    const brain = createTestStore();
    const said = (content: string, key: string): RememberInput => ({
      content,
      speaker: "Ada",
      occurrence: { source: { type: "session", key, name: key, trust: "trusted" } },
    });
    const ids = await rememberAll(brain, said("Yes please", "a"), said("yes please", "b"));
    const long = await rememberAll(brain, said("Yes bring some bread", "a"), said("yes bring some bread", "b"));
    await sleep(brain);
    expect(ids.map((id) => survivorOf(brain, id))).toEqual([null, null]);
    expect(long.map((id) => survivorOf(brain, id))).toEqual([null, long[0]]);
    brain.close();
  });

  test("two thousand copies of one note go behind one survivor", async () => {
    const brain = createTestStore();
    const ids = await rememberAll(brain, ...Array.from({ length: 2000 }, (_, index) => copy(index)));
    const report = await sleep(brain);
    expect(report.phases.find(({ name }) => name === "consolidate")?.applied).toBe(1999);
    expect(new Set(ids.slice(1).map((id) => survivorOf(brain, id)))).toEqual(new Set([ids[0]]));
    expect(visibleCount(brain)).toBe(1);
    expect((await sleep(brain)).phases.every(({ planned }) => planned === 0)).toBe(true);
    brain.close();
  }, 120_000);

  test("a survivor takes no more than its bound", async () => {
    const brain = createTestStore();
    await rememberAll(brain, ...Array.from({ length: 30 }, (_, index) => copy(index)));
    await sleep(brain, { config: { mergeClusterSize: 10 } });
    const sizes = brain.store.connection
      .sql<{ n: number }>("SELECT count(*) AS n FROM node WHERE merged_into IS NOT NULL GROUP BY merged_into")
      .all();
    expect(Math.max(...sizes.map(({ n }) => n))).toBeLessThanOrEqual(10);
    expect(visibleCount(brain)).toBeGreaterThanOrEqual(3);
    brain.close();
  });
});

describe("the survivor", () => {
  const sources = (key: string, trust: "trusted" | "untrusted" = "trusted") => ({
    source: { type: "file" as const, key, name: key, trust },
  });

  test("is the most permanent, then the most trusted, then the one with most legs, then most read, then oldest", async () => {
    const brain = createTestStore();
    const place = async (content: string, trust: "trusted" | "untrusted" = "trusted", key = content) => {
      const [id] = await rememberAll(brain, { content, occurrence: sources(key, trust) });
      brain.clock.advance(1000);
      return id ?? 0;
    };
    const oldest = await place(copy(0));
    const read = await place(copy(1));
    const legs = await place(copy(2));
    await place(copy(2), "trusted", "another file");
    const untrusted = await place(copy(3), "untrusted");
    const pinned = await place(copy(4), "untrusted");
    const winners: (number | null)[] = [];
    brain.store.write(() => {
      brain.store.operations.noteAccess([read], dayOf(brain.clock.now()));
      brain.store.ledger.record({
        kind: "permanence.changed",
        actor: "person",
        payload: {},
        changes: [{ nodeId: pinned, axis: "permanence", to: 2 }],
      });
    });
    // Each winner is forgotten in turn, and its followers come out to be ranked anew.
    for (let round = 0; round < 5; round++) {
      await sleep(brain, { phases: ["link", "consolidate"] });
      const survivor = [oldest, read, legs, untrusted, pinned].find((id) =>
        brain.store.connection.sql("SELECT 1 FROM node WHERE merged_into = ?").get(id),
      );
      winners.push(survivor ?? null);
      if (survivor === undefined) break;
      brain.store.write(() =>
        brain.store.ledger.record({
          kind: "decayed",
          actor: "extractor",
          payload: {},
          changes: [{ nodeId: survivor, axis: "decayed", to: 4 }],
        }),
      );
    }
    expect(winners).toEqual([pinned, legs, read, oldest, null]);
    expectSound(brain);
    brain.close();
  });

  test("stands for what it takes over from a former survivor, without a chain", async () => {
    const brain = createTestStore();
    const old = await rememberAll(brain, copy(0), copy(1));
    await sleep(brain);
    expect(survivorOf(brain, old[1] ?? 0)).toBe(old[0]);
    const [trusted] = await rememberAll(brain, copy(2));
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "permanence.changed",
        actor: "person",
        payload: {},
        changes: [{ nodeId: trusted ?? 0, axis: "permanence", to: 2 }],
      }),
    );
    await sleep(brain);
    expect(old.map((id) => survivorOf(brain, id))).toEqual([trusted, trusted]);
    expectSound(brain);
    brain.close();
  });

  test("counts the days on which what stands behind it was read", async () => {
    const brain = createTestStore();
    const [first, second] = await rememberAll(brain, copy(0), copy(1));
    const day = dayOf(brain.clock.now());
    brain.store.write(() => brain.store.operations.noteAccess([second ?? 0], day));
    await sleep(brain);
    expect(survivorOf(brain, first ?? 0)).toBe(second);
    brain.clock.advance(MS_PER_DAY);
    const [third] = await rememberAll(brain, copy(2));
    brain.store.write(() => brain.store.operations.noteAccess([third ?? 0, first ?? 0], day + 1));
    await sleep(brain);
    expect([first, third].map((id) => survivorOf(brain, id ?? 0))).toEqual([second, second]);
    brain.close();
  });
});

describe("coming out again", () => {
  async function mergedPair(): Promise<{ brain: TestStore; survivor: number; behind: number }> {
    const brain = createTestStore();
    const [survivor, behind] = await rememberAll(brain, copy(0), {
      content: copy(1),
      occurrence: { source: { type: "file", key: "f", name: "f", trust: "trusted" } },
    });
    await sleep(brain);
    expect(survivorOf(brain, behind ?? 0)).toBe(survivor);
    return { brain, survivor: survivor ?? 0, behind: behind ?? 0 };
  }
  const change = (brain: TestStore, nodeId: number, axis: "decayed" | "erased_by" | "belief", to: number) =>
    brain.store.write(() =>
      brain.store.ledger.record({ kind: "decayed", actor: "person", payload: {}, changes: [{ nodeId, axis, to }] }),
    );

  test.each([
    ["erased", "erased_by", 1],
    ["lost with its source", "decayed", 4],
  ] as const)("when the survivor was %s", async (_, axis, to) => {
    const { brain, survivor, behind } = await mergedPair();
    change(brain, survivor, axis, to);
    const report = await sleep(brain);
    expect(report.phases.find(({ name }) => name === "consolidate")?.details).toMatchObject({ released: 1 });
    expect(survivorOf(brain, behind)).toBeNull();
    expect(brain.store.ledger.list({ limit: 20 }).some(({ kind }) => kind === "unmerged")).toBe(true);
    brain.close();
  });

  const pullBack = (brain: TestStore, ...nodeIds: number[]) =>
    recall(brain.store, { ids: nodeIds.map((id) => brain.store.thoughts.publicId(id)) }, {}, "person");

  test("at once when the survivor was recalled, and sleep has nothing left to do", async () => {
    const { brain, survivor, behind } = await mergedPair();
    pullBack(brain, survivor);
    expect(survivorOf(brain, behind)).toBeNull();
    const report = await sleep(brain);
    expect(report.phases.find(({ name }) => name === "consolidate")?.details).toMatchObject({ released: 0 });
    expect(survivorOf(brain, behind)).toBeNull();
    brain.close();
  });

  test.each([
    ["a person forgot", "decayed", 3],
    ["a person rejected", "belief", 5],
    ["was superseded", "belief", 3],
    ["waits for review", "belief", 4],
  ] as const)("not behind what %s: it says the same", async (_, axis, to) => {
    const { brain, survivor, behind } = await mergedPair();
    change(brain, survivor, axis, to);
    await sleep(brain);
    expect(survivorOf(brain, behind)).toBe(survivor);
    brain.close();
  });

  test("not when its own legs are broken", async () => {
    const { brain, survivor, behind } = await mergedPair();
    const source = brain.store.sources.find("file", "f") ?? 0;
    pullBack(brain, source, survivor);
    await sleep(brain);
    expect(survivorOf(brain, behind)).toBe(survivor);
    brain.close();
  });

  test("several that come out find each other again", async () => {
    const brain = createTestStore();
    const ids = await rememberAll(brain, ...[0, 1, 2, 3].map(copy));
    await sleep(brain);
    pullBack(brain, ids[0] ?? 0);
    await sleep(brain);
    expect(ids.map((id) => survivorOf(brain, id))).toEqual([null, null, ids[1], ids[1]]);
    expectSound(brain);
    brain.close();
  });

  test("what a person took apart is not merged again", async () => {
    const { brain, behind } = await mergedPair();
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "unmerged",
        actor: "person",
        payload: {},
        changes: [{ nodeId: behind, axis: "merged_into", to: null }],
      }),
    );
    await sleep(brain);
    await sleep(brain);
    expect(survivorOf(brain, behind)).toBeNull();
    brain.close();
  });
});
