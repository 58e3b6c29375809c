/**
 * Takes the endings off words: by the script's most common language, or by the language of the text around
 * them. Stems of a detected language carry its name, so they never meet another language's. Pure apart from
 * loading: an algorithm is read when its first word comes, since all of them take 100 ms.
 */
import { createRequire } from "node:module";
import { stemmer as stemEnglish } from "@orama/stemmers/english";
import type { Language } from "./detect-language.ts";
import { foldWord } from "./fold.ts";
import { stemBulgarian, stemPolish } from "./stem-slavic.ts";

type Stemmer = (word: string) => string;

const LONGEST_STEMMED = 32;
const MOST_PASSES = 3;

const ONLY_A_TO_Z = /^[a-z]+$/;
const ONLY_RUSSIAN = /^[а-я]+$/;
const ONLY_GREEK = /^[α-ω]+$/;
const ONLY_ARABIC = /^[\u0621-\u063A\u0641-\u064A]+$/;
const ONLY_DEVANAGARI = /^[\u0900-\u0963\u0970-\u097F]+$/;
const ONLY_HEBREW = /^[\u05D0-\u05EA]+$/;
const ONLY_LATIN_LETTERS = /^\p{Script=Latin}+$/u;
const ONLY_CYRILLIC_LETTERS = /^\p{Script=Cyrillic}+$/u;
/** "And", "the", "in", "to", "from", "as", "that": Hebrew writes them joined to the word. */
const HEBREW_PREFIX = /^[והבלמכש](?=.{3})/;

const PACKAGE_NAMES = {
  ar: "arabic",
  da: "danish",
  de: "german",
  el: "greek",
  es: "spanish",
  fi: "finnish",
  fr: "french",
  hi: "indian",
  hu: "hungarian",
  it: "italian",
  nl: "dutch",
  no: "norwegian",
  pt: "portuguese",
  ro: "romanian",
  ru: "russian",
  sv: "swedish",
  tr: "turkish",
  uk: "ukrainian",
} as const satisfies Record<Exclude<Language, "pl" | "bg">, string> & Record<string, string>;

const loadFrom = createRequire(import.meta.url);
const loaded = new Map<string, Stemmer>([
  ["pl", stemPolish],
  ["bg", stemBulgarian],
]);

function stemmerOf(language: Language | keyof typeof PACKAGE_NAMES): Stemmer {
  let stemmer = loaded.get(language);
  if (stemmer === undefined) {
    const name = PACKAGE_NAMES[language as keyof typeof PACKAGE_NAMES];
    ({ stemmer } = loadFrom(`@orama/stemmers/${name}`) as { stemmer: Stemmer });
    loaded.set(language, stemmer);
  }
  return stemmer;
}

/** What Porter's algorithm makes a wrong or needlessly shared stem of. */
const STEM_EXCEPTIONS: readonly string[] = [
  "news:news yes:yes atlas:atlas bias:bias christmas:christmas skies:sky sky:sky dying:die lying:lie tying:tie",
  "died:die lied:lie tied:tie dies:die lies:lie ties:tie goes:go",
];

/** Irregular forms of common verbs and nouns (LoCoMo Hit@1 38.9 to 40.0). Ambiguous ones are left out. */
const IRREGULAR_FORMS: readonly string[] = [
  "ate:eat eaten:eat became:become began:begin begun:begin bought:buy broke:break broken:break brought:bring",
  "built:build came:come caught:catch chose:choose chosen:choose dealt:deal drank:drink drunk:drink drawn:draw",
  "drew:draw driven:drive drove:drive dug:dig fallen:fall fell:fall felt:feel flew:fly flown:fly forgot:forget",
  "forgotten:forget fought:fight found:find froze:freeze frozen:freeze gave:give given:give gone:go grew:grow",
  "grown:grow heard:hear held:hold hid:hide hidden:hide hung:hang kept:keep knew:know known:know led:lead left:leave",
  "lent:lend lost:lose made:make meant:mean met:meet paid:pay ran:run rang:ring ridden:ride risen:rise rode:ride",
  "said:say sang:sing sat:sit saw:see seen:see sent:send shaken:shake shone:shine shook:shake shot:shoot",
  "shown:show slept:sleep sold:sell sought:seek spent:spend spoke:speak spoken:speak stole:steal stolen:steal",
  "stood:stand sung:sing swam:swim swore:swear swum:swim taken:take taught:teach thought:think threw:throw",
  "thrown:throw told:tell took:take tore:tear torn:tear understood:understand went:go wept:weep woke:wake woken:wake",
  "won:win wore:wear worn:wear written:write wrote:write",
  "children:child feet:foot geese:goose knives:knife men:man mice:mouse teeth:tooth wives:wife women:woman",
];

const STEM_OF_EXCEPTION: ReadonlyMap<string, string> = new Map(readPairs(STEM_EXCEPTIONS));
/** The form that is stemmed instead. Not stemmed here: that would cost every start 3 ms. */
const BASE_FORM: ReadonlyMap<string, string> = new Map(readPairs(IRREGULAR_FORMS));

function readPairs(lines: readonly string[]): [string, string][] {
  return lines.flatMap((line) =>
    line.split(" ").map((pair): [string, string] => {
      const [from = "", to = ""] = pair.split(":");
      return [from, to];
    }),
  );
}

/**
 * The terms of a word whose text shows no language of its own: by the most common language of its script.
 * Only words of plain letters are stemmed, others stay as they are. A Hebrew word gives itself and itself
 * without a joined prefix; every other one term.
 * @param folded what `foldWord` gave
 */
export function stemByScript(folded: string): readonly string[] {
  if (folded.length > LONGEST_STEMMED) return [folded];
  if (ONLY_A_TO_Z.test(folded)) {
    return [STEM_OF_EXCEPTION.get(folded) ?? stemEnglish(BASE_FORM.get(folded) ?? folded)];
  }
  if (ONLY_RUSSIAN.test(folded)) return [applyStemmer("ru", folded)];
  if (ONLY_GREEK.test(folded)) return [applyStemmer("el", folded)];
  if (ONLY_ARABIC.test(folded)) return [applyStemmer("ar", folded)];
  if (ONLY_DEVANAGARI.test(folded)) return [applyStemmer("hi", folded)];
  if (ONLY_HEBREW.test(folded) && HEBREW_PREFIX.test(folded)) return [folded, folded.slice(1)];
  return [folded];
}

/**
 * The terms of a word in a text of that language, or null when its rules say nothing about such a word. Stemmed
 * with its accents and without, so that whoever leaves them out finds it too: mostly both are one term.
 * @param word in lower case and NFC, with its accents
 */
export function stemByLanguage(word: string, language: Language): readonly string[] | null {
  const letters = language === "uk" || language === "bg" ? ONLY_CYRILLIC_LETTERS : ONLY_LATIN_LETTERS;
  if (word.length > LONGEST_STEMMED || !letters.test(word)) return null;
  const accented = foldWord(stemWholly(word, language));
  const folded = foldWord(word);
  const plain = folded === word ? accented : foldWord(stemWholly(folded, language));
  return accented === plain ? [`${accented}:${language}`] : [`${accented}:${language}`, `${plain}:${language}`];
}

/**
 * Stemmed until nothing more comes off: one pass makes "fiet" of the Dutch fiets and "fiets" of its plural. Two forms
 * of a word share their stem in 80 % of cases instead of 63 (Swedish), 94 instead of 87 (Spanish).
 */
function stemWholly(word: string, language: Language): string {
  let stem = word;
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const shorter = applyStemmer(language, stem);
    if (shorter === stem) break;
    stem = shorter;
  }
  return stem;
}

/** A stem is never empty. */
function applyStemmer(language: Parameters<typeof stemmerOf>[0], word: string): string {
  const evened = language === "pt" || language === "it" ? evenSpelling(word, language) : word;
  const stem = stemmerOf(language)(evened) || word;
  if (language === "es") return stem.replace(/z$/, "c");
  return language === "el" ? stem.replace(/(...)ι$/, "$1") : stem;
}

/** What the algorithms miss: avião and aviões, lago and laghi. Luz and luces, βιβλίο and βιβλία are evened in the stem. */
function evenSpelling(word: string, language: "pt" | "it"): string {
  if (language === "it") return word.replace(/([cg])h(?=[ie]$)/, "$1");
  return word.replace(/[õã]es$/, "ão").replace(/oes$/, "ao");
}
