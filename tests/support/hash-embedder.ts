/**
 * A deterministic embedder without a model, for tests: words hashed into signed buckets and summed, so texts
 * that share words are near each other. Counts its calls; knows nothing of meaning.
 */
import { type Embedder, VECTOR_SCALE } from "../../src/core/ports.ts";

/**
 * `batches` counts the calls of embedPassages so far.
 * @param dimensions buckets; few of them let unrelated words collide. Default 64.
 * @param name of the model; another name makes other vectors of the same texts
 */
export function createHashEmbedder(dimensions = 64, name = "test-hash"): Embedder & { batches: number } {
  const seed = name === "test-hash" ? "" : name;
  const embedder: Embedder & { batches: number } = {
    model: { name, revision: "1", dimensions, runtime: "test" },
    batches: 0,
    embedPassages: async (texts) => {
      embedder.batches++;
      return texts.map((text) => embedWords(text, dimensions, seed));
    },
    embedQuery: async (text) => embedWords(text, dimensions, seed),
  };
  return embedder;
}

function embedWords(text: string, dimensions: number, seed: string): Int8Array {
  const sum = new Float64Array(dimensions);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? []) addWord(sum, seed + word);
  let length = Math.sqrt(sum.reduce((square, value) => square + value * value, 0));
  if (length === 0 && text.trim() !== "") {
    // Words that cancel each other out are still words.
    sum[hashOf(text) % dimensions] = 1;
    length = 1;
  }
  return Int8Array.from(sum, (value) => (length === 0 ? 0 : Math.round((value * VECTOR_SCALE) / length)));
}

/** Three buckets a word, so that one collision does not make two words the same. */
function addWord(sum: Float64Array, word: string): void {
  for (const salt of ["1", "2", "3"]) {
    const hash = hashOf(salt + word);
    const bucket = hash % sum.length;
    sum[bucket] = (sum[bucket] ?? 0) + (hash & 0x10000 ? 1 : -1);
  }
}

/** FNV-1a over UTF-16 units, with its high bits folded down. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
