/**
 * Phase 1: gives every visible thought that lacks a vector its vector, then goes on with a model that is being
 * built. Refuses another model than the brain's; the work is found anew each time, so an interrupted run simply
 * goes on.
 */
import { DormouseError } from "../core/errors.ts";
import { currentEmbedder, type Embedder } from "../core/ports.ts";
import { embedThoughts } from "../remember/embed-thoughts.ts";
import { reembed } from "../remember/reembed.ts";
import { countThoughts } from "../store/sleep-links.ts";
import type { PhaseContext, PhaseOutcome } from "./phase.ts";

/** Texts embedded between two transactions. */
const BATCH = 256;

/** @throws DormouseError `model_mismatch` when the embedder is not the brain's, `model_missing` when it is absent. */
export async function embedMissing(context: PhaseContext): Promise<PhaseOutcome> {
  const missing = await embedActive(context);
  const built = context.isTimeUp() ? { planned: 0, applied: 0, stopped: 0 } : await goOnBuilding(context, missing);
  return {
    planned: missing.planned + built.planned,
    applied: missing.applied + built.applied,
    details: { stopped: Math.max(missing.stopped, built.stopped) },
  };
}

interface Tally {
  readonly planned: number;
  readonly applied: number;
  /** 1 when time ran out. */
  readonly stopped: number;
}

async function embedActive(context: PhaseContext): Promise<Tally> {
  const { store, dryRun } = context;
  if (store.read(() => store.models.active()) === null) {
    const thoughts = countThoughts(store.connection, 0, Number.MAX_SAFE_INTEGER);
    if (dryRun || thoughts === 0) return { planned: thoughts, applied: 0, stopped: 0 };
    const first = await currentEmbedder(context.embedder);
    if (first === null) return { planned: thoughts, applied: 0, stopped: 0 };
    context.commit(() => store.models.use(first.model));
  }
  let planned = 0;
  let applied = 0;
  for (let after = 0; ; ) {
    const ids = store.read(() => store.vectors.missing(after, BATCH));
    after = ids.at(-1) ?? after;
    if (ids.length === 0) return { planned, applied, stopped: 0 };
    planned += ids.length;
    if (dryRun) continue;
    if (context.isTimeUp()) return { planned, applied, stopped: 1 };
    const embedder = await currentEmbedder(context.embedder);
    // Vectors that are being made again include those that are missing.
    if (embedder === null) return { planned: 0, applied: 0, stopped: 0 };
    store.models.use(embedder.model);
    applied += await embedBatch(context, embedder, ids);
    await context.breathe(applied, null);
  }
}

async function embedBatch(
  { store, commit }: PhaseContext,
  embedder: Embedder,
  ids: readonly number[],
): Promise<number> {
  const embedded = await embedThoughts(store, embedder, ids);
  return commit(() => {
    store.models.use(embedder.model);
    let stored = 0;
    for (const { id, vector } of embedded) {
      // While the model worked, the thought may have been erased, hidden, or embedded by its own writer.
      if (store.vectors.missing(id - 1, 1)[0] !== id) continue;
      store.vectors.put(id, vector);
      stored += 1;
    }
    return stored;
  });
}

/**
 * Vectors that building would make: what is left of the model that was begun, or, when the built-in one has changed,
 * all but the missing ones, which are counted already.
 */
async function countUnbuilt({ store, loadBuilding }: PhaseContext, missing: Tally): Promise<number> {
  const progress = store.read(() => (store.models.building() === null ? null : store.models.buildProgress()));
  if (progress !== null) return progress.total - progress.done;
  return (await loadBuilding()) === null ? 0 : store.read(() => store.models.countThoughts()) - missing.planned;
}

/** Makes vectors of the model that is being built, if there is one and no other process is at it. */
async function goOnBuilding(context: PhaseContext, missing: Tally): Promise<Tally> {
  const { store, dryRun, commit, isTimeUp } = context;
  if (dryRun) return { planned: await countUnbuilt(context, missing), applied: 0, stopped: 0 };
  const embedder = await context.loadBuilding();
  if (embedder === null) return { planned: 0, applied: 0, stopped: 0 };
  try {
    const { embedded, left } = await reembed(store, embedder, {
      commit,
      isTimeUp,
      onStep: ({ done, total }) => context.breathe(done, total),
    });
    return { planned: embedded + left, applied: embedded, stopped: Number(left > 0) };
  } catch (error) {
    if (!(error instanceof DormouseError) || error.code !== "lease_held") throw error;
    // Fails when it was the lease of this sleep that was lost; otherwise another process makes the vectors.
    commit(() => {});
    return { planned: 0, applied: 0, stopped: 0 };
  }
}
