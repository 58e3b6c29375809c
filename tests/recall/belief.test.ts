import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RememberInput } from "../../src/core/types.ts";
import { confirm, contradict, resolve, supersede, undoSupersede } from "../../src/recall/belief.ts";
import { forget, revive } from "../../src/recall/states.ts";
import { buildContext } from "../../src/retrieve/context.ts";
import { history } from "../../src/retrieve/history.ts";
import { how, list, show } from "../../src/retrieve/inspect.ts";
import { search } from "../../src/retrieve/search.ts";
import { why } from "../../src/retrieve/why.ts";
import { takeCensus } from "../../src/store/census.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { plansOf, scansOf } from "../support/plans.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const ids = async (...inputs: (RememberInput | string)[]) =>
  (await brain.remember(...inputs)).map(({ id }) => id ?? "");
const resultsOf = async (query: string) => (await search(brain.store, brain.embedder, query)).results;
const foundBy = async (query: string) => (await resultsOf(query)).map(({ id }) => id);
const listed = (state: "superseded" | "stale" | "disputed" | "visible") =>
  list(brain.store, { limit: 100, state }).map(({ id }) => id);
const beliefOf = (id: string) => brain.store.thoughts.state(brain.store.thoughts.resolve(id)).belief;
const isStale = (id: string) => brain.store.thoughts.detail(brain.store.thoughts.resolve(id)).stale;
const resting = (content: string, ...parents: string[]): RememberInput => ({ content, legs: [{ parents }] });
const refusal = (code: string) => expect.objectContaining({ code });

/** Axes, standing links and standing legs: everything that a change and its undoing must bring back. */
function stateOfBrain(): unknown {
  const { db } = brain.store.connection;
  return {
    nodes: db
      .prepare("SELECT id, decayed, belief, permanence, merged_into, trust, stale_by FROM node ORDER BY id")
      .all(),
    links: db.prepare("SELECT type, from_id, to_id FROM link WHERE ended_seq IS NULL ORDER BY 1, 2, 3").all(),
    violations: checkIntegrity(brain.store).filter(({ violations }) => violations > 0),
  };
}

describe("supersede", () => {
  it("takes the old thought out of search, context and counts, and keeps it readable", async () => {
    const [old = "", by = ""] = await ids("The meeting is on Tuesday", "The meeting is on Friday");
    expect(await foundBy("meeting")).toEqual(expect.arrayContaining([old, by]));
    expect((await buildContext(brain.store, brain.embedder, ["meeting"])).text).toContain(`[${old} `);
    expect(takeCensus(brain.store)).toMatchObject({ visible: 2, states: { superseded: 0 } });
    const { changedRows } = await expectAudited(brain.store, () => supersede(brain.store, old, by, "person"));
    expect(changedRows).toBeGreaterThan(0);
    expect(await foundBy("meeting")).toEqual([by]);
    expect((await search(brain.store, brain.embedder, "meeting")).scanned.eligible).toBe(1);
    const { text, counts } = await buildContext(brain.store, brain.embedder, ["meeting"]);
    expect(text).not.toContain(`[${old} `);
    expect(counts.thoughts).toBe(1);
    expect(takeCensus(brain.store)).toMatchObject({ thoughts: 2, visible: 1, states: { superseded: 1 } });
    expect(listed("superseded")).toEqual([old]);
    expect(show(brain.store, old)).toMatchObject({
      content: "The meeting is on Tuesday",
      belief: "superseded",
      state: { visible: false },
      links: [{ type: "supersedes", direction: "from", id: by }],
    });
    expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
  });

  it("says what a result replaced, in search and in context", async () => {
    const [old = "", by = "", other = ""] = await ids("The tram is line 28", "The tram is line 12", "The tram is red");
    expect(await resultsOf("tram")).toMatchObject([{ replaces: [] }, { replaces: [] }, { replaces: [] }]);
    supersede(brain.store, old, by, "person");
    const replaces = Object.fromEntries((await resultsOf("tram")).map((result) => [result.id, result.replaces]));
    expect(replaces).toEqual({ [by]: [old], [other]: [] });
    const { text } = await buildContext(brain.store, brain.embedder, ["tram"]);
    expect(text).toMatch(new RegExp(`\\[${by} [^\\n]*\\| replaces ${old}\\]`));
  });

  it("says so too when the replacement stands behind a copy of itself", async () => {
    const [old = "", by = "", survivor = ""] = await ids(
      "The key is under the pot",
      "The key is at Ana's",
      "The key is at Ana’s",
    );
    supersede(brain.store, old, by, "person");
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "merged",
        actor: "sleep",
        payload: {},
        changes: [
          {
            nodeId: brain.store.thoughts.resolve(by),
            axis: "merged_into",
            to: brain.store.thoughts.resolve(survivor),
          },
        ],
      }),
    );
    expect(await resultsOf("key")).toMatchObject([{ id: survivor, replaces: [old] }]);
  });

  it("flags what rests on the old one at any distance and in any state, and removes nothing", async () => {
    const [old = "", by = "", base = ""] = await ids("Lives in Pune", "Lives in Goa", "It rains in June");
    const [child = ""] = await ids(resting("Needs a coat", old, base));
    const [lost = ""] = await ids(resting("Buys a coat", child));
    const [far = ""] = await ids(resting("Is short of money", lost));
    const [alone = ""] = await ids(resting("Needs an umbrella", base));
    forget(brain.store, lost, "not needed", "person");
    const change = supersede(brain.store, old, by, "person");
    expect(change).toMatchObject({ changed: true, flagged: 3, cleared: 0 });
    expect(listed("stale")).toEqual(expect.arrayContaining([child, lost, far]));
    expect([old, by, base, alone].map(isStale)).toEqual([false, false, false, false]);
    expect(listed("visible")).toEqual(expect.arrayContaining([child, far, alone]));
    const stale = Object.fromEntries(
      (await resultsOf("needs coat umbrella")).map((result) => [result.id, result.stale]),
    );
    expect(stale).toMatchObject({ [child]: true, [alone]: false });
    expect((await buildContext(brain.store, brain.embedder, ["coat"])).text).toContain(
      "| stale: what it rests on was replaced",
    );
  });

  it("does not flag the replacement for resting on what it replaces, nor what rests on it alone", async () => {
    const [old = ""] = await ids("The rent is 900");
    const [by = "", child = ""] = await ids(resting("The rent rose to 950", old), resting("Can pay 900", old));
    const [next = ""] = await ids(resting("Pays 950 in May", by));
    supersede(brain.store, old, by, "person");
    expect([by, child, next].map(isStale)).toEqual([false, true, false]);
  });

  it("does not follow a leg that ended", async () => {
    const [old = "", by = ""] = await ids("a", "b");
    const [child = ""] = await ids(resting("c", old));
    const nodeId = brain.store.thoughts.resolve(child);
    const legIds = brain.store.legs.sample(nodeId, 10, 10).map(({ id }) => id);
    brain.store.write(() => brain.store.legs.end(nodeId, legIds, "person", "source_gone"));
    expect(supersede(brain.store, old, by, "person").flagged).toBe(0);
  });

  it("writes events of at most 500 changes, however many rest on it, and all name the first", async () => {
    const [old = "", by = ""] = await ids("hub", "new hub");
    const children = await ids(...Array.from({ length: 1_203 }, (_, index) => resting(`child ${index}`, old)));
    const head = brain.store.ledger.head().seq;
    const { changedRows } = await expectAudited(brain.store, () => supersede(brain.store, old, by, "person"));
    expect(changedRows).toBeGreaterThan(1_203);
    const sizes = brain.store.connection.db
      .prepare("SELECT count(*) FROM transition WHERE event_seq > ? GROUP BY event_seq")
      .pluck()
      .all(head) as number[];
    expect(Math.max(...sizes)).toBeLessThanOrEqual(502);
    const causes = brain.store.connection.db
      .prepare("SELECT DISTINCT stale_by FROM node WHERE stale_by IS NOT NULL")
      .pluck()
      .all();
    expect(causes).toEqual([head + 1]);
    expect(children.every(isStale)).toBe(true);
    await expectAudited(brain.store, () => expect(undoSupersede(brain.store, old, "person").cleared).toBe(1_203));
    expect(listed("stale")).toEqual([]);
  });

  it("keeps the reason's words, and out of the ledger", async () => {
    const [old = "", by = ""] = await ids("Lives in Pune", "Lives in Goa");
    await expectAudited(brain.store, () => supersede(brain.store, old, by, "person", { reason: "moved house" }));
    expect(show(brain.store, old)).toMatchObject({ reason: "moved house" });
    expect(JSON.stringify(brain.store.ledger.list({ limit: 10 }))).not.toContain("moved house");
  });

  it("changes nothing when asked twice", async () => {
    const [old = "", by = ""] = await ids("a", "b");
    supersede(brain.store, old, by, "person");
    const { events } = await expectAudited(brain.store, () =>
      expect(supersede(brain.store, old, by, "person")).toMatchObject({ changed: false, event: null }),
    );
    expect(events).toBe(0);
  });

  it("refuses a second replacement, a cycle, itself and a source", async () => {
    const [a = "", b = "", c = ""] = await ids("a", "b", "c");
    supersede(brain.store, a, b, "person");
    supersede(brain.store, b, c, "person");
    const before = stateOfBrain();
    expect(() => supersede(brain.store, a, c, "person")).toThrow(refusal("superseded"));
    expect(() => supersede(brain.store, c, a, "person")).toThrow(refusal("superseded"));
    expect(() => supersede(brain.store, b, a, "person")).toThrow(refusal("superseded"));
    expect(() => supersede(brain.store, c, c, "person")).toThrow(refusal("usage"));
    const source = show(brain.store, c);
    if (source.role === "source") throw new Error("a thought was asked for");
    expect(() => supersede(brain.store, c, source.source.id, "person")).toThrow(refusal("usage"));
    expect(() => supersede(brain.store, source.source.id, c, "person")).toThrow(refusal("usage"));
    expect(stateOfBrain()).toEqual(before);
  });

  it.each([
    ["decayed", "decayed", 1, ["decayed", null]],
    ["forgotten", "decayed", 3, ["forgotten", "forgotten"]],
    ["held", "belief", 4, ["held", "held"]],
    ["rejected", "belief", 5, ["tombstone", "tombstone"]],
    ["erased", "erased_by", 1, ["erased", "erased"]],
  ] as const)("refuses a %s thought where it cannot have its say", async (_, axis, to, [asNew, asOld]) => {
    const [sick = "", sound = ""] = await ids("sick", "sound");
    const nodeId = brain.store.thoughts.resolve(sick);
    brain.store.write(() =>
      brain.store.ledger.record({ kind: "decayed", actor: "person", payload: {}, changes: [{ nodeId, axis, to }] }),
    );
    expect(() => supersede(brain.store, sound, sick, "person")).toThrow(refusal(asNew));
    expect(() => contradict(brain.store, sound, sick, "person")).toThrow(refusal(asNew));
    expect(() => confirm(brain.store, sick, "person")).toThrow(refusal(asNew));
    if (asOld === null) expect(supersede(brain.store, sick, sound, "person").changed).toBe(true);
    else expect(() => supersede(brain.store, sick, sound, "person")).toThrow(refusal(asOld));
  });

  it("refuses a thought that stands behind another, and names the survivor", async () => {
    const [copy = "", survivor = "", other = ""] = await ids("copy", "survivor", "other");
    const changes = [
      {
        nodeId: brain.store.thoughts.resolve(copy),
        axis: "merged_into" as const,
        to: brain.store.thoughts.resolve(survivor),
      },
    ];
    brain.store.write(() => brain.store.ledger.record({ kind: "merged", actor: "sleep", payload: {}, changes }));
    const named = expect.objectContaining({ code: "merged", hint: expect.stringContaining(survivor) });
    expect(() => supersede(brain.store, copy, other, "person")).toThrow(named);
    expect(() => supersede(brain.store, other, copy, "person")).toThrow(named);
    expect(() => contradict(brain.store, other, copy, "person")).toThrow(named);
    expect(() => confirm(brain.store, copy, "person")).toThrow(named);
  });

  it("refuses a replacement in a looser scope, for its readers would lose a secret's place", async () => {
    const [secret = "", plain = "", strict = ""] = await ids(
      { content: "secret", scope: "secret" },
      { content: "plain", scope: "work" },
      { content: "strict", scope: "personal" },
    );
    expect(() => supersede(brain.store, secret, plain, "person")).toThrow(refusal("invalid"));
    expect(supersede(brain.store, plain, strict, "person").changed).toBe(true);
  });
});

describe("supersede --undo", () => {
  it("restores the very state and the search results", async () => {
    const [old = "", by = ""] = await ids("The meeting is on Tuesday", "The meeting is on Friday");
    await ids(resting("Leave early on Tuesday", old));
    confirm(brain.store, old, "person");
    const before = stateOfBrain();
    const results = (await resultsOf("meeting on Tuesday")).map(({ id, score }) => ({ id, score }));
    supersede(brain.store, old, by, "person");
    expect(stateOfBrain()).not.toEqual(before);
    const { events } = await expectAudited(brain.store, () =>
      expect(undoSupersede(brain.store, old, "person")).toMatchObject({ changed: true, flagged: 0, cleared: 1 }),
    );
    expect(events).toBeGreaterThan(0);
    expect(beliefOf(old)).toBe("confirmed");
    expect(stateOfBrain()).toEqual(before);
    expect((await resultsOf("meeting on Tuesday")).map(({ id, score }) => ({ id, score }))).toEqual(results);
    expect(undoSupersede(brain.store, old, "person")).toMatchObject({ changed: false, event: null });
  });

  it("leaves stale what rests on another replaced thought, too", async () => {
    const [a = "", b = "", x = "", y = ""] = await ids("a", "b", "x", "y");
    const [both = ""] = await ids(resting("both", a, b));
    const [far = "", onlyA = ""] = await ids(resting("far", both), resting("only a", a));
    supersede(brain.store, a, x, "person");
    supersede(brain.store, b, y, "person");
    expect([both, far, onlyA].map(isStale)).toEqual([true, true, true]);
    await expectAudited(brain.store, () => undoSupersede(brain.store, a, "person"));
    expect([both, far, onlyA].map(isStale)).toEqual([true, true, false]);
    undoSupersede(brain.store, b, "person");
    expect(listed("stale")).toEqual([]);
  });

  it("does not make stale again what was confirmed meanwhile", async () => {
    const [a = "", b = "", x = "", y = ""] = await ids("a", "b", "x", "y");
    const [both = ""] = await ids(resting("both", a, b));
    supersede(brain.store, a, x, "person");
    confirm(brain.store, both, "person");
    supersede(brain.store, b, y, "person");
    expect(isStale(both)).toBe(true);
    undoSupersede(brain.store, b, "person");
    expect(isStale(both)).toBe(false);
  });

  it("agrees with a walk over all legs, whatever is replaced and taken back in whatever order", async () => {
    const step = fc.record({ undo: fc.boolean(), at: fc.nat(7) });
    const edge = fc.tuple(fc.nat(7), fc.nat(7)).filter(([parent, child]) => parent !== child);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(edge, { maxLength: 14 }), fc.array(step, { maxLength: 12 }), async (edges, steps) => {
        run += 1;
        const nodes = await ids(...Array.from({ length: 8 }, (_, index) => `run ${run} thought ${index}`));
        const replacements = await ids(...nodes.map((_, index) => `run ${run} replacement ${index}`));
        for (const [parent, child] of edges) {
          await ids(resting(`run ${run} thought ${child}`, nodes[parent] ?? ""));
        }
        const replaced = new Set<number>();
        for (const { undo, at } of steps) {
          const old = nodes[at] ?? "";
          if (undo) undoSupersede(brain.store, old, "person");
          else supersede(brain.store, old, replacements[at] ?? "", "person");
          if (undo) replaced.delete(at);
          else replaced.add(at);
          expect(nodes.map((id, index) => (isStale(id) ? index : -1)).filter((index) => index >= 0)).toEqual(
            staleByOracle(edges, replaced),
          );
        }
        expect(
          nodes.map((id, index) => (beliefOf(id) === "superseded" ? index : -1)).filter((index) => index >= 0),
        ).toEqual([...replaced].sort((a, b) => a - b));
      }),
      {
        numRuns: 25,
        // 1 was replaced, rests on 0 and bears it: what keeps 0 stale is no reason for 1, but 2 is.
        examples: [
          [
            [
              [1, 0],
              [0, 1],
              [6, 0],
              [2, 0],
            ],
            [6, 1, 2, 6].map((at, index) => ({ undo: index === 3, at })),
          ],
        ],
      },
    );
  });
});

/** Thoughts below any replaced one, other than itself. */
function staleByOracle(edges: readonly (readonly [number, number])[], replaced: ReadonlySet<number>): number[] {
  const stale = new Set<number>();
  for (const root of replaced) {
    const reached = new Set([root]);
    for (let size = 0; size !== reached.size; ) {
      size = reached.size;
      for (const [parent, child] of edges) if (reached.has(parent)) reached.add(child);
    }
    for (const id of reached) if (id !== root) stale.add(id);
  }
  return [...stale].sort((a, b) => a - b);
}

describe("remember --supersedes", () => {
  it("writes the new thought and puts it in the old one's place, in one transaction", async () => {
    const [old = ""] = await ids("Lives in Pune");
    await expectAudited(brain.store, () => brain.remember({ content: "Lives in Goa", supersedes: [old] }));
    expect(beliefOf(old)).toBe("superseded");
    expect(await resultsOf("lives in")).toMatchObject([{ content: "Lives in Goa", replaces: [old] }]);
    const before = stateOfBrain();
    await expect(brain.remember({ content: "Lives in Rome", supersedes: [old] })).rejects.toThrow(
      refusal("superseded"),
    );
    expect(stateOfBrain()).toEqual(before);
  });

  it("keeps the new thought in the old one's scope when that is stricter", async () => {
    const [old = ""] = await ids({ content: "The code is 1234", scope: "secret" });
    const [by = ""] = await ids({ content: "The code is 4321", supersedes: [old] });
    expect(show(brain.store, by)).toMatchObject({ scope: "secret" });
    expect(beliefOf(old)).toBe("superseded");
  });

  it("refuses more than a hundred at once, and one that is not there", async () => {
    const [old = ""] = await ids("old");
    const many = Array.from({ length: 101 }, () => old);
    await expect(brain.remember({ content: "new", supersedes: many })).rejects.toThrow(refusal("invalid"));
    const unknown = brain.remember({ content: "new", supersedes: ["n_0000000000000000"] });
    await expect(unknown).rejects.toThrow(refusal("not_found"));
    expect(await foundBy("new old")).toEqual([old]);
  });

  it("takes the place of several", async () => {
    const [a = "", b = ""] = await ids("Beans by the wall", "Beans by the gate");
    const [by = ""] = await ids({ content: "No beans this year", supersedes: [a, b] });
    expect((await resultsOf("beans"))[0]).toMatchObject({ id: by, replaces: [b, a] });
  });

  it("turns round when the old value is remembered in the new one's place", async () => {
    const [a = ""] = await ids("Lives in Pune");
    const [b = ""] = await ids({ content: "Lives in Goa", supersedes: [a] });
    await expectAudited(brain.store, () => brain.remember({ content: "Lives in Pune", supersedes: [b] }));
    expect([beliefOf(a), beliefOf(b)]).toEqual(["asserted", "superseded"]);
    expect(await resultsOf("lives in")).toMatchObject([{ id: a, replaces: [b] }]);
  });
});

describe("a superseded value that is met again", () => {
  it("is asserted again, its replacement's link ends, and what went stale with it is fresh", async () => {
    const [old = "", by = ""] = await ids("Lives in Pune", "Lives in Goa");
    const [child = ""] = await ids(resting("Needs a coat", old));
    confirm(brain.store, old, "person");
    supersede(brain.store, old, by, "person");
    expect([beliefOf(old), isStale(child)]).toEqual(["superseded", true]);
    const { events } = await expectAudited(brain.store, () => brain.remember("Lives in Pune"));
    expect(events).toBe(3);
    expect([beliefOf(old), isStale(child)]).toEqual(["asserted", false]);
    const results = await resultsOf("lives in");
    expect(results.map(({ id, replaces }) => [id, replaces])).toEqual(
      expect.arrayContaining([
        [old, []],
        [by, []],
      ]),
    );
    expect(supersede(brain.store, old, by, "person").changed).toBe(true);
  });

  it("is disputed when something that contradicted it still does", async () => {
    const [old = "", by = "", other = ""] = await ids("a", "b", "c");
    contradict(brain.store, old, other, "person");
    supersede(brain.store, old, by, "person");
    await brain.remember("a");
    expect([beliefOf(old), beliefOf(by), beliefOf(other)]).toEqual(["disputed", "asserted", "disputed"]);
  });
});

describe("contradict and resolve", () => {
  it("shows both sides as disputed until one is resolved over the other", async () => {
    const [one = "", other = ""] = await ids("The flat costs 1,100", "The flat costs 1,200");
    const [child = ""] = await ids(resting("The flat is too dear", other));
    await expectAudited(brain.store, () => contradict(brain.store, one, other, "person"));
    const results = await resultsOf("flat costs");
    const shown = results
      .filter(({ id }) => id !== child)
      .map(({ id, belief, disputedWith }) => [id, belief, disputedWith]);
    expect(shown).toHaveLength(2);
    expect(shown).toEqual(
      expect.arrayContaining([
        [one, "disputed", [other]],
        [other, "disputed", [one]],
      ]),
    );
    const { text } = await buildContext(brain.store, brain.embedder, ["flat costs"]);
    expect(text).toContain(`| disputed by ${other}`);
    expect(text).toContain(`| disputed by ${one}`);
    expect(listed("disputed")).toEqual(expect.arrayContaining([one, other]));
    expect(contradict(brain.store, other, one, "person").changed).toBe(false);
    await expectAudited(brain.store, () =>
      expect(resolve(brain.store, one, "person")).toMatchObject({
        changed: true,
        flagged: 1,
        beliefs: [
          { id: one, belief: "asserted" },
          { id: other, belief: "superseded" },
        ],
      }),
    );
    expect(isStale(child)).toBe(true);
    expect((await resultsOf("flat costs")).filter(({ id }) => id !== child)).toMatchObject([
      { id: one, belief: "asserted", disputedWith: [], replaces: [other] },
    ]);
    expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
  });

  it("puts the later of two disputed thoughts first when nothing else tells them apart", async () => {
    const at = (day: string) => ({ from: Date.parse(day), to: Date.parse(day) });
    const now = Date.parse("2026-03-02T00:00:00Z");
    const [early = "", late = ""] = await ids(
      { content: "Dinner at seven", referent: at("2019-01-01T00:00:00Z") },
      { content: "Dinner at eight", referent: at("2019-01-02T00:00:00Z") },
    );
    contradict(brain.store, early, late, "person");
    const { results } = await search(brain.store, brain.embedder, "dinner", { now });
    expect(results.map(({ id }) => id)).toEqual([late, early]);
  });

  it("lets both be believed as before with --both", async () => {
    const [one = "", other = ""] = await ids("a", "b");
    confirm(brain.store, one, "person");
    const before = stateOfBrain();
    contradict(brain.store, one, other, "person");
    expect([beliefOf(one), beliefOf(other)]).toEqual(["disputed", "disputed"]);
    await expectAudited(brain.store, () => resolve(brain.store, other, "person", { both: true }));
    expect([beliefOf(one), beliefOf(other)]).toEqual(["confirmed", "asserted"]);
    expect(stateOfBrain()).toEqual(before);
  });

  it("asks which, when several contradict the thought, and stays disputed until the last is settled", async () => {
    const [one = "", two = "", three = ""] = await ids("a", "b", "c");
    contradict(brain.store, one, two, "person");
    contradict(brain.store, three, one, "person");
    expect(() => resolve(brain.store, one, "person")).toThrow(refusal("usage"));
    expect(() => resolve(brain.store, two, "person", { over: three })).toThrow(refusal("undisputed"));
    resolve(brain.store, one, "person", { over: two });
    expect([one, two, three].map(beliefOf)).toEqual(["disputed", "superseded", "disputed"]);
    resolve(brain.store, one, "person");
    expect([one, two, three].map(beliefOf)).toEqual(["asserted", "superseded", "superseded"]);
    expect(() => resolve(brain.store, one, "person")).toThrow(refusal("undisputed"));
  });

  it("settles a dispute with what is out of search for another reason without touching that", async () => {
    const [one = "", other = ""] = await ids("a", "b");
    contradict(brain.store, one, other, "person");
    forget(brain.store, other, "nonsense", "person");
    await expectAudited(brain.store, () => resolve(brain.store, one, "person"));
    expect(beliefOf(one)).toBe("asserted");
    revive(brain.store, other, "person");
    expect(beliefOf(other)).toBe("asserted");
  });

  it("stands again when the resolution is taken back", async () => {
    const [one = "", other = ""] = await ids("a", "b");
    contradict(brain.store, one, other, "person");
    const before = stateOfBrain();
    resolve(brain.store, one, "person", { over: other, reason: "measured it" });
    expect(show(brain.store, other)).toMatchObject({ reason: "measured it" });
    await expectAudited(brain.store, () => undoSupersede(brain.store, other, "person"));
    expect([beliefOf(one), beliefOf(other)]).toEqual(["disputed", "disputed"]);
    const after = stateOfBrain() as { nodes: unknown; links: { type: number }[] };
    expect(after.nodes).toEqual((before as typeof after).nodes);
    expect(after.links).toHaveLength(1);
    resolve(brain.store, other, "person");
    expect([beliefOf(one), beliefOf(other)]).toEqual(["superseded", "asserted"]);
  });

  it("is settled by superseding one side by the other", async () => {
    const [one = "", other = ""] = await ids("a", "b");
    contradict(brain.store, one, other, "person");
    await expectAudited(brain.store, () => supersede(brain.store, one, other, "person"));
    expect([beliefOf(one), beliefOf(other)]).toEqual(["superseded", "asserted"]);
    expect((await resultsOf("b"))[0]).toMatchObject({ id: other, disputedWith: [], replaces: [one] });
  });

  it("does not let a thought contradict itself, or be confirmed while it is disputed", async () => {
    const [one = "", other = ""] = await ids("a", "b");
    expect(() => contradict(brain.store, one, one, "person")).toThrow(refusal("usage"));
    contradict(brain.store, one, other, "person");
    expect(() => confirm(brain.store, one, "person")).toThrow(refusal("disputed"));
  });
});

describe("confirm", () => {
  it("marks the thought and takes its stale flag away, once", async () => {
    const [old = "", by = ""] = await ids("a", "b");
    const [child = ""] = await ids(resting("c", old));
    supersede(brain.store, old, by, "person");
    await expectAudited(brain.store, () =>
      expect(confirm(brain.store, child, "person")).toMatchObject({ changed: true, cleared: 1 }),
    );
    expect([beliefOf(child), isStale(child)]).toEqual(["confirmed", false]);
    expect(confirm(brain.store, child, "person")).toMatchObject({ changed: false, event: null });
    expect(() => confirm(brain.store, old, "person")).toThrow(refusal("superseded"));
  });
});

describe("a session that may not read one side", () => {
  const readOnly = (...scopes: string[]) => {
    brain.store.connection.db
      .prepare("DELETE FROM temp.session_scope WHERE id NOT IN (SELECT value FROM json_each(?))")
      .run(JSON.stringify(scopes.map((name) => brain.store.scopes.idOf(name))));
  };

  it("is not told which thought that is, and cannot decide about it", async () => {
    const [old = "", by = "", open = ""] = await ids(
      { content: "Lives in Pune", scope: "work" },
      { content: "Lives in Goa", scope: "secret" },
      { content: "Works in Goa", scope: "work" },
    );
    supersede(brain.store, old, by, "person");
    contradict(brain.store, open, by, "person");
    const everything = () => [why(brain.store, old), why(brain.store, open), history(brain.store, open)];
    expect(JSON.stringify(everything())).toContain(by);
    expect(await resultsOf("works in goa")).toMatchObject([
      { id: open, disputedWith: [by] },
      { id: by, disputedWith: [open], replaces: [old] },
    ]);
    readOnly("work");
    expect(JSON.stringify(everything())).not.toContain(by);
    expect(await resultsOf("works in goa")).toMatchObject([{ id: open, belief: "disputed", disputedWith: [] }]);
    expect(() => resolve(brain.store, open, "person")).toThrow(refusal("undisputed"));
    expect(() => supersede(brain.store, old, open, "person")).toThrow(
      expect.objectContaining({ code: "superseded", message: expect.not.stringContaining(by) }),
    );
    expect(beliefOf(open)).toBe("disputed");
  });
});

describe("every step", () => {
  it("walks through no whole table, however much the brain holds", async () => {
    const [old = "", by = "", other = "", next = ""] = await ids("a", "b", "c", "d");
    await ids(resting("e", old));
    const plans = plansOf(brain.store, () => {
      contradict(brain.store, old, by, "person");
      supersede(brain.store, old, by, "person");
      why(brain.store, by);
      undoSupersede(brain.store, old, "person");
      resolve(brain.store, old, "person", { both: true });
      contradict(brain.store, old, other, "person");
      resolve(brain.store, old, "person");
      confirm(brain.store, next, "person");
    });
    expect(plans.some(({ sql }) => sql.includes("merged_into = wanted.value"))).toBe(true);
    expect(scansOf(plans)).toEqual([]);
  });
});

describe("how", () => {
  it("goes over supersessions and contradictions", async () => {
    const [a = "", b = "", c = ""] = await ids("a", "b", "c");
    expect(how(brain.store, a, c)).toBeNull();
    supersede(brain.store, a, b, "person");
    contradict(brain.store, b, c, "person");
    expect(how(brain.store, a, c)?.map(({ id, via }) => [id, via])).toEqual([
      [a, null],
      [b, "supersedes (from)"],
      [c, "contradicts"],
    ]);
  });
});
