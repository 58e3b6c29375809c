import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createBaseline } from "../../scripts/eval/baseline.ts";
import { type EvalBrain, openEvalBrain } from "../../scripts/eval/brains.ts";
import type { Corpus, EvalDocument } from "../../scripts/eval/corpus.ts";
import { scoreRanking } from "../../scripts/eval/metrics.ts";
import { formatSetReport, reportSet } from "../../scripts/eval/report.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";

function turn(key: string, speaker: string, text: string): EvalDocument {
  return { key, speaker, text, source: { type: "session", key: "s1", name: "session 1" }, referent: null };
}

const question = { text: "Who keeps bees on the roof?", category: "single-hop", gold: new Map([["3", 1]]), now: null };
const corpus: Corpus = {
  name: "small",
  documents: [
    turn("1", "Ann", "The train to Lyon was late again."),
    turn("2", "Bo", "My sister plays the cello in an orchestra."),
    turn("3", "Ann", "I keep bees on the roof of the library."),
    turn("4", "Bo", "Sounds good to me!"),
    turn("5", "Bo", "Sounds good to me!"),
    turn("6", "Ann", Array.from({ length: 3_500 }, (_, index) => `glacier${index}`).join(" ")),
  ],
  questions: [question],
  skipped: 0,
};

describe("createBaseline", () => {
  const rank = createBaseline(corpus);

  it("puts the text with the query's rare words first", () => {
    expect(rank(question.text, 10)[0]).toEqual(["3"]);
  });

  it("prefers the shorter of two texts with the same hits", () => {
    const [first] = createBaseline({
      ...corpus,
      documents: [turn("long", "Ann", "a heron stood for hours beside the water"), turn("short", "Ann", "a heron")],
    })("heron", 10);
    expect(first).toEqual(["short"]);
  });

  it("gives a repeated text one place and an unknown word none", () => {
    expect(rank("sounds good", 10)).toEqual([["4", "5"]]);
    expect(rank("zeppelin", 10)).toEqual([]);
  });
});

describe("openEvalBrain", () => {
  let folder: string;
  let opened: EvalBrain[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "dormouse-eval-test-"));
    opened = [];
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    for (const brain of opened) brain.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = async (cacheFolder: string | null, asked: Corpus = corpus, afterSleep = false) => {
    const embedder = createHashEmbedder();
    const brain = await openEvalBrain({ setName: "Test", corpus: asked, embedder, afterSleep, cacheFolder });
    opened.push(brain);
    return { brain, embedder };
  };

  it("finds a turn through the real paths", async () => {
    const { brain } = await open(folder);
    const { places } = await brain.ask(question);
    expect(scoreRanking(places, question.gold)).toMatchObject({ hit1: 1, mrr: 1 });
  });

  it("counts a repeated turn under both its keys", async () => {
    const { brain } = await open(folder);
    const { places } = await brain.ask({ ...question, text: "sounds good" });
    expect(places[0]).toEqual(["4", "5"]);
  });

  it("finds a text that had to be cut by a word of its end", async () => {
    const { brain } = await open(folder);
    const { places } = await brain.ask({ ...question, text: "glacier3499" });
    expect(places[0]).toEqual(["6"]);
  });

  it("finds what sleep merged away through what it stands behind", async () => {
    const plan = "Let us meet at noon under the old oak by the river with bread, cheese and plums for lunch";
    const twins = [turn("7", "Bo", `${plan}.`), turn("8", "Bo", `${plan.replace("old oak", "very old oak")}.`)];
    const doubled = { ...corpus, documents: [...corpus.documents, ...twins] };
    const asked = { ...question, text: "lunch under the oak" };
    const awake = (await (await open(folder, doubled)).brain.ask(asked)).places;
    expect(awake.slice(0, 2).map((keys) => keys.length)).toEqual([1, 1]);
    const asleep = (await (await open(folder, doubled, true)).brain.ask(asked)).places;
    expect([...(asleep[0] ?? [])].sort()).toEqual(["7", "8"]);
  });

  it("meets a cached brain again, and makes another when the documents differ", async () => {
    expect((await open(folder)).brain.builtInSeconds).not.toBeNull();
    const again = await open(folder);
    expect(again.brain.builtInSeconds).toBeNull();
    expect(again.embedder.batches).toBe(0);
    expect((await again.brain.ask(question)).places[0]).toEqual(["3"]);
    const changed = { ...corpus, documents: corpus.documents.slice(0, 4) };
    expect((await open(folder, changed)).brain.builtInSeconds).not.toBeNull();
    expect(readdirSync(folder).filter((name) => name.endsWith(".db"))).toHaveLength(2);
  });

  it("makes a brain again that was not finished", async () => {
    (await open(folder)).brain.close();
    opened.pop();
    const [map] = readdirSync(folder).filter((name) => name.endsWith(".json"));
    rmSync(join(folder, map ?? ""));
    const { brain } = await open(folder);
    expect(brain.builtInSeconds).not.toBeNull();
    expect((await brain.ask(question)).places[0]).toEqual(["3"]);
  });

  it("leaves nothing behind without a cache", async () => {
    for (const name of ["TMPDIR", "TMP", "TEMP"]) vi.stubEnv(name, folder);
    const { brain } = await open(null);
    expect(readdirSync(folder)).toHaveLength(1);
    brain.close();
    opened.pop();
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("reportSet", () => {
  const set = { name: "Test", unit: "turn" as const, graded: false, corpora: [corpus] };
  const gold = new Map([["3", 1]]);
  const [found, missed] = [scoreRanking([["3"]], gold), scoreRanking([["1"]], gold)];
  const outcomes = [
    { category: "b", scores: found, baseline: missed, tookMs: 2 },
    { category: "a", scores: missed, baseline: found, tookMs: 4 },
    { category: "b", scores: missed, baseline: missed, tookMs: 9 },
  ];

  it("pools questions by category and over all", () => {
    const report = reportSet(set, outcomes, 1.5);
    expect(Object.keys(report.categories)).toEqual(["a", "b"]);
    expect(report.categories.b).toMatchObject({ questions: 2, scores: { hit1: 0.5 }, baseline: { hit1: 0 } });
    expect(report.total.scores.hit1).toBeCloseTo(1 / 3, 12);
    expect(report.searchMs).toEqual({ p50: 4, p95: 9 });
  });

  it("prints the baseline under each row, and gain only for graded sets", () => {
    const text = formatSetReport(reportSet(set, outcomes, null));
    expect(text.match(/BM25 alone/g)).toHaveLength(3);
    expect(text).not.toContain("nDCG");
    expect(formatSetReport(reportSet({ ...set, graded: true }, outcomes, null))).toContain("nDCG@10");
  });
});
