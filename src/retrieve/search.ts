/**
 * Search: candidates from words and from vectors, scored by both, enriched by their neighbours in the
 * graph, weighed by the biographical clock, near-duplicates collapsed. Reads only; deterministic for the
 * same brain, query and `now`.
 */
import { DormouseError } from "../core/errors.ts";
import { checkCount } from "../core/limits.ts";
import { currentEmbedder, type EmbedderSource } from "../core/ports.ts";
import type { BeliefRelations, Explanation, SearchAnswer, SearchOptions, SearchResult } from "../core/types.ts";
import { Eligible, type EligibleFilter } from "../store/eligible.ts";
import type { QueryTerm } from "../store/full-text.ts";
import type { Store } from "../store/store.ts";
import { analyseQuery } from "../text/analyse.ts";
import { isBlank } from "../text/normalise.ts";
import { readQueryTimes } from "./query-time.ts";
import { type RankedEntry, rank } from "./rank.ts";
import { withRelations } from "./relations.ts";

const DEFAULT_K = 10;
/** Most results of one search. */
const MAX_K = 1_000;
/** Longest query that is analysed, in UTF-16 code units. */
const MAX_QUERY_LENGTH = 20_000;
/** Said with an answer that no vector had a part in although the brain has some. */
const WORDS_ONLY = "found by words only: the vectors are being made again, `dormouse model status` says how far";

/**
 * Finds thoughts for a query.
 * @throws DormouseError `usage` for an empty or oversized query or a bad k; `model_mismatch` when the
 * embedder is not the brain's. A brain without thoughts gives an empty answer.
 */
export async function search(
  store: Store,
  source: EmbedderSource,
  query: string,
  options: SearchOptions = {},
): Promise<SearchAnswer> {
  const started = performance.now();
  const k = checkQuery(query, options.k);
  const hasVectors = store.read(() => store.models.active()) !== null;
  const embedder = hasVectors ? await currentEmbedder(source) : null;
  if (embedder !== null) store.models.use(embedder.model);
  const embedded = embedder === null ? null : await embedder.embedQuery(query);
  // A question without a token that the model knows is compared with nothing.
  const queryVector = embedded?.some((value) => value !== 0) === true ? embedded : null;
  const now = options.now ?? store.now();
  const times = options.when === undefined ? await readQueryTimes(query, now) : [];
  const answer = store.read(() => {
    // Another process may have changed the model meanwhile, and vectors of two models are never compared.
    if (embedder !== null && !store.models.isActive(embedder.model)) return null;
    const words = analyseQuery(query, store.fullText.languages());
    if (words.length === 0) throw nothingToFind("the query holds no word, number or emoji");
    const filter = resolveFilter(store, options);
    if (filter === null) return emptyAnswer(query, started);
    const eligible = new Eligible(store.connection, filter);
    const ranked = rank(store, { words, queryVector, eligible, filter, times, k, now });
    return {
      query,
      results: withRelations(
        store,
        ranked.results.map((entry) => ({
          nodeId: entry.nodeId,
          view: toResult(store, entry, ranked.terms, options.explain === true),
        })),
      ),
      scanned: { eligible: eligible.count(), scored: ranked.scored, exact: ranked.exact },
      tookMs: elapsed(started),
      ...(hasVectors && embedder === null ? { notice: WORDS_ONLY } : {}),
    };
  });
  return answer ?? search(store, source, query, options);
}

function checkQuery(query: string, k: number = DEFAULT_K): number {
  if (isBlank(query)) throw nothingToFind("the query is empty");
  if (query.length > MAX_QUERY_LENGTH) {
    throw new DormouseError("usage", `the query has ${query.length} characters, ${MAX_QUERY_LENGTH} at most`);
  }
  checkCount("k", k, MAX_K);
  return k;
}

function nothingToFind(message: string): DormouseError {
  return new DormouseError("usage", message, { hint: "Say what to look for." });
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

function toResult(
  store: Store,
  entry: RankedEntry,
  terms: readonly QueryTerm[],
  explain: boolean,
): Omit<SearchResult, keyof BeliefRelations> {
  const [view] = store.thoughts.views([entry.nodeId]);
  if (view === undefined) throw new RangeError("a ranked node has a view");
  return {
    ...view,
    score: round(entry.score),
    channels: {
      text: round(entry.fused.text),
      vector: round(entry.fused.vector),
      graph: round(entry.fused.graph + entry.lift.source),
    },
    ...(explain ? { explain: explanation(store, entry, terms) } : {}),
  };
}

function explanation(store: Store, entry: RankedEntry, terms: readonly QueryTerm[]): Explanation {
  return {
    terms: terms.filter((_, index) => (entry.counts?.[index] ?? 0) > 0).map(({ term }) => term),
    cosine: entry.cosine === null ? null : round(entry.cosine),
    recency: round(entry.recency),
    inTime: entry.inTime,
    bySpeakerNamed: entry.lift.speaker > 0,
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
