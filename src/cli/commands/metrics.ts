/** `dormouse metrics`: the numbers that each night's sleep left, a line a name with its course. */
import type { MetricSeries, MetricsQuery, MetricsReport } from "../../app.ts";
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { printable, type Style } from "../output.ts";
import { countOf } from "../render.ts";
import { formatDay, readSince } from "../times.ts";
import { readChoice } from "../words.ts";

interface MetricsFlags {
  readonly since?: string;
  readonly names?: readonly string[];
  readonly per?: string;
}

/** What a person looks at first; `--names '*'` shows all. */
const FIRST = [
  "thoughts*",
  "state.*",
  "kind.*",
  "links*",
  "legs",
  "duplicates.*",
  "vectors.coverage",
  "decayed.*",
  "night.*",
  "search.*",
  "recall.*",
  "file.bytes",
];
const BLOCKS = "▁▂▃▄▅▆▇█";
/** For pipes and files, where nobody knows what can be shown. */
const ASCII = "_.-~=+*#";
const SPARK_COLUMNS = 40;
const NUMBER_COLUMNS = 10;

/** JSON: `{ cycles, series }`, one value a cycle, null where there is none. */
export async function runMetrics(invocation: Invocation, flags: MetricsFlags): Promise<ExitStatus> {
  const since = flags.since === undefined ? undefined : await readSince(flags.since, Date.now());
  const shows = flags.names ?? (invocation.output.json ? undefined : FIRST);
  const query: MetricsQuery = {
    ...(since === undefined ? {} : { since }),
    ...(shows === undefined ? {} : { names: shows }),
    ...(flags.per === undefined ? {} : { per: readChoice("--per", flags.per, ["cycle", "day"]) }),
  };
  const report = await withBrain(invocation, (brain) => brain.metrics(query));
  // What was never anything else than nought is left out where nobody asked for it.
  const isNews = ({ values }: MetricSeries) => flags.names !== undefined || values.some((value) => value !== 0);
  invocation.output.print(report, ({ cycles, series }, style) =>
    renderMetrics({ cycles, series: series.filter(isNews) }, style),
  );
  return 0;
}

function renderMetrics({ cycles, series }: MetricsReport, style: Style): string {
  const [first, last] = [cycles.at(0), cycles.at(-1)];
  if (first === undefined || last === undefined) return "no night was measured yet; `dormouse sleep` leaves numbers";
  if (series.length === 0) return "no number has such a name; `dormouse metrics --names '*'` shows all";
  const nameColumns = Math.max(...series.map(({ name }) => printable(name).length));
  const room = style.width - nameColumns - 2 * NUMBER_COLUMNS - 4;
  const lines = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    const spark = drawSpark(values, Math.max(8, Math.min(SPARK_COLUMNS, room)), style.isTerminal ? BLOCKS : ASCII);
    const [from, to] = [known.at(0) ?? 0, known.at(-1) ?? 0];
    const numbers = `${shortNumber(from).padStart(NUMBER_COLUMNS)} ${shortNumber(to).padStart(NUMBER_COLUMNS)}`;
    return `${printable(name).padEnd(nameColumns)} ${numbers} ${spark}`;
  });
  const span = `${formatDay(first.at)} to ${formatDay(last.at)}`;
  const head = `${countOf(cycles.length, "night")}, ${span}: each number at the first, at the last, and its course`;
  return [style.dim(head), ...lines].join("\n");
}

/** The course of a series in so many columns at most, each the mean of the nights that it stands for. */
export function drawSpark(values: readonly (number | null)[], columns: number, levels: string): string {
  const width = Math.min(columns, values.length);
  const means = Array.from({ length: width }, (_, column) => {
    const from = Math.floor((column * values.length) / width);
    const to = Math.floor(((column + 1) * values.length) / width);
    const known = values.slice(from, to).filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  });
  const known = means.filter((mean) => mean !== null);
  const least = Math.min(...known);
  const range = Math.max(...known) - least;
  const top = levels.length - 1;
  const drawn = (mean: number) => levels[range === 0 ? 0 : Math.round(((mean - least) / range) * top)] ?? "";
  return means.map((mean) => (mean === null ? " " : drawn(mean))).join("");
}

/** At most nine characters: 12, 0.973, 1,234,567, 12.3M. */
function shortNumber(value: number): string {
  if (!Number.isInteger(value)) return Math.abs(value) < 100 ? value.toFixed(3) : value.toFixed(1);
  if (Math.abs(value) < 10_000_000) return value.toLocaleString("en-US");
  return `${(value / 1_000_000).toLocaleString("en-US", { maximumFractionDigits: 1 })}M`;
}
