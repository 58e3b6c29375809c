/** Contradictions: both sides disputed, nothing settled, and no page may cast doubt on what a person said. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resolve } from "../../src/recall/belief.ts";
import { runSleep, type SleepOptions } from "../../src/sleep/cycle.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createScriptedModel, type ScriptedModel, thinkerOf } from "../support/scripted-model.ts";
import { PAGE, saySession } from "../support/sessions.ts";

const DRY = "The cellar of the old house by the river is dry in winter";
const WET = "The cellar of the old house by the river is wet in winter";
const HOUSE = "The roof of the old house by the river is new since winter";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const phases = ["link", "tension"] as const;
const night = (model: ScriptedModel, options: SleepOptions = {}) =>
  runSleep(brain.store, brain.embedder, { loadThinker: thinkerOf(model), phases, ...options });
const say = (key: string, text: string, cites = {}) => saySession(brain, key, [{ speaker: "Ana", text, ...cites }]);
const detailOf = (id: string) => brain.store.thoughts.detail(brain.store.thoughts.resolve(id));

/** Names the pair of the wet and the dry cellar. */
const finding = (text = "One says that the cellar is dry, the other that it is wet.") =>
  createScriptedModel(({ items }) => {
    const pair = items.find(
      ({ a, b }) => String(a).slice(-14) !== String(b).slice(-14) && !`${a}${b}`.includes("roof"),
    );
    return pair === undefined ? [] : [{ pair: pair.n, text }];
  });

function tensions(): string[] {
  return brain.store
    .read(() => brain.store.thoughts.list({ kinds: ["tension"], state: "all", limit: 100 }))
    .map((id) => brain.store.thoughts.publicId(id));
}

/** All three are linked by hand: what links is the link phase's matter. */
function linkAll(ids: readonly string[]): void {
  const nodes = ids.map((id) => brain.store.thoughts.resolve(id));
  brain.store.write(() =>
    brain.store.links.add(
      nodes.flatMap((fromId, at) =>
        nodes.slice(at + 1).map((toId) => ({ type: "similar" as const, fromId, toId, weight: 800 })),
      ),
      "sleep",
    ),
  );
}

async function house(cites = {}): Promise<[dry: string, wet: string, roof: string]> {
  const results = [...(await say("one", DRY)), ...(await say("two", WET, cites)), ...(await say("three", HOUSE))];
  const [dry = "", wet = "", roof = ""] = results.map(({ id }) => id ?? "");
  linkAll([dry, wet, roof]);
  return [dry, wet, roof];
}

describe("a contradiction", () => {
  test("makes both disputed, with a link and a thought that says how; the others stay as they are", async () => {
    const [dry, wet, roof] = await house();
    const model = finding();
    await expectAudited(brain.store, () => night(model, { phases: ["tension"] }));
    expect(model.requests[0]?.items).toHaveLength(3);
    expect([dry, wet, roof].map((id) => detailOf(id).belief)).toEqual(["disputed", "disputed", "asserted"]);
    expect([dry, wet].map((id) => detailOf(id).state.visible)).toEqual([true, true]);
    const link = brain.store.beliefs.linkBetween(
      "contradicts",
      brain.store.thoughts.resolve(dry),
      brain.store.thoughts.resolve(wet),
    );
    expect(link).not.toBeNull();
    expect(tensions().map((id) => [detailOf(id).content, detailOf(id).belief])).toEqual([
      ["One says that the cellar is dry, the other that it is wet.", "asserted"],
    ]);
  });

  test("is named and disputed at once or not at all, and the next night does what one was ended in", async () => {
    const [dry, wet] = await house();
    const { db } = brain.store.connection;
    const nodes = () => db.prepare("SELECT count(*) FROM node").pluck().get();
    const before = nodes();
    // As if the process were killed when it writes the thought that says how.
    db.exec(
      `CREATE TEMP TRIGGER killed BEFORE INSERT ON main.node WHEN NEW.role = 1 BEGIN SELECT RAISE(ABORT, 'killed'); END`,
    );
    const { phases: reports } = await night(finding(), { phases: ["tension"] });
    expect(reports[0]).toHaveProperty("error");
    expect(nodes()).toBe(before);
    expect([dry, wet].map((id) => detailOf(id).belief)).toEqual(["asserted", "asserted"]);
    db.exec("DROP TRIGGER temp.killed");
    await night(finding(), { phases: ["tension"] });
    expect([dry, wet].map((id) => detailOf(id).belief)).toEqual(["disputed", "disputed"]);
    expect(tensions()).toHaveLength(1);
  });

  test("is never opened again once a person has settled it, and the tension is stale then", async () => {
    const [dry, wet] = await house();
    await night(finding(), { phases: ["tension"] });
    resolve(brain.store, dry, "person", {});
    expect([detailOf(dry).belief, detailOf(wet).belief]).toEqual(["asserted", "superseded"]);
    expect(detailOf(tensions()[0] ?? "").stale).toBe(true);
    brain.store.write(() => {
      for (const name of ["sleep.tension.high", "sleep.tension.low"]) brain.store.operations.dropCursor(name);
    });
    const model = finding();
    await night(model, { phases: ["tension"] });
    expect(detailOf(dry).belief).toBe("asserted");
    expect(model.requests.flatMap(({ items }) => items).some(({ a, b }) => `${a}${b}`.includes(WET))).toBe(false);
  });

  test("of two that a person called compatible stays settled", async () => {
    const [dry, wet] = await house();
    await night(finding(), { phases: ["tension"] });
    resolve(brain.store, dry, "person", { both: true });
    brain.store.write(() => {
      for (const name of ["sleep.tension.high", "sleep.tension.low"]) brain.store.operations.dropCursor(name);
    });
    const model = finding();
    await night(model, { phases: ["tension"] });
    // Control: the pairs with the roof are asked about again.
    expect(model.requests[0]?.items).toHaveLength(2);
    expect([detailOf(dry).belief, detailOf(wet).belief]).toEqual(["asserted", "asserted"]);
  });

  test("with an untrusted side disputes nothing: the tension waits for review", async () => {
    const [dry, wet, roof] = await house({ cites: [PAGE] });
    const model = finding();
    await night(model, { phases: ["tension"] });
    // The pair without the page is asked apart from those with it.
    expect(model.requests.map(({ items }) => items.length).sort()).toEqual([1, 2]);
    expect([dry, wet, roof].map((id) => detailOf(id).belief)).toEqual(["asserted", "asserted", "asserted"]);
    expect(tensions().map((id) => [detailOf(id).belief, detailOf(id).state.visible, detailOf(id).trust])).toEqual([
      ["held", false, "untrusted"],
    ]);
  });

  test("is named by a pair that was given, or refused", async () => {
    await house();
    const report = await night(
      createScriptedModel(() => [{ pair: 4, text: "Nothing of that kind." }]),
      {
        phases: ["tension"],
      },
    );
    expect(report.phases[0]?.details).toMatchObject({ "refused.unknown_number": 1 });
    expect(tensions()).toEqual([]);
  });

  test("is looked for once: a second night asks nothing", async () => {
    await house();
    const model = createScriptedModel(() => []);
    await night(model, { phases: ["tension"] });
    await night(model, { phases: ["tension"] });
    expect(model.requests).toHaveLength(1);
  });
});
