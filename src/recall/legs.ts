/**
 * Legs that are given to a known thought by hand: what else justifies it. A leg is no meeting, so the thought keeps its
 * times, and its state but for one thing: what had fallen with a source stands again when the new leg holds it up.
 */
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import { type Actor, type LegInput, TRUST_LEVELS, type Trust } from "../core/types.ts";
import { carryTrust } from "../remember/carry-trust.ts";
import { matchStanding } from "../remember/match-standing.ts";
import { riseAgain } from "../remember/rise.ts";
import { settleRecalls } from "../remember/settle.ts";
import type { NewLeg, ParentState } from "../store/legs.ts";
import type { Store } from "../store/store.ts";
import type { NodeState } from "../store/thoughts.ts";

/** Most legs added at once, and most parents of one. */
const MAX_LIST_LENGTH = 100;

export interface NewLegs {
  /** Ids each; all parents of a leg must stand, any leg is enough. */
  readonly legs?: readonly (LegInput & { readonly parents: readonly string[] })[];
  /** The person's own word, too. */
  readonly axiom?: boolean;
}

export interface LegChange {
  readonly id: string;
  /** Legs that are new; the thought had the others already. */
  readonly added: number;
  /** The event that added them; null when none was new. */
  readonly event: string | null;
  /** Of the thought, now. */
  readonly trust: Trust;
  /** Thoughts that had fallen in a recall and stand again, the thought itself among them. */
  readonly risen: number;
}

/**
 * Gives a thought further legs.
 * @throws DormouseError `not_found`; `usage` for a source or no leg; `invalid` for one that names the thought itself or
 * a thought of a stricter scope; `dead_source`; `recalled` for a thought that a recall pins; `erased`, `tombstone`
 */
export function addLegs(
  store: Store,
  id: string,
  { legs: given = [], axiom = false }: NewLegs,
  actor: Actor,
): LegChange {
  checkCounts(given, axiom);
  return store.write(() => {
    settleRecalls(store, actor);
    const node = store.thoughts.state(store.thoughts.resolve(id));
    requireOpen(store, node);
    const wanted = [
      ...given.map(({ parents }): NewLeg => ({ axiom: false, parentIds: resolveParents(store, node, parents) })),
      ...(axiom ? [{ axiom: true, parentIds: [] }] : []),
    ];
    const distinct = [...new Map(wanted.map((leg) => [leg.parentIds.join(" "), leg])).values()];
    const fresh = distinct.filter((leg) => store.legs.find(node.id, leg) === null);
    if (fresh.length === 0) return { id: node.publicId, added: 0, event: null, trust: trustNow(store, node), risen: 0 };
    const wasGone = !store.legs.hasStanding(node.id);
    const seq = store.ledger.record({
      kind: "leg.added",
      actor,
      payload: { node: node.publicId, legs: fresh.map((leg) => store.legs.describe(leg)) },
    });
    for (const leg of fresh) store.legs.insert(node.id, leg, seq);
    const risen = node.recalledBy === null ? [] : riseAgain(store, node.id, seq, actor);
    // Its text had left its file, and it stood on that alone; now it stands on what the new legs name.
    if (wasGone && risen.length === 0) matchStanding(store, [node.id], actor);
    if (risen.length === 0) carryTrust(store, [node.id], actor);
    return {
      id: node.publicId,
      added: fresh.length,
      event: formatEventId(seq),
      trust: trustNow(store, node),
      risen: risen.length,
    };
  });
}

function checkCounts(legs: NonNullable<NewLegs["legs"]>, axiom: boolean): void {
  if (legs.length === 0 && !axiom) {
    throw new DormouseError("usage", "no leg is named", { hint: "--leg A,B adds one that rests on both." });
  }
  if (Math.max(legs.length, ...legs.map(({ parents }) => parents.length)) > MAX_LIST_LENGTH) {
    throw new DormouseError("usage", `${MAX_LIST_LENGTH} legs at once and ${MAX_LIST_LENGTH} parents each at most`);
  }
  if (legs.some(({ parents }) => parents.length === 0)) {
    throw new DormouseError("usage", "a leg names no parent");
  }
}

/** Refuses what can have no leg, or may not get one before something else is undone. */
function requireOpen(store: Store, node: NodeState): void {
  if (node.role === 0) {
    throw new DormouseError("usage", `${node.publicId} is a source; only thoughts rest on something`);
  }
  if (node.erasedBy !== null) throw new DormouseError("erased", `${node.publicId} was erased`);
  if (node.belief === "rejected") {
    throw new DormouseError("tombstone", `${node.publicId} was rejected and must not come back`, {
      hint: "A person can lift the tombstone.",
    });
  }
  if (node.recalledBy !== null && store.recalls.pinnedNow().has(node.id)) {
    const event = formatEventId(node.recalledBy);
    throw new DormouseError("recalled", `${node.publicId} is pinned by a recall (${event}); no leg can hold it up`, {
      hint: `\`dormouse unrecall ${event}\` undoes that.`,
    });
  }
}

function resolveParents(store: Store, node: NodeState, ids: readonly string[]): number[] {
  const parents = [...new Set(ids.map((id) => store.thoughts.resolve(id)))].map((id) => requireParent(store, node, id));
  return parents.map(({ id }) => id).sort((a, b) => a - b);
}

function requireParent(store: Store, node: NodeState, parentId: number): ParentState {
  const parent = store.legs.parent(parentId);
  if (parent === null) throw new RangeError("a resolved id has a row");
  if (parentId === node.id) throw new DormouseError("invalid", `${node.publicId} cannot rest on itself`);
  if (parent.dead) {
    throw new DormouseError("dead_source", `${parent.publicId} was recalled, erased or rejected`, {
      hint: "Cite only what still stands.",
    });
  }
  // Sources are shared between scopes (a model, a tool) and bind nobody.
  const isStricter = parent.role === 1 && store.scopes.strictest([node.scopeId, parent.scopeId]) !== node.scopeId;
  if (isStricter) {
    const [own, theirs] = [node.scopeId, parent.scopeId].map((scopeId) => store.scopes.nameOf(scopeId));
    throw new DormouseError(
      "invalid",
      `${parent.publicId} is kept in scope ${theirs}, stricter than ${own}, where ${node.publicId} is kept`,
      { hint: `What rests on it belongs into ${theirs}: remember it there, resting on both.` },
    );
  }
  return parent;
}

function trustNow(store: Store, { id }: NodeState): Trust {
  return TRUST_LEVELS[store.thoughts.state(id).trust] ?? "unknown";
}
