/**
 * Brain files of generated texts for the benches, made through `remember` in batches. Files of one shelf
 * share a temporary folder that goes with it; a size asked for twice is made once.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Brain } from "../../src/app.ts";
import type { Embedder } from "../../src/core/ports.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import type { Progress } from "./figures.ts";
import { createTextSource } from "./texts.ts";

/** Thoughts of one transaction. */
export const BATCH = 256;
const SEED = 20_240_501;
const PROGRESS_STEP = 10_000;

/** Remembers the first `nodes` generated turns, in batches. */
export async function fillBrain(brain: Brain, nodes: number, onProgress?: Progress): Promise<void> {
  let batch: RememberInput[] = [];
  let done = 0;
  for (const turn of generateTurns(nodes)) {
    batch.push(turn);
    if (batch.length < BATCH && done + batch.length < nodes) continue;
    await brain.rememberAll(batch);
    done += batch.length;
    if (done % PROGRESS_STEP < batch.length) onProgress?.(`${done} of ${nodes} remembered`);
    batch = [];
  }
}

/** The turns that `fillBrain` remembers, without a brain. */
export function* generateTurns(nodes: number): Generator<RememberInput> {
  const source = createTextSource(SEED);
  for (let index = 0; index < nodes; index++) yield source.next();
}

export interface BrainShelf {
  /** Path of a file in the shelf's folder. */
  pathOf(name: string): string;
  /** Path of a brain of that size, made at the first call. Benches that change it must not use it. */
  brainOf(nodes: number): Promise<string>;
  remove(): void;
}

export function createBrainShelf(onProgress: Progress): BrainShelf {
  const folder = mkdtempSync(join(tmpdir(), "dormouse-bench-"));
  const made = new Map<number, string>();
  return {
    pathOf: (name) => join(folder, name),
    async brainOf(nodes) {
      const known = made.get(nodes);
      if (known !== undefined) return known;
      const path = join(folder, `${nodes}.db`);
      onProgress(`making a brain of ${nodes} thoughts`);
      const brain = Brain.open({ path, create: true });
      try {
        await fillBrain(brain, nodes, onProgress);
      } finally {
        brain.close();
      }
      made.set(nodes, path);
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The built-in embedder with a stopwatch: milliseconds spent on queries since the last `takeMs`. */
export function createTimedEmbedder(): Embedder & { takeMs(): number } {
  const inner = createBuiltinEmbedder();
  let spent = 0;
  return {
    model: inner.model,
    embedPassages: (texts) => inner.embedPassages(texts),
    async embedQuery(text) {
      const started = performance.now();
      const vector = await inner.embedQuery(text);
      spent += performance.now() - started;
      return vector;
    },
    takeMs() {
      const taken = spent;
      spent = 0;
      return taken;
    },
  };
}
