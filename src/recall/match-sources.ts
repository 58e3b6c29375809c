/** Sources that a pattern over names means. */
import { DormouseError } from "../core/errors.ts";
import { PERSON } from "../remember/remember.ts";
import type { Store } from "../store/store.ts";

/**
 * Node ids of the readable sources whose name fits, ascending. A person's own word rests on nobody: a pattern that
 * fits its name does not mean it. @throws DormouseError `not_found` when no name fits
 */
export function matchSources(store: Store, pattern: string): number[] {
  const matching = store.sources.matching(pattern);
  if (matching.length === 0) {
    throw new DormouseError("not_found", "no source has such a name", {
      hint: "`dormouse source list` prints names; `*` stands for anything.",
    });
  }
  const person = store.sources.find(PERSON.type, PERSON.key);
  return matching.map(({ nodeId }) => nodeId).filter((nodeId) => nodeId !== person);
}
