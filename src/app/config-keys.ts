/**
 * The configuration as keys with values, the way a person types and reads it: `daemon.cpuShare 0.3`. Refuses a key
 * that is not there by name, with the names that are.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { DormouseError } from "../core/errors.ts";
import { DEFAULT_LLM_BUDGET } from "../llm/budget.ts";
import { DEFAULT_SLEEP_CONFIG } from "../sleep/phase.ts";
import {
  type Config,
  type ConfigFile,
  configPathOf,
  DEFAULT_DAEMON_CONFIG,
  LLM_DEFAULTS,
  readConfigFile,
  writeConfig,
} from "./config.ts";

type Section = keyof ConfigFile;

/** How the words after a key are read. */
type ValueKind = "number" | "text" | "switch" | "list" | "folders";

interface KnownKey {
  readonly kind: ValueKind;
  /** Null: it has none. */
  readonly fallback: unknown;
}

/** One key as a person sees it. */
export interface ConfigEntry {
  readonly key: string;
  /** Null: not set, and without a default. */
  readonly value: unknown;
  readonly isDefault: boolean;
}

/** What `config show` tells. */
export interface ConfigListing {
  readonly path: string;
  /** False while nothing was ever settled. */
  readonly exists: boolean;
  readonly entries: readonly ConfigEntry[];
  /** Whether the variable that should hold the model's key is set here; null when none is named. */
  readonly hasApiKey: boolean | null;
}

const numbers = (values: object): [string, KnownKey][] =>
  Object.entries(values).map(([name, fallback]) => [name, { kind: "number", fallback }]);

const without = (kind: ValueKind): KnownKey => ({ kind, fallback: null });

const KNOWN: Readonly<Record<Section, ReadonlyMap<string, KnownKey>>> = {
  llm: new Map<string, KnownKey>([
    ["url", without("text")],
    ["model", without("text")],
    ["apiKeyEnv", without("text")],
    ["timeoutSeconds", { kind: "number", fallback: LLM_DEFAULTS.timeoutSeconds }],
    ["maxRetries", { kind: "number", fallback: LLM_DEFAULTS.maxRetries }],
    ["insecure", { kind: "switch", fallback: LLM_DEFAULTS.insecure }],
    ["command", without("list")],
    ["passEnv", { kind: "list", fallback: [] }],
  ]),
  llmBudget: new Map(numbers(DEFAULT_LLM_BUDGET)),
  sleep: new Map(numbers(DEFAULT_SLEEP_CONFIG)),
  daemon: new Map<string, KnownKey>([
    ...numbers(DEFAULT_DAEMON_CONFIG),
    ["schedule", { kind: "text", fallback: DEFAULT_DAEMON_CONFIG.schedule }],
    ["watch", { kind: "folders", fallback: DEFAULT_DAEMON_CONFIG.watch }],
  ]),
};

/** Keys of a model behind a command; the others, but for those of both, are of one behind HTTP. */
const COMMAND_KEYS = new Set(["command", "passEnv", "model", "timeoutSeconds"]);
const HTTP_KEYS = new Set(["url", "apiKeyEnv", "model", "timeoutSeconds", "maxRetries", "insecure"]);

/** Every key with its value, those of the language model only when there is one. @throws as `readConfig` */
export async function listConfig(brainPath: string, environment = process.env): Promise<ConfigListing> {
  const stored = await readConfigFile(brainPath);
  const { llm } = stored;
  const entries = (Object.keys(KNOWN) as Section[]).flatMap((section) => {
    const keys = [...KNOWN[section]].filter(([name]) => section !== "llm" || isKeyOf(llm?.kind, name));
    const kind = section === "llm" ? [{ key: "llm.kind", value: llm?.kind ?? null, isDefault: llm === undefined }] : [];
    return [
      ...kind,
      ...keys.map(([name, { fallback }]) => {
        const value: unknown = Reflect.get(stored[section] ?? {}, name);
        return { key: `${section}.${name}`, value: value ?? fallback, isDefault: value === undefined };
      }),
    ];
  });
  const variable = llm?.kind === "http" ? llm.apiKeyEnv : undefined;
  return {
    path: configPathOf(brainPath),
    exists: existsSync(configPathOf(brainPath)),
    entries,
    hasApiKey: variable === undefined ? null : Boolean(environment[variable]),
  };
}

function isKeyOf(kind: "http" | "command" | undefined, name: string): boolean {
  if (kind === undefined) return false;
  return (kind === "http" ? HTTP_KEYS : COMMAND_KEYS).has(name);
}

/**
 * Sets one key.
 * @param words the value as typed; several for a list
 * @throws DormouseError `usage` for a key that is not there or words that do not fit it; `invalid` for a value out of
 * its range; `no_llm` for a key of a model when none is configured
 */
export async function setConfigKey(brainPath: string, key: string, words: readonly string[]): Promise<Config> {
  const [section, name, known] = findKey(key);
  const value = readValue(key, known.kind, words);
  if (key === "daemon.schedule") await checkSchedule(String(value));
  return writeConfig(brainPath, (stored) => {
    if (section === "llm" && stored.llm === undefined) {
      throw new DormouseError("no_llm", "no language model is configured", {
        hint: "See `dormouse config llm http --help` and `dormouse config llm command --help`.",
      });
    }
    return { ...stored, [section]: { ...stored[section], [name]: value } };
  });
}

/** Refuses a schedule now that would otherwise stop the daemon at night. */
async function checkSchedule(expression: string): Promise<void> {
  const { validate } = await import("node-cron");
  if (!validate(expression)) {
    throw new DormouseError("invalid", "daemon.schedule cannot be read", {
      hint: "The five fields are minute, hour, day of month, month and weekday: `0 3 * * *` is every night at three.",
    });
  }
}

/**
 * Takes a key, or all of a section, back to its default.
 * @throws DormouseError `usage` for a key that is not there; `invalid` when nothing works without it
 */
export async function unsetConfigKey(brainPath: string, key: string): Promise<Config> {
  if (isSection(key)) {
    return writeConfig(brainPath, ({ [key]: _, ...rest }) => rest);
  }
  const [section, name] = findKey(key);
  return writeConfig(brainPath, (stored) => {
    const { [name]: _, ...rest } = { ...stored[section] } as Record<string, unknown>;
    const { [section]: __, ...others } = stored;
    return Object.keys(rest).length === 0 ? others : { ...stored, [section]: rest };
  });
}

function isSection(text: string): text is Section {
  return Object.hasOwn(KNOWN, text);
}

function findKey(key: string): [Section, string, KnownKey] {
  const dot = key.indexOf(".");
  const section = dot < 0 ? key : key.slice(0, dot);
  const name = dot < 0 ? "" : key.slice(dot + 1);
  if (!isSection(section)) {
    throw new DormouseError("usage", `there is no key ${key}`, {
      hint: `Keys begin with ${Object.keys(KNOWN).join(", ")}; \`dormouse config show\` lists them.`,
    });
  }
  const known = KNOWN[section].get(name);
  if (known === undefined) {
    throw new DormouseError("usage", dot < 0 ? `${key} is no key but several` : `there is no key ${key}`, {
      hint: `Keys of ${section}: ${[...KNOWN[section].keys()].join(", ")}.`,
    });
  }
  return [section, name, known];
}

function readValue(key: string, kind: ValueKind, words: readonly string[]): unknown {
  if (kind === "list") return words;
  if (kind === "folders") return words.map((word) => resolve(word.replace(/^~(?=\/|$)/, homedir())));
  const [word = ""] = words;
  if (words.length !== 1) throw new DormouseError("usage", `${key} takes one value`);
  if (kind === "text") return word;
  if (kind === "switch") {
    if (word !== "true" && word !== "false") throw new DormouseError("usage", `${key} must be true or false`);
    return word === "true";
  }
  if (!/^-?\d{1,16}(?:\.\d{1,16})?$/.test(word)) throw new DormouseError("usage", `${key} must be a number`);
  return Number(word);
}
