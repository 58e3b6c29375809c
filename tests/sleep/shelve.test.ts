import { describe, expect, test } from "vitest";
import { CenterFinder, clusterVectors } from "../../src/sleep/cluster.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { DEFAULT_SLEEP_CONFIG } from "../../src/sleep/phase.ts";
import { planShelving } from "../../src/sleep/shelve.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { SMALL_CELLS, searchEverything } from "../support/cells.ts";
import { readAllTables } from "../support/sleep-state.ts";

const WORDS = "river stone lamp garden winter bread music harbour paper cloud wool salt bridge clock mirror fox".split(
  " ",
);
const phrase = (seed: number) =>
  `${[1, 2, 3, 4].map((turn) => WORDS[(seed * (turn * 7 + 3) + (seed >> turn)) % 16]).join(" ")} ${seed}`;
const phrases = (from: number, count: number) => Array.from({ length: count }, (_, index) => phrase(from + index));

async function shelve(brain: TestStore, options = {}) {
  const report = await runSleep(brain.store, brain.embedder, { phases: ["shelve"], config: SMALL_CELLS, ...options });
  const [phase] = report.phases;
  if (phase === undefined) throw new Error("the phase reports");
  expect(phase.error).toBeUndefined();
  return phase;
}
const sizes = (brain: TestStore) => brain.store.vectors.cells.sizes();
const fresh = (brain: TestStore) => sizes(brain)[0]?.rows;
const scope = (brain: TestStore) => ({ scopeIds: brain.store.scopes.readableIds() });

/** Which texts share a cell, whatever the cells are called. */
function groups(brain: TestStore): string[][] {
  const { store } = brain;
  return sizes(brain)
    .filter(({ rows }) => rows > 0)
    .map(({ cell, rows }) =>
      store.vectors.cells
        .rowsOf(cell, rows)
        .map(({ nodeId }) => store.thoughts.indexedText(nodeId) ?? "")
        .sort(),
    )
    .sort((a, b) => ((a[0] ?? "") < (b[0] ?? "") ? -1 : 1));
}

describe("the plan", () => {
  const cell = (id: number, rows: number, more = {}) => ({ cell: id, rows, isOpen: id > 0, settledRows: 0, ...more });
  const config = { ...DEFAULT_SLEEP_CONFIG, shelveMinVectors: 100, cellRows: 10 };

  test("leaves few vectors alone, and makes cells for many", () => {
    expect(planShelving([cell(0, 99)], config)).toEqual({ newCells: 0, loose: [], oversized: [] });
    expect(planShelving([cell(0, 100)], config)).toEqual({ newCells: 10, loose: [cell(0, 100)], oversized: [] });
  });

  test("once there are cells, finds what is loose, however little", () => {
    const closed = cell(1, 5, { isOpen: false });
    expect(planShelving([cell(0, 0), closed, cell(2, 8)], config).loose).toEqual([closed]);
    expect(planShelving([cell(0, 1), cell(2, 8)], config).loose).toEqual([cell(0, 1)]);
    expect(planShelving([cell(0, 0), cell(2, 8)], config)).toEqual({ newCells: 0, loose: [], oversized: [] });
  });

  test("finds what is too large, but not again what no split parts until it has doubled", () => {
    expect(planShelving([cell(0, 0), cell(1, 25), cell(2, 26)], config).oversized).toEqual([cell(2, 26)]);
    const settled = (rows: number) => cell(1, rows, { settledRows: 30 });
    expect(planShelving([cell(0, 0), settled(59)], config).oversized).toEqual([]);
    expect(planShelving([cell(0, 0), settled(60)], config).oversized).toEqual([settled(60)]);
  });
});

describe("shelving", () => {
  test("does nothing to a brain with few vectors, or without a model", async () => {
    const brain = createTestStore();
    expect(await shelve(brain)).toMatchObject({ planned: 0, applied: 0 });
    await brain.remember(...phrases(0, 39));
    expect(await shelve(brain)).toMatchObject({ planned: 0, applied: 0 });
    expect(sizes(brain)).toHaveLength(1);
    brain.close();
  });

  test("puts every vector into a cell of bounded size, and an unchanged brain plans nothing", async () => {
    const brain = createTestStore();
    await brain.remember(...phrases(0, 600));
    expect(await shelve(brain, { dryRun: true })).toMatchObject({ planned: 600, applied: 0 });
    expect(sizes(brain)).toHaveLength(1);
    expect(await shelve(brain)).toMatchObject({ planned: 600, applied: 600 });
    const [loose, ...cells] = sizes(brain);
    expect(loose?.rows).toBe(0);
    expect(cells.reduce((sum, { rows }) => sum + rows, 0)).toBe(600);
    expect(cells.length).toBeGreaterThan(20);
    expect(Math.max(...cells.map(({ rows }) => rows))).toBeLessThanOrEqual(SMALL_CELLS.cellRows * 2.5);
    expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
    const before = readAllTables(brain.store);
    expect(await shelve(brain)).toMatchObject({ planned: 0, applied: 0 });
    expect(readAllTables(brain.store)).toEqual(before);
    brain.close();
  });

  test("groups what is near: most thoughts share the cell of their nearest neighbour", async () => {
    const brain = createTestStore();
    const topics = ["ferry harbour sailors", "bread oven flour", "violin concert orchestra", "cellar heating boiler"];
    await brain.remember(...Array.from({ length: 200 }, (_, at) => `${topics[at % 4]} ${at}`));
    await shelve(brain, { config: { shelveMinVectors: 40, cellRows: 50 } });
    for (const group of groups(brain)) {
      expect(new Set(group.map((text) => text.replace(/ \d+$/, ""))).size).toBe(1);
    }
    brain.close();
  });

  test("makes the same cells whatever the order of insertion", async () => {
    const texts = phrases(0, 300);
    const [first, second] = [createTestStore(), createTestStore()];
    await first.remember(...texts);
    await second.remember(...[...texts].reverse());
    await shelve(first);
    await shelve(second);
    expect(groups(first).length).toBeGreaterThan(10);
    expect(groups(second)).toEqual(groups(first));
    first.close();
    second.close();
  });

  test("of a brain that has grown moves what is fresh and splits what is full, and keeps the other cells", async () => {
    const brain = createTestStore();
    await brain.remember(...phrases(0, 300));
    await shelve(brain);
    const before = new Set(sizes(brain).map(({ cell }) => cell));
    await brain.remember(...phrases(300, 20));
    expect(fresh(brain)).toBe(20);
    expect(await shelve(brain)).toMatchObject({ planned: 20, applied: 20, details: { moved: expect.any(Number) } });
    expect(fresh(brain)).toBe(0);
    const kept = sizes(brain).filter(({ cell }) => before.has(cell)).length;
    expect(kept).toBeGreaterThan(before.size * 0.8);
    await brain.remember(...phrases(320, 900));
    await shelve(brain);
    const now = sizes(brain).slice(1);
    expect(now.length).toBeGreaterThan(before.size * 2);
    expect(Math.max(...now.map(({ rows }) => rows))).toBeLessThanOrEqual(SMALL_CELLS.cellRows * 2.5);
    expect(await shelve(brain)).toMatchObject({ planned: 0 });
    brain.close();
  });

  test("keeps a heap of the same vector together, and does not try again every night", async () => {
    const brain = createTestStore();
    const same = Array.from({ length: 200 }, (_, index) => `heap ${index}`);
    await brain.remember(...phrases(0, 60), ...same);
    const { store } = brain;
    const vector = await brain.embedder.embedQuery("the same words");
    store.write(() => {
      for (const id of store.thoughts.idsAfter(0, 1_000).slice(60)) store.vectors.put(id, vector);
    });
    await shelve(brain);
    const largest = sizes(brain).reduce((most, size) => (size.rows > most.rows ? size : most));
    expect(largest.rows).toBeGreaterThanOrEqual(200);
    expect(largest.settledRows).toBe(largest.rows);
    expect(await shelve(brain)).toMatchObject({ planned: 0, applied: 0 });
    brain.close();
  });

  test("stops when its time is up, and the next night goes on; searches in between are right", async () => {
    const brain = createTestStore();
    await brain.remember(...phrases(0, 1_300));
    const { store, clock } = brain;
    const query = await brain.embedder.embedQuery(phrase(77));
    const cut = await shelve(brain, { maxMinutes: 1, onProgress: () => clock.advance(61_000) });
    expect(cut.details?.stopped).toBe(1);
    expect(cut.applied).toBe(500);
    expect(fresh(brain)).toBe(800);
    expect(checkIntegrity(store).filter(({ violations }) => violations > 0)).toEqual([]);
    const { neighbors } = store.vectors.nearest(query, 2_000, scope(brain));
    expect(neighbors).toEqual(searchEverything(store, query, 2_000, scope(brain)));
    const rest = await shelve(brain);
    expect(rest).toMatchObject({ planned: 800, applied: 800 });
    expect(fresh(brain)).toBe(0);
    brain.close();
  });

  test("leaves a row that was written while its cell was being chosen to the next round", async () => {
    const brain = createTestStore();
    await brain.remember(...phrases(0, 600));
    const { store } = brain;
    const other = store.thoughts.idsAfter(0, 600).at(-1) ?? 0;
    let isDone = false;
    await shelve(brain, {
      onProgress: () => {
        if (isDone) return;
        isDone = true;
        store.write(() => store.vectors.put(other, new Int8Array(64).fill(15)));
      },
    });
    expect(isDone).toBe(true);
    expect(store.vectors.get(other)).toEqual(new Int8Array(64).fill(15));
    expect(fresh(brain)).toBe(0);
    expect(sizes(brain).reduce((sum, { rows }) => sum + rows, 0)).toBe(600);
    brain.close();
  });
});

describe("clustering", () => {
  const DIMENSIONS = 32;
  /** Unit vectors of a fixed sequence (xorshift). */
  function vectorsOf(count: number): Int8Array {
    let state = 42;
    const next = () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) / 2 ** 32 - 0.5;
    };
    const rows = new Int8Array(count * DIMENSIONS);
    for (let row = 0; row < count; row++) {
      const values = Array.from({ length: DIMENSIONS }, next);
      const length = Math.hypot(...values);
      rows.set(
        values.map((value) => Math.round((127 * value) / length)),
        row * DIMENSIONS,
      );
    }
    return rows;
  }
  const squareBetween = (a: Int8Array, b: Int8Array) =>
    a.reduce((sum, value, at) => sum + (value - (b[at] ?? 0)) ** 2, 0);
  const rowOf = (rows: Int8Array, row: number) => rows.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);

  test("gives about as many centres as wanted, never more than vectors, and always the same", () => {
    const rows = vectorsOf(3_000);
    for (const wanted of [1, 5, 300]) {
      const centers = clusterVectors(rows, DIMENSIONS, wanted);
      expect(centers.length / DIMENSIONS).toBeGreaterThanOrEqual(wanted * 0.9);
      expect(centers.length / DIMENSIONS).toBeLessThanOrEqual(wanted * 1.1);
      expect(clusterVectors(rows, DIMENSIONS, wanted)).toEqual(centers);
    }
    expect(clusterVectors(vectorsOf(3), DIMENSIONS, 10)).toHaveLength(3 * DIMENSIONS);
  });

  test("finds the nearest centre exactly among few, and nearly always among many", () => {
    const rows = vectorsOf(2_000);
    for (const [wanted, least] of [
      [100, 1],
      [400, 0.7],
    ] as const) {
      const centers = clusterVectors(rows, DIMENSIONS, wanted);
      const finder = new CenterFinder(centers, DIMENSIONS);
      let right = 0;
      for (let row = 0; row < 500; row++) {
        const vector = rowOf(rows, row);
        const distances = Array.from({ length: centers.length / DIMENSIONS }, (_, at) =>
          squareBetween(vector, rowOf(centers, at)),
        );
        if (distances[finder.nearest(vector)] === Math.min(...distances)) right += 1;
      }
      expect(right / 500).toBeGreaterThanOrEqual(least);
    }
  });
});
