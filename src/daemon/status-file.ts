/**
 * The status file beside the brain (`BRAIN.daemon.json`, 0600): which process is the daemon, what it is at, and how
 * the last night went, in ids, numbers and times. Written whole under another name and put in place, so that no
 * reader sees half of it. A file that cannot be read counts as none.
 */
import { readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isSameProcess, type ProcessIdentity } from "./process-identity.ts";

export const DAEMON_STATES = ["idle", "waiting", "extracting", "sleeping", "stopping", "stopped"] as const;
/** idle: until the next time; waiting: for others to leave the brain alone. */
export type DaemonState = (typeof DAEMON_STATES)[number];

/** How one night went. */
export interface NightSummary {
  readonly startedAt: string;
  readonly endedAt: string;
  /** stopped: called off before its end, it goes on later; failed: nothing or not all of it could be done. */
  readonly outcome: "finished" | "stopped" | "failed" | "put_off";
  /** Code of the failure, or null. */
  readonly code: string | null;
  readonly cycle: number | null;
  /** Phases that failed; the others ran. */
  readonly failedPhases: readonly string[];
  readonly applied: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** What a look through the watched folders brought. */
export interface ScanSummary {
  readonly at: string;
  readonly files: number;
  readonly thoughts: number;
  readonly reinforced: number;
  /** Files or records that could not be read. */
  readonly errors: number;
  /** Code of what kept it from its end, or null. */
  readonly code: string | null;
}

export interface NextRun {
  readonly what: "night" | "scan";
  readonly at: string;
  readonly reason: "scheduled" | "missed" | "retry" | "watch";
}

export interface DaemonStatus {
  readonly version: 1;
  readonly process: ProcessIdentity;
  readonly startedAt: string;
  readonly state: DaemonState;
  readonly since: string;
  /** How far the current work is, or null. */
  readonly progress: { readonly stage: string; readonly done: number; readonly total: number | null } | null;
  readonly schedule: string | null;
  readonly next: NextRun | null;
  /** Nights finished since it started. */
  readonly nights: number;
  readonly lastNight: NightSummary | null;
  readonly lastScan: ScanSummary | null;
  /** What is wrong now, or null: a code, how often in a row, and when it is tried again. */
  readonly trouble: { readonly code: string; readonly times: number; readonly retryAt: string | null } | null;
  readonly writtenAt: string;
}

/** Where the daemon of a brain keeps its files; the same for every path that leads to the brain. */
export function daemonFile(brainPath: string, ending: "json" | "log"): string {
  const real = resolveBrain(brainPath);
  return join(dirname(real), `${basename(real)}.daemon.${ending}`);
}

function resolveBrain(brainPath: string): string {
  try {
    return realpathSync(brainPath);
  } catch {
    return brainPath;
  }
}

/** @throws Error as the file system does */
export function writeStatus(path: string, status: DaemonStatus): void {
  const written = `${path}.${process.pid}`;
  try {
    writeFileSync(written, `${JSON.stringify(status, null, 2)}\n`, { mode: 0o600 });
    renameSync(written, path);
  } finally {
    rmSync(written, { force: true });
  }
}

/** What was written last, or null. */
export function readStatus(path: string): DaemonStatus | null {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
  return isStatus(value) ? value : null;
}

/** Ours alone writes the file, so what decides about processes and what every reader prints is looked at, no more. */
function isStatus(value: unknown): value is DaemonStatus {
  if (!isRecord(value) || value.version !== 1 || !isRecord(value.process)) return false;
  const { pid, startedAs } = value.process;
  const isProcess =
    Number.isSafeInteger(pid) && Number(pid) > 0 && (startedAs === null || typeof startedAs === "string");
  return isProcess && DAEMON_STATES.some((state) => state === value.state) && typeof value.startedAt === "string";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The daemon that is there now, or null: one that stopped, or whose process is gone, is none. */
export function findRunning(path: string): DaemonStatus | null {
  const status = readStatus(path);
  return status !== null && status.state !== "stopped" && isSameProcess(status.process) ? status : null;
}
