/**
 * When what happens in simulated years: sessions of conversations arrive day by day, each conversation over a stretch
 * of its own; questions are asked days to months after the last of their evidence; notes that nothing else in the
 * brain is about, and notes written twice, come in between. Pure: the same corpora, years and seed give the same days.
 */
import type { RememberInput } from "../../src/core/types.ts";
import { createRandom } from "../bench/texts.ts";
import { type Corpus, type EvalDocument, type EvalQuestion, toInputs } from "../eval/corpus.ts";

/** Days from one session of a conversation to the next. */
const SESSION_GAP_DAYS = { least: 1, most: 12 };
/** Share of the years in which conversations begin. */
const BEGINNING_SHARE = 0.6;
/** Days from the last of its evidence to a question; spread evenly over their logarithm. */
const ASK_DELAY_DAYS = { least: 3, most: 300 };
/** Questions that come up again and again, and about how many days apart. */
const FAVOURITES = 12;
const FAVOURITE_EVERY_DAYS = 14;
/** One isolated note a day, one note written twice in so many. */
const COPY_EVERY_DAYS = 3;
/** A note that shall be met again as the same has so many words at least. */
const COPY_MIN_WORDS = 8;
/** Signs of code or tables, in which a capital or a mark more is another text. */
const CODE_SIGN = /[{}=<>`\\|/]|::/;

export type ArrivalKind = "said" | "isolated" | "copy";

/** Something to remember; `key` names it over all corpora. */
export interface Arrival {
  readonly key: string;
  readonly kind: ArrivalKind;
  readonly input: RememberInput;
}

export interface Asking {
  readonly question: EvalQuestion;
  /** Keys of what answers it, as arrivals name them. */
  readonly gold: ReadonlyMap<string, number>;
  /** False for another time that the same question is asked. */
  readonly isFirst: boolean;
  /** False: nobody asks it in fact, but what answers it is wanted all the same. */
  readonly isAsked: boolean;
}

export interface Day {
  readonly arrivals: readonly Arrival[];
  readonly askings: readonly Asking[];
}

export interface ScheduleOptions {
  readonly days: number;
  readonly seed: number;
  /** Share of the questions that are asked. */
  readonly askedShare: number;
}

/** @param isolated texts that nothing else is about, one a day as long as there are any */
export function planDays(corpora: readonly Corpus[], isolated: readonly string[], options: ScheduleOptions): Day[] {
  const random = createRandom(options.seed);
  const arrivals: Arrival[][] = Array.from({ length: options.days }, () => []);
  const askings: Asking[][] = Array.from({ length: options.days }, () => []);
  const askable: { asking: Asking; day: number }[] = [];
  for (const corpus of corpora) {
    const dayByKey = placeSessions(corpus, arrivals, random, options.days);
    for (const question of corpus.questions) {
      const evidenceDay = Math.max(...[...question.gold.keys()].map((key) => dayByKey.get(key) ?? 0));
      const day = askingDay(evidenceDay, options.days, random);
      const gold = new Map([...question.gold].map(([key, gain]) => [nameIn(corpus, key), gain]));
      const asking = { question, gold, isFirst: true, isAsked: random() < options.askedShare };
      askings[day]?.push(asking);
      if (asking.isAsked) askable.push({ asking, day });
    }
  }
  askAgain(askable, askings, random, options.days);
  addCopies(arrivals, random);
  for (const [day, text] of isolated.slice(0, options.days).entries()) arrivals[day]?.push(isolatedNote(text, day));
  return arrivals.map((list, day) => ({ arrivals: list, askings: askings[day] ?? [] }));
}

function nameIn(corpus: Corpus, key: string): string {
  return `${corpus.name} ${key}`;
}

function placeSessions(corpus: Corpus, arrivals: Arrival[][], random: () => number, days: number): Map<string, number> {
  const dayByKey = new Map<string, number>();
  const sessions = new Map<string, EvalDocument[]>();
  for (const document of corpus.documents) {
    const { key } = document.source;
    sessions.set(key, [...(sessions.get(key) ?? []), document]);
  }
  const lastDay = days - ASK_DELAY_DAYS.least - 2;
  let day = Math.floor(random() * days * BEGINNING_SHARE);
  for (const documents of sessions.values()) {
    for (const document of documents) {
      dayByKey.set(document.key, day);
      for (const input of toInputs(corpus.name, document)) {
        arrivals[day]?.push({ key: nameIn(corpus, document.key), kind: "said", input });
      }
    }
    const { least, most } = SESSION_GAP_DAYS;
    day = Math.min(lastDay, day + least + Math.floor(random() * (most - least + 1)));
  }
  return dayByKey;
}

function askingDay(evidenceDay: number, days: number, random: () => number): number {
  const { least, most } = ASK_DELAY_DAYS;
  const latest = Math.max(least, Math.min(most, days - 1 - evidenceDay));
  return Math.min(days - 1, evidenceDay + Math.round(least * (latest / least) ** random()));
}

function askAgain(
  askable: readonly { asking: Asking; day: number }[],
  askings: Asking[][],
  random: () => number,
  days: number,
): void {
  for (let count = 0; count < FAVOURITES; count++) {
    const chosen = askable[Math.floor(random() * askable.length)];
    if (chosen === undefined) return;
    const gap = () => 1 + Math.floor(random() * 2 * FAVOURITE_EVERY_DAYS);
    for (let day = chosen.day + gap(); day < days; day += gap()) {
      askings[day]?.push({ ...chosen.asking, isFirst: false });
    }
  }
}

/** The same words once more in another place, set off by capitals and a mark. */
function addCopies(arrivals: Arrival[][], random: () => number): void {
  const known: Arrival[] = [];
  const copied = new Set<string>();
  for (const [day, list] of arrivals.entries()) {
    const first = known[Math.floor(random() * known.length)];
    known.push(...list.filter(({ input }) => isProse(input.content)));
    if (day % COPY_EVERY_DAYS > 0 || first === undefined || copied.has(first.key)) continue;
    copied.add(first.key);
    const { content, speaker } = first.input;
    list.push({
      key: `copy ${first.key}`,
      kind: "copy",
      input: {
        content: `${content.charAt(0).toUpperCase()}${content.slice(1)} !`,
        ...(speaker === undefined ? {} : { speaker }),
        occurrence: {
          source: { type: "session", key: `copies/${day}`, name: `copies of day ${day}`, trust: "trusted" },
          recordKey: `copy ${day}`,
        },
      },
    });
  }
}

function isProse(text: string): boolean {
  return text.split(/\s+/).length >= COPY_MIN_WORDS && !CODE_SIGN.test(text);
}

function isolatedNote(text: string, day: number): Arrival {
  return {
    key: `isolated ${day}`,
    kind: "isolated",
    input: {
      content: text,
      occurrence: {
        source: { type: "file", key: `scraps/${day}`, name: `scrap of day ${day}`, trust: "trusted" },
        recordKey: `isolated ${day}`,
      },
    },
  };
}
