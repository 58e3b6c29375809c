/**
 * The language model that a configuration names, made when it is asked for: the adapters load only then. Null without
 * one; nothing ever stands in for it.
 */
import type { Clock } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import type { LanguageModel } from "../core/ports.ts";
import { type LlmUsage, type MeteredModel, meterModel } from "../llm/budget.ts";
import { type Config, type LlmConfig, readConfig } from "./config.ts";

/** What one small question to the model brought. */
export interface LlmTest {
  readonly model: string;
  /** What the model answered, checked. */
  readonly reply: string;
  /** True when the first reply did not keep to the form and the second did. */
  readonly repaired: boolean;
  /** Until the checked answer was there. */
  readonly tookMs: number;
  readonly usage: LlmUsage;
}

/** Enough for a question and its repair, with the reasoning of models that think first. */
const TEST_BUDGET = { calls: 2, tokens: 20_000, minutes: 10 } as const;

/**
 * A model under the budget of a night that begins now; null when none is configured.
 * @param given the model that the caller brought; null: none is to be asked, whatever is configured
 * @throws DormouseError `no_llm` when its key is not in the environment
 */
export async function openLanguageModel(
  { llm, llmBudget }: Config,
  clock: Clock,
  given?: LanguageModel | null,
): Promise<MeteredModel | null> {
  const configured = given === undefined && llm !== undefined ? await createLanguageModel(llm) : null;
  const model = given ?? configured;
  return model === null ? null : meterModel(model, llmBudget, clock);
}

/**
 * Asks the configured model one small question.
 * @throws DormouseError `no_llm` when none is configured, and what a request throws
 */
export async function testLanguageModel(brainPath: string, clock: Clock): Promise<LlmTest> {
  const { llm } = await readConfig(brainPath);
  if (llm === undefined) {
    throw new DormouseError("no_llm", "no language model is configured", {
      hint: "See `dormouse config llm http --help` and `dormouse config llm command --help`.",
    });
  }
  const { askTestQuestion } = await import("./llm-test.ts");
  const model = meterModel(await createLanguageModel(llm), TEST_BUDGET, clock);
  const startedAt = performance.now();
  const { value, repaired } = await askTestQuestion(model);
  return {
    model: model.name,
    reply: value.animal,
    repaired,
    tookMs: Math.round(performance.now() - startedAt),
    usage: model.usage(),
  };
}

async function createLanguageModel(llm: LlmConfig, environment = process.env): Promise<LanguageModel> {
  if (llm.kind === "command") {
    const { createCommandModel } = await import("../llm/command.ts");
    return createCommandModel({
      command: llm.command,
      ...(llm.model === undefined ? {} : { model: llm.model }),
      timeoutSeconds: llm.timeoutSeconds,
      passEnvironment: llm.passEnv,
    });
  }
  const { createHttpModel } = await import("../llm/http.ts");
  return createHttpModel({
    ...llm,
    ...(llm.apiKeyEnv === undefined ? {} : { apiKey: readKey(llm.apiKeyEnv, environment) }),
  });
}

function readKey(variable: string, environment: NodeJS.ProcessEnv): string {
  const key = environment[variable]?.trim();
  if (!key || !/^[\x21-\x7E]+$/.test(key)) {
    const what = key ? "holds something else" : "is not set";
    throw new DormouseError("no_llm", `the variable ${variable}, which should hold the language model's key, ${what}`, {
      hint: "Set it where this runs; the daemon has an environment of its own.",
    });
  }
  return key;
}
