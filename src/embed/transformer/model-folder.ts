/**
 * What lies in a folder of a sentence model and how its vectors are to be made of it: which files, prefixes,
 * pooling, longest text, and the revision that all of them decide. Loads no model and asks no network.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { DormouseError } from "../../core/errors.ts";

/** How a text becomes one vector, besides the weights. */
export interface EmbeddingRules {
  /** Put before a question or search phrase, e.g. "query: ". */
  readonly queryPrefix: string;
  /** Put before a stored text, e.g. "passage: ". */
  readonly passagePrefix: string;
  /** Mean over the tokens, or the first token's vector. */
  readonly pooling: "mean" | "first";
  /** Longest text in tokens, special ones included; the rest is cut off. */
  readonly maxTokens: number;
}

/** A folder that holds all it takes to embed. */
export interface ModelFolder {
  readonly name: string;
  /** Absolute. */
  readonly directory: string;
  /** int8 weights (`onnx/model_quantized.onnx`) or full ones (`onnx/model.onnx`). */
  readonly weights: "q8" | "fp32";
  readonly rules: EmbeddingRules;
  /** Hexadecimal digest of weights, tokenizer and rules; changes whenever the vectors would. */
  readonly revision: string;
}

/** Remembers digests of large files between processes; a fresh digest of a file that changed is not its business. */
export interface DigestCache {
  get(key: string): string | undefined;
  set(key: string, digest: string): void;
}

/** Rules of model families that their files do not state; the first whose pattern fits the name. */
const FAMILIES: readonly { readonly name: RegExp; readonly rules: Partial<EmbeddingRules> }[] = [
  { name: /\be5\b/i, rules: { queryPrefix: "query: ", passagePrefix: "passage: " } },
  { name: /\bMiniLM\b/i, rules: { maxTokens: 256 } },
  {
    name: /\bbge\b.*\ben\b/i,
    rules: { queryPrefix: "Represent this sentence for searching relevant passages: ", pooling: "first" },
  },
  { name: /\bbge\b/i, rules: { pooling: "first" } },
  { name: /\bnomic\b/i, rules: { queryPrefix: "search_query: ", passagePrefix: "search_document: " } },
];

const WEIGHTS = [
  { weights: "q8", stem: "model_quantized" },
  { weights: "fp32", stem: "model" },
] as const;

const REVISION_DIGITS = 32;
/** Longest text of a model whose files name no limit. */
const DEFAULT_MAX_TOKENS = 512;
/** Tokenizers without a limit state one of 10^30 or so. */
const LARGEST_MAX_TOKENS = 1_000_000;
/** Models whose positions are numbered from behind the padding token. */
const OFFSET_POSITIONS: ReadonlySet<string> = new Set(["roberta", "xlm-roberta", "camembert", "mpnet"]);

/** Files of `directory` that a model needs and that are not there; empty when it is whole. */
export function missingModelFiles(directory: string): string[] {
  const missing = ["config.json", "tokenizer.json"].filter((file) => !existsSync(join(directory, file)));
  if (findWeights(directory) === undefined) missing.push("onnx/model_quantized.onnx");
  return missing;
}

/**
 * Reads what a model folder says about itself.
 * @param name what the model is called; rules of its family go by it. Default: the folder's name
 * @param given rules that replace those found
 * @throws DormouseError `model_missing` when the folder or a file of it is not there, `damaged` for files that
 * cannot be understood.
 */
export async function readModelFolder(
  directory: string,
  options: { name?: string; given?: Partial<EmbeddingRules>; digests?: DigestCache } = {},
): Promise<ModelFolder> {
  const folder = resolve(directory);
  const name = options.name ?? basename(folder);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new DormouseError("model_missing", `the model ${name} is not at ${folder}: there is no such folder`, {
      hint: "Name its folder with --dir, --model-dir or DORMOUSE_MODEL_DIR.",
    });
  }
  const missing = missingModelFiles(folder);
  const found = findWeights(folder);
  if (missing.length > 0 || found === undefined) {
    throw new DormouseError("model_missing", `the model ${name} at ${folder} lacks ${missing.join(", ")}`, {
      hint: "A model folder holds config.json, tokenizer.json and onnx/model_quantized.onnx or onnx/model.onnx; one that was fetched comes again with `dormouse model use`.",
    });
  }
  const rules = { ...rulesOf(folder, name), ...options.given };
  const parts: string[] = [];
  for (const file of ["tokenizer.json", ...weightFiles(folder, found.stem)]) {
    parts.push(await digestFile(join(folder, file), options.digests));
  }
  const { queryPrefix, passagePrefix, pooling, maxTokens } = rules;
  const revision = createHash("sha256")
    .update(JSON.stringify([...parts, queryPrefix, passagePrefix, pooling, maxTokens]))
    .digest("hex")
    .slice(0, REVISION_DIGITS);
  return { name, directory: folder, weights: found.weights, rules, revision };
}

function findWeights(folder: string): (typeof WEIGHTS)[number] | undefined {
  return WEIGHTS.find(({ stem }) => existsSync(join(folder, "onnx", `${stem}.onnx`)));
}

/** The graph and the files into which a large model puts its numbers. */
function weightFiles(folder: string, stem: string): string[] {
  return readdirSync(join(folder, "onnx"))
    .filter((file) => file === `${stem}.onnx` || file.startsWith(`${stem}.onnx_data`))
    .sort()
    .map((file) => join("onnx", file));
}

function rulesOf(folder: string, name: string): EmbeddingRules {
  const family = FAMILIES.find((known) => known.name.test(name.replaceAll("_", "-")))?.rules ?? {};
  const prompts = fieldOf(readJson(folder, "config_sentence_transformers.json"), "prompts");
  const pooling = readJson(folder, join("1_Pooling", "config.json"));
  const isFirst = fieldOf(pooling, "pooling_mode_cls_token") === true;
  const isMean = fieldOf(pooling, "pooling_mode_mean_tokens") === true;
  return {
    queryPrefix: family.queryPrefix ?? textOf(fieldOf(prompts, "query")) ?? "",
    passagePrefix:
      family.passagePrefix ?? textOf(fieldOf(prompts, "passage")) ?? textOf(fieldOf(prompts, "document")) ?? "",
    pooling: isFirst ? "first" : isMean ? "mean" : (family.pooling ?? "mean"),
    maxTokens: Math.min(family.maxTokens ?? LARGEST_MAX_TOKENS, statedMaxTokens(folder)),
  };
}

/** The smallest limit that any file of the model states. */
function statedMaxTokens(folder: string): number {
  const config = readJson(folder, "config.json");
  const positions = numberOf(fieldOf(config, "max_position_embeddings"));
  const offset = OFFSET_POSITIONS.has(textOf(fieldOf(config, "model_type")) ?? "")
    ? (numberOf(fieldOf(config, "pad_token_id")) ?? 1) + 1
    : 0;
  const limits = [
    positions === undefined ? undefined : positions - offset,
    numberOf(fieldOf(readJson(folder, "tokenizer_config.json"), "model_max_length")),
    numberOf(fieldOf(readJson(folder, "sentence_bert_config.json"), "max_seq_length")),
  ].filter((limit): limit is number => limit !== undefined && limit >= 1 && limit <= LARGEST_MAX_TOKENS);
  return limits.length === 0 ? DEFAULT_MAX_TOKENS : Math.min(...limits);
}

/** The parsed file; null when it is not there. @throws DormouseError `damaged` */
function readJson(folder: string, file: string): unknown {
  const path = join(folder, file);
  if (!existsSync(path)) return null;
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new DormouseError("damaged", `${path} cannot be read as JSON`, {
      hint: "Get the model's files again.",
      cause: error,
    });
  }
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null && field in value
    ? (value as Record<string, unknown>)[field]
    : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** SHA-256 of a file, from the cache when neither its place, size nor times have changed since. */
async function digestFile(path: string, cache: DigestCache | undefined): Promise<string> {
  const key = stampOf(path, statSync(path));
  const known = cache?.get(key);
  if (known !== undefined) return known;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  const digest = hash.digest("hex");
  if (stampOf(path, statSync(path)) === key) cache?.set(key, digest);
  return digest;
}

/** The change time cannot be set by copying tools, so a file whose stamp is the same has the same bytes. */
function stampOf(path: string, { size, mtimeMs, ctimeMs, ino }: Stats): string {
  return `${path} ${size} ${mtimeMs} ${ctimeMs} ${ino}`;
}
