/**
 * `dormouse extract`: reads files into the brain and says what was new and skipped on stdout, and what could not
 * be read on stderr.
 */
import type { ExtractOptions } from "../../app.ts";
import type { ExtractError, ExtractReport } from "../../core/types.ts";
import { explainError, isFileSkip, isUnreadFormat } from "../extract-words.ts";
import { type ExitStatus, endOnInterrupt, type Invocation, withBrain } from "../invocation.ts";
import { type Output, printable, type Style } from "../output.ts";
import { countOf, risenWords } from "../render.ts";

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
  noteTroubles(report, output);
  return isFailure(report, flags.strict === true) ? 1 : 0;
}

function isFailure(report: ExtractReport, strict: boolean): boolean {
  return readNothing(report) || (strict && report.errors.length > 0);
}

/**
 * True when errors, or files of formats without a reader, are all that was met. A file that holds nothing new, or
 * nothing at all that is remembered, was read nevertheless.
 */
export function readNothing({ files, records, skipped, errors }: ExtractReport): boolean {
  const reasons = Object.keys(skipped);
  if (errors.length === 0) return files === 0 && reasons.some(isUnreadFormat);
  if (files === 0) return true;
  const faulty = new Set(errors.flatMap(({ file, line }) => (line === null ? [] : [file])));
  return records === 0 && files <= faulty.size && reasons.every(isFileSkip);
}

/** What was read, and what was passed over and why. */
export function renderExtractReport(report: ExtractReport, style: Style, dryRun: boolean): string {
  const done = dryRun ? "would be new" : "new";
  const lines = [
    `read ${countOf(report.files, "file")}, ${countOf(report.records, "record")}: ` +
      `${style.bold(countOf(report.thoughts, "thought"))} ${done}, ${report.reinforced} met again`,
  ];
  const skipped = Object.entries(report.skipped)
    .filter(([reason]) => !isUnreadFormat(reason))
    .sort(([, a], [, b]) => b - a);
  if (report.risen > 0) lines.push(risenWords(report.risen, dryRun));
  if (skipped.length > 0) lines.push(`skipped: ${skipped.map(([reason, count]) => `${count} ${reason}`).join(", ")}`);
  return lines.join("\n");
}

/** Tells a person what could not be read, on stderr. */
export function noteTroubles(report: ExtractReport, output: Output): void {
  const unread = Object.entries(report.skipped).filter(([reason]) => isUnreadFormat(reason));
  if (unread.length > 0) {
    output.note(
      `no reader yet for: ${unread.map(([name, count]) => `${name} (${countOf(count, "file")})`).join(", ")}`,
    );
  }
  for (const error of report.errors.slice(0, MAX_SHOWN_ERRORS)) output.note(errorLine(error));
  const rest = report.errors.length - MAX_SHOWN_ERRORS;
  if (rest > 0) output.note(`and ${countOf(rest, "more error")}; --json lists all`);
}

function errorLine({ file, line, rule, hint }: ExtractError): string {
  const meaning = explainError(rule);
  const advice = hint === undefined || isUnreadFormat(rule) ? "" : ` (${hint})`;
  const place = line === null ? file : `${file}:${line}`;
  return printable(`error: ${place}: ${rule}${meaning === null ? "" : `: ${meaning}`}${advice}`);
}
