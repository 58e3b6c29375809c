/**
 * Who holds a lease, so that another process can tell whether the holder still lives: the machine since its last start,
 * the space in which process ids count, and the moment the process began. All but that are digests: a lease holds no
 * name of a machine. Guesses nothing: what cannot be known is left to the lease's own end.
 */
import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { sha256 } from "./digest.ts";

/** gone: known to have ended. running: a process of that id lives here. elsewhere: not to be seen from here. */
export type HolderState = "gone" | "running" | "elsewhere";

/** Where process ids mean what they mean here. */
interface Place {
  readonly host: string;
  /** Since the machine started; empty where that cannot be told. */
  readonly boot: string;
  /** Container, or other space of process ids. */
  readonly space: string;
}

const DIGEST_DIGITS = 16;
const SEPARATOR = "/";
/** Place of a process's state and of its start among the fields behind its name in /proc/PID/stat. */
const STATE_FIELD = 0;
const START_FIELD = 19;

let here: Place | undefined;

/** A name for this process as a holder, new at each call. */
export function nameHolder(): string {
  const { host, boot, space } = placeHere();
  return [randomUUID(), host, boot, space, readProcess(process.pid)?.start ?? ""].join(SEPARATOR);
}

/**
 * What has become of a holder. A name that `nameHolder` did not give says nothing of its place, so only its process id
 * is asked for.
 */
export function stateOfHolder(holder: string, pid: number): HolderState {
  const [, host, boot, space, start] = holder.split(SEPARATOR);
  const at = placeHere();
  if (host !== undefined) {
    if (host !== at.host) return "elsewhere";
    // The machine was started since: no process of before lives.
    if (boot !== at.boot && boot !== "" && at.boot !== "") return "gone";
    if (space !== at.space) return "elsewhere";
  }
  if (!isRunning(pid)) return "gone";
  const found = readProcess(pid);
  // Ended, and its parent has not asked yet; or its id went on to another process.
  if (found?.state === "Z" || found?.state === "X") return "gone";
  const isOther = found !== null && start !== undefined && start !== "" && found.start !== start;
  return isOther ? "gone" : "running";
}

function placeHere(): Place {
  here ??= {
    host: digest(hostname()),
    boot: digest(readOr("", () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim())),
    space: digest(readOr("", () => readlinkSync("/proc/self/ns/pid"))),
  };
  return here;
}

function digest(text: string): string {
  return text === "" ? "" : sha256(text).toString("hex").slice(0, DIGEST_DIGITS);
}

/** State and start of a process; null where the system does not tell. */
function readProcess(pid: number): { readonly state: string; readonly start: string } | null {
  const stat = readOr("", () => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name in brackets may hold blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, start] = [fields[STATE_FIELD], fields[START_FIELD]];
  return state === undefined || start === undefined ? null : { state, start: start.trim() };
}

function readOr(otherwise: string, read: () => string): string {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
