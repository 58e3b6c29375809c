/**
 * The biographical clock: when something happened in a person's life, as intervals in UTC milliseconds.
 * A time whose offset is unknown becomes the interval of every offset it could mean; guessing the offset
 * of the machine is refused. Operational passes (decay, review, leases) never read this one.
 */
import type { Millis } from "./clock.ts";
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE } from "./clock.ts";
import { DormouseError } from "./errors.ts";
import type { ReferentTime } from "./types.ts";

/** Offsets in use on Earth run from UTC−12 to UTC+14: what a floating time adds before and after its reading at UTC. */
export const EARLIEST_SHIFT = 14 * MS_PER_HOUR;
export const LATEST_SHIFT = 12 * MS_PER_HOUR;

const DATE = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?$/;
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt]|[ \t]+)(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?[ \t]*([Zz]|[+-]\d{2}(?::?\d{2})?)?$/;

/**
 * Reads ISO 8601 in the calendar form. A date-time with an offset (or Z) is an instant. A date, month or
 * year alone is a floating interval; so is a date-time without offset when `floating` is allowed.
 * Seconds and fractions are optional, a blank may stand for T, digits after the milliseconds are dropped.
 * @throws DormouseError `naive_time` for a date-time without offset unless `floating`; `bad_time` for
 * anything that is no such text or no such day.
 */
export function parseReferent(text: string, options: { floating?: boolean } = {}): ReferentTime {
  const value = text.trim();
  const date = DATE.exec(value);
  if (date !== null) {
    const [, year, month, day] = date;
    if (month === undefined) return floatingSpan(localDay(value, year, "01", "01"), localDay(value, year, "12", "31"));
    if (day === undefined) {
      const first = localDay(value, year, month, "01");
      return floatingSpan(first, first + (daysInMonth(Number(year), Number(month)) - 1) * MS_PER_DAY);
    }
    const start = localDay(value, year, month, day);
    return floatingSpan(start, start);
  }
  const time = DATE_TIME.exec(value);
  if (time === null) throw badTime(value);
  const [, year, month, day, hour, minute, second = "0", fraction = "", offset] = time;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) throw badTime(value);
  const local =
    localDay(value, year, month, day) +
    Number(hour) * MS_PER_HOUR +
    Number(minute) * MS_PER_MINUTE +
    Number(second) * 1000 +
    Number(fraction.slice(0, 3).padEnd(3, "0"));
  if (offset === undefined) {
    if (options.floating === true) return floatingTime(local);
    throw new DormouseError("naive_time", `The time${shown(value)} has no offset`, {
      hint: "Add Z or an offset such as +02:00, or give the date alone.",
    });
  }
  const at = local - offsetMillis(value, offset);
  return { from: at, to: at };
}

/**
 * The interval that covers a calendar day at every offset: 50 hours, flagged floating. `month` is 1–12.
 * @throws DormouseError `bad_time` when there is no such day.
 */
export function floatingDay(year: number, month: number, day: number): ReferentTime {
  const start = utcDay(year, month, day);
  if (start === null) throw badTime(`${year}-${month}-${day}`);
  return floatingSpan(start, start);
}

/**
 * The interval that covers a wall-clock time at every offset: 26 hours, flagged floating. `local` is the
 * reading of the clock in milliseconds as if it stood at UTC.
 */
export function floatingTime(local: Millis): ReferentTime {
  return { from: local - EARLIEST_SHIFT, to: local + LATEST_SHIFT, floating: true };
}

/**
 * ISO 8601 in UTC with milliseconds, as every face prints times.
 * @throws DormouseError `bad_time` when the number is outside the years a date can hold.
 */
export function toIso(ms: Millis): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) throw new DormouseError("bad_time", `${ms} ms is outside the range of dates`);
  return date.toISOString();
}

/** The first day of a shown interval, at UTC or as its floating date says; null when it has no beginning. */
export function firstDay(referent: { readonly from: string | null; readonly floating?: boolean }): string | null {
  if (referent.from === null) return null;
  const start = Date.parse(referent.from) + (referent.floating === true ? EARLIEST_SHIFT : 0);
  return toIso(start).slice(0, 10);
}

/** From the start of one local day to the end of another, at every offset. */
function floatingSpan(firstDay: Millis, lastDay: Millis): ReferentTime {
  return { from: firstDay - EARLIEST_SHIFT, to: lastDay + MS_PER_DAY - 1 + LATEST_SHIFT, floating: true };
}

function localDay(value: string, year = "", month = "", day = ""): Millis {
  const start = utcDay(Number(year), Number(month), Number(day));
  if (start === null) throw badTime(value);
  return start;
}

/** Midnight of the day at UTC, or null when the calendar has no such day. */
function utcDay(year: number, month: number, day: number): Millis | null {
  if (!Number.isInteger(year) || year < 0 || year > 9999) return null;
  if (!Number.isInteger(month) || month < 1 || month > 12) return null;
  if (!Number.isInteger(day) || day < 1 || day > daysInMonth(year, month)) return null;
  // Date.UTC reads the years 0–99 as 1900–1999.
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

function daysInMonth(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (month === 2) return isLeap ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function offsetMillis(value: string, offset: string): Millis {
  if (offset === "Z" || offset === "z") return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(":", ""));
  if (hours > 23 || minutes > 59) throw badTime(value);
  const size = hours * MS_PER_HOUR + minutes * MS_PER_MINUTE;
  return offset.startsWith("-") ? -size : size;
}

function badTime(value: string): DormouseError {
  return new DormouseError("bad_time", `The time${shown(value)} cannot be read`, {
    hint: "Use ISO 8601: 2024-05-01, or 2024-05-01T10:30:00Z.",
  });
}

/** Only a value made of digits and the signs of a time is shown; anything else might be a person's words. */
function shown(value: string): string {
  return /^[\dTZtz:.,+ -]{1,40}$/.test(value) ? ` "${value}"` : "";
}
