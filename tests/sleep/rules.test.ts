/** Forty nights over a brain with pins, core memories and untrusted thoughts, each beside copies of itself. */
import { expect, test } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import type { RememberInput, Trust } from "../../src/core/types.ts";
import { recall } from "../../src/recall/recall.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { WIDE } from "../support/cells.ts";

const alone = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");
const shout = (text: string) => text.replace(/^\w/, (letter) => letter.toUpperCase());
const from = (key: string, trust: Trust): NonNullable<RememberInput["occurrence"]> => ({
  source: { type: trust === "untrusted" ? "page" : "file", key, name: key, trust },
});

const nodeOf = (brain: TestStore, id: string) => brain.store.thoughts.resolve(id);
const state = (brain: TestStore, id: string) => brain.store.thoughts.state(nodeOf(brain, id));
const trust = (brain: TestStore, id: string) =>
  brain.store.connection.sql<{ trust: number }>("SELECT trust FROM node WHERE id = ?").get(nodeOf(brain, id))?.trust;
const remember = async (brain: TestStore, ...inputs: RememberInput[]) =>
  (await brain.remember(...inputs)).map(({ id }) => id ?? "");

function pin(brain: TestStore, id: string): void {
  brain.store.write(() =>
    brain.store.ledger.record({
      kind: "permanence.changed",
      actor: "person",
      payload: {},
      changes: [{ nodeId: nodeOf(brain, id), axis: "permanence", to: 2 }],
    }),
  );
}

async function sleepFor(brain: TestStore, nights: number): Promise<void> {
  for (let night = 0; night < nights; night++) {
    brain.clock.advance(MS_PER_DAY);
    const { phases } = await runSleep(brain.store, brain.embedder);
    expect(phases.filter(({ error }) => error !== undefined)).toEqual([]);
  }
  expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
}

test("pins, cores and what was earned stay in sight for ever; their copies stand behind them, isolated ones go", async () => {
  const brain = createTestStore({ dimensions: WIDE });
  const pinned = await remember(brain, ...["pin1", "pin2", "pin3"].map((name) => ({ content: alone(name) })));
  for (const id of pinned) pin(brain, id);
  const [core = "", mine = "", earned = ""] = await remember(
    brain,
    { content: alone("hub") },
    { content: alone("mine"), kind: "core memory" },
    { content: alone("earned") },
  );
  await remember(
    brain,
    ...Array.from({ length: 12 }, (_, index) => ({ content: alone(`spoke${index}`), legs: [{ parents: [core] }] })),
  );
  const plain = await remember(
    brain,
    ...Array.from({ length: 80 }, (_, index) => ({ content: alone(`plain${index}`) })),
  );
  brain.store.write(() => {
    const today = dayOf(brain.clock.now());
    for (let day = 0; day < 12; day++) brain.store.operations.noteAccess([nodeOf(brain, earned)], today + day);
  });
  await sleepFor(brain, 16);
  // Copies that are better founded: trusted, and met in two places.
  const copies: string[] = [];
  for (const name of ["pin1", "hub", "mine", "earned"]) {
    const kind = name === "mine" ? { kind: "core memory" } : {};
    const content = shout(alone(name));
    await remember(brain, { content, ...kind, occurrence: from(`${name}-a`, "trusted") });
    copies.push(...(await remember(brain, { content, ...kind, occurrence: from(`${name}-b`, "trusted") })));
  }
  await sleepFor(brain, 24);

  for (const id of [...pinned, core, earned]) {
    expect(state(brain, id)).toMatchObject({ decayed: "none", mergedInto: null });
  }
  expect(pinned.map((id) => state(brain, id).permanence)).toEqual(pinned.map(() => "pinned"));
  expect(state(brain, earned).permanence).toBe("earned");
  expect([core, mine].map((id) => brain.store.labels.text(state(brain, id).kindId))).toEqual([
    "core memory",
    "core memory",
  ]);
  const [pinCopy = "", hubCopy = "", mineCopy = "", earnedCopy = ""] = copies;
  expect(state(brain, pinCopy).mergedInto).toBe(nodeOf(brain, pinned[0] ?? ""));
  expect(state(brain, hubCopy).mergedInto).toBe(nodeOf(brain, core));
  expect(state(brain, earnedCopy).mergedInto).toBe(nodeOf(brain, earned));
  // A person called both so: more legs decide, and what is left decays no more than the others.
  expect(state(brain, mine).mergedInto).toBe(nodeOf(brain, mineCopy));
  expect(state(brain, mineCopy).decayed).toBe("none");
  // Control: what nothing holds is gone.
  expect(plain.filter((id) => state(brain, id).decayed === "disuse").length).toBeGreaterThan(plain.length / 2);
  brain.close();
});

test("an untrusted copy neither survives a trusted one nor gains its trust, and goes alone when its page is pulled back", async () => {
  const brain = createTestStore({ dimensions: WIDE });
  const text = alone("claim");
  // The page said it first, and in two places: age and legs count for less than trust.
  const [poison = ""] = await remember(brain, { content: shout(text), occurrence: from("page-1", "untrusted") });
  await remember(brain, { content: shout(text), occurrence: from("page-2", "untrusted") });
  brain.clock.advance(1000);
  const [trusted = ""] = await remember(brain, { content: text, occurrence: from("diary", "trusted") });
  const [lonely = ""] = await remember(brain, { content: alone("rumour"), occurrence: from("page-1", "untrusted") });
  const before = [trusted, poison, lonely].map((id) => trust(brain, id));
  expect(new Set(before).size).toBe(2);
  await sleepFor(brain, 3);
  expect(state(brain, poison).mergedInto).toBe(nodeOf(brain, trusted));
  expect([trusted, poison, lonely].map((id) => trust(brain, id))).toEqual(before);

  const page = (key: string) => brain.store.thoughts.publicId(brain.store.sources.find("page", key) ?? 0);
  recall(brain.store, { ids: [page("page-1"), page("page-2")] }, {}, "person");
  await sleepFor(brain, 1);
  expect(brain.store.recalls.fallenAt(Number.POSITIVE_INFINITY).has(nodeOf(brain, poison))).toBe(true);
  expect(state(brain, trusted)).toMatchObject({ decayed: "none", mergedInto: null });
  expect(trust(brain, trusted)).toBe(before[0]);
  brain.close();
});
