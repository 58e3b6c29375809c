import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DormouseError } from "../../src/core/errors.ts";
import { floatingDay, floatingTime, parseReferent, toIso } from "../../src/core/referent.ts";

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof DormouseError) return error.code;
    throw error;
  }
  return "none";
}

describe("parseReferent", () => {
  it("reads a time with an offset as an instant", () => {
    const at = Date.UTC(2024, 4, 1, 8, 30);
    for (const text of [
      "2024-05-01T10:30:00+02:00",
      "2024-05-01 08:30Z",
      "2024-05-01t08:30:00.000z",
      " 2024-05-01T03:00-0530 ",
    ]) {
      expect(parseReferent(text)).toEqual({ from: at, to: at });
    }
    expect(parseReferent("2024-05-01T08:30:00.1239Z").from).toBe(at + 123);
    expect(parseReferent("2024-05-01T08:30:00,5+00").from).toBe(at + 500);
  });

  it.each([
    ["2024-02-29", "2024-02-28T10:00:00.000Z", "2024-03-01T11:59:59.999Z"],
    ["2024-02", "2024-01-31T10:00:00.000Z", "2024-03-01T11:59:59.999Z"],
    ["2024", "2023-12-31T10:00:00.000Z", "2025-01-01T11:59:59.999Z"],
    ["0099-12-31", "0099-12-30T10:00:00.000Z", "0100-01-01T11:59:59.999Z"],
  ])("reads %s as the interval of every offset", (text, from, to) => {
    const time = parseReferent(text);
    expect(time.floating).toBe(true);
    expect([toIso(time.from ?? 0), toIso(time.to ?? 0)]).toEqual([from, to]);
  });

  it("refuses a time without offset unless it may float", () => {
    expect(codeOf(() => parseReferent("2024-05-01T10:30"))).toBe("naive_time");
    const local = Date.UTC(2024, 4, 1, 10, 30);
    expect(parseReferent("2024-05-01T10:30", { floating: true })).toEqual(floatingTime(local));
    expect(parseReferent("2024-05-01T10:30Z", { floating: true })).toEqual({ from: local, to: local });
  });

  it("refuses what is no time or no day, without repeating a person's words", () => {
    for (const text of [
      "",
      "yesterday",
      "2023-02-29",
      "2024-13-01",
      "2024-00-10",
      "2024-05-01T24:00Z",
      "2024-05-01T10:60Z",
      "2024-05-01T10:30+24:00",
      "24-05-01",
      "2024-5-1",
      "2024-W10",
      "1714552200",
      "2024-05-01Z",
    ]) {
      expect(codeOf(() => parseReferent(text, { floating: true }))).toBe("bad_time");
    }
    expect(() => parseReferent("my secret day")).toThrow(/^The time cannot be read$/);
    expect(() => parseReferent("2023-02-29")).toThrow('The time "2023-02-29" cannot be read');
  });

  it("contains the instant that any offset in use would give", () => {
    const dates = fc.date({ min: new Date("0001-01-02"), max: new Date("9998-12-30"), noInvalidDate: true });
    fc.assert(
      fc.property(dates, fc.integer({ min: -12 * 60, max: 14 * 60 }), (date, minutes) => {
        const local = date.toISOString().slice(0, 19);
        const sign = minutes < 0 ? "-" : "+";
        const digits = (value: number): string => String(value).padStart(2, "0");
        const size = Math.abs(minutes);
        const offset = `${sign}${digits(Math.floor(size / 60))}:${digits(size % 60)}`;
        const at = parseReferent(`${local}${offset}`).from;
        expect(at).toBe(Date.parse(`${local}${offset}`));
        for (const span of [parseReferent(local, { floating: true }), parseReferent(local.slice(0, 10))]) {
          expect(span.from).toBeLessThanOrEqual(at ?? Number.NaN);
          expect(span.to).toBeGreaterThanOrEqual(at ?? Number.NaN);
        }
      }),
    );
  });
});

describe("floatingDay", () => {
  it("is the day alone, and refuses days that are not", () => {
    expect(floatingDay(2024, 2, 29)).toEqual(parseReferent("2024-02-29"));
    for (const [year, month, day] of [
      [2023, 2, 29],
      [2024, 13, 1],
      [2024, 1, 1.5],
      [-1, 1, 1],
    ] as const) {
      expect(codeOf(() => floatingDay(year, month, day))).toBe("bad_time");
    }
  });
});

describe("toIso", () => {
  it("prints UTC with milliseconds and refuses what no date can hold", () => {
    expect(toIso(0)).toBe("1970-01-01T00:00:00.000Z");
    expect(codeOf(() => toIso(8.64e15 + 1))).toBe("bad_time");
    expect(codeOf(() => toIso(Number.NaN))).toBe("bad_time");
  });
});
