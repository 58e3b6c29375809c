/**
 * Phase 1: gives every visible thought that lacks a vector its vector. Refuses another model than the
 * brain's; the work is found anew each time, so an interrupted run simply goes on.
 */
import { countThoughts } from "../store/sleep-links.ts";
import type { PhaseContext, PhaseOutcome } from "./phase.ts";

/** Texts embedded between two transactions. */
const BATCH = 256;

/** @throws DormouseError `model_mismatch` when the embedder is not the brain's. */
export async function embedMissing(context: PhaseContext): Promise<PhaseOutcome> {
  const { store, embedder, dryRun } = context;
  if (store.models.active() === null) {
    const thoughts = countThoughts(store.connection, 0, Number.MAX_SAFE_INTEGER);
    if (dryRun || thoughts === 0) return { planned: thoughts, applied: 0 };
    context.commit(() => store.models.use(embedder.model));
  }
  store.models.use(embedder.model);
  let planned = 0;
  let applied = 0;
  let stopped = 0;
  for (let after = 0; ; ) {
    const ids = store.read(() => store.vectors.missing(after, BATCH));
    after = ids.at(-1) ?? after;
    if (ids.length === 0) break;
    planned += ids.length;
    if (dryRun) continue;
    if (context.isTimeUp()) {
      stopped = 1;
      break;
    }
    applied += await embedBatch(context, ids);
    await context.breathe(applied, null);
  }
  return { planned, applied, details: { stopped } };
}

async function embedBatch({ store, embedder, commit }: PhaseContext, ids: readonly number[]): Promise<number> {
  const texts = store.read(() => ids.map((id) => store.thoughts.indexedText(id)));
  const wanted = ids.flatMap((id, index) => {
    const text = texts[index];
    return typeof text === "string" ? [{ id, text }] : [];
  });
  const vectors = await embedder.embedPassages(wanted.map(({ text }) => text));
  return commit(() => {
    let stored = 0;
    for (const [index, { id }] of wanted.entries()) {
      const vector = vectors[index];
      // While the model worked, the thought may have been erased, hidden, or embedded by its own writer.
      if (vector === undefined || store.vectors.missing(id - 1, 1)[0] !== id) continue;
      store.vectors.put(id, vector);
      stored += 1;
    }
    return stored;
  });
}
