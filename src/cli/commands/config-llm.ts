/** `dormouse config llm`: which language model sleep may ask, if any, and whether it answers. */
import { isAbsolute, resolve } from "node:path";
import type { Config, ConfigFile, LlmConfig } from "../../app/config.ts";
import type { LlmTest } from "../../app/language-model.ts";
import { DormouseError } from "../../core/errors.ts";
import { brainPathOf, type ExitStatus, endOnInterrupt, type Invocation, readCount } from "../invocation.ts";
import { fitLine, printable, type Style } from "../output.ts";
import { countOf } from "../render.ts";

export interface HttpFlags {
  readonly url: string;
  readonly model: string;
  readonly keyEnv?: string;
  readonly timeout?: string;
  readonly retries?: string;
  readonly insecure?: boolean;
}

export interface CommandFlags {
  readonly model?: string;
  readonly env?: readonly string[];
  readonly timeout?: string;
}

const PROGRESS_EVERY_MS = 500;

export async function runConfigLlmHttp(invocation: Invocation, flags: HttpFlags): Promise<ExitStatus> {
  return settle(invocation, {
    kind: "http",
    url: flags.url,
    model: flags.model,
    ...(flags.keyEnv === undefined ? {} : { apiKeyEnv: flags.keyEnv }),
    ...(flags.timeout === undefined ? {} : { timeoutSeconds: readCount("--timeout", flags.timeout) }),
    ...(flags.retries === undefined ? {} : { maxRetries: readCount("--retries", flags.retries, 0) }),
    ...(flags.insecure === true ? { insecure: true } : {}),
  });
}

export async function runConfigLlmCommand(
  invocation: Invocation,
  command: readonly string[],
  flags: CommandFlags,
): Promise<ExitStatus> {
  const [program, ...args] = command;
  if (program === undefined) throw new DormouseError("usage", "the command names no program");
  // It runs in a folder of its own, where a path relative to this one would lead nowhere.
  const found = /[\\/]/.test(program) && !isAbsolute(program) ? resolve(program) : program;
  return settle(invocation, {
    kind: "command",
    command: [found, ...args],
    ...(flags.model === undefined ? {} : { model: flags.model }),
    ...(flags.env === undefined ? {} : { passEnv: flags.env }),
    ...(flags.timeout === undefined ? {} : { timeoutSeconds: readCount("--timeout", flags.timeout) }),
  });
}

export async function runConfigLlmOff(invocation: Invocation): Promise<ExitStatus> {
  return settle(invocation, undefined);
}

/** Puts this model, or none, in the place of the one before. */
async function settle(invocation: Invocation, wanted: ConfigFile["llm"]): Promise<ExitStatus> {
  const path = await brainPathOf(invocation, { mustExist: true });
  const { writeConfig } = await import("../../app/config.ts");
  const config: Config = await writeConfig(path, ({ llm: _, ...rest }) =>
    wanted === undefined ? rest : { ...rest, llm: wanted },
  );
  invocation.output.print({ llm: config.llm ?? null }, ({ llm }) => renderModel(llm));
  return 0;
}

function renderModel(llm: LlmConfig | null): string {
  if (llm === null) return "no language model: sleep does without one";
  const lines =
    llm.kind === "command"
      ? [`sleep may run ${printable(llm.command.join(" "))}, and gives it excerpts of the brain`]
      : [`sleep may ask ${printable(llm.model)} at ${new URL(llm.url).origin}, and sends it excerpts of the brain`];
  if (llm.kind === "http" && llm.apiKeyEnv !== undefined && !process.env[llm.apiKeyEnv]) {
    lines.push(`its key is read from ${llm.apiKeyEnv}, which is not set in this environment`);
  }
  return [...lines, "`dormouse config llm test` asks it one small question"].join("\n");
}

export async function runConfigLlmTest(invocation: Invocation): Promise<ExitStatus> {
  const { output } = invocation;
  const path = await brainPathOf(invocation);
  const [{ testLanguageModel }, { systemClock }] = await Promise.all([
    import("../../app/language-model.ts"),
    import("../../core/clock.ts"),
  ]);
  endOnInterrupt(output);
  let asked = 0;
  const timer = setInterval(() => {
    asked += PROGRESS_EVERY_MS / 1_000;
    output.progress({ stage: "waiting, seconds", done: Math.round(asked), total: null });
  }, PROGRESS_EVERY_MS);
  try {
    output.print(await testLanguageModel(path, systemClock), renderTest);
  } finally {
    clearInterval(timer);
  }
  return 0;
}

function renderTest({ model, reply, repaired, tookMs, usage }: LlmTest, style: Style): string {
  const tokens = usage.promptTokens + usage.completionTokens;
  const counted = usage.estimatedTokens > 0 ? "about " : "";
  return [
    `${style.bold(printable(model))} answered in ${(tookMs / 1_000).toFixed(1)} s: ${fitLine(reply, style.width - 40)}`,
    `  ${countOf(usage.calls, "call")}, ${counted}${countOf(tokens, "token")}${repaired ? "; the first reply did not keep to the form, the second did" : ", in the form that was asked"}`,
  ].join("\n");
}
