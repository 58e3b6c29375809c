import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RememberInput } from "../../src/core/types.ts";
import { confirm, contradict, supersede, undoSupersede } from "../../src/recall/belief.ts";
import { forget, pin, revive } from "../../src/recall/states.ts";
import { type HistoryEntry, history } from "../../src/retrieve/history.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { plansOf, scansOf } from "../support/plans.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const ids = async (...inputs: (RememberInput | string)[]) =>
  (await brain.remember(...inputs)).map(({ id }) => id ?? "");
const met = (content: string, key: string): RememberInput => ({
  content,
  occurrence: { source: { type: "session", key, name: key, trust: "trusted" }, recordKey: `${key} ${content}` },
});
const changesOf = (entries: readonly HistoryEntry[]) =>
  entries.flatMap(({ changes }) => changes.map(({ what, from, to }) => `${what}: ${from} → ${to}`));

/** Ascending ids as varints of their distances. */
function listOf(publicIds: readonly string[]): Buffer {
  const bytes: number[] = [];
  let last = 0;
  for (const id of publicIds.map((publicId) => brain.store.thoughts.resolve(publicId)).sort((a, b) => a - b)) {
    let delta = id - last;
    for (; delta >= 128; delta = Math.floor(delta / 128)) bytes.push((delta % 128) | 128);
    bytes.push(delta);
    last = id;
  }
  return Buffer.from(bytes);
}

describe("history", () => {
  it("tells every change of a thought from what to what, the latest last, with the reason given", async () => {
    const [id = "", by = ""] = await ids("Lives in Pune", "Lives in Goa");
    pin(brain.store, id, "person");
    forget(brain.store, id, "moved house", "agent");
    brain.clock.advance(1_000);
    revive(brain.store, id, "person");
    await brain.remember({ content: "Lives in Pune", kind: "belief", due: Date.parse("2026-05-01T00:00:00Z") });
    const { event } = supersede(brain.store, id, by, "person", { reason: "told so" });
    const entries = history(brain.store, id);
    expect(entries.map(({ kind }) => kind)).toEqual([
      "thought.created",
      "permanence.changed",
      "decayed",
      "revived",
      "thought.reinforced",
      "belief.changed",
      "link.added",
    ]);
    expect(changesOf(entries)).toEqual([
      "permanence: none → pinned",
      "decayed: none → forgotten",
      "decayed: forgotten → none",
      "kind: fact → belief",
      "due: null → 2026-05-01T00:00:00.000Z",
      "belief: asserted → superseded",
    ]);
    expect(entries.map(({ reason }) => reason)).toEqual([null, null, "moved house", null, null, "told so", null]);
    expect(entries.map(({ actor }) => actor)).toEqual(["person", "person", "agent", ...Array(4).fill("person")]);
    expect(entries.at(-2)?.event).toBe(event);
    expect(entries.at(-1)?.links).toEqual([{ type: "supersedes", direction: "from", id: by, ended: false }]);
    expect(Date.parse(entries.at(-1)?.at ?? "")).toBe(Date.parse(entries[0]?.at ?? "") + 1_000);
  });

  it("tells where it was met, which legs came and which ended", async () => {
    const [id = ""] = await ids(met("yes", "one"));
    await ids(met("yes", "two"));
    const [parent = ""] = await ids("a reason");
    await ids({ content: "yes", legs: [{ parents: [parent] }] });
    const nodeId = brain.store.thoughts.resolve(id);
    const [first] = brain.store.legs.sample(nodeId, 10, 10);
    brain.store.write(() => brain.store.legs.end(nodeId, [first?.id ?? 0], "extractor", "source_gone"));
    const [created, met2, rested, ended] = history(brain.store, id);
    expect(created).toMatchObject({
      metIn: [{ name: "one" }],
      legsAdded: [{ axiom: false, omitted: 0 }],
      goneFrom: [],
    });
    expect(met2).toMatchObject({ metIn: [{ name: "two" }], legsAdded: [{ parents: [expect.stringMatching(/^s_/)] }] });
    expect(rested).toMatchObject({ metIn: [{ name: "you" }], legsAdded: [{ parents: [parent] }] });
    expect(ended).toMatchObject({ kind: "leg.ended", goneFrom: [{ name: "one" }], legsEnded: [{ axiom: false }] });
    expect(ended?.legsEnded[0]?.parents).toEqual(created?.legsAdded[0]?.parents);
  });

  it("tells when a thought went stale, by which event, and when it was confirmed", async () => {
    const [old = "", by = ""] = await ids("a", "b");
    const [child = ""] = await ids({ content: "c", legs: [{ parents: [old] }] });
    const { event } = supersede(brain.store, old, by, "person");
    confirm(brain.store, child, "person");
    expect(changesOf(history(brain.store, child))).toEqual([
      `stale by: null → ${event}`,
      "belief: asserted → confirmed",
      `stale by: ${event} → null`,
    ]);
  });

  it("tells links that ended as well as those that began", async () => {
    const [a = "", b = "", c = ""] = await ids("a", "b", "c");
    contradict(brain.store, a, c, "person");
    supersede(brain.store, a, b, "person");
    undoSupersede(brain.store, a, "person");
    const links = history(brain.store, a).flatMap((entry) => entry.links);
    expect(links).toEqual([
      { type: "contradicts", direction: "to", id: c, ended: false },
      { type: "supersedes", direction: "from", id: b, ended: false },
      { type: "supersedes", direction: "from", id: b, ended: true },
    ]);
    expect(history(brain.store, b).flatMap((entry) => entry.links.map(({ direction }) => direction))).toEqual([
      "to",
      "to",
    ]);
  });

  it("tells which recalls took it and which gave it back, and nothing of those that left it alone", async () => {
    const many = await ids(...Array.from({ length: 400 }, (_, index) => `thought ${index}`));
    const [before = "", id = "", after = ""] = [many[100], many[300], many[399]];
    const record = (removed: readonly string[], restored: readonly string[], released: readonly string[] = []) =>
      brain.store.write(() => {
        const seq = brain.store.ledger.record({ kind: "decayed", actor: "person", payload: {} });
        brain.store.connection
          .sql(
            "INSERT INTO recall_effect (event_seq, removed, restored, released, materialised) VALUES (?, ?, ?, ?, 1)",
          )
          .run(seq, listOf(removed), listOf(restored), listOf(released));
        return `e_${seq}`;
      });
    const taken = record([before, id, after], []);
    record([before, after], []);
    const given = record([], [id]);
    const out = record([before], [], [id, after]);
    const told = history(brain.store, id).map(({ event, recall }) => [event, recall]);
    expect(told.slice(1)).toEqual([
      [taken, "taken"],
      [given, "given back"],
      [out, "brought out"],
    ]);
    expect(history(brain.store, many[0] ?? "")).toHaveLength(1);
  });

  it("gives the newest events of a hub, up to the limit", async () => {
    const [hub = ""] = await ids(...Array.from({ length: 120 }, (_, index) => met("yes", `s${index}`)));
    const names = (limit?: number) =>
      history(brain.store, hub, limit === undefined ? {} : { limit }).flatMap((entry) =>
        entry.metIn.map(({ name }) => name),
      );
    expect(names(3)).toEqual(["s117", "s118", "s119"]);
    expect(names()).toHaveLength(50);
    expect(names(1_000)).toHaveLength(120);
    expect(names(1_000)[0]).toBe("s0");
  });

  it("has nothing to do with what happened to others", async () => {
    const [a = "", b = ""] = await ids("a", "b");
    forget(brain.store, b, "r", "person");
    expect(history(brain.store, b)).toHaveLength(2);
    expect(history(brain.store, a).map(({ kind }) => kind)).toEqual(["thought.created"]);
  });

  it("tells of a source, too", async () => {
    const [id = ""] = await ids(met("yes", "one"));
    const sourceId = brain.store.thoughts.detail(brain.store.thoughts.resolve(id)).source.id;
    expect(history(brain.store, sourceId)).toMatchObject([{ kind: "source.created", metIn: [], legsAdded: [] }]);
  });

  it("walks through no whole table, however much the brain holds", async () => {
    const [a = "", b = ""] = await ids("a", "b");
    supersede(brain.store, a, b, "person");
    const plans = plansOf(brain.store, () => history(brain.store, a));
    expect(plans.some(({ lines }) => lines.some((line) => line.includes("link_ended_outgoing")))).toBe(true);
    expect(scansOf(plans)).toEqual([]);
    expect(scansOf(plansOf(brain.store, () => brain.store.connection.sql("SELECT weight FROM link")))).toHaveLength(1);
  });

  it.each([0, 1.5, 10_001])("refuses the limit %s, and an unknown id", async (limit) => {
    const [a = ""] = await ids("a");
    expect(() => history(brain.store, a, { limit })).toThrow(expect.objectContaining({ code: "usage" }));
    expect(() => history(brain.store, "n_0000000000000000")).toThrow(expect.objectContaining({ code: "not_found" }));
  });
});
