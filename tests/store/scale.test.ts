import Database from "better-sqlite3";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import type { Interval, RememberInput, SearchOptions } from "../../src/core/types.ts";
import { forget, revive } from "../../src/recall/states.ts";
import { search } from "../../src/retrieve/search.ts";
import { Eligible } from "../../src/store/eligible.ts";
import { migrate } from "../../src/store/migrate.ts";
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

/** Copies the first occurrence of a node, each copy a second later and at a place of its own in the thread given. */
function repeatOccurrence(store: Store, nodeId: number, times: number, thread: string): void {
  store.connection.db
    .prepare(
      `WITH RECURSIVE copy(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copy WHERE number < @times)
       INSERT INTO occurrence (node_id, source_id, leg_id, thread, ordinal, referent_from, referent_to, referent_kind,
         event_seq)
       SELECT node_id, source_id, leg_id, @thread, (SELECT max(ordinal) FROM occurrence) + number,
         referent_from + 1000 * number, referent_to + 1000 * number, referent_kind, event_seq
       FROM copy, (SELECT * FROM occurrence WHERE node_id = @nodeId ORDER BY id LIMIT 1)`,
    )
    .run({ nodeId, times, thread });
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
      store.occurrences.places([hub], 4);
    });
    expect(plans.length).toBeGreaterThanOrEqual(6);
    for (const { plan } of plans) {
      for (const step of plan) {
        // Telling the 64 apart that were looked at is no sorting of what there is.
        expect(step).not.toMatch(/TEMP B-TREE FOR (?!DISTINCT)/);
        if (step.startsWith("SCAN")) expect(step).toMatch(/^SCAN (wanted|d|met|near|s)\b/);
      }
    }
    const steps = plans.flatMap(({ plan }) => plan).join("\n");
    for (const index of ["derivation_from_thought", "derivation_by_parent", "link_incoming", "occurrence_by_node"]) {
      expect(steps).toContain(`INDEX ${index}`);
    }
  });

  it("holds nothing that is read past its bound: each of these reads has one inside", () => {
    const { store } = brain;
    const plans = plansOf(store, () => {
      store.legs.neighbors([hub], 6);
      store.occurrences.surroundings([hub], 6, 4);
      store.occurrences.places([hub], 4);
    });
    expect(plans).toHaveLength(4);
    for (const { text } of plans) expect(text).toMatch(/ORDER BY \w+( DESC)? LIMIT 64\)/);
  });
});

describe("a value that was met in many sources", () => {
  const meeting = (content: string, session: number): RememberInput => ({
    content,
    occurrence: {
      source: { type: "session", key: `s${session}`, name: `session ${session}`, trust: "trusted" },
      recordKey: `${content} ${session}`,
    },
  });
  let brain: TestStore;
  beforeEach(() => {
    brain = createTestStore();
  });
  afterEach(() => brain.close());

  it("is next to the thought it rests on, which is a parent behind all those sources", async () => {
    const { store } = brain;
    await brain.remember(...Array.from({ length: 80 }, (_, session) => meeting("qqq www", session)));
    const [zeppelin] = await brain.remember("zeppelin");
    const [met] = await brain.remember({ content: "qqq www", legs: [{ parents: [zeppelin?.id ?? ""] }] });
    const [nodeId, neighborId] = [met, zeppelin].map((result) => store.thoughts.resolve(result?.id ?? "")) as [
      number,
      number,
    ];
    expect(store.legs.count(nodeId).parents).toBe(81);
    expect(store.legs.neighbors([nodeId], 6)).toEqual([{ nodeId, neighborId }]);
    const { results } = await search(store, brain.embedder, "qqq www", {});
    expect(results.find(({ id }) => id === zeppelin?.id)?.channels.graph).toBeGreaterThan(0);
  });

  it("names a parent once, however many legs it is in", async () => {
    const { store } = brain;
    const results = await brain.remember("one", "two", ...Array.from({ length: 8 }, (_, index) => `other ${index}`));
    const [one = "", two = "", ...others] = results.flatMap(({ id }) => id ?? []);
    const legs = others.map((other) => ({ parents: [one, other] }));
    const [child] = await brain.remember({ content: "child", legs: [...legs, { parents: [two] }] });
    const parents = store.legs.neighbors([store.thoughts.resolve(child?.id ?? "")], 3).map((pair) => pair.neighborId);
    expect(parents.slice(0, 2)).toEqual([one, two].map((id) => store.thoughts.resolve(id)));
    expect(new Set(parents).size).toBe(3);
  });

  it("has its newest places looked at and no more, those outside any order included", async () => {
    const { store } = brain;
    const [met] = await brain.remember(meeting("again and again", 0));
    const nodeId = store.thoughts.resolve(met?.id ?? "");
    const places = () => store.occurrences.places([nodeId], 4);
    expect(places()).toHaveLength(1);
    repeatOccurrence(store, nodeId, 63, "-1");
    expect(places()).toHaveLength(1);
    repeatOccurrence(store, nodeId, 1, "-1");
    expect(places()).toEqual([]);
    repeatOccurrence(store, nodeId, 1, "0");
    expect(places()).toHaveLength(1);
  });
});

describe("derivation edges of an earlier schema", () => {
  it("learn which parents are thoughts", () => {
    const db = new Database(":memory:");
    migrate(db, 1, 1);
    db.exec(`
      PRAGMA foreign_keys = OFF;
      INSERT INTO node (id, public_id, role, kind_id, scope_id, basis, trust, recorded_at, added_seq)
        SELECT value, randomblob(10), value > 1, 1, 1, 0, 0, 0, 1 FROM json_each('[1, 2, 3]');
      INSERT INTO leg (id, node_id, axiom, parents_digest, added_seq) VALUES (1, 3, 0, randomblob(16), 1);
      INSERT INTO derivation (leg_id, parent_id, child_id) VALUES (1, 1, 3), (1, 2, 3);`);
    migrate(db, 1);
    const roles = db.prepare("SELECT parent_id, parent_role FROM derivation ORDER BY parent_id").raw().all();
    expect(roles).toEqual([
      [1, 0],
      [2, 1],
    ]);
    db.close();
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

  describe("and a value that was met often", () => {
    const always = { when: { from: 0, to: null } };
    let brain: TestStore;
    let often = 0;

    beforeEach(async () => {
      brain = createTestStore();
      const at = (content: string, time: number) => ({ content, referent: { from: time, to: time } });
      const [first] = await brain.remember(at("yes", DAY_ZERO), at("no", DAY_ZERO + 300 * MS_PER_DAY));
      often = brain.store.thoughts.resolve(first?.id ?? "");
    });
    afterEach(() => brain.close());

    it("counts as one thought, until its meetings are too many to be read", () => {
      const { store } = brain;
      const few = () => new Eligible(store.connection, always).few(10);
      expect(few()).toHaveLength(2);
      repeatOccurrence(store, often, 100, "-1");
      expect(
        new Eligible(store.connection, { when: { from: DAY_ZERO + 9_000, to: DAY_ZERO + 9_500 } }).few(10),
      ).toEqual([often]);
      expect(few()).toHaveLength(2);
      expect(new Eligible(store.connection, always).count()).toBe(2);
      repeatOccurrence(store, often, 100, "-1");
      expect(few()).toBeNull();
      expect(new Eligible(store.connection, always).count()).toBe(2);
    });

    it("has no more of its meetings read by a count than a bound", () => {
      const { store } = brain;
      repeatOccurrence(store, often, 20_000, "-1");
      expect(new Eligible(store.connection, always).count()).toBe(1);
      expect(new Eligible(store.connection, always).passing([often, often + 1], 5)).toHaveLength(2);
    });

    it("has its meetings read once, not once for each of them", () => {
      const { store } = brain;
      const plans = plansOf(store, () => {
        new Eligible(store.connection, always).few(10);
        new Eligible(store.connection, always).count();
      });
      expect(plans).toHaveLength(4);
      const steps = plans.flatMap(({ plan }) => plan).join("\n");
      expect(steps).toContain("occurrence_by_time");
      expect(steps).not.toContain("occurrence_by_node");
    });
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
    const [best] = store.fullText.candidates(terms, new Eligible(store.connection, {}));
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
