import { describe, expect, it } from "vitest";
import { bm25 } from "../../src/retrieve/score.ts";

describe("BM25 of a text", () => {
  const terms = [
    { word: 0, idf: 2 },
    { word: 1, idf: 1 },
    { word: 1, idf: 1 },
  ];
  const score = (...counts: number[]) => bm25(new Uint8Array(counts), terms, 10, 10);

  it("counts a word once when one occurrence stands under two of its terms", () => {
    expect(score(0, 1, 0)).toBeGreaterThan(0);
    expect(score(0, 1, 1)).toBe(score(0, 1, 0));
    expect(score(0, 0, 1)).toBe(score(0, 1, 0));
    expect(score(0, 1, 3)).toBe(score(0, 3, 0));
  });

  it("adds up what different words are worth", () => {
    expect(score(1, 0, 0)).toBeCloseTo(2 * score(0, 1, 0));
    expect(score(1, 0, 1)).toBeCloseTo(3 * score(0, 1, 0));
  });

  it("grows with repetitions, by less each time, and falls with the length of the text", () => {
    expect(score(2, 0, 0)).toBeGreaterThan(score(1, 0, 0));
    expect(score(3, 0, 0) - score(2, 0, 0)).toBeLessThan(score(2, 0, 0) - score(1, 0, 0));
    expect(bm25(new Uint8Array([1, 0, 0]), terms, 20, 10)).toBeLessThan(score(1, 0, 0));
  });
});
