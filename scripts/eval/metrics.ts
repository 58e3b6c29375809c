/**
 * Retrieval metrics of one question and their means. A ranking is a list of places; a place holds every
 * document that its result stands for, so that a near-duplicate behind a result counts there. Pure.
 */

/** Keys of the documents found at each place, best first; a key stands at its first place only. */
export type RankedPlaces = readonly (readonly string[])[];

export interface Scores {
  readonly hit1: number;
  readonly hit5: number;
  readonly hit10: number;
  readonly hit50: number;
  readonly recall5: number;
  readonly recall10: number;
  /** Reciprocal rank of the first answer, 0 when it is not among the places. */
  readonly mrr: number;
  /** Normalised discounted cumulative gain of ten places (Järvelin and Kekäläinen 2002, gains as given). */
  readonly ndcg10: number;
}

/**
 * Drops documents met at an earlier place, then places with nothing new: pieces of one document take one
 * place together.
 */
export function distinctPlaces(places: RankedPlaces): string[][] {
  const seen = new Set<string>();
  return places.flatMap((keys) => {
    const fresh = [...new Set(keys)].filter((key) => !seen.has(key));
    for (const key of fresh) seen.add(key);
    return fresh.length === 0 ? [] : [fresh];
  });
}

/** Scores of one ranking, each in [0, 1]. @throws RangeError when nothing is to be found. */
export function scoreRanking(places: RankedPlaces, gold: ReadonlyMap<string, number>): Scores {
  if (gold.size === 0) throw new RangeError("a question without an answer has no score");
  const ranks = new Map<string, number>();
  for (const [index, keys] of distinctPlaces(places).entries()) {
    for (const key of keys) if (gold.has(key)) ranks.set(key, index + 1);
  }
  const first = Math.min(Number.POSITIVE_INFINITY, ...ranks.values());
  const hit = (k: number) => (first <= k ? 1 : 0);
  const recall = (k: number) => [...ranks.values()].filter((rank) => rank <= k).length / gold.size;
  return {
    hit1: hit(1),
    hit5: hit(5),
    hit10: hit(10),
    hit50: hit(50),
    recall5: recall(5),
    recall10: recall(10),
    mrr: 1 / first,
    ndcg10: discountedGain(ranks, gold, 10),
  };
}

/** The mean of each score. @throws RangeError when there is none. */
export function meanScores(all: readonly Scores[]): Scores {
  if (all.length === 0) throw new RangeError("no scores have no mean");
  const mean = (pick: (scores: Scores) => number) => all.reduce((sum, scores) => sum + pick(scores), 0) / all.length;
  return {
    hit1: mean(({ hit1 }) => hit1),
    hit5: mean(({ hit5 }) => hit5),
    hit10: mean(({ hit10 }) => hit10),
    hit50: mean(({ hit50 }) => hit50),
    recall5: mean(({ recall5 }) => recall5),
    recall10: mean(({ recall10 }) => recall10),
    mrr: mean(({ mrr }) => mrr),
    ndcg10: mean(({ ndcg10 }) => ndcg10),
  };
}

/** Of documents that share a place the most useful counts; one reader's place gives one gain. */
function discountedGain(ranks: ReadonlyMap<string, number>, gold: ReadonlyMap<string, number>, k: number): number {
  const gainsByRank = new Map<number, number>();
  for (const [key, rank] of ranks) {
    if (rank <= k) gainsByRank.set(rank, Math.max(gainsByRank.get(rank) ?? 0, gold.get(key) ?? 0));
  }
  const discounted = (gain: number, rank: number) => gain / Math.log2(rank + 1);
  const found = [...gainsByRank].reduce((sum, [rank, gain]) => sum + discounted(gain, rank), 0);
  const ideal = [...gold.values()]
    .sort((a, b) => b - a)
    .slice(0, k)
    .reduce((sum, gain, index) => sum + discounted(gain, index + 1), 0);
  return found / ideal;
}
