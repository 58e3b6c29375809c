/**
 * What the adapters share about replies: how long one may be, how its bytes become text, and the reasoning that some
 * models put before their answer. Refuses what is no text.
 */
import { DormouseError } from "../core/errors.ts";

/** Bytes of a whole reply, reasoning and protocol included, at most. */
export const MAX_REPLY_BYTES = 2 * 1024 * 1024;
/** Models that think aloud do so in this block, before the answer. */
const REASONING = /^\s*<think>[\s\S]*?<\/think>/;

/**
 * Bytes as text.
 * @throws DormouseError `llm_bad_reply` for what is not UTF-8
 */
export function decodeReply(chunks: readonly Uint8Array[]): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw badReply("the reply is not UTF-8 text");
  }
}

/**
 * The answer of a model's text, without the reasoning before it.
 * @throws DormouseError `llm_bad_reply` when nothing is left
 */
export function answerOf(text: string): string {
  const answer = text.replace(REASONING, "").trim();
  if (answer === "") throw badReply("the reply is empty");
  return answer;
}

/** The failure of a reply that cannot be taken; the rule is told in our words. */
export function badReply(rule: string): DormouseError {
  return new DormouseError("llm_bad_reply", rule);
}

/** The failure of a reply that is longer than anything we asked for. */
export function tooLongReply(): DormouseError {
  return badReply(`the reply is longer than ${MAX_REPLY_BYTES / 1024 / 1024} MiB`);
}
