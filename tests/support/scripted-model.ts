/**
 * A language model inside the process that answers by a function of what it is shown, for tests of what is made of
 * answers. It keeps its requests; the real protocol is fake-llm.ts's matter.
 */
import type { CompletionRequest, LanguageModel } from "../../src/core/ports.ts";
import { DEFAULT_LLM_BUDGET, type LlmBudget, meterModel } from "../../src/llm/budget.ts";
import type { Thinker } from "../../src/sleep/cycle.ts";

/** One line of material, as the model read it. */
export interface ShownItem {
  readonly n: number;
  readonly [field: string]: string | number;
}

export interface ScriptedRequest {
  readonly request: CompletionRequest;
  readonly task: "distil" | "think" | "tension" | "dream" | "date";
  readonly items: readonly ShownItem[];
}

export interface ScriptedModel extends LanguageModel {
  readonly requests: ScriptedRequest[];
  /** Requests of one task so far. */
  of(task: ScriptedRequest["task"]): ScriptedRequest[];
}

/** @param answer the list of answers, or a whole reply as text; an error is thrown to the caller */
export function createScriptedModel(
  answer: (asked: ScriptedRequest) => readonly unknown[] | string | Error,
  name = "scripted",
): ScriptedModel {
  const requests: ScriptedRequest[] = [];
  return {
    name,
    requests,
    of: (task) => requests.filter((asked) => asked.task === task),
    complete: async (request) => {
      const asked = { request, task: taskOf(request.system), items: readItems(request.prompt) };
      requests.push(asked);
      const reply = answer(asked);
      if (reply instanceof Error) throw reply;
      return {
        text: typeof reply === "string" ? reply : JSON.stringify({ answers: reply }),
        promptTokens: 100,
        completionTokens: 10,
      };
    },
  };
}

/** The model as a night is given it. */
export function thinkerOf(model: LanguageModel, budget: LlmBudget = DEFAULT_LLM_BUDGET): () => Promise<Thinker> {
  return async () => ({ model: meterModel(model, budget, { now: () => 0 }), budget });
}

const SIGNS = {
  distil: "Distil from it",
  think: "Think:",
  tension: '"a" and "b"',
  dream: "Dream:",
  date: "that has no date",
} as const;

function taskOf(system: string): ScriptedRequest["task"] {
  for (const [task, sign] of Object.entries(SIGNS)) {
    if (system.includes(sign)) return task as ScriptedRequest["task"];
  }
  throw new Error("no task has this system text");
}

/** Lines between the marks of the material, whose random word must be the same at both ends. */
function readItems(prompt: string): ShownItem[] {
  const match = /^<dormouse:material ([0-9a-f]{16})>\n([\s\S]*?)\n<\/dormouse:material \1>\n/.exec(prompt);
  if (match === null) throw new Error("the prompt has no material");
  return (match[2] ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ShownItem);
}

/** The number under which a text was shown. */
export function numberOf(items: readonly ShownItem[], part: string): number {
  const found = items.find((item) => Object.values(item).some((value) => String(value).includes(part)));
  if (found === undefined) throw new Error(`nothing shown says ${part}`);
  return found.n;
}
