/**
 * Times that a question names in words ("in May 2023", "last week", "on the 7th of June"), as intervals against
 * the clock of the query. Reads English; what it is not sure of (a bare weekday, an hour) names no time.
 */
import type { ParsedResult } from "chrono-node/en";
import { type Millis, MS_PER_DAY } from "../core/clock.ts";
import { EARLIEST_SHIFT, LATEST_SHIFT } from "../core/referent.ts";

export interface QueryTime {
  readonly from: Millis;
  readonly to: Millis;
}

/** What a question must hold for a time to be looked for in it: loading the parser takes longer than a search. */
const HINTS_AT_TIME =
  /\b(?:(?:19|20)\d\d|\d{1,2}[/.-]\d{1,2}|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|yesterday|today|ago|(?:last|past|previous|this|few|\d+) (?:\w+ )?(?:day|week|month|year|weekend|spring|summer|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?)\b/i;
const LONGEST_QUERY = 1_000;
const POINTS_BACK = /\b(?:last|past|previous|this)\b/i;
/** "past two weeks", "last few months": from then until now. "last week" is a week. */
const UNTIL_NOW =
  /\b(?:past|last|previous)\s+(?:\d+|few|couple|several|two|three|four|five|six|seven|eight|nine|ten|twelve)\b|\bpast\b/i;
const NAMES_WEEKS = /\bweeks?\b/i;
/** Relative to an event of the story and not to now. */
const RELATIVE_TO_EVENT = /\b(?:before|after|later|earlier|in a|per|a day|night)\b/i;
/** A year by itself, which the parser leaves out. */
const BARE_YEAR = /\b(?:in|during|of|since|year)\s+((?:19|20)\d\d)\b(?![-/.]\d)/gi;
/** Words that are months only behind such a word, unless they begin with a capital or bring a day. */
const MAY_BE_NO_MONTH = /^(?:may|march|mar)$/;
const BEFORE_A_MONTH = /\b(?:in|last|this|since|of|by|during|until|early|late|mid|from|to|and|before|after)\s+$/i;
const MAX_TIMES = 4;
/** What happened is often told some days later. */
const TOLD_WITHIN_DAYS = 3;

/** Intervals that the question names, widened so that every offset and what was told soon after lie within. */
export async function readQueryTimes(query: string, now: Millis): Promise<QueryTime[]> {
  if (query.length > LONGEST_QUERY || !HINTS_AT_TIME.test(query)) return [];
  const { parse } = await import("chrono-node/en");
  const parsed = parse(query, { instant: new Date(now), timezone: 0 }).filter((found) => isSurelyTime(found, query));
  const spans = parsed.map((found) => spanOf(found, now));
  const isCovered = (at: number) => parsed.some(({ index, text }) => index <= at && at < index + text.length);
  for (const match of query.matchAll(BARE_YEAR)) {
    const year = match[1] ?? "";
    if (!isCovered(match.index + match[0].lastIndexOf(year))) spans.push(calendarSpan("year", Number(year), 1, 1));
  }
  return spans
    .flatMap((span) => (span === null || span.from > now ? [] : [span]))
    .slice(0, MAX_TIMES)
    .map(({ from, to }) => ({
      from: from - EARLIEST_SHIFT,
      to: to + LATEST_SHIFT + TOLD_WITHIN_DAYS * MS_PER_DAY,
    }));
}

/** "You may go" and "march on" name no month. */
function isSurelyTime({ text, index }: ParsedResult, query: string): boolean {
  const [first = "", ...others] = text.split(/\s+/);
  if (!MAY_BE_NO_MONTH.test(first)) return true;
  if (BEFORE_A_MONTH.test(query.slice(0, index))) return true;
  return others.some((word) => /(?:19|20)\d\d/.test(word));
}

/** Whole days, months or years at UTC; null for what names none of them surely. */
function spanOf(found: ParsedResult, now: Millis): QueryTime | null {
  if (RELATIVE_TO_EVENT.test(found.text)) return null;
  const first = partSpan(found.start, found.text, now);
  const last = found.end ? partSpan(found.end, found.text, now) : first;
  if (first === null || last === null) return null;
  if (UNTIL_NOW.test(found.text) && first.from <= now) return { from: first.from, to: now };
  return last.to < first.from ? first : { from: first.from, to: last.to };
}

function partSpan(part: ParsedResult["start"], words: string, now: Millis): QueryTime | null {
  const [year, month, day] = [part.get("year"), part.get("month"), part.get("day")];
  if (year === null || month === null || day === null) return null;
  if (part.isCertain("month") || part.isCertain("year")) {
    const start = part.isCertain("day") ? "day" : part.isCertain("month") ? "month" : "year";
    // A month or day without its year is the one that was, not the one to come.
    const isAhead = !part.isCertain("year") && Date.UTC(year, month - 1, start === "day" ? day : 1) > now;
    const span = calendarSpan(start, isAhead ? year - 1 : year, month, day);
    return start === "day" && NAMES_WEEKS.test(words) ? around(span, 3) : span;
  }
  if (part.isCertain("weekday") && POINTS_BACK.test(words)) return calendarSpan("day", year, month, day);
  return null;
}

function calendarSpan(unit: "day" | "month" | "year", year: number, month: number, day: number): QueryTime {
  if (unit === "year") return { from: Date.UTC(year, 0, 1), to: Date.UTC(year + 1, 0, 1) - 1 };
  if (unit === "month") return { from: Date.UTC(year, month - 1, 1), to: Date.UTC(year, month, 1) - 1 };
  return { from: Date.UTC(year, month - 1, day), to: Date.UTC(year, month - 1, day + 1) - 1 };
}

function around(span: QueryTime, days: number): QueryTime {
  return { from: span.from - days * MS_PER_DAY, to: span.to + days * MS_PER_DAY };
}
