/**
 * Times as a person types them: ISO 8601, or words such as "yesterday" and "in 3 days", which are resolved
 * against now on the machine's calendar. Ranges are FROM..TO with open ends. Refuses a date-time without
 * offset, and words that it understands only in part.
 */
import type { Millis } from "../core/clock.ts";
import { MS_PER_DAY } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import { EARLIEST_SHIFT, LATEST_SHIFT, parseReferent } from "../core/referent.ts";
import type { Interval, ReferentTime } from "../core/types.ts";

/** A time as typed and what it came to; `words` is null for ISO 8601, which needs no explanation. */
export interface ResolvedTime {
  readonly time: ReferentTime;
  readonly words: string | null;
}

/**
 * Reads one time.
 * @throws DormouseError `naive_time` for a date-time without offset, `bad_time` for what it cannot read.
 */
export async function readTime(text: string, now: Millis, forward = false): Promise<ResolvedTime> {
  try {
    return { time: parseReferent(text), words: null };
  } catch (error) {
    const isWords = error instanceof DormouseError && error.code === "bad_time" && !/^\s*\d{4}\D/.test(text);
    if (!isWords) throw error;
    return { time: await readWords(text, now, forward, error), words: text.trim() };
  }
}

/** Reads FROM..TO, either end may be left out; a time alone is a range of its own. */
export async function readRange(text: string, now: Millis): Promise<{ range: Interval; words: string | null }> {
  const parts = text.split("..");
  if (parts.length > 2) throw badRange();
  if (parts.length === 1) {
    const { time, words } = await readTime(text, now);
    return { range: { from: time.from, to: time.to }, words };
  }
  const [left = "", right = ""] = parts.map((part) => part.trim());
  if (left === "" && right === "") throw badRange();
  const from = left === "" ? null : await readTime(left, now);
  const to = right === "" ? null : await readTime(right, now);
  const range = { from: from?.time.from ?? null, to: to?.time.to ?? null };
  if (range.from !== null && range.to !== null && range.from > range.to) {
    throw new DormouseError("bad_time", "the range ends before it begins");
  }
  return { range, words: from?.words == null && to?.words == null ? null : text.trim() };
}

/** Reads when something is due: an instant as it stands, a day or longer at its end (at UTC for a bare date). */
export async function readDue(text: string, now: Millis): Promise<{ due: Millis; words: string | null }> {
  const { time, words } = await readTime(text, now, true);
  const end = time.to ?? time.from ?? now;
  return { due: time.floating === true ? end - LATEST_SHIFT : end, words };
}

/** Reads one instant, for a clock that is to stand still: a bare date means its start at UTC. */
export async function readInstant(text: string, now: Millis): Promise<Millis> {
  const { time } = await readTime(text, now);
  const start = time.from ?? now;
  return time.floating === true ? start + EARLIEST_SHIFT : start;
}

function badRange(): DormouseError {
  return new DormouseError("bad_time", "the range cannot be read", {
    hint: "Use FROM..TO, FROM.. or ..TO, for instance 2024-05-01..2024-05-31.",
  });
}

async function readWords(text: string, now: Millis, forward: boolean, error: unknown): Promise<ReferentTime> {
  const words = text.trim();
  if (words === "" || words.length > 100) throw error;
  if (/^this week$/i.test(words)) return localSpan(weekOf(new Date(now)), 7);
  const { parse } = await import("chrono-node/en");
  const [found, ...others] = parse(words, { instant: new Date(now) }, { forwardDate: forward });
  if (found === undefined || others.length > 0 || found.text.length !== words.length) throw error;
  const first = spanOf(found.start, words);
  const last = found.end === undefined || found.end === null ? first : spanOf(found.end, words);
  return { from: first.from, to: last.to };
}

/** The part of a parsed time that decides how long it lasts. */
interface ParsedTime {
  date(): Date;
  isCertain(component: "hour" | "day" | "weekday" | "month" | "year"): boolean;
}

/** An hour is an instant; a day, week, month or year lasts from its first to its last moment on this machine. */
function spanOf(parsed: ParsedTime, words: string): { from: Millis; to: Millis } {
  const date = parsed.date();
  if (parsed.isCertain("hour")) return { from: date.getTime(), to: date.getTime() };
  if (/\bweeks?\b/i.test(words)) return localSpan(weekOf(date), 7);
  const [year, month] = [date.getFullYear(), date.getMonth()];
  if (parsed.isCertain("day") || parsed.isCertain("weekday")) return localSpan(startOfDay(date), 1);
  if (parsed.isCertain("month")) return between(new Date(year, month, 1), new Date(year, month + 1, 1));
  if (parsed.isCertain("year")) return between(new Date(year, 0, 1), new Date(year + 1, 0, 1));
  return localSpan(startOfDay(date), 1);
}

function startOfDay(date: Date): Date {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate());
}

/** Monday of the date's week. */
function weekOf(date: Date): Date {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - ((date.getDay() + 6) % 7));
}

function localSpan(first: Date, days: number): { from: Millis; to: Millis } {
  return between(first, new Date(first.getFullYear(), first.getMonth(), first.getDate() + days));
}

function between(start: Date, next: Date): { from: Millis; to: Millis } {
  return { from: start.getTime(), to: next.getTime() - 1 };
}

/** What a thought's time is called on screen: a bare date as the date, everything else in UTC. */
export function describeReferent(referent: { from: string | null; to: string | null; floating?: boolean }): string {
  if (referent.floating === true && referent.from !== null && referent.to !== null) {
    const first = new Date(Date.parse(referent.from) + EARLIEST_SHIFT);
    const last = new Date(Date.parse(referent.to) - LATEST_SHIFT);
    if (last.getTime() === first.getTime()) return `${formatMinute(first).slice(0, -1)} (offset unknown)`;
    const days = [first.toISOString().slice(0, 10), last.toISOString().slice(0, 10)];
    return last.getTime() - first.getTime() < MS_PER_DAY ? (days[0] ?? "") : days.join("..");
  }
  const from = referent.from === null ? "" : formatMinute(new Date(referent.from));
  const to = referent.to === null ? "" : formatMinute(new Date(referent.to));
  return from === to ? from : `${from}..${to}`;
}

/** "2024-05-01 10:30Z". */
export function formatMinute(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace("T", " ")}Z`;
}
