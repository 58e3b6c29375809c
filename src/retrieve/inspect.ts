/**
 * Inspection: what a thought is, how two are connected, what the brain holds. Reads every readable node and
 * labels its state; never ranks and never counts as an access.
 */
import { formatEventId } from "../core/ids.ts";
import type { LinkType, SourceType, Trust } from "../core/types.ts";
import type { LegSample } from "../store/legs.ts";
import type { Store } from "../store/store.ts";
import type { ListFilter, StateView, Step, ThoughtDetail } from "../store/thoughts.ts";

/** Legs, occurrences and links each way shown of one node, and parents of one leg; the rest is counted. */
const FAN_OUT = 50;
/** Nodes met before a path search gives up. */
const MAX_PATH_NODES = 20_000;

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
  readonly said: { readonly from: string | null; readonly to: string | null; readonly floating?: true } | null;
  readonly previous: string | null;
  readonly next: string | null;
  readonly ended: boolean;
}

export interface ThoughtInspection extends ThoughtDetail {
  readonly role: "thought";
  /** All there are, ended legs and occurrences included; the lists beside hold at most 50 of each (links: each way). */
  readonly counts: { readonly legs: number; readonly occurrences: number; readonly links: number };
  /** Standing ones before ended ones, newer before older; of those, the oldest first. So are occurrences. */
  readonly legs: readonly LegView[];
  readonly occurrences: readonly OccurrenceView[];
  readonly links: readonly { readonly type: LinkType; readonly direction: "to" | "from"; readonly id: string }[];
  readonly accessDays: number;
  readonly reason: string | null;
}

export interface LegView {
  readonly axiom: boolean;
  readonly parents: readonly string[];
  /** Parents not listed, for there are too many. */
  readonly omitted: number;
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
      counts: {
        legs: store.legs.count(nodeId).legs,
        occurrences: store.occurrences.count(nodeId),
        links: store.links.count(nodeId),
      },
      legs: store.legs.sample(nodeId, FAN_OUT, FAN_OUT).map((leg) => legView(store, leg)),
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

function legView(store: Store, leg: LegSample): LegView {
  return {
    axiom: leg.axiom,
    parents: leg.parentIds.map((id) => store.thoughts.publicId(id)),
    omitted: leg.parentCount - leg.parentIds.length,
    added: formatEventId(leg.addedSeq),
    ended: leg.endedSeq === null ? null : formatEventId(leg.endedSeq),
  };
}

function occurrenceViews(store: Store, nodeId: number): OccurrenceView[] {
  return store.occurrences.sample(nodeId, FAN_OUT).map((occurrence) => {
    const neighbor = (step: -1 | 1) => {
      const id = store.occurrences.neighborOf(occurrence, step);
      return id === null ? null : store.thoughts.publicId(id);
    };
    const source = store.sources.get(occurrence.sourceId);
    return {
      source: source?.publicId ?? "",
      sourceName: source?.name ?? "",
      said:
        occurrence.referentKind === 0
          ? null
          : {
              from: iso(occurrence.referentFrom),
              to: iso(occurrence.referentTo),
              ...(occurrence.referentKind === 2 ? { floating: true as const } : {}),
            },
      previous: neighbor(-1),
      next: neighbor(1),
      ended: occurrence.ended === 1,
    };
  });
}

export interface PathStep {
  readonly id: string;
  readonly via: string | null;
  readonly label: string;
}

/**
 * A path between two nodes over standing legs, links and sequence, visible or not; the same one, reversed, the other
 * way round. Of each node at most 50 connections of each kind each way are followed, from both ends. Where no node
 * has more, the path is the shortest. Through a node that has more (a hub) it may be longer than need be, and a
 * connection that leads through several hubs may be missed. The search gives up after 20,000 nodes.
 * @returns the steps from the first to the second, or null when no connection was found.
 */
export function how(store: Store, fromId: string, toId: string): PathStep[] | null {
  return store.read(() => {
    const from = store.thoughts.resolve(fromId);
    const to = store.thoughts.resolve(toId);
    const path = findPath(store, Math.min(from, to), Math.max(from, to));
    if (path === null) return null;
    return (from <= to ? path : reversePath(path)).map(({ id, via }) => ({
      id: store.thoughts.publicId(id),
      via,
      label: store.sources.get(id)?.name ?? store.thoughts.detail(id).content,
    }));
  });
}

/** A node on a path; `via` and `back` name the step to it from the node before, and are null at the start. */
interface Hop {
  readonly id: number;
  readonly via: string | null;
  readonly back: string | null;
}

/** One end's half of a search: how each node was met, the nodes of the outermost ring last. */
interface Reach {
  readonly met: Map<number, { readonly depth: number; readonly before: number | null; readonly step: Step }>;
  ring: readonly number[];
}

/** Breadth first from both ends, a whole ring at a time, the smaller ring first. */
function findPath(store: Store, from: number, to: number): Hop[] | null {
  const ends: [Reach, Reach] = [startReach(from), startReach(to)];
  let [near, far] = ends;
  let meeting = from === to ? from : null;
  while (meeting === null && near.met.size + far.met.size < MAX_PATH_NODES) {
    [near, far] = ends[0].ring.length <= ends[1].ring.length ? ends : [ends[1], ends[0]];
    // An end that is exhausted may still be met from the other: connections cut at a hub lead one way only.
    if (near.ring.length === 0) [near, far] = [far, near];
    if (near.ring.length === 0) return null;
    meeting = growRing(store, near, far);
  }
  if (meeting === null) return null;
  return [...traceBack(ends[0], meeting), ...reversePath(traceBack(ends[1], meeting)).slice(1)];
}

function startReach(id: number): Reach {
  return { met: new Map([[id, { depth: 0, before: null, step: { id, via: "", back: "" } }]]), ring: [id] };
}

/** @returns the node by which the two halves meet on the shortest path through the new ring, or null */
function growRing(store: Store, near: Reach, far: Reach): number | null {
  const ring: number[] = [];
  let meeting: { readonly id: number; readonly depth: number } | null = null;
  for (const before of near.ring) {
    if (near.met.size + far.met.size >= MAX_PATH_NODES) break;
    const depth = (near.met.get(before)?.depth ?? 0) + 1;
    for (const step of store.thoughts.connections(before, FAN_OUT)) {
      if (near.met.has(step.id)) continue;
      near.met.set(step.id, { depth, before, step });
      ring.push(step.id);
      const other = far.met.get(step.id);
      if (other !== undefined && (meeting === null || other.depth < meeting.depth)) {
        meeting = { id: step.id, depth: other.depth };
      }
    }
  }
  near.ring = ring;
  return meeting?.id ?? null;
}

/** The hops from the end of a half to a node it met. */
function traceBack({ met }: Reach, id: number): Hop[] {
  const hops: Hop[] = [];
  for (let at = met.get(id); at !== undefined; at = at.before === null ? undefined : met.get(at.before)) {
    const isStart = at.before === null;
    hops.push({ id: at.step.id, via: isStart ? null : at.step.via, back: isStart ? null : at.step.back });
  }
  return hops.reverse();
}

/** The same hops seen from the other end. */
function reversePath(hops: readonly Hop[]): Hop[] {
  return hops
    .map(({ id }, index) => {
      const next = hops[index + 1];
      return { id, via: next?.back ?? null, back: next?.via ?? null };
    })
    .reverse();
}

/** Newest first, any state. */
export function list(store: Store, filter: ListFilter): ThoughtDetail[] {
  return store.read(() => store.thoughts.list(filter).map((id) => store.thoughts.detail(id)));
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
