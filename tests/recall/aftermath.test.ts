/** What recalls leave behind: copies and their survivors, rules one after the other, legs that end. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LegInput, SourceInput } from "../../src/core/types.ts";
import { addLegs } from "../../src/recall/legs.ts";
import { previewRecall, recall, unrecall } from "../../src/recall/recall.ts";
import { matchStanding } from "../../src/remember/match-standing.ts";
import { list } from "../../src/retrieve/inspect.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { verifyHistory } from "../../src/store/verify.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const source = (name: string): SourceInput => ({ type: "named", key: name, name, trust: "trusted" });
const localId = (id: string) => brain.store.thoughts.resolve(id);
const sourceNode = (name: string) => brain.store.sources.find("named", name) ?? 0;
const sourceId = (name: string) => brain.store.thoughts.publicId(sourceNode(name));
const standing = (...ids: string[]) =>
  ids.map((id) => brain.store.read(() => brain.store.thoughts.detail(localId(id)).state.visible));

async function remember(content: string, ...legs: LegInput["parents"][]): Promise<string> {
  const [result] = await brain.remember({ content, legs: legs.map((parents) => ({ parents })) });
  return result?.id ?? "";
}

function expectSound(): void {
  expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
  expect(verifyHistory(brain.store).problems).toEqual([]);
}

describe("one rule after the other", () => {
  it("lets the strict rule take what the fair one left standing of the same root", async () => {
    const thought = await remember("the lift is out of order", [source("A")], [source("B")]);
    const fair = recall(brain.store, { ids: [sourceId("A")] }, {}, "person");
    expect(standing(thought)).toEqual([true]);
    const strict = recall(brain.store, { ids: [sourceId("A")] }, { rule: "strict" }, "person");
    expect(strict.event).not.toBeNull();
    expect(standing(thought)).toEqual([false]);
    expect(recall(brain.store, { ids: [sourceId("A")] }, { rule: "strict" }, "person").event).toBeNull();
    expectSound();
    unrecall(brain.store, strict.event ?? "", "person");
    expect(standing(thought)).toEqual([true]);
    unrecall(brain.store, fair.event ?? "", "person");
    expectSound();
  });
});

describe("one recall after another that pins the same", () => {
  it("stays down by its own recall when the one of its source is undone", async () => {
    const { store } = brain;
    const thought = await remember("the lift is out of order", [source("A")]);
    const strict = recall(store, { ids: [sourceId("A")] }, { rule: "strict" }, "person");
    const own = recall(store, { ids: [thought] }, {}, "person");
    expect(own).toMatchObject({ event: expect.any(String), alreadyBy: [strict.event] });
    unrecall(store, strict.event ?? "", "person");
    expect(standing(thought)).toEqual([false]);
    expectSound();
    unrecall(store, own.event ?? "", "person");
    expect(standing(thought)).toEqual([true]);
    expectSound();
  });

  it("is none when the same was asked for before, and names that", async () => {
    const { store } = brain;
    const thought = await remember("the lift is out of order", [source("A")]);
    const both = { ids: [sourceId("A"), thought] };
    const first = recall(store, both, {}, "person");
    expect(previewRecall(store, { ids: [thought] }).alreadyBy).toEqual([first.event]);
    expect(recall(store, { ids: [thought] }, {}, "person")).toMatchObject({ event: null, alreadyBy: [first.event] });
    expect(recall(store, both, {}, "person")).toMatchObject({ event: null, alreadyBy: [first.event] });
    // Nothing rests on them, so the strict rule pins the same two.
    expect(recall(store, both, { rule: "strict" }, "person")).toMatchObject({ event: null, alreadyBy: [first.event] });
  });
});

describe("a copy behind a survivor that fell", () => {
  const TEXT = "The heating in the cellar is serviced every autumn by Miller and sons";

  /** Two thoughts of one text, one behind the other, each on a source of its own. */
  async function mergedCopies() {
    const names = ["one", "two"];
    const said = (name: string, content: string) => ({
      content,
      occurrence: { source: source(name), recordKey: name },
    });
    await brain.remember(said("one", TEXT));
    brain.clock.advance(1_000);
    await brain.remember(said("two", TEXT.toUpperCase()));
    const ids = list(brain.store, { limit: 10 }).map(({ id }) => id);
    await runSleep(brain.store, brain.embedder, { phases: ["consolidate"] });
    const isBehind = (id: string) => brain.store.thoughts.state(localId(id)).mergedInto !== null;
    const copy = ids.find(isBehind) ?? "";
    const survivor = ids.find((id) => !isBehind(id)) ?? "";
    const sourceOf = (id: string) =>
      names.find(
        (name) => brain.store.legs.find(localId(id), { axiom: false, parentIds: [sourceNode(name)] }) !== null,
      ) ?? "";
    expect(standing(survivor, copy)).toEqual([true, false]);
    return { survivor, copy, ofSurvivor: sourceOf(survivor), ofCopy: sourceOf(copy) };
  }

  it("is named by the preview, which says what comes out", async () => {
    const { copy, ofSurvivor, ofCopy } = await mergedCopies();
    const released = (name: string) =>
      previewRecall(brain.store, { ids: [sourceId(name)] }).released.map(({ id }) => id);
    expect(released(ofSurvivor)).toEqual([copy]);
    expect(released(ofCopy)).toEqual([]);
    const both = previewRecall(brain.store, { ids: [sourceId(ofSurvivor), sourceId(ofCopy)] });
    expect(both.released).toEqual([]);
  });

  it("comes out when its own source is given back first", async () => {
    const { survivor, copy, ofSurvivor, ofCopy } = await mergedCopies();
    const first = recall(brain.store, { ids: [sourceId(ofCopy)] }, {}, "person");
    const second = recall(brain.store, { ids: [sourceId(ofSurvivor)] }, {}, "person");
    expect(standing(survivor, copy)).toEqual([false, false]);
    await expectAudited(brain.store, () => unrecall(brain.store, first.event ?? "", "person"));
    expect(standing(survivor, copy)).toEqual([false, true]);
    expectSound();
    unrecall(brain.store, second.event ?? "", "person");
    expect(standing(survivor, copy)).toEqual([true, false]);
    expectSound();
  });

  it("stands when it is met again in a source that stands", async () => {
    const { survivor, copy, ofSurvivor, ofCopy } = await mergedCopies();
    recall(brain.store, { ids: [sourceId(ofCopy), sourceId(ofSurvivor)] }, {}, "person");
    expect(standing(survivor, copy)).toEqual([false, false]);
    const { content } = brain.store.read(() => brain.store.thoughts.detail(localId(copy)));
    const [met] = await brain.remember({ content, occurrence: { source: source("three"), recordKey: "three" } });
    expect(met).toMatchObject({ id: copy, status: "revived" });
    expect(standing(survivor, copy)).toEqual([false, true]);
    expectSound();
  });

  it("comes out at once when the survivor's last whole leg ends", async () => {
    const { survivor, copy, ofSurvivor } = await mergedCopies();
    const { content } = brain.store.read(() => brain.store.thoughts.detail(localId(survivor)));
    await brain.remember({ content, occurrence: { source: source("three"), recordKey: "three" } });
    recall(brain.store, { ids: [sourceId(ofSurvivor)] }, {}, "person");
    expect(standing(survivor, copy)).toEqual([true, false]);
    const leg = { axiom: false, parentIds: [sourceNode("three")] };
    await expectAudited(brain.store, () =>
      brain.store.write(() => {
        brain.store.legs.end(
          localId(survivor),
          [brain.store.legs.find(localId(survivor), leg) ?? 0],
          "extractor",
          "source_gone",
        );
        matchStanding(brain.store, [localId(survivor)], "extractor");
      }),
    );
    expect(standing(survivor, copy)).toEqual([false, true]);
    expectSound();
  });

  it("does not go back when something else parted it meanwhile", async () => {
    const { survivor, copy, ofSurvivor } = await mergedCopies();
    const { event } = recall(brain.store, { ids: [sourceId(ofSurvivor)] }, {}, "person");
    const other = await remember("another thought altogether", [source("three")]);
    const { store } = brain;
    const merge = (to: number | null) =>
      store.write(() =>
        store.ledger.record({
          kind: to === null ? "unmerged" : "merged",
          actor: "person",
          payload: {},
          changes: [{ nodeId: localId(copy), axis: "merged_into", to }],
        }),
      );
    merge(localId(other));
    merge(null);
    unrecall(store, event ?? "", "person");
    expect(standing(survivor, copy, other)).toEqual([true, true, true]);
  });
});

describe("recalls that are undone in any order", () => {
  /** Two copies of each of four texts, on sources of their own and of others, and two thoughts on each. */
  async function brainOfCopies(): Promise<string[]> {
    const texts = [
      "The heating in the cellar is serviced every autumn by Miller and sons",
      "Grandmother keeps the spare key of the garden gate under the blue pot",
      "On Thursdays the library closes early because of the reading circle",
      "The old printer takes only the black cartridges of the second shelf",
    ];
    const ids: string[] = [];
    for (const [at, text] of texts.entries()) {
      for (const content of [text, text.toUpperCase()]) {
        brain.clock.advance(1_000);
        const parents = [[source(`S${at}`)], ...(at % 2 === 0 ? [[source(`S${at + 1}`)]] : [])];
        ids.push(await remember(content, ...(content === text ? parents : [[source(`S${(at + 2) % 5}`)]])));
      }
      ids.push(await remember(`what follows from number ${at} and nothing else`, ids.slice(-1), ids.slice(-2, -1)));
    }
    await runSleep(brain.store, brain.embedder, { phases: ["consolidate"] });
    return ids;
  }

  function dump(): unknown {
    const { db } = brain.store.connection;
    const table = brain.store.models.required().vecTable;
    return {
      nodes: db
        .prepare(
          "SELECT id, decayed, belief, permanence, merged_into, recalled_by, trust, stale_by FROM node ORDER BY id",
        )
        .all(),
      vectors: db.prepare(`SELECT node_id, hidden FROM ${table} ORDER BY node_id`).all(),
    };
  }

  it("restore the very state, merged copies included", { timeout: 120_000 }, async () => {
    const ids = await brainOfCopies();
    const isMerged = ids.filter((id) => brain.store.thoughts.state(localId(id)).mergedInto !== null);
    expect(isMerged.length).toBeGreaterThanOrEqual(4);
    const before = dump();
    const targets = [...ids, ...[0, 1, 2, 3, 4].map((at) => sourceId(`S${at}`))];
    const one = fc.record({
      target: fc.nat({ max: targets.length - 1 }),
      strict: fc.boolean(),
      undoAfter: fc.nat({ max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 5 }), fc.infiniteStream(fc.nat()), (recalls, picks) => {
        const open: string[] = [];
        const undoOne = () => {
          const [event] = open.splice((picks.next().value ?? 0) % open.length, 1);
          unrecall(brain.store, event ?? "", "person");
        };
        for (const { target, strict, undoAfter } of recalls) {
          const rule = strict ? "strict" : "fair";
          const { event } = recall(brain.store, { ids: [targets[target] ?? ""] }, { rule }, "person");
          if (event !== null) open.push(event);
          if (undoAfter === 0 && open.length > 0) undoOne();
          expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
        }
        while (open.length > 0) undoOne();
        expect(dump()).toEqual(before);
      }),
      { numRuns: 60, endOnFailure: true },
    );
    expectSound();
  });
});

describe("a circle whose way in ends", () => {
  it("falls although nothing was ever recalled, and rises with another leg", async () => {
    const { store } = brain;
    const first = await remember("the ferry runs at noon", [source("A")]);
    const second = await remember("be at the pier at half past eleven", [first]);
    addLegs(store, first, { legs: [{ parents: [second] }] }, "person");
    expect(standing(first, second)).toEqual([true, true]);
    await expectAudited(store, () =>
      store.write(() => {
        const leg = store.legs.find(localId(first), { axiom: false, parentIds: [sourceNode("A")] }) ?? 0;
        store.legs.end(localId(first), [leg], "extractor", "source_gone");
        matchStanding(store, [localId(first)], "extractor");
      }),
    );
    expect(standing(first, second)).toEqual([false, false]);
    expectSound();
    expect(addLegs(store, second, { axiom: true }, "person").risen).toBe(2);
    expect(standing(first, second)).toEqual([true, true]);
    expectSound();
  });

  it("falls when a thought without a leg is made to rest on what rests on it", async () => {
    const { store } = brain;
    const first = await remember("the ferry runs at noon", [source("A")]);
    const second = await remember("be at the pier at half past eleven", [first]);
    store.write(() => {
      const leg = store.legs.find(localId(first), { axiom: false, parentIds: [sourceNode("A")] }) ?? 0;
      store.legs.end(localId(first), [leg], "extractor", "source_gone");
      matchStanding(store, [localId(first)], "extractor");
    });
    expect(standing(second)).toEqual([true]);
    addLegs(store, first, { legs: [{ parents: [second] }] }, "person");
    expect(standing(first, second)).toEqual([false, false]);
    expectSound();
  });
});
