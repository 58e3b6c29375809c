/**
 * When nights are due: a cron expression of five fields, read by node-cron, on the calendar of this machine's time
 * zone. Pure arithmetic: the moment is always given, and nothing here keeps a timer. Refuses seconds, and
 * expressions that never come.
 */
import { createTask, parse, validateDetailed } from "node-cron";
import type { Millis } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";

export interface Schedule {
  readonly expression: string;
  /** The first moment after `at` that the expression names. */
  next(at: Millis): Millis;
}

type Fields = ReturnType<typeof parse>;

const FIELD_COUNT = 5;
/** Days looked ahead: 29 February on a given weekday can be forty years away. */
const HORIZON_DAYS = 366 * 41;
const HINT = "The five fields are minute, hour, day of month, month and weekday: `0 3 * * *` is every night at three.";
/** Fields as a person calls them, with what they take. */
const FIELD_WORDS: Readonly<Record<string, string>> = {
  minute: "minute (0 to 59)",
  hour: "hour (0 to 23)",
  dayOfMonth: "day of month (1 to 31)",
  month: "month (1 to 12)",
  dayOfWeek: "weekday (0 to 7, or sun to sat)",
};

/** @throws DormouseError `invalid`, naming the field that is wrong */
export function parseSchedule(expression: string): Schedule {
  const fields = expression
    .trim()
    .split(/\s+/)
    .filter((field) => field !== "");
  if (fields.length !== FIELD_COUNT) {
    throw refuse(`a schedule has five fields, this one has ${fields.length}`);
  }
  const text = fields.join(" ");
  const { valid, errors } = validateDetailed(text);
  if (!valid) throw refuse(explainFault(errors[0]?.field));
  const [, , ...dayFields] = fields;
  const search: Search = { fields: parse(text), matchesDay: createDayMatcher(dayFields.join(" ")) };
  const schedule: Schedule = { expression: text, next: (at) => findNext(search, at) };
  schedule.next(0);
  return schedule;
}

/** What is wrong with an expression, to be read behind its name; null when nothing is. */
export function describeBadSchedule(expression: string): string | null {
  try {
    parseSchedule(expression);
    return null;
  } catch (error) {
    if (!(error instanceof DormouseError)) throw error;
    return `cannot be read: ${error.message}; \`0 3 * * *\` is every night at three`;
  }
}

function explainFault(field: string | undefined): string {
  const word = FIELD_WORDS[field ?? ""];
  return word === undefined ? "the schedule cannot be read" : `the schedule's ${word} cannot be read`;
}

function refuse(message: string): DormouseError {
  return new DormouseError("invalid", message, { hint: HINT });
}

interface Search {
  readonly fields: Fields;
  /** Whether the expression names this day of this machine's calendar. */
  readonly matchesDay: (day: Date) => boolean;
}

/** Asks node-cron about the day alone, told in UTC so that no change of the clocks comes in. */
function createDayMatcher(dayFields: string): Search["matchesDay"] {
  const task = createTask(`* * ${dayFields}`, () => undefined, { timezone: "UTC" });
  // It was never started; this takes it off node-cron's list.
  void task.destroy();
  return (day) => task.match(new Date(Date.UTC(day.getFullYear(), day.getMonth(), day.getDate(), 12)));
}

/**
 * The times of a day are put on the local clock here: one that a change of the clocks skips counts an hour later, one
 * that it repeats counts once. node-cron's own search would leave the skipped night out.
 */
function findNext({ fields, matchesDay }: Search, after: Millis): Millis {
  const start = new Date(after);
  // Yesterday's skipped hour before midnight can lie in today.
  for (let offset = -1; offset <= HORIZON_DAYS; offset++) {
    // Noon is there on every day in every zone.
    const day = new Date(start.getFullYear(), start.getMonth(), start.getDate() + offset, 12);
    if (!fields.month.includes(day.getMonth() + 1) || !matchesDay(day)) continue;
    const times = timesOf(day, fields).filter((time) => time > after);
    if (times.length > 0) return times.reduce((least, time) => Math.min(least, time));
  }
  throw refuse("the schedule names a day that never comes");
}

function timesOf(day: Date, { hour, minute }: Fields): Millis[] {
  return hour.flatMap((h) =>
    minute.map((m) => new Date(day.getFullYear(), day.getMonth(), day.getDate(), h, m).getTime()),
  );
}
