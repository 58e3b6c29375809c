/**
 * Times as an agent gives them: ISO 8601, alone or as FROM..TO. Words such as "yesterday" are refused: an agent knows
 * the date it means, and a guess of ours would be remembered as a fact.
 */
import { MS_PER_MINUTE } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import { EARLIEST_SHIFT, LATEST_SHIFT, parseReferent } from "../core/referent.ts";
import type { Interval, ReferentTime } from "../core/types.ts";

/** When something happened; a date alone is that day anywhere. @throws DormouseError `bad_time`, `naive_time` */
export function readReferent(field: string, text: string): ReferentTime {
  const [first = "", second, ...more] = text.split("..");
  if (more.length > 0) throw new DormouseError("bad_time", `${field}: more than one ..`);
  if (second === undefined) return read(field, first);
  const from = first.trim() === "" ? null : read(field, first);
  const to = second.trim() === "" ? null : read(field, second);
  if (from === null && to === null) throw new DormouseError("bad_time", `${field}: an interval without an end`);
  const isFloating = from?.floating === true || to?.floating === true;
  return { from: from?.from ?? null, to: to?.to ?? null, ...(isFloating ? { floating: true } : {}) };
}

/** A stretch of time to filter by; a date alone is that day on this machine. */
export function readInterval(field: string, text: string): Interval {
  const { from, to, floating = false } = readReferent(field, text);
  if (!floating) return { from, to };
  return {
    from: from === null ? null : localDay(from + EARLIEST_SHIFT),
    to: to === null ? null : localDay(to - LATEST_SHIFT),
  };
}

/** When something is due; a date alone is the end of that day on this machine. */
export function readDue(field: string, text: string): number {
  const { to } = readInterval(field, text);
  if (to === null) throw new DormouseError("bad_time", `${field}: has no end`);
  return to;
}

function read(field: string, text: string): ReferentTime {
  try {
    return parseReferent(text);
  } catch (error) {
    if (!(error instanceof DormouseError)) throw error;
    // The text itself is not repeated: it may be a thought's words.
    throw new DormouseError(error.code, `${field}: ${error.code === "naive_time" ? "has no offset" : "no such time"}`, {
      hint: "ISO 8601: 2026-03-01, 2026-03-01T09:30:00+01:00, or two of them as FROM..TO.",
    });
  }
}

/** The same wall-clock reading on this machine, of one taken at UTC. */
function localDay(utc: number): number {
  return utc + new Date(utc).getTimezoneOffset() * MS_PER_MINUTE;
}
