/**
 * The ports that adapters implement. Declared here so that neither the store nor a use-case knows
 * which model or machine stands behind them.
 */

/** Identity of an embedding model; vectors of two different identities are never compared. */
export interface EmbeddingModel {
  readonly name: string;
  /** Changes whenever the vectors would (weights, tokenizer, pooling). */
  readonly revision: string;
  readonly dimensions: number;
  /** Runtime name and version that computed the vectors; runtimes differ in the last digits. */
  readonly runtime: string;
}

/**
 * Turns text into unit vectors scaled by 127 and rounded to int8, so that squared L2 distance is
 * about 2·127²·(1 − cosine). A text without any token gives the zero vector. Deterministic: a text's
 * vector does not depend on the texts around it in a call.
 */
export interface Embedder {
  readonly model: EmbeddingModel;
  /** Vectors of stored texts, in order. Length of each: `model.dimensions`. */
  embedPassages(texts: readonly string[]): Promise<Int8Array[]>;
  /** Vector of a question or search phrase. */
  embedQuery(text: string): Promise<Int8Array>;
}

/**
 * Gives the embedder of the model that a brain searches with, asked anew for each step of a long use-case since
 * the model can change meanwhile. Null while nothing can be compared with the brain's vectors because they are
 * being made again.
 */
export type EmbedderSource = Embedder | (() => Promise<Embedder | null>);

/** What the source gives now. @throws DormouseError `model_missing` and others, as loading a model does */
export async function currentEmbedder(source: EmbedderSource): Promise<Embedder | null> {
  return typeof source === "function" ? source() : source;
}

/** Length of an int8 unit vector. */
export const VECTOR_SCALE = 127;

/** Cosine from the L2 distance of two int8 unit vectors, in [−1, 1]. */
export function cosineFromL2(distance: number): number {
  const cosine = 1 - (distance * distance) / (2 * VECTOR_SCALE * VECTOR_SCALE);
  return Math.max(-1, Math.min(1, cosine));
}

/** A language model, on this machine or elsewhere. Optional everywhere; what it answers is data, never obeyed. */
export interface LanguageModel {
  /** As sources and events name it, such as `qwen3:8b`. */
  readonly name: string;
  /**
   * One request, bounded in time and output.
   * @throws DormouseError `llm_unreachable`, `llm_timeout`, `llm_refused`, `llm_bad_reply`, `llm_budget`; the signal's
   * reason when the caller aborted
   */
  complete(request: CompletionRequest): Promise<Completion>;
}

export interface CompletionRequest {
  readonly system: string;
  readonly prompt: string;
  /** JSON Schema of the answer, for servers that can force it; the caller checks the answer anyway. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Tokens of the answer, at most. */
  readonly maxTokens: number;
  readonly signal?: AbortSignal;
}

export interface Completion {
  readonly text: string;
  /** As the server counted them; null when it did not say. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
}

/** What a long use-case tells a face about how far it is. Never carries words. */
export interface Progress {
  readonly stage: string;
  readonly done: number;
  readonly total: number | null;
}

export type ProgressListener = (progress: Progress) => void;
