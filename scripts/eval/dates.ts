/**
 * The ways evaluation sets write when something was said. None gives an offset, so each becomes an
 * interval that covers every offset it could mean; what cannot be read is unknown, not guessed.
 */
import { floatingDay, floatingTime } from "../../src/core/referent.ts";
import type { ReferentTime } from "../../src/core/types.ts";

const MONTHS = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];

const SPOKEN = /^(\d{1,2}):(\d{2}) ([ap])m on (\d{1,2}) ([a-z]+), (\d{4})$/i;
const ANCHOR = /^([a-z]+)-(\d{1,2})-(\d{4})$/i;
const SLASHED = /^(\d{4})\/(\d{2})\/(\d{2}) \([a-z]+\) (\d{2}):(\d{2})$/i;

/** "1:56 pm on 8 May, 2023". */
export function parseSpokenTime(text: string): ReferentTime | null {
  const [, hour, minute, half, day, monthName, year] = SPOKEN.exec(text.trim()) ?? [];
  const month = monthNumber(monthName);
  if (month === null) return null;
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === "p" ? 12 : 0);
  return wallClock(Number(year), month, Number(day), hours, Number(minute));
}

/** "March-15-2024", a day. */
export function parseAnchorDay(text: string): ReferentTime | null {
  const [, monthName, day, year] = ANCHOR.exec(text.trim()) ?? [];
  const month = monthNumber(monthName);
  return month === null || !isDay(Number(year), month, Number(day))
    ? null
    : floatingDay(Number(year), month, Number(day));
}

/** "2023/04/10 (Mon) 23:07". */
export function parseSlashedTime(text: string): ReferentTime | null {
  const match = SLASHED.exec(text.trim());
  if (match === null) return null;
  const [year, month, day, hour, minute] = match.slice(1).map(Number);
  return wallClock(year ?? 0, month ?? 0, day ?? 0, hour ?? 0, minute ?? 0);
}

/** The latest moment among the times, or null when none is known. */
export function latestOf(times: readonly (ReferentTime | null)[]): number | null {
  return times.reduce<number | null>((latest, time) => {
    const to = time?.to ?? null;
    return to === null || (latest !== null && latest >= to) ? latest : to;
  }, null);
}

function wallClock(year: number, month: number, day: number, hour: number, minute: number): ReferentTime | null {
  if (!isDay(year, month, day) || hour > 23 || minute > 59) return null;
  return floatingTime(Date.UTC(year, month - 1, day, hour, minute));
}

function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function monthNumber(name: string | undefined): number | null {
  const index = MONTHS.indexOf(name?.toLowerCase() ?? "");
  return index < 0 ? null : index + 1;
}
