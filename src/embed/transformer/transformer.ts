/**
 * Embeds with a sentence model through transformers.js, from a folder on this machine. The package is optional
 * and loaded at first use; nothing here reaches for the network, and a model that cannot be loaded is an error,
 * never another model.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DormouseError } from "../../core/errors.ts";
import type { Embedder } from "../../core/ports.ts";
import { isBlank } from "../../text/normalise.ts";
import { toUnitVector } from "../unit-vector.ts";
import { loadTransformers, quietly, type Transformers } from "./library.ts";
import type { ModelFolder } from "./model-folder.ts";

type Tokenizer = InstanceType<Transformers["PreTrainedTokenizer"]>;
type Model = Awaited<ReturnType<Transformers["AutoModel"]["from_pretrained"]>>;

/** Two threads were not faster than one on sentences, and one leaves the other processor to the person. */
const SESSION_OPTIONS = { intraOpNumThreads: 1, interOpNumThreads: 1 };

/**
 * Loads a model, about a second. One text a run: quantised models give a text another vector beside others.
 * Runs of one embedder follow one another, so memory is bounded by the longest text.
 * @throws DormouseError `model_missing` when the package is not installed, `damaged` when the files do not load.
 */
export async function createTransformerEmbedder(folder: ModelFolder): Promise<Embedder> {
  const library = loadTransformers();
  const { tokenizer, model } = await loadModel(library, folder);
  const { queryPrefix, passagePrefix } = folder.rules;
  const embed = (prefix: string, text: string) => embedText(tokenizer, model, folder, prefix, text);
  const dimensions = (await embed(passagePrefix, "dimensions")).length;
  const embedOrZero = async (prefix: string, text: string) =>
    isBlank(text) ? new Int8Array(dimensions) : embed(prefix, text);
  let last: Promise<unknown> = Promise.resolve();
  /** Waits for the run before: two at once would need twice the memory. */
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const result = last.then(run);
    last = result.catch(() => undefined);
    return result;
  };
  return {
    model: {
      name: folder.name,
      revision: folder.revision,
      dimensions,
      runtime: runtimeOf(library),
    },
    embedPassages: (texts) =>
      inTurn(async () => {
        const vectors: Int8Array[] = [];
        for (const text of texts) vectors.push(await embedOrZero(passagePrefix, text));
        return vectors;
      }),
    embedQuery: (text) => inTurn(() => embedOrZero(queryPrefix, text)),
  };
}

async function loadModel(
  library: Transformers,
  { directory, name, weights }: ModelFolder,
): Promise<{ tokenizer: Tokenizer; model: Model }> {
  try {
    return await quietly(library, async () => ({
      tokenizer: await loadTokenizer(library, directory),
      model: await library.AutoModel.from_pretrained(directory, {
        local_files_only: true,
        dtype: weights,
        device: "cpu",
        session_options: SESSION_OPTIONS,
      }),
    }));
  } catch (error) {
    throw new DormouseError("damaged", `the model ${name} at ${directory} cannot be loaded`, {
      hint: "Get its files again, or go back with `dormouse model use builtin`.",
      cause: error,
    });
  }
}

/** The package insists on tokenizer_config.json; tokenizer.json alone says all that an embedding takes. */
async function loadTokenizer(library: Transformers, directory: string): Promise<Tokenizer> {
  if (existsSync(join(directory, "tokenizer_config.json"))) {
    return library.AutoTokenizer.from_pretrained(directory, { local_files_only: true });
  }
  const tokenizer: object = JSON.parse(readFileSync(join(directory, "tokenizer.json"), "utf8"));
  return new library.PreTrainedTokenizer(tokenizer, {});
}

async function embedText(
  tokenizer: Tokenizer,
  model: Model,
  { name, rules }: ModelFolder,
  prefix: string,
  text: string,
): Promise<Int8Array> {
  const inputs = tokenizer([prefix + text], { truncation: true, max_length: rules.maxTokens });
  const outputs = await model(inputs);
  const hidden = outputs.last_hidden_state ?? outputs.token_embeddings;
  const [, tokens, dimensions] = (hidden?.dims ?? []) as (number | undefined)[];
  if (!(hidden?.data instanceof Float32Array) || tokens === undefined || dimensions === undefined) {
    throw new DormouseError("damaged", `the model ${name} gives no vector for each token, so it is no sentence model`, {
      hint: "Choose a model made for sentence embeddings (feature extraction).",
    });
  }
  const vector = pool(hidden.data, rules.pooling === "first" ? 1 : tokens, dimensions);
  hidden.dispose();
  return vector;
}

/** The sum of the first `tokens` rows, brought to unit length and scaled to int8. */
function pool(hidden: Float32Array, tokens: number, dimensions: number): Int8Array {
  const sum = new Float64Array(dimensions);
  for (let token = 0; token < tokens; token++) {
    const start = token * dimensions;
    for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] as number) + (hidden[start + at] as number);
  }
  return toUnitVector(sum);
}

function runtimeOf({ env }: Transformers): string {
  const { node, common } = env.backends.onnx.versions ?? {};
  return `transformers.js/${env.version} onnxruntime/${node ?? common ?? "unknown"}`;
}
