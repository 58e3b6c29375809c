/**
 * Phase 7: shelves vectors into cells once a brain has many, so that a search need not read them all. Centres are
 * fitted to a sample in the order of the vectors' digests, so the order of insertion does not matter; later nights
 * shelve what is fresh and split what has grown. Every row is moved in one transaction: whenever this is killed,
 * each is in exactly one cell, and the next night goes on with what is still loose.
 */
import { createHash } from "node:crypto";
import { type CellSize, FRESH_CELL, type StoredVector } from "../store/cells.ts";
import { bytesOf } from "../store/vector-table.ts";
import { CenterFinder, clusterVectors, largestShare } from "./cluster.ts";
import type { PhaseContext, PhaseOutcome, SleepConfig } from "./phase.ts";

/** Rows moved in one transaction. */
const BATCH = 500;
/** Vectors that a centre is fitted to, and all of them together, at most. */
const SAMPLE_PER_CELL = 24;
const MAX_SAMPLE = 200_000;
/** A cell is split when it holds so many times the rows it should. */
const OVERSIZE = 2.5;
/** A split that leaves more than this share together is none: these rows are as good as the same. */
const PARTED_SHARE = 0.75;
/** A cell that could not be split is tried again once it has grown by this factor. */
const SETTLED_GROWTH = 2;
/** Splits of splits in one night. */
const MAX_ROUNDS = 12;

export interface ShelvingPlan {
  /** Cells to make first; 0 when there are some, or too few vectors for any. */
  readonly newCells: number;
  /** Cells whose rows are to be moved into others: the fresh one, and those closed by a split. */
  readonly loose: readonly CellSize[];
  readonly oversized: readonly CellSize[];
}

/** What is due for cells of these sizes. Pure. */
export function planShelving(sizes: readonly CellSize[], config: SleepConfig): ShelvingPlan {
  const total = sizes.reduce((sum, { rows }) => sum + rows, 0);
  const hasCells = sizes.some(({ isOpen }) => isOpen);
  if (!hasCells && total < config.shelveMinVectors) return { newCells: 0, loose: [], oversized: [] };
  return {
    newCells: hasCells ? 0 : Math.max(1, Math.round(total / config.cellRows)),
    loose: sizes.filter(({ isOpen, rows }) => !isOpen && rows > 0),
    oversized: sizes.filter(
      ({ isOpen, rows, settledRows }) =>
        isOpen && rows > config.cellRows * OVERSIZE && rows >= settledRows * SETTLED_GROWTH,
    ),
  };
}

interface Tally {
  /** Rows that came into another cell; a row that a split moved on is counted again. */
  moved: number;
  /** Rows of cells that were found to be as good as one. */
  settled: number;
  splits: number;
  stopped: number;
}

export async function shelveVectors(context: PhaseContext): Promise<PhaseOutcome> {
  const { store, config, dryRun } = context;
  if (store.models.active() === null) return { planned: 0, applied: 0 };
  const first = store.read(() => planShelving(store.vectors.cells.sizes(), config));
  const due = [...first.loose, ...first.oversized].reduce((sum, { rows }) => sum + rows, 0);
  if (due === 0 || dryRun) return { planned: due, applied: 0 };
  const tally: Tally = { moved: 0, settled: 0, splits: 0, stopped: 0 };
  if (first.newCells > 0) makeCells(context, first.newCells);
  let plan = first;
  for (let round = 0; round < MAX_ROUNDS && tally.stopped === 0; round++) {
    if (round > 0) splitCells(context, plan.oversized, tally);
    await emptyCells(context, tally);
    plan = store.read(() => planShelving(store.vectors.cells.sizes(), config));
    if (plan.oversized.length === 0) break;
  }
  const cells = store.read(() => store.vectors.cells.sizes()).length - 1;
  const { moved, settled, splits, stopped } = tally;
  return { planned: due, applied: Math.min(due, moved + settled), details: { cells, moved, splits, stopped } };
}

function makeCells({ store, commit }: PhaseContext, wanted: number): void {
  const dimensions = store.models.required().dimensions;
  const sample = store.read(() => sampleByDigest(store.vectors, Math.min(MAX_SAMPLE, wanted * SAMPLE_PER_CELL)));
  const centroids = clusterVectors(joinVectors(sample, dimensions), dimensions, wanted);
  commit(() => store.vectors.cells.add(centroids));
}

/** Moves the rows of the fresh cell and of closed ones into the open cells they are nearest to. */
async function emptyCells(context: PhaseContext, tally: Tally): Promise<void> {
  const { store, config, commit, isTimeUp, breathe } = context;
  const { cells } = store.vectors;
  const { loose } = store.read(() => planShelving(cells.sizes(), config));
  if (loose.length === 0) return;
  const open = store.read(() => cells.open());
  if (open.ids.length === 0) return;
  const finder = new CenterFinder(open.centroids, store.models.required().dimensions);
  const total = tally.moved + loose.reduce((sum, { rows }) => sum + rows, 0);
  for (const { cell } of loose) {
    for (;;) {
      if (isTimeUp()) {
        tally.stopped = 1;
        return;
      }
      const rows = store.read(() => cells.rowsOf(cell, BATCH)).slice(0, BATCH);
      const moves = rows.map((row) => ({ row, to: open.ids[finder.nearest(row.vector)] ?? FRESH_CELL }));
      const moved = commit(() => moves.filter(({ row, to }) => cells.move(cell, row, to)).length);
      tally.moved += moved;
      // Rows that were all changed meanwhile are left to the next night.
      if (moved === 0) break;
      await breathe(tally.moved, total);
    }
  }
  commit(() => cells.removeEmptied());
}

/** Closes cells that hold too much and makes others around their rows; their rows are loose from then on. */
function splitCells({ store, config, commit, isTimeUp }: PhaseContext, oversized: readonly CellSize[], tally: Tally) {
  const { cells } = store.vectors;
  const { dimensions } = store.models.required();
  for (const { cell, rows } of oversized) {
    if (isTimeUp()) {
      tally.stopped = 1;
      return;
    }
    const wanted = Math.ceil(rows / config.cellRows);
    const members = store
      .read(() => cells.rowsOf(cell, Math.min(rows, MAX_SAMPLE)))
      .map(({ vector }) => withDigest(vector))
      .sort(byDigest);
    const vectors = joinVectors(members, dimensions);
    const centroids = clusterVectors(vectors, dimensions, wanted);
    const isParted = largestShare(vectors, dimensions, centroids) <= PARTED_SHARE;
    commit(() => {
      if (!isParted) return cells.settle(cell, rows);
      cells.add(centroids);
      cells.close(cell);
    });
    tally.splits += Number(isParted);
    tally.settled += isParted ? 0 : rows;
  }
}

interface DigestedVector {
  readonly digest: number;
  readonly vector: Int8Array;
}

/** The vectors with the least digests, in their order: a sample that no order of insertion changes. */
function sampleByDigest(
  vectors: { readonly cells: { eachVector(take: (nodeId: number, vector: Int8Array) => void): void }; count(): number },
  wanted: number,
): DigestedVector[] {
  const digests = new Float64Array(vectors.count());
  let count = 0;
  vectors.cells.eachVector((_, vector) => {
    digests[count] = digestOf(vector);
    count += 1;
  });
  const limit = digests.slice().sort()[Math.min(wanted, count) - 1] ?? Number.POSITIVE_INFINITY;
  const sample: DigestedVector[] = [];
  let at = 0;
  vectors.cells.eachVector((_, vector) => {
    const digest = digests[at] as number;
    if (digest <= limit) sample.push({ digest, vector: vector.slice() });
    at += 1;
  });
  return sample.sort(byDigest).slice(0, wanted);
}

function withDigest(vector: StoredVector["vector"]): DigestedVector {
  return { digest: digestOf(vector), vector };
}

/** 48 bits of the vector's SHA-256. */
function digestOf(vector: Int8Array): number {
  return createHash("sha256").update(vector).digest().readUIntBE(0, 6);
}

function byDigest(a: DigestedVector, b: DigestedVector): number {
  return a.digest - b.digest || Buffer.compare(bytesOf(a.vector), bytesOf(b.vector));
}

function joinVectors(rows: readonly { readonly vector: Int8Array }[], dimensions: number): Int8Array {
  const joined = new Int8Array(rows.length * dimensions);
  rows.forEach(({ vector }, at) => {
    joined.set(vector, at * dimensions);
  });
  return joined;
}
