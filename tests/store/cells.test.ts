import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createTestClock } from "../support/clock.ts";

let brain: TestStore;
beforeEach(async () => {
  brain = createTestStore();
  await brain.remember("The ferry leaves at nine", "The ferry leaves at ten", "A lamp for the garden");
});
afterEach(() => brain.close());

const idOf = (place: number) => brain.store.thoughts.idsAfter(0, 10)[place] ?? 0;
const vectorOf = (nodeId: number) => brain.store.vectors.get(nodeId) ?? new Int8Array(64);
const ferryAndLamp = () => Int8Array.from([...vectorOf(idOf(0)), ...vectorOf(idOf(2))]);
const addCells = (centroids: Int8Array) => brain.store.write(() => brain.store.vectors.cells.add(centroids));
const rowsByCell = () => brain.store.vectors.cells.sizes().map(({ cell, rows }) => [cell, rows]);

describe("cells", () => {
  it("are none before the first shelving, and every row is fresh", () => {
    expect(brain.store.vectors.cells.byDistance(vectorOf(idOf(0)))).toEqual([]);
    expect(rowsByCell()).toEqual([[0, 3]]);
  });

  it("come nearest first", () => {
    addCells(ferryAndLamp());
    const { cells } = brain.store.vectors;
    const [ferry, lamp] = cells.open().ids;
    expect(cells.byDistance(vectorOf(idOf(1)))).toEqual([ferry, lamp]);
    expect(cells.byDistance(vectorOf(idOf(2)))).toEqual([lamp, ferry]);
  });

  it("take a row whole: its state goes with it, and it stands in one cell", async () => {
    const { store } = brain;
    store.write(() =>
      store.ledger.record({
        kind: "decayed",
        actor: "person",
        payload: {},
        changes: [{ nodeId: idOf(0), axis: "decayed", to: 3 }],
      }),
    );
    addCells(ferryAndLamp());
    const [ferry = 0] = store.vectors.cells.open().ids;
    const row = { nodeId: idOf(0), vector: vectorOf(idOf(0)) };
    expect(store.write(() => store.vectors.cells.move(0, row, ferry))).toBe(true);
    expect(rowsByCell()).toEqual([
      [0, 2],
      [ferry, 1],
      [ferry + 1, 0],
    ]);
    expect(vectorOf(idOf(0))).toEqual(row.vector);
    const { neighbors } = store.vectors.nearest(row.vector, 9, { scopeIds: store.scopes.readableIds() });
    expect(neighbors.map(({ nodeId }) => nodeId).sort()).toEqual([idOf(1), idOf(2)]);
  });

  it("take no row that is no longer what it was when the cell was chosen", () => {
    const { store } = brain;
    addCells(ferryAndLamp());
    const [ferry = 0, lamp = 0] = store.vectors.cells.open().ids;
    const row = { nodeId: idOf(0), vector: vectorOf(idOf(0)) };
    store.write(() => store.vectors.put(idOf(0), vectorOf(idOf(2))));
    expect(store.write(() => store.vectors.cells.move(0, row, ferry))).toBe(false);
    const now = { nodeId: idOf(0), vector: vectorOf(idOf(2)) };
    expect(store.write(() => store.vectors.cells.move(0, now, lamp))).toBe(true);
    expect(store.write(() => store.vectors.cells.move(0, now, ferry))).toBe(false);
    expect(store.write(() => store.vectors.cells.move(0, { ...now, nodeId: 9_999 }, ferry))).toBe(false);
    expect(rowsByCell()).toEqual([
      [0, 2],
      [ferry, 0],
      [lamp, 1],
    ]);
  });

  it("that were closed are searched until they are empty, and then go", () => {
    const { store } = brain;
    const { cells } = store.vectors;
    addCells(ferryAndLamp());
    const [ferry = 0, lamp = 0] = cells.open().ids;
    const row = { nodeId: idOf(0), vector: vectorOf(idOf(0)) };
    store.write(() => {
      cells.move(0, row, ferry);
      cells.close(ferry);
    });
    expect(cells.open().ids).toEqual([lamp]);
    expect(cells.byDistance(row.vector)).toEqual([ferry, lamp]);
    expect(store.write(() => cells.removeEmptied())).toBe(0);
    store.write(() => cells.move(ferry, row, lamp));
    expect(store.write(() => cells.removeEmptied())).toBe(1);
    expect(rowsByCell()).toEqual([
      [0, 2],
      [lamp, 1],
    ]);
  });

  it("never take an id again", () => {
    const { store } = brain;
    const { cells } = store.vectors;
    addCells(ferryAndLamp());
    const before = cells.open().ids;
    store.write(() => {
      for (const id of before) cells.close(id);
      cells.removeEmptied();
    });
    expect(cells.open().ids).toEqual([]);
    addCells(ferryAndLamp());
    expect(Math.min(...cells.open().ids)).toBeGreaterThan(Math.max(...before));
  });

  it("that another process made are noticed by the next search", () => {
    addCells(ferryAndLamp());
    const { cells } = brain.store.vectors;
    expect(cells.byDistance(vectorOf(idOf(0)))).toHaveLength(2);
    const other = Store.open(brain.path, createTestClock());
    other.write(() => other.vectors.cells.add(vectorOf(idOf(1))));
    other.close();
    expect(cells.byDistance(vectorOf(idOf(0)))).toHaveLength(3);
  });

  it("belong to one model, and go with its vectors", () => {
    const { store } = brain;
    addCells(ferryAndLamp());
    store.write(() => store.models.clear());
    expect(store.connection.db.prepare("SELECT count(*) FROM vector_cell").pluck().get()).toBe(0);
    store.write(() => store.models.use(brain.embedder.model));
    expect(store.vectors.cells.byDistance(new Int8Array(64))).toEqual([]);
    expect(rowsByCell()).toEqual([[0, 0]]);
  });

  it("refuse a chunk of another shape instead of guessing", () => {
    const { store } = brain;
    const table = store.models.required().vecTable;
    store.connection.db.exec(`UPDATE ${table}_vector_chunks00 SET vectors = zeroblob(10)`);
    const search = () => store.vectors.nearest(new Int8Array(64), 1, { scopeIds: store.scopes.readableIds() });
    expect(search).toThrowError(expect.objectContaining({ code: "damaged" }));
  });
});
