/**
 * LoCoMo: conversations of dated sessions of turns, and questions that name the turns with their answer.
 * A turn is its text and the caption of its picture; each session is a source of its own.
 */
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { isBlank } from "../../src/text/normalise.ts";
import type { Corpus, EvalDocument, EvalQuestion } from "./corpus.ts";
import { latestOf, parseSpokenTime } from "./dates.ts";
import { asList, asObject, asText, textOrNull } from "./fields.ts";

const CATEGORIES: Readonly<Record<number, string>> = {
  1: "multi-hop",
  2: "temporal",
  3: "open-domain",
  4: "single-hop",
  5: "adversarial",
};

const SESSION = /^session_(\d+)$/;
/** Some evidence fields hold several ids in one string. */
const TURN_ID = /D\d+:\d+/g;

/** The conversations of one file. @throws DormouseError `format`. */
export function parseLocomo(file: unknown): Corpus[] {
  return asList(file, "LoCoMo file").map((entry, index) => parseConversation(asObject(entry, "conversation"), index));
}

function parseConversation(entry: Readonly<Record<string, unknown>>, index: number): Corpus {
  const name = textOrNull(entry.sample_id) ?? `conversation-${index + 1}`;
  const documents = parseSessions(asObject(entry.conversation, "conversation"), name);
  const keys = new Set(documents.map(({ key }) => key));
  const end = latestOf(documents.map(({ referent }) => referent));
  const now = end === null ? null : end + MS_PER_DAY;
  const all = asList(entry.qa, "qa");
  const questions = all.flatMap((value) => parseQuestion(asObject(value, "question"), keys, now));
  return { name, documents, questions, skipped: all.length - questions.length };
}

function parseSessions(conversation: Readonly<Record<string, unknown>>, name: string): EvalDocument[] {
  const numbers = Object.keys(conversation)
    .flatMap((field) => SESSION.exec(field)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  return numbers.flatMap((number) => {
    const referent = parseSpokenTime(textOrNull(conversation[`session_${number}_date_time`]) ?? "");
    const source = { type: "session" as const, key: `locomo/${name}/${number}`, name: `${name} session ${number}` };
    return asList(conversation[`session_${number}`], `session_${number}`).flatMap((value) => {
      const turn = asObject(value, "turn");
      const text = [asText(turn.text, "text"), textOrNull(turn.blip_caption) ?? ""].join(" ").trim();
      if (isBlank(text)) return [];
      return [{ key: asText(turn.dia_id, "dia_id"), speaker: asText(turn.speaker, "speaker"), text, source, referent }];
    });
  });
}

function parseQuestion(
  question: Readonly<Record<string, unknown>>,
  keys: ReadonlySet<string>,
  now: number | null,
): EvalQuestion[] {
  const evidence = asList(question.evidence ?? [], "evidence").flatMap(
    (value) => textOrNull(value)?.match(TURN_ID) ?? [],
  );
  const gold = new Map(evidence.filter((key) => keys.has(key)).map((key) => [key, 1]));
  if (gold.size === 0) return [];
  const number = Number(question.category);
  return [
    { text: asText(question.question, "question"), category: CATEGORIES[number] ?? `category ${number}`, gold, now },
  ];
}
