/**
 * From a model's words to a checked value: one JSON value, alone or in one fenced block, that fits the schema. What
 * does not fit is refused and counted, asked for once more with the rule it broke, and then given up. Rules are told
 * in our words and the schema's, never in the reply's.
 */
import type { ZodType } from "zod";
import { DormouseError } from "../core/errors.ts";
import type { CompletionRequest } from "../core/ports.ts";
import type { MeteredModel } from "./budget.ts";

/** Broken rules that are told, at most. */
const MAX_RULES = 3;
const FENCED = /^```(?:json|JSON)?[ \t]*\r?\n([\s\S]*?)\r?\n?```$/;

/** A value that fits, or the rule that the reply broke: in English, without a word of the reply. */
export type ParsedReply<T> = { readonly value: T } | { readonly rule: string };

/** What to ask; the schema is added to the system text and given to the server. */
export interface Question<T> extends Omit<CompletionRequest, "schema"> {
  readonly answer: ZodType<T>;
}

/** An answer that fits its schema. */
export interface Answer<T> {
  readonly value: T;
  /** True when the first reply was refused and the second fits. */
  readonly repaired: boolean;
}

/**
 * Reads a reply strictly.
 * @param reply a JSON value, or one fenced block with nothing around it
 */
export function parseReply<T>(reply: string, schema: ZodType<T>): ParsedReply<T> {
  const trimmed = reply.trim();
  let value: unknown;
  try {
    value = JSON.parse(FENCED.exec(trimmed)?.[1] ?? trimmed);
  } catch {
    return { rule: "the reply must be one JSON value and nothing else" };
  }
  const checked = schema.safeParse(value);
  if (checked.success) return { value: checked.data };
  const names = namesIn(schema.toJSONSchema({ io: "input" }));
  const rules = checked.error.issues.slice(0, MAX_RULES).map((issue) => {
    // The library's message would quote the names that the reply made up.
    const what =
      issue.code === "unrecognized_keys" ? "has names that the schema does not have" : lowerFirst(issue.message);
    return `${pathOf(issue.path, names)}: ${what}`;
  });
  return { rule: rules.join("; ") };
}

/**
 * Asks for a value of a schema: once, and once more when the reply does not fit.
 * @throws DormouseError `llm_bad_reply` when the second reply does not fit either; what the model's `complete` throws
 */
export async function askForValue<T>(model: MeteredModel, question: Question<T>): Promise<Answer<T>> {
  const { answer, ...request } = question;
  const { $schema: _, ...schema } = answer.toJSONSchema({ io: "input" });
  const system = `${request.system}\n\nAnswer with one JSON value and nothing else. It must fit this JSON Schema:\n${JSON.stringify(schema)}`;
  const first = await tryOnce(model, { ...request, system, schema }, answer);
  if ("value" in first) return { value: first.value, repaired: false };
  const prompt = `${request.prompt}\n\nAn earlier answer was refused: ${first.rule}. Answer again by the schema.`;
  const second = await tryOnce(model, { ...request, system, prompt, schema }, answer);
  if ("value" in second) return { value: second.value, repaired: true };
  throw new DormouseError("llm_bad_reply", `the language model's answers were refused twice: ${second.rule}`, {
    hint: "A larger model, or a server that can force a JSON Schema, keeps to the form.",
  });
}

/** One request; a reply that the adapter could not take, such as one cut off, is an invalid one like any other. */
async function tryOnce<T>(
  model: MeteredModel,
  request: CompletionRequest,
  answer: ZodType<T>,
): Promise<ParsedReply<T>> {
  let parsed: ParsedReply<T>;
  try {
    const { text } = await model.complete(request);
    parsed = parseReply(text, answer);
  } catch (error) {
    if (!(error instanceof DormouseError && error.code === "llm_bad_reply")) throw error;
    parsed = { rule: error.message };
  }
  if ("rule" in parsed) model.noteInvalid();
  return parsed;
}

/** Names of properties anywhere in a JSON Schema: the only ones that may be told of a reply. */
function namesIn(schema: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    if ("properties" in node && typeof node.properties === "object" && node.properties !== null) {
      for (const name of Object.keys(node.properties)) names.add(name);
    }
    for (const inner of Object.values(node)) visit(inner);
  };
  visit(schema);
  return names;
}

function pathOf(path: readonly PropertyKey[], names: ReadonlySet<string>): string {
  const text = path
    .map((step) => {
      if (typeof step === "number") return `[${step}]`;
      return typeof step === "string" && names.has(step) ? `.${step}` : ".*";
    })
    .join("");
  return text === "" ? "the value" : text.replace(/^\./, "");
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
