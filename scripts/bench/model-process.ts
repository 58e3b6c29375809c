/**
 * The model bench in a process of its own: a transformer model makes vectors of generated texts, and the parent
 * is told after each portion how many there are and how much memory the process holds.
 */
import { readModelFolder } from "../../src/embed/transformer/model-folder.ts";
import { createTransformerEmbedder } from "../../src/embed/transformer/transformer.ts";
import { generateTurns } from "./brain-files.ts";
import { peakMemory } from "./memory.ts";

/** Texts handed over at once, as extraction does. */
const BATCH = 64;

export interface ModelStep {
  readonly directory: string;
  readonly texts: number;
  /** Texts between two reports. */
  readonly portion: number;
}

export interface ModelProgress {
  readonly model: string;
  readonly texts: number;
  readonly seconds: number;
  readonly residentBytes: number;
  readonly peakBytes: number;
}

async function main(): Promise<void> {
  const { directory, texts, portion } = JSON.parse(process.argv[2] ?? "") as ModelStep;
  const embedder = await createTransformerEmbedder(await readModelFolder(directory));
  const started = performance.now();
  let batch: string[] = [];
  let done = 0;
  for (const { content } of generateTurns(texts)) {
    batch.push(content);
    if (batch.length < BATCH && done + batch.length < texts) continue;
    await embedder.embedPassages(batch);
    const before = done;
    done += batch.length;
    batch = [];
    if (Math.floor(done / portion) === Math.floor(before / portion) && done < texts) continue;
    const progress: ModelProgress = {
      model: embedder.model.name,
      texts: done,
      seconds: (performance.now() - started) / 1000,
      residentBytes: process.memoryUsage.rss(),
      peakBytes: peakMemory(),
    };
    process.send?.(progress);
  }
}

await main();
process.disconnect?.();
