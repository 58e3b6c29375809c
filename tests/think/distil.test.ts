import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DormouseError } from "../../src/core/errors.ts";
import type { RememberResult } from "../../src/core/types.ts";
import { recall, unrecall } from "../../src/recall/recall.ts";
import { runSleep, type SleepOptions } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createScriptedModel, numberOf, type ScriptedModel, thinkerOf } from "../support/scripted-model.ts";
import { PAGE, saySession } from "../support/sessions.ts";

const MOVE = "We are moving from Porto to a flat in the Graça quarter of Lisbon in June, it is decided.";
const RENT = "The landlady wants 1,150 euros a month and two months in advance, which we can afford.";
const CHAT = "Lovely weather today, is it not? I could sit in the garden for ever and a day.";
const DISTILLED = "Ana is moving from Porto to Graça in Lisbon in June.";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const night = (model: ScriptedModel | null, options: SleepOptions = {}) =>
  runSleep(brain.store, brain.embedder, {
    phases: ["distil"],
    ...(model === null ? {} : { loadThinker: thinkerOf(model) }),
    ...options,
  });

const say = (key = "one", texts: readonly string[] = [MOVE, RENT, CHAT]) =>
  saySession(
    brain,
    key,
    texts.map((text) => ({ speaker: "Ana", text })),
  );

const idOf = (results: readonly RememberResult[], index: number) => results[index]?.id ?? "";

/** Answers with one thought that rests on the turn with the move, together with the one about the rent. */
const distilling = () =>
  createScriptedModel(({ items }) => [
    { text: DISTILLED, kind: "decision", from: [[numberOf(items, "Graça"), numberOf(items, "landlady")]] },
  ]);

function made(): { id: string; content: string; kind: string; trust: string; belief: string; visible: boolean }[] {
  const ids = brain.store.connection
    .sql<{ id: number }>(
      "SELECT DISTINCT o.node_id AS id FROM occurrence o JOIN source s ON s.node_id = o.source_id WHERE s.type = 4 ORDER BY 1",
    )
    .all();
  return ids.map(({ id }) => {
    const { content, kind, trust, belief, state, ...detail } = brain.store.thoughts.detail(id);
    return { id: detail.id, content, kind, trust, belief, visible: state.visible };
  });
}

describe("distilling a session", () => {
  test("makes a thought that rests on the very turns, and on the model", async () => {
    const turns = await say();
    const model = distilling();
    await expectAudited(brain.store, () => night(model));
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]?.items.map(({ who, text }) => [who, text])).toEqual([
      ["Ana", MOVE],
      ["Ana", RENT],
      ["Ana", CHAT],
    ]);
    const [thought] = made();
    expect(made()).toHaveLength(1);
    expect(thought).toMatchObject({ content: DISTILLED, kind: "decision", trust: "unknown", visible: true });
    const nodeId = brain.store.thoughts.resolve(thought?.id ?? "");
    const legs = brain.store.legs.sample(nodeId, 10, 10);
    expect(legs).toHaveLength(1);
    const parents = legs[0]?.parentIds.map((id) => brain.store.thoughts.publicId(id)) ?? [];
    expect(parents.filter((id) => id.startsWith("n_")).sort()).toEqual([idOf(turns, 0), idOf(turns, 1)].sort());
    expect(brain.store.sources.get(legs[0]?.parentIds.at(-1) ?? 0)?.name).toBe("sleep:scripted");
    // As old as what it was distilled from, not as the night.
    expect(brain.store.thoughts.detail(nodeId).referent?.from).toBe(new Date(brain.clock.now()).toISOString());
    expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
  });

  test("gives several legs when the model cites several reasons", async () => {
    await say();
    const model = createScriptedModel(({ items }) => [
      { text: DISTILLED, kind: "fact", from: [[numberOf(items, "Graça")], [numberOf(items, "landlady")]] },
    ]);
    await night(model);
    const nodeId = brain.store.thoughts.resolve(made()[0]?.id ?? "");
    expect(brain.store.legs.sample(nodeId, 10, 10).map(({ parentIds }) => parentIds.length)).toEqual([2, 2]);
  });

  test("shows each turn once, whatever the night's budget, and a second night asks nothing", async () => {
    for (const key of ["a", "b", "c"]) {
      await say(
        key,
        [1, 2, 3].map((index) => `${MOVE} Session ${key}, sentence ${index}, for the record.`),
      );
    }
    const model = createScriptedModel(() => []);
    const budget = { calls: 1, tokens: 100_000, minutes: 10 };
    const first = await night(model, { loadThinker: thinkerOf(model, budget) });
    expect(first.phases[0]?.details).toMatchObject({ requests: 1, stopped: 1 });
    await night(model, { loadThinker: thinkerOf(model, budget) });
    await night(model, { loadThinker: thinkerOf(model, budget) });
    await night(model, { loadThinker: thinkerOf(model, budget) });
    const shown = model.requests.map(({ items }) => items.map(({ text }) => String(text).match(/Session (\w)/)?.[1]));
    expect(shown).toEqual([
      ["a", "a", "a"],
      ["b", "b", "b"],
      ["c", "c", "c"],
    ]);
    expect((await night(model)).phases[0]).toMatchObject({ planned: 0, applied: 0 });
    expect(model.requests).toHaveLength(3);
  });

  test("a session that goes on is distilled from where it was, with a few turns before", async () => {
    await say("one", [MOVE, RENT]);
    const model = createScriptedModel(() => []);
    await night(model);
    await saySession(brain, "one", [{ speaker: "Ana", text: `And then: ${MOVE}` }], brain.clock.now() + 600_000);
    await night(model);
    expect(model.requests.map(({ items }) => items.length)).toEqual([2, 3]);
    expect(model.requests[1]?.items.at(-1)?.text).toBe(`And then: ${MOVE}`);
  });

  test("is skipped without a model, and a dry run asks nobody and writes nothing", async () => {
    await say();
    expect((await night(null)).phases[0]).toMatchObject({ planned: 0, applied: 0, details: { skipped: 1 } });
    const model = distilling();
    const head = brain.store.ledger.head().seq;
    const report = await night(model, { dryRun: true });
    expect(report.phases[0]).toMatchObject({ planned: 0, applied: 0, details: { requests: 1 } });
    expect(model.requests).toEqual([]);
    expect(brain.store.ledger.head().seq).toBe(head);
    // Control: a real night does ask.
    await night(model);
    expect(model.requests).toHaveLength(1);
  });

  test("says the same again in another session: the thought gets a leg of its own there", async () => {
    await say("one");
    await say("two", [`${MOVE} Truly.`, `${RENT} Truly.`]);
    await night(distilling());
    expect(made()).toHaveLength(1);
    const nodeId = brain.store.thoughts.resolve(made()[0]?.id ?? "");
    expect(brain.store.legs.sample(nodeId, 10, 10)).toHaveLength(2);
    expect(brain.store.occurrences.count(nodeId)).toBe(2);
  });
});

describe("recall of what a thought was distilled from", () => {
  test("takes it along, and its undoing brings it back", async () => {
    const turns = await say();
    await night(distilling());
    const session = brain.store.thoughts.publicId(brain.store.sources.find("session", "one") ?? 0);
    expect(made()[0]).toMatchObject({ visible: true });
    const { event } = recall(brain.store, { ids: [session] }, {}, "person");
    expect(made()[0]).toMatchObject({ visible: false });
    unrecall(brain.store, event ?? "", "person");
    expect(made()[0]).toMatchObject({ visible: true });
    // One turn of the leg is enough to fell it.
    recall(brain.store, { ids: [idOf(turns, 1)] }, {}, "person");
    expect(made()[0]).toMatchObject({ visible: false });
  });

  test("of the model takes all that it made and nothing else", async () => {
    const turns = await say();
    await night(distilling());
    const { event } = recall(brain.store, { sources: "sleep:*" }, {}, "person");
    expect(made()[0]).toMatchObject({ visible: false });
    for (const { id } of turns) {
      expect(brain.store.thoughts.detail(brain.store.thoughts.resolve(id ?? "")).state.visible).toBe(true);
    }
    // Nothing that it says could stand, so it is not asked; another one, or after an undo, is.
    await say("two", [`${MOVE} Truly.`, `${RENT} Truly.`]);
    const recalled = distilling();
    const report = await night(recalled);
    expect(report.phases[0]?.details).toEqual({ skipped: 1, model_recalled: 1 });
    expect(recalled.requests).toEqual([]);
    unrecall(brain.store, event ?? "", "person");
    await night(recalled);
    expect(recalled.requests).toHaveLength(1);
  });
});

describe("answers that are not taken", () => {
  const refusedBy = async (answers: readonly unknown[], turns: readonly string[] = [MOVE, RENT, CHAT]) => {
    await say("one", turns);
    const report = await night(createScriptedModel(() => answers));
    return report.phases[0];
  };

  test.each([
    ["a number that was not given", { text: DISTILLED, kind: "fact", from: [[9]] }, "refused.unknown_number"],
    ["words of its own fence", { text: "<dormouse:material x>", kind: "fact", from: [[1]] }, "refused.own_output"],
    ["nothing but blanks", { text: "  \n ", kind: "fact", from: [[1]] }, "refused.shape"],
    ["what a turn says already", { text: `Ana: ${MOVE}`, kind: "fact", from: [[1]] }, "refused.too_similar"],
  ])("%s", async (_, answer, rule) => {
    expect(await refusedBy([answer])).toMatchObject({ planned: 1, applied: 0, details: { [rule]: 1 } });
    expect(made()).toEqual([]);
  });

  test.each([
    ["no JSON", "I would rather tell you a story."],
    ["an unknown field", JSON.stringify({ answers: [{ text: "x", kind: "fact", from: [[1]], run: "rm -rf" }] })],
    ["a kind that is not offered", JSON.stringify({ answers: [{ text: "x", kind: "core memory", from: [[1]] }] })],
    ["a text that is too long", JSON.stringify({ answers: [{ text: "x".repeat(1_001), kind: "fact", from: [[1]] }] })],
    ["an id in place of a number", JSON.stringify({ answers: [{ text: "x", kind: "fact", from: [["n_0"]] }] })],
  ])("a whole reply with %s is refused, asked for once more, counted and left behind", async (_, reply) => {
    await say();
    const model = createScriptedModel(() => reply);
    const report = await night(model);
    expect(report.phases[0]).toMatchObject({ planned: 0, applied: 0, details: { requests: 1, invalid: 1 } });
    expect(report.phases[0]?.error).toBeUndefined();
    expect(model.requests).toHaveLength(2);
    expect(made()).toEqual([]);
    await night(model);
    expect(model.requests).toHaveLength(2);
  });

  test("what a person rejected stays away, and so does what was forgotten", async () => {
    await say();
    await night(distilling());
    const id = made()[0]?.id ?? "";
    const nodeId = brain.store.thoughts.resolve(id);
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "decayed",
        actor: "person",
        payload: { node: id },
        changes: [{ nodeId, axis: "decayed", to: 3 }],
      }),
    );
    await say("two", [`${MOVE} Truly.`, `${RENT} Truly.`]);
    const report = await night(distilling());
    expect(report.phases[0]?.details).toMatchObject({ "refused.known": 1 });
    expect(made()[0]).toMatchObject({ visible: false });
  });
});

describe("turns that rest on an untrusted page", () => {
  const ADVICE = "According to that page the person must move all savings to the account of the page's owner.";

  test("are shown apart, and what is made of them waits for review", async () => {
    await saySession(brain, "one", [
      { speaker: "Ana", text: MOVE },
      { speaker: "assistant", text: ADVICE, cites: [PAGE] },
      { speaker: "Ana", text: RENT },
    ]);
    const model = createScriptedModel(({ items }) => [
      { text: `Noted: ${String(items[0]?.text).slice(0, 40)}`, kind: "fact", from: [[1]] },
    ]);
    const report = await night(model);
    expect(model.requests.map(({ items }) => items.map(({ text }) => text))).toEqual([[MOVE, RENT], [ADVICE]]);
    expect(made().map(({ belief, visible, trust }) => [belief, visible, trust])).toEqual([
      ["asserted", true, "unknown"],
      ["held", false, "untrusted"],
    ]);
    expect(report.phases[0]?.details).toMatchObject({ for_review: 1 });
    expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
  });

  test("cannot lend a leg to what stands without them", async () => {
    await say();
    await night(distilling());
    await saySession(brain, "two", [{ speaker: "assistant", text: ADVICE, cites: [PAGE] }]);
    const report = await night(createScriptedModel(() => [{ text: DISTILLED, kind: "decision", from: [[1]] }]));
    expect(report.phases[0]?.details).toMatchObject({ "refused.known": 1 });
    const nodeId = brain.store.thoughts.resolve(made()[0]?.id ?? "");
    expect(brain.store.legs.sample(nodeId, 10, 10)).toHaveLength(1);
  });
});

describe("scopes", () => {
  test("are never mixed in one request, and a secret is shown to nobody", async () => {
    const turn = (text: string) => [{ speaker: "Ana", text }];
    await saySession(brain, "work", turn(`${MOVE} At work.`), undefined, { scope: "work" });
    await saySession(brain, "home", turn(`${MOVE} At home.`));
    await saySession(brain, "safe", turn(`${MOVE} In the safe.`), undefined, { scope: "secret" });
    const model = createScriptedModel(({ items }) => [
      { text: `Distilled: ${String(items[0]?.text).slice(-12)}`, kind: "fact", from: [[1]] },
    ]);
    await night(model);
    expect(model.requests.map(({ items }) => items.map(({ text }) => String(text).slice(-8)))).toEqual([
      ["At work."],
      ["At home."],
    ]);
    expect(model.requests.some(({ request }) => request.prompt.includes("safe"))).toBe(false);
    expect(made().map(({ id }) => brain.store.thoughts.detail(brain.store.thoughts.resolve(id)).scope)).toEqual([
      "work",
      "personal",
    ]);
  });
});

describe("a model that fails", () => {
  const unreachable = () => new DormouseError("llm_unreachable", "nobody is there");

  test("fails its phase, is left alone by the later ones, and is asked the same the next night", async () => {
    await say();
    const broken = createScriptedModel(unreachable);
    const report = await night(broken, { phases: ["distil", "think", "dream", "upkeep"] });
    expect(report.phases.map(({ name, error, details }) => [name, error?.code ?? null, details?.skipped ?? 0])).toEqual(
      [
        ["distil", "llm_unreachable", 0],
        ["think", null, 1],
        ["dream", null, 1],
        ["upkeep", null, 0],
      ],
    );
    expect(broken.requests).toHaveLength(1);
    const model = distilling();
    await night(model);
    expect(made()).toHaveLength(1);
  });

  test("that never can answer one request is stepped over after three nights", async () => {
    await say();
    await say("two", [`${RENT} Second session.`]);
    const model = createScriptedModel(({ items }) =>
      items.some(({ text }) => String(text).includes("Second")) ? [] : new DormouseError("llm_timeout", "too slow"),
    );
    for (let nights = 0; nights < 3; nights++) expect((await night(model)).phases[0]?.error?.code).toBe("llm_timeout");
    const fourth = await night(model);
    expect(fourth.phases[0]?.error).toBeUndefined();
    expect(fourth.phases[0]?.details).toMatchObject({ given_up: 1, requests: 1 });
  });
});
