import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseReferent } from "../../src/core/referent.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { forget, pin, revive } from "../../src/recall/states.ts";
import { how, list, show } from "../../src/retrieve/inspect.ts";
import { takeCensus } from "../../src/store/census.ts";
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

describe("show", () => {
  it("answers for an unknown id as for a malformed role", () => {
    expect(() => show(brain.store, "n_0000000000000000")).toThrow(expect.objectContaining({ code: "not_found" }));
    expect(() => show(brain.store, "nonsense")).toThrow(expect.objectContaining({ code: "usage" }));
  });

  it("does not answer for a source under a thought's prefix", async () => {
    await ids({ content: "From a page", occurrence: { source: page } });
    const [thought] = list(brain.store, { limit: 1 });
    const sourceId = thought?.source.id ?? "";
    expect(show(brain.store, sourceId)).toMatchObject({
      role: "source",
      type: "page",
      name: "web:example.org",
      trust: "untrusted",
      thoughts: 1,
    });
    expect(() => show(brain.store, sourceId.replace("s_", "n_"))).toThrow(
      expect.objectContaining({ code: "not_found" }),
    );
  });

  it("says when an occurrence's offset is unknown", async () => {
    const [id = ""] = await ids({ content: "The wedding in Porto", referent: parseReferent("2019-06-22") });
    expect(show(brain.store, id)).toMatchObject({ occurrences: [{ said: { floating: true } }] });
  });

  it("gives the reason of a forgetting", async () => {
    const [id = ""] = await ids("A wrong number");
    forget(brain.store, id, "the number changed", "person");
    expect(show(brain.store, id)).toMatchObject({
      reason: "the number changed",
      state: { decayed: "forgotten", visible: false },
    });
  });

  it("gives no reason once the thought is back", async () => {
    const [id = ""] = await ids("A wrong number");
    forget(brain.store, id, "the number changed", "person");
    revive(brain.store, id, "person");
    expect(show(brain.store, id)).toMatchObject({ reason: null, state: { decayed: "none" } });
    forget(brain.store, id, "it changed again", "person");
    expect(show(brain.store, id)).toMatchObject({ reason: "it changed again" });
  });

  it("lists the newest 50 legs and occurrences of a hub and counts all", async () => {
    await ids(...Array.from({ length: 120 }, (_, index) => met("yes", `s${index}`)));
    const [hub] = list(brain.store, { limit: 1 });
    const shown = show(brain.store, hub?.id ?? "");
    if (shown.role === "source") throw new Error("a thought was asked for");
    expect(shown.counts).toEqual({ legs: 120, occurrences: 120, links: 0 });
    expect(shown.legs).toHaveLength(50);
    expect(shown.occurrences.map(({ sourceName }) => sourceName)).toEqual(
      Array.from({ length: 50 }, (_, index) => `s${70 + index}`),
    );
    expect(shown.legs.map(({ parents }) => parents[0])).toEqual(shown.occurrences.map(({ source }) => source));
  });

  it("keeps standing legs and occurrences before newer ended ones", async () => {
    const [id = ""] = await ids(...Array.from({ length: 52 }, (_, index) => met("yes", `s${index}`)));
    const nodeId = brain.store.thoughts.resolve(id);
    const [, ...newer] = brain.store.legs.sample(nodeId, 100, 100).map((leg) => leg.id);
    brain.store.write(() => brain.store.legs.end(nodeId, newer, "person", "source_gone"));
    const shown = show(brain.store, id);
    if (shown.role === "source") throw new Error("a thought was asked for");
    expect(shown.counts.legs).toBe(52);
    expect(shown.legs[0]).toMatchObject({ ended: null });
    expect(shown.occurrences[0]).toMatchObject({ sourceName: "s0", ended: false });
  });

  it("counts links, and parents of a leg, that it does not list", async () => {
    const many = await ids(...Array.from({ length: 60 }, (_, index) => `parent ${index}`));
    const [child = ""] = await ids({ content: "child", legs: [{ parents: many }] });
    const resolve = (id: string) => brain.store.thoughts.resolve(id);
    const links = many.map((id) => ({
      type: "similar" as const,
      fromId: resolve(child),
      toId: resolve(id),
      weight: 9,
    }));
    brain.store.write(() => brain.store.links.add(links, "sleep"));
    const shown = show(brain.store, child);
    if (shown.role === "source") throw new Error("a thought was asked for");
    expect(shown.counts.links).toBe(60);
    expect(shown.links).toHaveLength(50);
    const leg = shown.legs.find(({ parents }) => parents.length > 1);
    expect(leg).toMatchObject({ omitted: 10 });
    expect(leg?.parents).toHaveLength(50);
  });
});

const met = (content: string, key: string): RememberInput => ({
  content,
  occurrence: { source: { type: "session", key, name: key, trust: "trusted" }, recordKey: `${key} ${content}` },
});

describe("how", () => {
  it("finds the shortest path over legs, links and sequence", async () => {
    const turn = (content: string, record: string): RememberInput => ({
      content,
      occurrence: { source: { type: "session", key: "s", name: "s", trust: "trusted" }, recordKey: record },
    });
    const [one = "", two = "", three = ""] = await ids(turn("one", "1"), turn("two", "2"), turn("three", "3"));
    const [derived = ""] = await ids({ content: "derived from three", legs: [{ parents: [three] }] });
    expect(how(brain.store, two, derived)?.map(({ id }) => id)).toEqual([two, three, derived]);
    expect(how(brain.store, one, one)?.map(({ id }) => id)).toEqual([one]);
  });

  it("is null between the unconnected", async () => {
    const [a = "", b = ""] = await ids("a", "b");
    expect(how(brain.store, a, b)).toBeNull();
  });

  it("does not follow a derivation that ended", async () => {
    const [base = ""] = await ids(met("base", "one"));
    const [derived = ""] = await ids({ content: "derived", legs: [{ parents: [base] }] });
    const nodeId = brain.store.thoughts.resolve(derived);
    const baseId = brain.store.thoughts.resolve(base);
    expect(how(brain.store, base, derived)).toHaveLength(2);
    const ended = brain.store.legs.sample(nodeId, 100, 100).filter(({ parentIds }) => parentIds.includes(baseId));
    const legIds = ended.map(({ id }) => id);
    brain.store.write(() => brain.store.legs.end(nodeId, legIds, "person", "source_gone"));
    expect(how(brain.store, base, derived)).toBeNull();
    expect(how(brain.store, derived, base)).toBeNull();
  });

  it("connects two thoughts of a source with many, either way round", async () => {
    const many = await ids(
      ...Array.from({ length: 60 }, (_, index) => ({ content: `t${index}`, occurrence: { source: page } })),
    );
    const [first = "", last = ""] = [many[0], many[59]];
    const there = how(brain.store, first, last);
    expect(there).toMatchObject([
      { id: first, via: null },
      { label: "web:example.org", via: "rests on" },
      { id: last, via: "supports" },
    ]);
    expect(how(brain.store, last, first)?.map(({ id }) => id)).toEqual(there?.map(({ id }) => id).reverse());
  });

  it("agrees with a search over all edges where no node is a hub, and is the same both ways", async () => {
    const edge = fc.tuple(fc.nat(19), fc.nat(19)).filter(([a, b]) => a !== b);
    const nodes = (await ids(...Array.from({ length: 20 }, (_, index) => met(`t${index}`, `s${index}`)))).map((id) => ({
      id,
      nodeId: brain.store.thoughts.resolve(id),
    }));
    const { store } = brain;
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 30 }), fc.nat(19), fc.nat(19), (edges, a, b) => {
        store.write(() => {
          for (const { nodeId } of nodes) store.links.end(store.links.of(nodeId, 100), "sleep");
          const link = ([from, to]: [number, number]) => ({
            type: "similar" as const,
            fromId: nodes[from]?.nodeId ?? 0,
            toId: nodes[to]?.nodeId ?? 0,
            weight: 1,
          });
          store.links.add(edges.map(link), "sleep");
        });
        const there = how(store, nodes[a]?.id ?? "", nodes[b]?.id ?? "");
        const back = how(store, nodes[b]?.id ?? "", nodes[a]?.id ?? "");
        expect(there?.length ?? null).toBe(shortest(edges, a, b));
        expect(back?.map(({ id }) => id).reverse()).toEqual(there?.map(({ id }) => id));
      }),
      { numRuns: 60 },
    );
  });
});

/** Nodes on a shortest path over undirected edges, by widening a set; null when there is none. */
function shortest(edges: readonly (readonly [number, number])[], from: number, to: number): number | null {
  const reached = new Set([from]);
  for (let length = 1; ; length++) {
    if (reached.has(to)) return length;
    const next = edges.flatMap(([a, b]) => [...(reached.has(a) ? [b] : []), ...(reached.has(b) ? [a] : [])]);
    const size = reached.size;
    for (const node of next) reached.add(node);
    if (reached.size === size) return null;
  }
}

describe("list and stats", () => {
  it("list by state, kind, domain and tag, newest first", async () => {
    const [a = "", b = "", c = ""] = await ids(
      { content: "a", kind: "decision", domain: "work" },
      { content: "b", tags: ["x"] },
      "c",
    );
    forget(brain.store, b, "r", "person");
    pin(brain.store, c, "person");
    const listed = (filter: object) => list(brain.store, { limit: 10, ...filter }).map(({ id }) => id);
    expect(listed({})).toEqual([c, a]);
    expect(listed({ state: "all" })).toEqual([c, b, a]);
    expect(listed({ state: "forgotten", tags: ["x"] })).toEqual([b]);
    expect(listed({ state: "pinned" })).toEqual([c]);
    expect(listed({ kinds: ["Decision"], domains: ["WORK"] })).toEqual([a]);
    expect(listed({ kinds: ["unheard of"] })).toEqual([]);
    expect(list(brain.store, { limit: 1 })).toHaveLength(1);
  });

  it("stats count what is there, by state", async () => {
    const [a = "", b = ""] = await ids({ content: "a", kind: "decision" }, "b", "c");
    forget(brain.store, a, "r", "person");
    pin(brain.store, b, "person");
    expect(takeCensus(brain.store)).toMatchObject({
      thoughts: 3,
      visible: 2,
      sources: 1,
      states: { decayed: 1, forgotten: 1, pinned: 1, merged: 0 },
      kinds: { fact: 2 },
      legs: 3,
      vectors: { model: "test-hash", count: 3 },
    });
  });
});
