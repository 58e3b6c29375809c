/**
 * Walks over the thoughts that somebody told, one as the anchor of each request, and passes over those around which
 * there is nothing to think about and those that were shown beside an anchor already. What was shown is marked in the
 * brain until the walk comes by, so that the next night does not ask about it again.
 */
import { highestThought } from "../store/sleep-links.ts";
import type { Store } from "../store/store.ts";
import { type MaterialNode, materialNode, toldAbove, toldBelow } from "../store/think-material.ts";
import type { Material } from "./material.ts";
import { Span } from "./span.ts";
import type { Place, Step } from "./task.ts";

/** Anchors passed over in one step, at most. */
const PASSED_OVER = 64;

export class AnchorWalk {
  readonly #span: Span<MaterialNode>;
  readonly #materialOf: (store: Store, anchor: MaterialNode) => Material | null;
  readonly #cursor: string;
  /** Shown since the walk began, before it is kept. */
  readonly #seen = new Set<number>();

  /**
   * @param cursor begins the names of its cursors
   * @param materialOf what is asked around an anchor; null for nothing
   */
  constructor(cursor: string, materialOf: (store: Store, anchor: MaterialNode) => Material | null) {
    this.#span = new Span(cursor, {
      above: (store, after, limit) => toldAbove(store.connection, after, limit),
      below: (store, upTo, limit) => toldBelow(store.connection, upTo, limit),
      idOf: ({ id }) => id,
      top: (store) => highestThought(store.connection),
    });
    this.#materialOf = materialOf;
    this.#cursor = cursor;
  }

  begin(store: Store): Place {
    return this.#span.begin(store);
  }

  next(store: Store, from: Place): Step | null {
    let place = from;
    const unmarked: string[] = [];
    for (let passed = 0; passed < PASSED_OVER; passed++) {
      const found = this.#span.next(store, place, 1);
      if (found === null) return passed === 0 ? null : { materials: [], place, unmarked };
      place = found.place;
      const [anchor] = found.rows;
      if (anchor === undefined) continue;
      const mark = this.#markOf(anchor.id);
      const isMarked = store.operations.cursor(mark) > 0;
      if (isMarked) unmarked.push(mark);
      if (isMarked || this.#seen.has(anchor.id)) continue;
      const material = this.#materialOf(store, anchor);
      if (material === null) continue;
      const shown = this.#coveredBy(store, material, anchor);
      for (const id of shown) this.#seen.add(id);
      return { materials: [material], place, marked: this.#marksAhead(place, shown), unmarked };
    }
    return { materials: [], place, unmarked };
  }

  /**
   * Thoughts that need no turn of their own any more, their surroundings being nearly the same. Around an untrusted one
   * others were shown, too, but what comes of it waits for review: they keep their turn.
   */
  #coveredBy(store: Store, { items, untrusted }: Material, anchor: MaterialNode): number[] {
    if (untrusted) return [];
    return items
      .flatMap(({ nodeIds }) => nodeIds)
      .filter((id) => id !== anchor.id && materialNode(store.connection, id)?.made === false);
  }

  #marksAhead(place: Place, nodeIds: readonly number[]): string[] {
    return nodeIds.filter((id) => this.#span.isAhead(place, id)).map((id) => this.#markOf(id));
  }

  /** A cursor of its own for each thought that was shown and not reached yet. */
  #markOf(nodeId: number): string {
    return `${this.#cursor}.seen.${nodeId}`;
  }
}

/**
 * Whether a thought may be shown beside an anchor: of the same scope, and untrusted only where the anchor is. What a
 * model reads bears on all that it answers, so nothing untrusted stands among what is trusted more.
 */
export function fitsBeside(store: Store, anchor: MaterialNode, nodeId: number): MaterialNode | null {
  if (nodeId === anchor.id) return null;
  const node = materialNode(store.connection, nodeId);
  return node !== null && node.scopeId === anchor.scopeId && (node.trust > 0 || anchor.trust === 0) ? node : null;
}
