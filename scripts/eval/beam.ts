/**
 * BEAM: one long chat in batches, and probing questions of ten abilities that name message ids. A message
 * is one document whatever its length; each batch is a source; an anchor dates the messages from it on.
 */
import { MS_PER_DAY } from "../../src/core/clock.ts";
import type { ReferentTime } from "../../src/core/types.ts";
import { isBlank } from "../../src/text/normalise.ts";
import type { Corpus, EvalDocument, EvalQuestion } from "./corpus.ts";
import { latestOf, parseAnchorDay } from "./dates.ts";
import { asList, asObject, asText, textOrNull } from "./fields.ts";

const SPEAKERS: Readonly<Record<string, string>> = { user: "User", assistant: "Assistant" };

/** One chat with its probing questions. @throws DormouseError `format`. */
export function parseBeam(name: string, chat: unknown, probing: unknown): Corpus {
  const documents = parseChat(name, chat);
  const keys = new Set(documents.map(({ key }) => key));
  const end = latestOf(documents.map(({ referent }) => referent));
  const now = end === null ? null : end + MS_PER_DAY;
  const all = Object.entries(asObject(probing, "probing questions")).flatMap(([ability, list]) =>
    asList(list, ability).map((value) => ({ ability, question: asObject(value, ability) })),
  );
  const questions = all.flatMap(({ ability, question }): EvalQuestion[] => {
    const ids = flattenIds(question.source_chat_ids).filter((id) => keys.has(id));
    if (ids.length === 0) return [];
    const gold = new Map(ids.map((id) => [id, 1]));
    return [{ text: asText(question.question, "question"), category: ability.replaceAll("_", " "), gold, now }];
  });
  return { name, documents, questions, skipped: all.length - questions.length };
}

function parseChat(name: string, chat: unknown): EvalDocument[] {
  let referent: ReferentTime | null = null;
  return asList(chat, "chat").flatMap((value, index) => {
    const batch = asObject(value, "batch");
    const source = { type: "session" as const, key: `beam/${name}/${index + 1}`, name: `${name} batch ${index + 1}` };
    const messages = asList(batch.turns, "turns").flatMap((group) => asList(group, "turn"));
    return messages.flatMap((entry): EvalDocument[] => {
      const message = asObject(entry, "message");
      const anchor = textOrNull(message.time_anchor);
      if (anchor !== null) referent = parseAnchorDay(anchor) ?? referent;
      const text = asText(message.content, "content");
      if (isBlank(text)) return [];
      const role = asText(message.role, "role");
      return [{ key: String(message.id), speaker: SPEAKERS[role] ?? role, text, source, referent }];
    });
  });
}

/** Message ids in a list, in lists of lists, or in the values of an object. */
function flattenIds(value: unknown): string[] {
  if (typeof value === "number" || typeof value === "string") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(flattenIds);
}
