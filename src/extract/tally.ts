/**
 * What an extraction did so far: counts by reason and errors by file and line. Holds no words of any
 * record, and lists only so many errors; the rest are counted.
 */
import type { ExtractError, ExtractReport, RememberResult } from "../core/types.ts";

const MAX_LISTED_ERRORS = 1_000;

export class Tally {
  /** Files of a format that can be read, unchanged ones included. */
  files = 0;
  /** Turns, records and blocks of notes that hold words. */
  records = 0;
  #thoughts = 0;
  #reinforced = 0;
  #risen = 0;
  readonly #skipped = new Map<string, number>();
  readonly #errors: ExtractError[] = [];

  skip(reason: string, count = 1): void {
    if (count > 0) this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + count);
  }

  fail(file: string, line: number | null, rule: string, hint?: string): void {
    if (this.#errors.length >= MAX_LISTED_ERRORS) this.skip("errors_not_listed");
    else this.#errors.push({ file, line, rule, ...(hint === undefined ? {} : { hint }) });
  }

  /** Counts what became of one text. */
  count(result: Pick<RememberResult, "status" | "reason" | "risen">): void {
    this.#risen += result.risen ?? 0;
    if (result.status === "created") this.#thoughts += 1;
    else if (result.status === "reinforced" || result.status === "revived") this.#reinforced += 1;
    else this.skip(result.status === "refused" ? (result.reason ?? "refused") : "known");
  }

  report(): ExtractReport {
    return {
      files: this.files,
      records: this.records,
      thoughts: this.#thoughts,
      reinforced: this.#reinforced,
      risen: this.#risen,
      skipped: Object.fromEntries([...this.#skipped].sort(([a], [b]) => (a < b ? -1 : 1))),
      errors: this.#errors,
    };
  }
}
