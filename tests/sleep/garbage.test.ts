import { expect, test } from "vitest";
import { runSleep } from "../../src/sleep/cycle.ts";
import type { Axis } from "../../src/store/ledger.ts";
import { createTestStore } from "../support/brain.ts";
import { readAllTables } from "../support/sleep-state.ts";

const text = (name: string) => `the ${name} stands in the cellar behind the ${name}`;

test("what is out of search is counted by the reason that weighs most, in nodes and bytes, and stays", async () => {
  const brain = createTestStore();
  const { store } = brain;
  const names = ["kept", "unused", "followed", "forgotten", "lost", "replaced", "refused", "held", "copied", "erased"];
  const results = await brain.remember(...names.map(text));
  const ids = new Map(names.map((name, index) => [name, store.thoughts.resolve(results[index]?.id ?? "")]));
  const set = (name: string, axis: Axis, to: number) =>
    store.write(() =>
      store.ledger.record({
        kind: "decayed",
        actor: "person",
        payload: {},
        changes: [{ nodeId: ids.get(name) ?? 0, axis, to }],
      }),
    );
  const gc = async () => (await runSleep(store, brain.embedder, { phases: ["gc"] })).phases[0];
  expect(await gc()).toMatchObject({ planned: 0, applied: 0, details: { nodes: 0, bytes: 0 } });
  set("unused", "decayed", 1);
  set("followed", "decayed", 2);
  set("forgotten", "decayed", 3);
  set("lost", "decayed", 4);
  set("replaced", "belief", 3);
  set("replaced", "decayed", 1);
  set("refused", "belief", 5);
  set("held", "belief", 4);
  set("copied", "merged_into", ids.get("kept") ?? 0);
  set("erased", "decayed", 1);
  set("erased", "erased_by", 1);
  const before = readAllTables(store);
  const report = await gc();
  expect(report?.details).toMatchObject({
    nodes: 7,
    "nodes.disuse": 1,
    "nodes.cascade": 1,
    "nodes.forgotten": 1,
    "nodes.source_gone": 1,
    "nodes.superseded": 1,
    "nodes.rejected": 1,
    "nodes.merged": 1,
  });
  const id = ids.get("unused") ?? 0;
  const terms = store.fullText.packedTerms(id)?.length ?? 0;
  expect(report?.details?.["bytes.disuse"]).toBe(Buffer.byteLength(text("unused")) + terms + 64);
  const { lease: _before, ...tables } = before;
  const { lease: _after, ...after } = readAllTables(store);
  expect(after).toEqual(tables);
  brain.close();
});
