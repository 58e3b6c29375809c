/**
 * One searcher of the search bench in a process of its own, so that its memory is its own: a brain or the plain
 * baseline. Answers each question with what it took, and tells the most memory it held when asked to end.
 */
import { Brain } from "../../src/app.ts";
import type { SearchFilters } from "../../src/core/types.ts";
import { openBaseline } from "./baseline.ts";
import { createTimedEmbedder } from "./brain-files.ts";
import { peakMemory } from "./memory.ts";

const K = 10;

export interface SearcherStep {
  readonly kind: "brain" | "baseline";
  readonly path: string;
}

export interface AskedQuestion {
  readonly query: string;
  readonly filters: SearchFilters;
}

/** Milliseconds of one search, and how many results there were. */
export interface SearchTimes {
  readonly excludingEmbeddingMs: number;
  readonly includingEmbeddingMs: number;
  /** The whole call, with the durable note of what was read. */
  readonly withAccessMs: number;
  readonly results: number;
}

type Search = (question: AskedQuestion) => Promise<SearchTimes>;

function openBrain(path: string): Search {
  const embedder = createTimedEmbedder();
  const brain = Brain.open({ path, embedder });
  return async ({ query, filters }) => {
    embedder.takeMs();
    const started = performance.now();
    const { tookMs, results } = await brain.search(query, { k: K, ...filters });
    const withAccessMs = performance.now() - started;
    const excludingEmbeddingMs = tookMs - embedder.takeMs();
    return { excludingEmbeddingMs, includingEmbeddingMs: tookMs, withAccessMs, results: results.length };
  };
}

function openPlain(path: string): Search {
  const embedder = createTimedEmbedder();
  const baseline = openBaseline(path);
  return async ({ query }) => {
    const vector = await embedder.embedQuery(query);
    const started = performance.now();
    const ids = baseline.search(query, vector);
    const took = performance.now() - started;
    const whole = took + embedder.takeMs();
    return { excludingEmbeddingMs: took, includingEmbeddingMs: whole, withAccessMs: whole, results: ids.length };
  };
}

const step = JSON.parse(process.argv[2] ?? "") as SearcherStep;
const search = step.kind === "brain" ? openBrain(step.path) : openPlain(step.path);
process.on("message", async (message: AskedQuestion | "end") => {
  if (message !== "end") {
    process.send?.(await search(message));
    return;
  }
  process.send?.(peakMemory(), () => process.exit(0));
});
