/**
 * The aftermath of recalls. What a recall took is out of every read from its commit on; here the nodes' own rows and
 * the vector indexes learn it, in batches from where the last one stopped, and copies whose survivor fell come out.
 * Whoever writes next may finish what a killed process left.
 */
import { batchesOf } from "../core/batches.ts";
import { formatEventId } from "../core/ids.ts";
import type { ProgressListener } from "../core/ports.ts";
import type { Actor } from "../core/types.ts";
import { CHANGES_PER_EVENT } from "../store/ledger.ts";
import type { StandingCopy } from "../store/recall-effects.ts";
import type { Store } from "../store/store.ts";
import { carryTrust } from "./carry-trust.ts";

/** Nodes in one transaction. */
const BATCH = 500;
/** Begins the names of cursors: how many of a recall's nodes were mirrored. */
const CURSOR = "recall.";

/**
 * Finishes every effect that is pending, each batch in a transaction of its own; inside a transaction of the
 * caller's, in that.
 */
export function settleRecalls(store: Store, actor: Actor, onProgress?: ProgressListener): void {
  for (const seq of store.read(() => store.recalls.pendingSeqs())) settleRecall(store, seq, actor, onProgress);
}

function settleRecall(store: Store, seq: number, actor: Actor, onProgress: ProgressListener | undefined): void {
  const removed = store.read(() => store.recalls.get(seq))?.removed ?? [];
  const cursor = `${CURSOR}${seq}`;
  for (let isDone = false; !isDone; ) {
    isDone = store.write(() => {
      // Another process may have been faster.
      if (!store.recalls.isPending(seq)) return true;
      const done = store.operations.cursor(cursor);
      const batch = removed.slice(done, done + BATCH);
      store.recalls.mirrorRemoved(seq, batch);
      for (const nodeId of batch) store.mirrorState(nodeId);
      onProgress?.({ stage: "settling", done: done + batch.length, total: removed.length });
      if (batch.length === BATCH) {
        store.operations.moveCursor(cursor, done + BATCH);
        return false;
      }
      releaseCopies(store, store.recalls.standingCopies(removed, "survivors"), actor);
      carryTrust(store, store.recalls.standingChildren(removed), actor);
      store.operations.dropCursor(cursor);
      store.recalls.markMaterialised(seq);
      return true;
    });
  }
}

/**
 * Copies whose own legs stand come out from behind survivors that fell; undoing the recall that a survivor lies under
 * puts its copies back. Inside a write transaction in which the survivors' rows say that they fell.
 */
export function releaseCopies(store: Store, copies: readonly StandingCopy[], actor: Actor): void {
  const byRecall = new Map<number, number[]>();
  for (const { id, recalledBy } of copies) {
    if (recalledBy === null) throw new RangeError("a survivor's row says that it fell before its copies come out");
    const ids = byRecall.get(recalledBy);
    if (ids === undefined) byRecall.set(recalledBy, [id]);
    else ids.push(id);
  }
  for (const [seq, ids] of byRecall) {
    for (const batch of batchesOf(ids, CHANGES_PER_EVENT)) {
      store.ledger.record({
        kind: "recall.released",
        actor,
        payload: { recall: formatEventId(seq) },
        changes: batch.map((nodeId) => ({ nodeId, axis: "merged_into", to: null })),
      });
    }
    store.recalls.noteReleased(seq, ids);
  }
}
