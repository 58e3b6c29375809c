/**
 * Phase 8: leaves the file in order: full text made again when the analyser changed, its segments merged when
 * anything was written, the graph of aliveness kept for the next recall, the write-ahead log emptied. Decides nothing about memories.
 */
import { rebuildFullText } from "../remember/rebuild.ts";
import { checkpoint } from "../store/sleep-upkeep.ts";
import type { PhaseContext, PhaseOutcome } from "./phase.ts";

/** Event up to which the full text's segments were merged. */
const MERGED_CURSOR = "sleep.upkeep";
/** Events after which the graph of aliveness is kept anew; fewer are replayed in no time. */
const SNAPSHOT_EVENTS = 1_000;

export function keepInOrder({ store, dryRun, commit }: PhaseContext): PhaseOutcome {
  const isOutdated = store.fullText.isOutdated();
  const head = store.ledger.head().seq;
  const isScattered = isOutdated || head > store.operations.cursor(MERGED_CURSOR);
  const isBehind = head - (store.aliveness.snapshotSeq() ?? 0) > SNAPSHOT_EVENTS;
  const planned = Number(isOutdated) + Number(isScattered) + Number(isBehind);
  if (dryRun) return { planned, applied: 0 };
  if (isOutdated) commit(() => rebuildFullText(store));
  if (isScattered) {
    commit(() => {
      store.fullText.optimize();
      store.operations.moveCursor(MERGED_CURSOR, head);
    });
  }
  if (isBehind) commit(() => store.aliveness.saveSnapshot());
  return { planned, applied: planned, details: { checkpointed: Number(checkpoint(store.connection)) } };
}
