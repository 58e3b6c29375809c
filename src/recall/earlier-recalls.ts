/** Which recalls took a root before: a second recall of the same says so instead of showing nothing. */
import { formatEventId } from "../core/ids.ts";
import type { Store } from "../store/store.ts";

/**
 * Events of recalls in force that pin any of these nodes or that it lies under, the earliest first.
 * @param besides an event that is not meant
 */
export function findEarlierRecalls(store: Store, rootIds: readonly number[], besides: string | null): string[] {
  const roots = new Set(rootIds);
  const lying = new Set(rootIds.map((id) => store.thoughts.state(id).recalledBy));
  return store.recalls
    .inForce()
    .filter(({ eventSeq, pinned }) => lying.has(eventSeq) || pinned.some((id) => roots.has(id)))
    .map(({ eventSeq }) => formatEventId(eventSeq))
    .filter((event) => event !== besides);
}
