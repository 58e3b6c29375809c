/**
 * Finds the evaluation sets under a folder by their layout. Whatever files are there are used, in the order
 * of their names; nothing about particular conversations is known here.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DormouseError } from "../../src/core/errors.ts";
import { parseBeam } from "./beam.ts";
import type { Corpus, EvalSet } from "./corpus.ts";
import { parseCranfield } from "./cranfield.ts";
import { asList } from "./fields.ts";
import { parseLocomo } from "./locomo.ts";
import { parseLongMemEval } from "./longmemeval.ts";

export const SET_NAMES = ["locomo", "beam", "lme", "cranfield"] as const;
export type SetName = (typeof SET_NAMES)[number];

interface DiscoverOptions {
  readonly only?: SetName;
  /** BEAM scales to read, for instance `100K`; default all. */
  readonly scales?: readonly string[];
}

const byName = new Intl.Collator("en", { numeric: true }).compare;

/**
 * Yields the sets one by one, each read when its turn comes.
 * @throws DormouseError `format` for a file of another layout, `io` when it cannot be read.
 */
export function* discoverSets(folder: string, options: DiscoverOptions = {}): Generator<EvalSet> {
  const wants = (name: SetName) => options.only === undefined || options.only === name;
  if (wants("locomo")) yield* locomoSets(join(folder, "locomo"));
  if (wants("beam")) yield* beamSets(join(folder, "beam"), options.scales);
  if (wants("lme")) yield* longMemEvalSets(join(folder, "longmemeval-evidence"));
  if (wants("cranfield")) yield* cranfieldSets(join(folder, "cranfield"));
}

function* locomoSets(folder: string): Generator<EvalSet> {
  const corpora = namesIn(folder, /\.json$/).flatMap((name) => parseLocomo(readJson(join(folder, name))));
  if (corpora.length > 0) yield { name: "LoCoMo", unit: "turn", graded: false, corpora };
}

function* beamSets(folder: string, scales: readonly string[] | undefined): Generator<EvalSet> {
  for (const scale of namesIn(folder, /^[^.]/)) {
    if (scales !== undefined && !scales.includes(scale)) continue;
    const corpora = namesIn(join(folder, scale), /^[^.]/).flatMap((chat): Corpus[] => {
      const path = join(folder, scale, chat);
      const questions = join(path, "probing_questions.json");
      const [chatFile] = namesIn(path, /^chat.*\.json$/);
      if (chatFile === undefined || !existsSync(questions)) return [];
      return [parseBeam(`${scale}-${chat}`, readJson(join(path, chatFile)), readJson(questions))];
    });
    if (corpora.length > 0) yield { name: `BEAM ${scale}`, unit: "message", graded: false, corpora };
  }
}

function* longMemEvalSets(folder: string): Generator<EvalSet> {
  // A split file beside the turns is an object of id lists; the turns are a list.
  const files = namesIn(folder, /\.json$/)
    .map((name) => readJson(join(folder, name)))
    .filter(Array.isArray);
  if (files.length === 0) return;
  const corpus = parseLongMemEval(files.flatMap((file) => asList(file, "LongMemEval file")));
  yield { name: "LongMemEval evidence", unit: "turn", graded: false, corpora: [corpus] };
}

function* cranfieldSets(folder: string): Generator<EvalSet> {
  const [documents, queries, judgements] = ["cran.all.1400", "cran.qry", "cranqrel"].map((name) => join(folder, name));
  if (documents === undefined || queries === undefined || judgements === undefined || !existsSync(documents)) return;
  const corpus = parseCranfield({
    documents: readText(documents),
    queries: readText(queries),
    judgements: readText(judgements),
  });
  yield { name: "Cranfield", unit: "document", graded: true, corpora: [corpus] };
}

function namesIn(folder: string, pattern: RegExp): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => pattern.test(name))
    .sort(byName);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new DormouseError("io", `${path} cannot be read`, { cause: error });
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readText(path)) as unknown;
  } catch (error) {
    if (error instanceof DormouseError) throw error;
    throw new DormouseError("format", `${path} is not JSON`);
  }
}
