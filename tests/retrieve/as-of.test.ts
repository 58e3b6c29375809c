/** Search and context of a past moment, ranked as they were then, over indexes that know today. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import type { SearchOptions } from "../../src/core/types.ts";
import { supersede } from "../../src/recall/belief.ts";
import { recall } from "../../src/recall/recall.ts";
import { forget, revive } from "../../src/recall/states.ts";
import { buildContext } from "../../src/retrieve/context.ts";
import { search } from "../../src/retrieve/search.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { Eligible } from "../../src/store/eligible.ts";
import { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { idTest, SMALL_CELLS, searchEverything } from "../support/cells.ts";
import { createTestClock } from "../support/clock.ts";

const PLACES = "harbour garden bridge market tower orchard station library".split(" ");
const THINGS = "lamp clock mirror kettle ladder".split(" ");
const TEXTS = PLACES.flatMap((place, at) => THINGS.map((thing) => `the ${thing} near the ${place} ${at}`));
/** As many as `TEXTS`, so that sleep has enough to shelve. */
const OTHERS = PLACES.flatMap((place) => THINGS.map((thing) => `a ${place} without any ${thing}`));
const MANY_IDS = `WITH RECURSIVE many(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM many LIMIT 9000)
  SELECT id FROM many`;

let brain: TestStore;
let past: Store | null = null;
let copy: Store | null = null;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => {
  past?.close();
  copy?.close();
  past = copy = null;
  brain.close();
});

/** Keeps a copy of the file, and lets a day go by. */
function leaveCopy(): { at: number; path: string } {
  const at = brain.clock.now();
  const path = join(brain.path, "..", "copy.db");
  brain.store.connection.db.exec(`VACUUM INTO '${path}'`);
  brain.clock.advance(MS_PER_DAY);
  return { at, path };
}

function openBoth({ at, path }: { at: number; path: string }): { past: Store; copy: Store } {
  past = Store.openAsOf(brain.path, at);
  copy = Store.open(path, createTestClock(at));
  return { past, copy };
}

const resultsOf = async (store: Store, query: string, options: SearchOptions = {}) =>
  (await search(store, brain.embedder, query, { k: 20, explain: true, ...options })).results;

describe("search as of a moment", () => {
  it("gives the same order, scores and reasons as then, when only states have changed since", async () => {
    const web = { type: "page", key: "w", name: "web:w", trust: "unknown" } as const;
    const made = await brain.remember(
      ...TEXTS.map((content, index) => ({
        content,
        ...(index % 3 === 0 ? { legs: [{ parents: [web] }] } : {}),
      })),
    );
    const ids = made.map(({ id }) => id ?? "");
    forget(brain.store, ids[7] ?? "", "not yet", "person");
    const moment = leaveCopy();
    revive(brain.store, ids[7] ?? "", "person");
    for (const id of ids.slice(10, 16)) forget(brain.store, id, "old", "person");
    supersede(brain.store, ids[1] ?? "", ids[2] ?? "", "person");
    recall(brain.store, { sources: "web:w" }, { rule: "fair" }, "person");
    const both = openBoth(moment);
    for (const query of ["the lamp near the harbour", "kettle bridge", "ladder"]) {
      const then = await resultsOf(both.copy, query);
      expect(then.length).toBeGreaterThan(5);
      expect(await resultsOf(brain.store, query)).not.toEqual(then);
      expect(await resultsOf(both.past, query)).toEqual(then);
    }
  });

  it("finds by meaning what cells and hidden flags leave out today", async () => {
    await brain.remember(...TEXTS);
    const moment = leaveCopy();
    const made = await brain.remember(...OTHERS);
    const ids = [...(await resultsOf(brain.store, "harbour", { k: 200 })), ...made].map(({ id }) => id ?? "");
    const report = await runSleep(brain.store, brain.embedder, { phases: ["shelve"], config: SMALL_CELLS });
    expect(report.phases.map(({ error }) => error)).toEqual([undefined]);
    expect(brain.store.vectors.cells.sizes().length).toBeGreaterThan(2);
    for (const id of new Set(ids.slice(0, 20))) forget(brain.store, id, "old", "person");
    const both = openBoth(moment);
    const nearest = (store: Store, query: Int8Array) => {
      const open = new Eligible(store.connection, {});
      // So many that they are not read one by one.
      const eligible = idTest(MANY_IDS, [], (id) => open.passes(id));
      return store.vectors.nearest(query, 15, { scopeIds: store.scopes.readableIds(), eligible });
    };
    for (const text of ["the lamp near the harbour", "a garden", "orchard ladder"]) {
      const query = await brain.embedder.embedQuery(text);
      const then = searchEverything(both.copy, query, 15, { scopeIds: both.copy.scopes.readableIds() });
      expect(nearest(brain.store, query).neighbors).not.toEqual(then);
      expect(nearest(both.past, query)).toEqual({ neighbors: then, exact: true });
    }
  });

  it("filters by the kind and the domain that a thought had", async () => {
    const content = "the lamp near the harbour";
    await brain.remember({ content, kind: "observation", domain: "walks" });
    const { at } = leaveCopy();
    await brain.remember({ content, kind: "decision" });
    past = Store.openAsOf(brain.path, at);
    const found = async (store: Store, kind: string) => (await resultsOf(store, "lamp", { kinds: [kind] })).length;
    expect([await found(brain.store, "observation"), await found(brain.store, "decision")]).toEqual([0, 1]);
    expect([await found(past, "observation"), await found(past, "decision")]).toEqual([1, 0]);
    expect(await resultsOf(past, "lamp", { domains: ["walks"] })).toMatchObject([{ kind: "observation" }]);
  });

  it("weighs recency, and reads the times of a question, from that moment", async () => {
    const yesterday = { from: brain.clock.now() - MS_PER_DAY, to: brain.clock.now() - MS_PER_DAY };
    await brain.remember({ content: "fed the cat", referent: yesterday });
    const { at } = leaveCopy();
    brain.clock.advance(365 * MS_PER_DAY);
    past = Store.openAsOf(brain.path, at);
    const explained = async (store: Store) => (await resultsOf(store, "who fed the cat yesterday"))[0]?.explain;
    const [then, now] = [await explained(past), await explained(brain.store)];
    expect([then?.inTime, now?.inTime]).toEqual([true, false]);
    expect(then?.recency).toBeGreaterThan(0.99);
    expect(now?.recency).toBeLessThan(0.95);
  });
});

describe("context as of a moment", () => {
  it("holds what was due and recent then, and counts what was there", async () => {
    const now = brain.clock.now();
    const [rent] = await brain.remember(
      { content: "pay the rent", due: now + 2 * MS_PER_DAY },
      { content: "renew the passport", due: now + 40 * MS_PER_DAY },
    );
    const { at } = leaveCopy();
    brain.clock.advance(35 * MS_PER_DAY);
    forget(brain.store, rent?.id ?? "", "paid", "person");
    const [later] = await brain.remember("a later thought");
    past = Store.openAsOf(brain.path, at);
    const [then, today] = [
      await buildContext(past, brain.embedder, []),
      await buildContext(brain.store, brain.embedder, []),
    ];
    const due = (answer: typeof then) => answer.items.filter(({ section }) => section === "due").length;
    expect(today.text).toContain("renew the passport");
    expect(today.items).toContainEqual({ section: "recent", id: later?.id });
    expect([due(today), today.counts.thoughts]).toEqual([1, 2]);
    expect(then.items[0]).toEqual({ section: "due", id: rent?.id });
    expect([due(then), then.counts.thoughts]).toEqual([1, 2]);
    expect(then.text).not.toContain("a later thought");
  });
});
