/**
 * Two thoughts that cannot both be true: the event, the link, and the belief of both. Decides for neither of them; both
 * stay in search, labelled, until somebody resolves it. The caller owns the transaction.
 */
import { DormouseError } from "../core/errors.ts";
import { type Actor, BELIEFS } from "../core/types.ts";
import type { Store } from "../store/store.ts";
import type { NodeState } from "../store/thoughts.ts";
import { requireSpeaking, requireUnmerged, type StoredWords } from "./supersede.ts";

const DISPUTED = BELIEFS.indexOf("disputed");

/**
 * @param words of a person, stored already
 * @returns the event; null when the two dispute each other already
 * @throws DormouseError as `requireSpeaking` and `requireUnmerged` do; `usage` for the same thought twice
 */
export function disputeNodes(
  store: Store,
  pair: readonly [NodeState, NodeState],
  actor: Actor,
  words?: StoredWords,
): number | null {
  const [one, other] = pair;
  if (one.id === other.id) {
    throw new DormouseError("usage", `${one.publicId} cannot contradict itself`, { hint: "Name two thoughts." });
  }
  for (const node of pair) {
    requireSpeaking(node);
    requireUnmerged(store, node);
  }
  if (isDisputed(store, pair)) return null;
  const seq = store.ledger.record({
    kind: "belief.changed",
    actor,
    payload: { nodes: pair.map(({ publicId }) => publicId), reason: "disputed" },
    ...(words === undefined ? {} : { commitment: words.commitment }),
    changes: pair.map(({ id }) => ({ nodeId: id, axis: "belief", to: DISPUTED })),
  });
  if (words !== undefined) store.reasons.add(seq, words.id);
  store.links.add([{ type: "contradicts", fromId: one.id, toId: other.id, weight: 1000 }], actor);
  return seq;
}

/** True while the two say that the other is wrong. */
export function isDisputed(store: Store, [one, other]: readonly [NodeState, NodeState]): boolean {
  return store.beliefs.linkBetween("contradicts", one.id, other.id) !== null;
}
