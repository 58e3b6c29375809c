import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { readQueryTimes } from "../../src/retrieve/query-time.ts";
import { search } from "../../src/retrieve/search.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const NOW = Date.UTC(2023, 9, 20, 12);
const day = (iso: string) => Date.parse(`${iso}T12:00:00Z`);

describe("times that a question names", () => {
  it.each([
    ["What did we paint in July 2023?", "2023-07-02", "2023-07-30", ["2023-06-20", "2023-08-20"]],
    ["Which picture was shown on October 13, 2023?", "2023-10-13", "2023-10-15", ["2023-10-10", "2023-10-25"]],
    ["When did they go camping in June?", "2023-06-01", "2023-06-30", ["2022-06-15", "2023-05-25"]],
    ["What happened in December?", "2022-12-05", "2022-12-28", ["2023-12-05", "2023-01-20"]],
    ["What did I do last year?", "2022-02-01", "2022-12-20", ["2021-12-01", "2023-02-01"]],
    ["Which shoes did I clean last month?", "2023-09-01", "2023-09-30", ["2023-08-25", "2023-10-12"]],
    ["How often did I bake in the past two weeks?", "2023-10-07", "2023-10-20", ["2023-09-30"]],
    ["Where did she move from 4 years ago?", "2019-03-01", "2019-11-30", ["2018-11-01", "2020-03-01"]],
    ["What happened in 2021?", "2021-02-01", "2021-12-20", ["2020-12-01", "2022-02-01"]],
    ["what did we do in may?", "2023-05-02", "2023-05-30", ["2023-04-20", "2023-06-20"]],
    ["What did I say yesterday?", "2023-10-19", "2023-10-19", ["2023-10-15"]],
  ])("%s", async (question, first, last, outside) => {
    const times = await readQueryTimes(question, NOW);
    const covers = (at: number) => times.some(({ from, to }) => from <= at && at <= to);
    expect([first, last].map((date) => covers(day(date)))).toEqual([true, true]);
    expect(outside.filter((date) => covers(day(date)))).toEqual([]);
  });

  it.each([
    "What is my favourite tea?",
    "How many days lay between the Sunday mass and the Wednesday service?",
    "What may I eat in a day?",
    "when does the march to the sea begin",
    "I may 2 times",
    "What happened the day before the wedding?",
    "Version 3.11 of the parser",
    "What is planned for next summer?",
  ])("are none in: %s", async (question) => {
    expect(await readQueryTimes(question, NOW)).toEqual([]);
  });

  it("do not depend on the calendar of the machine", async () => {
    const zone = process.env.TZ;
    const read = async (name: string) => {
      process.env.TZ = name;
      return readQueryTimes("What happened on 7 May 2023, and last month?", NOW);
    };
    try {
      expect(await read("Pacific/Kiritimati")).toEqual(await read("America/Los_Angeles"));
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });
});

describe("search for a time in words", () => {
  let brain: TestStore;
  beforeEach(() => {
    brain = createTestStore();
  });
  afterEach(() => brain.close());

  const camped = (year: number, month: number, place: string) => ({
    content: `We went camping near ${place}`,
    referent: { from: Date.UTC(year, month - 1, 10), to: Date.UTC(year, month - 1, 10) + MS_PER_DAY },
  });

  it("puts what happened then first, loses nothing else, and says so", async () => {
    await brain.remember(camped(2023, 6, "the lake"), camped(2023, 8, "the coast"), camped(2022, 10, "the hills"));
    const places = async (query: string) =>
      (await search(brain.store, brain.embedder, query, { now: NOW, explain: true })).results.map(
        ({ content, explain }) => [content.split("near ")[1], explain?.inTime],
      );
    expect((await places("Where did we go camping in June?"))[0]).toEqual(["the lake", true]);
    expect((await places("Where did we go camping in August 2023?"))[0]).toEqual(["the coast", true]);
    const older = await places("Where did we go camping in October 2022?");
    expect(older[0]).toEqual(["the hills", true]);
    expect(older).toHaveLength(3);
    expect(older.slice(1).map(([, inTime]) => inTime)).toEqual([false, false]);
  });

  it("answers a question that says nothing but the time, and gives all that an explicit time lets through", async () => {
    const march = Date.UTC(2022, 2, 10);
    await brain.remember(
      ...Array.from({ length: 60 }, (_, index) => `what a day number ${index}, what a day`),
      { content: "Zeppelin rides", referent: { from: march, to: march } },
      { content: "Quince jam", referent: { from: march, to: march } },
    );
    const found = async (query: string, options = {}) =>
      (await search(brain.store, brain.embedder, query, { now: NOW, k: 100, ...options })).results.map(
        ({ content }) => content,
      );
    expect(await found("what happened in March 2022")).toEqual(
      expect.arrayContaining(["Zeppelin rides", "Quince jam"]),
    );
    const when = { from: march - MS_PER_DAY, to: march + MS_PER_DAY };
    expect((await found("qqqq", { when })).sort()).toEqual(["Quince jam", "Zeppelin rides"]);
  });

  it("lifts nothing whose time is not known, and what was said again later for both times", async () => {
    await brain.remember(camped(2023, 6, "the lake"), "We went camping near the cave");
    await brain.remember("We went camping near the dunes", camped(2022, 3, "the hut"), camped(2023, 9, "the hut"));
    const inTime = async (query: string, now = NOW) =>
      Object.fromEntries(
        (await search(brain.store, brain.embedder, query, { now, explain: true })).results.map(
          ({ content, explain }) => [content.split("near ")[1], explain?.inTime],
        ),
      );
    expect(await inTime("camping this month", brain.store.now())).toEqual({
      "the lake": false,
      "the cave": false,
      "the dunes": false,
      "the hut": false,
    });
    expect(await inTime("camping in March 2022")).toMatchObject({ "the hut": true, "the lake": false });
    expect(await inTime("camping in September 2023")).toMatchObject({ "the hut": true, "the lake": false });
  });

  it("brings in what happened then from behind hundreds of candidates", async () => {
    const wanted = "camping camping together with all the friends beside a lake";
    await brain.remember(
      ...Array.from({ length: 400 }, (_, index) => ({
        content: `camping report ${index}`,
        referent: { from: Date.UTC(2021, 0, 1), to: Date.UTC(2021, 0, 1) },
      })),
      { content: wanted, referent: { from: day("2023-06-10"), to: day("2023-06-10") } },
    );
    const found = async (query: string) =>
      (await search(brain.store, brain.embedder, query, { now: NOW, k: 30 })).results.map(({ content }) => content);
    expect(await found("camping")).not.toContain(wanted);
    expect(await found("camping in June")).toContain(wanted);
  });
});
