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

/** A line a phase: what was planned, what was done, how long it took. */
export function renderSleepReport(report: SleepReport, style: Style): string {
  const width = Math.max(...report.phases.map(({ name }) => name.length), 0);
  const lines = report.phases.map(({ name, planned, applied, tookMs, error, details }) => {
    if (name === "gc" && error === undefined) return `  ${name.padEnd(width)}  ${renderGarbage(details)}`;
    const done = report.dryRun ? `${planned} planned` : `${applied} of ${planned} done`;
    const failure = error === undefined ? "" : `  failed: ${error.message} (${error.code})`;
    return `  ${name.padEnd(width)}  ${done.padStart(22)}  ${style.dim(`${Math.round(tookMs)} ms`)}${failure}`;
  });
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
