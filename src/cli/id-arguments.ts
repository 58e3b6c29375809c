/** Ids as arguments of commands that also take sources by name: says where a name belongs. Repeats no argument. */
import { DormouseError } from "../core/errors.ts";

/** @throws DormouseError `usage` for an argument that does not begin as an id of a thought or source does */
export function requireIds(ids: readonly string[]): void {
  const other = ids.find((id) => !/^\s*[ns]_/i.test(id));
  if (other === undefined) return;
  const isEvent = /^\s*e_\d+\s*$/i.test(other);
  throw new DormouseError("usage", isEvent ? "that is an event, not a thought or source" : "that is not an id", {
    hint: isEvent
      ? "`dormouse unrecall EVENT` undoes a recall; what is recalled is named by n_… or s_…."
      : "Sources are named by --sources, such as --sources 'tool:weather*'; ids of thoughts begin with n_, of sources with s_.",
  });
}
