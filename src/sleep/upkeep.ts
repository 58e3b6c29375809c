/**
 * Phase 8: leaves the file in order: words analysed anew when the analyser changed, the full text's segments merged
 * when anything was written, the graph of aliveness kept for the next recall, the write-ahead log emptied. Decides
 * nothing about memories.
 */
import { renewFullText } from "../remember/rebuild.ts";
import { checkpoint } from "../store/sleep-upkeep.ts";
import type { PhaseContext, PhaseOutcome } from "./phase.ts";

/** Event up to which the full text's segments were merged. */
const MERGED_CURSOR = "sleep.upkeep";
/** Events after which the graph of aliveness is kept anew; fewer are replayed in no time. */
const SNAPSHOT_EVENTS = 1_000;

export async function keepInOrder(context: PhaseContext): Promise<PhaseOutcome> {
  const { store, dryRun, commit, isTimeUp, breathe } = context;
  const isOutdated = store.fullText.isOutdated();
  const head = store.ledger.head().seq;
  const isScattered = isOutdated || head > store.operations.cursor(MERGED_CURSOR);
  const isBehind = head - (store.aliveness.snapshotSeq() ?? 0) > SNAPSHOT_EVENTS;
  const planned = Number(isOutdated) + Number(isScattered) + Number(isBehind);
  if (dryRun) return { planned, applied: 0 };
  let applied = 0;
  if (isOutdated) {
    const thoughts = store.fullText.totals().documents;
    const isRenewed = await renewFullText(store, { commit, isTimeUp, onStep: (done) => breathe(done, thoughts) });
    if (!isRenewed)
      return { planned, applied, details: { stopped: 1, checkpointed: Number(checkpoint(store.connection)) } };
    applied += 1;
  }
  if (isScattered) {
    commit(() => {
      store.fullText.optimize();
      store.operations.moveCursor(MERGED_CURSOR, head);
    });
    applied += 1;
  }
  if (isBehind) {
    commit(() => store.aliveness.saveSnapshot());
    applied += 1;
  }
  return { planned, applied, details: { checkpointed: Number(checkpoint(store.connection)) } };
}
