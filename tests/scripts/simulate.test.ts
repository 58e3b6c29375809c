import { describe, expect, test } from "vitest";
import type { Corpus, EvalDocument, EvalQuestion } from "../../scripts/eval/corpus.ts";
import { live } from "../../scripts/simulate/life.ts";
import { summarise } from "../../scripts/simulate/report.ts";
import { type Day, planDays } from "../../scripts/simulate/schedule.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";

const said = (session: number, at: number, text: string): EvalDocument => ({
  key: `${session}:${at}`,
  speaker: "Ada",
  text,
  source: { type: "session", key: `talk/${session}`, name: `session ${session}` },
  referent: null,
});

const asks = (text: string, ...gold: string[]): EvalQuestion => ({
  text,
  category: "any",
  gold: new Map(gold.map((key) => [key, 1])),
  now: null,
});

/** Words that no other text has. */
const alone = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");

const talk = (name: string, sessions: number): Corpus => {
  const documents = Array.from({ length: sessions }, (_, session) => [
    said(session, 0, alone(`${name}a${session}`)),
    said(session, 1, `${alone(`${name}b${session}`)} and two words more`),
  ]).flat();
  return {
    name,
    documents,
    questions: documents.map(({ key, text }) => asks(text.slice(0, 12), key)),
    skipped: 0,
  };
};

const options = { days: 120, seed: 5, askedShare: 1 };
const dayOfKeys = (days: readonly Day[]) =>
  new Map(days.flatMap(({ arrivals }, day) => arrivals.map(({ key }) => [key, day] as const)));

describe("a schedule", () => {
  const corpora = [talk("one", 6), talk("two", 4)];

  test("is the same for the same seed and another for another", () => {
    const days = planDays(corpora, ["a scrap"], options);
    expect(planDays(corpora, ["a scrap"], options)).toEqual(days);
    expect(planDays(corpora, ["a scrap"], { ...options, seed: 6 })).not.toEqual(days);
  });

  test("brings every document once, sessions in order, and every question after what answers it", () => {
    const days = planDays(corpora, [], options);
    const keys = days.flatMap(({ arrivals }) => arrivals.filter(({ kind }) => kind === "said").map(({ key }) => key));
    expect(keys.toSorted()).toEqual(
      corpora.flatMap((c) => c.documents.map(({ key }) => `${c.name} ${key}`)).toSorted(),
    );
    const dayByKey = dayOfKeys(days);
    for (let session = 1; session < 6; session++) {
      expect(dayByKey.get(`one ${session}:0`)).toBeGreaterThanOrEqual(dayByKey.get(`one ${session - 1}:0`) ?? 0);
    }
    const firsts = days.flatMap(({ askings }, day) =>
      askings.filter(({ isFirst }) => isFirst).map((a) => ({ ...a, day })),
    );
    expect(firsts).toHaveLength(20);
    for (const { gold, day } of firsts) {
      for (const key of gold.keys()) expect(day).toBeGreaterThanOrEqual((dayByKey.get(key) ?? Number.NaN) + 2);
    }
  });

  test("writes a note a second time in other letters only after the first", () => {
    const days = planDays(corpora, [], options);
    const dayByKey = dayOfKeys(days);
    const copies = days.flatMap(({ arrivals }) => arrivals.filter(({ kind }) => kind === "copy"));
    expect(copies.length).toBeGreaterThan(5);
    for (const { key } of copies) {
      expect(dayByKey.get(key)).toBeGreaterThan(dayByKey.get(key.replace("copy ", "")) ?? Number.NaN);
    }
  });

  test("asks no question of which none is to be asked, and keeps what would answer it", () => {
    const askings = planDays(corpora, [], { ...options, askedShare: 0 }).flatMap((day) => day.askings);
    expect(askings).toHaveLength(20);
    expect(askings.filter(({ isAsked }) => isAsked)).toEqual([]);
  });
});

describe("a simulated life", () => {
  const days = planDays([talk("one", 5)], [alone("scrap")], { days: 40, seed: 5, askedShare: 0 });
  const run = (config: object, sleepEvery = 1) =>
    live(days, { embedder: createHashEmbedder(), config, sleepEvery, alone: false, onDay: () => {} });

  test("counts what decayed before a question needed it, and nothing where nothing decays", async () => {
    const kept = summarise(await run({ decayAgeDays: 400 }));
    expect(kept).toMatchObject({ needed: 10, lost: 0, decayedShare: 0 });
    expect(kept.endHits.asleep).toBe(kept.endHits.awake);
    const hasty = summarise(await run({ decayAgeDays: 0.5, cascadeAgeDays: 0.5 }));
    expect(hasty.lost).toBeGreaterThan(0);
    expect(hasty.lostShare).toBe(hasty.lost / 10);
    expect(hasty.endHits.asleep).toBeLessThan(hasty.endHits.awake ?? 0);
    expect(hasty.fates.isolated).toMatchObject({ thoughts: 1, decayed: 1 });
  });

  test("sleeps as seldom as it is told, and every stretch of days is accounted for", async () => {
    const life = await run({ decayAgeDays: 400 }, 8);
    expect(life.nights.map(({ day }) => day)).toEqual([7, 15, 23, 31, 39]);
    const { stretches } = summarise(life);
    expect(stretches.map(({ upToDay }) => upToDay)).toEqual([30, 40]);
    const merged = life.fates.copy.merged + life.fates.said.merged;
    expect(merged).toBeGreaterThan(0);
    expect(stretches.reduce((sum, stretch) => sum + stretch.merged, 0)).toBe(merged);
  });

  test("lasts one night a day, and notes put twice stand behind one after their night", async () => {
    const life = await run({ decayAgeDays: 400 });
    expect(life.nights).toHaveLength(40);
    expect(life.fates.copy.thoughts).toBeGreaterThan(2);
    expect(life.fates.copy.merged).toBe(life.fates.copy.thoughts);
  });
});
