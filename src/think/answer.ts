/** The shapes that answers have in common. */
import * as z from "zod";
import type { Task } from "./task.ts";

/** Longest thought that a model may propose, in characters. */
const MAX_TEXT = 1_000;
const MAX_NUMBER = 1_000;
/** Thoughts that one leg may cite, and legs of one thought. */
const MAX_PARENTS = 12;
const MAX_LEGS = 4;

export const textSchema = z.string().min(1).max(MAX_TEXT);
export const numberSchema = z.int().min(1).max(MAX_NUMBER);
/** Numbers that all have to hold. */
export const legSchema = z.array(numberSchema).min(1).max(MAX_PARENTS);
/** Any of these legs is enough. */
export const legsSchema = z.array(legSchema).min(1).max(MAX_LEGS);

/** A task with the whole answer to one of its requests: a list of its answers. */
export function defineTask<T>(task: Omit<Task<T>, "wholeAnswer">): Task<T> {
  return { ...task, wholeAnswer: z.strictObject({ answers: z.array(task.schema).max(task.maxAnswers) }) };
}
