import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RememberInput } from "../../src/core/types.ts";
import { forget, pin } from "../../src/recall/states.ts";
import { how, list, show, why } from "../../src/retrieve/inspect.ts";
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

  it("gives the reason of a forgetting", async () => {
    const [id = ""] = await ids("A wrong number");
    forget(brain.store, id, "the number changed", "person");
    expect(show(brain.store, id)).toMatchObject({
      reason: "the number changed",
      state: { decayed: "forgotten", visible: false },
    });
  });
});

describe("why", () => {
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
});

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
