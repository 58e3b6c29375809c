/**
 * Walks over the thoughts that somebody told, one as the anchor of each request, and passes over those around which
 * there is nothing to think about.
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
  /** Shown in this walk already: their surroundings are nearly the same. */
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
  }

  begin(store: Store): Place {
    return this.#span.begin(store);
  }

  next(store: Store, from: Place): Step | null {
    let place = from;
    for (let passed = 0; passed < PASSED_OVER; passed++) {
      const found = this.#span.next(store, place, 1);
      if (found === null) return passed === 0 ? null : { materials: [], place };
      place = found.place;
      const [anchor] = found.rows;
      if (anchor === undefined || this.#seen.has(anchor.id)) continue;
      const material = this.#materialOf(store, anchor);
      if (material === null) continue;
      // Around an untrusted one others were shown, but what came of it waits for review: they keep their own turn.
      if (!material.untrusted) for (const { nodeIds } of material.items) for (const id of nodeIds) this.#seen.add(id);
      return { materials: [material], place };
    }
    return { materials: [], place };
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
