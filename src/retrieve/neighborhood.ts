/**
 * The graph around the best candidates: which nodes may pass score on to which. Edges are followed only when
 * both ends are visible, and a hidden turn ends the stretch of conversation around a candidate.
 */
import { type CandidateRow, Eligible } from "../store/eligible.ts";
import type { Store } from "../store/store.ts";
import { type Edge, type EdgeType, SEQUENCE_REACH } from "./score.ts";

/** Neighbours followed from one node over one type of edge, and occurrences of it looked around. */
const FAN_OUT = 6;
/** Best seeds around which the conversation is read as far as it reaches; of the others only the next turns. */
const FAR_SEEDS = 20;
/** Derivation edges followed one after another. */
const DERIVATION_HOPS = 2;

export interface Neighborhood {
  /** Visible thoughts that are no candidates. */
  readonly rows: readonly CandidateRow[];
  /** Both ends are candidates or among the rows. */
  readonly edges: readonly Edge[];
}

/** Everything within reach of the seeds. `candidates` are known to be visible and hold all seeds. */
export function gatherNeighborhood(
  store: Store,
  seeds: readonly number[],
  candidates: ReadonlyMap<number, CandidateRow>,
): Neighborhood {
  const everyone = new Eligible(store.connection, {});
  const rows = new Map<number, CandidateRow>();
  const isVisible = (id: number) => candidates.has(id) || rows.has(id);
  const admit = (ids: Iterable<number>) => {
    const unknown = [...new Set(ids)].filter((id) => !isVisible(id));
    for (const row of everyone.among(unknown)) rows.set(row.id, row);
  };

  const surroundings = [
    ...store.occurrences.surroundings(seeds.slice(0, FAR_SEEDS), FAN_OUT, SEQUENCE_REACH),
    ...store.occurrences.surroundings(seeds.slice(FAR_SEEDS), FAN_OUT, 1),
  ];
  const linked = (["similar", "mention"] as const).flatMap((type) =>
    store.links.neighbors(seeds, type, FAN_OUT).map((pair) => ({ ...pair, type })),
  );
  admit(surroundings.flatMap(({ before, after }) => [...before, ...after]));
  admit(linked.map(({ neighborId }) => neighborId));

  const edges = new EdgeSet();
  for (const { nodeId, before, after } of surroundings) {
    for (const [index, earlier] of visibleStretch(before, isVisible)) edges.addTurn(earlier, nodeId, index + 1);
    for (const [index, later] of visibleStretch(after, isVisible)) edges.addTurn(nodeId, later, index + 1);
  }
  for (const { nodeId, neighborId, type } of linked) {
    if (isVisible(neighborId)) edges.addBoth(nodeId, neighborId, type);
  }
  let ring: readonly number[] = seeds;
  const visited = new Set(seeds);
  for (let hop = 0; hop < DERIVATION_HOPS && ring.length > 0; hop++) {
    const pairs = store.legs.neighbors(ring, FAN_OUT);
    admit(pairs.map(({ neighborId }) => neighborId));
    const reached = pairs.filter(({ neighborId }) => isVisible(neighborId));
    for (const { nodeId, neighborId } of reached) edges.addBoth(nodeId, neighborId, "derivation");
    ring = [...new Set(reached.map(({ neighborId }) => neighborId))].filter((id) => !visited.has(id));
    for (const id of ring) visited.add(id);
  }
  return { rows: [...rows.values()], edges: edges.all() };
}

/** The entries up to the first hidden one. */
function* visibleStretch(ids: readonly number[], isVisible: (id: number) => boolean): Generator<[number, number]> {
  for (const [index, id] of ids.entries()) {
    if (!isVisible(id)) return;
    yield [index, id];
  }
}

/** Directed edges without repeats: of two stretches between the same turns the shorter counts. */
class EdgeSet {
  readonly #edges = new Map<string, Edge>();

  addTurn(earlier: number, later: number, distance: number): void {
    this.#add({ receiver: later, giver: earlier, type: "previous", distance });
    this.#add({ receiver: earlier, giver: later, type: "next", distance });
  }

  addBoth(a: number, b: number, type: EdgeType): void {
    this.#add({ receiver: a, giver: b, type, distance: 1 });
    this.#add({ receiver: b, giver: a, type, distance: 1 });
  }

  all(): Edge[] {
    return [...this.#edges.values()];
  }

  #add(edge: Edge): void {
    if (edge.receiver === edge.giver) return;
    const key = `${edge.receiver} ${edge.giver} ${edge.type}`;
    const known = this.#edges.get(key);
    if (known === undefined || edge.distance < known.distance) this.#edges.set(key, edge);
  }
}
