/**
 * Which process a number means: the number together with when that process started, since numbers are given out
 * again. Reads what the system tells anybody; refuses to guess where it tells nothing.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** As the system words it, comparable with itself only; null where it does not say. */
  readonly startedAs: string | null;
}

/** Field of /proc/PID/stat that holds the start in ticks since boot, counted behind the name in parentheses. */
const START_FIELD = 19;
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

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function readStart(pid: number): string | null {
  try {
    return process.platform === "linux" ? readLinuxStart(pid) : readListedStart(pid);
  } catch {
    return null;
  }
}

/** The same number and tick can come again after a restart of the machine, so its boot is part of it. */
function readLinuxStart(pid: number): string | null {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_FIELD];
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return ticks === undefined ? null : `${boot}:${ticks}`;
}

function readListedStart(pid: number): string | null {
  if (process.platform === "win32") return null;
  const listed = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: PS_TIMEOUT_MS,
  }).trim();
  return listed === "" ? null : listed;
}
