/**
 * Makes derived indexes again from the canonical rows: full text and its statistics, vectors. What they
 * held before is thrown away; the canonical rows are only read.
 */
import type { Embedder, ProgressListener } from "../core/ports.ts";
import { isSameModel } from "../store/models.ts";
import type { Store } from "../store/store.ts";
import { ANALYSER_VERSION, analyse, termHash } from "../text/analyse.ts";
import { holdVectors } from "./reembed.ts";

/** Nodes embedded or indexed at a time. */
const BATCH = 256;

export interface RebuildReport {
  readonly fullText: number;
  readonly vectors: number;
}

/** Rebuilds every derived index; the graph of aliveness is dropped, and made by whatever needs it next. Full text in one transaction; vectors in batches that a later run completes. */
export async function rebuildDerived(
  store: Store,
  embedder: Embedder,
  onProgress: ProgressListener = () => {},
): Promise<RebuildReport> {
  const fullText = rebuildFullText(store, onProgress);
  store.write(() => store.aliveness.dropSnapshot());
  const vectors = await rebuildVectors(store, embedder, onProgress);
  return { fullText, vectors };
}

/** Analyses every text again. @returns the number of thoughts indexed */
export function rebuildFullText(store: Store, onProgress: ProgressListener = () => {}): number {
  return store.write(() => {
    store.fullText.clear();
    let done = 0;
    for (let after = 0; ; ) {
      const ids = store.thoughts.idsAfter(after, BATCH);
      if (ids.length === 0) return done;
      for (const id of ids) {
        const terms = analyse(store.thoughts.indexedText(id) ?? "");
        store.fullText.add(id, terms);
        store.thoughts.setTokenCount(id, terms.length);
      }
      done += ids.length;
      after = ids.at(-1) ?? after;
      onProgress({ stage: "full text", done, total: null });
    }
  });
}

/** Last thought whose words were analysed anew, and by which analyser that round was begun. */
const RENEWED_CURSOR = "full_text.renewed";
const RENEWING_CURSOR = "full_text.renewing";

export interface RenewOptions {
  /** Runs in one transaction; called once a batch. */
  readonly commit: <T>(fn: () => T) => T;
  /** No batch begins once it says so. */
  readonly isTimeUp: () => boolean;
  readonly onStep: (renewed: number) => Promise<void>;
}

/**
 * Analyses all words again after the analyser changed, in batches: searches go on meanwhile, over words of both, and
 * whoever is interrupted is followed by one that goes on where it stood. @returns false when time ran out
 */
export async function renewFullText(store: Store, { commit, isTimeUp, onStep }: RenewOptions): Promise<boolean> {
  const { operations, fullText } = store;
  const analyser = termHash(ANALYSER_VERSION);
  for (let renewed = 0; fullText.isOutdated(); ) {
    if (isTimeUp()) return false;
    renewed += commit(() => {
      // A round that another analyser began is begun anew.
      const isOurs = operations.cursor(RENEWING_CURSOR) === analyser;
      const ids = store.thoughts.idsAfter(isOurs ? operations.cursor(RENEWED_CURSOR) : 0, BATCH);
      for (const id of ids) {
        const terms = analyse(store.thoughts.indexedText(id) ?? "");
        fullText.replace(id, terms, store.thoughts.tokenCount(id));
        store.thoughts.setTokenCount(id, terms.length);
      }
      const last = ids.at(-1);
      if (last === undefined) {
        fullText.declareCurrent();
        operations.dropCursor(RENEWED_CURSOR);
        operations.dropCursor(RENEWING_CURSOR);
      } else {
        operations.moveCursor(RENEWED_CURSOR, last);
        operations.moveCursor(RENEWING_CURSOR, analyser);
      }
      return ids.length;
    });
    await onStep(renewed);
  }
  return true;
}

async function rebuildVectors(store: Store, embedder: Embedder, onProgress: ProgressListener): Promise<number> {
  const lease = holdVectors(store);
  try {
    store.write(() => {
      const { models } = store;
      const isSame = models.isActive(embedder.model);
      const building = models.building();
      // Its vectors are made here, and a model is registered once.
      if (building !== null && isSameModel(building, embedder.model)) models.abandon();
      models.clear();
      models.use(embedder.model);
      if (!isSame) store.operations.forgetModelWork();
    });
    let done = 0;
    for (let after = 0; ; ) {
      const ids = store.read(() => store.thoughts.idsAfter(after, BATCH));
      if (ids.length === 0) return done;
      const texts = store.read(() => ids.map((id) => store.thoughts.indexedText(id) ?? ""));
      const vectors = await embedder.embedPassages(texts);
      store.write(() => {
        lease.keep();
        store.models.use(embedder.model);
        for (const [index, id] of ids.entries()) {
          const vector = vectors[index];
          // While the model worked, the thought may have been erased.
          if (vector !== undefined && store.thoughts.idsAfter(id - 1, 1)[0] === id) store.vectors.put(id, vector);
        }
      });
      done += ids.length;
      after = ids.at(-1) ?? after;
      onProgress({ stage: "vectors", done, total: null });
    }
  } finally {
    lease.release();
  }
}
