/**
 * Vectors for stored thoughts, made outside any transaction. Stores nothing: what became of a thought while the
 * model worked is for the caller to ask in the transaction that stores its vector.
 */
import type { Embedder } from "../core/ports.ts";
import type { Store } from "../store/store.ts";

export interface EmbeddedThought {
  readonly id: number;
  readonly vector: Int8Array;
}

/** The vectors of those of the thoughts that have a text, in the order given. */
export async function embedThoughts(
  store: Store,
  embedder: Embedder,
  ids: readonly number[],
): Promise<EmbeddedThought[]> {
  const texts = store.read(() => ids.map((id) => store.thoughts.indexedText(id)));
  const wanted = ids.flatMap((id, index) => {
    const text = texts[index];
    return typeof text === "string" ? [{ id, text }] : [];
  });
  const vectors = await embedder.embedPassages(wanted.map(({ text }) => text));
  return wanted.flatMap(({ id }, index) => {
    const vector = vectors[index];
    return vector === undefined ? [] : [{ id, vector }];
  });
}
