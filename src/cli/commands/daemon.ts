/**
 * `dormouse daemon run`, `status`, `stop` and `log`: the process that lets the brain sleep every night, and what a
 * person sees of it. Installing it is `daemon-install.ts`.
 */
import type { LogLine } from "../../daemon/daemon-log.ts";
import type { DaemonOverview } from "../../daemon/overview.ts";
import type { DaemonStatus, NightSummary, ScanSummary } from "../../daemon/status-file.ts";
import { brainPathOf, type ExitStatus, type Invocation, readCount } from "../invocation.ts";
import { fitLine, printable, type Style } from "../output.ts";
import { describeProgress } from "../progress.ts";
import { countOf } from "../render.ts";
import { formatMinute } from "../times.ts";

/** How long `stop` waits: the daemon itself takes 4.5 s at most, unless a transaction is longer. */
const STOP_TIMEOUT_MS = 15_000;

interface RunFlags {
  readonly once?: boolean;
}

/** Runs until a signal ends it. A night that failed is in its status and log; status 1 is for what keeps it from running. */
export async function runDaemonRun(invocation: Invocation, { once }: RunFlags): Promise<ExitStatus> {
  const { output } = invocation;
  const [{ runDaemon }, { stopOnSignals }, brainPath] = await Promise.all([
    import("../../daemon/daemon.ts"),
    import("../../daemon/stop-signals.ts"),
    brainPathOf(invocation),
  ]);
  let shown = "";
  const signal = stopOnSignals(() => output.note("stopping after this batch"));
  const status = await runDaemon({
    brainPath,
    modelDirectory: invocation.modelDirectory,
    signal,
    once: once === true,
    onNotice: (notice) => output.note(notice),
    onStatus: (next) => {
      const line = describeState(next);
      if (line !== shown) output.note(line);
      shown = line;
    },
  });
  output.print(status, (value) => (once === true ? describeNight(value.lastNight) : "stopped"));
  // Signals would keep the process waiting for more of them.
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.removeAllListeners(name);
  return once === true && status.trouble !== null ? 1 : 0;
}

export async function runDaemonStatus(invocation: Invocation): Promise<ExitStatus> {
  const { readOverview } = await import("../../daemon/overview.ts");
  invocation.output.print(readOverview(await brainPathOf(invocation)), renderOverview);
  return 0;
}

export async function runDaemonStop(invocation: Invocation): Promise<ExitStatus> {
  const { stopDaemon } = await import("../../daemon/daemon.ts");
  const result = await stopDaemon(await brainPathOf(invocation), STOP_TIMEOUT_MS);
  invocation.output.print(result, ({ pid }) => (pid === null ? "no daemon was running" : `stopped process ${pid}`));
  return 0;
}

export async function runDaemonLog(invocation: Invocation, flags: { readonly lines: string }): Promise<ExitStatus> {
  const [{ readLog }, { daemonFile }] = await Promise.all([
    import("../../daemon/daemon-log.ts"),
    import("../../daemon/status-file.ts"),
  ]);
  const lines = readLog(daemonFile(await brainPathOf(invocation), "log"), readCount("--lines", flags.lines));
  invocation.output.print(lines, (found, style) =>
    found.length === 0 ? "the daemon has written nothing" : found.map((line) => renderLine(line, style)).join("\n"),
  );
  return 0;
}

function renderLine({ at, event, ...fields }: LogLine, style: Style): string {
  const details = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${String(value)}`);
  const line = [`${formatMinute(new Date(at))}  ${event.replaceAll("_", " ")}`, ...details].join("  ");
  return style.isTerminal ? fitLine(line, style.width) : printable(line);
}

/** One line for each thing there is to say. */
export function renderOverview({ running, died, status }: DaemonOverview): string {
  if (status === null) return "not running; it has never run for this brain";
  const { process: identity, startedAt, next, lastNight, lastScan, trouble, schedule } = status;
  const state = running
    ? `running     process ${identity.pid} since ${minute(startedAt)}, ${describeState(status)}`
    : died
      ? `not running process ${identity.pid} ended without a word; the next one goes on where it was`
      : `not running stopped ${minute(status.since)}`;
  return [
    state,
    ...(schedule === null ? [] : [`schedule    ${schedule}`]),
    ...(next === null ? [] : [`next        ${next.what} ${minute(next.at)} (${next.reason})`]),
    `last night  ${describeNight(lastNight)}`,
    ...(lastScan === null ? [] : [`last look   ${describeScan(lastScan)}`]),
    ...(trouble === null ? [] : [`trouble     ${describeTrouble(trouble)}`]),
  ].join("\n");
}

function describeState({ state, progress, next }: DaemonStatus): string {
  if (progress !== null) return `${state}: ${describeProgress(progress)}`;
  return state === "idle" && next !== null ? `idle until ${minute(next.at)} (${next.what})` : state;
}

function describeNight(night: NightSummary | null): string {
  if (night === null) return "none yet";
  const { outcome, endedAt, code, cycle, applied, seconds, cpuSeconds, failedPhases } = night;
  const failed = failedPhases.length === 0 ? "" : `, failed: ${failedPhases.join(", ")}`;
  const reason = code === null ? "" : ` (${code})`;
  const work = `${countOf(applied, "change")} in ${seconds} s, ${cpuSeconds} s of processor`;
  return `${outcome.replace("_", " ")} ${minute(endedAt)}${reason}${cycle === null ? "" : `: cycle ${cycle}, ${work}`}${failed}`;
}

function describeScan({ at, files, thoughts, errors, code }: ScanSummary): string {
  if (code !== null) return `${minute(at)} failed (${code})`;
  const troubles = errors === 0 ? "" : `, ${countOf(errors, "error")}; \`dormouse extract\` names them`;
  return `${minute(at)}: ${countOf(files, "file")}, ${countOf(thoughts, "thought")} new${troubles}`;
}

function describeTrouble({ code, times, retryAt }: NonNullable<DaemonStatus["trouble"]>): string {
  const again = retryAt === null ? "" : `, again at ${minute(retryAt)}`;
  return `${code}, ${countOf(times, "time")} in a row${again}`;
}

function minute(iso: string): string {
  return formatMinute(new Date(iso));
}
