/**
 * Brains of generated texts for the benches, made through `remember` in batches, with the legs and links that a
 * year of use leaves. Knows nothing of files that are kept.
 */
import { Brain } from "../../src/app.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Embedder } from "../../src/core/ports.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import type { NewLink } from "../../src/store/links.ts";
import { Store } from "../../src/store/store.ts";
import type { Progress } from "./figures.ts";
import { createRandom, createTextSource, INSIGHT_STEP, JOURNAL_STEP } from "./texts.ts";

/** Thoughts of one transaction. */
export const BATCH = 256;
/** The same where only the brain matters and not how fast it is made. */
const SHELF_BATCH = 1_000;
const LINK_BATCH = 1_000;
/** How far back a thought finds one like it. */
const LINK_REACH = 40;
const SEED = 20_240_501;
const PROGRESS_STEP = 10_000;

/**
 * Remembers the first `nodes` generated turns, in batches. Insights rest on two or three turns of the batch
 * before, every entry of the journal also on the very first thought, which so becomes a hub.
 */
export async function fillBrain(brain: Brain, nodes: number, onProgress?: Progress, size = BATCH): Promise<void> {
  const random = createRandom(SEED);
  let batch: RememberInput[] = [];
  let before: readonly string[] = [];
  let hub: string | null = null;
  let done = 0;
  for (const turn of generateTurns(nodes)) {
    batch.push(turn);
    if (batch.length < size && done + batch.length < nodes) continue;
    const firstTurn = done;
    const results = await brain.rememberAll(
      batch.map((input, index) => {
        const parents = parentsOf(firstTurn + index + 1, before, hub, random);
        return parents.length === 0 ? input : { ...input, legs: [{ parents }] };
      }),
    );
    before = results.flatMap(({ id }) => id ?? []);
    hub ??= before[0] ?? null;
    done += batch.length;
    if (done % PROGRESS_STEP < batch.length) onProgress?.(`${done} of ${nodes} remembered`);
    batch = [];
  }
}

/** Whom the turn of this number rests on besides its own source. */
function parentsOf(turn: number, before: readonly string[], hub: string | null, random: () => number): string[] {
  if (turn % JOURNAL_STEP === 0) return hub === null ? [] : [hub];
  if (turn % INSIGHT_STEP !== 1 || before.length === 0) return [];
  const count = 2 + Math.floor(random() * 2);
  return [...new Set(Array.from({ length: count }, () => before[Math.floor(random() * before.length)] ?? ""))];
}

/** Links as sleep and wikilinks leave them: every other thought like one near it, one in fifty mentions the first. */
function addLinks(path: string): void {
  const store = Store.open(path, systemClock);
  const random = createRandom(SEED);
  try {
    const [hubId = 0] = store.thoughts.idsAfter(0, 1);
    for (let ids = store.thoughts.idsAfter(hubId, LINK_BATCH); ids.length > 0; ) {
      const links = ids.flatMap((fromId, index): NewLink[] => {
        const near = ids[Math.max(0, index - 1 - Math.floor(random() * LINK_REACH))] ?? fromId;
        return [
          ...(index % 2 === 0 ? [{ type: "similar" as const, fromId, toId: near, weight: 600 + (fromId % 400) }] : []),
          ...(index % 50 === 0 ? [{ type: "mention" as const, fromId, toId: hubId, weight: 1000 }] : []),
        ];
      });
      store.write(() => store.links.add(links, "sleep"));
      ids = store.thoughts.idsAfter(ids.at(-1) ?? 0, LINK_BATCH);
    }
  } finally {
    store.close();
  }
}

/** The turns that `fillBrain` remembers, without a brain. */
export function* generateTurns(nodes: number): Generator<RememberInput> {
  const source = createTextSource(SEED);
  for (let index = 0; index < nodes; index++) yield source.next();
}

/** Makes a brain of the first `nodes` generated turns with legs and links. */
export async function makeBrain(path: string, nodes: number, onProgress: Progress): Promise<void> {
  const brain = Brain.open({ path, create: true });
  try {
    await fillBrain(brain, nodes, onProgress, SHELF_BATCH);
  } finally {
    brain.close();
  }
  onProgress("adding links");
  addLinks(path);
  onProgress("shelving vectors");
  const rested = Brain.open({ path });
  try {
    const { phases } = await rested.sleep({ phases: ["shelve"] });
    const failed = phases.find(({ error }) => error !== undefined);
    if (failed !== undefined) throw new Error(`vectors were not shelved: ${failed.error?.message}`);
  } finally {
    rested.close();
  }
}

/** The built-in embedder with a stopwatch: milliseconds spent on queries since the last `takeMs`. */
export function createTimedEmbedder(): Embedder & { takeMs(): number } {
  const inner = createBuiltinEmbedder();
  let spent = 0;
  return {
    model: inner.model,
    embedPassages: (texts) => inner.embedPassages(texts),
    async embedQuery(text) {
      const started = performance.now();
      const vector = await inner.embedQuery(text);
      spent += performance.now() - started;
      return vector;
    },
    takeMs() {
      const taken = spent;
      spent = 0;
      return taken;
    },
  };
}
