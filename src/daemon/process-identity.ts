/**
 * Which process a number means: the number together with when that process started, since numbers are given out
 * again. Reads what the system tells anybody; refuses to guess where it tells nothing.
 */
import { execFileSync } from "node:child_process";
import { isRunning, readBootId, readOrNull, readProcessStat } from "../core/running-process.ts";

export interface ProcessIdentity {
  readonly pid: number;
  /** As the system words it, comparable with itself only; null where it does not say. */
  readonly startedAs: string | null;
}

const PS_TIMEOUT_MS = 5_000;

/** This process. */
export function identifySelf(): ProcessIdentity {
  return { pid: process.pid, startedAs: readStart(process.pid) };
}

/** False when the process ended, also when its number has been given to another one since. */
export function isSameProcess({ pid, startedAs }: ProcessIdentity): boolean {
  if (!isRunning(pid)) return false;
  const now = readStart(pid);
  return startedAs === null || now === null || now === startedAs;
}

function readStart(pid: number): string | null {
  return process.platform === "linux" ? readLinuxStart(pid) : readOrNull(() => readListedStart(pid)) || null;
}

/** The same number and tick can come again after a restart of the machine, so its boot is part of it. */
function readLinuxStart(pid: number): string | null {
  const [stat, boot] = [readProcessStat(pid), readBootId()];
  return stat === null || boot === null ? null : `${boot}:${stat.start}`;
}

function readListedStart(pid: number): string {
  if (process.platform === "win32") return "";
  return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: PS_TIMEOUT_MS,
  }).trim();
}
