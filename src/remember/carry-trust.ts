/**
 * Trust follows legs: a thought's is the best, over its legs that stand, of the worst within the leg. Whatever changes
 * a leg or a source's trust calls this for what is below it. Never looks above, nor at the whole brain.
 */
import { batchesOf } from "../core/batches.ts";
import { type Actor, TRUST_LEVELS } from "../core/types.ts";
import { CHANGES_PER_EVENT } from "../store/ledger.ts";
import type { Store } from "../store/store.ts";
import { childrenOf, trustOf, unbrokenLegs, type WeighedLeg } from "../store/trust.ts";

const BEST = TRUST_LEVELS.length - 1;

/**
 * Works the trust of these thoughts and of everything that rests on them out anew, and writes what changed. Least
 * fixpoint: thoughts that rest on each other in a circle have no more trust than comes in from outside. One that no
 * leg holds up keeps what it has. Inside a write transaction.
 * @returns how many thoughts changed
 */
export function carryTrust(store: Store, nodeIds: readonly number[], actor: Actor): number {
  const region = descendantsOf(store, nodeIds);
  const before = trustOf(store.connection, [...region]);
  const after = weigh([...unbrokenLegs(store.connection, [...region])]);
  const changes = [...after].flatMap(([nodeId, to]) =>
    before.get(nodeId) === to ? [] : [{ nodeId, axis: "trust" as const, to }],
  );
  for (const batch of batchesOf(changes, CHANGES_PER_EVENT)) {
    store.ledger.record({ kind: "trust.carried", actor, payload: {}, changes: batch });
  }
  return changes.length;
}

/** The nodes and all that rests on them. */
function descendantsOf(store: Store, nodeIds: readonly number[]): Set<number> {
  const region = new Set(nodeIds);
  for (let ring: readonly number[] = [...region]; ring.length > 0; ) {
    ring = childrenOf(store.connection, ring).filter((id) => !region.has(id));
    for (const id of ring) region.add(id);
  }
  return region;
}

/** Trust of those nodes that a leg holds up; all begin at the worst, and only legs raise them. */
function weigh(legs: readonly WeighedLeg[]): Map<number, number> {
  const trust = new Map<number, number>(legs.map(({ nodeId }) => [nodeId, 0]));
  const legsByParent = new Map<number, WeighedLeg[]>();
  for (const leg of legs) {
    for (const { id } of leg.parents) {
      if (!trust.has(id)) continue;
      const known = legsByParent.get(id);
      if (known === undefined) legsByParent.set(id, [leg]);
      else known.push(leg);
    }
  }
  // What is not weighed here (a source, a thought outside the region or without a leg) keeps what its row says.
  const trustWithin = (leg: WeighedLeg) =>
    leg.parents.reduce((worst, parent) => Math.min(worst, trust.get(parent.id) ?? parent.trust), BEST);
  const queue = [...legs];
  for (const leg of queue) {
    const level = trustWithin(leg);
    if (level <= (trust.get(leg.nodeId) ?? 0)) continue;
    trust.set(leg.nodeId, level);
    for (const above of legsByParent.get(leg.nodeId) ?? []) queue.push(above);
  }
  return trust;
}
