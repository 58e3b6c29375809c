import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeReferent, readDue, readInstant, readRange, readTime } from "../../src/cli/times.ts";
import { firstDay, parseReferent } from "../../src/core/referent.ts";

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
    expect((await readRange("2024-01-01..2024-03-31", NOW)).range).toEqual({ from, to });
    expect((await readRange("2024-01-01..", NOW)).range).toEqual({ from, to: null });
    expect((await readRange("..2024-03-31", NOW)).range).toEqual({ from: null, to });
    expect(await readRange("last month .. yesterday", NOW)).toEqual({
      range: { from: day(2024, 4, 1), to: day(2024, 5, 15) - 1 },
      words: "last month .. yesterday",
    });
  });

  it("takes a time alone for the range that it lasts", async () => {
    const { from, to } = parseReferent("2024-05");
    expect((await readRange("2024-05", NOW)).range).toEqual({ from, to });
  });

  it.each([[".."], ["a..b..c"], ["2024-05-01..2023-05-01"], ["2024-05-01..then"]])("refuses %s", async (text) => {
    await expect(readRange(text, NOW)).rejects.toMatchObject({ code: "bad_time" });
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

describe("describeReferent", () => {
  const iso = ({ from, to, floating }: ReturnType<typeof parseReferent>) => ({
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
    ["2024-05", "2024-05-01..2024-05-31"],
    ["2024-05-01T10:30:00Z", "2024-05-01 10:30Z"],
    ["2024-05-01T10:30:00+02:00", "2024-05-01 08:30Z"],
  ])("writes %s as %s", (text, expected) => {
    expect(describeReferent(iso(parseReferent(text)))).toBe(expected);
  });

  it("says when the offset is unknown, and shows open ends", () => {
    expect(describeReferent(iso(parseReferent("2024-05-01T10:30", { floating: true })))).toBe(
      "2024-05-01 10:30 (offset unknown)",
    );
    expect(describeReferent({ from: "2024-05-01T10:30:00.000Z", to: null })).toBe("2024-05-01 10:30Z..");
    expect(firstDay({ from: null })).toBeNull();
  });
});
