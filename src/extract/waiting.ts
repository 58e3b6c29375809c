/**
 * What a file says while a recall keeps it out: refused now, and wanted once that recall is undone. A place past such
 * a text says under which state of recalls it was refused, so that the file is read again when that has changed.
 */
import type { RefusalReason, RememberResult } from "../core/types.ts";
import type { Store } from "../store/store.ts";

/** Refusals that undoing a recall lifts. */
const LIFTED: ReadonlySet<RefusalReason | undefined> = new Set<RefusalReason>(["dead_source", "recalled"]);

/** True when one of the texts was refused only as long as a recall is in force. */
export function isKeptOut(results: readonly RememberResult[]): boolean {
  return results.some(({ status, reason }) => status === "refused" && LIFTED.has(reason));
}

/**
 * The event that changed last what is recalled; 0 before the first. Inside the transaction that refused, what a place
 * keeps as `waiting`.
 */
export function recallsSeen(store: Store): number {
  return store.recalls.newestSeq();
}

/** True when a saved place waits for texts that may be let in now: something was recalled or given back since. */
export function isWorthAnotherTry(store: Store, waiting: unknown): boolean {
  return typeof waiting === "number" && waiting !== store.recalls.newestSeq();
}
