/**
 * A thought that fell with its source and is met again in one that stands. It stands again, and with it whatever can
 * stand on it; what a recall pins cannot. Needs no graph: each step looks at the legs of one node.
 */
import type { Actor } from "../core/types.ts";
import type { Store } from "../store/store.ts";
import { carryTrust } from "./carry-trust.ts";
import { releaseCopies } from "./settle.ts";

/**
 * Inside the write transaction in which the node got a leg of which every parent stands, under the event `seq`, and
 * with no other effect pending.
 * @returns what stands again, the node first; nothing when a recall pins it
 */
export function riseAgain(store: Store, nodeId: number, seq: number, actor: Actor): number[] {
  const pinned = store.recalls.pinnedNow();
  if (pinned.has(nodeId)) return [];
  store.recalls.insert({ eventSeq: seq, removed: [], restored: [], pinned: [] });
  const restored = [nodeId];
  store.recalls.mirrorRestored([nodeId]);
  for (const id of restored) {
    const rising = store.recalls.risingChildren(id).filter((child) => !pinned.has(child));
    store.recalls.mirrorRestored(rising);
    restored.push(...rising);
  }
  store.recalls.noteRestored(
    seq,
    [...restored].sort((a, b) => a - b),
  );
  store.recalls.markMaterialised(seq);
  for (const id of restored) store.mirrorState(id);
  releaseCopies(store, store.recalls.standingCopies(restored, "copies"), actor);
  carryTrust(store, restored, actor);
  return restored;
}
