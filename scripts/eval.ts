/**
 * Measures retrieval on public question sets through the real write and search paths.
 *
 *   npm run eval -- --data DIR [--only locomo|beam|lme|cranfield] [--scale 100K]… [--limit N]
 *                   [--after-sleep] [--bm25] [--cache DIR] [--model NAME --model-dir DIR] [--json]
 */
import { parseArgs } from "node:util";
import { DormouseError } from "../src/core/errors.ts";
import type { Embedder } from "../src/core/ports.ts";
import { createBuiltinEmbedder } from "../src/embed/builtin/builtin.ts";
import { readModelFolder } from "../src/embed/transformer/model-folder.ts";
import { createTransformerEmbedder } from "../src/embed/transformer/transformer.ts";
import { createBaseline } from "./eval/baseline.ts";
import { openEvalBrain } from "./eval/brains.ts";
import { type Corpus, type EvalSet, sampleEvenly } from "./eval/corpus.ts";
import { discoverSets, SET_NAMES, type SetName } from "./eval/discover.ts";
import { scoreRanking } from "./eval/metrics.ts";
import { formatSetReport, type Outcome, reportSet, type SetReport } from "./eval/report.ts";
import { runScript } from "./run-script.ts";

/** Places the baseline ranks, as many as the search gives. */
const PLACES = 50;

interface EvalOptions {
  readonly data: string;
  readonly only: SetName | undefined;
  readonly scales: readonly string[] | undefined;
  /** Questions of each corpus; infinite: all. */
  readonly limit: number;
  readonly afterSleep: boolean;
  readonly withBaseline: boolean;
  readonly cacheFolder: string | null;
  /** Folder of a sentence model and what it is called; null: the built-in one. */
  readonly model: { readonly directory: string; readonly name: string | undefined } | null;
  readonly json: boolean;
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const embedder = await createEmbedder(options);
  const reports: SetReport[] = [];
  const sets = discoverSets(options.data, {
    ...(options.only === undefined ? {} : { only: options.only }),
    ...(options.scales === undefined ? {} : { scales: options.scales }),
  });
  for (const set of sets) {
    const report = await evaluateSet(set, embedder, options);
    if (report === null) continue;
    reports.push(report);
    if (!options.json) console.log(`${formatSetReport(report)}\n`);
  }
  if (reports.length === 0) {
    throw new DormouseError("not_found", `no evaluation set with questions under ${options.data}`, {
      hint: "Expected are locomo/*.json, beam/SCALE/N/, longmemeval-evidence/*.json, cranfield/.",
    });
  }
  if (options.json) {
    const { data: _data, cacheFolder: _cache, model: _model, ...settings } = options;
    console.log(JSON.stringify({ model: embedder.model, settings, sets: reports }, null, 2));
  }
}

function readOptions(args: readonly string[]): EvalOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      data: { type: "string" },
      only: { type: "string" },
      scale: { type: "string", multiple: true },
      limit: { type: "string" },
      "after-sleep": { type: "boolean", default: false },
      bm25: { type: "boolean", default: false },
      cache: { type: "string" },
      model: { type: "string" },
      "model-dir": { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  if (values.data === undefined) throw usage("--data DIR is missing");
  const only = SET_NAMES.find((name) => name === values.only);
  if (values.only !== undefined && only === undefined) throw usage(`--only takes one of ${SET_NAMES.join(", ")}`);
  const limit = values.limit === undefined ? Number.POSITIVE_INFINITY : Number(values.limit);
  if (values.limit !== undefined && !(Number.isInteger(limit) && limit > 0))
    throw usage("--limit takes a whole number");
  const directory = values["model-dir"];
  if (values.model !== undefined && directory === undefined) throw usage("--model needs --model-dir DIR");
  return {
    data: values.data,
    only,
    scales: values.scale,
    limit,
    afterSleep: values["after-sleep"],
    withBaseline: values.bm25,
    cacheFolder: values.cache ?? null,
    model: directory === undefined ? null : { directory, name: values.model },
    json: values.json,
  };
}

function usage(message: string): DormouseError {
  return new DormouseError("usage", message, { hint: "npm run eval -- --data DIR [--only SET] [--json]" });
}

async function createEmbedder({ model }: EvalOptions): Promise<Embedder> {
  if (model === null) return createBuiltinEmbedder();
  const { directory, name } = model;
  return createTransformerEmbedder(await readModelFolder(directory, name === undefined ? {} : { name }));
}

async function evaluateSet(set: EvalSet, embedder: Embedder, options: EvalOptions): Promise<SetReport | null> {
  const outcomes: Outcome[] = [];
  let buildSeconds: number | null = null;
  for (const corpus of set.corpora) {
    const answered = await evaluateCorpus(set.name, corpus, embedder, options);
    outcomes.push(...answered.outcomes);
    if (answered.builtInSeconds !== null) buildSeconds = (buildSeconds ?? 0) + answered.builtInSeconds;
    process.stderr.write(`${set.name} ${corpus.name}: ${answered.outcomes.length} questions\n`);
  }
  return outcomes.length === 0 ? null : reportSet(set, outcomes, buildSeconds);
}

async function evaluateCorpus(
  setName: string,
  corpus: Corpus,
  embedder: Embedder,
  { afterSleep, cacheFolder, limit, withBaseline }: EvalOptions,
): Promise<{ outcomes: Outcome[]; builtInSeconds: number | null }> {
  const brain = await openEvalBrain({ setName, corpus, embedder, afterSleep, cacheFolder });
  const rankByWords = withBaseline ? createBaseline(corpus) : null;
  try {
    const outcomes: Outcome[] = [];
    for (const question of sampleEvenly(corpus.questions, limit)) {
      const { places, tookMs } = await brain.ask(question);
      outcomes.push({
        category: question.category,
        scores: scoreRanking(places, question.gold),
        baseline: rankByWords === null ? null : scoreRanking(rankByWords(question.text, PLACES), question.gold),
        tookMs,
      });
    }
    return { outcomes, builtInSeconds: brain.builtInSeconds };
  } finally {
    brain.close();
  }
}

await runScript(main);
