/**
 * Cuts a stream of bytes into lines of a bounded length. A line that grows past the bound is reported at once, while
 * it still arrives, and the rest of it is dropped unread. Knows nothing of what a line says.
 */

/** Longest line taken, in bytes without its end. */
export const MAX_LINE_BYTES = 1_048_576;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

export type Line = { readonly bytes: Buffer } | { readonly tooLong: true };

export class LineReader {
  #parts: Buffer[] = [];
  #length = 0;
  /** Inside a line that was reported as too long. */
  #isDropping = false;

  /** The lines that the chunk ends, in order. Lazy: nothing is cut before it is asked for. */
  *push(chunk: Buffer): Generator<Line> {
    let start = 0;
    while (start < chunk.length) {
      const end = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, end < 0 ? chunk.length : end);
      start = end < 0 ? chunk.length : end + 1;
      if (!this.#isDropping && piece.length > 0) {
        this.#parts.push(piece);
        this.#length += piece.length;
        // One byte more may be the carriage return before the end.
        if (this.#length > MAX_LINE_BYTES + 1 || (this.#length > MAX_LINE_BYTES && !this.#endsInReturn())) {
          this.#clear();
          this.#isDropping = true;
          yield { tooLong: true };
        }
      }
      if (end < 0) continue;
      if (this.#isDropping) this.#isDropping = false;
      else yield { bytes: this.#take() };
    }
  }

  /** What the stream ended with, without a line's end; null for nothing. */
  finish(): Line | null {
    return this.#length === 0 ? null : { bytes: this.#take() };
  }

  #endsInReturn(): boolean {
    return this.#parts.at(-1)?.at(-1) === RETURN;
  }

  #take(): Buffer {
    const [only] = this.#parts;
    const line = this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts);
    this.#clear();
    return line.at(-1) === RETURN ? line.subarray(0, -1) : line;
  }

  #clear(): void {
    this.#parts = [];
    this.#length = 0;
  }
}
