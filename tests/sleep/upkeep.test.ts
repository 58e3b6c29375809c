/** The night's upkeep: words analysed anew in batches after the analyser changed, from wherever the last night stopped. */
import { expect, test } from "vitest";
import { MS_PER_MINUTE } from "../../src/core/clock.ts";
import { rebuildFullText } from "../../src/remember/rebuild.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import type { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const TEXTS = 900;

/** A brain whose index an analyser made that knows other words. */
async function outdatedBrain(): Promise<TestStore> {
  const brain = createTestStore();
  const { store } = brain;
  await brain.remember(...Array.from({ length: TEXTS }, (_, index) => `The kettle number ${index} is descaled in May`));
  store.write(() => {
    for (const id of store.thoughts.idsAfter(0, TEXTS)) {
      store.fullText.replace(id, ["teapot", `item${id}`], store.thoughts.tokenCount(id));
      store.thoughts.setTokenCount(id, 2);
    }
  });
  store.write(() => store.connection.db.exec("UPDATE full_text_state SET analyser = 'older'"));
  return brain;
}

const indexOf = ({ connection }: Store) => ({
  forward: connection.sql("SELECT node_id, terms FROM forward_index ORDER BY node_id").all(),
  frequencies: connection.sql("SELECT term_id, document_count FROM term_frequency ORDER BY term_id").all(),
  state: connection.sql("SELECT * FROM full_text_state").all(),
  tokens: connection.sql("SELECT id, token_count FROM node ORDER BY id").all(),
});
const found = ({ connection }: Store, word: string) =>
  connection.values<number>("SELECT rowid FROM full_text WHERE full_text MATCH ?").all(word).length;

test("words are analysed anew in batches, over several nights, as if all had been at once", async () => {
  const brain = await outdatedBrain();
  const { store } = brain;
  expect([found(store, "teapot"), found(store, "kettl")]).toEqual([TEXTS, 0]);
  const onProgress = () => brain.clock.advance(2 * MS_PER_MINUTE);
  const nights: number[] = [];
  while (store.fullText.isOutdated()) {
    const report = await runSleep(store, brain.embedder, { phases: ["upkeep"], maxMinutes: 3, onProgress });
    nights.push(found(store, "kettl"));
    const isLast = !store.fullText.isOutdated();
    expect(report.phases[0]).toMatchObject({ planned: 2, applied: isLast ? 2 : 0 });
    // Searches between the nights find every text under the words of one analyser or the other.
    expect(found(store, "kettl") + found(store, "teapot")).toBe(TEXTS);
    // What is remembered between two nights is of the new analyser, and is counted once.
    if (nights.length === 1) await brain.remember("A word that comes between two nights");
  }
  expect(nights.length).toBeGreaterThan(1);
  expect(nights[0]).toBeLessThan(TEXTS);
  expect(checkIntegrity(store).filter(({ violations }) => violations > 0)).toEqual([]);
  const renewed = indexOf(store);
  rebuildFullText(store);
  expect(renewed).toEqual(indexOf(store));
  expect((await runSleep(store, brain.embedder, { phases: ["upkeep"] })).phases[0]?.planned).toBe(0);
  brain.close();
});

test("a round that another analyser began is begun anew", async () => {
  const brain = await outdatedBrain();
  const { store } = brain;
  store.write(() => {
    store.operations.moveCursor("full_text.renewed", Number.MAX_SAFE_INTEGER);
    store.operations.moveCursor("full_text.renewing", 1);
  });
  await runSleep(store, brain.embedder, { phases: ["upkeep"] });
  expect([found(store, "teapot"), found(store, "kettl")]).toEqual([0, TEXTS]);
  brain.close();
});
