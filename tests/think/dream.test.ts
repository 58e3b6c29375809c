/** Thinking and dreaming: what is shown together, and what new thoughts may rest on. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { recall, unrecall } from "../../src/recall/recall.ts";
import { runSleep, type SleepOptions } from "../../src/sleep/cycle.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import {
  createScriptedModel,
  numberOf,
  type ScriptedModel,
  type ShownItem,
  thinkerOf,
} from "../support/scripted-model.ts";
import { PAGE, saySession } from "../support/sessions.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const night = (model: ScriptedModel, options: SleepOptions = {}) =>
  runSleep(brain.store, brain.embedder, { loadThinker: thinkerOf(model), ...options });

const about = (what: string) => `The garden behind the old house and its ${what}`;
const textsOf = (items: readonly ShownItem[]) => items.map(({ text }) => String(text));
const detailOf = (id: string) => brain.store.thoughts.detail(brain.store.thoughts.resolve(id));
const say = (key: string, what: readonly string[], cites = {}) =>
  saySession(
    brain,
    key,
    what.map((word) => ({ speaker: "Ana", text: about(word), ...cites })),
  );

function made(kind: string): string[] {
  return brain.store
    .read(() => brain.store.thoughts.list({ kinds: [kind], state: "all", limit: 100 }))
    .map((id) => brain.store.thoughts.publicId(id));
}

/** Parents of the only leg, the model left out. */
function parentsOf(id: string): string[] {
  const legs = brain.store.legs.sample(brain.store.thoughts.resolve(id), 10, 20);
  expect(legs).toHaveLength(1);
  return (legs[0]?.parentIds ?? [])
    .map((parent) => brain.store.thoughts.publicId(parent))
    .filter((parent) => parent.startsWith("n_"));
}

describe("dreaming", () => {
  const dreaming = (a: string, b: string, text = "Whatever grows in Ana's garden, it grows by rain.") =>
    createScriptedModel(({ task, items }) => {
      if (task !== "dream" || !textsOf(items).some((shown) => shown.includes(b))) return [];
      return [{ text, from: [numberOf(items, a), numberOf(items, b)] }];
    });

  test("joins thoughts of several sources: its one leg is all of them", async () => {
    const first = await say("one", ["well", "pump"]);
    const second = await say("two", ["roses", "lawn"]);
    const model = dreaming("well", "roses");
    await expectAudited(brain.store, () => night(model));
    const [asked] = model.of("dream");
    expect(new Set(asked?.items.map(({ place }) => place))).toEqual(new Set(["A", "B"]));
    const [dream = ""] = made("dream");
    expect(detailOf(dream)).toMatchObject({ basis: "generated", trust: "unknown", state: { visible: true } });
    expect(parentsOf(dream).sort()).toEqual([first[0]?.id, second[0]?.id].sort());
  });

  test.each([0, 1])("falls with any one of its parents, %i, and comes back with it", async (which) => {
    const sources = [await say("one", ["well", "pump"]), await say("two", ["roses", "lawn"])];
    await night(dreaming("well", "roses"));
    const [dream = ""] = made("dream");
    expect(detailOf(dream).state.visible).toBe(true);
    const { event } = recall(brain.store, { ids: [sources[which]?.[0]?.id ?? ""] }, {}, "person");
    expect(detailOf(dream).state.visible).toBe(false);
    unrecall(brain.store, event ?? "", "person");
    expect(detailOf(dream).state.visible).toBe(true);
  });

  test("a source recalled between asking and answering takes its dreams before they are dreamt", async () => {
    await say("one", ["well", "pump"]);
    const second = await say("two", ["roses", "lawn"]);
    const model = createScriptedModel(({ task, items }) => {
      if (task !== "dream") return [];
      recall(brain.store, { ids: [second[0]?.id ?? ""] }, {}, "person");
      return [{ text: "Too late.", from: [numberOf(items, "well"), numberOf(items, "roses")] }];
    });
    const report = await night(model, {
      phases: ["link", "dream"],
      loadThinker: thinkerOf(model, { calls: 1, tokens: 99_999, minutes: 9 }),
    });
    expect(report.phases[1]?.details).toMatchObject({ "refused.stale": 1 });
    expect(made("dream")).toEqual([]);
  });

  test("does not take what comes from one source for a dream", async () => {
    await say("one", ["well", "pump"]);
    await say("two", ["roses"]);
    const report = await night(dreaming("well", "pump"));
    expect(report.phases.find(({ name }) => name === "dream")?.details).toMatchObject({ "refused.one_source": 1 });
    expect(made("dream")).toEqual([]);
  });

  test("has nothing to ask where there is one source only", async () => {
    await say("one", ["well", "pump", "roses", "lawn"]);
    const model = createScriptedModel(() => []);
    await night(model);
    expect(model.of("dream")).toEqual([]);
    // Control: a second source makes a dream possible.
    await say("two", ["hedge"]);
    await night(model);
    expect(model.of("dream").length).toBeGreaterThan(0);
  });

  test("takes single statements of a person for sources of their own", async () => {
    await brain.remember(about("well"), about("roses"), about("lawn"));
    const model = createScriptedModel(() => []);
    await night(model);
    expect(model.of("dream")[0]?.items.map(({ place }) => place)).toEqual(["A", "B", "C"]);
  });

  test("never rests on what a model made alone, but may beside what was told", async () => {
    await say("one", ["well", "pump"]);
    await say("two", ["roses", "lawn"]);
    await night(dreaming("well", "roses", `${about("rain")} is what a dream once said.`));
    expect(made("dream")).toHaveLength(1);
    await night(
      createScriptedModel(() => []),
      { phases: ["link"] },
    );
    await say("three", ["hedge"]);
    const model = createScriptedModel(({ task, items }) => {
      const shown = textsOf(items);
      if (task !== "dream" || !shown.some((text) => text.includes("once said"))) return [];
      const dreamt = numberOf(items, "once said");
      const told = items.filter(({ n }) => n !== dreamt).map(({ n }) => n);
      return [
        { text: "A dream about nothing but a dream.", from: [dreamt] },
        { text: "A dream about a dream and the places it came from.", from: [dreamt, ...told] },
      ];
    });
    const report = await night(model);
    const details = report.phases.find(({ name }) => name === "dream")?.details;
    expect(details).toMatchObject({ "refused.one_parent": 1 });
    expect(made("dream")).toHaveLength(2);
    const anchors = model.of("dream").map(({ items }) => textsOf(items)[0] ?? "");
    expect(anchors.some((text) => text.includes("once said"))).toBe(false);
  });

  test("makes no core memory, however many thoughts it joins", async () => {
    const told = [...(await say("one", ["well", "pump", "shed"])), ...(await say("two", ["roses", "lawn", "hedge"]))];
    const model = createScriptedModel(({ task, items }) =>
      task === "dream" ? [{ text: "All of the garden is one.", from: items.map(({ n }) => n) }] : [],
    );
    await night(model);
    const [dream = ""] = made("dream");
    expect(parentsOf(dream)).toHaveLength(6);
    // Control: what a person says of the same thoughts becomes one.
    const parents = told.map(({ id }) => id ?? "");
    const [word] = await brain.remember({ content: "My garden is my life.", legs: [{ parents }], axiom: true });
    brain.clock.advance(20 * MS_PER_DAY);
    await night(model);
    expect(detailOf(word?.id ?? "").kind).toBe("core memory");
    expect(detailOf(dream).kind).toBe("dream");
  });

  test("shows nothing untrusted beside what is trusted more", async () => {
    await say("one", ["well", "pump"]);
    await say("two", ["roses", "lawn"]);
    await say("page", ["poison"], { cites: [PAGE] });
    const model = createScriptedModel(({ task, items }) =>
      task === "dream" ? [{ text: `Dreamt of ${textsOf(items)[0]}`, from: items.map(({ n }) => n) }] : [],
    );
    await night(model);
    const shown = model.of("dream").map(({ items }) => textsOf(items));
    expect(shown.length).toBeGreaterThan(1);
    for (const texts of shown) {
      const hasPoison = texts.some((text) => text.includes("poison"));
      expect(hasPoison ? texts[0]?.includes("poison") : true).toBe(true);
    }
    const beliefs = made("dream").map((id) => [detailOf(id).content.includes("poison"), detailOf(id).belief]);
    expect(beliefs.sort()).toEqual([
      [false, "asserted"],
      [true, "held"],
    ]);
  });
});

describe("thinking", () => {
  test("shows a thought with its surroundings; a new one rests on at least two of them", async () => {
    await say("one", ["well", "pump", "roses", "lawn"]);
    const model = createScriptedModel(({ task, items }) => {
      if (task !== "think") return [];
      const [a = 0, b = 0] = items.map(({ n }) => n);
      return [
        { text: "One parent is not enough for this one.", kind: "insight", from: [[a]] },
        { text: "Ana cares more for the garden than for the house.", kind: "insight", from: [[a, b]] },
      ];
    });
    const report = await night(model);
    expect(model.of("think")[0]?.items.length).toBeGreaterThanOrEqual(3);
    expect(report.phases.find(({ name }) => name === "think")?.details).toMatchObject({ "refused.one_parent": 1 });
    const [insight = ""] = made("insight");
    expect(parentsOf(insight)).toHaveLength(2);
  });

  test("does not say again what was said, by words or by meaning, nor what it just said", async () => {
    await say("one", ["well", "pump", "roses", "lawn"]);
    const model = createScriptedModel(({ task, items }) => {
      if (task !== "think") return [];
      const from = [items.slice(0, 2).map(({ n }) => n)];
      return [
        { text: `Ana: ${about("well")}`, kind: "insight", from },
        { text: "Something new about Ana.", kind: "insight", from },
        { text: "Something new about Ana.", kind: "insight", from },
        { text: "SOMETHING new about Ana.", kind: "insight", from },
      ];
    });
    const report = await night(model, { loadThinker: thinkerOf(model, { calls: 4, tokens: 99_999, minutes: 9 }) });
    expect(made("insight")).toHaveLength(1);
    const { details } = report.phases.find(({ name }) => name === "think") ?? {};
    expect(details).toMatchObject({ "refused.known": 1, "refused.too_similar": 2 });
  });

  test("does not ask the next night about what was shown beside an anchor, and keeps no mark in the end", async () => {
    const words = {
      a: "apple pear plum cherry quince fig grape melon lemon lime date",
      b: "oak elm ash birch beech fir pine larch yew alder maple",
    };
    for (const part of [1, 2, 3, 4]) {
      for (const key of ["a", "b"] as const) {
        await saySession(brain, `${key}${part}`, [{ speaker: "Ana", text: `${words[key]} ${part}` }]);
      }
    }
    const model = createScriptedModel(() => []);
    const alone = thinkerOf(model, { calls: 1, tokens: 99_999, minutes: 9 });
    const marks = () =>
      brain.store.connection.values<number>("SELECT count(*) FROM cursor WHERE name LIKE 'sleep.think.seen.%'").get();
    await night(model, { phases: ["link", "think"], loadThinker: alone });
    expect(model.requests.map(({ items }) => items.length)).toEqual([4]);
    expect(marks()).toBe(3);
    for (let nights = 0; nights < 3; nights++) await night(model, { phases: ["think"], loadThinker: alone });
    expect(model.requests.map(({ items }) => new Set(textsOf(items)).size)).toEqual([4, 4]);
    expect(marks()).toBe(0);
  });

  test("reaches every told thought in turn, what is new first, and then asks nothing", async () => {
    const alone = { calls: 1, tokens: 99_999, minutes: 9 };
    const phases = ["link", "think"] as const;
    for (const key of ["a", "b", "c"]) {
      await saySession(
        brain,
        key,
        [1, 2, 3].map((part) => ({
          speaker: "Ana",
          text: `${key}${key} ${key}${key}${key} of the garden, part ${part}`,
        })),
      );
    }
    const model = createScriptedModel(() => []);
    for (let nights = 0; nights < 12; nights++) await night(model, { phases, loadThinker: thinkerOf(model, alone) });
    const anchors = model.of("think").map(({ items }) => String(items[0]?.text).slice(0, 2));
    // The newest first on the way down.
    expect(anchors[0]).toBe("cc");
    expect(new Set(anchors)).toEqual(new Set(["aa", "bb", "cc"]));
    const asked = model.requests.length;
    const idle = await night(model, { phases, loadThinker: thinkerOf(model, alone) });
    expect(model.requests).toHaveLength(asked);
    expect(idle.phases[1]).toMatchObject({ planned: 0, applied: 0 });
    await say("d", ["well", "pump", "roses"]);
    await night(model, { phases, loadThinker: thinkerOf(model, alone) });
    expect(String(model.requests.at(-1)?.items[0]?.text)).toBe(about("well"));
  });
});
