/** The question by which a person sees whether the configured language model answers, and in the form that is asked. */
import * as z from "zod";
import type { MeteredModel } from "../llm/budget.ts";
import { type Answer, askForValue } from "../llm/parse-reply.ts";

/** Tokens of the answer, reasoning included. */
const MAX_TOKENS = 2_000;

const testAnswer = z.strictObject({ animal: z.string().min(1).max(100) });

/** @throws DormouseError as `askForValue` */
export function askTestQuestion(model: MeteredModel): Promise<Answer<z.infer<typeof testAnswer>>> {
  return askForValue(model, {
    system: "You answer a question to show that you can be reached.",
    prompt: "Which small animal that sleeps through the winter sits in the teapot at the Mad Hatter's tea party?",
    maxTokens: MAX_TOKENS,
    answer: testAnswer,
  });
}
