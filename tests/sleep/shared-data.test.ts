/** Sleep over real conversations. Runs only where the shared evaluation data is: set DORMOUSE_SHARED to its folder. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Corpus, toInputs } from "../../scripts/eval/corpus.ts";
import { discoverSets } from "../../scripts/eval/discover.ts";
import { meanScores, type Scores, scoreRanking } from "../../scripts/eval/metrics.ts";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import type { Embedder } from "../../src/core/ports.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import { rememberAll } from "../../src/remember/remember.ts";
import { search } from "../../src/retrieve/search.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { DEFAULT_SLEEP_CONFIG } from "../../src/sleep/phase.ts";
import type { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const shared = process.env.DORMOUSE_SHARED ?? "";
const NIGHTS = 28;
const PLACES = 50;

/** On nothing that two friends talk about, nor on each other's subject. */
const ODDITIES = [
  "Purple giraffes negotiate quantum mortgages under Antarctic volcanoes",
  "Zirconium tariffs on left-handed oboes rose in Vanuatu",
  "The municipal sewer gauge in Kraljevo reads 4.7 bar",
  "Basalt thimbles outnumber heraldic ferrets at the customs office",
  "xq7 zz91 kplm vvtr",
  "Der Kohlrabi im Keller wurde am Dienstag gewogen",
];
/** Just as odd, each held by one thing; the last is what holds the first. */
const HELD = {
  supported: "Cobalt pangolins audit the escrow of Uzbek lighthouses",
  wasRead: "Turbot futures hinge on the brass astrolabe of Tromsø",
  pinned: "Eleven mauve zeppelins forfeited their Paraguayan hallmark",
  young: "Sulphur quotas baffle the accordion guild of Ulan Bator",
  supporter: "Gneiss obelisks lease their shadows to a Maltese notary",
};

interface Sleeper {
  readonly brain: TestStore;
  readonly embedder: Embedder;
  readonly corpus: Corpus;
  /** Documents by the thought they became. */
  readonly keysById: ReadonlyMap<string, readonly string[]>;
}

async function makeSleeper(corpus: Corpus, embedder: Embedder): Promise<Sleeper> {
  const brain = createTestStore();
  const keysById = new Map<string, string[]>();
  const inputs = corpus.documents.flatMap((document) =>
    toInputs(corpus.name, document).map((input) => ({ key: document.key, input })),
  );
  for (let start = 0; start < inputs.length; start += 500) {
    const batch = inputs.slice(start, start + 500);
    const results = await rememberAll(
      brain.store,
      embedder,
      batch.map(({ input }) => input),
      { actor: "extractor" },
    );
    for (const [index, { id }] of results.entries()) {
      const keys = keysById.get(id ?? "");
      if (keys === undefined) keysById.set(id ?? "", [batch[index]?.key ?? ""]);
      else keys.push(batch[index]?.key ?? "");
    }
  }
  return { brain, embedder, corpus, keysById };
}

/** Scores of every question; what was merged away is found through its survivor. Notes no reading. */
async function evaluate({ brain: { store }, embedder, corpus, keysById }: Sleeper): Promise<Scores[]> {
  const seen = new Map<string, string[]>();
  for (const [id, keys] of keysById) {
    const { mergedInto } = store.thoughts.state(store.thoughts.resolve(id));
    const standing = mergedInto === null ? id : store.thoughts.publicId(mergedInto);
    seen.set(standing, [...(seen.get(standing) ?? []), ...keys]);
  }
  const all: Scores[] = [];
  for (const { text, gold, now } of corpus.questions) {
    const { results } = await search(store, embedder, text, {
      k: PLACES,
      explain: true,
      ...(now === null ? {} : { now }),
    });
    const places = results.map(({ id, explain }) =>
      [id, ...(explain?.collapsed ?? [])].flatMap((standing) => seen.get(standing) ?? []),
    );
    all.push(scoreRanking(places, gold));
  }
  return all;
}

/** Ages in days of all that decayed for age or disuse, at the time it did. */
function agesAtDecay({ connection }: Store): number[] {
  return connection
    .sql<{ days: number }>(
      `SELECT (e.at - n.recorded_at) / ${MS_PER_DAY}.0 AS days FROM transition t JOIN node n ON n.id = t.node_id
       JOIN event e ON e.seq = t.event_seq WHERE t.axis = 1 AND t.new IN (1, 2)`,
    )
    .all()
    .map(({ days }) => days);
}

describe.skipIf(!process.env.DORMOUSE_SHARED)(`LoCoMo, ${NIGHTS} nights, nothing read between`, () => {
  const [set] = process.env.DORMOUSE_SHARED ? [...discoverSets(join(shared, "data"), { only: "locomo" })] : [];
  const corpora = set?.corpora ?? [];
  const scores = { before: [] as Scores[], after: [] as Scores[] };

  test.each(corpora.map((corpus) => [corpus.name, corpus] as const))(
    "%s: nothing younger than its age goes, what is isolated does, and each thing that holds one saves it",
    async (_, corpus) => {
      const embedder = createBuiltinEmbedder();
      const sleeper = await makeSleeper(corpus, embedder);
      const { store, clock } = sleeper.brain;
      const plant = async (...inputs: (string | RememberInput)[]) =>
        (
          await rememberAll(
            store,
            embedder,
            inputs.map((input) => (typeof input === "string" ? { content: input } : input)),
            { actor: "person" },
          )
        ).map(({ id }) => store.thoughts.resolve(id ?? ""));
      const odd = await plant(...ODDITIES);
      const [supporter = 0, wasRead = 0, pinned = 0] = await plant(HELD.supporter, HELD.wasRead, HELD.pinned);
      const [supported = 0] = await plant({
        content: HELD.supported,
        legs: [{ parents: [store.thoughts.publicId(supporter)] }],
      });
      store.write(() => {
        store.operations.noteAccess([wasRead], dayOf(clock.now()));
        const pin = { nodeId: pinned, axis: "permanence", to: 2 } as const;
        store.ledger.record({ kind: "permanence.changed", actor: "person", payload: {}, changes: [pin] });
      });
      scores.before.push(...(await evaluate(sleeper)));
      let young = 0;
      for (let night = 0; night < NIGHTS; night++) {
        if (night === NIGHTS - 10) [young = 0] = await plant(HELD.young);
        const { phases } = await runSleep(store, embedder);
        expect(phases.filter(({ error }) => error !== undefined)).toEqual([]);
        clock.advance(MS_PER_DAY);
      }
      scores.after.push(...(await evaluate(sleeper)));

      const ages = agesAtDecay(store);
      expect(ages.length).toBeGreaterThanOrEqual(ODDITIES.length);
      expect(Math.min(...ages)).toBeGreaterThanOrEqual(DEFAULT_SLEEP_CONFIG.decayAgeDays);
      const decayed = (nodeIds: readonly number[]) => nodeIds.map((id) => store.thoughts.state(id).decayed);
      expect(decayed(odd)).toEqual(odd.map(() => "disuse"));
      expect(decayed([supporter, supported, wasRead, pinned, young])).toEqual(Array.from({ length: 5 }, () => "none"));
      const turns = [...sleeper.keysById.keys()].map((id) => store.thoughts.state(store.thoughts.resolve(id)));
      expect(turns.filter((state) => state.decayed !== "none").length).toBeLessThan(turns.length / 100);
      expect(turns.filter(({ mergedInto }) => mergedInto !== null).length).toBeLessThan(turns.length / 100);
      sleeper.brain.close();
    },
    300_000,
  );

  test("questions find what they found before the first night", () => {
    const [before, after] = [meanScores(scores.before), meanScores(scores.after)];
    expect(scores.after.length).toBeGreaterThan(500);
    expect(before.hit10).toBeGreaterThan(0.8);
    for (const name of ["hit1", "hit5", "hit10", "recall10", "mrr"] as const) {
      expect([name, after[name] >= before[name] - 0.005]).toEqual([name, true]);
    }
  });
});
