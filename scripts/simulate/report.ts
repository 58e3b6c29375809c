/** What simulated years come to: figures over the whole, a line for each thirty days. Pure. */
import { formatTable } from "../text-table.ts";
import type { Fate, Life, Night } from "./life.ts";
import type { ArrivalKind } from "./schedule.ts";

const DAYS_PER_LINE = 30;

/** One stretch of thirty days. */
interface Stretch {
  readonly upToDay: number;
  readonly merged: number;
  readonly decayed: number;
  readonly copiesBefore: number;
  readonly copiesAfter: number;
  readonly nightMs: number;
  readonly longestNightMs: number;
  readonly asked: number;
  /** Shares of what was asked; null when nothing was. */
  readonly hit10: number | null;
  readonly hit10Awake: number | null;
}

export interface LifeSummary {
  /** Of the thoughts that a later question needed, how many were decayed when it came. */
  readonly needed: number;
  readonly lost: number;
  readonly lostShare: number;
  readonly fates: Readonly<Record<ArrivalKind, Fate>>;
  /** Share of what was remembered that is decayed at the end. */
  readonly decayedShare: number;
  readonly asked: number;
  readonly hit10: number | null;
  readonly hit10Awake: number | null;
  readonly endHits: Life["endHits"];
  /** Nights with copies among the new thoughts, and those of them with as many or more afterwards. */
  readonly nightsWithCopies: number;
  readonly nightsWithoutFall: number;
  readonly copiesBefore: number;
  readonly copiesAfter: number;
  readonly nightMs: { readonly median: number; readonly p95: number; readonly longest: number };
  readonly end: Life["end"];
  readonly stretches: readonly Stretch[];
}

export interface LifeReport extends LifeSummary {
  readonly years: number;
  readonly seed: number;
  readonly askedShare: number;
  readonly sleepEvery: number;
  readonly config: Readonly<Record<string, number>>;
  readonly tookSeconds: number;
}

export function summarise(life: Life): LifeSummary {
  const fates = Object.values(life.fates);
  const sum = (pick: (fate: Fate) => number) => fates.reduce((total, fate) => total + pick(fate), 0);
  const withCopies = life.nights.filter(({ copiesBefore }) => copiesBefore > 0);
  const times = life.nights.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const atShare = (share: number) =>
    Math.round(times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0);
  return {
    needed: life.needed,
    lost: life.lost,
    lostShare: life.needed === 0 ? 0 : life.lost / life.needed,
    fates: life.fates,
    decayedShare:
      sum(({ decayed }) => decayed) /
      Math.max(
        1,
        sum(({ thoughts }) => thoughts),
      ),
    ...askedIn(life, 0, Number.POSITIVE_INFINITY),
    endHits: life.endHits,
    nightsWithCopies: withCopies.length,
    nightsWithoutFall: withCopies.filter(({ copiesBefore, copiesAfter }) => copiesAfter >= copiesBefore).length,
    copiesBefore: total(life.nights, "copiesBefore"),
    copiesAfter: total(life.nights, "copiesAfter"),
    nightMs: { median: atShare(0.5), p95: atShare(0.95), longest: atShare(1) },
    end: life.end,
    stretches: stretchesOf(life),
  };
}

function stretchesOf(life: Life): Stretch[] {
  const lastDay = Math.max(0, ...life.nights.map(({ day }) => day), ...life.answers.map(({ day }) => day));
  return Array.from({ length: Math.floor(lastDay / DAYS_PER_LINE) + 1 }, (_, index) => {
    const [from, to] = [index * DAYS_PER_LINE, Math.min(lastDay + 1, (index + 1) * DAYS_PER_LINE)];
    const nights = life.nights.filter(({ day }) => day >= from && day < to);
    return {
      upToDay: to,
      merged: total(nights, "merged"),
      decayed: total(nights, "decayed"),
      copiesBefore: total(nights, "copiesBefore"),
      copiesAfter: total(nights, "copiesAfter"),
      nightMs: Math.round(total(nights, "tookMs") / Math.max(1, nights.length)),
      longestNightMs: Math.round(Math.max(0, ...nights.map(({ tookMs }) => tookMs))),
      ...askedIn(life, from, to),
    };
  });
}

function total(nights: readonly Night[], field: Exclude<keyof Night, "day">): number {
  return nights.reduce((sum, night) => sum + night[field], 0);
}

function askedIn(life: Life, from: number, to: number) {
  const asked = life.answers.filter(({ day, hit }) => hit !== null && day >= from && day < to);
  const share = (field: "hit" | "hitAwake") => {
    const known = asked.filter((answer) => answer[field] !== null);
    return known.length === 0 ? null : known.filter((answer) => answer[field]).length / known.length;
  };
  return { asked: asked.length, hit10: share("hit"), hit10Awake: share("hitAwake") };
}

export function formatLife(report: LifeReport): string {
  const { fates, end, nightMs, endHits } = report;
  const head = ["day", "merged", "decayed", "same before", "after", "night ms", "longest", "asked", "Hit@10", "awake"];
  const rows = report.stretches.map((stretch) => [
    String(stretch.upToDay),
    String(stretch.merged),
    String(stretch.decayed),
    String(stretch.copiesBefore),
    String(stretch.copiesAfter),
    String(stretch.nightMs),
    String(stretch.longestNightMs),
    String(stretch.asked),
    percent(stretch.hit10),
    percent(stretch.hit10Awake),
  ]);
  const fateRows = Object.entries(fates).map(([kind, { thoughts, decayed, merged }]) => [
    kind,
    String(thoughts),
    String(decayed),
    percent(thoughts === 0 ? null : decayed / thoughts),
    String(merged),
  ]);
  return [
    formatTable(head, rows),
    "",
    formatTable(["thoughts", "remembered", "decayed", "%", "merged"], fateRows),
    "",
    `needed later: ${report.needed}, decayed when needed: ${report.lost} (${percent(report.lostShare)} %)`,
    `decayed of all: ${percent(report.decayedShare)} %`,
    `Hit@10 as asked: ${percent(report.hit10)}, never slept: ${percent(report.hit10Awake)} (${report.asked} asked)`,
    `Hit@10 at the end, all questions: ${percent(endHits.asleep)}, never slept: ${percent(endHits.awake)}`,
    `the same among new thoughts: ${report.copiesBefore} before, ${report.copiesAfter} after their night; ` +
      `${report.nightsWithoutFall} of ${report.nightsWithCopies} such nights without a fall`,
    `at the end: ${end.thoughts} thoughts, ${end.visible} visible, ${end.permanent} permanent, ${end.core} core, ` +
      `${end.links} links, ${(end.fileBytes / 1_048_576).toFixed(1)} MiB`,
    `a night: ${nightMs.median} ms median, ${nightMs.p95} p95, ${nightMs.longest} longest; ` +
      `${report.years} years in ${report.tookSeconds} s`,
  ].join("\n");
}

function percent(share: number | null): string {
  return share === null ? "-" : (100 * share).toFixed(1);
}
