/**
 * Candidates for a query from words and from vectors, every filter applied before the cut, and from the time
 * that the question names. Scores nothing.
 */
import { type CandidateRow, Eligible, type EligibleFilter } from "../store/eligible.ts";
import type { QueryTerm } from "../store/full-text.ts";
import type { Store } from "../store/store.ts";
import type { QueryTime } from "./query-time.ts";

/** Candidates each channel brings, at least; more when k asks for more. */
const TEXT_CANDIDATES = 120;
const VECTOR_CANDIDATES = 40;
/** Candidates taken beyond the wanted number because nothing tells them from the last. */
const MAX_TIES = 500;
/** A filter that at most so many nodes pass: all of them are scored, and no index is asked. */
const POINT_READS = 1_000;
/** The same for a time that the question names: it adds candidates, and must not cost more than the rest. */
const TIMED_POINT_READS = 200;
/** Thoughts picked at random that tell how much of the brain lies in a time with more than that. */
const TIME_SAMPLE = 256;

export interface CandidateInput {
  readonly terms: readonly QueryTerm[];
  readonly queryVector: Int8Array | null;
  readonly eligible: Eligible;
  readonly filter: EligibleFilter;
  /** Times that the question names; what happened then is looked for besides. */
  readonly times: readonly QueryTime[];
  readonly k: number;
}

export interface Candidates {
  readonly rows: Map<number, CandidateRow>;
  /** Cosines that the vector channel already knows. */
  readonly cosines: ReadonlyMap<number, number>;
  /** False when cells of the vector index were left out. */
  readonly exact: boolean;
  readonly spans: readonly RareSpan[];
}

/** A time that the question names. */
export interface RareSpan {
  /** Which thoughts happened then. */
  readonly eligible: Eligible;
  /** How telling it is, as the idf of a word: −ln of the share of the eligible thoughts that happened then. */
  readonly rarity: number;
}

/** Eligible candidates of both channels, and the best of what happened when the question says. */
export function gatherCandidates(store: Store, input: CandidateInput): Candidates {
  const rows = new Map<number, CandidateRow>();
  const cosines = new Map<number, number>();
  const gatherInto = (part: CandidateInput, few: readonly number[] | null) =>
    addCandidates(store, part, few, rows, cosines);
  let exact = gatherInto(input, input.eligible.few(POINT_READS));
  const spans = input.times.map((when) => {
    const filter = { ...input.filter, when };
    const eligible = new Eligible(store.connection, filter);
    const few = eligible.few(TIMED_POINT_READS);
    exact = gatherInto({ ...input, filter, eligible }, few) && exact;
    return { eligible, rarity: -Math.log(shareOf(input.eligible, eligible, few)) };
  });
  return { rows, cosines, exact, spans };
}

/** The share of `all` that passes `timed` too, above 0 and at most 1; from a sample where it cannot be counted. */
function shareOf(all: Eligible, timed: Eligible, few: readonly number[] | null): number {
  if (few !== null && all.isOpen) return Math.min(1, (few.length + 0.5) / (all.count() + 0.5));
  const sample = all.sample(TIME_SAMPLE);
  return (timed.among(sample).length + 0.5) / (sample.length + 0.5);
}

/** @returns whether no vector was left out */
function addCandidates(
  store: Store,
  input: CandidateInput,
  few: readonly number[] | null,
  rows: Map<number, CandidateRow>,
  cosines: Map<number, number>,
): boolean {
  const add = (found: readonly CandidateRow[]) => {
    for (const row of found) rows.set(row.id, row);
  };
  if (few !== null) {
    add(input.eligible.among(few));
    return true;
  }
  add(textCandidates(store, input));
  if (input.queryVector === null) return true;
  const isPast = store.connection.asOfSeq !== null;
  const hasLateFilter = isPast || input.filter.tagIds !== undefined || input.filter.when !== undefined;
  const { neighbors, exact } = store.vectors.nearest(input.queryVector, Math.max(VECTOR_CANDIDATES, input.k), {
    scopeIds: store.scopes.readableIds(),
    ...(input.filter.kindIds === undefined ? {} : { kindIds: input.filter.kindIds }),
    ...(input.filter.domainIds === undefined ? {} : { domainIds: input.filter.domainIds }),
    ...(hasLateFilter ? { eligible: input.eligible } : {}),
  });
  for (const { nodeId, cosine } of neighbors) cosines.set(nodeId, cosine);
  add(input.eligible.among(neighbors.map(({ nodeId }) => nodeId).filter((id) => !rows.has(id))));
  return exact;
}

/**
 * The best eligible nodes by the terms they hold. Among nodes that hold the same terms the shorter come first,
 * as BM25 would have them, and nodes that are equal in both are all taken: no order of insertion decides.
 */
function textCandidates(store: Store, input: CandidateInput): CandidateRow[] {
  const wanted = Math.max(TEXT_CANDIDATES, input.k * 3);
  const taken: CandidateRow[] = [];
  for (const { ids } of store.fullText.candidates(input.terms, input.eligible)) {
    if (taken.length >= wanted) break;
    taken.push(...shortest(input.eligible.among(ids), wanted - taken.length));
  }
  return taken;
}

/** The `count` shortest rows, and those as short as the last of them up to a bound. */
function shortest(rows: readonly CandidateRow[], count: number): CandidateRow[] {
  if (rows.length <= count) return [...rows];
  const sorted = [...rows].sort((a, b) => a.length - b.length || a.id - b.id);
  const longest = sorted[count - 1]?.length ?? 0;
  return sorted.filter(({ length }, index) => length <= longest && index < count + MAX_TIES);
}
