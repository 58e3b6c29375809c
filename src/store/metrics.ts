/**
 * The rows of numbers that sleep leaves each night, and the latencies sampled between two nights. Names and numbers
 * only: a kind is named by its label's id, so that no word outlives its erasure here.
 */
import { MS_PER_DAY } from "../core/clock.ts";
import { percentileOf } from "../core/percentile.ts";
import type { Connection } from "./connection.ts";

/** What is timed between two nights. */
export const TIMED = ["search", "recall"] as const;
export type Timed = (typeof TIMED)[number];

/** Samples kept of each until the next night takes them: of many, each has the same chance to be among them. */
const RESERVOIR = 64;
/** Days for which the numbers of every cycle are kept; then the last of each day, and at last the last of each week. */
const EVERY_CYCLE_DAYS = 30;
const EVERY_DAY_DAYS = 365;

/** A number that no cycle is without. */
const EVERY_CYCLES_NAME = "thoughts";

/** One night. */
export interface MetricCycle {
  readonly cycle: number;
  /** When its numbers were taken. */
  readonly at: number;
}

export interface MetricValue extends MetricCycle {
  readonly name: string;
  readonly value: number;
}

/** Writes the numbers of one cycle. Inside a write transaction. */
export function addMetrics(
  connection: Connection,
  { cycle, at }: MetricCycle,
  values: Readonly<Record<string, number>>,
): void {
  const insert = connection.sql("INSERT INTO metric (at, cycle, name, value) VALUES (?, ?, ?, ?)");
  for (const [name, value] of Object.entries(values)) insert.run(at, cycle, name, value);
}

/** Numbers of cycles from this moment on, cycles in order, names in theirs. */
export function metricsSince(connection: Connection, since: number): MetricValue[] {
  return connection
    .sql<MetricValue>("SELECT cycle, at, name, value FROM metric WHERE at >= ? ORDER BY cycle, name")
    .all(since);
}

/** The newest number of this name; null when there is none. */
export function lastMetric(connection: Connection, name: string): number | null {
  return (
    connection.values<number>("SELECT value FROM metric WHERE name = ? ORDER BY cycle DESC LIMIT 1").get(name) ?? null
  );
}

/** The cycles that go: not the last of their day once they are a month old, nor of their week after a year. Pure. */
export function cyclesToThin(cycles: readonly MetricCycle[], now: number): number[] {
  const kept = new Set<string>();
  return [...cycles]
    .sort((a, b) => b.cycle - a.cycle)
    .filter(({ at }) => {
      const days = (now - at) / MS_PER_DAY;
      if (days <= EVERY_CYCLE_DAYS) return false;
      const span = days <= EVERY_DAY_DAYS ? 1 : 7;
      const key = `${span}.${Math.floor(at / (span * MS_PER_DAY))}`;
      if (!kept.has(key)) {
        kept.add(key);
        return false;
      }
      return true;
    })
    .map(({ cycle }) => cycle)
    .sort((a, b) => a - b);
}

/** Takes the numbers of old cycles out that `cyclesToThin` names. Inside a write transaction. @returns how many cycles */
export function thinMetrics(connection: Connection, now: number): number {
  // Every cycle has this number, and an index leads to it: the table is not read as a whole each night.
  const cycles = connection.sql<MetricCycle>("SELECT cycle, at FROM metric WHERE name = ?").all(EVERY_CYCLES_NAME);
  const going = cyclesToThin(cycles, now);
  if (going.length > 0) {
    connection.sql("DELETE FROM metric WHERE cycle IN (SELECT value FROM json_each(?))").run(JSON.stringify(going));
  }
  return going.length;
}

/** Adds a latency to the sample of those since the last night. Inside a write transaction. */
export function noteLatency(connection: Connection, timed: Timed, ms: number, at: number): void {
  const seen = connection.values<number>("SELECT value FROM gauge WHERE name = ?").get(countName(timed)) ?? 0;
  const put = connection.sql(
    `INSERT INTO gauge (name, value, updated_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  );
  put.run(countName(timed), seen + 1, at);
  // Reservoir sampling (Vitter 1985, algorithm R).
  const slot = seen < RESERVOIR ? seen : Math.floor(Math.random() * (seen + 1));
  if (slot < RESERVOIR) put.run(`${samplePrefix(timed)}${slot}`, ms, at);
}

/** Median and 95th percentile of the sample in milliseconds, and how many it stands for; empties it. */
export function takeLatencies(connection: Connection): Record<string, number> {
  const taken: Record<string, number> = {};
  for (const timed of TIMED) {
    const prefix = samplePrefix(timed);
    const samples = connection
      .values<number>("SELECT value FROM gauge WHERE name >= ? AND name < ? ORDER BY value")
      .all(prefix, `${prefix}~`);
    if (samples.length === 0) continue;
    taken[`${timed}.count`] =
      connection.values<number>("SELECT value FROM gauge WHERE name = ?").get(countName(timed)) ?? samples.length;
    taken[`${timed}.p50.ms`] = percentileOf(samples, 0.5);
    taken[`${timed}.p95.ms`] = percentileOf(samples, 0.95);
    connection
      .sql("DELETE FROM gauge WHERE name = ? OR (name >= ? AND name < ?)")
      .run(countName(timed), prefix, `${prefix}~`);
  }
  return taken;
}

function countName(timed: Timed): string {
  return `latency.count.${timed}`;
}

function samplePrefix(timed: Timed): string {
  return `latency.sample.${timed}.`;
}
