/**
 * How a thought that lies under a recall is refused: by name, with the event and the way back. Decides nothing about
 * when; the use-cases say what a recalled thought may still meet.
 */
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import type { RememberInput } from "../core/types.ts";
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

/** Why an input may not be remembered whose source, or something that a leg of it names, does not stand. */
export function deadSourceError(store: Store, { legs = [], occurrence }: RememberInput): DormouseError {
  const named = [...(occurrence === undefined ? [] : [occurrence.source]), ...legs.flatMap(({ parents }) => parents)];
  const ids = named.flatMap((parent) =>
    typeof parent === "string" ? [store.thoughts.resolve(parent)] : (store.sources.find(parent.type, parent.key) ?? []),
  );
  const fallen = ids.map((id) => store.thoughts.state(id)).find(({ recalledBy }) => recalledBy !== null);
  if (fallen === undefined || fallen.recalledBy === null) {
    return new DormouseError("dead_source", "a leg cites a source that was recalled or erased", {
      hint: "Cite only what still stands.",
    });
  }
  const { message, hint = "" } = recalledError(store, fallen.publicId, fallen.recalledBy);
  return new DormouseError("dead_source", `it would rest on what was recalled: ${message}`, {
    hint: `Name another source or leg. ${hint}`,
  });
}
