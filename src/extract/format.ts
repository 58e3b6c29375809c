/**
 * The contract between a format's reader and the extraction run. A reader turns records into items and
 * knows nothing of the store: it can be tested on bytes alone.
 */
import type { ReferentTime, SourceInput } from "../core/types.ts";

export const FORMATS = ["claude-code", "markdown", "jsonl", "text"] as const;
export type Format = (typeof FORMATS)[number];

/** One thing somebody said or wrote, verbatim, before chunking. */
export interface Turn {
  readonly type: "turn";
  /** 1-based line of the record in its file. */
  readonly line: number;
  readonly text: string;
  /** "User", "Assistant", a name from the record; null for written notes. */
  readonly speaker: string | null;
  readonly said: ReferentTime | null;
  /** The session, file or page it stands in. */
  readonly source: SourceInput;
  /** Sources besides `source` that all must stand: the model that wrote it, tool results it read. */
  readonly cites: readonly SourceInput[];
  /** Identity of the record across files (format + record id or time); equal text with equal key is one record. */
  readonly recordKey: string;
  readonly domain: string | null;
  readonly kind?: string;
  readonly basis: "told" | "generated" | "imported";
  readonly tags?: readonly string[];
  /** The record this one answers, when the format says so; used to find rewinds. */
  readonly parentKey?: string;
}

/** A person went back and said something else: turns since `afterKey` are a branch of their own. */
export interface Rewind {
  readonly type: "rewind";
  readonly line: number;
  readonly source: SourceInput;
  /** recordKey of the FIRST turn of the abandoned branch. */
  readonly abandonedFrom: string;
}

/** A record that is no thought, on purpose. `reason` is a short stable word such as `tool_result`. */
export interface Skip {
  readonly type: "skip";
  readonly line: number;
  readonly reason: string;
}

/** A record that could not be read. `rule` is a short stable word such as `invalid_json`. */
export interface Fault {
  readonly type: "fault";
  readonly line: number;
  readonly rule: string;
  readonly hint?: string;
}

export type Item = Turn | Rewind | Skip | Fault;

/**
 * A reader of one file of records. `read` is called once a line, in file order; it is cheap to create.
 * `isSettled` is true when nothing read so far is needed to understand what comes next, except `state()`:
 * a run may then save its place. `state` must hold ids and numbers only, never words.
 */
export interface RecordReader {
  read(line: string, lineNumber: number): Item[];
  /** True when the reader holds nothing back that `state()` would lose. */
  isSettled(): boolean;
  state(): unknown;
}
