/**
 * What a person settled for the brains of one folder: the language model, its budget, the numbers of sleep, the
 * daemon. A file `config.json` beside the brain holds only what differs from the defaults; it never holds a key, and
 * what names a model must be the reader's own file, since it says where memories are sent or what is run.
 */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DormouseError } from "../core/errors.ts";
import { DEFAULT_LLM_BUDGET, type LlmBudget } from "../llm/budget.ts";
import type { SleepConfig } from "../sleep/phase.ts";

/** An OpenAI-compatible endpoint. */
export interface HttpLlmConfig {
  readonly kind: "http";
  /** Base address, such as `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  readonly model: string;
  /** Name of the environment variable that holds the key; the key itself is never stored. */
  readonly apiKeyEnv?: string;
  /** Of one try; 1 to 300. */
  readonly timeoutSeconds: number;
  /** Tries after the first. */
  readonly maxRetries: number;
  /** Allows plain HTTP to another machine. */
  readonly insecure: boolean;
}

/** A program that reads a prompt and writes an answer. */
export interface CommandLlmConfig {
  readonly kind: "command";
  readonly command: readonly [string, ...string[]];
  /** What sources call it; default: the program's name. */
  readonly model?: string;
  readonly timeoutSeconds: number;
  /** Names of environment variables that it is given besides the usual few. */
  readonly passEnv: readonly string[];
}

export type LlmConfig = HttpLlmConfig | CommandLlmConfig;

export interface DaemonConfig {
  /** Cron expression of five fields, in local time. */
  readonly schedule: string;
  /** A night begins up to so many minutes late. */
  readonly jitterMinutes: number;
  /** Absolute paths of folders whose news are extracted before a night. */
  readonly watch: readonly string[];
  /** Share of one processor that a night may take, in (0, 1]. */
  readonly cpuShare: number;
  /** A night begins no batch after so many minutes. */
  readonly maxMinutes: number;
}

/** Everything, with the defaults filled in. */
export interface Config {
  /** Absent: no language model; what needs one is skipped. */
  readonly llm?: LlmConfig;
  /** Of one night. */
  readonly llmBudget: LlmBudget;
  /** Differences from the defaults of sleep. */
  readonly sleep: Partial<SleepConfig>;
  readonly daemon: DaemonConfig;
}

type HttpLlmSetting = Pick<HttpLlmConfig, "kind" | "url" | "model"> & Partial<HttpLlmConfig>;
type CommandLlmSetting = Pick<CommandLlmConfig, "kind" | "command"> & Partial<CommandLlmConfig>;

/** What the file holds: only what was settled. */
export interface ConfigFile {
  readonly llm?: HttpLlmSetting | CommandLlmSetting;
  readonly llmBudget?: Partial<LlmBudget>;
  readonly sleep?: Partial<SleepConfig>;
  readonly daemon?: Partial<DaemonConfig>;
}

export const LLM_DEFAULTS = { timeoutSeconds: 120, maxRetries: 3, insecure: false } as const;

export const DEFAULT_DAEMON_CONFIG: DaemonConfig = {
  schedule: "0 3 * * *",
  jitterMinutes: 10,
  watch: [],
  cpuShare: 0.5,
  maxMinutes: 120,
};

/** A configuration that is longer is none of ours. */
const MAX_BYTES = 256 * 1024;
/** Bits that let a group or others read or write. */
const OTHERS_BITS = 0o077;

/** The configuration of a brain: `config.json` in its folder. */
export function configPathOf(brainPath: string): string {
  return join(dirname(resolve(brainPath)), "config.json");
}

/**
 * The configuration of a brain; all defaults when there is no file.
 * @throws DormouseError `bad_config` for a file that breaks a rule, naming key and rule; `io` when it cannot be read
 */
export async function readConfig(brainPath: string): Promise<Config> {
  return fillDefaults(await readConfigFile(brainPath));
}

/** What the file of a brain holds, checked; nothing when there is none. @throws as `readConfig` */
export async function readConfigFile(brainPath: string): Promise<ConfigFile> {
  const path = configPathOf(brainPath);
  const file = readOwnFile(path);
  if (file === null) return {};
  const { checkConfig } = await import("./config-schema.ts");
  const checked = checkConfig(parseJson(file.text, path));
  if ("complaint" in checked) {
    throw new DormouseError("bad_config", `${path}: ${checked.complaint}`, { hint: checked.hint });
  }
  if (checked.value.llm !== undefined && !file.isPrivate) {
    throw new DormouseError("bad_config", `${path} names a language model, but others may have written it`, {
      hint: `If it is yours, make it your own alone: chmod 600 ${path}`,
    });
  }
  return checked.value;
}

/**
 * Changes the file of a brain in one step, whole or not at all; made when it is not there (0600).
 * @param change gives what the file is to hold; it is checked before anything is written
 * @returns the configuration from now on
 * @throws DormouseError `invalid` for a change that breaks a rule; `bad_config` when the file did before
 */
export async function writeConfig(brainPath: string, change: (stored: ConfigFile) => ConfigFile): Promise<Config> {
  const wanted = change(await readConfigFile(brainPath));
  const { checkConfig } = await import("./config-schema.ts");
  const checked = checkConfig(wanted);
  if ("complaint" in checked) throw new DormouseError("invalid", checked.complaint, { hint: checked.hint });
  replaceFile(configPathOf(brainPath), `${JSON.stringify(checked.value, null, 2)}\n`);
  return fillDefaults(checked.value);
}

function fillDefaults({ llm, llmBudget, sleep, daemon }: ConfigFile): Config {
  return {
    ...(llm === undefined ? {} : { llm: fillLlm(llm) }),
    llmBudget: { ...DEFAULT_LLM_BUDGET, ...llmBudget },
    sleep: { ...sleep },
    daemon: { ...DEFAULT_DAEMON_CONFIG, ...daemon },
  };
}

function fillLlm(llm: HttpLlmSetting | CommandLlmSetting): LlmConfig {
  return llm.kind === "http"
    ? { ...LLM_DEFAULTS, ...llm }
    : { timeoutSeconds: LLM_DEFAULTS.timeoutSeconds, passEnv: [], ...llm };
}

/** A file's text and whether nobody else can have written or read it; null when there is none. */
function readOwnFile(path: string): { readonly text: string; readonly isPrivate: boolean } | null {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw ioError("read", path, error);
  }
  try {
    const { size, mode, uid } = fstatSync(file);
    if (size > MAX_BYTES) throw new DormouseError("bad_config", `${path} is too large to be a configuration`);
    const ownId = process.getuid?.();
    const isPrivate = ownId === undefined || (uid === ownId && (mode & OTHERS_BITS) === 0);
    return { text: readFileSync(file, "utf8"), isPrivate };
  } catch (error) {
    if (error instanceof DormouseError) throw error;
    throw ioError("read", path, error);
  } finally {
    closeSync(file);
  }
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the file, which may hold what should not be there.
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
    const line = position === undefined ? "" : `, line ${text.slice(0, Number(position)).split("\n").length}`;
    throw new DormouseError("bad_config", `${path} is not JSON${line}`, {
      hint: "Correct it, or move it away and use `dormouse config set`.",
    });
  }
}

/** Writes beside the file, flushes, and renames over it. */
function replaceFile(path: string, text: string): void {
  const part = `${path}.${process.pid}.part`;
  try {
    const file = openSync(part, "wx", 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, targetOf(path));
  } catch (error) {
    rmSync(part, { force: true });
    throw ioError("written", path, error);
  }
}

/** The file that a link leads to, which is the one to replace. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function ioError(what: "read" | "written", path: string, error: unknown): DormouseError {
  return new DormouseError("io", `${path} cannot be ${what} (${codeOf(error)})`, {
    hint: "Are its folder there and yours to write to?",
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
