import { describe, expect, test } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { rememberAll } from "../../src/remember/remember.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { planCore, planThreshold } from "../../src/sleep/promote.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const CONFIG = { permanenceMinDays: 3, permanenceQuantile: 0.99 };
const alone = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");
const many = (name: string) => Array.from({ length: 8 }, (_, index) => alone(`${name}${index}`));
const sleep = (brain: TestStore, options = {}) => runSleep(brain.store, brain.embedder, options);
const days = (brain: TestStore, count: number) => brain.clock.advance(count * MS_PER_DAY);

async function remember(brain: TestStore, name: string, parents: string[] = []): Promise<string> {
  const legs = parents.map((id) => ({ parents: [id] }));
  const [result] = await brain.remember({ content: alone(name), ...(legs.length > 0 ? { legs } : {}) });
  return result?.id ?? "";
}

const state = (brain: TestStore, id: string) => brain.store.thoughts.state(brain.store.thoughts.resolve(id));
const kind = (brain: TestStore, id: string) => brain.store.labels.text(state(brain, id).kindId);

/** Notes reading on so many days, counted back from today, several times each. */
function readOn(brain: TestStore, id: string, count: number): void {
  const today = dayOf(brain.clock.now());
  brain.store.write(() => {
    for (let back = 0; back < count; back++) {
      brain.store.operations.noteAccess([brain.store.thoughts.resolve(id)], today - back);
    }
  });
}

describe("the threshold of permanence", () => {
  test("is at least the configured days in a brain that is read little", () => {
    expect(planThreshold([], 100, CONFIG)).toBe(3);
    expect(planThreshold([{ days: 1, thoughts: 5 }], 100, CONFIG)).toBe(3);
  });

  test("follows the quantile of a brain that is read much", () => {
    const histogram = [1, 2, 4, 9].map((count) => ({ days: count, thoughts: 25 }));
    expect(planThreshold(histogram, 1000, CONFIG)).toBe(9);
    expect(planThreshold(histogram, 10_000, CONFIG)).toBe(3);
  });

  test("nothing stands out in a brain read evenly", () => {
    expect(planThreshold([{ days: 20, thoughts: 100 }], 100, CONFIG)).toBe(40);
  });
});

describe("permanence", () => {
  test("is earned by reading on many days, not by a burst, and never in a young brain", async () => {
    const brain = createTestStore();
    const often = await remember(brain, "often");
    const burst = await remember(brain, "burst");
    days(brain, 5);
    readOn(brain, often, 5);
    readOn(brain, burst, 1);
    await sleep(brain);
    expect(state(brain, often).permanence).toBe("none");
    days(brain, 10);
    await sleep(brain);
    expect([often, burst].map((id) => state(brain, id).permanence)).toEqual(["earned", "none"]);
    const [event] = brain.store.ledger.list({ limit: 9 }).filter((entry) => entry.kind === "permanence.changed");
    expect(event?.payload).toMatchObject({ count: 1, days: [5], thresholdDays: 5 });
    brain.close();
  });

  test("is lost again only well below the threshold; a pin never", async () => {
    const brain = createTestStore();
    const [five, nine, pinned] = [
      await remember(brain, "five"),
      await remember(brain, "nine"),
      await remember(brain, "pin"),
    ];
    days(brain, 20);
    for (let index = 0; index < 6; index++) await remember(brain, `filler${index}`);
    readOn(brain, nine, 1);
    readOn(brain, five, 5);
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "permanence.changed",
        actor: "person",
        payload: {},
        changes: [{ nodeId: brain.store.thoughts.resolve(pinned), axis: "permanence", to: 2 }],
      }),
    );
    await sleep(brain);
    expect(state(brain, five).permanence).toBe("earned");
    readOn(brain, nine, 7);
    await sleep(brain);
    expect([five, nine].map((id) => state(brain, id).permanence)).toEqual(["earned", "earned"]);
    readOn(brain, nine, 9);
    await sleep(brain);
    expect([five, nine, pinned].map((id) => state(brain, id).permanence)).toEqual(["none", "earned", "pinned"]);
    brain.close();
  });

  test("counts the days on which copies behind the thought were read", async () => {
    const brain = createTestStore();
    const note = "the heating in our cellar gets serviced every autumn by that same firm";
    const [first, second] = (await brain.remember(note, `${note}.`)).map(({ id }) => id ?? "");
    await brain.remember(...Array.from({ length: 6 }, (_, index) => alone(`filler${index}`)));
    const today = dayOf(brain.clock.now());
    brain.store.write(() => {
      brain.store.operations.noteAccess([brain.store.thoughts.resolve(first ?? "")], today - 1);
      brain.store.operations.noteAccess([brain.store.thoughts.resolve(first ?? "")], today - 2);
      brain.store.operations.noteAccess([brain.store.thoughts.resolve(second ?? "")], today - 3);
      brain.store.operations.noteAccess([brain.store.thoughts.resolve(second ?? "")], today - 1);
    });
    days(brain, 20);
    await sleep(brain);
    expect(state(brain, first ?? "").permanence).toBe("earned");
    brain.close();
  });
});

describe("core memories", () => {
  const central = (id: number, score: number, kindId = 1) => ({ id, score, kindId });
  const rules = { coreMinScore: 10, coreShare: 0.01 };

  test("the best-placed are taken up to the share, those a person made take no place", () => {
    const snapshot = {
      central: [central(1, 60, 9), central(2, 50), central(3, 40), central(4, 14)],
      standing: [],
      coreKindId: 9,
    };
    expect(planCore({ ...snapshot, visible: 100 }, rules).core.map(({ id }) => id)).toEqual([2]);
    expect(planCore({ ...snapshot, visible: 500 }, rules).core.map(({ id }) => id)).toEqual([2, 3]);
  });

  test("one that still has a place keeps it, one that lost it goes", () => {
    const standing = [5, 6].map((id) => ({ id, formerKindId: 2 }));
    const plan = planCore(
      { central: [central(2, 50), central(5, 14, 9)], standing, visible: 200, coreKindId: 9 },
      rules,
    );
    expect(plan.core.map(({ id }) => id)).toEqual([2]);
    expect(plan.demoted.map(({ id }) => id)).toEqual([6]);
  });

  test("what many thoughts rest on becomes core, is found by its kind, and gets its kind back", async () => {
    const brain = createTestStore();
    const [hub] = (await brain.remember({ content: alone("hub"), kind: "decision" })).map(({ id }) => id ?? "");
    const children: string[] = [];
    for (let index = 0; index < 6; index++) children.push(await remember(brain, `child${index}`, [hub ?? ""]));
    await sleep(brain);
    expect(kind(brain, hub ?? "")).toBe("decision");
    days(brain, 15);
    await sleep(brain);
    expect(kind(brain, hub ?? "")).toBe("core memory");
    expect(children.map((id) => kind(brain, id))).toEqual(children.map(() => "fact"));
    const coreKind = brain.store.labels.find("kind", "core memory") ?? 0;
    const query = await brain.embedder.embedQuery(alone("hub"));
    const found = brain.store.vectors.nearest(query, 1, {
      scopeIds: brain.store.scopes.readableIds(),
      kindIds: [coreKind],
    });
    expect(found.neighbors.map(({ nodeId }) => nodeId)).toEqual([brain.store.thoughts.resolve(hub ?? "")]);
    expect((await sleep(brain)).phases.every(({ planned }) => planned === 0)).toBe(true);
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "decayed",
        actor: "person",
        payload: {},
        changes: children
          .slice(0, 3)
          .map((id) => ({ nodeId: brain.store.thoughts.resolve(id), axis: "decayed", to: 3 })),
      }),
    );
    await sleep(brain);
    expect(kind(brain, hub ?? "")).toBe("decision");
    brain.close();
  });

  test("what sleep itself made of a thought does not raise it, however much that is", async () => {
    const brain = createTestStore();
    const [dreamt = "", thought = ""] = (await brain.remember(alone("dreamt"), alone("thought"))).map(
      ({ id }) => id ?? "",
    );
    const childrenOf = (parent: string, name: string): RememberInput[] =>
      Array.from({ length: 8 }, (_, index) => ({ content: alone(`${name}${index}`), legs: [{ parents: [parent] }] }));
    await rememberAll(brain.store, brain.embedder, childrenOf(dreamt, "dream"), { actor: "sleep" });
    await rememberAll(brain.store, brain.embedder, childrenOf(thought, "idea"), { actor: "person" });
    // One that sleep made of much is not raised either.
    const [summary = ""] = (
      await rememberAll(
        brain.store,
        brain.embedder,
        [
          {
            content: alone("summary"),
            legs: [{ parents: (await brain.remember(...many("part"))).map(({ id }) => id ?? "") }],
          },
        ],
        { actor: "sleep" },
      )
    ).map(({ id }) => id ?? "");
    days(brain, 15);
    await sleep(brain, { config: { coreShare: 0.5 } });
    expect([thought, dreamt, summary].map((id) => kind(brain, id))).toEqual(["core memory", "fact", "fact"]);
    brain.close();
  });

  test("a kind that a person gave is left alone", async () => {
    const brain = createTestStore();
    const [mine] = (await brain.remember({ content: alone("mine"), kind: "core memory" })).map(({ id }) => id ?? "");
    days(brain, 40);
    const report = await sleep(brain);
    expect(kind(brain, mine ?? "")).toBe("core memory");
    expect(state(brain, mine ?? "").decayed).toBe("none");
    expect(report.phases.find(({ name }) => name === "promote")?.planned).toBe(0);
    brain.close();
  });
});
