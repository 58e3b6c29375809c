/** `dormouse extract`: reads files into the brain and says what was new, skipped and broken. */
import type { ExtractOptions } from "../../app.ts";
import type { ExtractReport } from "../../core/types.ts";
import { type ExitStatus, endOnInterrupt, type Invocation, withBrain } from "../invocation.ts";
import { printable, type Style } from "../output.ts";
import { countOf } from "../render.ts";

interface ExtractFlags {
  readonly format?: NonNullable<ExtractOptions["format"]>;
  readonly domain?: string;
  readonly scope?: string;
  readonly dryRun?: boolean;
  readonly subagents?: boolean;
  readonly strict?: boolean;
}

/** Errors listed on screen; the rest is counted. JSON lists all. */
const MAX_SHOWN_ERRORS = 20;

/** Status 1 when nothing could be read; with `--strict` on any error. */
export async function runExtract(
  invocation: Invocation,
  paths: readonly string[],
  flags: ExtractFlags,
): Promise<ExitStatus> {
  const { output } = invocation;
  const options: ExtractOptions = {
    ...(flags.format === undefined ? {} : { format: flags.format }),
    ...(flags.domain === undefined ? {} : { domain: flags.domain }),
    ...(flags.scope === undefined ? {} : { scope: flags.scope }),
    dryRun: flags.dryRun === true,
    subagents: flags.subagents === true,
    onProgress: output.progress,
  };
  endOnInterrupt(output);
  const report = await withBrain(invocation, (brain) => brain.extract(paths, options));
  output.print(report, (value, style) => renderExtractReport(value, style, flags.dryRun === true));
  return isFailure(report, flags.strict === true) ? 1 : 0;
}

function isFailure(report: ExtractReport, strict: boolean): boolean {
  return readNothing(report) || (strict && report.errors.length > 0);
}

/** True when errors are all that came of it. A file that holds nothing new was read nevertheless. */
export function readNothing(report: ExtractReport): boolean {
  if (report.errors.length === 0) return false;
  return report.files === 0 || (report.records === 0 && Object.keys(report.skipped).length === 0);
}

/** What was read, what was passed over and why, what was broken and where. */
export function renderExtractReport(report: ExtractReport, style: Style, dryRun: boolean): string {
  const done = dryRun ? "would be new" : "new";
  const lines = [
    `read ${countOf(report.files, "file")}, ${countOf(report.records, "record")}: ` +
      `${style.bold(countOf(report.thoughts, "thought"))} ${done}, ${report.reinforced} met again`,
  ];
  const skipped = Object.entries(report.skipped).sort(([, a], [, b]) => b - a);
  if (skipped.length > 0) lines.push(`skipped: ${skipped.map(([reason, count]) => `${count} ${reason}`).join(", ")}`);
  for (const { file, line, rule, hint } of report.errors.slice(0, MAX_SHOWN_ERRORS)) {
    const place = line === null ? file : `${file}:${line}`;
    lines.push(`error: ${printable(place)}: ${rule}${hint === undefined ? "" : ` (${hint})`}`);
  }
  const rest = report.errors.length - MAX_SHOWN_ERRORS;
  if (rest > 0) lines.push(`and ${countOf(rest, "more error")}; --json lists all`);
  return lines.join("\n");
}
