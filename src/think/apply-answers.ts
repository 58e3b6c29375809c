/**
 * Takes the answers to one request through the rules of their task, one by one: each stands or falls alone, and what is
 * refused is told by its place and rule.
 */
import type { Material } from "./material.ts";
import type { Rule, Task, ThinkContext, Verdict } from "./task.ts";

export interface AppliedAnswer {
  /** Place in the answer, from 1. */
  readonly item: number;
  readonly id: string;
  readonly status: (Verdict & { accepted: true })["status"];
}

export interface RefusedAnswer {
  readonly item: number;
  readonly rule: Rule;
}

export interface Applied {
  readonly accepted: readonly AppliedAnswer[];
  readonly refused: readonly RefusedAnswer[];
}

/** @param answers of any shape; what is not of the task's is refused as `shape` */
export async function applyAnswers(
  task: Task,
  context: ThinkContext,
  material: Material,
  answers: readonly unknown[],
): Promise<Applied> {
  const accepted: AppliedAnswer[] = [];
  const refused: RefusedAnswer[] = [];
  for (const [index, answer] of answers.entries()) {
    const item = index + 1;
    const verdict = await judge(task, context, material, answer, index);
    if (verdict.accepted) accepted.push({ item, id: verdict.id, status: verdict.status });
    else refused.push({ item, rule: verdict.rule });
  }
  return { accepted, refused };
}

async function judge(
  task: Task,
  context: ThinkContext,
  material: Material,
  answer: unknown,
  index: number,
): Promise<Verdict> {
  if (index >= task.maxAnswers) return { accepted: false, rule: "too_many" };
  return task.take(context, material, answer);
}
