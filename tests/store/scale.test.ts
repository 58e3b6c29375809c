import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import type { Interval, RememberInput, SearchOptions } from "../../src/core/types.ts";
import { forget, revive } from "../../src/recall/states.ts";
import { search } from "../../src/retrieve/search.ts";
import { Eligible } from "../../src/store/eligible.ts";
import type { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const DAY_ZERO = Date.UTC(2020, 0, 1);
const SLOW = 180_000;

/** Every statement that `read` asks of the connection, with what SQLite means to do for it. */
function plansOf(store: Store, read: () => unknown): { text: string; plan: string[] }[] {
  const { connection } = store;
  const spies = [vi.spyOn(connection, "sql"), vi.spyOn(connection, "values"), vi.spyOn(connection, "tuples")];
  read();
  const texts = spies.flatMap((spy) => spy.mock.calls.map(([text]) => text));
  for (const spy of spies) spy.mockRestore();
  return texts.map((text) => {
    const statement = connection.db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`);
    const nothing = text.includes("@")
      ? [{ wanted: "[]", perNode: 1, reach: 1 }]
      : text
          .split("?")
          .slice(1)
          .map(() => 1);
    return { text, plan: statement.all(...nothing).map(({ detail }) => detail) };
  });
}

describe("a hub's neighbourhood", () => {
  const CHILDREN = 600;
  let brain: TestStore;
  let hub = 0;
  let childIds: number[] = [];

  beforeAll(async () => {
    brain = createTestStore();
    const { store } = brain;
    const [first] = await brain.remember("the thought that everything rests on");
    const parents = [first?.id ?? ""];
    const results = await brain.remember(
      ...Array.from(
        { length: CHILDREN },
        (_, index): RememberInput => ({ content: `conclusion number ${index}`, legs: [{ parents }] }),
      ),
    );
    hub = store.thoughts.resolve(first?.id ?? "");
    childIds = results.map(({ id }) => store.thoughts.resolve(id ?? ""));
    store.write(() =>
      store.links.add(
        childIds.map((fromId, index) => ({ type: "mention" as const, fromId, toId: hub, weight: index % 1000 })),
        "extractor",
      ),
    );
  }, SLOW);
  afterAll(() => brain.close());

  it("gives some of the children, and each child its parent", () => {
    const { store } = brain;
    expect(store.legs.neighbors([hub], CHILDREN).length).toBeGreaterThan(6);
    const pairs = store.legs.neighbors([hub], 6);
    expect(pairs).toHaveLength(6);
    for (const { nodeId, neighborId } of pairs) {
      expect(nodeId).toBe(hub);
      expect(childIds).toContain(neighborId);
    }
    const [child = 0] = childIds;
    expect(store.legs.neighbors([child], 6)).toEqual([{ nodeId: child, neighborId: hub }]);
  });

  it("gives the strongest links", () => {
    const found = brain.store.links.neighbors([hub], "mention", 3).map(({ neighborId }) => neighborId);
    expect(new Set(found)).toEqual(new Set(childIds.slice(-3)));
  });

  it("stops looking behind a bounded number of ended legs", () => {
    const { store } = brain;
    const ended = childIds.slice(0, 200);
    store.write(() => {
      for (const id of ended) {
        const legs = store.legs.sample(id, 10, 10).map((leg) => leg.id);
        store.legs.end(id, legs, "extractor", "gone");
      }
    });
    expect(store.legs.neighbors([hub], 6)).toEqual([]);
    const [child = 0] = childIds.slice(200);
    expect(store.legs.neighbors([child], 6)).toEqual([{ nodeId: child, neighborId: hub }]);
  });

  it("is read through indexes in their order: nothing is scanned, sorted or counted whole", () => {
    const { store } = brain;
    const plans = plansOf(store, () => {
      store.legs.neighbors([hub], 6);
      store.links.neighbors([hub], "mention", 6);
      store.occurrences.surroundings([hub], 6, 4);
    });
    expect(plans.length).toBeGreaterThanOrEqual(5);
    for (const { plan } of plans) {
      for (const step of plan) {
        expect(step).not.toMatch(/TEMP B-TREE/);
        if (step.startsWith("SCAN")) expect(step).toMatch(/^SCAN (wanted|d|met|near|s)\b/);
      }
    }
    expect(plans.flatMap(({ plan }) => plan).join("\n")).toMatch(/derivation_by_parent.*\n.*|link_incoming/);
  });
});

describe("what stands around a place", () => {
  it("is found past ended places and whatever loose statements the value was met in, within the bound", async () => {
    const brain = createTestStore();
    const { store } = brain;
    const place = (content: string, ordinal: number): RememberInput => ({
      content,
      occurrence: { source: { type: "file", key: "log", name: "log", trust: "trusted" }, ordinal },
    });
    const results = await brain.remember(...Array.from({ length: 120 }, (_, index) => place(`entry ${index}`, index)));
    const ids = results.map(({ id }) => store.thoughts.resolve(id ?? ""));
    const end = (from: number, to: number) =>
      store.write(() => {
        for (const id of ids.slice(from, to)) {
          const legs = store.legs.sample(id, 10, 10).map((leg) => leg.id);
          store.legs.end(id, legs, "extractor", "gone");
        }
      });
    const around = () => store.occurrences.surroundings([ids[10] ?? 0], 6, 2)[0];
    expect(around()).toMatchObject({ before: [ids[9], ids[8]], after: [ids[11], ids[12]] });
    end(11, 41);
    expect(around()?.after).toEqual([ids[41], ids[42]]);
    end(41, 100);
    expect(around()?.after).toEqual([]);
    brain.close();
  });
});

describe("counting what is eligible", () => {
  let brain: TestStore;
  beforeEach(() => {
    brain = createTestStore();
  });
  afterEach(() => brain.close());
  const count = () => new Eligible(brain.store.connection, {}).count();

  it("follows every change of state, and forgets what a rolled-back transaction made of it", async () => {
    const results = await brain.remember("one", "two", "three", "four");
    expect(count()).toBe(4);
    const [first = ""] = results.flatMap(({ id }) => id ?? []);
    forget(brain.store, first, "old", "person");
    expect(count()).toBe(3);
    expect(() =>
      brain.store.write(() => {
        revive(brain.store, first, "person");
        expect(count()).toBe(4);
        throw new Error("undo");
      }),
    ).toThrow("undo");
    expect(count()).toBe(3);
    await brain.remember("five");
    expect(count()).toBe(4);
  });

  it("counts a thought that is hidden in several ways once", async () => {
    const { store } = brain;
    const [first, second, survivor] = (await brain.remember("one", "two", "three")).map(({ id }) =>
      store.thoughts.resolve(id ?? ""),
    );
    store.write(() => {
      store.ledger.record({
        kind: "belief.changed",
        actor: "person",
        changes: [
          { nodeId: first ?? 0, axis: "decayed", to: 1 },
          { nodeId: first ?? 0, axis: "merged_into", to: survivor ?? 0 },
          { nodeId: first ?? 0, axis: "belief", to: 5 },
          { nodeId: second ?? 0, axis: "belief", to: 4 },
        ],
        payload: {},
      });
    });
    expect(count()).toBe(1);
  });

  it("is exact under a filter up to a thousand, and says no more than that", async () => {
    const { store } = brain;
    const some = (kind: string, count: number) =>
      Array.from({ length: count }, (_, index): RememberInput => ({ content: `${kind} ${index}`, kind }));
    await brain.remember(...some("decision", 1_010), ...some("belief", 990));
    const countOf = (kind: string) =>
      new Eligible(store.connection, { kindIds: [store.labels.find("kind", kind) ?? 0] }).count();
    expect([countOf("decision"), countOf("belief"), count()]).toEqual([1_000, 990, 2_000]);
  });
});

describe("a filter by time", () => {
  const moment = fc.integer({ min: -400, max: 400 }).map((day) => DAY_ZERO + day * MS_PER_DAY);
  const interval: fc.Arbitrary<Interval> = fc
    .tuple(fc.option(moment, { freq: 6 }), fc.option(fc.integer({ min: 0, max: 90 }), { freq: 6 }))
    .map(([from, days]) => ({ from, to: days === null ? null : (from ?? DAY_ZERO) + days * MS_PER_DAY }));

  it("passes what overlaps it, short, long and open intervals alike", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(interval, { maxLength: 25 }),
        fc.array(interval, { maxLength: 8 }),
        async (held, asked) => {
          const brain = createTestStore();
          const { store } = brain;
          const results = await brain.remember(
            ...held.map((referent, index) => ({ content: `event ${index}`, referent })),
          );
          const ids = results.map(({ id }) => store.thoughts.resolve(id ?? ""));
          for (const when of asked) {
            const overlapping = ids.filter((_, index) => {
              const { from, to } = held[index] ?? { from: null, to: null };
              return (from ?? -Infinity) <= (when.to ?? Infinity) && (to ?? Infinity) >= (when.from ?? -Infinity);
            });
            const few = new Eligible(store.connection, { when }).few(1_000) ?? [];
            expect([...few].sort((a, b) => a - b)).toEqual(overlapping);
          }
          brain.close();
        },
      ),
      { numRuns: 30 },
    );
  });

  it("reads only the part of the past that can overlap it", () => {
    const brain = createTestStore();
    const eligible = new Eligible(brain.store.connection, { when: { from: DAY_ZERO, to: DAY_ZERO } });
    const [{ plan } = { plan: [] as string[] }] = plansOf(brain.store, () => eligible.few(10));
    const steps = plan.join("\n");
    expect(steps).toMatch(/occurrence_by_time \(referent_from>\? AND referent_from<\?\)/);
    expect(steps).toContain("occurrence_long");
    brain.close();
  });
});

describe("a brain whose words are common", () => {
  const COMMON = 3_050;
  let brain: TestStore;
  let together = "";
  let five: string[] = [];

  beforeAll(async () => {
    brain = createTestStore();
    const [both] = await brain.remember("quokka and wombat");
    together = both?.id ?? "";
    const rare = await brain.remember(
      ...Array.from(
        { length: 5 },
        (_, index): RememberInput => ({
          content: `a quokka in a long old remark that says much else besides, number ${index}`,
          kind: "decision",
          domain: "zoo",
          tags: ["keeper"],
          referent: { from: DAY_ZERO, to: DAY_ZERO },
        }),
      ),
    );
    five = rare.flatMap(({ id }) => id ?? []).sort();
    for (const animal of ["quokka", "wombat"]) {
      for (let start = 0; start < COMMON; start += 610) {
        await brain.remember(
          ...Array.from({ length: 610 }, (_, index) => ({ content: `${animal} ${start + index}`, kind: "fact" })),
        );
      }
    }
  }, SLOW);
  afterAll(() => brain.close());

  const find = async (query: string, options: SearchOptions = {}) =>
    (await search(brain.store, brain.embedder, query, options)).results.map(({ id }) => id);

  it("finds what holds two of them together, however old it is", async () => {
    const { store } = brain;
    const terms = store.fullText.weigh([["quokka"], ["wombat"]]);
    expect(terms.map(({ documentCount }) => documentCount > 3_000)).toEqual([true, true]);
    const [best] = store.fullText.candidates(terms, null);
    expect(best?.ids).toEqual([store.thoughts.resolve(together)]);
    expect((await find("quokka wombat", { k: 3 }))[0]).toBe(together);
  });

  const filters: [string, SearchOptions][] = [
    ["kind", { kinds: ["decision"] }],
    ["domain", { domains: ["zoo"] }],
    ["tag", { tags: ["keeper"] }],
    ["time", { when: { from: DAY_ZERO, to: DAY_ZERO } }],
  ];
  it.each(filters)(
    "finds the five that a filter by %s passes, by words alone and by vectors alone",
    async (_, filter) => {
      expect(await find("quokka", { k: 5 })).not.toEqual(expect.arrayContaining(five));
      expect((await find("quokka", { k: 50, ...filter })).sort()).toEqual(five);
      expect((await find("an unheard question", { k: 50, ...filter })).sort()).toEqual(five);
    },
  );

  it("reads the five among thousands of postings of their word", () => {
    const { store } = brain;
    const kindIds = [store.labels.find("kind", "decision") ?? 0];
    const within = new Eligible(store.connection, { kindIds });
    const byWords = store.fullText.candidates(store.fullText.weigh([["quokka"]]), within).flatMap(({ ids }) => ids);
    expect(byWords.map((id) => store.thoughts.publicId(id)).sort()).toEqual(five);
  });
});
