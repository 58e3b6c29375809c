/** The nights' numbers as a person reads them: a series a name, by cycle or by day, kinds under their names. */
import { dayOf } from "../core/clock.ts";
import { matchName } from "../core/name-pattern.ts";
import { type MetricCycle, metricsSince } from "../store/metrics.ts";
import { KIND_METRIC } from "../store/sleep-upkeep.ts";
import type { Store } from "../store/store.ts";

export interface MetricsQuery {
  /** Milliseconds since the epoch; default: all that is kept. */
  readonly since?: number;
  /** Patterns of names with `*` and `?`; default all. */
  readonly names?: readonly string[];
  /** Default `cycle`: each night. `day`: the last night of each UTC day. */
  readonly per?: "cycle" | "day";
}

export interface MetricSeries {
  readonly name: string;
  /** In the order of the cycles; null where a cycle has no such number. */
  readonly values: readonly (number | null)[];
}

export interface MetricsReport {
  readonly cycles: readonly { readonly cycle: number; readonly at: string }[];
  /** By name. */
  readonly series: readonly MetricSeries[];
}

/** Reads the numbers that sleep left. A kind whose name was erased since has none. */
export function readMetrics(store: Store, { since = 0, names = [], per = "cycle" }: MetricsQuery): MetricsReport {
  return store.read(() => {
    const rows = metricsSince(store.connection, since);
    const cycles = chooseCycles(rows, per);
    const places = new Map(cycles.map(({ cycle }, place) => [cycle, place]));
    const series = new Map<string, (number | null)[]>();
    for (const { cycle, name: stored, value } of rows) {
      const place = places.get(cycle);
      const name = nameOf(store, stored);
      if (place === undefined || name === null) continue;
      if (names.length > 0 && !names.some((pattern) => matchName(pattern, name))) continue;
      let values = series.get(name);
      if (values === undefined) {
        values = cycles.map(() => null);
        series.set(name, values);
      }
      values[place] = value;
    }
    return {
      cycles: cycles.map(({ cycle, at }) => ({ cycle, at: new Date(at).toISOString() })),
      series: [...series].map(([name, values]) => ({ name, values })).sort((a, b) => (a.name < b.name ? -1 : 1)),
    };
  });
}

function chooseCycles(rows: readonly MetricCycle[], per: "cycle" | "day"): MetricCycle[] {
  const cycles = [...new Map(rows.map(({ cycle, at }) => [cycle, { cycle, at }])).values()];
  return per === "cycle" ? cycles : [...new Map(cycles.map((one) => [dayOf(one.at), one])).values()];
}

function nameOf(store: Store, stored: string): string | null {
  if (!stored.startsWith(KIND_METRIC)) return stored;
  const kind = store.labels.text(Number(stored.slice(KIND_METRIC.length)));
  return kind === null ? null : `${KIND_METRIC}${kind}`;
}
