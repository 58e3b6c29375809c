/** Times inferred from the words of a text: only what a parser bears out, never over a known time, each by its event. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { firstDay } from "../../src/core/referent.ts";
import { search } from "../../src/retrieve/search.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { Store } from "../../src/store/store.ts";
import { verifyHistory } from "../../src/store/verify.ts";
import { checkDateWords, hintsAtTime, readDay } from "../../src/think/date-words.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createTestFolder, extract } from "../support/extract.ts";
import { createScriptedModel, numberOf, thinkerOf } from "../support/scripted-model.ts";

const SAID = Date.UTC(2026, 2, 1, 12);

describe("what words bear out", () => {
  const days = (first: string, last = first) => ({ first: readDay(first) ?? 0, last: readDay(last) ?? 0 });
  const check = (words: string, first: string, last?: string, saidAt: number | null = null) =>
    checkDateWords(`It was ${words}, I think.`, words, days(first, last), saidAt);

  test.each([
    ["in May 2024", "2024-05-01", "2024-05-31"],
    ["on 5 May 2024", "2024-05-05", "2024-05-05"],
    ["2024-05-05", "2024-05-05", "2024-05-05"],
    ["in 2019", "2019-01-01", "2019-12-31"],
    ["from 3 to 5 May 2024", "2024-05-03", "2024-05-05"],
    ["am 5. Mai 2024", "2024-05-05", "2024-05-05"],
    ["le 5 mai 2024", "2024-05-05", "2024-05-05"],
    ["el 5 de mayo de 2024", "2024-05-05", "2024-05-05"],
    ["05/03/2024", "2024-05-03", "2024-05-03"],
    ["05/03/2024", "2024-03-05", "2024-03-05"],
  ])("%s may be %s to %s", async (words, first, last) => {
    expect(await check(words, first, last)).toBeNull();
  });

  test.each([
    ["a day that the words leave open", "in May 2024", "2024-05-17", "2024-05-17", "other_days"],
    ["another year", "in May 2024", "2023-05-01", "2023-05-31", "other_days"],
    ["another day", "on 5 May 2024", "2024-05-06", "2024-05-06", "other_days"],
    ["words without a year, said nobody knows when", "in May", "2024-05-01", "2024-05-31", "unread_words"],
    [
      "words that no parser reads",
      "in the year of the flood of 2024 and 1999",
      "1999-01-01",
      "1999-12-31",
      "other_days",
    ],
  ])("refuses %s", async (_, words, first, last, rule) => {
    expect(await check(words, first, last)).toBe(rule);
  });

  test("refuses words that are not in the text", async () => {
    const text = "It was in May 2024, I think.";
    expect(await checkDateWords(text, "in May 2024", days("2024-05-01", "2024-05-31"), null)).toBeNull();
    expect(await checkDateWords(text, "in June 2024", days("2024-06-01", "2024-06-30"), null)).toBe("not_in_text");
    expect(await checkDateWords(text, "", days("2024-06-01", "2024-06-30"), null)).toBe("not_in_text");
  });

  test("counts relative words from when they were said, within a week", async () => {
    expect(await check("last week", "2026-02-16", "2026-02-22", SAID)).toBeNull();
    expect(await check("yesterday", "2026-02-28", "2026-02-28", SAID)).toBeNull();
    expect(await check("last week", "2025-02-16", "2025-02-22", SAID)).toBe("other_days");
    expect(await check("yesterday", "2026-02-28", "2026-02-28", null)).toBe("unread_words");
  });

  test("knows days that exist and texts worth asking about", () => {
    expect(readDay("2024-02-30")).toBeNull();
    expect(readDay("2024-2-3")).toBeNull();
    expect(readDay("2024-02-29")).toBe(Date.UTC(2024, 1, 29));
    expect(["We met in 2019", "gestern im Garten", "on 5.3.2024", "last Tuesday"].map(hintsAtTime)).not.toContain(
      false,
    );
    expect(["We met at the well", "room 12, gate 7", "it costs 1150 euros"].map(hintsAtTime)).not.toContain(true);
  });
});

describe("a night that dates", () => {
  let brain: TestStore;
  beforeEach(() => {
    brain = createTestStore();
  });
  afterEach(() => brain.close());

  const night = (answers: (items: Parameters<typeof numberOf>[0]) => readonly unknown[]) => {
    const model = createScriptedModel(({ items }) => answers(items));
    const run = runSleep(brain.store, brain.embedder, { loadThinker: thinkerOf(model), phases: ["date"] });
    return run.then((report) => ({ model, phase: report.phases[0] }));
  };
  const detailOf = (id: string | null | undefined) =>
    brain.store.thoughts.detail(brain.store.thoughts.resolve(id ?? ""));
  const moved = (items: Parameters<typeof numberOf>[0]) => [
    { number: numberOf(items, "moved"), words: "in May 2024", first: "2024-05-01", last: "2024-05-31" },
  ];

  test("gives a time to a text that has none, by an event, and it is found by it", async () => {
    const [thought] = await brain.remember("We moved to Lisbon in May 2024", "The landlady is called Rosa");
    await expectAudited(brain.store, async () => {
      const { model, phase } = await night(moved);
      expect(phase).toMatchObject({ planned: 1, applied: 1 });
      // Only what has date words is shown, with the day it was said.
      expect(model.requests[0]?.items.map(({ text, said }) => [text, said])).toEqual([
        ["We moved to Lisbon in May 2024", "2026-03-01"],
      ]);
    });
    const { referent } = detailOf(thought?.id);
    expect(referent === null ? null : firstDay(referent)).toBe("2024-05-01");
    expect(referent?.floating).toBe(true);
    const events = brain.store.ledger.list({ limit: 1 });
    expect(events[0]).toMatchObject({ kind: "occurrence.dated", actor: "sleep" });
    expect(JSON.stringify(events)).not.toMatch(/moved|May 2024/);
    const when = { from: Date.UTC(2024, 4, 10), to: Date.UTC(2024, 4, 12) };
    const found = await search(brain.store, brain.embedder, "Lisbon", { when });
    expect(found.results.map(({ id }) => id)).toEqual([thought?.id]);
    expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
  });

  test("never touches a known time", async () => {
    const known = { from: Date.UTC(2024, 0, 1), to: Date.UTC(2024, 0, 1) };
    const [thought] = await brain.remember({ content: "We moved to Lisbon in May 2024", referent: known });
    const { model } = await night(moved);
    expect(model.requests).toEqual([]);
    expect(detailOf(thought?.id).referent?.from).toBe("2024-01-01T00:00:00.000Z");
  });

  test("refuses what became known while the model was thinking", async () => {
    const [thought] = await brain.remember("We moved to Lisbon in May 2024");
    const known = { from: Date.UTC(2024, 0, 1), to: Date.UTC(2024, 0, 1) };
    const model = createScriptedModel(({ items }) => moved(items));
    const slow = {
      ...model,
      complete: async (request: Parameters<typeof model.complete>[0]) => {
        await brain.remember({ content: "We moved to Lisbon in May 2024", referent: known });
        return model.complete(request);
      },
    };
    const report = await runSleep(brain.store, brain.embedder, { loadThinker: thinkerOf(slow), phases: ["date"] });
    expect(report.phases[0]?.details).toMatchObject({ "refused.dated": 1 });
    expect(detailOf(thought?.id).referent?.from).toBe("2024-01-01T00:00:00.000Z");
  });

  test("refuses days that the words do not mean, and words of another text", async () => {
    await brain.remember("We moved to Lisbon in May 2024", "Rosa was born in 1950");
    const { phase } = await night((items) => [
      { number: numberOf(items, "moved"), words: "in May 2024", first: "2023-05-01", last: "2023-05-31" },
      { number: numberOf(items, "moved"), words: "in 1950", first: "1950-01-01", last: "1950-12-31" },
      { number: 7, words: "in 1950", first: "1950-01-01", last: "1950-12-31" },
      { number: numberOf(items, "Rosa"), words: "in 1950", first: "1950-12-31", last: "1950-01-01" },
    ]);
    expect(phase).toMatchObject({
      planned: 4,
      applied: 0,
      details: {
        "refused.other_days": 1,
        "refused.not_in_text": 1,
        "refused.unknown_number": 1,
        "refused.bad_time": 1,
      },
    });
  });

  test("is answered as it was known then by a question about the past", async () => {
    const [thought] = await brain.remember("We moved to Lisbon in May 2024");
    const before = brain.clock.now();
    brain.clock.advance(MS_PER_DAY);
    await night(moved);
    const past = Store.openAsOf(brain.path, before);
    try {
      expect(past.thoughts.detail(past.thoughts.resolve(thought?.id ?? "")).referent).toBeNull();
    } finally {
      past.close();
    }
    expect(detailOf(thought?.id).referent).not.toBeNull();
  });

  test("keeps a note's place, links and record: reading the note again changes nothing, editing it still works", async () => {
    const folder = createTestFolder();
    try {
      folder.write("house.md", "# House\n\nWe moved to [[Lisbon]] in May 2024.\n\nThe rent is fair.\n");
      folder.write("Lisbon.md", "# Lisbon\n\nA town of seven hills.\n");
      await extract(brain, folder.path);
      const { phase } = await night(moved);
      expect(phase).toMatchObject({ applied: 1 });
      expect(verifyHistory(brain.store).problems).toEqual([]);
      const meeting = brain.store.connection
        .sql<{ ended: number; known: number }>(
          `SELECT o.ended_seq IS NOT NULL AS ended, o.record_digest IS NOT NULL AS known
           FROM mention m JOIN occurrence o ON o.id = m.occurrence_id`,
        )
        .all();
      expect(meeting).toEqual([{ ended: 0, known: 1 }]);
      const head = brain.store.ledger.head().seq;
      await extract(brain, folder.path);
      expect(brain.store.ledger.head().seq).toBe(head);
      folder.write(
        "house.md",
        "# House\n\nThe rent is fair.\n\nA new line on top.\n\nWe moved to [[Lisbon]] in May 2024.\n",
      );
      await extract(brain, folder.path);
      expect(verifyHistory(brain.store).problems).toEqual([]);
      folder.write("house.md", "# House\n\nThe rent is fair.\n");
      await extract(brain, folder.path);
      expect(verifyHistory(brain.store).problems).toEqual([]);
    } finally {
      folder.close();
    }
  });
});
