/**
 * Turns text into search terms: segments, folds and stems, the same way for what is stored and what is
 * asked. Also owns how terms are written into and asked of FTS5, so that no text can break a query. Pure
 * and linear in the text; knows nothing of ranking, and no term ever holds white space.
 */
import { stemmer as stemEnglish } from "@orama/stemmers/english";
import { stemmer as stemRussian } from "@orama/stemmers/russian";

/** Version of the stemming package; a test compares it with what is installed. */
const STEMMER_VERSION = "3.1.18";

/**
 * Changes whenever the same text could give other terms: our own rules, Node's ICU, the stemmer. A stored
 * index with another version has to be rebuilt.
 */
export const ANALYSER_VERSION = `1+icu${process.versions.icu ?? "none"}+stem${STEMMER_VERSION}`;

/**
 * The value of FTS5's `tokenize="…"` (double quotes around it) under which terms survive unchanged: every
 * byte from 128 up belongs to a token, and so do the ASCII signs a term may hold. `unicode61` is of no use
 * here: it splits at emoji and combining marks.
 */
export const FTS_TOKENIZER = "ascii tokenchars '_-./:@+#\\'";

/** Strings that are one token under `FTS_TOKENIZER`. */
const INDEXABLE = /^[0-9A-Za-z_\-./:@+#\\\u0080-\uFFFF]+$/;

/** Longest term in UTF-16 code units; what is longer is cut, so that long tokens match by their beginning. */
const LONGEST_TERM = 64;
/** Longest part of a token whose joined form is looked at; more could not show in a term anyway. */
const LONGEST_JOINED = 4 * LONGEST_TERM;
const LONGEST_STEMMED = 32;

/** Text matched in one go: on some millions of characters without a gap the pattern engine's stack overflows. */
const LONGEST_MATCHED = 250_000;

/** Tokens whose terms are remembered, and how long such a token may be. At the limit all are dropped. */
const MEMO_ENTRIES = 50_000;
const LONGEST_MEMOISED = 40;

/**
 * Scripts written without spaces, and Hangul, whose particles join the word. They are indexed as pairs of
 * characters, so that what a dictionary makes of them never decides whether something is found.
 */
const UNSPACED_CLASS =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}" +
  "\\p{Script=Khmer}\\p{Script=Myanmar}\\u30FC\\u3006";
const UNSPACED_RUN = new RegExp(`((?:(?!\\p{P})[${UNSPACED_CLASS}][\\p{M}\\u200D]*)+)`, "u");
/** Pieces of such a run that are segmented on their own: Intl.Segmenter takes quadratic time on long ones. */
const LONGEST_SEGMENTED = 500;
const CLUSTER = /[^\p{M}]\p{M}*/gu;
const HAN = /^\p{Script=Han}/u;
const HANGUL = /^\p{Script=Hangul}/u;
const HANGUL_ONLY = /^\p{Script=Hangul}+$/u;
/** Made at first use: loading the dictionaries takes 25 ms, which text in spaced scripts never needs. */
let wordSegmenter: Intl.Segmenter | undefined;

const NON_ASCII = /[^\0-\x7F]/;
const GROUPED_NUMBER = "\\d{1,3}(?:,\\d{3})+(?![0-9A-Za-z])(?:\\.\\d+)?";
const CONNECTOR = "(?:::|__|[-_.'/\\\\@:])";
const SUFFIX = "(?:(?:\\+\\+|#)(?![A-Za-z0-9]))?";
const ASCII_TOKEN = new RegExp(`${GROUPED_NUMBER}|[A-Za-z0-9]+(?:${CONNECTOR}[A-Za-z0-9]+)*${SUFFIX}`, "g");
const EMOJI_UNIT = "\\p{Extended_Pictographic}[\\u{E0020}-\\u{E007F}]*";
const WORD = "[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}]*";
const TOKEN = new RegExp(
  `${EMOJI_UNIT}(?:\\u200D${EMOJI_UNIT})*|\\p{Regional_Indicator}{2}|[0-9#*]\\u20E3` +
    `|${GROUPED_NUMBER}|${WORD}(?:${CONNECTOR}${WORD})*${SUFFIX}`,
  "gu",
);
const NOT_A_WORD = /^(?:[^\p{L}\p{N}]|[0-9#*]\u20E3)/u;

const APOSTROPHE = /[\u2018\u2019\u201B\u02BC\u02B9\u02BB]/g;
const DASH_AS_HYPHEN = /[\u2010\u2011\u2212]/g;
const PLAIN_PUNCTUATION = /[\u2012-\u2015\u201C-\u201F]/g;
/** Soft hyphen, joiners that only shape letters, variation selectors, skin tones: same word, same emoji. */
const INVISIBLE = /\p{Variation_Selector}|\p{Emoji_Modifier}|[\xAD\u200C\u2060\uFEFF]|\u034F/gu;
const JOINER_IN_WORD = /([\p{L}\p{M}])\u200D(?=[\p{L}\p{M}])/gu;
/** Marks past this many in a row are dropped: no language has as many, and NFKC is quadratic in them. */
const MARK_OVERFLOW = /(\p{M}{30})\p{M}+/gu;
/** NFKC takes Thai and Lao AM apart, and the dictionaries know it whole only. */
const THAI_AM = /\u0E4D\u0E32/g;
const LAO_AM = /\u0ECD\u0EB2/g;

const LATIN_OR_GREEK_MARKS = /([\p{Script=Latin}\p{Script=Greek}])\p{M}+/gu;
const CYRILLIC_STRESS = /(\p{Script=Cyrillic})[\u0300\u0301]+/gu;
/** Letters without a decomposition that are written as others where the keyboard lacks them. */
const LETTER_FOLDS: Readonly<Record<string, string>> = {
  ß: "ss",
  ς: "σ",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  þ: "th",
  ł: "l",
  ı: "i",
  ħ: "h",
  ŧ: "t",
  ŋ: "n",
  ё: "е",
  أ: "ا",
  إ: "ا",
  آ: "ا",
  ٱ: "ا",
};
const FOLDED_LETTER = new RegExp(`[${Object.keys(LETTER_FOLDS).join("")}]`, "g");
/** Vowel signs of Hebrew and Arabic and the Arabic lengthening sign: left out in most writing. */
const OPTIONAL_MARKS = /[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0640\u064B-\u0652\u0670]/g;

const HARD_CONNECTORS = /[/\\@:]+/;
const SOFT_CONNECTORS = /[-_.]+/;
const CONNECTORS = /[-_./\\@:]+/g;
/** A name with its case ending set off, as Turkish and Finnish write it; English contractions are no such thing. */
const SUFFIXED = /^(\p{L}{3,})'(?!(?:[tdms]|ll|re|ve)$)\p{L}{1,6}$/iu;
const POSSESSIVE = /'s$/i;
const ELISION = /^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=\p{L}{2})/iu;
const CASE_BORDER = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})(?!\p{Lu}s$)/u;
const WORD_THEN_NUMBER = /^(\p{L}{3,})(\d+)$/u;
const NUMBER_THEN_WORD = /^(\d+)(?!(?:st|nd|rd|th|s)$)(\p{L}+)$/u;
const ONLY_A_TO_Z = /^[a-z]+$/;
const ONLY_RUSSIAN = /^[а-я]+$/;
const LOWER_CASE = /\p{Ll}/u;

/**
 * English function words a question is asked with, as folded: "don't" is "dont". Short on purpose: pronouns,
 * "may", "like" or "after" tell something (against a list of 200: BEAM Hit@10 59 to 61, LoCoMo 69.6 to 70.0).
 */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a am an and are as at be been being but by can could did do does doing for had has have having how if in into is " +
    "it might must no not of on or shall should such that the their then there these they this to was were what when " +
    "where which who whose why will with would " +
    "arent cant cannot couldnt didnt doesnt dont hadnt hasnt havent hows im isnt itll ive lets shes hes shouldnt " +
    "thatll thats theres theyd theyll theyre theyve wasnt werent weve whats whos wont wouldnt youd youll youre youve"
  ).split(" "),
);

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

const STEMS: ReadonlyMap<string, string> = new Map([
  ...readPairs(STEM_EXCEPTIONS),
  ...readPairs(IRREGULAR_FORMS).map(([form, base]): [string, string] => [form, stemEnglish(base)]),
]);

function readPairs(lines: readonly string[]): [string, string][] {
  return lines.flatMap((line) =>
    line.split(" ").map((pair): [string, string] => {
      const [from = "", to = ""] = pair.split(":");
      return [from, to];
    }),
  );
}

/** What a token is analysed for: an index keeps every word, a question drops those that say nothing. */
type Purpose = "index" | "query" | "query without stop words";

const memos: Readonly<Record<Purpose, Map<string, readonly string[]>>> = {
  index: new Map(),
  query: new Map(),
  "query without stop words": new Map(),
};

/**
 * The terms of a text to be indexed, in order, repeats kept. A compound (`getUserName`, `node_modules`,
 * `2023-05-07`, a path, an address) gives itself and its parts. At most 64 code units each; never empty,
 * never with white space or NUL. Any string is accepted, lone surrogates separate words.
 */
export function analyse(text: string): string[] {
  return collectTerms(text, "index");
}

/**
 * The distinct terms of a question, in order of first appearance. English stop words are left out unless
 * nothing else is left; one written in capitals between other words ("US", "IT") is a name and stays.
 */
export function analyseQuery(text: string): string[] {
  const telling = new Set(collectTerms(text, "query without stop words"));
  return [...(telling.size > 0 ? telling : new Set(collectTerms(text, "query")))];
}

/** Terms as the one text of an FTS5 row under `FTS_TOKENIZER`. */
export function toIndexText(terms: readonly string[]): string {
  return terms.join(" ");
}

/**
 * An FTS5 MATCH expression for rows with any of the terms. Every term is a string literal, so none is read
 * as syntax; a string that `FTS_TOKENIZER` would split is no term and is left out, since FTS5 would take it
 * for a phrase. No terms give an expression that matches nothing.
 */
export function toMatchQuery(terms: readonly string[]): string {
  const quoted = terms.filter((term) => INDEXABLE.test(term)).map((term) => `"${term}"`);
  return quoted.length > 0 ? quoted.join(" OR ") : '""';
}

/**
 * Unsigned 32-bit hash of a term, the same on every machine and in every release: FNV-1a over UTF-16 code
 * units with MurmurHash3's final mix, so that low bits are as good as high ones.
 */
export function termHash(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) {
    hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function collectTerms(text: string, purpose: Purpose): string[] {
  const terms: string[] = [];
  const keepsCapitals = purpose === "query without stop words" && LOWER_CASE.test(text);
  let from = 0;
  while (from < text.length) {
    const to = text.length - from <= LONGEST_MATCHED ? text.length : findGap(text, from, from + LONGEST_MATCHED);
    addTerms(text.slice(from, to), purpose, keepsCapitals, terms);
    from = to;
  }
  return terms;
}

/** The last space before `limit`; in a text without any, a place that tears no surrogate pair. */
function findGap(text: string, from: number, limit: number): number {
  const space = text.lastIndexOf(" ", limit);
  if (space > from) return space;
  const next = text.charCodeAt(limit);
  return next >= 0xdc00 && next <= 0xdfff ? limit - 1 : limit;
}

function addTerms(text: string, purpose: Purpose, keepsCapitals: boolean, terms: string[]): void {
  const plain = NON_ASCII.test(text) ? toPlainText(text) : text;
  if (!NON_ASCII.test(plain)) {
    addTokens(plain.match(ASCII_TOKEN), purpose, keepsCapitals, terms);
    return;
  }
  const pieces = plain.split(UNSPACED_RUN);
  for (let at = 0; at < pieces.length; at++) {
    const piece = pieces[at] ?? "";
    if (at % 2 === 1) addUnspacedRun(piece, purpose, terms);
    else if (piece !== "") addTokens(piece.match(TOKEN), purpose, keepsCapitals, terms);
  }
}

/** Compatibility forms resolved, typographic signs made ASCII, what cannot be seen removed; case is kept. */
function toPlainText(text: string): string {
  const typed = text
    .replace(APOSTROPHE, "'")
    .replace(DASH_AS_HYPHEN, "-")
    .replace(PLAIN_PUNCTUATION, " ")
    .replace(INVISIBLE, "");
  if (!NON_ASCII.test(typed)) return typed;
  return typed
    .replace(MARK_OVERFLOW, "$1")
    .normalize("NFKC")
    .replace(APOSTROPHE, "'")
    .replace(JOINER_IN_WORD, "$1")
    .replace(THAI_AM, "\u0E33")
    .replace(LAO_AM, "\u0EB3");
}

function addTokens(tokens: readonly string[] | null, purpose: Purpose, keepsCapitals: boolean, terms: string[]): void {
  if (tokens === null) return;
  const memo = memos[purpose];
  for (const token of tokens) {
    if (keepsCapitals && isCapitalisedStopWord(token)) {
      terms.push(token.toLowerCase());
      continue;
    }
    let found = memo.get(token);
    if (found === undefined) {
      found = termsOfToken(token, purpose);
      if (token.length <= LONGEST_MEMOISED) {
        if (memo.size >= MEMO_ENTRIES) memo.clear();
        memo.set(copyString(token), found.map(copyString));
      }
    }
    for (const term of found) terms.push(term);
  }
}

/** "US", "IT", "WHO", but not "I" or "A". */
function isCapitalisedStopWord(token: string): boolean {
  return token.length > 1 && token === token.toUpperCase() && STOP_WORDS.has(token.toLowerCase());
}

/** A string that does not keep the whole text alive it was cut from. */
function copyString(part: string): string {
  return Buffer.from(part, "utf16le").toString("utf16le");
}

/** All terms of a token as the scanner cuts it: the whole first, then its parts from left to right. */
function termsOfToken(token: string, purpose: Purpose): string[] {
  const terms: string[] = [];
  if (NOT_A_WORD.test(token)) return [cutTerm(token)];
  if (token.includes(",")) {
    addSegment(token.replaceAll(",", ""), purpose, terms);
    for (const group of token.split(".", 1).join("").split(",")) addWord(group, purpose, terms);
    return terms;
  }
  if (token.endsWith("#") || token.endsWith("+")) {
    terms.push(cutTerm(foldWord(token.slice(-LONGEST_TERM).replace(/^.*[^\p{L}\p{M}\p{N}+#]/u, ""))));
  }
  const bare = token.replace(/[+#]+$/, "");
  const segments = bare.split(HARD_CONNECTORS);
  if (segments.length > 1) addWord(joinParts(bare), purpose, terms);
  for (const segment of segments) addSegment(segment, purpose, terms);
  return terms;
}

/** `segment` is what stands between slashes, colons and at signs. */
function addSegment(segment: string, purpose: Purpose, terms: string[]): void {
  const words = segment.split(SOFT_CONNECTORS);
  if (words.length > 1) addWord(joinParts(segment), purpose, terms);
  for (const word of words) addCompoundWord(word, purpose, terms);
}

/** A word without connectors, with its parts by apostrophe, case and digits. */
function addCompoundWord(word: string, purpose: Purpose, terms: string[]): void {
  const owner = word.replace(POSSESSIVE, "");
  const bare = owner.replaceAll("'", "");
  addWord(bare, purpose, terms);
  const elision = owner.includes("'") ? ELISION.exec(owner) : null;
  if (elision !== null) addWord(owner.slice(elision[0].length).replaceAll("'", ""), purpose, terms);
  const suffixed = SUFFIXED.exec(owner);
  if (elision === null && suffixed !== null) addWord(suffixed[1] ?? "", purpose, terms);
  const mixed = WORD_THEN_NUMBER.exec(bare) ?? NUMBER_THEN_WORD.exec(bare);
  const halves = mixed === null ? [bare] : [mixed[1] ?? "", mixed[2] ?? ""];
  for (const half of halves) {
    if (mixed !== null) addWord(half, purpose, terms);
    const humps = half.length > 2 ? half.split(CASE_BORDER) : [];
    if (humps.length < 2) continue;
    for (const hump of humps) if (hump.length > 1) addWord(hump, purpose, terms);
  }
}

/**
 * A compound as one word, so that `getUserName`, `get_user_name` and `get-user-name` are one term. A sign
 * between two digits stays: 1.5 is not 15, and 2023-05-07 is a date.
 */
function joinParts(compound: string): string {
  return compound
    .slice(0, LONGEST_JOINED)
    .replace(POSSESSIVE, "")
    .replaceAll("'", "")
    .replace(CONNECTORS, (sign, at: number, whole: string) =>
      isDigit(whole.charCodeAt(at - 1)) && isDigit(whole.charCodeAt(at + sign.length)) ? sign.charAt(0) : "",
    );
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function addWord(word: string, purpose: Purpose, terms: string[]): void {
  const folded = foldWord(word.length > LONGEST_JOINED ? word.slice(0, LONGEST_JOINED) : word);
  if (folded === "") return;
  const isStopWord = STOP_WORDS.has(folded);
  if (isStopWord && purpose === "query without stop words") return;
  terms.push(isStopWord ? folded : cutTerm(stemWord(folded)));
}

/** Case, accents and spelling variants removed, so that equal words are equal strings. */
function foldWord(word: string): string {
  const lower = word.toLowerCase();
  if (!NON_ASCII.test(lower)) return lower;
  return lower
    .normalize("NFD")
    .replace(LATIN_OR_GREEK_MARKS, "$1")
    .normalize("NFC")
    .replace(CYRILLIC_STRESS, "$1")
    .replace(OPTIONAL_MARKS, "")
    .replace(FOLDED_LETTER, (letter) => LETTER_FOLDS[letter] ?? letter);
}

/** Only words of plain letters are stemmed, by the script's most common language; others stay as they are. */
function stemWord(folded: string): string {
  if (folded.length > LONGEST_STEMMED) return folded;
  if (ONLY_A_TO_Z.test(folded)) return STEMS.get(folded) ?? stemEnglish(folded);
  if (ONLY_RUSSIAN.test(folded)) return stemRussian(folded);
  return folded;
}

/** Cuts at `LONGEST_TERM`, never inside a surrogate pair. */
function cutTerm(term: string): string {
  if (term.length <= LONGEST_TERM) return term;
  const last = term.charCodeAt(LONGEST_TERM - 1);
  return term.slice(0, last >= 0xd800 && last <= 0xdbff ? LONGEST_TERM - 1 : LONGEST_TERM);
}

/**
 * Pairs of neighbouring characters (a character with its marks), words of three and more by dictionary, and
 * single characters where they can be words: in an index every Han character and the first syllable of a
 * Korean word, in a question those that the dictionary calls words.
 */
function addUnspacedRun(run: string, purpose: Purpose, terms: string[]): void {
  const folded = foldWord(run.replaceAll("\u200D", ""));
  const clusters = folded.match(CLUSTER) ?? [];
  const first = clusters[0];
  if (first === undefined) return;
  if (clusters.length === 1) {
    terms.push(cutTerm(first));
    return;
  }
  let previous = "";
  for (const cluster of clusters) {
    if (purpose === "index" && (HAN.test(cluster) || (HANGUL.test(cluster) && !HANGUL.test(previous)))) {
      terms.push(cutTerm(cluster));
    }
    if (previous !== "") terms.push(cutTerm(previous + cluster));
    previous = cluster;
  }
  for (const word of segmentRun(folded)) {
    const length = word.match(CLUSTER)?.length ?? 0;
    if (length > 2 || (length === 1 && purpose !== "index" && HAN.test(word))) terms.push(cutTerm(word));
  }
}

function segmentRun(run: string): string[] {
  if (HANGUL_ONLY.test(run)) return [run];
  wordSegmenter ??= new Intl.Segmenter("und", { granularity: "word" });
  const words: string[] = [];
  let from = 0;
  while (from < run.length) {
    let to = Math.min(run.length, from + LONGEST_SEGMENTED);
    const last = run.charCodeAt(to - 1);
    if (to < run.length && last >= 0xd800 && last <= 0xdbff) to++;
    for (const { segment } of wordSegmenter.segment(run.slice(from, to))) words.push(segment);
    from = to;
  }
  return words;
}
