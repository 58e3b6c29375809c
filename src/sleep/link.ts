/**
 * Phase 4: similar links between thoughts that the model finds near each other. Every new thought is visited
 * once, in id order; when new ones came, a quarter as many old ones are visited again, in turn. Never across
 * scopes, never to what is hidden, and not between neighbours in a conversation, which are joined already.
 */
import type { NewLink } from "../store/links.ts";
import { LINK_CURSOR } from "../store/operations.ts";
import { countSimilar, countThoughts, highestThought, type ScopedNode, thoughtsInOrder } from "../store/sleep-links.ts";
import type { Store } from "../store/store.ts";
import type { Neighbor } from "../store/vectors.ts";
import type { Thresholds } from "./forecast.ts";
import { createCellSearch, createExactSearch, type NeighborSearch } from "./neighbors.ts";
import type { PhaseContext, PhaseOutcome, SleepConfig } from "./phase.ts";
import { thresholdsOf, toWeight } from "./thresholds.ts";

/** Id up to which new thoughts were counted towards visits of old ones. */
const SEEN_CURSOR = `${LINK_CURSOR}.seen`;
/** Last old thought visited again, and how many such visits are due. */
const REVISIT_CURSOR = `${LINK_CURSOR}.revisit`;
const REVISITS_DUE_CURSOR = `${LINK_CURSOR}.revisits_due`;
/** Cells that this arrival is searched by, 0 for exactly; kept so that an interrupted night goes on alike. */
const CELLS_CURSOR = `${LINK_CURSOR}.cells`;

/** Cells for the square root of the number of thoughts: measured best between few cells and small ones. */
const CELLS_PER_ROOT = 1.5;
/** Thoughts visited in one transaction. */
const BATCH = 200;
/** One old thought is visited again for so many new ones. */
const NEW_PER_REVISIT = 4;
/** What the L2 distance from the zero vector says as a cosine. */
const ZERO_COSINE = 0.5;
/** Occurrences of a thought whose neighbours in sequence are known to be joined. */
const SEQUENCE_FAN_OUT = 4;

/** A near thought, with what decides about a link to it. */
export interface NearThought extends Neighbor {
  /** A similar link between the two stands already. */
  readonly isLinked: boolean;
  /** The two follow each other in some conversation. */
  readonly isAdjacent: boolean;
  /** Similar links it holds, counted up to the limit; not counted for what is joined already. */
  readonly degree: number;
}

/** A thought with all that decides about its links. */
export interface Visit {
  readonly nodeId: number;
  readonly degree: number;
  /** Nearest first. */
  readonly near: readonly NearThought[];
}

/** Links planned in earlier batches that the brain does not hold, as in a dry run. */
export interface PlannedLinks {
  /** "from to" of each. */
  readonly pairs: Set<string>;
  /** How many a thought would have got. */
  readonly added: Map<number, number>;
}

/**
 * The links that visits in this order add: to the nearest above the threshold, until the thought or its neighbour
 * holds enough. A thought without any is joined to the nearest that is its kin at all. Where the visits are cut into
 * batches makes no difference. Changes nothing but `planned`.
 */
export function planLinks(
  visits: readonly Visit[],
  thresholds: Thresholds,
  config: SleepConfig,
  planned: PlannedLinks = { pairs: new Set(), added: new Map() },
): NewLink[] {
  const links: NewLink[] = [];
  const { pairs, added } = planned;
  const isFull = (nodeId: number, held: number) => held + (added.get(nodeId) ?? 0) >= config.linkDegree;
  for (const { nodeId, degree, near } of visits) {
    let fresh = 0;
    for (const other of near) {
      const isAlone = degree + (added.get(nodeId) ?? 0) === 0;
      if (other.cosine < (isAlone ? thresholds.kin : thresholds.link)) break;
      if (fresh >= config.linkNeighbors || isFull(nodeId, degree)) break;
      const [fromId, toId] = nodeId < other.nodeId ? [nodeId, other.nodeId] : [other.nodeId, nodeId];
      const key = `${fromId} ${toId}`;
      if (other.isLinked || other.isAdjacent || pairs.has(key)) continue;
      // A crowded neighbour still takes what has no other: unlinked, it would decay for being like many.
      if (!isAlone && isFull(other.nodeId, other.degree)) continue;
      pairs.add(key);
      links.push({ type: "similar", fromId, toId, weight: toWeight(other.cosine, thresholds) });
      for (const end of [fromId, toId]) added.set(end, (added.get(end) ?? 0) + 1);
      fresh += 1;
    }
  }
  return links;
}

/** Looks up all that decides about the links of these thoughts. */
function gatherVisits(
  { store, config, forecast }: PhaseContext,
  nodes: readonly ScopedNode[],
  search: NeighborSearch,
  thresholds: Thresholds,
): Visit[] {
  // One more for each side in a conversation, since those are passed over.
  const k = config.linkNeighbors + 2;
  const degreeOf = (nodeId: number) => countSimilar(store.connection, nodeId, config.linkDegree);
  return nodes.flatMap(({ id, scopeId }) => {
    if (forecast.absorbed.has(id)) return [];
    const degree = degreeOf(id);
    const least = degree === 0 ? thresholds.kin : thresholds.link;
    const neighbors = search(id, scopeId, k).filter(
      ({ nodeId, cosine }) => cosine >= least && !forecast.absorbed.has(nodeId) && hasWords(store, nodeId, cosine),
    );
    if (neighbors.length === 0) return [];
    const sequence = store.occurrences.sequenceNeighbors([id], SEQUENCE_FAN_OUT);
    const adjacent = new Set(sequence.map(({ neighborId }) => neighborId));
    const near = neighbors.map(({ nodeId, cosine }) => {
      const isLinked = store.links.has("similar", Math.min(id, nodeId), Math.max(id, nodeId));
      const isAdjacent = adjacent.has(nodeId);
      return { nodeId, cosine, isLinked, isAdjacent, degree: isLinked || isAdjacent ? 0 : degreeOf(nodeId) };
    });
    return [{ nodeId: id, degree, near }];
  });
}

/** A text without a word that the model knows has the zero vector, which stands at one distance from every other. */
function hasWords(store: Store, nodeId: number, cosine: number): boolean {
  if (Math.abs(cosine - ZERO_COSINE) > 0.01) return true;
  return store.vectors.get(nodeId)?.some((value) => value !== 0) === true;
}

/** How far linking is; all of it is kept in cursors. */
interface Round {
  /** New thoughts up to this id can be visited: none below it waits for its vector. */
  readonly upTo: number;
  readonly cells: number;
  visited: number;
  revisited: number;
  revisitsDue: number;
}

export async function linkNeighbors(context: PhaseContext): Promise<PhaseOutcome> {
  const { store, config, dryRun } = context;
  if (store.models.active() === null) return { planned: 0, applied: 0 };
  const thresholds = thresholdsOf(context);
  const forecast: PlannedLinks = { pairs: new Set(), added: new Map() };
  const round = beginRound(context);
  let search: NeighborSearch | undefined;
  const total = store.read(() => countThoughts(store.connection, round.visited, round.upTo)) + round.revisitsDue;
  let planned = 0;
  let applied = 0;
  let visits = 0;
  let stopped = 0;
  for (;;) {
    const most = Math.min(BATCH, config.linkPerNight - visits);
    const step = store.read(() => nextStep(store, round, Math.max(1, most)));
    if (step === null) break;
    if (context.isTimeUp() || most <= 0) {
      stopped = 1;
      break;
    }
    const look = search ?? (await createSearch(context, round.cells));
    if (look === null) {
      stopped = 1;
      break;
    }
    search = look;
    const links = store.read(() => {
      const seen = gatherVisits(context, step.nodes, look, thresholds);
      return dryRun ? planLinks(seen, thresholds, config, forecast) : planLinks(seen, thresholds, config);
    });
    planned += links.length;
    visits += step.nodes.length;
    Object.assign(round, step.moves);
    if (!dryRun) {
      applied += context.commit(() => {
        saveRound(store, round);
        return store.links.add(links, context.actor).length;
      });
    }
    await context.breathe(visits, total);
  }
  return { planned, applied, details: { visited: visits, cells: round.cells, stopped } };
}

/** Null when time ran out while vectors were sorted. */
async function createSearch(context: PhaseContext, cells: number): Promise<NeighborSearch | null> {
  if (cells === 0) return createExactSearch(context.store);
  return createCellSearch(context.store, cells, async () => {
    await context.breathe(0, null);
    return context.dryRun || !context.isTimeUp();
  });
}

/** Counts what arrived since the last round; an interrupted round is taken up as it was. */
function beginRound({ store, config, dryRun, commit }: PhaseContext): Round {
  const { operations, connection } = store;
  const { round, seen } = store.read(() => {
    const visited = operations.cursor(LINK_CURSOR);
    const waiting = store.vectors.missing(visited, 1)[0];
    return {
      seen: operations.cursor(SEEN_CURSOR),
      round: {
        upTo: waiting === undefined ? highestThought(connection) : waiting - 1,
        cells: operations.cursor(CELLS_CURSOR),
        visited,
        revisited: operations.cursor(REVISIT_CURSOR),
        revisitsDue: operations.cursor(REVISITS_DUE_CURSOR),
      },
    };
  });
  if (round.upTo <= seen) return round;
  const begun = store.read(() => {
    const known = countThoughts(connection, 0, seen);
    const arrived = countThoughts(connection, seen, round.upTo);
    const revisitsDue = Math.min(known, round.revisitsDue + Math.ceil(arrived / NEW_PER_REVISIT));
    const visits = countThoughts(connection, round.visited, round.upTo) + revisitsDue;
    const isMuch = visits * (known + arrived) > config.exactComparisons;
    return { ...round, revisitsDue, cells: isMuch ? Math.round(CELLS_PER_ROOT * Math.sqrt(known + arrived)) : 0 };
  });
  if (!dryRun) {
    commit(() => {
      saveRound(store, begun);
      operations.moveCursor(SEEN_CURSOR, begun.upTo);
      operations.moveCursor(CELLS_CURSOR, begun.cells);
    });
  }
  return begun;
}

function saveRound(store: Store, round: Round): void {
  const { operations } = store;
  operations.moveCursor(LINK_CURSOR, round.visited);
  operations.moveCursor(REVISIT_CURSOR, round.revisited);
  operations.moveCursor(REVISITS_DUE_CURSOR, round.revisitsDue);
}

interface Step {
  readonly nodes: readonly ScopedNode[];
  /** Where the round stands once these are done. */
  readonly moves: Partial<Round>;
}

/** The next thoughts: new ones first, then old ones in turn; null when the round is done. */
function nextStep(store: Store, round: Round, most: number): Step | null {
  const fresh = thoughtsInOrder(store.connection, round.visited, round.upTo, most);
  const last = fresh.at(-1);
  if (last !== undefined) return { nodes: fresh, moves: { visited: fresh.length < most ? round.upTo : last.id } };
  if (round.revisitsDue <= 0) return null;
  const limit = Math.min(most, round.revisitsDue);
  const old = thoughtsInOrder(store.connection, round.revisited, round.visited, limit);
  const end = old.at(-1);
  // At the end of the brain the turn begins anew.
  if (end === undefined) return round.revisited === 0 ? null : nextStep(store, { ...round, revisited: 0 }, most);
  return { nodes: old, moves: { revisited: end.id, revisitsDue: round.revisitsDue - old.length } };
}
