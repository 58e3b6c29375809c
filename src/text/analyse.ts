/**
 * Turns text into search terms: segments, folds and stems, so that what is stored and what is asked meet.
 * Also owns how terms are written into and asked of FTS5, so that no text can break a query. Pure and linear
 * in the text; knows nothing of ranking, and no term ever holds white space.
 */
import { type Evidence, evidenceOf, isFunctionWord, type Language, LanguageVote } from "./detect-language.ts";
import { foldWord } from "./fold.ts";
import { stemByLanguage, stemByScript } from "./stem.ts";

/** Version of the stemming package; a test compares it with what is installed. */
const STEMMER_VERSION = "3.1.18";

/**
 * Changes whenever the same text could give other terms: our own rules, Node's ICU, the stemmer. A stored
 * index with another version has to be rebuilt.
 */
export const ANALYSER_VERSION = `2+icu${process.versions.icu ?? "none"}+stem${STEMMER_VERSION}`;

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

const ESCAPE = "\u001B";
/**
 * Colours and the like, as terminals are told (ECMA-48, control sequences): "ESC[31mred" is the word red. Signs between
 * the bracket and the letter count only after a digit, or "ESC[ red" would lose its r.
 */
const TERMINAL_CODE = new RegExp(`${ESCAPE}\\[(?:[<-?]?[0-9][0-9;:]*[ -/]?)?[@-~]`, "g");

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

/** A part of a token: a word, still to be folded and stemmed, or what is a term as it stands. */
interface Part {
  readonly text: string;
  readonly isWord: boolean;
}

/** What is remembered of a token: its terms under the rules of its script, and what it says of the language. */
interface KnownToken {
  readonly token: string;
  readonly terms: readonly string[];
  readonly evidence: Evidence | null;
}

const knownTokens = new Map<string, KnownToken>();
const termsByLanguage = new Map<Language, Map<string, readonly string[]>>();

/** The terms of one word of a question, any of which is a match: its stem by the script and by each language. */
export type QueryWord = readonly string[];

/**
 * The terms of a text to be indexed, in order, repeats kept. A compound (`getUserName`, `node_modules`,
 * `2023-05-07`, a path, an address) gives itself and its parts. Where the words of a text show its language,
 * that language's stems are taken, under its name, and `languageTerm` stands at the end; else the script's
 * most common language's. At most 64 code units each; never empty, never with white space or NUL. Any string
 * is accepted, lone surrogates separate words.
 */
export function analyse(text: string): string[] {
  const terms: string[] = [];
  forEachSection(text, (section) => indexSection(section, terms));
  return terms;
}

/**
 * The distinct words of a question, in order of first appearance, no term twice. English stop words, and those
 * of the question's language when it is one of `languages`, are left out unless nothing else is left; one
 * written in capitals between other words ("US", "IT") is a name and stays. Nobody can tell the language of two
 * words, so every word is asked for in all of `languages`.
 * @param languages those that texts of the index are in
 */
export function analyseQuery(text: string, languages: readonly Language[] = []): QueryWord[] {
  const telling = collectWords(text, languages, true);
  return telling.length > 0 ? telling : collectWords(text, languages, false);
}

/** The term under which every text of a language is indexed; no word is written so. */
export function languageTerm(language: Language): string {
  return `:${language}`;
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

function forEachSection(text: string, visit: (section: string) => void): void {
  for (let from = 0; from < text.length; ) {
    const to = text.length - from <= LONGEST_MATCHED ? text.length : findGap(text, from, from + LONGEST_MATCHED);
    visit(text.slice(from, to));
    from = to;
  }
}

/** The last space before `limit`; in a text without any, a place that tears no surrogate pair. */
function findGap(text: string, from: number, limit: number): number {
  const space = text.lastIndexOf(" ", limit);
  if (space > from) return space;
  const next = text.charCodeAt(limit);
  return next >= 0xdc00 && next <= 0xdfff ? limit - 1 : limit;
}

/** Tokens of spaced scripts, or one run of a script without spaces. */
type Piece = readonly string[] | string;

function splitSection(section: string): Piece[] {
  const visible = section.includes(ESCAPE) ? section.replace(TERMINAL_CODE, "") : section;
  const plain = NON_ASCII.test(visible) ? toPlainText(visible) : visible;
  if (!NON_ASCII.test(plain)) return [plain.match(ASCII_TOKEN) ?? []];
  return plain.split(UNSPACED_RUN).map((piece, at): Piece => (at % 2 === 1 ? piece : (piece.match(TOKEN) ?? [])));
}

/** A section whose tokens are known; runs without spaces stay as they are. */
type KnownPiece = readonly KnownToken[] | string;

function knowPiece(piece: Piece): KnownPiece {
  return typeof piece === "string" ? piece : piece.map(knowToken);
}

function detectLanguage(pieces: readonly KnownPiece[]): Language | null {
  const vote = new LanguageVote();
  for (const piece of pieces) {
    if (typeof piece === "string") continue;
    for (const { evidence } of piece) if (evidence !== null) vote.add(evidence);
  }
  return vote.winner();
}

function indexSection(section: string, terms: string[]): void {
  const pieces = splitSection(section).map(knowPiece);
  const language = detectLanguage(pieces);
  for (const piece of pieces) {
    if (typeof piece === "string") {
      addRun(piece, "index", terms);
      continue;
    }
    for (const known of piece) {
      for (const term of language === null ? known.terms : termsInLanguage(known.token, language)) terms.push(term);
    }
  }
  if (language !== null) terms.push(languageTerm(language));
}

function collectWords(text: string, languages: readonly Language[], dropsStopWords: boolean): QueryWord[] {
  const words: string[][] = [];
  /** The word that each term stands in. */
  const placeOf = new Map<string, number>();
  const add = (byScript: readonly string[], byLanguage: readonly string[] = []) => {
    const fresh = [...new Set([...byScript, ...byLanguage])].filter((term) => !placeOf.has(term));
    if (fresh.length === 0) return;
    // A form whose stem by script is asked already is that word again: by itself it could be in no text.
    const isKnown = byScript.every((term) => placeOf.has(term));
    const place = isKnown ? (placeOf.get(byScript[0] ?? "") ?? words.length) : words.length;
    for (const term of fresh) placeOf.set(term, place);
    if (place === words.length) words.push(fresh);
    else words[place]?.push(...fresh);
  };
  const keepsCapitals = dropsStopWords && LOWER_CASE.test(text);
  const tokens = new Set<string>();
  forEachSection(text, (section) => {
    const pieces = splitSection(section);
    const likely = languages.length === 0 ? null : detectLanguage(pieces.map(knowPiece));
    const detected = likely !== null && languages.includes(likely) ? likely : null;
    const isDropped = (word: string) =>
      dropsStopWords && (STOP_WORDS.has(foldWord(word)) || (detected !== null && isFunctionWord(word, detected)));
    for (const piece of pieces) {
      if (typeof piece === "string") {
        const terms: string[] = [];
        addRun(piece, "query", terms);
        for (const term of terms) add([term]);
        continue;
      }
      for (const token of piece) {
        if (tokens.has(token)) continue;
        tokens.add(token);
        const isName = keepsCapitals && isCapitalisedStopWord(token);
        for (const { text: part, isWord } of partsOfToken(token)) {
          if (!isWord) add([part]);
          else if (isName || !isDropped(part.toLowerCase())) {
            add(
              termsOfWord(part, null),
              languages.flatMap((language) => termsOfWord(part, language)),
            );
          }
        }
      }
    }
  });
  return words;
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

/** Terms by script and evidence of a token, remembered where it is short enough to come again. */
function knowToken(token: string): KnownToken {
  const known = knownTokens.get(token);
  if (known !== undefined) return known;
  const terms = partsOfToken(token).flatMap((part) => (part.isWord ? termsOfWord(part.text, null) : [part.text]));
  if (token.length > LONGEST_MEMOISED) return { token, terms, evidence: null };
  const key = copyString(token);
  const fresh = { token: key, terms: terms.map(copyString), evidence: evidenceOf(token) };
  remember(knownTokens, key, fresh);
  return fresh;
}

function termsInLanguage(token: string, language: Language): readonly string[] {
  let memo = termsByLanguage.get(language);
  if (memo === undefined) {
    memo = new Map();
    termsByLanguage.set(language, memo);
  }
  const known = memo.get(token);
  if (known !== undefined) return known;
  const terms = partsOfToken(token).flatMap((part) => (part.isWord ? termsOfWord(part.text, language) : [part.text]));
  if (token.length <= LONGEST_MEMOISED) remember(memo, copyString(token), terms.map(copyString));
  return terms;
}

function remember<Value>(memo: Map<string, Value>, token: string, value: Value): void {
  if (memo.size >= MEMO_ENTRIES) memo.clear();
  memo.set(token, value);
}

/** "US", "IT", "WHO", but not "I" or "A". */
function isCapitalisedStopWord(token: string): boolean {
  return token.length > 1 && token === token.toUpperCase() && STOP_WORDS.has(token.toLowerCase());
}

/** A string that does not keep the whole text alive it was cut from. */
function copyString(part: string): string {
  return Buffer.from(part, "utf16le").toString("utf16le");
}

/** All parts of a token as the scanner cuts it: the whole first, then its parts from left to right. */
function partsOfToken(token: string): Part[] {
  if (NOT_A_WORD.test(token)) return [{ text: cutTerm(token), isWord: false }];
  const parts: Part[] = [];
  if (token.includes(",")) {
    addSegment(token.replaceAll(",", ""), parts);
    for (const group of token.split(".", 1).join("").split(",")) addWord(group, parts);
    return parts;
  }
  if (token.endsWith("#") || token.endsWith("+")) {
    const named = foldWord(token.slice(-LONGEST_TERM).replace(/^.*[^\p{L}\p{M}\p{N}+#]/u, ""));
    parts.push({ text: cutTerm(named), isWord: false });
  }
  const bare = token.replace(/[+#]+$/, "");
  const segments = bare.split(HARD_CONNECTORS);
  if (segments.length > 1) addWord(joinParts(bare), parts);
  for (const segment of segments) addSegment(segment, parts);
  return parts;
}

/** `segment` is what stands between slashes, colons and at signs. */
function addSegment(segment: string, parts: Part[]): void {
  const words = segment.split(SOFT_CONNECTORS);
  if (words.length > 1) addWord(joinParts(segment), parts);
  for (const word of words) addCompoundWord(word, parts);
}

/** A word without connectors, with its parts by apostrophe, case and digits. */
function addCompoundWord(word: string, parts: Part[]): void {
  const owner = word.replace(POSSESSIVE, "");
  const bare = owner.replaceAll("'", "");
  addWord(bare, parts);
  const elision = owner.includes("'") ? ELISION.exec(owner) : null;
  if (elision !== null) addWord(owner.slice(elision[0].length).replaceAll("'", ""), parts);
  const suffixed = SUFFIXED.exec(owner);
  if (elision === null && suffixed !== null) addWord(suffixed[1] ?? "", parts);
  const mixed = WORD_THEN_NUMBER.exec(bare) ?? NUMBER_THEN_WORD.exec(bare);
  const halves = mixed === null ? [bare] : [mixed[1] ?? "", mixed[2] ?? ""];
  for (const half of halves) {
    if (mixed !== null) addWord(half, parts);
    const humps = half.length > 2 ? half.split(CASE_BORDER) : [];
    if (humps.length < 2) continue;
    for (const hump of humps) if (hump.length > 1) addWord(hump, parts);
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

function addWord(word: string, parts: Part[]): void {
  if (word !== "")
    parts.push({ text: word.length > LONGEST_JOINED ? word.slice(0, LONGEST_JOINED) : word, isWord: true });
}

/** The terms of a word in a text of that language; of none, by its script. None for a word of signs that fold away. */
function termsOfWord(word: string, language: Language | null): readonly string[] {
  if (language !== null) {
    const own = stemByLanguage(word.toLowerCase(), language);
    if (own !== null) return own;
  }
  const folded = foldWord(word);
  if (folded === "") return [];
  return STOP_WORDS.has(folded) ? [folded] : stemByScript(folded).map(cutTerm);
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
function addRun(run: string, purpose: "index" | "query", terms: string[]): void {
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
    if (length > 2 || (length === 1 && purpose === "query" && HAN.test(word))) terms.push(cutTerm(word));
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
