import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LegInput, RememberInput, SourceInput } from "../../src/core/types.ts";
import { commitRecall, previewRecall, type RecallRule, recall, unrecall } from "../../src/recall/recall.ts";
import { matchStanding } from "../../src/remember/match-standing.ts";
import { rememberAll } from "../../src/remember/remember.ts";
import { settleRecalls } from "../../src/remember/settle.ts";
import { buildContext } from "../../src/retrieve/context.ts";
import { list } from "../../src/retrieve/inspect.ts";
import { search } from "../../src/retrieve/search.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { takeCensus } from "../../src/store/census.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { Store } from "../../src/store/store.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const source = (name: string, trust: SourceInput["trust"] = "trusted"): SourceInput => ({
  type: "named",
  key: name,
  name,
  trust,
});

async function remember(content: string, ...legs: LegInput["parents"][]): Promise<string> {
  const [result] = await brain.remember({ content, legs: legs.map((parents) => ({ parents })) });
  return result?.id ?? "";
}

/** The source's id, by its key. */
function sourceId(name: string): string {
  return brain.store.thoughts.publicId(brain.store.sources.find("named", name) ?? 0);
}

function standing(...ids: string[]): boolean[] {
  return ids.map((id) =>
    brain.store.read(() => brain.store.thoughts.detail(brain.store.thoughts.resolve(id)).state.visible),
  );
}

function expectSound(): void {
  expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
}

/** M1 on A or B, M2 on C, M3 on M1 and M2 together. */
async function workedExample(): Promise<[string, string, string]> {
  const m1 = await remember("first thought about apples", [source("A")], [source("B")]);
  const m2 = await remember("second thought about bridges", [source("C")]);
  const m3 = await remember("third thought about candles", [m1, m2]);
  return [m1, m2, m3];
}

describe("the worked examples of the design", () => {
  it.each(["fair", "strict"] as const)("C takes M2 and M3 under the %s rule", async (rule) => {
    const ids = await workedExample();
    expect(standing(...ids)).toEqual([true, true, true]);
    const { removed, counts } = recall(brain.store, { ids: [sourceId("C")] }, { rule }, "person");
    expect(removed.map(({ id }) => id)).toEqual([sourceId("C"), ids[1], ids[2]]);
    expect(counts).toEqual({ roots: 1, thoughts: 2, sources: 1, weakened: 0, released: 0 });
    expect(standing(...ids)).toEqual([true, false, false]);
    expectSound();
  });

  it("A weakens M1 under the fair rule and takes M1 and M3 under the strict one", async () => {
    const ids = await workedExample();
    const fair = previewRecall(brain.store, { ids: [sourceId("A")] });
    expect(fair.removed.map(({ id }) => id)).toEqual([sourceId("A")]);
    expect(fair.weakened.map(({ id }) => id)).toEqual([ids[0]]);
    recall(brain.store, { ids: [sourceId("A")] }, { rule: "strict" }, "person");
    expect(standing(...ids)).toEqual([false, true, false]);
    expectSound();
  });

  it("A and then B take M1 and M3 under the fair rule", async () => {
    const ids = await workedExample();
    recall(brain.store, { ids: [sourceId("A")] }, {}, "person");
    expect(standing(...ids)).toEqual([true, true, true]);
    recall(brain.store, { ids: [sourceId("B")] }, {}, "person");
    expect(standing(...ids)).toEqual([false, true, false]);
    expectSound();
  });

  it("a cycle cannot hold itself up, and another leg holds both", async () => {
    for (const hasLeg of [false, true]) {
      const b = source(`B${hasLeg}`);
      const m4 = await remember(`fourth thought about drums ${hasLeg}`, [b]);
      const m5 = await remember(`fifth thought about eagles ${hasLeg}`, [m4], ...(hasLeg ? [[source("A2")]] : []));
      await brain.remember({ content: `fourth thought about drums ${hasLeg}`, legs: [{ parents: [m5] }] });
      recall(brain.store, { ids: [sourceId(`B${hasLeg}`)] }, {}, "person");
      expect(standing(m4, m5)).toEqual([hasLeg, hasLeg]);
    }
    expectSound();
  });
});

describe("a recall", () => {
  it("shows what would go and why, and changes nothing before it is applied", async () => {
    const [, m2, m3] = await workedExample();
    const before = brain.store.ledger.head();
    const preview = previewRecall(brain.store, { sources: "c*" });
    expect(preview.roots.map(({ label }) => label)).toEqual(["C"]);
    expect(preview.removed.at(-1)?.path).toEqual([sourceId("C"), m2, m3]);
    expect(brain.store.ledger.head()).toEqual(before);
    expect(standing(m2, m3)).toEqual([true, true]);
  });

  it("is one event with one row of effect, and the ledger accounts for it", async () => {
    await workedExample();
    const { events } = await expectAudited(brain.store, () =>
      recall(brain.store, { ids: [sourceId("C")] }, {}, "person"),
    );
    expect(events).toBe(1);
    expect(brain.store.ledger.list({ limit: 1 })[0]).toMatchObject({
      kind: "recalled",
      payload: { rule: "fair", reason: "untrusted", roots: [sourceId("C")], removed: 3, pinned: 1 },
    });
  });

  it("is obeyed by every reader from its commit on, before a single row says so", async () => {
    const ids = await workedExample();
    const [, m2, m3] = ids;
    const other = Store.open(brain.path, brain.clock);
    const read = async (store: Store) => ({
      search: (await search(store, brain.embedder, "thought", { k: 10 })).results.map(({ id }) => id).sort(),
      eligible: (await search(store, brain.embedder, "thought", { k: 10 })).scanned.eligible,
      context: (await buildContext(store, brain.embedder, ["thought"])).items.map(({ id }) => id).sort(),
      list: list(store, { limit: 10 })
        .map(({ id }) => id)
        .sort(),
      recalled: list(store, { limit: 10, state: "recalled" })
        .map(({ id }) => id)
        .sort(),
      visible: takeCensus(store).visible,
    });
    const all = [...ids].sort();
    for (const store of [brain.store, other]) {
      expect(await read(store)).toEqual({
        search: all,
        eligible: 3,
        context: all,
        list: all,
        recalled: [],
        visible: 3,
      });
    }
    commitRecall(brain.store, { ids: [sourceId("C")] });
    expect(brain.store.connection.values("SELECT count(*) FROM node WHERE recalled_by IS NOT NULL").get()).toBe(0);
    const rest = [ids[0]];
    const after = {
      search: rest,
      eligible: 1,
      context: rest,
      list: rest,
      recalled: [m2, m3].sort(),
      visible: 1,
    };
    for (const store of [brain.store, other]) expect(await read(store)).toEqual(after);
    settleRecalls(other, "person");
    expect(other.connection.values("SELECT count(*) FROM node WHERE recalled_by IS NOT NULL").get()).toBe(3);
    for (const store of [brain.store, other]) expect(await read(store)).toEqual(after);
    other.close();
    expectSound();
  });

  it("leaves a vector search its k although the nearest rows are hidden only by the pending recall", async () => {
    const bad = Array.from({ length: 60 }, (_, index) => ({
      content: `kettle boils fast number${index}`,
      legs: [{ parents: [source("bad")] }],
    }));
    await brain.remember(...bad, ...Array.from({ length: 10 }, (_, index) => `garden gate opening ${index}`));
    const query = await brain.embedder.embedQuery("kettle boils fast");
    const filter = { scopeIds: brain.store.scopes.readableIds() };
    const nearest = () => brain.store.read(() => brain.store.vectors.nearest(query, 10, filter).neighbors);
    const isBad = (nodeId: number) => brain.store.thoughts.detail(nodeId).content.startsWith("kettle");
    expect(nearest().every(({ nodeId }) => isBad(nodeId))).toBe(true);
    commitRecall(brain.store, { ids: [sourceId("bad")] });
    expect(nearest()).toHaveLength(10);
    expect(nearest().some(({ nodeId }) => isBad(nodeId))).toBe(false);
  });

  it("by the strict rule takes what the fair one left standing of the same root", async () => {
    const [m1, m2, m3] = await workedExample();
    recall(brain.store, { ids: [sourceId("A")] }, { rule: "fair" }, "person");
    expect(standing(m1, m2, m3)).toEqual([true, true, true]);
    const { event, counts } = recall(brain.store, { ids: [sourceId("A")] }, { rule: "strict" }, "person");
    expect(counts).toMatchObject({ thoughts: 2, sources: 0 });
    expect(standing(m1, m2, m3)).toEqual([false, true, false]);
    expect(recall(brain.store, { ids: [sourceId("A")] }, { rule: "strict" }, "person").event).toBeNull();
    unrecall(brain.store, event ?? "", "person");
    expect(standing(m1, m2, m3)).toEqual([true, true, true]);
    expectSound();
  });

  it("names what replaced a good thought and goes", async () => {
    const good = await remember("the gate opens at seven", [source("sign")]);
    const [bad] = await brain.remember({
      content: "the gate opens at nine",
      legs: [{ parents: [source("rumour")] }],
      supersedes: [good],
    });
    const preview = previewRecall(brain.store, { ids: [sourceId("rumour")] });
    expect(preview.removed.map(({ id }) => id)).toContain(bad?.id);
    expect(preview.replaced.map(({ id }) => id)).toEqual([good]);
  });

  it("names thoughts that say the same without a leg", async () => {
    const going = await remember("take the umbrella on thursday to the office", [source("weather")]);
    const alike = await remember("take the umbrella on thursday to the office please", [source("friend")]);
    await remember("the cat sleeps in the laundry basket", [source("friend")]);
    const preview = previewRecall(brain.store, { ids: [sourceId("weather")] });
    expect(preview.alike.map(({ id, like }) => [id, like])).toEqual([[alike, going]]);
  });

  it("names them also when much goes that is as near", async () => {
    const sources = Array.from({ length: 60 }, (_, at) => source(`weather ${at}`));
    const same = (end: string) => `take the umbrella on thursday to the office ${end}`;
    for (const [at, one] of sources.entries()) await remember(same(`${at} times`), [one]);
    const alike = await remember(same("please"), [source("friend")]);
    const preview = previewRecall(brain.store, { sources: "weather *" });
    expect(preview.counts).toMatchObject({ sources: 60, thoughts: 60 });
    expect(preview.alike.map(({ id }) => id)).toEqual([alike]);
  });

  it("refuses what is named wrongly", async () => {
    await workedExample();
    expect(() => previewRecall(brain.store, {})).toThrow(expect.objectContaining({ code: "usage" }));
    const rule = "gentle" as "fair";
    expect(() => previewRecall(brain.store, { sources: "*" }, { rule })).toThrow(
      expect.objectContaining({ code: "usage" }),
    );
    expect(() => recall(brain.store, { sources: "*" }, { rule }, "person")).toThrow(
      expect.objectContaining({ code: "usage" }),
    );
    expect(() => previewRecall(brain.store, { sources: "nobody*" })).toThrow(
      expect.objectContaining({ code: "not_found" }),
    );
    expect(() => previewRecall(brain.store, { ids: ["n_0000000000000000"] })).toThrow(
      expect.objectContaining({ code: "not_found" }),
    );
    expect(() => unrecall(brain.store, "e_1", "person")).toThrow(expect.objectContaining({ code: "not_found" }));
  });
});

describe("a session that may not read every scope", () => {
  it("sees none of the words that go elsewhere, and they go", async () => {
    const page = source("page");
    await remember("the gate is painted green", [page]);
    const [secret] = await brain.remember({
      content: "my pin is on the gate",
      legs: [{ parents: [page] }],
      scope: "secret",
    });
    const { store } = brain;
    const labels = () => previewRecall(store, { ids: [sourceId("page")] }).removed.map(({ label }) => label);
    expect(labels()).toEqual(["page", "the gate is painted green", "my pin is on the gate"]);
    const scopeId = store.scopes.idOf("secret");
    store.connection.db.prepare("DELETE FROM temp.session_scope WHERE id = ?").run(scopeId);
    expect(labels()).toEqual(["page", "the gate is painted green"]);
    const result = recall(store, { ids: [sourceId("page")] }, {}, "person");
    expect(result.removed.map(({ label }) => label)).toEqual(["page", "the gate is painted green"]);
    store.connection.db.prepare("INSERT INTO temp.session_scope (id) VALUES (?)").run(scopeId);
    expect(standing(secret?.id ?? "")).toEqual([false]);
  });
});

describe("undoing a recall", () => {
  /** Everything of a node that a recall could touch, and what a search finds. */
  async function stateOf() {
    const rows = brain.store.connection.db
      .prepare(
        "SELECT id, decayed, belief, permanence, merged_into, recalled_by, trust, stale_by FROM node ORDER BY id",
      )
      .all();
    const table = brain.store.models.required().vecTable;
    const hidden = brain.store.connection.db.prepare(`SELECT node_id, hidden FROM ${table} ORDER BY node_id`).all();
    const answer = await search(brain.store, brain.embedder, "thought about apples and candles", { k: 10 });
    return { rows, hidden, results: answer.results };
  }

  it.each(["fair", "strict"] as const)("restores the very state and the very results (%s)", async (rule) => {
    const ids = await workedExample();
    const before = await stateOf();
    const { event } = recall(brain.store, { ids: [sourceId("C"), sourceId("A")] }, { rule }, "person");
    expect(await stateOf()).not.toEqual(before);
    const { restored } = unrecall(brain.store, event ?? "", "person");
    expect(restored).toBe(rule === "fair" ? 4 : 5);
    expect(await stateOf()).toEqual(before);
    expect(standing(...ids)).toEqual([true, true, true]);
    expectSound();
  });

  it("happens once", async () => {
    await workedExample();
    const { event } = recall(brain.store, { ids: [sourceId("C")] }, {}, "person");
    unrecall(brain.store, event ?? "", "person");
    expect(() => unrecall(brain.store, event ?? "", "person")).toThrow(expect.objectContaining({ code: "undone" }));
  });

  it("leaves down what another recall pins or breaks, and says under which", async () => {
    const ids = await workedExample();
    const first = recall(brain.store, { ids: [sourceId("C")] }, {}, "person");
    const second = recall(brain.store, { ids: [ids[1]] }, {}, "person");
    const undone = unrecall(brain.store, first.event ?? "", "person");
    expect(undone).toMatchObject({ restored: 1, stillFallen: 2 });
    expect(standing(...ids)).toEqual([true, false, false]);
    const { thoughts } = brain.store;
    const under = [ids[1], ids[2]].map((id) => thoughts.state(thoughts.resolve(id)).recalledBy);
    expect(under.map((seq) => `e_${seq}`)).toEqual([second.event, second.event]);
    expectSound();
    unrecall(brain.store, second.event ?? "", "person");
    expect(standing(...ids)).toEqual([true, true, true]);
    expectSound();
  });
});

describe("a thought that was recalled", () => {
  it("cannot be cited, not even while the recall is pending", async () => {
    const [, m2] = await workedExample();
    commitRecall(brain.store, { ids: [sourceId("C")] });
    const refused = { status: "refused", reason: "dead_source" };
    const cite = (parent: string | SourceInput, content: string): RememberInput => ({
      content,
      legs: [{ parents: [parent] }],
    });
    expect(await brain.remember(cite(m2, "resting on what fell"))).toMatchObject([refused]);
    expect(await brain.remember(cite(source("C"), "resting on the source"))).toMatchObject([refused]);
    settleRecalls(brain.store, "person");
    expect(await brain.remember(cite(m2, "resting on what fell"))).toMatchObject([refused]);
  });

  it("stands again with what rested on it when it is met in a source that stands", async () => {
    const [m1, m2, m3] = await workedExample();
    const { event } = recall(brain.store, { ids: [sourceId("C")] }, {}, "person");
    const [met] = await brain.remember({
      content: "second thought about bridges",
      legs: [{ parents: [source("D")] }],
    });
    expect(met).toMatchObject({ id: m2, status: "revived" });
    expect(standing(m1, m2, m3)).toEqual([true, true, true]);
    expect((await search(brain.store, brain.embedder, "bridges")).results[0]?.id).toBe(m2);
    expectSound();
    // The graph that this process kept has learned it, and so has one that is built anew.
    brain.store.aliveness.forget();
    expect(previewRecall(brain.store, { ids: [sourceId("D")] }).counts.thoughts).toBe(2);
    unrecall(brain.store, event ?? "", "person");
    expect(standing(m1, m2, m3)).toEqual([true, true, true]);
    expectSound();
  });

  it("is refused while a recall pins it", async () => {
    const [m1, m2] = await workedExample();
    recall(brain.store, { ids: [m2] }, {}, "person");
    recall(brain.store, { ids: [sourceId("A")] }, { rule: "strict" }, "person");
    for (const content of ["second thought about bridges", "first thought about apples"]) {
      const [met] = await brain.remember({ content, legs: [{ parents: [source("D")] }] });
      expect(met).toMatchObject({ status: "refused", reason: "recalled" });
    }
    expect(standing(m1, m2)).toEqual([false, false]);
  });
});

it("a thought whose last whole leg ends falls under the recall that broke the others, and rises with its undoing", async () => {
  const { store } = brain;
  const value = await remember("the well is dry in august", [source("A")], [source("B")]);
  const child = await remember("carry water in august", [value]);
  const { event } = recall(store, { ids: [sourceId("A")] }, {}, "person");
  expect(standing(value, child)).toEqual([true, true]);
  const nodeId = store.thoughts.resolve(value);
  const b = store.legs.find(nodeId, { axiom: false, parentIds: [store.sources.find("named", "B") ?? 0] }) ?? 0;
  await expectAudited(store, () =>
    store.write(() => {
      store.legs.end(nodeId, [b], "extractor", "source_gone");
      matchStanding(store, [nodeId], "extractor");
    }),
  );
  expect(standing(value, child)).toEqual([false, false]);
  expect(store.thoughts.state(nodeId).recalledBy).toBe(Number(event?.slice(2)));
  expectSound();
  unrecall(store, event ?? "", "person");
  expect(standing(value, child)).toEqual([true, true]);
  expectSound();
});

describe("copies", () => {
  const said = (name: string, text: string): RememberInput => ({
    content: text,
    occurrence: { source: source(name), recordKey: `${name} ${text}` },
  });

  async function mergedCopies(): Promise<{ survivor: string; copy: string }> {
    const text = "The heating in the cellar is serviced every autumn by Miller and sons";
    await brain.remember(said("trusted", text));
    brain.clock.advance(1000);
    await brain.remember(said("page", text.toUpperCase()));
    const [a = "", b = ""] = list(brain.store, { limit: 10 }).map(({ id }) => id);
    await runSleep(brain.store, brain.embedder, { phases: ["consolidate"] });
    const { thoughts } = brain.store;
    const isBehind = (id: string) => thoughts.state(thoughts.resolve(id)).mergedInto !== null;
    expect([isBehind(a), isBehind(b)].filter(Boolean)).toHaveLength(1);
    return isBehind(a) ? { survivor: b, copy: a } : { survivor: a, copy: b };
  }

  it("come out from behind a survivor that falls, and go back when the recall is undone", async () => {
    const { survivor, copy } = await mergedCopies();
    expect(standing(survivor, copy)).toEqual([true, false]);
    const { event } = recall(brain.store, { ids: [sourceId("trusted")] }, {}, "person");
    expect(standing(survivor, copy)).toEqual([false, true]);
    expectSound();
    unrecall(brain.store, event ?? "", "person");
    expect(standing(survivor, copy)).toEqual([true, false]);
    expectSound();
  });

  it("fall by their own source, and then do not come out", async () => {
    const { survivor, copy } = await mergedCopies();
    const { thoughts } = brain.store;
    recall(brain.store, { ids: [sourceId("page")] }, {}, "person");
    expect(thoughts.state(thoughts.resolve(copy)).recalledBy).not.toBeNull();
    expect(standing(survivor, copy)).toEqual([true, false]);
    recall(brain.store, { ids: [sourceId("trusted")] }, {}, "person");
    expect(standing(survivor, copy)).toEqual([false, false]);
    expect((await search(brain.store, brain.embedder, "heating serviced")).results).toEqual([]);
    expectSound();
  });
});

/** A leg of a random brain: numbers of sources (from 0) and of earlier or later thoughts (from 100). */
type RandomLeg = readonly number[];

/** Least fixpoint over the tables, by rounds. */
function aliveByForce(store: Store, pinned: ReadonlySet<number>): Set<number> {
  const { db } = store.connection;
  const alive = new Set(
    (db.prepare("SELECT node_id FROM source").pluck().all() as number[]).filter((id) => !pinned.has(id)),
  );
  const legs = (
    db.prepare("SELECT id, node_id FROM leg WHERE ended_seq IS NULL").all() as { id: number; node_id: number }[]
  ).map(({ id, node_id }) => ({
    nodeId: node_id,
    parents: db.prepare("SELECT parent_id FROM derivation WHERE leg_id = ?").pluck().all(id) as number[],
  }));
  for (let size = -1; size !== alive.size; ) {
    size = alive.size;
    for (const { nodeId, parents } of legs) {
      if (!pinned.has(nodeId) && parents.every((id) => alive.has(id))) alive.add(nodeId);
    }
  }
  return alive;
}

describe("random brains with cycles", () => {
  const leg = fc.uniqueArray(fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 100, max: 111 })), {
    minLength: 1,
    maxLength: 3,
  });
  const step = fc.oneof(
    fc.record({
      recall: fc.uniqueArray(fc.integer({ min: 0, max: 16 }), { minLength: 1, maxLength: 2 }),
      strict: fc.boolean(),
    }),
    fc.record({ undo: fc.nat() }),
    fc.record({ child: fc.integer({ min: 100, max: 111 }), leg }),
    fc.record({ sleep: fc.constant(true) }),
  );

  it("stand as the least fixpoint says after every recall, undo and new leg", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(leg, { minLength: 1, maxLength: 2 }), { minLength: 12, maxLength: 12 }),
        fc.array(step, { minLength: 1, maxLength: 8 }),
        async (legsOf, steps) => {
          const own = createTestStore();
          const { store, embedder } = own;
          try {
            const ids: string[] = [];
            const write = async (at: number, legs: readonly RandomLeg[]) => {
              const known = (number: number) =>
                number < 100 ? source(`s${number}`) : (ids[number - 100] ?? source("s0"));
              const usable = legs.map((parents) => ({
                parents: parents.filter((number) => number - 100 !== at).map(known),
              }));
              const content = `random thought number ${at} alone`;
              const [result] = await rememberAll(
                store,
                embedder,
                [{ content, legs: usable.filter(({ parents }) => parents.length > 0).slice(0, 2) }],
                { actor: "person" },
              );
              if (result?.id != null) ids[at] ??= result.id;
            };
            await rememberAll(
              store,
              embedder,
              [0, 1, 2, 3, 4].map((n) => ({ content: `base ${n}`, legs: [{ parents: [source(`s${n}`)] }] })),
              { actor: "person" },
            );
            for (const [at, legs] of legsOf.entries()) await write(at, legs.slice(0, 1));
            for (const [at, legs] of legsOf.entries()) await write(at, legs);
            const pins = new Map<string, ReadonlySet<number>>();
            for (const one of steps) {
              if ("recall" in one) {
                const targets = one.recall.map((n) =>
                  n < 5 ? store.thoughts.publicId(store.sources.find("named", `s${n}`) ?? 0) : (ids[n - 5] ?? ""),
                );
                const rule: RecallRule = one.strict ? "strict" : "fair";
                const { event } = recall(store, { ids: targets }, { rule }, "person");
                const seq = Number((event ?? "e_0").slice(2));
                if (event !== null) pins.set(event, new Set(store.recalls.get(seq)?.pinned));
              } else if ("undo" in one) {
                const events = [...pins.keys()];
                const event = events[one.undo % Math.max(1, events.length)];
                if (event !== undefined) {
                  unrecall(store, event, "person");
                  pins.delete(event);
                }
              } else if ("child" in one) await write(one.child - 100, [one.leg]);
              else store.aliveness.forget();
              const pinned = new Set([...pins.values()].flatMap((set) => [...set]));
              const alive = aliveByForce(store, pinned);
              const says = store.connection.values<number>("SELECT id FROM node WHERE recalled_by IS NULL").all();
              expect(new Set(says)).toEqual(alive);
              const graph = store.read(() => store.aliveness.current());
              for (const id of says) expect(graph.isAlive(id)).toBe(true);
            }
            expect(checkIntegrity(store).filter(({ violations }) => violations > 0)).toEqual([]);
          } finally {
            own.close();
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("the kept graph", () => {
  it("answers as one built anew, learns what came after it, and is replaced when it is damaged", async () => {
    const ids = await workedExample();
    const { store } = brain;
    store.write(() => store.aliveness.saveSnapshot());
    const late = await remember("late thought about lamps", [ids[2]]);
    recall(store, { ids: [sourceId("B")] }, {}, "person");
    const expected = () => {
      store.aliveness.forget();
      return previewRecall(store, { ids: [sourceId("C")] }).removed.map(({ id }) => id);
    };
    expect(expected()).toEqual([sourceId("C"), ids[1], ids[2], late]);
    store.connection.db.exec("UPDATE graph_snapshot SET body = substr(body, 1, length(body) - 3)");
    expect(checkIntegrity(store).find(({ name }) => name === "graph_snapshot_unreadable")?.violations).toBe(1);
    expect(expected()).toEqual([sourceId("C"), ids[1], ids[2], late]);
    store.write(() => store.aliveness.dropSnapshot());
    expect(expected()).toEqual([sourceId("C"), ids[1], ids[2], late]);
    expectSound();
  });
});

it("doctor names a node that is recalled against the recalls in force", async () => {
  const [, m2] = await workedExample();
  recall(brain.store, { ids: [sourceId("C")] }, {}, "person");
  expectSound();
  const { db } = brain.store.connection;
  db.exec("DROP TRIGGER node_recall_follows_effect");
  db.prepare("UPDATE node SET recalled_by = NULL WHERE id = ?").run(brain.store.thoughts.resolve(m2));
  const broken = () => checkIntegrity(brain.store).find(({ name }) => name === "recalled_differs_from_effects");
  expect(broken()).toMatchObject({ violations: 1, sample: [m2] });
});
