import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { matchName } from "../../src/core/name-pattern.ts";
import type { LegInput, SourceInput, Trust } from "../../src/core/types.ts";
import { TRUST_LEVELS } from "../../src/core/types.ts";
import { recall, unrecall } from "../../src/recall/recall.ts";
import { listSources, setTrust } from "../../src/recall/trust.ts";
import { carryTrust } from "../../src/remember/carry-trust.ts";
import { buildContext } from "../../src/retrieve/context.ts";
import { search } from "../../src/retrieve/search.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { plansOf, scansOf } from "../support/plans.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const source = (name: string, trust: Trust = "trusted"): SourceInput => ({ type: "page", key: name, name, trust });

async function remember(content: string, ...legs: LegInput["parents"][]): Promise<string> {
  const [result] = await brain.remember({ content, legs: legs.map((parents) => ({ parents })) });
  return result?.id ?? "";
}

const nodeOf = (id: string) => brain.store.thoughts.resolve(id);
const trustOf = (...ids: string[]) => ids.map((id) => TRUST_LEVELS[brain.store.thoughts.state(nodeOf(id)).trust]);
const sourceId = (name: string) => brain.store.thoughts.publicId(brain.store.sources.find("page", name) ?? 0);
const set = (name: string, trust: Trust) => setTrust(brain.store, { ids: [sourceId(name)] }, trust, "person");
const expectSound = () => expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);

describe("the trust of a thought", () => {
  it("is the best of its legs, each of which is worth its worst parent", async () => {
    const good = await remember("good", [source("good")]);
    const bad = await remember("bad", [source("bad", "untrusted")]);
    expect(trustOf(good, bad)).toEqual(["trusted", "untrusted"]);
    const both = await remember("both together", [good, bad]);
    const either = await remember("either of them", [good], [bad]);
    expect(trustOf(both, either)).toEqual(["untrusted", "trusted"]);
  });

  it("follows its sources down the legs, and back", async () => {
    const claim = await remember("rain is coming", [source("weather")]);
    const advice = await remember("take an umbrella", [claim]);
    const held = await remember("the roof leaks", [claim], [source("roofer")]);
    expect(trustOf(claim, advice, held)).toEqual(["trusted", "trusted", "trusted"]);
    const { changedRows } = await expectAudited(brain.store, () => set("weather", "untrusted"));
    expect(changedRows).toBeGreaterThan(0);
    expect(trustOf(claim, advice, held)).toEqual(["untrusted", "untrusted", "trusted"]);
    expect(brain.store.ledger.list({ limit: 2 }).map(({ kind }) => kind)).toEqual(["trust.carried", "trust.set"]);
    expect(set("weather", "trusted")).toMatchObject({ sources: 1, thoughts: 2, changed: [{ from: "untrusted" }] });
    expect(trustOf(claim, advice, held)).toEqual(["trusted", "trusted", "trusted"]);
    expectSound();
  });

  it("comes to what rests on a thought when the thought is met in a better source", async () => {
    const claim = await remember("beans need soaking", [source("forum", "untrusted")]);
    const plan = await remember("soak them tonight", [claim]);
    expect(trustOf(claim, plan)).toEqual(["untrusted", "untrusted"]);
    await remember("beans need soaking", [source("cookbook")]);
    expect(trustOf(claim, plan)).toEqual(["trusted", "trusted"]);
    expectSound();
  });

  it("is that of the page alone which says it again after the trusted note dropped it", async () => {
    const { store } = brain;
    const claim = await remember("the well has clean water", [source("note")]);
    const plan = await remember("drink from the well", [claim]);
    const leg = store.legs.find(nodeOf(claim), { axiom: false, parentIds: [store.sources.find("page", "note") ?? 0] });
    store.write(() => store.legs.end(nodeOf(claim), [leg ?? 0], "extractor", "source_gone"));
    expect(trustOf(claim, plan)).toEqual(["trusted", "trusted"]);
    await expectAudited(store, () => remember("the well has clean water", [source("forum", "untrusted")]));
    expect(trustOf(claim, plan)).toEqual(["untrusted", "untrusted"]);
    expectSound();
  });

  it("is not raised by thoughts that rest on each other", async () => {
    const first = await remember("first of a circle", [source("rumour", "untrusted")]);
    const second = await remember("second of a circle", [first]);
    await remember("first of a circle", [second], [source("press")]);
    expect(trustOf(first, second)).toEqual(["trusted", "trusted"]);
    set("press", "untrusted");
    expect(trustOf(first, second)).toEqual(["untrusted", "untrusted"]);
  });

  it("falls when the leg that gave it is recalled, and comes back with it", async () => {
    const claim = await remember("the bridge is closed", [source("forum", "untrusted")], [source("city")]);
    const plan = await remember("take the ferry", [claim]);
    expect(trustOf(claim, plan)).toEqual(["trusted", "trusted"]);
    const { event } = recall(brain.store, { ids: [sourceId("city")] }, {}, "person");
    expect(trustOf(claim, plan)).toEqual(["untrusted", "untrusted"]);
    unrecall(brain.store, event ?? "", "person");
    expect(trustOf(claim, plan)).toEqual(["trusted", "trusted"]);
    expectSound();
  });

  it("that was set while a source was recalled holds after the recall is undone", async () => {
    const claim = await remember("the shop is open", [source("shop")]);
    const { event } = recall(brain.store, { ids: [sourceId("shop")] }, {}, "person");
    set("shop", "untrusted");
    unrecall(brain.store, event ?? "", "person");
    expect(trustOf(claim)).toEqual(["untrusted"]);
  });

  it("is not raised by a survivor's, nor the survivor's by a copy's, when sleep merges", async () => {
    const text = "The landlord said the deposit is two months of rent and due in March";
    const [, copy] = await brain.remember(
      { content: text, occurrence: { source: source("lease") } },
      { content: `${text}.`, occurrence: { source: source("forum", "untrusted") } },
    );
    await runSleep(brain.store, brain.embedder);
    const { mergedInto } = brain.store.thoughts.state(nodeOf(copy?.id ?? ""));
    expect(mergedInto).not.toBeNull();
    const survivor = brain.store.thoughts.publicId(mergedInto ?? 0);
    expect(trustOf(copy?.id ?? "", survivor)).toEqual(["untrusted", "trusted"]);
    set("lease", "untrusted");
    expect(trustOf(copy?.id ?? "", survivor)).toEqual(["untrusted", "untrusted"]);
  });

  it("is shown with results and evidence, and is the thought's own", async () => {
    const bad = await remember("bad news about the ferry", [source("bad", "untrusted")]);
    const id = await remember("the ferry leaves at nine", [bad, source("harbour")]);
    const { results } = await search(brain.store, brain.embedder, "ferry");
    expect(results.find((result) => result.id === id)).toMatchObject({
      trust: "untrusted",
      source: { name: "you", trust: "trusted" },
    });
    const { text } = await buildContext(brain.store, brain.embedder, ["ferry"]);
    expect(text).toMatch(new RegExp(`\\[${id} \\| [^\\]]*\\| source you \\| untrusted\\]`));
  });

  it("is what a computation over the whole brain says, whatever rests on what", { timeout: 120_000 }, async () => {
    const shape = fc.record({
      sources: fc.array(fc.constantFrom<Trust>(...TRUST_LEVELS), { minLength: 1, maxLength: 4 }),
      legs: fc.array(fc.array(fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 }), {
        minLength: 1,
        maxLength: 6,
      }),
      late: fc.array(fc.tuple(fc.nat(5), fc.array(fc.nat(9), { minLength: 1, maxLength: 2 })), { maxLength: 5 }),
      steps: fc.array(fc.tuple(fc.nat(3), fc.constantFrom("recall", "undo", ...TRUST_LEVELS)), { maxLength: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(shape, async ({ sources, legs, late, steps }) => {
        const own = createTestStore();
        try {
          await runShape(own, sources, legs, late, steps);
        } finally {
          own.close();
        }
      }),
      { numRuns: 60 },
    );
  });
});

/** Builds a brain of that shape, takes the steps, and compares every standing thought with the oracle after each. */
async function runShape(
  own: TestStore,
  sources: readonly Trust[],
  legs: readonly (readonly (readonly number[])[])[],
  late: readonly (readonly [number, readonly number[]])[],
  steps: readonly (readonly [number, string])[],
): Promise<void> {
  const inputs = sources.map((trust, index) => source(`source ${index}`, trust));
  const ids: string[] = [];
  const parentsOf = (numbers: readonly number[], self: number) => {
    const given = numbers
      .map((number) => (number < 4 ? inputs[number % inputs.length] : ids[(number - 4) % Math.max(1, ids.length)]))
      .filter((parent) => parent !== undefined && parent !== ids[self]);
    return given.length === 0 ? inputs.slice(0, 1) : given;
  };
  const add = async (index: number, sets: readonly (readonly number[])[]) => {
    const [result] = await own.remember({
      content: `thought number ${index}`,
      legs: sets.map((numbers) => ({ parents: parentsOf(numbers, index).filter((parent) => parent !== undefined) })),
    });
    ids[index] ??= result?.id ?? "";
  };
  for (const [index, sets] of legs.entries()) await add(index, sets);
  for (const [index, numbers] of late) if (index < legs.length) await add(index, [numbers]);
  expect(storedTrust(own)).toEqual(oracleTrust(own));
  const events = new Map<number, string | null>();
  for (const [index, what] of steps) {
    const nodeId = own.store.sources.find("page", `source ${index % inputs.length}`);
    if (nodeId === null) continue;
    const target = { ids: [own.store.thoughts.publicId(nodeId)] };
    const event = events.get(nodeId) ?? null;
    if (what === "recall") {
      if (event === null) events.set(nodeId, recall(own.store, target, {}, "person").event);
    } else if (what === "undo") {
      if (event !== null) unrecall(own.store, event, "person");
      events.delete(nodeId);
    } else {
      setTrust(own.store, target, what as Trust, "person");
    }
    expect(storedTrust(own)).toEqual(oracleTrust(own));
  }
  expect(own.store.ledger.firstBreak()).toBeNull();
}

/** Trust of the thoughts that stand, by node. */
function storedTrust({ store }: TestStore): [number, number][] {
  return store.connection
    .tuples<[number, number]>("SELECT id, trust FROM node WHERE role = 1 AND recalled_by IS NULL ORDER BY id")
    .all();
}

/** A thought has a level when it can be held up by nothing but what has that level, nothing holding itself up. */
function oracleTrust({ store }: TestStore): [number, number][] {
  const { connection } = store;
  const nodes = connection
    .tuples<[number, number, number]>("SELECT id, role, trust FROM node WHERE recalled_by IS NULL ORDER BY id")
    .all();
  const legs = connection
    .tuples<[number, number, number]>("SELECT id, node_id, axiom FROM leg WHERE ended_seq IS NULL")
    .all()
    .map(([id, nodeId]) => ({
      nodeId,
      parents: connection.values<number>("SELECT parent_id FROM derivation WHERE leg_id = ?").all(id),
    }));
  const best = new Map(nodes.filter(([, role]) => role === 1).map(([id]) => [id, 0]));
  for (let level = 1; level < TRUST_LEVELS.length; level++) {
    const holding = new Set(nodes.filter(([, role, trust]) => role === 0 && trust >= level).map(([id]) => id));
    for (let grew = true; grew; ) {
      grew = false;
      for (const { nodeId, parents } of legs) {
        if (holding.has(nodeId) || !best.has(nodeId) || !parents.every((parent) => holding.has(parent))) continue;
        holding.add(nodeId);
        grew = true;
      }
    }
    for (const id of best.keys()) if (holding.has(id)) best.set(id, level);
  }
  return [...best];
}

describe("setting trust", () => {
  it("by a pattern sets every source of such a name, and no other", async () => {
    const ids = await Promise.all(
      ["web:a.example", "WEB:b.example", "tool:web"].map((name) => remember(`from ${name}`, [source(name)])),
    );
    expect(trustOf(...ids)).toEqual(["trusted", "trusted", "trusted"]);
    const change = setTrust(brain.store, { sources: "web:*" }, "untrusted", "person");
    expect(change).toMatchObject({ trust: "untrusted", sources: 2, thoughts: 2 });
    expect(change.changed.map(({ name }) => name)).toEqual(["web:a.example", "WEB:b.example"]);
    expect(trustOf(...ids)).toEqual(["untrusted", "untrusted", "trusted"]);
    expect(setTrust(brain.store, { sources: "web:*" }, "untrusted", "person")).toMatchObject({
      event: null,
      sources: 0,
    });
  });

  it("refuses thoughts, the person's own word, and what is not there", async () => {
    const id = await remember("a thought", [source("page")]);
    await brain.remember("my own word");
    const person = brain.store.thoughts.publicId(brain.store.sources.find("person", "person") ?? 0);
    const code = (target: Parameters<typeof setTrust>[1]) => {
      try {
        setTrust(brain.store, target, "untrusted", "person");
        return "done";
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    expect(code({ ids: [id] })).toBe("usage");
    expect(code({ ids: [person] })).toBe("usage");
    expect(code({})).toBe("usage");
    expect(code({ sources: " " })).toBe("usage");
    expect(code({ sources: "nothing" })).toBe("not_found");
    expect(code({ sources: "*" })).toBe("done");
    expect(listSources(brain.store).map(({ name, trust }) => [name, trust])).toEqual([
      ["page", "untrusted"],
      ["you", "trusted"],
    ]);
  });

  it("writes events of at most 500 changes over a hub, each thought once", async () => {
    await brain.remember(
      ...Array.from({ length: 1_203 }, (_, index) => ({
        content: `entry ${index} of the feed`,
        occurrence: { source: source("feed") },
      })),
    );
    const head = brain.store.ledger.head().seq;
    expect(set("feed", "unknown").thoughts).toBe(1_203);
    const kinds = brain.store.ledger.list({ since: head, limit: 10 }).map(({ kind }) => kind);
    expect(kinds).toEqual(["trust.carried", "trust.carried", "trust.carried", "trust.set"]);
    expect(brain.store.write(() => carryTrust(brain.store, [nodeOf(sourceId("feed"))], "person"))).toBe(0);
  });
});

describe("carrying trust", () => {
  it("looks at what rests on the source: no statement walks through a table", async () => {
    const claim = await remember("rain is coming", [source("weather")]);
    const advice = await remember("take an umbrella", [claim]);
    const plans = plansOf(brain.store, () => {
      set("weather", "untrusted");
      listSources(brain.store, { trust: "untrusted" });
    });
    expect(trustOf(advice)).toEqual(["untrusted"]);
    expect(plans.some(({ sql }) => sql.includes("d.parent_id = wanted.value"))).toBe(true);
    expect(scansOf(plans)).toEqual([]);
  });

  it("does not stop before the end of a long chain", async () => {
    let last = await remember("step 0 of a long way", [source("map")]);
    for (let step = 1; step <= 300; step++) last = await remember(`step ${step} of a long way`, [last]);
    expect(trustOf(last)).toEqual(["trusted"]);
    expect(set("map", "unknown").thoughts).toBe(301);
    expect(trustOf(last)).toEqual(["unknown"]);
  });
});

describe("the list of sources", () => {
  it("names type, level and thoughts, the newest first, and says what is recalled", async () => {
    await remember("one", [source("first")]);
    await remember("two", [source("first")], [source("second", "untrusted")]);
    expect(listSources(brain.store)).toMatchObject([
      { name: "second", type: "page", trust: "untrusted", thoughts: 1, more: false, recalled: false },
      { name: "first", type: "page", trust: "trusted", thoughts: 2, more: false, recalled: false },
      { name: "you", type: "person", trust: "trusted", thoughts: 2 },
    ]);
    recall(brain.store, { ids: [sourceId("second")] }, {}, "person");
    const names = (options: Parameters<typeof listSources>[1]) =>
      listSources(brain.store, options).map(({ name }) => name);
    expect(listSources(brain.store, { trust: "untrusted" })).toMatchObject([{ name: "second", recalled: true }]);
    expect(names({ type: "person" })).toEqual(["you"]);
    expect(names({ names: "*s*" })).toEqual(["second", "first"]);
    expect(names({ names: "*s*", trust: "trusted", limit: 1 })).toEqual(["first"]);
    expect(names({ limit: 1 })).toEqual(["second"]);
    expect(() => names({ limit: 0 })).toThrow(expect.objectContaining({ code: "usage" }));
    expect(() => names({ trust: "good" as Trust })).toThrow(expect.objectContaining({ code: "usage" }));
  });

  it("counts no further than a thousand thoughts of one source", async () => {
    await brain.remember(
      ...Array.from({ length: 1_001 }, (_, index) => ({
        content: `line ${index}`,
        occurrence: { source: source("log") },
      })),
    );
    expect(listSources(brain.store)).toMatchObject([{ thoughts: 1_000, more: true }]);
  });
});

describe("a pattern over names", () => {
  it("is what a regular expression of it says", () => {
    const letters = fc.stringMatching(/^[ab.]{0,8}$/);
    fc.assert(
      fc.property(fc.stringMatching(/^[ab.*?]{1,8}$/), letters, (pattern, name) => {
        const expression = pattern.replaceAll(".", "\\.").replaceAll("?", ".").replaceAll("*", ".*");
        expect(matchName(pattern, name)).toBe(new RegExp(`^${expression}$`).test(name));
      }),
      { numRuns: 2_000 },
    );
  });

  it("takes other characters as they are, and capitals for small letters", () => {
    expect(matchName("tool:weather-*", "Tool:Weather-App")).toBe(true);
    expect(matchName("web:[a].example", "web:a.example")).toBe(false);
    expect(matchName("caf?", "CAFÉ")).toBe(true);
    expect(matchName("web", "web:a")).toBe(false);
  });

  it("of many stars ends soon", () => {
    expect(matchName(`${"*a".repeat(200)}b`, "a".repeat(8_000))).toBe(false);
  });
});
