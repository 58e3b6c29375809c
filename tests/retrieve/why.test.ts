import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RememberInput } from "../../src/core/types.ts";
import { confirm, contradict, supersede } from "../../src/recall/belief.ts";
import { forget } from "../../src/recall/states.ts";
import { type WhyNode, why } from "../../src/retrieve/why.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const ids = async (...inputs: (RememberInput | string)[]) =>
  (await brain.remember(...inputs)).map(({ id }) => id ?? "");

const page = {
  type: "page" as const,
  key: "https://example.org/",
  name: "web:example.org",
  trust: "untrusted" as const,
};

const met = (content: string, key: string): RememberInput => ({
  content,
  occurrence: { source: { type: "session", key, name: key, trust: "trusted" }, recordKey: `${key} ${content}` },
});

const countNodes = (node: WhyNode): number =>
  node.legs.reduce((sum, { parents }) => parents.reduce((inner, parent) => inner + countNodes(parent), sum), 1);

describe("why", () => {
  it("shows the newest 50 legs of a hub and counts the rest", async () => {
    const [hub = ""] = await ids(...Array.from({ length: 120 }, (_, index) => met("yes", `s${index}`)));
    const tree = why(brain.store, hub);
    expect(tree).toMatchObject({ omitted: 70, omittedLegs: 70 });
    expect(tree.legs.map(({ parents }) => parents[0]?.label)).toEqual(
      Array.from({ length: 50 }, (_, index) => `s${70 + index}`),
    );
  });

  it("names at most 2,000 nodes, the nearest first", async () => {
    const leaves = await ids(...Array.from({ length: 50 }, (_, index) => `leaf ${index}`));
    const middle = await ids(
      ...Array.from({ length: 50 }, (_, index) => ({ content: `middle ${index}`, legs: [{ parents: leaves }] })),
    );
    const [top = ""] = await ids({ content: "top", legs: [{ parents: middle }] });
    const tree = why(brain.store, top, 2);
    expect(countNodes(tree)).toBe(2_000);
    const nearest = tree.legs.flatMap(({ parents }) => parents);
    expect(middle.every((id) => nearest.some((node) => node.id === id))).toBe(true);
    const total = nearest.reduce((sum, node) => sum + node.omitted, 0);
    const edges = nearest.reduce(
      (sum, { legs }) => sum + legs.reduce((inner, leg) => inner + leg.parents.length, 0),
      0,
    );
    const stored = nearest.reduce(
      (sum, { id, role }) =>
        sum + (role === "source" ? 0 : brain.store.legs.count(brain.store.thoughts.resolve(id)).parents),
      0,
    );
    expect(total).toBeGreaterThan(0);
    expect(total + edges).toBe(stored);
  });

  it("walks the legs down to the sources", async () => {
    const [base = ""] = await ids({ content: "It rains in Pune", occurrence: { source: page } });
    const [derived = ""] = await ids({ content: "Carry an umbrella", legs: [{ parents: [base] }] });
    const tree = why(brain.store, derived);
    expect(tree).toMatchObject({ id: derived, trust: "untrusted", legs: [{ axiom: false, parents: [{ id: base }] }] });
    const [parent] = tree.legs[0]?.parents ?? [];
    expect(parent?.legs[0]?.parents[0]).toMatchObject({ role: "source", label: "web:example.org", trust: "untrusted" });
  });

  it("stops at the depth and says how much it left out", async () => {
    const [a = ""] = await ids("a");
    const [b = ""] = await ids({ content: "b", legs: [{ parents: [a] }] });
    const [c = ""] = await ids({ content: "c", legs: [{ parents: [b] }] });
    const tree = why(brain.store, c, 1);
    expect(tree.legs[0]?.parents[0]).toMatchObject({ id: b, legs: [], omitted: 1 });
  });

  it("ends a cycle", async () => {
    const [a = ""] = await ids("a");
    const [b = ""] = await ids({ content: "b", legs: [{ parents: [a] }] });
    await ids({ content: "a", legs: [{ parents: [b] }] });
    const tree = why(brain.store, a, 50);
    expect(JSON.stringify(tree)).toContain('"seenBefore":true');
  });

  it.each([0, 51, 1.5])("refuses depth %s", async (depth) => {
    const [a = ""] = await ids("a");
    expect(() => why(brain.store, a, depth)).toThrow(expect.objectContaining({ code: "usage" }));
  });

  it("names what replaced a thought, both ways, and what went stale by it", async () => {
    const [old = "", by = ""] = await ids("Lives in Pune", "Lives in Goa");
    const [child = ""] = await ids({ content: "Needs a coat in January", legs: [{ parents: [old] }] });
    expect(why(brain.store, old)).toMatchObject({ belief: "asserted", supersededBy: [], visible: true });
    const { event } = supersede(brain.store, old, by, "person");
    expect(why(brain.store, old)).toMatchObject({ belief: "superseded", supersededBy: [by], visible: false });
    expect(why(brain.store, by)).toMatchObject({ belief: "asserted", replaces: [old], staleBy: null });
    expect(why(brain.store, child)).toMatchObject({
      staleBy: event,
      visible: true,
      legs: [{ parents: [{ id: old, belief: "superseded", supersededBy: [by] }] }],
    });
    confirm(brain.store, child, "person");
    expect(why(brain.store, child)).toMatchObject({ belief: "confirmed", staleBy: null });
  });

  it("names the other side of a dispute from either side", async () => {
    const [one = "", other = ""] = await ids("The flat costs 1,100", "The flat costs 1,200");
    contradict(brain.store, one, other, "person");
    expect(why(brain.store, one)).toMatchObject({ belief: "disputed", disputedWith: [other] });
    expect(why(brain.store, other)).toMatchObject({ belief: "disputed", disputedWith: [one] });
  });

  it("says which event ended a leg", async () => {
    const [id = ""] = await ids(met("yes", "one"), met("yes", "two"));
    const nodeId = brain.store.thoughts.resolve(id);
    expect(why(brain.store, id).legs.map(({ endedBy }) => endedBy)).toEqual([null, null]);
    const [first] = brain.store.legs.sample(nodeId, 10, 10);
    const seq = brain.store.write(() => brain.store.legs.end(nodeId, [first?.id ?? 0], "person", "source_gone"));
    expect(why(brain.store, id).legs.map(({ endedBy }) => endedBy)).toEqual([`e_${seq}`, null]);
  });

  it("says which parent broke a leg, and by which event", async () => {
    const [base = "", other = ""] = await ids("The forecast says rain", "The sky is grey");
    const [top = ""] = await ids({ content: "Take an umbrella", legs: [{ parents: [base, other] }] });
    expect(why(brain.store, top).legs).toMatchObject([{ broken: [], endedBy: null }]);
    const nodeId = brain.store.thoughts.resolve(base);
    const seq = brain.store.write(() =>
      brain.store.ledger.record({
        kind: "belief.changed",
        actor: "person",
        payload: { node: base },
        changes: [{ nodeId, axis: "belief", to: 5 }],
      }),
    );
    expect(why(brain.store, top).legs).toMatchObject([
      { broken: [{ id: base, because: "rejected", event: `e_${seq}` }], endedBy: null },
    ]);
  });

  it("does not call a leg broken because a parent was forgotten or superseded", async () => {
    const [base = "", by = "", lost = ""] = await ids("base", "by", "lost");
    const [top = ""] = await ids({ content: "top", legs: [{ parents: [base, lost] }] });
    supersede(brain.store, base, by, "person");
    forget(brain.store, lost, "gone", "person");
    expect(why(brain.store, top).legs).toMatchObject([{ broken: [], endedBy: null }]);
  });

  it("names the newest 10 of those that stand behind a survivor and counts all", async () => {
    const [survivor = "", ...copies] = await ids(...Array.from({ length: 13 }, (_, index) => `copy ${index}`));
    const into = brain.store.thoughts.resolve(survivor);
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "merged",
        actor: "sleep",
        payload: {},
        changes: copies.map((id) => ({ nodeId: brain.store.thoughts.resolve(id), axis: "merged_into", to: into })),
      }),
    );
    expect(why(brain.store, survivor).behind).toEqual({ ids: copies.slice(2).reverse(), count: 12 });
    expect(why(brain.store, copies[0] ?? "")).toMatchObject({ mergedInto: survivor, behind: { ids: [], count: 0 } });
  });
});
