/** `dormouse sleep`: one cycle, or what one would do. */
import type { SleepOptions, SleepReport } from "../../app.ts";
import { DormouseError } from "../../core/errors.ts";
import { type ExitStatus, endOnInterrupt, type Invocation, withBrain } from "../invocation.ts";
import type { Style } from "../output.ts";

interface SleepFlags {
  readonly dryRun?: boolean;
  readonly maxMinutes?: string;
  readonly phase?: readonly string[];
}

/** Status 1 when a phase failed; the others ran nevertheless. */
export async function runSleep(invocation: Invocation, flags: SleepFlags): Promise<ExitStatus> {
  // A name that is no phase is refused by the cycle, which knows them.
  const phases = flags.phase as SleepOptions["phases"];
  const options: SleepOptions = {
    dryRun: flags.dryRun === true,
    ...(flags.maxMinutes === undefined ? {} : { maxMinutes: readMinutes(flags.maxMinutes) }),
    ...(phases === undefined ? {} : { phases }),
    onProgress: invocation.output.progress,
  };
  endOnInterrupt(invocation.output);
  const report = await withBrain(invocation, (brain) => brain.sleep(options));
  invocation.output.print(report, renderSleepReport);
  return report.phases.some(({ error }) => error !== undefined) ? 1 : 0;
}

function readMinutes(text: string): number {
  const minutes = /^\d{1,5}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (minutes <= 0) {
    throw new DormouseError("usage", "--max-minutes must be a number above 0", {
      hint: "For instance --max-minutes 10.",
    });
  }
  return minutes;
}

type PhaseReport = SleepReport["phases"][number];

/** What a phase did; one that asks a language model asks only when it really sleeps. */
function doneWords({ planned, applied, details }: PhaseReport, dry: boolean): string {
  if (dry && details?.requests !== undefined) return `${details.requests} requests`;
  return dry ? `${planned} planned` : `${applied} of ${planned} done`;
}

function whySkipped(phases: readonly PhaseReport[]): string {
  const has = (detail: string) => phases.some(({ details }) => details?.[detail] === 1);
  if (has("model_recalled")) return "the language model was recalled";
  return has("failed_before") ? "the language model failed" : "no language model";
}

/** A line a phase: what was planned, what was done, how long it took; one line for all that were passed over. */
export function renderSleepReport(report: SleepReport, style: Style): string {
  const skipped = report.phases.filter(({ details }) => details?.skipped === 1);
  const ran = report.phases.filter((phase) => !skipped.includes(phase));
  const width = Math.max(...ran.map(({ name }) => name.length), 0);
  const lines = ran.map((phase) => {
    const { name, tookMs, error, details } = phase;
    if (name === "gc" && error === undefined) return `  ${name.padEnd(width)}  ${renderGarbage(details)}`;
    const done = doneWords(phase, report.dryRun);
    const failure = error === undefined ? "" : `  failed: ${error.message} (${error.code})`;
    return `  ${name.padEnd(width)}  ${done.padStart(22)}  ${style.dim(`${Math.round(tookMs)} ms`)}${failure}`;
  });
  if (skipped.length > 0) {
    const names = skipped.map(({ name }) => name).join(", ");
    lines.push(style.dim(`  skipped, ${whySkipped(skipped)}: ${names}`));
  }
  const title = `sleep ${report.cycle}`;
  return [
    `${title}${report.dryRun ? " (dry run, nothing changed)" : ""}, ${Math.round(report.tookMs)} ms`,
    ...lines,
  ].join("\n");
}

/** What freeing would give back, and why that is out of search: "12 thoughts out of search (merged 9, disuse 3), 4.1 KiB". */
function renderGarbage(details: SleepReport["phases"][number]["details"] = {}): string {
  const reasons = Object.entries(details)
    .filter(([name]) => name.startsWith("nodes."))
    .map(([name, nodes]) => `${name.slice("nodes.".length)} ${nodes}`);
  if (reasons.length === 0) return "nothing is out of search";
  const { nodes = 0, bytes = 0 } = details;
  return `${nodes} out of search (${reasons.join(", ")}), ${(bytes / 1024).toFixed(1)} KiB; nothing is freed`;
}
