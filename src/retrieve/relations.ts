/** How thoughts stand to others that say otherwise: what they replaced and what disputes them, as public ids. */
import type { BeliefRelations } from "../core/types.ts";
import type { Store } from "../store/store.ts";

/** Ids shown of each kind with one thought. */
const MAX_RELATED = 10;

/** The views with their relations, in the same order. */
export function withRelations<View extends object>(
  store: Store,
  entries: readonly { readonly nodeId: number; readonly view: View }[],
): (View & BeliefRelations)[] {
  const related = store.beliefs.relations(
    entries.map(({ nodeId }) => nodeId),
    MAX_RELATED,
  );
  const publicIds = (ids: readonly number[] = []) => ids.map((id) => store.thoughts.publicId(id));
  return entries.map(({ nodeId, view }) => ({
    ...view,
    replaces: publicIds(related.get(nodeId)?.replaces),
    disputedWith: publicIds(related.get(nodeId)?.disputedWith),
  }));
}
