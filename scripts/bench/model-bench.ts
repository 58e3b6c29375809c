/**
 * What a transformer model takes: texts a second and memory over a long run, which must not grow with the number of
 * texts. Needs the model's folder; without one there is nothing to measure.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { BenchReport, Progress } from "./figures.ts";
import type { ModelProgress, ModelStep } from "./model-process.ts";

const MIB = 2 ** 20;
/** Reports of one run. */
const PORTIONS = 10;

/** @throws Error when the model cannot be loaded. */
export async function benchModel(
  directory: string | null,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const texts = Math.max(...sizes);
  const measured =
    directory === null ? [] : await embedTexts({ directory, texts, portion: texts / PORTIONS }, onProgress);
  return {
    name: "model",
    title: "a transformer model over a long run",
    head: ["model", "texts", "texts a second", "resident MiB", "peak MiB"],
    rows: measured.map((entry) => [
      entry.model,
      String(entry.texts),
      (entry.texts / entry.seconds).toFixed(0),
      (entry.residentBytes / MIB).toFixed(0),
      (entry.peakBytes / MIB).toFixed(0),
    ]),
    notes:
      directory === null ? ["not measured: --model-dir names the folder of a model"] : ["generated texts, one a run"],
    figures: measured,
  };
}

function embedTexts(step: ModelStep, onProgress: Progress): Promise<ModelProgress[]> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL("./model-process.ts", import.meta.url)), [JSON.stringify(step)], {
      execArgv: ["--import", "tsx"],
    });
    const measured: ModelProgress[] = [];
    child.on("message", (message) => {
      const progress = message as ModelProgress;
      measured.push(progress);
      onProgress(`${progress.texts} of ${step.texts} texts, ${(progress.residentBytes / MIB).toFixed(0)} MiB`);
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code === 0) resolve(measured);
      else reject(new Error(`the model's process ended with ${code}`));
    });
  });
}
