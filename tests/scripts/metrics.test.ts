import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { distinctPlaces, meanScores, type RankedPlaces, scoreRanking } from "../../scripts/eval/metrics.ts";

const keys = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n");
const rankings = fc.array(fc.array(keys, { maxLength: 3 }), { maxLength: 70 });
const golds = fc.uniqueArray(keys, { minLength: 1, maxLength: 6 });

/** Hit and recall by walking the places one by one, as the definitions say. */
function walk(places: RankedPlaces, gold: readonly string[], k: number): { hit: number; recall: number } {
  const seen = new Set<string>();
  const found = new Set<string>();
  let taken = 0;
  for (const place of places) {
    const isNew = place.some((key) => !seen.has(key));
    for (const key of place) seen.add(key);
    if (!isNew) continue;
    taken++;
    if (taken > k) break;
    for (const key of place) if (gold.includes(key)) found.add(key);
  }
  return { hit: found.size > 0 ? 1 : 0, recall: found.size / gold.length };
}

describe("scoreRanking", () => {
  it("agrees with walking the places by hand", () => {
    fc.assert(
      fc.property(rankings, golds, (places, gold) => {
        const scores = scoreRanking(places, new Map(gold.map((key) => [key, 1])));
        expect(scores.hit1).toBe(walk(places, gold, 1).hit);
        expect(scores.hit5).toBe(walk(places, gold, 5).hit);
        expect(scores.hit10).toBe(walk(places, gold, 10).hit);
        expect(scores.hit50).toBe(walk(places, gold, 50).hit);
        expect(scores.recall5).toBeCloseTo(walk(places, gold, 5).recall, 12);
        expect(scores.recall10).toBeCloseTo(walk(places, gold, 10).recall, 12);
      }),
    );
  });

  it("gives the reciprocal rank of the first answer, and 0 without one", () => {
    const gold = new Map([
      ["x", 1],
      ["y", 1],
    ]);
    expect(scoreRanking([["a"], ["b"], ["y"], ["x"]], gold).mrr).toBeCloseTo(1 / 3, 12);
    expect(scoreRanking([["a"], ["b"]], gold)).toMatchObject({ mrr: 0, hit50: 0, recall10: 0, ndcg10: 0 });
  });

  it("counts pieces of one document as one place", () => {
    const gold = new Map([["x", 1]]);
    const places = [["a"], ["a"], ["a"], ["a"], ["a"], ["x"]];
    expect(distinctPlaces(places)).toEqual([["a"], ["x"]]);
    expect(scoreRanking(places, gold)).toMatchObject({ hit1: 0, hit5: 1, mrr: 0.5 });
  });

  it("counts what stands behind a result at that result's place", () => {
    expect(scoreRanking([["a", "x"], ["b"]], new Map([["x", 1]]))).toMatchObject({ hit1: 1, recall5: 1, mrr: 1 });
  });

  it("weighs grades by place: 1 in the ideal order, less when a lesser answer is first", () => {
    const gold = new Map([
      ["best", 4],
      ["fair", 1],
    ]);
    expect(scoreRanking([["best"], ["fair"]], gold).ndcg10).toBeCloseTo(1, 12);
    const swapped = scoreRanking([["fair"], ["best"]], gold).ndcg10;
    const ideal = 4 + 1 / Math.log2(3);
    expect(swapped).toBeCloseTo((1 + 4 / Math.log2(3)) / ideal, 12);
  });

  it("finds nothing past the tenth place for the gain", () => {
    const places = [...Array.from({ length: 10 }, (_, at) => [`w${at}`]), ["x"]];
    expect(scoreRanking(places, new Map([["x", 3]]))).toMatchObject({ ndcg10: 0, hit10: 0, hit50: 1 });
  });

  it("refuses a question without an answer", () => {
    expect(() => scoreRanking([["a"]], new Map())).toThrow(RangeError);
  });
});

describe("meanScores", () => {
  it("takes the mean of each score by itself", () => {
    const gold = new Map([["x", 1]]);
    const mean = meanScores([scoreRanking([["x"]], gold), scoreRanking([["a"], ["x"]], gold)]);
    expect(mean).toMatchObject({ hit1: 0.5, hit5: 1, mrr: 0.75 });
  });

  it("refuses an empty list", () => {
    expect(() => meanScores([])).toThrow(RangeError);
  });
});
