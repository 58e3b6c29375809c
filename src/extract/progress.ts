/**
 * Tells a listener how many bytes of an extraction are done, a few times a second at most. Times itself by
 * a monotonic clock: this is about the person who waits, not about anything remembered.
 */
import type { ProgressListener } from "../core/ports.ts";

const INTERVAL_MS = 250;

export class ByteProgress {
  readonly #listener: ProgressListener | undefined;
  readonly #total: number | null;
  #done = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  /** `total` in bytes, null when it cannot be known. */
  constructor(listener: ProgressListener | undefined, total: number | null) {
    this.#listener = listener;
    this.#total = total;
  }

  /** Bytes of the current file read so far, on top of the finished ones. */
  reach(bytes: number): void {
    const now = performance.now();
    if (now - this.#toldAt < INTERVAL_MS) return;
    this.#toldAt = now;
    this.#tell(this.#done + bytes);
  }

  /** A file of that size is done, whatever became of it. */
  finish(bytes: number): void {
    this.#done += bytes;
    this.reach(0);
  }

  end(): void {
    this.#tell(this.#total ?? this.#done);
  }

  #tell(done: number): void {
    this.#listener?.({ stage: "extract", done, total: this.#total });
  }
}
