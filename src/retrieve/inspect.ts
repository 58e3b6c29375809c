/**
 * Inspection: what a thought is, why it is known, how two are connected, what the brain holds. Reads
 * every readable node and labels its state; never ranks and never counts as an access.
 */
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import type { LinkType, SourceType, Trust } from "../core/types.ts";
import type { LegRow } from "../store/legs.ts";
import type { Store } from "../store/store.ts";
import type { ListFilter, StateView, ThoughtDetail } from "../store/thoughts.ts";

const DEFAULT_DEPTH = 5;
const MAX_DEPTH = 50;
/** Parents shown of one leg, and links of one node; the rest is counted. */
const FAN_OUT = 50;
/** Nodes visited before a path search gives up. */
const MAX_PATH_NODES = 50_000;

/** A source as inspection shows it. */
export interface SourceDetail {
  readonly id: string;
  readonly role: "source";
  readonly type: SourceType;
  readonly name: string;
  readonly reference: string | null;
  readonly trust: Trust;
  readonly state: StateView;
  readonly thoughts: number;
}

export interface OccurrenceView {
  readonly source: string;
  readonly sourceName: string;
  readonly said: { readonly from: string | null; readonly to: string | null } | null;
  readonly previous: string | null;
  readonly next: string | null;
  readonly ended: boolean;
}

export interface ThoughtInspection extends ThoughtDetail {
  readonly role: "thought";
  readonly legs: readonly LegView[];
  readonly occurrences: readonly OccurrenceView[];
  readonly links: readonly { readonly type: LinkType; readonly direction: "to" | "from"; readonly id: string }[];
  readonly accessDays: number;
  readonly reason: string | null;
}

export interface LegView {
  readonly axiom: boolean;
  readonly parents: readonly string[];
  readonly added: string;
  readonly ended: string | null;
}

/** Everything about one node. @throws DormouseError `not_found`. */
export function show(store: Store, id: string): ThoughtInspection | SourceDetail {
  return store.read(() => {
    const nodeId = store.thoughts.resolve(id);
    if (store.thoughts.state(nodeId).role === 0) return sourceDetail(store, nodeId);
    return {
      ...store.thoughts.detail(nodeId),
      role: "thought",
      legs: store.legs.of(nodeId).map((leg) => legView(store, leg)),
      occurrences: occurrenceViews(store, nodeId),
      links: store.links.of(nodeId, FAN_OUT).map(({ type, fromId, toId }) => ({
        type,
        direction: fromId === nodeId ? ("to" as const) : ("from" as const),
        id: store.thoughts.publicId(fromId === nodeId ? toId : fromId),
      })),
      accessDays: store.operations.accessDays(nodeId),
      reason: store.thoughts.lastReason(nodeId),
    };
  });
}

function sourceDetail(store: Store, nodeId: number): SourceDetail {
  const source = store.sources.get(nodeId);
  if (source === null) throw new RangeError("a source node has a source row");
  return {
    id: source.publicId,
    role: "source",
    type: source.type,
    name: source.name,
    reference: source.reference,
    trust: source.trust,
    state: store.thoughts.detail(nodeId).state,
    thoughts: store.occurrences.countInSource(nodeId),
  };
}

function legView(store: Store, leg: LegRow): LegView {
  return {
    axiom: leg.axiom,
    parents: leg.parentIds.slice(0, FAN_OUT).map((id) => store.thoughts.publicId(id)),
    added: formatEventId(leg.addedSeq),
    ended: leg.endedSeq === null ? null : formatEventId(leg.endedSeq),
  };
}

function occurrenceViews(store: Store, nodeId: number): OccurrenceView[] {
  return store.occurrences.of(nodeId).map((occurrence) => {
    const neighbor = (step: -1 | 1) => {
      const id = store.occurrences.neighborOf(occurrence, step);
      return id === null ? null : store.thoughts.publicId(id);
    };
    const source = store.sources.get(occurrence.sourceId);
    return {
      source: source?.publicId ?? "",
      sourceName: source?.name ?? "",
      said:
        occurrence.referentKind === 0 ? null : { from: iso(occurrence.referentFrom), to: iso(occurrence.referentTo) },
      previous: neighbor(-1),
      next: neighbor(1),
      ended: occurrence.ended === 1,
    };
  });
}

/** One node of a derivation walk; a node met before is named without its own legs. */
export interface WhyNode {
  readonly id: string;
  readonly role: "source" | "thought";
  readonly label: string;
  readonly trust: Trust;
  readonly visible: boolean;
  readonly depth: number;
  readonly seenBefore: boolean;
  readonly legs: readonly { readonly axiom: boolean; readonly ended: boolean; readonly parents: readonly WhyNode[] }[];
  /** Parents not shown because a leg or the depth would have flooded the answer. */
  readonly omitted: number;
}

/**
 * Ancestors of a node over its legs, to `depth` steps. Cycles end the walk.
 * @throws DormouseError `not_found`, `usage`.
 */
export function why(store: Store, id: string, depth: number = DEFAULT_DEPTH): WhyNode {
  if (!Number.isInteger(depth) || depth < 1 || depth > MAX_DEPTH) {
    throw new DormouseError("usage", `depth must be a whole number from 1 to ${MAX_DEPTH}`);
  }
  return store.read(() => whyNode(store, store.thoughts.resolve(id), 0, depth, new Set()));
}

function whyNode(store: Store, nodeId: number, at: number, depth: number, seen: Set<number>): WhyNode {
  const state = store.thoughts.state(nodeId);
  const detail = store.thoughts.detail(nodeId);
  const seenBefore = seen.has(nodeId);
  seen.add(nodeId);
  const legs = state.role === 0 || seenBefore ? [] : store.legs.of(nodeId);
  const goesOn = at < depth;
  const omitted = legs.reduce(
    (sum, { parentIds }) => sum + (goesOn ? Math.max(0, parentIds.length - FAN_OUT) : parentIds.length),
    0,
  );
  return {
    id: state.publicId,
    role: state.role === 0 ? "source" : "thought",
    label: state.role === 0 ? (store.sources.get(nodeId)?.name ?? "") : detail.content,
    trust: detail.trust,
    visible: detail.state.visible,
    depth: at,
    seenBefore,
    legs: goesOn
      ? legs.map(({ axiom, endedSeq, parentIds }) => ({
          axiom,
          ended: endedSeq !== null,
          parents: parentIds.slice(0, FAN_OUT).map((parentId) => whyNode(store, parentId, at + 1, depth, seen)),
        }))
      : [],
    omitted,
  };
}

export interface PathStep {
  readonly id: string;
  readonly via: string | null;
  readonly label: string;
}

/**
 * Shortest path between two nodes over legs, links and sequence, visible or not.
 * @returns the steps from the first to the second, or null when they are not connected.
 */
export function how(store: Store, fromId: string, toId: string): PathStep[] | null {
  return store.read(() => {
    const from = store.thoughts.resolve(fromId);
    const to = store.thoughts.resolve(toId);
    const cameFrom = new Map<number, { readonly id: number; readonly via: string } | null>([[from, null]]);
    const queue = [from];
    for (let at = 0; at < queue.length && !cameFrom.has(to) && queue.length < MAX_PATH_NODES; at++) {
      const current = queue[at];
      if (current === undefined) break;
      for (const { id, via } of store.thoughts.connections(current, FAN_OUT)) {
        if (cameFrom.has(id)) continue;
        cameFrom.set(id, { id: current, via });
        queue.push(id);
      }
    }
    return cameFrom.has(to) ? tracePath(store, cameFrom, to) : null;
  });
}

function tracePath(
  store: Store,
  cameFrom: ReadonlyMap<number, { readonly id: number; readonly via: string } | null>,
  to: number,
): PathStep[] {
  const steps: PathStep[] = [];
  let current: number | null = to;
  while (current !== null) {
    const step: { readonly id: number; readonly via: string } | null = cameFrom.get(current) ?? null;
    const source = store.sources.get(current);
    steps.unshift({
      id: store.thoughts.publicId(current),
      via: step?.via ?? null,
      label: source?.name ?? store.thoughts.detail(current).content,
    });
    current = step?.id ?? null;
  }
  return steps;
}

/** Newest first, any state. */
export function list(store: Store, filter: ListFilter): ThoughtDetail[] {
  return store.read(() => store.thoughts.list(filter).map((id) => store.thoughts.detail(id)));
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
