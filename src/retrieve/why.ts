/**
 * Why a thought is known: its ancestors over its legs down to the sources, what broke a leg, what replaced or disputes
 * it, and who stands behind it. Reads every readable node and labels its state; never counts as an access.
 */
import { formatEventId } from "../core/ids.ts";
import { checkCount } from "../core/limits.ts";
import type { Belief, BeliefRelations, DecayReason, Trust } from "../core/types.ts";
import type { BrokenParent } from "../store/beliefs.ts";
import type { LegSample } from "../store/legs.ts";
import type { Store } from "../store/store.ts";
import { withRelations } from "./relations.ts";

const DEFAULT_DEPTH = 5;
const MAX_DEPTH = 50;
/** Legs shown of one node, and parents of one leg; the rest is counted. */
const FAN_OUT = 50;
/** Nodes named in one derivation walk. */
const MAX_NODES = 2_000;
/** Thoughts named that stand behind one node. */
const MAX_BEHIND = 10;

/** Why a leg does not stand. */
export interface LegBreak {
  /** The parent that no longer stands. */
  readonly id: string;
  readonly because: BrokenParent["because"];
  /** The event that took it; null when none is known. */
  readonly event: string | null;
}

export interface WhyLeg {
  readonly axiom: boolean;
  /** The event that ended it, for instance because the text left its file; null while it stands or is only broken. */
  readonly endedBy: string | null;
  /** Empty for a leg that stands. */
  readonly broken: readonly LegBreak[];
  readonly parents: readonly WhyNode[];
}

/** One node of a derivation walk; one met before, nearer or earlier in the walk, is named without its own legs. */
export interface WhyNode extends BeliefRelations {
  readonly id: string;
  readonly role: "source" | "thought";
  readonly label: string;
  readonly trust: Trust;
  readonly visible: boolean;
  readonly decayed: DecayReason;
  readonly belief: Belief;
  /** The event that superseded something it rests on, unless it was confirmed since. */
  readonly staleBy: string | null;
  readonly recalledBy: string | null;
  readonly erasedBy: string | null;
  /** The thoughts that took its place. */
  readonly supersededBy: readonly string[];
  /** The survivor that it stands behind. */
  readonly mergedInto: string | null;
  /** Thoughts that stand behind it, the newest 10, and how many there are. */
  readonly behind: { readonly ids: readonly string[]; readonly count: number };
  readonly depth: number;
  readonly seenBefore: boolean;
  readonly legs: readonly WhyLeg[];
  /** Parents, over all legs, not shown because a leg, the depth or the walk would have flooded the answer. */
  readonly omitted: number;
  /** Legs not shown, for the same reasons. */
  readonly omittedLegs: number;
}

/** A node of the walk whose legs are still to be filled in. */
interface OpenWhyNode extends WhyNode {
  legs: readonly WhyLeg[];
  omitted: number;
  omittedLegs: number;
}

/**
 * Ancestors of a node over its legs, the nearest first, to `depth` steps and 2,000 nodes; of each node the 50 newest
 * legs (standing before ended), of each leg 50 parents. What is left out is counted. Cycles end the walk.
 * @throws DormouseError `not_found`, `usage`.
 */
export function why(store: Store, id: string, depth: number = DEFAULT_DEPTH): WhyNode {
  checkCount("depth", depth, MAX_DEPTH);
  return store.read(() => {
    const rootId = store.thoughts.resolve(id);
    const seen = new Set([rootId]);
    const root = whyNode(store, rootId, 0, false);
    const queue = [{ nodeId: rootId, node: root }];
    let room = MAX_NODES - 1;
    for (const { nodeId, node } of queue) {
      if (node.role === "source" || node.seenBefore) continue;
      const total = store.legs.count(nodeId);
      const legs = node.depth < depth ? store.legs.sample(nodeId, FAN_OUT, FAN_OUT) : [];
      let shown = 0;
      node.legs = legs.map((leg) => {
        const kept = leg.parentIds.slice(0, room);
        room -= kept.length;
        shown += kept.length;
        const parents = kept.map((parentId) => {
          const parent = whyNode(store, parentId, node.depth + 1, seen.has(parentId));
          seen.add(parentId);
          queue.push({ nodeId: parentId, node: parent });
          return parent;
        });
        return { ...legState(store, leg), parents };
      });
      node.omitted = total.parents - shown;
      node.omittedLegs = total.legs - legs.length;
    }
    return root;
  });
}

function legState(store: Store, leg: LegSample): Omit<WhyLeg, "parents"> {
  return {
    axiom: leg.axiom,
    endedBy: leg.endedSeq === null ? null : formatEventId(leg.endedSeq),
    broken: store.beliefs.brokenParents(leg.id, FAN_OUT).map(({ id, because, eventSeq }) => ({
      id: store.thoughts.publicId(id),
      because,
      event: eventOf(eventSeq),
    })),
  };
}

function whyNode(store: Store, nodeId: number, depth: number, seenBefore: boolean): OpenWhyNode {
  const { beliefs, thoughts } = store;
  const { id, content, trust, belief, state } = thoughts.detail(nodeId);
  const source = store.sources.get(nodeId);
  const marks = beliefs.marks(nodeId);
  const replacements = beliefs.replacements(nodeId).map(({ fromId }) => fromId);
  const behind = beliefs.behind(nodeId, MAX_BEHIND);
  const node: Omit<OpenWhyNode, keyof BeliefRelations> = {
    id,
    role: source === null ? "thought" : "source",
    label: source?.name ?? content,
    trust,
    visible: state.visible,
    decayed: state.decayed,
    belief,
    staleBy: eventOf(marks.staleBy),
    recalledBy: eventOf(marks.recalledBy),
    erasedBy: eventOf(marks.erasedBy),
    supersededBy: [...beliefs.readableAmong(replacements)].map((other) => thoughts.publicId(other)),
    mergedInto: state.mergedInto,
    behind: { ids: behind.ids.map((other) => thoughts.publicId(other)), count: behind.count },
    depth,
    seenBefore,
    legs: [],
    omitted: 0,
    omittedLegs: 0,
  };
  const [related] = withRelations(store, [{ nodeId, view: node }]);
  if (related === undefined) throw new RangeError("one view gives one with its relations");
  return related;
}

function eventOf(seq: number | null): string | null {
  return seq === null ? null : formatEventId(seq);
}
