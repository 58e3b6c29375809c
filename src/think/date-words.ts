/**
 * Whether the words of a text bear out a day that a model read from them. The words must stand in the text, and a parser
 * must come to the same days; words that count from today ("last week") need to know when they were said. A model may
 * choose among readings and never goes beyond them.
 */
import { type Millis, MS_PER_DAY } from "../core/clock.ts";
import type { Rule } from "./task.ts";

/** Whole days at UTC, as calendar dates: the start of the first and of the last. */
export interface DaySpan {
  readonly first: Millis;
  readonly last: Millis;
}

/** What a text must hold for a time to be looked for in it. */
const HINTS_AT_TIME =
  /(?<!\d)(?:1[89]|20)\d\d(?!\d)|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|\b(?:yesterday|today|tonight|ago|last (?:week|month|year|night|mon|tues|wednes|thurs|fri|satur|sun)|gestern|heute|letzte[nrs]?|hier|aujourd'hui|ayer|hoy|ieri|oggi|gisteren|ontem)/iu;
const EXPLICIT_YEAR = /(?<!\d)((?:1[89]|20)\d\d)(?!\d)/u;
const LONGEST_WORDS = 100;
/** "last week" is some day of it, and "a month ago" about that day. */
const SLACK_OF_RELATIVE = 7 * MS_PER_DAY;
const CALENDAR_DAY = /^(\d{4})-(\d{2})-(\d{2})$/;

const READERS = [
  () => import("chrono-node/en"),
  () => import("chrono-node/de"),
  () => import("chrono-node/fr"),
  () => import("chrono-node/es"),
  () => import("chrono-node/it"),
  () => import("chrono-node/nl"),
  () => import("chrono-node/pt"),
] as const;

export function hintsAtTime(text: string): boolean {
  return HINTS_AT_TIME.test(text);
}

/** A calendar date, `YYYY-MM-DD`, at UTC; null when there is no such day. */
export function readDay(text: string): Millis | null {
  const match = CALENDAR_DAY.exec(text);
  if (match === null) return null;
  const at = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text ? null : at;
}

/**
 * Checks days against words.
 * @param saidAt when the text was said; null when nobody knows
 * @returns null when they fit; else the rule that they break: `not_in_text`, `unread_words`, `other_days`
 */
export async function checkDateWords(
  text: string,
  words: string,
  claimed: DaySpan,
  saidAt: Millis | null,
): Promise<Rule | null> {
  const wanted = words.normalize("NFC").trim();
  if (wanted === "" || wanted.length > LONGEST_WORDS || !text.normalize("NFC").includes(wanted)) return "not_in_text";
  const year = EXPLICIT_YEAR.exec(wanted)?.[1];
  if (year === undefined && saidAt === null) return "unread_words";
  const slack = year === undefined ? SLACK_OF_RELATIVE : 0;
  const readings = await readingsOf(wanted, saidAt ?? Date.UTC(Number(year), 0, 1));
  if (year !== undefined) readings.push({ first: Date.UTC(Number(year), 0, 1), last: Date.UTC(Number(year), 11, 31) });
  if (readings.length === 0) return "unread_words";
  const fits = ({ first, last }: DaySpan) =>
    Math.abs(first - claimed.first) <= slack && Math.abs(last - claimed.last) <= slack;
  return readings.some(fits) ? null : "other_days";
}

/** The part of a parsed time that decides how long it lasts. */
interface ParsedTime {
  get(component: "year" | "month" | "day"): number | null;
  isCertain(component: "year" | "month" | "day" | "weekday"): boolean;
}

/** What the words mean in the languages that the parser knows; no number may be left over. */
async function readingsOf(words: string, saidAt: Millis): Promise<DaySpan[]> {
  const readings: DaySpan[] = [];
  for (const load of READERS) {
    const { parse } = await load();
    const [found, ...others] = parse(words, { instant: new Date(saidAt), timezone: 0 });
    if (found === undefined || others.length > 0) continue;
    if (/\d/u.test(words.replace(found.text, ""))) continue;
    const start = spanOf(found.start);
    const end = found.end ? spanOf(found.end) : start;
    if (start !== null && end !== null && start.first <= end.last)
      readings.push({ first: start.first, last: end.last });
  }
  return readings;
}

function spanOf(parsed: ParsedTime): DaySpan | null {
  const [year, month, day] = [parsed.get("year"), parsed.get("month"), parsed.get("day")];
  if (year === null || month === null || day === null) return null;
  if (parsed.isCertain("day") || parsed.isCertain("weekday")) {
    const at = Date.UTC(year, month - 1, day);
    return { first: at, last: at };
  }
  if (parsed.isCertain("month")) return { first: Date.UTC(year, month - 1, 1), last: Date.UTC(year, month, 0) };
  return parsed.isCertain("year") ? { first: Date.UTC(year, 0, 1), last: Date.UTC(year, 11, 31) } : null;
}
