/**
 * Search: candidates from words and from vectors, scored by both, enriched by their neighbours in the
 * graph, weighed by the biographical clock, near-duplicates collapsed. Reads only; deterministic for the
 * same brain, query and `now`.
 */
import { createHash } from "node:crypto";
import { DormouseError } from "../core/errors.ts";
import type { Embedder } from "../core/ports.ts";
import { recencyWeight } from "../core/recency.ts";
import type { Explanation, SearchAnswer, SearchOptions, SearchResult } from "../core/types.ts";
import { type CandidateRow, Eligible, type EligibleFilter } from "../store/eligible.ts";
import type { QueryTerm } from "../store/full-text.ts";
import type { Store } from "../store/store.ts";
import { analyseQuery } from "../text/analyse.ts";
import { isBlank } from "../text/normalise.ts";
import { bm25, type Edge, type EdgeType, type FusedScore, fuseAndSpread, type OwnScore } from "./score.ts";

const DEFAULT_K = 10;
/** Most results of one search. */
const MAX_K = 1_000;
/** Longest query that is analysed, in UTF-16 code units. */
const MAX_QUERY_LENGTH = 20_000;
/** Candidates each channel brings, at least; more when k asks for more. */
const TEXT_CANDIDATES = 120;
const VECTOR_CANDIDATES = 40;
/** Candidates taken beyond the wanted number because nothing tells them from the last. */
const MAX_TIES = 500;
/** A tag or time filter that at most so many nodes pass: all of them are scored, and no index is asked. */
const POINT_READS = 5_000;
/** Best candidates whose neighbours are looked at. */
const SPREAD_SEEDS = 60;
/**
 * How strongly the weight in [0.5, 1] is applied: as its fourth root, in [0.84, 1]. Whole, it put what merely
 * touches the question before the old answer itself (LoCoMo Hit@10 76.3 instead of 77.5).
 */
const RECENCY_STRENGTH = 0.25;
/** Scores are told apart by so many steps; sums in another order differ in smaller ones. */
const SCORE_STEPS = 1e9;
/** Neighbours followed from one node over one type of edge. */
const FAN_OUT = 6;
/** Cosine of unrelated texts under the built-in model, whose vectors are centred. */
const COSINE_FLOOR = 0;

/**
 * Finds thoughts for a query.
 * @throws DormouseError `usage` for an empty or oversized query or a bad k; `model_mismatch` when the
 * embedder is not the brain's. A brain without thoughts gives an empty answer.
 */
export async function search(
  store: Store,
  embedder: Embedder,
  query: string,
  options: SearchOptions = {},
): Promise<SearchAnswer> {
  const started = performance.now();
  const k = checkQuery(query, options.k);
  const hasVectors = store.read(() => store.models.active()) !== null;
  if (hasVectors) store.models.use(embedder.model);
  const queryVector = hasVectors ? await embedder.embedQuery(query.slice(0, MAX_QUERY_LENGTH)) : null;
  return store.read(() => {
    const filter = resolveFilter(store, options);
    if (filter === null) return emptyAnswer(query, started);
    const eligible = new Eligible(store.connection, filter);
    const ranked = rank(store, { query, queryVector, eligible, filter, k, now: options.now ?? store.now() });
    return {
      query,
      results: ranked.results.map((entry) => toResult(store, entry, ranked.terms, options.explain === true)),
      scanned: { eligible: eligible.count(), scored: ranked.scored, exact: true },
      tookMs: elapsed(started),
    };
  });
}

function checkQuery(query: string, k: number = DEFAULT_K): number {
  if (isBlank(query)) throw new DormouseError("usage", "the query is empty", { hint: "Say what to look for." });
  if (query.length > MAX_QUERY_LENGTH) {
    throw new DormouseError("usage", `the query has ${query.length} characters, ${MAX_QUERY_LENGTH} at most`);
  }
  if (!Number.isInteger(k) || k < 1 || k > MAX_K) {
    throw new DormouseError("usage", `k must be a whole number from 1 to ${MAX_K}`);
  }
  return k;
}

/** Filters as label ids; null when a filter names a word that this brain never met, so nothing can match. */
function resolveFilter(store: Store, options: SearchOptions): EligibleFilter | null {
  const known = (type: "kind" | "domain" | "tag", texts: readonly string[]) =>
    texts.flatMap((text) => store.labels.find(type, text) ?? []);
  const kindIds = options.kinds?.length ? known("kind", options.kinds) : undefined;
  const domainIds = options.domains?.length ? known("domain", options.domains) : undefined;
  const tagIds = options.tags?.length ? known("tag", options.tags) : undefined;
  if (kindIds?.length === 0 || domainIds?.length === 0) return null;
  if (tagIds !== undefined && tagIds.length < (options.tags?.length ?? 0)) return null;
  return {
    ...(kindIds === undefined ? {} : { kindIds }),
    ...(domainIds === undefined ? {} : { domainIds }),
    ...(tagIds === undefined ? {} : { tagIds }),
    ...(options.when === undefined ? {} : { when: options.when }),
  };
}

interface RankInput {
  readonly query: string;
  readonly queryVector: Int8Array | null;
  readonly eligible: Eligible;
  readonly filter: EligibleFilter;
  readonly k: number;
  readonly now: number;
}

interface RankedEntry {
  readonly nodeId: number;
  readonly score: number;
  readonly happenedAt: number | null;
  readonly fused: FusedScore;
  readonly cosine: number | null;
  readonly recency: number;
  readonly counts: Uint8Array | undefined;
  readonly collapsed: number[];
}

interface Ranking {
  readonly results: readonly RankedEntry[];
  readonly terms: readonly QueryTerm[];
  readonly scored: number;
}

function rank(store: Store, input: RankInput): Ranking {
  const terms = store.fullText.weigh(analyseQuery(input.query));
  const { rows: candidates, cosines } = gatherCandidates(store, input, terms);
  const scorer = createScorer(store, terms, input.queryVector, cosines);
  scorer.score([...candidates.values()]);
  const seeds = bestSeeds(scorer.own);
  const edges = gatherEdges(store, seeds);
  const neighborIds = [...new Set(edges.flatMap(({ giver, receiver }) => [giver, receiver]))];
  const visibleNeighbors = new Eligible(store.connection, {}).among(neighborIds.filter((id) => !candidates.has(id)));
  scorer.score(visibleNeighbors);
  const receivers = new Map(candidates);
  const wanted = input.eligible.isOpen ? visibleNeighbors : input.eligible.among(visibleNeighbors.map(({ id }) => id));
  for (const row of wanted) receivers.set(row.id, row);
  const fused = fuseAndSpread(scorer.own, edges, COSINE_FLOOR);
  const entries = [...receivers.values()].flatMap((row) => toEntry(row, fused, scorer, input.now));
  return { results: takeBest(store, entries, input.k), terms, scored: scorer.own.size };
}

interface Candidates {
  readonly rows: Map<number, CandidateRow>;
  /** Cosines that the vector channel already knows. */
  readonly cosines: ReadonlyMap<number, number>;
}

/** Eligible candidates of both channels. */
function gatherCandidates(store: Store, input: RankInput, terms: readonly QueryTerm[]): Candidates {
  const few = input.eligible.few(POINT_READS);
  if (few !== null) return { rows: new Map(input.eligible.among(few).map((row) => [row.id, row])), cosines: new Map() };
  const found = new Map<number, CandidateRow>();
  const cosines = new Map<number, number>();
  for (const row of textCandidates(store, input, terms)) found.set(row.id, row);
  if (input.queryVector !== null) {
    const hasLateFilter = input.filter.tagIds !== undefined || input.filter.when !== undefined;
    const neighbors = store.vectors.nearest(input.queryVector, Math.max(VECTOR_CANDIDATES, input.k), {
      scopeIds: store.scopes.readableIds(),
      ...(input.filter.kindIds === undefined ? {} : { kindIds: input.filter.kindIds }),
      ...(input.filter.domainIds === undefined ? {} : { domainIds: input.filter.domainIds }),
      ...(hasLateFilter ? { eligible: input.eligible.subquery() } : {}),
    });
    for (const { nodeId, cosine } of neighbors) cosines.set(nodeId, cosine);
    const fresh = neighbors.map(({ nodeId }) => nodeId).filter((id) => !found.has(id));
    for (const row of input.eligible.among(fresh)) found.set(row.id, row);
  }
  return { rows: found, cosines };
}

/**
 * The best eligible nodes by the terms they hold. Among nodes that hold the same terms the shorter come first,
 * as BM25 would have them, and nodes that are equal in both are all taken: no order of insertion decides.
 */
function textCandidates(store: Store, input: RankInput, terms: readonly QueryTerm[]): CandidateRow[] {
  const wanted = Math.max(TEXT_CANDIDATES, input.k * 3);
  const within = input.eligible.isOpen ? null : input.eligible.subquery();
  const taken: CandidateRow[] = [];
  for (const { ids } of store.fullText.candidates(terms, within)) {
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

interface Scorer {
  readonly own: Map<number, OwnScore>;
  readonly counts: Map<number, Uint8Array>;
  /** Scores rows in both channels; rows scored before are left as they are. */
  score(rows: readonly CandidateRow[]): void;
}

function createScorer(
  store: Store,
  terms: readonly QueryTerm[],
  queryVector: Int8Array | null,
  knownCosines: ReadonlyMap<number, number>,
): Scorer {
  const own = new Map<number, OwnScore>();
  const counts = new Map<number, Uint8Array>();
  const idfs = terms.map(({ idf }) => idf);
  const { averageLength } = store.fullText.totals();
  return {
    own,
    counts,
    score(rows) {
      const ids = rows.map(({ id }) => id);
      const countsById = terms.length === 0 ? new Map<number, Uint8Array>() : store.fullText.counts(ids, terms);
      const unknown = ids.filter((id) => !knownCosines.has(id));
      const cosines = queryVector === null ? new Map<number, number>() : store.vectors.cosines(queryVector, unknown);
      for (const { id, length } of rows) {
        const row = countsById.get(id);
        if (row !== undefined) counts.set(id, row);
        own.set(id, {
          text: row === undefined ? 0 : bm25(row, idfs, length, averageLength),
          cosine: knownCosines.get(id) ?? cosines.get(id) ?? null,
          length,
        });
      }
    },
  };
}

/** Ids of the best candidates before spreading, ties by id of the better score's order. */
function bestSeeds(own: ReadonlyMap<number, OwnScore>): number[] {
  return [...fuseAndSpread(own, [], COSINE_FLOOR)]
    .sort(([a, x], [b, y]) => y.score - x.score || a - b)
    .slice(0, SPREAD_SEEDS)
    .map(([id]) => id);
}

/** Edges between the seeds and their neighbours in both directions, hidden neighbours included. */
function gatherEdges(store: Store, seeds: readonly number[]): Edge[] {
  const edges = new Map<string, Edge>();
  const join = (receiver: number, giver: number, type: EdgeType) => {
    if (receiver !== giver) edges.set(`${receiver} ${giver} ${type}`, { receiver, giver, type });
  };
  const joinBoth = (seed: number, neighbor: number, type: EdgeType) => {
    join(seed, neighbor, type);
    join(neighbor, seed, type);
  };
  for (const { nodeId, neighborId, step } of store.occurrences.sequenceNeighbors(seeds, FAN_OUT)) {
    const [earlier, later] = step === -1 ? [neighborId, nodeId] : [nodeId, neighborId];
    join(later, earlier, "previous");
    join(earlier, later, "next");
  }
  for (const { nodeId, neighborId } of store.legs.neighbors(seeds, FAN_OUT)) joinBoth(nodeId, neighborId, "derivation");
  for (const type of ["similar", "mention"] as const) {
    for (const { nodeId, neighborId } of store.links.neighbors(seeds, type, FAN_OUT))
      joinBoth(nodeId, neighborId, type);
  }
  return [...edges.values()];
}

function toEntry(
  row: CandidateRow,
  fused: ReadonlyMap<number, FusedScore>,
  scorer: Scorer,
  now: number,
): RankedEntry[] {
  const score = fused.get(row.id);
  if (score === undefined || score.score <= 0) return [];
  const recency = recencyWeight(row.happenedAt, now) ** RECENCY_STRENGTH;
  return [
    {
      nodeId: row.id,
      score: Math.round(score.score * recency * SCORE_STEPS) / SCORE_STEPS,
      happenedAt: row.happenedAt,
      fused: score,
      cosine: scorer.own.get(row.id)?.cosine ?? null,
      recency,
      counts: scorer.counts.get(row.id),
      collapsed: [],
    },
  ];
}

/**
 * Takes k results, best first, putting one that says the same as a better one behind it. The same is: the same
 * analysed words equally often, so two notes that differ in a number or a name both stay. Equal scores go by
 * the later event, then by the digest of the text, so that no order of insertion shows.
 */
function takeBest(store: Store, entries: readonly RankedEntry[], k: number): RankedEntry[] {
  const sorted = [...entries].sort((a, b) => b.score - a.score || (b.happenedAt ?? 0) - (a.happenedAt ?? 0));
  const keptByTerms = new Map<string, RankedEntry>();
  const kept: RankedEntry[] = [];
  for (let start = 0; start < sorted.length; ) {
    let end = start + 1;
    while (end < sorted.length && isTie(sorted[start], sorted[end])) end += 1;
    for (const entry of inDigestOrder(store, sorted.slice(start, end))) {
      const terms = store.fullText.packedTerms(entry.nodeId)?.toString("latin1") ?? "";
      const twin = terms === "" ? undefined : keptByTerms.get(terms);
      if (twin !== undefined) {
        twin.collapsed.push(entry.nodeId);
        continue;
      }
      if (kept.length === k) return kept;
      kept.push(entry);
      keptByTerms.set(terms, entry);
    }
    start = end;
  }
  return kept;
}

function isTie(a: RankedEntry | undefined, b: RankedEntry | undefined): boolean {
  return a?.score === b?.score && a?.happenedAt === b?.happenedAt;
}

function inDigestOrder(store: Store, tied: readonly RankedEntry[]): readonly RankedEntry[] {
  if (tied.length < 2) return tied;
  const digestOf = ({ nodeId }: RankedEntry) =>
    createHash("sha256")
      .update(store.thoughts.indexedText(nodeId) ?? "")
      .digest("hex");
  return tied
    .map((entry) => ({ entry, digest: digestOf(entry) }))
    .sort((a, b) => (a.digest < b.digest ? -1 : a.digest > b.digest ? 1 : a.entry.nodeId - b.entry.nodeId))
    .map(({ entry }) => entry);
}

function toResult(store: Store, entry: RankedEntry, terms: readonly QueryTerm[], explain: boolean): SearchResult {
  const [view] = store.thoughts.views([entry.nodeId]);
  if (view === undefined) throw new RangeError("a ranked node has a view");
  return {
    ...view,
    score: round(entry.score),
    channels: { text: round(entry.fused.text), vector: round(entry.fused.vector), graph: round(entry.fused.graph) },
    ...(explain ? { explain: explanation(store, entry, terms) } : {}),
  };
}

function explanation(store: Store, entry: RankedEntry, terms: readonly QueryTerm[]): Explanation {
  return {
    terms: terms.filter((_, index) => (entry.counts?.[index] ?? 0) > 0).map(({ term }) => term),
    cosine: entry.cosine === null ? null : round(entry.cosine),
    recency: round(entry.recency),
    paths: entry.fused.gains.map(({ from, type, share }) => ({
      from: store.thoughts.publicId(from),
      via: type,
      share: round(share),
    })),
    collapsed: entry.collapsed.map((nodeId) => store.thoughts.publicId(nodeId)),
  };
}

function emptyAnswer(query: string, started: number): SearchAnswer {
  return { query, results: [], scanned: { eligible: 0, scored: 0, exact: true }, tookMs: elapsed(started) };
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

function elapsed(started: number): number {
  return Math.round((performance.now() - started) * 100) / 100;
}
