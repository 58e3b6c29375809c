/** Cron expressions on the local calendar, beside an oracle that tries every minute, and in zones whose clocks change. */
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { parseSchedule } from "../../src/app/schedule.ts";
import { MS_PER_MINUTE } from "../../src/core/clock.ts";
import { DormouseError } from "../../src/core/errors.ts";

const ZONE = process.env.TZ;
function setZone(zone: string | undefined): void {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
}
afterEach(() => setZone(ZONE));

const local = (text: string) => new Date(text).getTime();
const next = (expression: string, after: string) => new Date(parseSchedule(expression).next(local(after)));

describe("the next time of a schedule", () => {
  it.each([
    ["later today", "0 3 * * *", "2026-03-01T01:00:00", "2026-03-01T03:00:00"],
    ["tomorrow, when it is that minute", "0 3 * * *", "2026-03-01T03:00:00", "2026-03-02T03:00:00"],
    ["within the hour", "*/15 * * * *", "2026-03-01T03:16:30", "2026-03-01T03:30:00"],
    ["over the end of a month and a year", "30 2 1 * *", "2026-12-01T02:30:00", "2027-01-01T02:30:00"],
    ["on a weekday by name", "0 3 * * mon", "2026-03-01T12:00:00", "2026-03-02T03:00:00"],
    ["on Sunday as 7", "0 3 * * 7", "2026-03-02T12:00:00", "2026-03-08T03:00:00"],
    ["on the last day of a month", "0 3 L * *", "2026-02-01T00:00:00", "2026-02-28T03:00:00"],
    ["in a leap year", "0 3 29 2 *", "2026-03-01T00:00:00", "2028-02-29T03:00:00"],
    ["at the first of several times", "0 22,4 * * *", "2026-03-01T03:00:00", "2026-03-01T04:00:00"],
  ])("comes %s", (_, expression, after, wanted) => {
    expect(next(expression, after)).toEqual(new Date(wanted));
  });

  it("is what trying every minute finds", () => {
    const minutes = fc.oneof(fc.constant("*"), fc.integer({ min: 0, max: 59 }).map(String), fc.constant("*/20"));
    const hours = fc.oneof(fc.constant("*"), fc.integer({ min: 0, max: 23 }).map(String), fc.constant("1-4"));
    const starts = fc.integer({ min: local("2026-01-01T00:00:00"), max: local("2027-12-01T00:00:00") });
    fc.assert(
      fc.property(minutes, hours, starts, (minute, hour, after) => {
        const found = parseSchedule(`${minute} ${hour} * * *`).next(after);
        const takes = (field: string, value: number) =>
          field === "*" ||
          (field === "*/20" && value % 20 === 0) ||
          (field === "1-4" && value >= 1 && value <= 4) ||
          field === String(value);
        let at = Math.floor(after / MS_PER_MINUTE) * MS_PER_MINUTE + MS_PER_MINUTE;
        while (!takes(minute, new Date(at).getMinutes()) || !takes(hour, new Date(at).getHours())) at += MS_PER_MINUTE;
        expect(new Date(found)).toEqual(new Date(at));
      }),
      { numRuns: 200 },
    );
  });
});

describe("where the clocks change", () => {
  it("keeps the night whose hour is skipped, an hour later", () => {
    setZone("Europe/Berlin");
    // Control: the zone is in force. On 29 March 2026 two o'clock is followed by three.
    expect(new Date(2026, 2, 29, 2, 30).getHours()).toBe(3);
    expect(next("30 2 * * *", "2026-03-28T12:00:00")).toEqual(new Date("2026-03-29T03:30:00+02:00"));
    expect(next("30 2 * * *", "2026-03-29T03:30:00")).toEqual(new Date("2026-03-30T02:30:00+02:00"));
  });

  it("counts the hour that comes twice once", () => {
    setZone("Europe/Berlin");
    const first = parseSchedule("30 2 * * *").next(local("2026-10-24T12:00:00"));
    expect(new Date(first)).toEqual(new Date("2026-10-25T02:30:00+02:00"));
    expect(new Date(parseSchedule("30 2 * * *").next(first))).toEqual(new Date("2026-10-26T02:30:00+01:00"));
  });

  it("keeps a midnight that a zone skips", () => {
    setZone("Africa/Cairo");
    // On 24 April 2026 midnight is one o'clock there.
    expect(next("0 0 * * *", "2026-04-23T12:00:00")).toEqual(new Date("2026-04-24T01:00:00+03:00"));
  });
});

describe("a schedule that cannot be read", () => {
  it.each([
    ["a minute beyond the hour", "61 3 * * *", "minute (0 to 59)"],
    ["an hour beyond the day", "0 24 * * *", "hour (0 to 23)"],
    ["words", "at three o clock please", "minute"],
    ["a month that is none", "0 3 * 13 *", "month"],
    ["a weekday that is none", "0 3 * * funday", "weekday"],
    ["four fields", "0 3 * *", "five fields, this one has 4"],
    ["seconds", "0 0 3 * * *", "five fields, this one has 6"],
    ["nothing", "  ", "five fields, this one has 0"],
    ["a name", "@daily", "five fields, this one has 1"],
    ["a day that its month lacks", "0 3 30 2 *", "day of month"],
    ["a day that none of its months has", "0 3 31 4,6 *", "day of month"],
  ])("is refused with the field and an example: %s", (_, expression, message) => {
    let caught: unknown;
    try {
      parseSchedule(expression);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(DormouseError);
    expect(caught).toMatchObject({ code: "invalid", hint: expect.stringContaining("`0 3 * * *`") });
    expect(caught instanceof DormouseError ? caught.message : "").toContain(message);
  });
});
