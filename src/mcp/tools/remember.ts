/**
 * `memory_remember`: one thought of an agent. It rests on the agent itself besides what it cites, so that recalling
 * the agent takes all it ever wrote; it never passes for the person's own word. The same call again is known already.
 */
import * as z from "zod";
import { BASES, REMEMBER_STATUSES, SOURCE_TYPES, type SourceInput, type SourceType } from "../../core/types.ts";
import { readDue, readInterval, readReferent } from "../times.ts";
import { defineTool, idSchema } from "../tool.ts";

const labelSchema = z.string().min(1).max(400);
const timeSchema = z.string().min(1).max(100).optional();
const percentSchema = z.number().int().min(0).max(100).optional();

export const rememberTool = defineTool({
  name: "memory_remember",
  title: "Remember",
  description:
    "Remember one thought for later sessions: a full sentence that can be understood by itself, with names and dates. " +
    "Give in legs the ids of memories it follows from, and in source the page, file or tool it is from: whoever " +
    "recalls those takes this thought back, too. The same call again changes nothing.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: {
    content: z.string().min(1).max(20_000).describe("The thought."),
    kind: labelSchema
      .optional()
      .describe("belief, insight, decision, commitment, observation, fact (default), or a word of your own."),
    domain: labelSchema.optional().describe("Part of life or work it belongs to."),
    tags: z.array(labelSchema).max(100).optional(),
    legs: z
      .array(z.array(idSchema).min(1).max(50))
      .max(20)
      .optional()
      .describe("Reasons; each is a list of ids that together say so, and any one reason is enough."),
    source: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe("Where it is from, as TYPE:NAME, such as page:example.org or tool:weather."),
    when: timeSchema.describe("When it happened: ISO 8601, or FROM..TO."),
    due: timeSchema.describe("When it is due: ISO 8601."),
    valid: timeSchema.describe("When it holds: FROM..TO in ISO 8601."),
    basis: z.enum(BASES).optional().describe("How it is known."),
    confidence: percentSchema,
    salience: percentSchema,
    about: z.array(labelSchema).max(100).optional().describe("Whom or what it is about."),
    supersedes: z.array(idSchema).max(100).optional().describe("Ids of thoughts that no longer hold because of it."),
  },
  output: {
    id: z.string().nullable(),
    status: z.enum(REMEMBER_STATUSES),
    risen: z.number().int().optional(),
  },
  async run(args, { brain, agent }) {
    const { content, legs, source, when, due, valid, about, ...attributes } = args;
    const from = source === undefined ? [] : [readSource(source)];
    const reasons = (legs ?? []).map((parents) => ({ parents: [...parents, ...from] }));
    const { id, status, risen } = await brain.remember({
      content,
      ...definedOf(attributes),
      ...(about === undefined ? {} : { subjects: about }),
      ...(when === undefined ? {} : { referent: readReferent("when", when) }),
      ...(due === undefined ? {} : { due: readDue("due", due) }),
      ...(valid === undefined ? {} : { valid: readInterval("valid", valid) }),
      legs: reasons.length === 0 && from.length > 0 ? [{ parents: from }] : reasons,
      occurrence: { source: agentSource(agent), recordKey: recordKey(args) },
    });
    return {
      structured: { id, status, ...(risen === undefined ? {} : { risen }) },
      text: `${status === "known" ? "known already" : status} ${id}`,
    };
  },
});

/** All that one agent writes is from one source. A model speaks in every scope. */
function agentSource(agent: string): SourceInput {
  return { type: "model", key: `agent:${agent}`, name: `agent:${agent}`, trust: "unknown" };
}

function readSource(text: string): SourceInput {
  const word = text.slice(0, Math.max(0, text.indexOf(":"))).toLowerCase();
  const types: readonly SourceType[] = SOURCE_TYPES;
  const named = types.find((type) => type === word) ?? (word === "web" ? "page" : "named");
  // Nobody but the person speaks for the person.
  const type = named === "person" || named === "model" ? "named" : named;
  return { type, key: text, name: text, trust: "unknown" };
}

/** The call's own identity, its content aside: with that content it is met once. */
function recordKey({ content: _, ...rest }: object & { readonly content: string }): string {
  const entries = Object.entries(rest).filter(([, value]) => value !== undefined);
  return `memory_remember ${JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}

/** The same object, as the library wants it: what is not given is absent. */
function definedOf<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const defined: { [K in keyof T]?: Exclude<T[K], undefined> } = {};
  for (const key in object) {
    const value = object[key];
    if (isDefined(value)) defined[key] = value;
  }
  return defined;
}

function isDefined<V>(value: V): value is Exclude<V, undefined> {
  return value !== undefined;
}
