import { describe, expect, test } from "vitest";
import { createCellSearch, createExactSearch, type NeighborSearch } from "../../src/sleep/neighbors.ts";
import { thoughtsInOrder } from "../../src/store/sleep-links.ts";
import type { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const WORDS = "river stone lamp garden winter bread music harbour paper cloud wool salt bridge clock mirror fox".split(
  " ",
);

/** Texts of five words out of sixteen, so that many are near each other and none is alone. */
function phrase(seed: number): string {
  let state = seed * 2654435761 + 1;
  const pick = () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return WORDS[(state >>> 16) % WORDS.length];
  };
  return `${Array.from({ length: 5 }, pick).join(" ")} ${seed}`;
}

async function brainOf(count: number): Promise<TestStore> {
  const brain = createTestStore();
  const scopes = ["personal", "work"];
  await brain.remember(
    ...Array.from({ length: count }, (_, index) => ({
      content: phrase(index),
      scope: scopes[index % 5 === 0 ? 1 : 0] ?? "",
    })),
  );
  return brain;
}

async function sortCells(store: Store, cells: number): Promise<NeighborSearch> {
  const search = await createCellSearch(store, cells);
  if (search === null) throw new Error("nobody ended the sorting");
  return search;
}

describe("search by cells", () => {
  test("with one cell it answers as the exact search does", async () => {
    const brain = await brainOf(120);
    const cells = await sortCells(brain.store, 1);
    const exact = createExactSearch(brain.store);
    for (const { id, scopeId } of thoughtsInOrder(brain.store.connection, 0, 1e9, 1e9)) {
      const [found, wanted] = [cells(id, scopeId, 5), exact(id, scopeId, 5)];
      expect(found.map(({ cosine }) => cosine.toFixed(4))).toEqual(wanted.map(({ cosine }) => cosine.toFixed(4)));
    }
    brain.close();
  });

  test("with many cells it finds most of what the exact search finds, and always the same", async () => {
    const brain = await brainOf(600);
    const exact = createExactSearch(brain.store);
    const first = await sortCells(brain.store, 24);
    const second = await sortCells(brain.store, 24);
    let found = 0;
    let wanted = 0;
    for (const { id, scopeId } of thoughtsInOrder(brain.store.connection, 0, 1e9, 1e9)) {
      const answer = first(id, scopeId, 5);
      expect(second(id, scopeId, 5)).toEqual(answer);
      const least = exact(id, scopeId, 5).at(-1)?.cosine ?? 1;
      wanted += 5;
      found += answer.filter(({ cosine }) => cosine >= least - 1e-9).length;
    }
    expect(found / wanted).toBeGreaterThan(0.8);
    brain.close();
  });

  test("never answers itself, another scope, or what is hidden", async () => {
    const brain = await brainOf(200);
    const nodes = thoughtsInOrder(brain.store.connection, 0, 1e9, 1e9);
    const scopeOf = new Map(nodes.map(({ id, scopeId }) => [id, scopeId]));
    const hidden = nodes[10]?.id ?? 0;
    const before = await sortCells(brain.store, 4);
    expect(nodes.some(({ id, scopeId }) => before(id, scopeId, 10).some(({ nodeId }) => nodeId === hidden))).toBe(true);
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "decayed",
        actor: "person",
        payload: {},
        changes: [{ nodeId: hidden, axis: "decayed", to: 3 }],
      }),
    );
    const after = await sortCells(brain.store, 4);
    for (const { id, scopeId } of nodes) {
      for (const { nodeId } of after(id, scopeId, 10)) {
        expect(nodeId).not.toBe(id);
        expect(nodeId).not.toBe(hidden);
        expect(scopeOf.get(nodeId)).toBe(scopeId);
      }
    }
    brain.close();
  });

  test("is not there when the sorting was ended, and whoever ends it is asked outside transactions", async () => {
    const brain = await brainOf(60);
    const inside: boolean[] = [];
    const ask = (answer: boolean) => async () => {
      inside.push(brain.store.connection.db.inTransaction);
      return answer;
    };
    expect(await createCellSearch(brain.store, 4, ask(true))).not.toBeNull();
    expect(await createCellSearch(brain.store, 4, ask(false))).toBeNull();
    expect(inside).toEqual([false, false]);
    brain.close();
  });

  test("a heap of copies is cut, and each of them still finds copies", async () => {
    const brain = createTestStore();
    await brain.remember(
      ...Array.from({ length: 300 }, (_, index) => `the same eight words every time we meet${".".repeat(index)}`),
      ...Array.from({ length: 100 }, (_, index) => phrase(index)),
    );
    const search = await sortCells(brain.store, 20);
    for (const { id, scopeId } of thoughtsInOrder(brain.store.connection, 0, 1e9, 300)) {
      expect(search(id, scopeId, 5)).toHaveLength(5);
    }
    brain.close();
  });
});
