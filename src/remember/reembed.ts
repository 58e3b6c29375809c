/**
 * Gives a brain the vectors of another model: makes them beside the old ones, which serve until the last is
 * there, and then switches in one transaction, which drops the old table and so lasts longer the larger that was.
 * Stopped or killed anywhere, it goes on where it stood.
 * Vectors are a derived index, so no event is written.
 */
import { setImmediate } from "node:timers/promises";
import { MS_PER_MINUTE } from "../core/clock.ts";
import type { Embedder, Progress } from "../core/ports.ts";
import type { HeldLease } from "../store/leases.ts";
import { VECTOR_LEASE } from "../store/models.ts";
import type { Store } from "../store/store.ts";
import { embedThoughts } from "./embed-thoughts.ts";

/** Texts embedded between two transactions; what a kill can cost. */
const BATCH = 128;
/** How long a holder may be silent; a batch of long texts takes seconds. */
const LEASE_MS = 10 * MS_PER_MINUTE;

export interface ReembedOptions {
  /** Told after each batch, and awaited. */
  readonly onStep?: (progress: Progress) => Promise<void> | void;
  /** Asked between batches; what is left is for the next call. Default: never. */
  readonly isTimeUp?: () => boolean;
  /** Runs each transaction; default the store's. */
  readonly commit?: <T>(fn: () => T) => T;
}

export interface ReembedReport {
  readonly model: string;
  /** Vectors made by this call. */
  readonly embedded: number;
  /** Vectors left to make when time ran out; 0: the brain searches with the model now. */
  readonly left: number;
}

/** One process at a time makes vectors. @throws DormouseError `lease_held` */
export function holdVectors(store: Store): HeldLease {
  return store.leases.hold(VECTOR_LEASE, LEASE_MS);
}

/**
 * Registers a model as the one to be built, without a vector yet.
 * @throws DormouseError `lease_held` while another process makes vectors.
 */
export function beginReembedding(store: Store, embedder: Embedder): void {
  const lease = holdVectors(store);
  try {
    store.write(() => prepare(store, embedder));
  } finally {
    lease.release();
  }
}

/**
 * Makes the vectors of all thoughts, hidden ones too, with this embedder and makes its model the active one.
 * With the active model it only gives up what was being built.
 * @throws DormouseError `lease_held` while another process makes vectors, and as the store and embedder do.
 */
export async function reembed(store: Store, embedder: Embedder, options: ReembedOptions = {}): Promise<ReembedReport> {
  const lease = holdVectors(store);
  const run = options.commit ?? ((fn) => store.write(fn));
  const commit = <T>(fn: () => T): T =>
    run(() => {
      lease.keep();
      return fn();
    });
  const model = embedder.model.name;
  try {
    if (!commit(() => prepare(store, embedder))) return { model, embedded: 0, left: 0 };
    const { total, done } = store.read(() => store.models.buildProgress());
    let embedded = 0;
    for (let after = 0; ; ) {
      const ids = store.read(() => store.models.unbuilt(after, BATCH));
      const last = after;
      // What is written while the last texts are embedded has higher ids, so only those are looked for.
      if (ids.length === 0 && commit(() => switchWhenWhole(store, last))) return { model, embedded, left: 0 };
      if (options.isTimeUp?.() === true) {
        return { model, embedded, left: Math.max(1, total - done - embedded) };
      }
      embedded += await embedBatch(store, embedder, ids, commit);
      after = ids.at(-1) ?? after;
      await options.onStep?.({ stage: "model", done: Math.min(done + embedded, total), total });
      await setImmediate();
    }
  } finally {
    lease.release();
  }
}

/** Inside a transaction. @returns whether there is a model to be built */
function prepare(store: Store, { model }: Embedder): boolean {
  if (store.models.isActive(model)) {
    store.models.abandon();
    return false;
  }
  store.models.begin(model);
  return true;
}

function switchWhenWhole(store: Store, after: number): boolean {
  if (store.models.unbuilt(after, 1).length > 0) return false;
  store.models.activate();
  store.operations.forgetModelWork();
  return true;
}

async function embedBatch(
  store: Store,
  embedder: Embedder,
  ids: readonly number[],
  commit: <T>(fn: () => T) => T,
): Promise<number> {
  const embedded = await embedThoughts(store, embedder, ids);
  return commit(() => {
    let stored = 0;
    for (const { id, vector } of embedded) {
      // While the model worked, the thought may have been erased.
      if (store.models.unbuilt(id - 1, 1)[0] !== id) continue;
      store.buildingVectors.insert(id, vector);
      stored += 1;
    }
    return stored;
  });
}
