/**
 * How a thought that lies under a recall is refused: by name, with the event and the way back. Decides nothing about
 * when; the use-cases say what a recalled thought may still meet.
 */
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import { isRecall } from "../store/recall-effects.ts";
import type { Store } from "../store/store.ts";
import type { NodeState } from "../store/thoughts.ts";

/** Lets a thought pass that stands. @throws DormouseError `recalled`, naming the event and what undoes it */
export function requireUnrecalled(store: Store, node: NodeState): void {
  if (node.recalledBy !== null) throw recalledError(store, node.publicId, node.recalledBy);
}

/** @param seq the event the thought lies under */
export function recalledError(store: Store, id: string, seq: number): DormouseError {
  const event = formatEventId(seq);
  if (!isRecall(store.connection, seq)) {
    return new DormouseError("recalled", `no leg holds ${id} up since ${event}`, {
      hint: `\`dormouse leg add ${id} --leg ID\` gives it one that stands.`,
    });
  }
  return new DormouseError("recalled", `${id} lies under the recall ${event}`, {
    hint: `\`dormouse unrecall ${event}\` undoes that recall, with all that it took.`,
  });
}
