/**
 * Who holds a lease, so that another process can tell whether the holder still lives: the machine since its last start,
 * the space in which process ids count, and the moment the process began. All but that are digests: a lease holds no
 * name of a machine. Guesses nothing: what cannot be known is left to the lease's own end.
 */
import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isRunning, readBootId, readOrNull, readProcessStat } from "../core/running-process.ts";
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

let here: Place | undefined;

/** A name for this process as a holder, new at each call. */
export function nameHolder(): string {
  const { host, boot, space } = placeHere();
  return [randomUUID(), host, boot, space, readProcessStat(process.pid)?.start ?? ""].join(SEPARATOR);
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
  const found = readProcessStat(pid);
  // Ended, and its parent has not asked yet; or its id went on to another process.
  if (found?.state === "Z" || found?.state === "X") return "gone";
  const isOther = found !== null && start !== undefined && start !== "" && found.start !== start;
  return isOther ? "gone" : "running";
}

function placeHere(): Place {
  here ??= {
    host: digest(hostname()),
    boot: digest(readBootId() ?? ""),
    space: digest(readOrNull(() => readlinkSync("/proc/self/ns/pid")) ?? ""),
  };
  return here;
}

function digest(text: string): string {
  return text === "" ? "" : sha256(text).toString("hex").slice(0, DIGEST_DIGITS);
}
