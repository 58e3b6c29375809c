/**
 * The error type every layer throws. A message names the file, line, rule or id that was wrong and
 * never a memory's words; the hint says what the person can do next.
 */

/** Stable machine-readable causes. A code never changes meaning once released. */
export type ErrorCode =
  | "usage"
  | "not_found"
  | "not_a_brain"
  | "newer_brain"
  | "no_brain"
  | "busy"
  | "disk_full"
  | "io"
  | "damaged"
  | "model_mismatch"
  | "model_missing"
  | "too_long"
  | "empty"
  | "naive_time"
  | "bad_time"
  | "dead_source"
  | "recalled"
  | "forgotten"
  | "held"
  | "tombstone"
  | "merged"
  | "decayed"
  | "superseded"
  | "disputed"
  | "undisputed"
  | "undone"
  | "erased"
  | "unknown_scope"
  | "invalid"
  | "lease_held"
  | "format"
  | "sleep_failed"
  | "bad_config"
  | "no_llm"
  | "llm_unreachable"
  | "llm_timeout"
  | "llm_refused"
  | "llm_bad_reply"
  | "llm_budget";

/** A failure a person or an agent can act on. */
export class DormouseError extends Error {
  override readonly name = "DormouseError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}

const USAGE_CODES: ReadonlySet<ErrorCode> = new Set([
  "usage",
  "naive_time",
  "bad_time",
  "unknown_scope",
  "empty",
  "too_long",
  "invalid",
]);

/** True for failures the caller brought about by calling wrongly (CLI exit 2). */
export function isUsageError(error: unknown): boolean {
  return error instanceof DormouseError && USAGE_CODES.has(error.code);
}
