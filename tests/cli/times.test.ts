import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  describeDue,
  describeReferent,
  readAsOf,
  readDue,
  readInstant,
  readOption,
  readRange,
  readTime,
} from "../../src/cli/times.ts";
import { firstDay, parseReferent } from "../../src/core/referent.ts";
import type { ReferentTime } from "../../src/core/types.ts";

/** Wednesday, 15 May 2024, noon on this machine's calendar. */
const NOW = new Date(2024, 4, 15, 12).getTime();
const day = (year: number, month: number, date: number) => new Date(year, month - 1, date).getTime();
const span = (from: number, next: number) => ({ from, to: next - 1 });

describe("readTime", () => {
  it.each([["2024-05-01"], ["2024-05"], ["2024"], ["2024-05-01T10:30:00Z"], ["2024-05-01 10:30+02:00"]])(
    "reads %s as ISO 8601, not as words",
    async (text) => {
      expect(await readTime(text, NOW)).toEqual({ time: parseReferent(text), words: null });
    },
  );

  it.each([
    ["yesterday", span(day(2024, 5, 14), day(2024, 5, 15))],
    ["in 3 days", span(day(2024, 5, 18), day(2024, 5, 19))],
    ["this week", span(day(2024, 5, 13), day(2024, 5, 20))],
    ["last week", span(day(2024, 5, 6), day(2024, 5, 13))],
    ["last month", span(day(2024, 4, 1), day(2024, 5, 1))],
    ["last year", span(day(2023, 1, 1), day(2024, 1, 1))],
    ["May 2022", span(day(2022, 5, 1), day(2022, 6, 1))],
    ["5 May", span(day(2024, 5, 5), day(2024, 5, 6))],
    ["Monday to Tuesday", span(day(2024, 5, 13), day(2024, 5, 15))],
  ])("reads %s on the machine's calendar", async (text, expected) => {
    expect(await readTime(text, NOW)).toEqual({ time: expected, words: text });
  });

  it("reads an hour as an instant", async () => {
    const at = new Date(2024, 4, 16, 17).getTime();
    expect((await readTime("tomorrow at 5pm", NOW)).time).toEqual({ from: at, to: at });
  });

  it.each([
    ["2024-05-01T10:30", "naive_time"],
    ["2024-13-45", "bad_time"],
    ["2024-02-30", "bad_time"],
    ["soonish", "bad_time"],
    ["tomorrow or so", "bad_time"],
    ["", "bad_time"],
    [`tomorrow ${"very ".repeat(1_000)}`, "bad_time"],
  ])("refuses %j", async (text, code) => {
    await expect(readTime(text, NOW)).rejects.toMatchObject({ code });
  });
});

describe("readRange", () => {
  it("joins two times, and leaves an end open", async () => {
    const from = parseReferent("2024-01-01").from;
    const to = parseReferent("2024-03-31").to;
    expect((await readRange("2024-01-01..2024-03-31", NOW)).range).toEqual({ from, to, floating: true });
    expect((await readRange("2024-01-01..", NOW)).range).toEqual({ from, to: null, floating: true });
    expect((await readRange("..2024-03-31", NOW)).range).toEqual({ from: null, to, floating: true });
    expect((await readRange("2024-01-01T00:00Z..2024-01-02T00:00Z", NOW)).range).toEqual({
      from: Date.parse("2024-01-01"),
      to: Date.parse("2024-01-02"),
    });
    expect(await readRange("last month .. yesterday", NOW)).toEqual({
      range: { from: day(2024, 4, 1), to: day(2024, 5, 15) - 1 },
      words: "last month .. yesterday",
    });
  });

  it("takes a time alone for the range that it lasts", async () => {
    expect((await readRange("2024-05", NOW)).range).toEqual(parseReferent("2024-05"));
  });

  it("reads bare dates from midnight to midnight on this machine where that is asked for", async () => {
    const local = async (text: string) => (await readRange(text, NOW, "local")).range;
    expect(await local("2024-04-30")).toEqual(span(day(2024, 4, 30), day(2024, 5, 1)));
    expect(await local("2024-02")).toEqual(span(day(2024, 2, 1), day(2024, 3, 1)));
    expect(await local("2024")).toEqual(span(day(2024, 1, 1), day(2025, 1, 1)));
    expect(await local("2024-04-30..2024-05-02")).toEqual(span(day(2024, 4, 30), day(2024, 5, 3)));
    expect(await local("..2024-05-02")).toEqual({ from: null, to: day(2024, 5, 3) - 1 });
    const { from, to } = await local("0050-03-01");
    expect([new Date(from ?? 0).getFullYear(), (to ?? 0) - (from ?? 0)]).toEqual([50, 86_399_999]);
    expect(await local("yesterday")).toEqual((await readTime("yesterday", NOW)).time);
    const at = Date.parse("2024-05-01T10:30:00Z");
    expect(await local("2024-05-01T10:30Z")).toEqual({ from: at, to: at });
  });

  it.each([
    [".."],
    ["a..b..c"],
    ["2024-05-01..2023-05-01"],
    ["2024-05-02..2024-05-01"],
    ["2024-05-03..2024-05-01"],
    ["2024-06..2024-05"],
    ["2024-05-03T00:00Z..2024-05-02T23:59Z"],
    ["2024-05-01..then"],
  ])("refuses %s on either calendar", async (text) => {
    await expect(readRange(text, NOW)).rejects.toMatchObject({ code: "bad_time" });
    await expect(readRange(text, NOW, "local")).rejects.toMatchObject({ code: "bad_time" });
  });

  it("takes a range of one day", async () => {
    expect((await readRange("2024-05-01..2024-05-01", NOW)).range).toEqual(parseReferent("2024-05-01"));
  });

  it("reads a bare date on this machine where the other end has an offset", async () => {
    const sure = Date.parse("2024-05-03T10:00Z");
    expect((await readRange("2024-05-01..2024-05-03T10:00Z", NOW)).range).toEqual({ from: day(2024, 5, 1), to: sure });
    expect((await readRange("2024-05-01..yesterday", NOW)).range).toEqual({
      from: day(2024, 5, 1),
      to: day(2024, 5, 15) - 1,
    });
  });
});

describe("readOption", () => {
  it("names the option and says that words are allowed", async () => {
    const read = readOption("--when", () => readTime("soonish", NOW));
    await expect(read).rejects.toMatchObject({
      code: "bad_time",
      message: "--when: the time cannot be read",
      hint: expect.stringContaining('"yesterday"'),
    });
    await expect(readOption("--when", () => readTime("2024-05-01T10:30", NOW))).rejects.toMatchObject({
      code: "naive_time",
      message: '--when: the time "2024-05-01T10:30" has no offset',
      hint: expect.stringContaining("+02:00"),
    });
    expect(await readOption("--when", () => readTime("yesterday", NOW))).toEqual(await readTime("yesterday", NOW));
  });
});

describe("readDue and readInstant", () => {
  it("are due at the end of a bare date, and stand still at its start, both at UTC", async () => {
    expect((await readDue("2024-06-01", NOW)).due).toBe(Date.parse("2024-06-01T23:59:59.999Z"));
    expect(await readInstant("2024-06-01", NOW)).toBe(Date.parse("2024-06-01T00:00:00.000Z"));
  });

  it("look forward for something due", async () => {
    expect((await readDue("Monday", NOW)).due).toBe(day(2024, 5, 21) - 1);
  });
});

describe("readAsOf", () => {
  it.each([
    ["2024-05-01T10:30:00Z", Date.parse("2024-05-01T10:30:00Z")],
    ["2024-05-01", day(2024, 5, 2) - 1],
    ["2024-04", day(2024, 5, 1) - 1],
    ["2023", day(2024, 1, 1) - 1],
    ["yesterday", day(2024, 5, 15) - 1],
    ["last week", day(2024, 5, 13) - 1],
    ["yesterday at 5pm", new Date(2024, 4, 14, 17).getTime()],
  ])("takes %s at its last moment on this machine", async (text, expected) => {
    expect(await readAsOf(text, NOW)).toBe(expected);
  });

  it("is now when nothing is asked, and names the option when it cannot be read", async () => {
    expect(await readAsOf(undefined, NOW)).toBe(NOW);
    await expect(readAsOf("soonish", NOW)).rejects.toMatchObject({
      code: "bad_time",
      message: "--as-of: the time cannot be read",
    });
  });
});

describe("describeReferent", () => {
  const iso = ({ from, to, floating }: ReferentTime) => ({
    from: from === null ? null : new Date(from).toISOString(),
    to: to === null ? null : new Date(to).toISOString(),
    ...(floating === true ? { floating } : {}),
  });

  it("gives a bare date back as it was written", () => {
    const dates = fc.date({ min: new Date("1900-01-01"), max: new Date("2100-01-01"), noInvalidDate: true });
    fc.assert(
      fc.property(dates, (date) => {
        const text = date.toISOString().slice(0, 10);
        const referent = iso(parseReferent(text));
        expect(describeReferent(referent)).toBe(text);
        expect(firstDay(referent)).toBe(text);
      }),
    );
  });

  it.each([
    ["2024-05", "2024-05"],
    ["2024", "2024"],
    ["2024-02-29", "2024-02-29"],
    ["2024-05-01T10:30:00Z", "2024-05-01 10:30Z"],
    ["2024-05-01T10:30:00+02:00", "2024-05-01 08:30Z"],
  ])("writes %s as %s", (text, expected) => {
    expect(describeReferent(iso(parseReferent(text)))).toBe(expected);
  });

  it.each([
    ["2024-05-01..2024-05-03"],
    ["2023-12-31..2024-01-01"],
    ["..2020-01-01"],
    ["2020-01-01.."],
    ["2024-05-01..2024-05-03 10:07Z"],
    ["2024-05-01 10:07Z..2024-05-03"],
  ])("shows the range %s as it was typed, on either calendar", async (text) => {
    for (const calendar of ["floating", "local"] as const) {
      expect(describeReferent(iso((await readRange(text, NOW, calendar)).range))).toBe(text);
    }
  });

  it.each([
    ["yesterday", "2024-05-14"],
    ["last week", "2024-05-06..2024-05-12"],
    ["last month", "2024-04"],
    ["last year", "2023"],
  ])("shows %s as days of this machine", async (words, expected) => {
    expect(describeReferent(iso((await readTime(words, NOW)).time))).toBe(expected);
  });

  it("shows what is due at the end of a day as the day", async () => {
    const due = async (text: string) => describeDue((await readDue(text, NOW)).due);
    expect(await due("2024-06-01")).toBe("2024-06-01");
    expect(await due("in 3 days")).toBe("2024-05-18");
    expect(await due("2024-06-01T12:00Z")).toBe("2024-06-01 12:00Z");
  });

  it("says when the offset is unknown, and shows open ends", () => {
    expect(describeReferent(iso(parseReferent("2024-05-01T10:30", { floating: true })))).toBe(
      "2024-05-01 10:30 (offset unknown)",
    );
    expect(describeReferent({ from: "2024-05-01T10:30:00.000Z", to: null })).toBe("2024-05-01 10:30Z..");
    expect(firstDay({ from: null })).toBeNull();
  });
});
