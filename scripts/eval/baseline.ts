/**
 * BM25 alone over the same texts and the same analysed terms: the row no set may fall below. Robertson and
 * Zaragoza 2009 with k1 = 1.2 and b = 0.75, every document scored.
 */
import { asIndexed } from "../../src/store/thoughts.ts";
import { analyse, analyseQuery } from "../../src/text/analyse.ts";
import { type Corpus, toInputs } from "./corpus.ts";
import type { RankedPlaces } from "./metrics.ts";

const K1 = 1.2;
const B = 0.75;

interface IndexedText {
  readonly keys: string[];
  readonly length: number;
}

/** Ranks the documents of a corpus for a query; a text that repeats is one place, as it is one thought. */
export function createBaseline(corpus: Corpus): (query: string, k: number) => RankedPlaces {
  const texts: IndexedText[] = [];
  const postings = new Map<string, Map<number, number>>();
  const known = new Map<string, IndexedText>();
  for (const document of corpus.documents) {
    for (const { content, speaker } of toInputs(corpus.name, document)) {
      const value = asIndexed({ speaker: speaker ?? null, heading: null }, content);
      const twin = known.get(value);
      if (twin !== undefined) {
        twin.keys.push(document.key);
        continue;
      }
      const terms = analyse(value);
      const text = { keys: [document.key], length: terms.length };
      known.set(value, text);
      for (const term of terms) {
        const posting = postings.get(term) ?? new Map<number, number>();
        postings.set(term, posting.set(texts.length, (posting.get(texts.length) ?? 0) + 1));
      }
      texts.push(text);
    }
  }
  const averageLength = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  return (query, k) => {
    const scores = new Map<number, number>();
    for (const [term = ""] of analyseQuery(query)) {
      const posting = postings.get(term);
      if (posting === undefined) continue;
      const idf = Math.log(1 + (texts.length - posting.size + 0.5) / (posting.size + 0.5));
      for (const [index, count] of posting) {
        const norm = K1 * (1 - B + (B * (texts[index]?.length ?? 0)) / averageLength);
        scores.set(index, (scores.get(index) ?? 0) + (idf * count * (K1 + 1)) / (count + norm));
      }
    }
    return [...scores]
      .sort(([a, x], [b, y]) => y - x || a - b)
      .slice(0, k)
      .map(([index]) => texts[index]?.keys ?? []);
  };
}
