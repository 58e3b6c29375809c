/**
 * LongMemEval evidence: the turns that hold the answers of all questions, pooled into one brain; a question
 * is to find its own. Not the standard haystack: scores do not compare with published ones.
 */
import { isBlank } from "../../src/text/normalise.ts";
import type { Corpus, EvalDocument, EvalQuestion } from "./corpus.ts";
import { latestOf, parseSlashedTime } from "./dates.ts";
import { asList, asObject, asText, textOrNull } from "./fields.ts";

const SPEAKERS: Readonly<Record<string, string>> = { user: "User", assistant: "Assistant" };

/** All questions of the file over the pool of all their turns. @throws DormouseError `format`. */
export function parseLongMemEval(file: unknown): Corpus {
  const entries = asList(file, "LongMemEval file").map((value) => {
    const entry = asObject(value, "question");
    return { entry, documents: parseEvidence(entry) };
  });
  const questions = entries.flatMap(({ entry, documents }): EvalQuestion[] => {
    if (documents.length === 0) return [];
    return [
      {
        text: asText(entry.question, "question"),
        category: entry.abstention === true ? "abstention" : (textOrNull(entry.question_type) ?? "untyped"),
        gold: new Map(documents.map(({ key }) => [key, 1])),
        now: latestOf([parseSlashedTime(textOrNull(entry.question_date) ?? "")]),
      },
    ];
  });
  return {
    name: "pool",
    documents: entries.flatMap(({ documents }) => documents),
    questions,
    skipped: entries.length - questions.length,
  };
}

function parseEvidence(entry: Readonly<Record<string, unknown>>): EvalDocument[] {
  const id = asText(entry.question_id, "question_id");
  return asList(entry.evidence_sessions ?? [], "evidence_sessions").flatMap((value, sessionIndex) => {
    const session = asObject(value, "session");
    const referent = parseSlashedTime(textOrNull(session.date) ?? "");
    const key = `${id}/${sessionIndex + 1}`;
    const source = { type: "session" as const, key: `longmemeval/${key}`, name: `session ${key}` };
    return asList(session.turns, "turns").flatMap((entryTurn, turnIndex): EvalDocument[] => {
      const turn = asObject(entryTurn, "turn");
      const text = asText(turn.content, "content");
      if (isBlank(text)) return [];
      const role = asText(turn.role, "role");
      return [{ key: `${key}/${turnIndex + 1}`, speaker: SPEAKERS[role] ?? role, text, source, referent }];
    });
  });
}
