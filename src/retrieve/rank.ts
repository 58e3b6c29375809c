/**
 * Ranking: both scores for every candidate and its neighbours, fused, spread over the graph, lifted by source,
 * speaker and time, weighed by recency; of results that say the same the best stands for all.
 */
import { createHash } from "node:crypto";
import { recencyWeight } from "../core/recency.ts";
import { type CandidateRow, Eligible } from "../store/eligible.ts";
import type { QueryTerm } from "../store/full-text.ts";
import type { Store } from "../store/store.ts";
import { analyse, type QueryWord } from "../text/analyse.ts";
import { type CandidateInput, gatherCandidates, type RareSpan } from "./candidates.ts";
import { gatherNeighborhood } from "./neighborhood.ts";
import { liftByPlace, NO_LIFT, type PlaceLift } from "./place.ts";
import { bm25, type FusedScore, fuseAndSpread, type OwnScore } from "./score.ts";

/** Best candidates whose neighbours are looked at. */
const SPREAD_SEEDS = 60;
/**
 * How strongly the weight in [0.5, 1] is applied: as its fourth root, in [0.84, 1]. Whole, it put what merely
 * touches the question before the old answer itself (LoCoMo Hit@10 76.3 instead of 77.5).
 */
const RECENCY_STRENGTH = 0.25;
/**
 * What happened when the question says is multiplied by 1 + this × the rarity of that time. A filter would lose
 * what was told at another time.
 */
const TIME_LIFT = 0.3;
/** And it gains this × that rarity, since a question may say nothing but the time. */
const TIME_BONUS = 0.05;
/** Scores are told apart by so many steps; sums in another order differ in smaller ones. */
const SCORE_STEPS = 1e9;
/** Thoughts picked at random that a question is compared with, to learn what no similarity is under the model. */
const UNRELATED_SAMPLE = 64;
/** So many standard deviations below the mean of these, a cosine counts nothing. */
const FLOOR_DEVIATIONS = 2;

export interface RankInput extends Omit<CandidateInput, "terms"> {
  readonly words: readonly QueryWord[];
  readonly now: number;
}

export interface RankedEntry {
  readonly nodeId: number;
  readonly score: number;
  readonly happenedAt: number | null;
  readonly fused: FusedScore;
  readonly lift: PlaceLift;
  readonly cosine: number | null;
  readonly recency: number;
  /** Whether it happened when the question says. */
  readonly inTime: boolean;
  readonly counts: Uint8Array | undefined;
  readonly collapsed: number[];
}

export interface Ranking {
  readonly results: readonly RankedEntry[];
  readonly terms: readonly QueryTerm[];
  readonly scored: number;
  readonly exact: boolean;
}

/** Ranks what the filters let through. `results` holds at most k, none of which says the same as a better one. */
export function rank(store: Store, input: RankInput): Ranking {
  const terms = store.fullText.weigh(input.words);
  const { rows: candidates, cosines, exact, spans } = gatherCandidates(store, { ...input, terms });
  const scorer = createScorer(store, terms, input.queryVector, cosines);
  scorer.score([...candidates.values()]);
  const cosineFloor = input.queryVector === null ? 0 : floorOf(store, input.queryVector);
  const seeds = bestSeeds(scorer.own, cosineFloor);
  const { rows: neighbors, edges } = gatherNeighborhood(store, seeds, candidates);
  scorer.score(neighbors);
  const receivers = new Map(candidates);
  const wanted = input.eligible.isOpen ? neighbors : input.eligible.among(neighbors.map(({ id }) => id));
  for (const row of wanted) receivers.set(row.id, row);
  const fused = fuseAndSpread(scorer.own, edges, cosineFloor);
  const lifts = liftByPlace(store, fused, scorer.own, terms);
  const rarities = raritiesOf(spans, [...receivers.keys()]);
  // What passes a filter, or happened when the question says, is an answer even if no word or vector speaks for it.
  const isAskedFor = (id: number) => !input.eligible.isOpen || rarities.has(id);
  const entries = [...receivers.values()].flatMap((row) => {
    const score = fused.get(row.id);
    if (score === undefined || (score.score <= 0 && !isAskedFor(row.id))) return [];
    return [toEntry(row, score, lifts.get(row.id) ?? NO_LIFT, rarities.get(row.id) ?? null, scorer, input.now)];
  });
  return { results: takeBest(store, entries, input.k), terms, scored: scorer.own.size, exact };
}

interface Scorer {
  readonly own: Map<number, OwnScore>;
  readonly counts: Map<number, Uint8Array>;
  /** Scores rows in both channels. */
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
          text: row === undefined ? 0 : bm25(row, terms, length, averageLength),
          cosine: knownCosines.get(id) ?? cosines.get(id) ?? null,
          length,
        });
      }
    },
  };
}

/**
 * The cosine that says nothing, for this question in this brain: models differ (static tables 0.3, e5 0.77 for
 * texts that share nothing), and so do questions. A brain too small to tell has a lower one.
 */
function floorOf(store: Store, queryVector: Int8Array): number {
  const unrelated = new Eligible(store.connection, {}).sample(UNRELATED_SAMPLE);
  const cosines = [...store.vectors.cosines(queryVector, unrelated).values()];
  if (cosines.length === 0) return 0;
  const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
  const variance = cosines.reduce((sum, cosine) => sum + (cosine - mean) ** 2, 0) / cosines.length;
  const confidence = cosines.length / UNRELATED_SAMPLE;
  return confidence * Math.max(0, mean - FLOOR_DEVIATIONS * Math.sqrt(variance));
}

/** Ids of the best candidates before spreading, ties by id of the better score's order. */
function bestSeeds(own: ReadonlyMap<number, OwnScore>, cosineFloor: number): number[] {
  return [...fuseAndSpread(own, [], cosineFloor)]
    .sort(([a, x], [b, y]) => y.score - x.score || a - b)
    .slice(0, SPREAD_SEEDS)
    .map(([id]) => id);
}

/** Of the times that the question names and a thought happened in, the rarity of the rarest. */
function raritiesOf(spans: readonly RareSpan[], nodeIds: readonly number[]): Map<number, number> {
  const rarities = new Map<number, number>();
  for (const { eligible, rarity } of spans) {
    for (const { id } of eligible.among(nodeIds)) rarities.set(id, Math.max(rarity, rarities.get(id) ?? 0));
  }
  return rarities;
}

/** @param rarity of the time that the question names and this happened in; null: it did not */
function toEntry(
  row: CandidateRow,
  fused: FusedScore,
  lift: PlaceLift,
  rarity: number | null,
  scorer: Scorer,
  now: number,
): RankedEntry {
  const recency = recencyWeight(row.happenedAt, now) ** RECENCY_STRENGTH;
  const timeLift = 1 + TIME_LIFT * Math.max(0, rarity ?? 0);
  const score = (fused.score + lift.source) * recency * timeLift + lift.speaker + TIME_BONUS * (rarity ?? 0);
  return {
    nodeId: row.id,
    score: Math.round(score * SCORE_STEPS) / SCORE_STEPS,
    happenedAt: row.happenedAt,
    fused,
    lift,
    cosine: scorer.own.get(row.id)?.cosine ?? null,
    recency,
    inTime: rarity !== null,
    counts: scorer.counts.get(row.id),
    collapsed: [],
  };
}

/**
 * Takes k results, best first, putting one that says the same as a better one behind it. The same is: the same
 * analysed words in the same order, so two notes that differ in a number, a name or who did what both stay. Equal
 * scores go by the later event, then by the digest of the text, so that no order of insertion shows.
 */
function takeBest(store: Store, entries: readonly RankedEntry[], k: number): RankedEntry[] {
  const sorted = [...entries].sort((a, b) => b.score - a.score || (b.happenedAt ?? 0) - (a.happenedAt ?? 0));
  const keptByTerms = new Map<string, RankedEntry[]>();
  const kept: RankedEntry[] = [];
  for (let start = 0; start < sorted.length; ) {
    let end = start + 1;
    while (end < sorted.length && isTie(sorted[start], sorted[end])) end += 1;
    for (const entry of inDigestOrder(store, sorted.slice(start, end))) {
      const terms = store.fullText.packedTerms(entry.nodeId)?.toString("latin1") ?? "";
      const alike = terms === "" ? [] : (keptByTerms.get(terms) ?? []);
      const twin = alike.find((other) => saysTheSame(store, other.nodeId, entry.nodeId));
      if (twin !== undefined) {
        twin.collapsed.push(entry.nodeId);
        continue;
      }
      if (kept.length === k) return kept;
      kept.push(entry);
      keptByTerms.set(terms, [...alike, entry]);
    }
    start = end;
  }
  return kept;
}

/** Of two texts with the same words: whether these stand in the same order. */
function saysTheSame(store: Store, a: number, b: number): boolean {
  const [x, y] = [a, b].map((nodeId) => analyse(store.thoughts.indexedText(nodeId) ?? "").join(" "));
  return x === y;
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
