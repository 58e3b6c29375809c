/**
 * What the system tells anybody about a process: whether one of that id runs, and what it is. Numbers of processes are
 * given out again, so an id alone names nobody. Refuses to guess where nothing is told.
 */
import { readFileSync } from "node:fs";

/** Place of a process's state and of its start among the fields behind its name in /proc/PID/stat. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/** As Linux shows a process. */
export interface ProcessStat {
  /** One letter: `Z` and `X` have ended. */
  readonly state: string;
  /** In ticks since the machine started. */
  readonly start: string;
}

/** Whether a process of this id is there, whoever owns it; a zombie is. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** State and start of a process; null where the system does not tell. */
export function readProcessStat(pid: number): ProcessStat | null {
  const stat = readOrNull(() => readFileSync(`/proc/${pid}/stat`, "utf8")) ?? "";
  // The name in brackets may hold blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, start] = [fields[STATE_FIELD], fields[START_FIELD]];
  return state === undefined || start === undefined ? null : { state, start: start.trim() };
}

/** Names the time since the machine started, anew at each start; null where the system does not tell. */
export function readBootId(): string | null {
  return readOrNull(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
}

/** What could be read, or null. */
export function readOrNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}
