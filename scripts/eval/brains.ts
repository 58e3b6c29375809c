/**
 * Turns a corpus into a brain through `remember` and asks it through `search`. With a cache folder a brain
 * is made once and met again as long as what went into it is the same; a change of the code that writes
 * brains is not noticed, so the folder is to be emptied then.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Brain } from "../../src/app.ts";
import { DormouseError } from "../../src/core/errors.ts";
import type { Embedder } from "../../src/core/ports.ts";
import { ANALYSER_VERSION } from "../../src/text/analyse.ts";
import { type Corpus, type EvalQuestion, toInputs } from "./corpus.ts";
import type { RankedPlaces } from "./metrics.ts";

/** Thoughts of one transaction. */
const BATCH = 256;
/** Places looked at. */
const PLACES = 50;

interface BrainPlan {
  readonly setName: string;
  readonly corpus: Corpus;
  readonly embedder: Embedder;
  /** Ask only after a cycle of sleep. */
  readonly afterSleep: boolean;
  /** Folder that keeps brains between runs; without one they are made and removed. */
  readonly cacheFolder: string | null;
}

interface Asked {
  readonly places: RankedPlaces;
  readonly tookMs: number;
}

export interface EvalBrain {
  /** Seconds that remembering and sleep took; null when the brain came from the cache. */
  readonly builtInSeconds: number | null;
  ask(question: EvalQuestion): Promise<Asked>;
  /** Closes the brain and removes it unless it is cached. */
  close(): void;
}

/** Documents by the id of the thought that a reader sees for them. */
type KeysById = Readonly<Record<string, readonly string[]>>;

/** @throws DormouseError as Brain does. */
export async function openEvalBrain(plan: BrainPlan): Promise<EvalBrain> {
  const temporary = plan.cacheFolder === null ? mkdtempSync(join(tmpdir(), "dormouse-eval-")) : null;
  const folder = temporary ?? plan.cacheFolder ?? "";
  mkdirSync(folder, { recursive: true });
  const stem = join(folder, nameOf(plan));
  const started = performance.now();
  try {
    const isCached = existsSync(`${stem}.json`);
    if (!isCached) await build(plan, stem);
    const builtInSeconds = isCached ? null : (performance.now() - started) / 1000;
    const keysById = JSON.parse(readFileSync(`${stem}.json`, "utf8")) as KeysById;
    const brain = Brain.open({ path: `${stem}.db`, embedder: plan.embedder });
    return {
      builtInSeconds,
      ask: (question) => ask(brain, keysById, question),
      close() {
        brain.close();
        if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
      },
    };
  } catch (error) {
    if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Set, corpus and a digest of all that decides what the brain holds. */
function nameOf({ setName, corpus, embedder, afterSleep }: BrainPlan): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([corpus.documents, embedder.model, ANALYSER_VERSION, afterSleep]))
    .digest("hex")
    .slice(0, 12);
  return `${setName} ${corpus.name} ${digest}`.replaceAll(/[^A-Za-z0-9.-]+/g, "_");
}

/** Writes the brain and, when it is whole, the map of its ids beside it. */
async function build({ corpus, embedder, afterSleep }: BrainPlan, stem: string): Promise<void> {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${stem}.db${suffix}`, { force: true });
  const brain = Brain.open({ path: `${stem}.db`, create: true, embedder });
  try {
    const keysById = await rememberCorpus(brain, corpus);
    if (afterSleep) await sleepSoundly(brain);
    const seen = afterSleep ? bySurvivor(brain, keysById) : keysById;
    writeFileSync(`${stem}.json.part`, JSON.stringify(Object.fromEntries(seen)));
    renameSync(`${stem}.json.part`, `${stem}.json`);
  } finally {
    brain.close();
  }
}

/** One cycle; scores after half of one would be taken for those of the whole. */
async function sleepSoundly(brain: Brain): Promise<void> {
  const { phases } = await brain.sleep();
  const failed = phases.find(({ error }) => error !== undefined);
  if (failed === undefined) return;
  throw new DormouseError("sleep_failed", `the phase ${failed.name} failed: ${failed.error?.message ?? ""}`);
}

async function rememberCorpus(brain: Brain, corpus: Corpus): Promise<Map<string, string[]>> {
  const thoughts = corpus.documents.flatMap((document) =>
    toInputs(corpus.name, document).map((input) => ({ key: document.key, input })),
  );
  const keysById = new Map<string, string[]>();
  for (let start = 0; start < thoughts.length; start += BATCH) {
    const batch = thoughts.slice(start, start + BATCH);
    const results = await brain.rememberAll(batch.map(({ input }) => input));
    for (const [index, { id, status }] of results.entries()) {
      const key = batch[index]?.key;
      // The sets recall nothing, so a refusal would mean a broken write path and skew every score.
      if (id === null || key === undefined) throw new Error(`a document of ${corpus.name} was ${status}`);
      addKeys(keysById, id, [key]);
    }
  }
  return keysById;
}

/** What sleep merged away is found through what it stands behind. */
function bySurvivor(brain: Brain, keysById: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
  const seen = new Map<string, string[]>();
  for (const [id, keys] of keysById) {
    let survivor = id;
    for (;;) {
      const next = brain.show(survivor).state.mergedInto;
      if (next === null) break;
      survivor = next;
    }
    addKeys(seen, survivor, keys);
  }
  return seen;
}

function addKeys(keysById: Map<string, string[]>, id: string, keys: readonly string[]): void {
  const known = keysById.get(id);
  if (known === undefined) keysById.set(id, [...keys]);
  else known.push(...keys);
}

async function ask(brain: Brain, keysById: KeysById, question: EvalQuestion): Promise<Asked> {
  const { results, tookMs } = await brain.search(question.text, {
    k: PLACES,
    explain: true,
    ...(question.now === null ? {} : { now: question.now }),
  });
  const places = results.map(({ id, explain }) =>
    [id, ...(explain?.collapsed ?? [])].flatMap((standing) => keysById[standing] ?? []),
  );
  return { places, tookMs };
}
