/**
 * The rules of `config.json`, key by key. Loaded only where a configuration is read or changed: the library behind it
 * takes longer to load than most commands run. Complaints name the key and the rule, never a value, which could be a
 * key pasted in the wrong place.
 */
import { isAbsolute } from "node:path";
import * as z from "zod";
import type { LlmBudget } from "../llm/budget.ts";
import { describeBadEndpoint } from "../llm/http.ts";
import { DEFAULT_SLEEP_CONFIG, type SleepConfig } from "../sleep/phase.ts";
import type { CommandLlmConfig, ConfigFile, DaemonConfig, HttpLlmConfig } from "./config.ts";

/** Node's own client gives up after so many seconds of silence. */
const LONGEST_HTTP_SECONDS = 300;
const LONGEST_COMMAND_SECONDS = 3_600;

/** Every key of a section has its rule, so that a key added to the type cannot be forgotten here. */
type Rules<T> = { readonly [K in keyof Required<T>]: z.ZodType };

const count = (most: number) =>
  z.int("must be a whole number").min(0, "must not be below 0").max(most, `must be at most ${most}`);
const number = (least: number, most: number) =>
  z.number("must be a number").min(least, `must be at least ${least}`).max(most, `must be at most ${most}`);
const text = (most: number) =>
  z.string("must be a text").min(1, "must not be empty").max(most, `must have at most ${most} characters`);
const variableName = text(100).regex(
  /^[A-Za-z_][A-Za-z0-9_]*$/,
  "must be the name of an environment variable, not a key",
);
const modelName = text(200).regex(/^[^\p{Cc}]+$/u, "must not hold control characters");
const absolutePath = text(4_096).refine(isAbsolute, "must be an absolute path");

const httpRules = {
  kind: z.literal("http"),
  url: text(2_000),
  model: modelName,
  apiKeyEnv: variableName.optional(),
  timeoutSeconds: number(1, LONGEST_HTTP_SECONDS).optional(),
  maxRetries: count(10).optional(),
  insecure: z.boolean("must be true or false").optional(),
} satisfies Rules<HttpLlmConfig>;

const commandRules = {
  kind: z.literal("command"),
  command: z
    .tuple([text(4_096)], text(100_000).or(z.literal("")))
    .refine(
      ([program]) => isAbsolute(program) || !/[\\/]/.test(program),
      "must begin with a program's name or absolute path",
    ),
  model: modelName.optional(),
  timeoutSeconds: number(1, LONGEST_COMMAND_SECONDS).optional(),
  passEnv: z.array(variableName).max(100).optional(),
} satisfies Rules<CommandLlmConfig>;

const budgetRules = {
  calls: count(1_000_000).optional(),
  tokens: count(1_000_000_000).optional(),
  minutes: number(0, 1_440).optional(),
} satisfies Rules<LlmBudget>;

const daemonRules = {
  schedule: text(200)
    .regex(/^\s*(?:[^\s]+\s+){4}[^\s]+\s*$/, "must have the five fields of cron, as in `0 3 * * *`")
    .optional(),
  jitterMinutes: number(0, 720).optional(),
  watch: z.array(absolutePath, "must be a list of folders").max(1_000).optional(),
  cpuShare: number(0.01, 1).optional(),
  maxMinutes: number(1, 1_440).optional(),
} satisfies Rules<DaemonConfig>;

/** The rule of a number of sleep follows from its default: a share stays one, a count whole, and none is negative. */
function sleepRule(value: number): z.ZodType {
  return (Number.isInteger(value) ? count(Number.MAX_SAFE_INTEGER) : number(0, 1)).optional();
}

const sleepRules = Object.fromEntries(
  Object.entries(DEFAULT_SLEEP_CONFIG).map(([key, value]) => [key, sleepRule(value)]),
) as Rules<SleepConfig>;

const schema = z.strictObject({
  llm: z
    .discriminatedUnion("kind", [z.strictObject(httpRules), z.strictObject(commandRules)], "must be http or command")
    .superRefine((llm, context) => {
      const complaint = llm.kind === "http" ? describeBadEndpoint(llm.url, llm.insecure === true) : null;
      if (complaint !== null) context.addIssue({ code: "custom", path: ["url"], message: complaint });
    })
    .optional(),
  llmBudget: z.strictObject(budgetRules).optional(),
  sleep: z.strictObject(sleepRules).optional(),
  daemon: z.strictObject(daemonRules).optional(),
});

/** Keys of each part, for who wrote one that is not there. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(schema.shape),
  llm: [...new Set([...Object.keys(httpRules), ...Object.keys(commandRules)])],
  llmBudget: Object.keys(budgetRules),
  sleep: Object.keys(sleepRules),
  daemon: Object.keys(daemonRules),
};

/** A configuration that keeps the rules, or the first rule it breaks, by key. */
export type CheckedConfig = { readonly value: ConfigFile } | { readonly complaint: string; readonly hint: string };

export function checkConfig(value: unknown): CheckedConfig {
  const checked = schema.safeParse(value);
  // Absent and undefined are the same in a file.
  if (checked.success) return { value: checked.data as ConfigFile };
  const [issue] = checked.error.issues;
  if (issue === undefined) return { complaint: "the configuration breaks a rule", hint: "" };
  const path = issue.path.map(String);
  const section = path[0] ?? "";
  const keys = `Keys ${section === "" ? "of the file" : `of ${section}`}: ${KEYS[section]?.join(", ")}.`;
  if (issue.code === "unrecognized_keys") {
    return { complaint: `unknown key ${[...path, issue.keys[0]].join(".")}`, hint: keys };
  }
  const name = path.length === 0 ? "the file" : path.join(".");
  const rule = valueAt(value, issue.path) === undefined ? "is missing" : issue.message;
  return { complaint: `${name} ${rule.replace(/^Invalid input: /, "")}`, hint: keys };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    value,
  );
}
