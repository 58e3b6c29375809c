import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { projectOnPrincipalAxes } from "../../scripts/distil-pca.ts";
import { QUESTION_FRAMES } from "../../scripts/distil-questions.ts";
import { blendContexts } from "../../scripts/distil-rows.ts";
import { readDistilTexts } from "../../scripts/distil-texts.ts";
import { removeCommonDirection, trainOnTeacher } from "../../scripts/distil-training.ts";

describe("the texts of the table", () => {
  const texts = readDistilTexts();

  it("are the same at every reading, none empty and hardly any twice", () => {
    const digest = (read: typeof texts) => createHash("sha256").update(JSON.stringify(read)).digest("hex");
    expect(digest(readDistilTexts())).toBe(digest(texts));
    expect(texts.training).toHaveLength(46_000);
    expect(texts.training.filter((text) => text.trim() === "")).toEqual([]);
    expect(new Set(texts.training).size).toBeGreaterThan(45_900);
  }, 60_000);

  it("stand behind a first name in every other sentence, and behind their words in definitions", () => {
    const sentences = texts.training.slice(0, 30_000);
    const isNamed = (text: string) => /^[A-Z][a-z]{2,}: /.test(text);
    expect(sentences.filter((text, at) => at % 2 === 1 && !isNamed(text))).toEqual([]);
    expect(sentences.filter((text, at) => at % 2 === 0 && isNamed(text)).length).toBeLessThan(10);
    const names = new Set(sentences.flatMap((text) => (isNamed(text) ? [text.slice(0, text.indexOf(":"))] : [])));
    expect(names.size).toBeGreaterThan(500);
    expect(names.has("Martha")).toBe(true);
    expect(texts.training.slice(30_000).filter((text) => !text.includes(": "))).toEqual([]);
    expect(texts.training).toContain("wrongfully: in an unjust or unfair manner");
  });

  it("ask: each frame has a place for a word and ends as a question or a request", () => {
    for (const frame of QUESTION_FRAMES) expect(frame).toMatch(/~.*[?.]$/);
    expect(texts.framed).toHaveLength(40 * QUESTION_FRAMES.length);
    expect(texts.framed.filter((text) => text.includes("~"))).toEqual([]);
    expect(texts.asked.length).toBeGreaterThan(400);
    expect(texts.asked.filter((text) => !text.endsWith("?"))).toEqual([]);
  });
});

describe("blending what a teacher says of a token alone and in texts", () => {
  // Two numbers a token; both kinds are centred on 0, and the contextual ones are half as long.
  const alone = Float32Array.from([2, 0, -2, 0, 0, 2, 0, -2, 9, 9]);
  const means = Float32Array.from([0, 1, 0, -1, 1, 0, -1, 0, 9, 9]);

  it("turns a token to its contexts the more often it was met, by half at most", () => {
    const rows = blendContexts(alone, { means, counts: Float32Array.from([10, 10, 1e6, 1e6, 5]) }, [0, 1, 2, 3]);
    const expected = [1.5, 0.5, -1.5, -0.5, 1, 1, -1, -1, 0, 0];
    for (const [at, value] of expected.entries()) expect(rows[at]).toBeCloseTo(value, 3);
  });

  it("leaves a token that stood in no text as it is alone", () => {
    const rows = blendContexts(alone, { means, counts: Float32Array.from([10, 10, 10, 0, 0]) }, [0, 1, 2, 3]);
    expect([...rows.subarray(6, 8)]).toEqual([0, -2]);
  });
});

describe("projecting on principal axes", () => {
  it("leaves out the strongest axis and keeps the next, at mean length 1", () => {
    // Variance 100 along x, 4 along y, 1 along z; the mean is (5, 5, 5), the last row is not kept.
    const rows = Float64Array.from([15, 5, 5, -5, 5, 5, 5, 7, 5, 5, 3, 5, 5, 5, 6, 5, 5, 4, 99, 99, 99]);
    const projected = projectOnPrincipalAxes(rows, 3, [0, 1, 2, 3, 4, 5], 2);
    const plain = [0, 0, 0, 0, 2, 0, 2, 0, 0, 1, 0, 1, 0, 0];
    expect(projected).toHaveLength(plain.length);
    // Scaled by one number: lengths 0, 0, 2, 2, 1, 1 have mean 1 already.
    for (const [at, value] of plain.entries()) expect(Math.abs(projected[at] ?? 9)).toBeCloseTo(value, 9);
    expect(projected[4]).toBeCloseTo(-(projected[6] ?? 0), 9);
  });
});

/** Texts of three tokens out of `tokens`, the last token in one text only, and a teacher that knows two topics. */
function makeTraining(): { rows: Float64Array; dimensions: number; texts: number[][]; teacher: Float32Array } {
  const dimensions = 8;
  const tokens = 61;
  let state = 42;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const texts = Array.from({ length: 600 }, (_, at) =>
    Array.from({ length: 3 }, () => (at % 2) * 30 + Math.floor(random() * 30)),
  );
  texts[0] = [60, 1, 2];
  const teacher = Float32Array.from({ length: 600 * 2 }, (_, cell) => (cell % 2 === Math.floor(cell / 2) % 2 ? 1 : 0));
  const rows = Float64Array.from({ length: tokens * dimensions }, () => random() - 0.5);
  return { rows, dimensions, texts, teacher };
}

describe("training on a teacher", () => {
  it("comes nearer to the teacher with each epoch, and does the same twice", () => {
    const [first, second] = [makeTraining(), makeTraining()];
    const divergences: number[] = [];
    trainOnTeacher(first, (line) => divergences.push(Number(/divergence ([\d.]+)/.exec(line)?.[1])));
    trainOnTeacher(second, () => undefined);
    expect(divergences.length).toBeGreaterThan(1);
    for (const [at, value] of divergences.entries()) expect(value).toBeLessThan(divergences[at - 1] ?? Infinity);
    expect(first.rows).toEqual(second.rows);
    expect(first.rows).not.toEqual(makeTraining().rows);
  });

  it("moves a token met once far less than one met often", () => {
    const training = makeTraining();
    const before = Float64Array.from(training.rows);
    trainOnTeacher(training, () => undefined);
    const movedBy = (token: number) =>
      Math.hypot(
        ...Array.from({ length: 8 }, (_, at) => (training.rows[token * 8 + at] ?? 0) - (before[token * 8 + at] ?? 0)),
      );
    const usual = Array.from({ length: 60 }, (_, token) => movedBy(token)).sort((a, b) => a - b)[30] ?? 0;
    expect(movedBy(60)).toBeLessThan(usual / 2);
  });

  it("takes out what all texts have in common, and only that", () => {
    const training = makeTraining();
    for (let from = 0; from < training.rows.length; from += 8) training.rows[from] = (training.rows[from] ?? 0) + 1;
    const meanCosine = () => {
      const vectors = training.texts.map((ids) => {
        const sum = Array.from({ length: 8 }, (_, at) =>
          ids.reduce((total, id) => total + (training.rows[id * 8 + at] ?? 0), 0),
        );
        const length = Math.hypot(...sum);
        return sum.map((value) => value / length);
      });
      const mean = Array.from({ length: 8 }, (_, at) =>
        vectors.reduce((total, vector) => total + (vector[at] ?? 0) / vectors.length, 0),
      );
      return Math.hypot(...mean) ** 2;
    };
    expect(meanCosine()).toBeGreaterThan(0.5);
    const before = Float64Array.from(training.rows);
    removeCommonDirection(training);
    expect(meanCosine()).toBeLessThan(0.05);
    const taken = before.map((value, cell) => value - (training.rows[cell] ?? 0));
    const axis = taken.subarray(0, 8);
    for (let from = 8; from < taken.length; from += 8) {
      const along = axis.reduce((sum, value, at) => sum + value * (taken[from + at] ?? 0), 0);
      expect(along ** 2).toBeCloseTo(Math.hypot(...axis) ** 2 * Math.hypot(...taken.subarray(from, from + 8)) ** 2, 9);
    }
  });
});
