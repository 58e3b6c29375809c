import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import type { RememberInput, SourceInput } from "../../src/core/types.ts";
import { forget, revive } from "../../src/recall/states.ts";
import { rememberOne } from "../../src/remember/remember.ts";
import { show } from "../../src/retrieve/inspect.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const session = (key: string, trust: SourceInput["trust"] = "trusted"): SourceInput => ({
  type: "session",
  key,
  name: `session ${key}`,
  trust,
});

const said = (content: string, key: string, record: string, speaker = "Ada"): RememberInput => ({
  content,
  speaker,
  occurrence: { source: session(key), recordKey: record },
});

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const inspect = (id: string | null | undefined) => {
  const shown = show(brain.store, id ?? "");
  if (shown.role !== "thought") throw new Error("expected a thought");
  return shown;
};

describe("remember", () => {
  it("keeps a person's statement as an axiom with the person as its source", async () => {
    const [result] = await brain.remember("The bakery closes at six.");
    expect(result?.status).toBe("created");
    expect(inspect(result?.id)).toMatchObject({
      content: "The bakery closes at six.",
      kind: "fact",
      scope: "personal",
      trust: "trusted",
      source: { name: "you", trust: "trusted" },
      legs: [{ axiom: true, parents: [] }],
    });
  });

  it("sets and shows every attribute", async () => {
    const at = Date.UTC(2026, 0, 5);
    const [result] = await brain.remember({
      content: "Ada moves to Lisbon.",
      kind: "decision",
      domain: "home",
      scope: "secret",
      tags: ["move", "lisbon"],
      basis: "inferred",
      confidence: 80,
      salience: 90,
      aspects: ["episodic", "prospective"],
      facets: [{ name: "city", value: "Lisbon" }],
      subjects: ["person-1"],
      referent: { from: at, to: at },
      valid: { from: at, to: null },
      due: at + MS_PER_DAY,
    });
    expect(inspect(result?.id)).toMatchObject({
      kind: "decision",
      domain: "home",
      scope: "secret",
      tags: ["move", "lisbon"],
      basis: "inferred",
      confidence: 80,
      salience: 90,
      aspects: ["episodic", "prospective"],
      facets: [{ name: "city", value: "Lisbon" }],
      subjects: ["person-1"],
      referent: { from: "2026-01-05T00:00:00.000Z", to: "2026-01-05T00:00:00.000Z" },
      valid: { from: "2026-01-05T00:00:00.000Z", to: null },
      due: "2026-01-06T00:00:00.000Z",
    });
  });

  it("gives the same value another occurrence instead of another node", async () => {
    const [first] = await brain.remember(said("I went running", "monday", "r1"));
    const [second] = await brain.remember(said("I went   running ", "tuesday", "r2"));
    expect(second).toEqual({ id: first?.id, status: "reinforced" });
    const { occurrences, legs } = inspect(first?.id);
    expect(occurrences.map(({ sourceName }) => sourceName)).toEqual(["session monday", "session tuesday"]);
    expect(legs).toHaveLength(2);
  });

  it("keeps two people's yes apart, and one person's yes in capital letters too", async () => {
    const results = await brain.remember(
      said("yes", "a", "1", "Ada"),
      said("yes", "a", "2", "Bob"),
      said("Yes", "a", "3", "Ada"),
    );
    expect(new Set(results.map(({ id }) => id)).size).toBe(3);
  });

  it("takes a speaker written with blanks around the name for the same one", async () => {
    const [first, second] = await brain.remember(said("no", "a", "1", "Ada"), said("no", "a", "2", " Ada "));
    expect(second).toEqual({ id: first?.id, status: "reinforced" });
  });

  it("keeps both neighbours of a turn that was said on two days", async () => {
    const results = await brain.remember(
      said("Morning!", "monday", "m1"),
      said("I went running", "monday", "m2"),
      said("Good night", "tuesday", "t1"),
      said("I went running", "tuesday", "t2"),
    );
    const [morning, running, night] = results.map(({ id }) => id);
    expect(inspect(running).occurrences.map(({ previous }) => previous)).toEqual([morning, night]);
  });

  it("takes a record that was met before for known, from whatever source", async () => {
    const [first] = await brain.remember(said("A turn", "file-1", "uuid-1"));
    const [again] = await brain.remember(said("A turn", "file-2", "uuid-1"));
    expect(again).toEqual({ id: first?.id, status: "known" });
    expect(inspect(first?.id).occurrences).toHaveLength(1);
  });

  it("treats the same record id with another text as another record", async () => {
    await brain.remember(said("A turn", "file-1", "uuid-1"));
    const [other] = await brain.remember(said("An edited turn", "file-1", "uuid-1"));
    expect(other?.status).toBe("created");
  });

  it("revives a decayed thought met in a new source, not in the same one", async () => {
    const [first] = await brain.remember(said("The key is under the mat", "s1", "1"));
    const nodeId = brain.store.thoughts.resolve(first?.id ?? "");
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "decayed",
        actor: "sleep",
        payload: {},
        changes: [{ nodeId, axis: "decayed", to: 1 }],
      }),
    );
    const [same] = await brain.remember(said("The key is under the mat", "s1", "2"));
    expect(same?.status).toBe("known");
    expect(inspect(first?.id).state.decayed).toBe("disuse");
    const [other] = await brain.remember(said("The key is under the mat", "s2", "3"));
    expect(other?.status).toBe("revived");
    expect(inspect(first?.id).state).toMatchObject({ decayed: "none", visible: true });
  });

  it("leaves a forgotten thought forgotten until a person revives it", async () => {
    const [first] = await brain.remember(said("An old grudge", "s1", "1"));
    forget(brain.store, first?.id ?? "", "over it", "person");
    const [again] = await brain.remember(said("An old grudge", "s2", "2"));
    expect(again).toMatchObject({ status: "refused", reason: "forgotten" });
    await expect(
      rememberOne(brain.store, brain.embedder, said("An old grudge", "s3", "3"), { actor: "person" }),
    ).rejects.toMatchObject({ code: "forgotten" });
    revive(brain.store, first?.id ?? "", "person");
    const [after] = await brain.remember(said("An old grudge", "s2", "2"));
    expect(after?.status).toBe("reinforced");
  });

  it("refuses a tombstoned value whoever writes it, and counts the arrival", async () => {
    const { store } = brain;
    const valueKey = store.digest("value", "Ada", "A false rumour");
    store.write(() => store.tombstones.add(store.scopes.idOf("personal"), valueKey, "person"));
    const [result] = await brain.remember(said("A false rumour", "s1", "1"));
    expect(result).toEqual({ id: null, status: "refused", reason: "tombstone" });
    const refused = store.connection.sql<{ count: number }>("SELECT count FROM refusal").all();
    expect(refused).toEqual([{ count: 1 }]);
    const [elsewhere] = await brain.remember({ ...said("A false rumour", "s1", "2"), scope: "work" });
    expect(elsewhere?.status).toBe("created");
  });

  it("rests a thought on its legs and gives it their worst trust and strictest scope", async () => {
    const [secret] = await brain.remember({ content: "Pin code is safe with Bob", scope: "secret" });
    const [page] = await brain.remember({
      content: "Banks open at nine",
      scope: "work",
      occurrence: { source: { type: "page", key: "p", name: "web:bank", trust: "untrusted" } },
    });
    const [derived] = await brain.remember({
      content: "Ask Bob at nine",
      scope: "public",
      legs: [{ parents: [secret?.id ?? "", page?.id ?? ""] }],
    });
    expect(inspect(derived?.id)).toMatchObject({ scope: "secret", trust: "untrusted" });
    const [better] = await brain.remember({
      content: "Ask Bob at nine",
      scope: "secret",
      legs: [{ parents: [secret?.id ?? ""] }],
    });
    expect(better).toEqual({ id: derived?.id, status: "reinforced" });
    expect(inspect(derived?.id)).toMatchObject({ trust: "trusted" });
  });

  it("refuses a leg that cites a dead node", async () => {
    const [fact] = await brain.remember("Something shaky");
    const nodeId = brain.store.thoughts.resolve(fact?.id ?? "");
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "belief.changed",
        actor: "person",
        payload: {},
        changes: [{ nodeId, axis: "belief", to: 5 }],
      }),
    );
    const [derived] = await brain.remember({ content: "A conclusion", legs: [{ parents: [fact?.id ?? ""] }] });
    expect(derived).toMatchObject({ status: "refused", reason: "dead_source" });
  });

  it("refuses a place that is taken and writes nothing", async () => {
    const at = (content: string) => ({ content, occurrence: { source: session("s"), ordinal: 5 } });
    await brain.remember(at("first"));
    const before = brain.store.ledger.head();
    await expect(brain.remember(at("second"))).rejects.toMatchObject({ code: "invalid" });
    expect(brain.store.ledger.head()).toEqual(before);
  });

  it("refuses a leg of a thought on itself and writes nothing", async () => {
    const [first] = await brain.remember("A circle");
    const before = brain.store.ledger.head();
    await expect(brain.remember({ content: "A circle", legs: [{ parents: [first?.id ?? ""] }] })).rejects.toMatchObject(
      {
        code: "invalid",
      },
    );
    expect(brain.store.ledger.head()).toEqual(before);
  });

  it("adds a subject that is named later, so that everything about it is found", async () => {
    const [first] = await brain.remember({ content: "Moves house in May", subjects: ["person-1"] });
    await brain.remember({ content: "Moves house in May", subjects: ["person-1", "person-2"] });
    expect(inspect(first?.id).subjects).toEqual(["person-1", "person-2"]);
  });

  it("takes tags and legs given twice for one", async () => {
    const [first] = await brain.remember("A base");
    const id = first?.id ?? "";
    const derived = { content: "Derived", tags: ["x", "X"], legs: [{ parents: [id] }, { parents: [id, id] }] };
    const [created] = await brain.remember(derived);
    await brain.remember({ ...derived, tags: ["y", "Y"] });
    expect(inspect(created?.id)).toMatchObject({ tags: ["x", "y"], legs: [{ parents: [id] }] });
  });

  it("rests a thought with legs on the source it was met in as well", async () => {
    const [fact] = await brain.remember("A trusted fact");
    const [result] = await brain.remember({
      content: "What a page made of it",
      legs: [{ parents: [fact?.id ?? ""] }],
      occurrence: { source: { type: "page", key: "p", name: "web:evil", trust: "untrusted" } },
    });
    expect(inspect(result?.id)).toMatchObject({ trust: "untrusted", source: { name: "web:evil" } });
    expect(inspect(result?.id).legs[0]?.parents).toHaveLength(2);
  });

  it("revives the survivor of a merged value with it, and refuses when that was forgotten", async () => {
    const { store } = brain;
    const [survivor, twin] = await brain.remember(
      said("The gate is green", "s1", "1"),
      said("the gate is green!", "s1", "2"),
    );
    const ids = [survivor, twin].map((result) => store.thoughts.resolve(result?.id ?? ""));
    const [survivorId = 0, twinId = 0] = ids;
    store.write(() =>
      store.ledger.record({
        kind: "merged",
        actor: "sleep",
        payload: {},
        changes: [{ nodeId: twinId, axis: "merged_into", to: survivorId }],
      }),
    );
    store.write(() =>
      store.ledger.record({
        kind: "decayed",
        actor: "sleep",
        payload: {},
        changes: ids.map((nodeId) => ({ nodeId, axis: "decayed" as const, to: 1 })),
      }),
    );
    const [again] = await brain.remember(said("the gate is green!", "s2", "3"));
    expect(again).toEqual({ id: survivor?.id, status: "revived" });
    expect(inspect(survivor?.id).state.visible).toBe(true);
    forget(store, survivor?.id ?? "", "wrong", "person");
    const [refused] = await brain.remember(said("the gate is green!", "s3", "4"));
    expect(refused).toEqual({ id: survivor?.id, status: "refused", reason: "forgotten" });
  });

  it("meets a value for the thousandth time as it did for the tenth", async () => {
    const { store } = brain;
    const yes = (record: number) => said("yes", "s", String(record));
    await brain.remember(...Array.from({ length: 1_000 }, (_, index) => yes(index)));
    const plans = [
      "SELECT max(ordinal) AS last FROM occurrence WHERE source_id = 1 AND ended_seq IS NULL",
      "SELECT 1 FROM occurrence WHERE record_digest = x'00'",
    ].map((sql) => JSON.stringify(store.connection.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()));
    for (const plan of plans) expect(plan).toMatch(/SEARCH occurrence USING (?:COVERING )?INDEX/);
    const [last] = await brain.remember(yes(1_000));
    expect(last?.status).toBe("reinforced");
  });

  it("sets explicit attributes of a known value by an event and leaves the others", async () => {
    const [first] = await brain.remember({ content: "Renew the passport", kind: "observation", confidence: 30 });
    await brain.remember({ content: "Renew the passport", kind: "commitment", due: Date.UTC(2026, 5, 1) });
    expect(inspect(first?.id)).toMatchObject({
      kind: "commitment",
      due: "2026-06-01T00:00:00.000Z",
      confidence: 30,
    });
  });

  it.each([
    ["blank", { content: " \n\t " }, "empty"],
    ["too long", { content: "x".repeat(20_001) }, "too_long"],
    ["a NUL", { content: "a\u0000b" }, "invalid"],
    ["confidence above 100", { content: "a", confidence: 101 }, "usage"],
    ["half a salience", { content: "a", salience: 0.5 }, "usage"],
    ["an unknown scope", { content: "a", scope: "nowhere" }, "unknown_scope"],
    ["an empty tag", { content: "a", tags: [" "] }, "invalid"],
    ["a leg without parents", { content: "a", legs: [{ parents: [] }] }, "invalid"],
    ["a due time beyond every date", { content: "a", due: -9e15 }, "bad_time"],
    ["a fraction of a millisecond", { content: "a", due: 1.5 }, "bad_time"],
    [
      "a source without a name",
      {
        content: "a",
        occurrence: { source: { type: "named" as const, key: "k", name: " ", trust: "unknown" as const } },
      },
      "invalid",
    ],
    ["an interval that ends before it begins", { content: "a", valid: { from: 2, to: 1 } }, "bad_time"],
    ["a leg of an unknown node", { content: "a", legs: [{ parents: ["n_0000000000000000"] }] }, "not_found"],
  ])("refuses %s and writes nothing", async (_, input, code) => {
    const before = brain.store.ledger.head();
    await expect(brain.remember("a good one first", input)).rejects.toMatchObject({ code });
    expect(brain.store.ledger.head()).toEqual(before);
  });

  it("writes all of a batch or nothing, with what runs alongside", async () => {
    const { rememberAll } = await import("../../src/remember/remember.ts");
    const before = brain.store.ledger.head();
    await expect(
      rememberAll(brain.store, brain.embedder, [{ content: "one" }, { content: "two" }], {
        actor: "person",
        alongside: () => {
          throw new Error("the cursor could not be saved");
        },
      }),
    ).rejects.toThrow("the cursor could not be saved");
    expect(brain.store.ledger.head()).toEqual(before);
    expect(brain.store.fullText.totals().documents).toBe(0);
    const [result] = await brain.remember("one");
    expect(result?.status).toBe("created");
  });

  it("embeds a value once however often it comes", async () => {
    await brain.remember("same", "same", "other");
    await brain.remember("same");
    const rows = brain.store.vectors.count();
    expect(rows).toBe(2);
  });
});
