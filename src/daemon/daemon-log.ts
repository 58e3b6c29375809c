/**
 * The daemon's log beside the brain (`BRAIN.daemon.log`, 0600): a line of JSON for each thing that happened, rotated
 * by size. Holds numbers, times and the codes and names that this program defines, never words, paths or messages. A
 * log that cannot be written never stops the work.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { basename, dirname } from "node:path";
import { createStream, type RotatingFileStream } from "rotating-file-stream";
import type { Clock } from "../core/clock.ts";

export type LogEvent =
  | "started"
  | "stopping"
  | "stopped"
  | "waiting"
  | "night_started"
  | "night_finished"
  | "night_stopped"
  | "night_failed"
  | "night_put_off"
  | "phase_failed"
  | "scanned"
  | "scan_failed"
  | "config_changed"
  | "config_failed";

/** Numbers, and words of this program's own. */
export interface LogFields {
  readonly [name: string]: number | boolean | null | LogWord;
}
/** A code of an error, a name of a phase, a reason: nothing that a memory or a path could come into. */
export type LogWord = Lowercase<string>;

export interface LogLine {
  readonly at: string;
  readonly event: string;
  readonly [name: string]: unknown;
}

/** A file of this size is put aside; so many are kept besides the current one. */
export const LOG_SIZE_KIB = 512;
const KEPT_FILES = 3;
/** The end of the log is looked for in so many bytes. */
const TAIL_BYTES = 256 * 1024;

export class DaemonLog {
  readonly #stream: RotatingFileStream;
  readonly #clock: Clock;
  #isBroken = false;

  /** @param onBroken told once, when the log cannot be written any more */
  constructor(path: string, clock: Clock, onBroken: (code: string) => void, sizeKib = LOG_SIZE_KIB) {
    this.#clock = clock;
    this.#stream = createStream(basename(path), {
      path: dirname(path),
      size: `${sizeKib}K`,
      rotate: KEPT_FILES,
      mode: 0o600,
    });
    const fail = (error: Error) => {
      if (this.#isBroken) return;
      this.#isBroken = true;
      onBroken("code" in error ? String(error.code) : error.name);
    };
    this.#stream.on("error", fail);
    this.#stream.on("warning", fail);
  }

  write(event: LogEvent, fields: LogFields = {}): void {
    if (this.#isBroken) return;
    this.#stream.write(`${JSON.stringify({ at: new Date(this.#clock.now()).toISOString(), event, ...fields })}\n`);
  }

  /** Waits until all that was written is in the file. */
  close(): Promise<void> {
    if (this.#isBroken) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.once("error", () => resolve());
      this.#stream.end(() => resolve());
    });
  }
}

/** The last lines of the log, the oldest first; lines that are none are left out. None when there is no log. */
export function readLog(path: string, count: number): LogLine[] {
  return readTail(path)
    .split("\n")
    .flatMap((line) => parseLine(line))
    .slice(-count);
}

function parseLine(line: string): LogLine[] {
  try {
    const value: unknown = JSON.parse(line);
    return isLogLine(value) ? [value] : [];
  } catch {
    // The first line of the tail is cut, and the last may be still being written.
    return [];
  }
}

function isLogLine(value: unknown): value is LogLine {
  return typeof value === "object" && value !== null && "at" in value && "event" in value;
}

/** A log that was just put aside leaves a short one, so the one before is read as well. */
function readTail(path: string): string {
  const current = readEnd(path);
  return current.length < TAIL_BYTES ? readEnd(`${path}.1`) + current : current;
}

function readEnd(path: string): string {
  let file: number | null = null;
  try {
    file = openSync(path, "r");
    const size = fstatSync(file).size;
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const length = readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(0, length).toString("utf8");
  } catch {
    return "";
  } finally {
    if (file !== null) closeSync(file);
  }
}
