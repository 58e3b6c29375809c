/**
 * Times as a person types them, and as a person is shown them: ISO 8601, or words such as "yesterday" and
 * "in 3 days", which are resolved against now on the machine's calendar. Ranges are FROM..TO with open ends.
 * Refuses a date-time without offset, and words that it understands only in part.
 */
import type { Millis } from "../core/clock.ts";
import { MS_PER_DAY } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import { EARLIEST_SHIFT, LATEST_SHIFT, parseReferent } from "../core/referent.ts";
import type { ReferentTime } from "../core/types.ts";

/** A time as typed and what it came to; `words` is null for ISO 8601, which needs no explanation. */
export interface ResolvedTime {
  readonly time: ReferentTime;
  readonly words: string | null;
}

/**
 * What a bare date in a range means, unless the other end has an offset or is in words: then it is local. "floating": that day at any offset, for when something happened.
 * "local": from midnight to midnight on this machine, as "yesterday" does, for what filters or is in force.
 */
type Calendar = "floating" | "local";

const TIME_HINT =
  'Use ISO 8601, such as 2024-05-01 or 2024-05-01T10:30:00Z, or words such as "yesterday" and "in 3 days".';

/**
 * Reads one time.
 * @throws DormouseError `naive_time` for a date-time without offset, `bad_time` for what it cannot read.
 */
export async function readTime(text: string, now: Millis, forward = false): Promise<ResolvedTime> {
  try {
    return { time: parseReferent(text), words: null };
  } catch (error) {
    if (!(error instanceof DormouseError) || error.code !== "bad_time") throw error;
    const time = /^\s*\d{4}\D/.test(text) ? null : await readWords(text, now, forward);
    if (time === null) throw new DormouseError("bad_time", error.message, { hint: TIME_HINT, cause: error });
    return { time, words: text.trim() };
  }
}

/**
 * Reads FROM..TO, either end may be left out; a time alone is a range of its own.
 * @throws DormouseError as `readTime`, and `bad_time` for a range that ends before it begins.
 */
export async function readRange(
  text: string,
  now: Millis,
  calendar: Calendar = "floating",
): Promise<{ range: ReferentTime; words: string | null }> {
  const parts = text.split("..").map((part) => part.trim());
  const [left = "", right = left] = parts;
  if (parts.length > 2 || (left === "" && right === "")) throw badRange();
  if (parts.length === 1) {
    const { time, words } = await readTime(left, now);
    return { range: calendar === "local" ? toLocalDays(time) : time, words };
  }
  const first = left === "" ? null : await readTime(left, now);
  const last = right === "" ? null : await readTime(right, now);
  // Beside an end with an offset a date is of this machine, since a range cannot be floating by half.
  const isFloating =
    calendar === "floating" && [first, last].every((end) => end === null || end.time.floating === true);
  const place = (time: ReferentTime) => (isFloating ? time : toLocalDays(time));
  const from = first === null ? null : place(first.time).from;
  const to = last === null ? null : place(last.time).to;
  // Floating dates are compared as dates: what they could mean overlaps for two days around.
  if (from !== null && to !== null && from + (isFloating ? EARLIEST_SHIFT + LATEST_SHIFT : 0) > to) {
    throw new DormouseError("bad_time", "the range ends before it begins", {
      hint: "The earlier time comes first, as in 2024-05-01..2024-05-31.",
    });
  }
  return {
    range: { from, to, ...(isFloating ? { floating: true } : {}) },
    words: first?.words == null && last?.words == null ? null : text.trim(),
  };
}

/**
 * Runs what reads the time of an option, and names the option when that fails.
 * @throws DormouseError as `read` does.
 */
export async function readOption<T>(option: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof DormouseError)) throw error;
    const { code, message, hint } = error;
    throw new DormouseError(code, `${option}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`, {
      cause: error,
      ...(hint === undefined ? {} : { hint }),
    });
  }
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

/**
 * The moment up to which something is known: a time itself, the end of a day, a month or "yesterday" on this machine.
 * @throws DormouseError as `readTime`.
 */
async function readMoment(text: string, now: Millis): Promise<Millis> {
  const { time } = await readTime(text, now);
  return toLocalDays(time).to ?? now;
}

/**
 * The moment that `--as-of` names, which relative words in other options count from; now without it.
 * @throws DormouseError as `readTime`.
 */
export async function readAsOf(text: string | undefined, now: Millis): Promise<Millis> {
  return text === undefined ? now : readOption("--as-of", () => readMoment(text, now));
}

/** The moment from which `--since` counts: the start of a day that it names. @throws DormouseError as `readTime`. */
export async function readSince(text: string, now: Millis): Promise<Millis> {
  return readOption("--since", () => readInstant(text, now));
}

/** The UTC day of an ISO 8601 time. */
export function formatDay(iso: string): string {
  return iso.slice(0, 10);
}

function badRange(): DormouseError {
  return new DormouseError("bad_time", "the range cannot be read", {
    hint: "Use FROM..TO, FROM.. or ..TO, for instance 2024-05-01..2024-05-31.",
  });
}

/** Null for words that name no time, or more than a time. */
async function readWords(text: string, now: Millis, forward: boolean): Promise<ReferentTime | null> {
  const words = text.trim();
  if (words === "" || words.length > 100) return null;
  if (/^this week$/i.test(words)) return localSpan(weekOf(new Date(now)), 7);
  const { parse } = await import("chrono-node/en");
  const [found, ...others] = parse(words, { instant: new Date(now) }, { forwardDate: forward });
  if (found === undefined || others.length > 0 || found.text.length !== words.length) return null;
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

/** A floating date, from midnight to midnight on this machine; any other time as it is. */
function toLocalDays(time: ReferentTime): ReferentTime {
  if (time.floating !== true || time.from === null || time.to === null) return time;
  const first = new Date(time.from + EARLIEST_SHIFT);
  const next = new Date(time.to - LATEST_SHIFT + 1);
  return between(localMidnight(first), localMidnight(next));
}

/** Midnight on this machine of the day that the date shows at UTC. */
function localMidnight(date: Date): Date {
  const midnight = new Date(2000, 0, 1);
  midnight.setFullYear(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  return midnight;
}

/** An interval as the brain answers it, in ISO 8601. */
interface ShownInterval {
  readonly from: string | null;
  readonly to: string | null;
  readonly floating?: boolean;
}

/**
 * What an interval is called on screen: a day, month or year by its name, other whole days as FROM..TO, all
 * else to the minute in UTC. Days are those of a bare date, or of this machine where there was none.
 */
export function describeReferent({ from, to, floating = false }: ShownInterval): string {
  const start = from === null ? null : Date.parse(from);
  const end = to === null ? null : Date.parse(to);
  if (start === end) return start === null ? "" : formatMinute(new Date(start));
  if (floating && start !== null && end !== null && start + EARLIEST_SHIFT === end - LATEST_SHIFT) {
    return `${formatMinute(new Date(start + EARLIEST_SHIFT)).slice(0, -1)} (offset unknown)`;
  }
  const firstDay = start === null ? null : dayFrom(start, floating ? EARLIEST_SHIFT : null);
  const lastDay = end === null ? null : dayFrom(end + 1, floating ? -LATEST_SHIFT : null, 1);
  if (firstDay !== null && lastDay !== null) return nameDays(firstDay, lastDay);
  const left = start === null ? "" : (firstDay ?? formatMinute(new Date(start)));
  const right = end === null ? "" : (lastDay ?? formatMinute(new Date(end)));
  return `${left}..${right}`;
}

/**
 * The day that begins at this moment, or `daysBack` before it; null when none begins there. `shift` leads
 * from a floating time to its reading at UTC.
 */
function dayFrom(at: Millis, shift: number | null, daysBack = 0): string | null {
  if (shift !== null && (at + shift) % MS_PER_DAY === 0) {
    return isoDay(new Date(at + shift - daysBack * MS_PER_DAY));
  }
  const local = new Date(at);
  if (startOfDay(local).getTime() !== at) return null;
  return isoDay(new Date(Date.UTC(local.getFullYear(), local.getMonth(), local.getDate() - daysBack)));
}

function isoDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function nameDays(first: string, last: string): string {
  if (first === last) return first;
  if (first.endsWith("-01-01") && last === first.replace("-01-01", "-12-31")) return first.slice(0, -6);
  const nextDay = isoDay(new Date(Date.parse(last) + MS_PER_DAY));
  const isMonth = first.slice(0, -3) === last.slice(0, -3) && first.endsWith("-01") && nextDay.endsWith("-01");
  return isMonth ? first.slice(0, -3) : `${first}..${last}`;
}

/** What a due time is called on screen: the day at whose end it lies, else the minute in UTC. */
export function describeDue(due: Millis): string {
  return dayFrom(due + 1, 0, 1) ?? formatMinute(new Date(due));
}

/** "2024-05-01 10:30Z". */
export function formatMinute(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace("T", " ")}Z`;
}
