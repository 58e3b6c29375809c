/**
 * A thought whose leg ended may have stood on that one alone, its others being broken by a recall or leading back to
 * itself. It falls then, with what rested on it; and what its remaining legs hold stands again.
 */
import type { Actor } from "../core/types.ts";
import type { Store } from "../store/store.ts";
import { childrenOf } from "../store/trust.ts";
import { releaseCopies, settleRecalls } from "./settle.ts";

/**
 * Brings the nodes, and what rests on them, in line with the legs they have now. Inside the write transaction that
 * changed them. Loads no graph where nothing was ever recalled and each node has a leg of sources alone, or none.
 */
export function matchStanding(store: Store, nodeIds: readonly number[], actor: Actor): void {
  if (store.recalls.newestSeq() === 0 && !nodeIds.some((id) => store.legs.standsOnThoughtsAlone(id))) return;
  settleRecalls(store, actor);
  const graph = store.aliveness.current();
  const seen = new Set<number>();
  const removed: number[] = [];
  const restored: number[] = [];
  const queue = [...nodeIds];
  for (const id of queue) {
    if (seen.has(id)) continue;
    seen.add(id);
    const isFallen = store.recalls.hasFallen(id);
    if (graph.isAlive(id) !== isFallen) continue;
    (isFallen ? restored : removed).push(id);
    for (const child of childrenOf(store.connection, [id])) queue.push(child);
  }
  if (removed.length + restored.length === 0) return;
  const eventSeq = store.ledger.record({
    kind: "standing.changed",
    actor,
    payload: { removed: removed.length, restored: restored.length },
  });
  removed.sort((a, b) => a - b);
  restored.sort((a, b) => a - b);
  store.recalls.insert({ eventSeq, removed, restored, pinned: [] });
  store.recalls.mirrorRestored(restored);
  store.recalls.attributeAnew(removed, eventSeq);
  store.recalls.markMaterialised(eventSeq);
  for (const id of seen) store.mirrorState(id);
  releaseCopies(store, store.recalls.standingCopies(removed, "survivors"), actor);
  releaseCopies(store, store.recalls.standingCopies(restored, "copies"), actor);
}
