import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RememberInput } from "../../src/core/types.ts";
import { search } from "../../src/retrieve/search.ts";
import { Eligible, type EligibleFilter } from "../../src/store/eligible.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const SLOW = 180_000;

describe("a common word of which the newest texts do not pass", () => {
  const OLD = 2_001;
  const NEW = 11_000;
  let brain: TestStore;
  let old: number[] = [];
  let news: number[] = [];
  let both = 0;
  let zeppelin = 0;
  let tagIds: number[] = [];

  const rememberMany = async (inputs: readonly RememberInput[]) => {
    const ids: number[] = [];
    for (let start = 0; start < inputs.length; start += 1_000) {
      const results = await brain.remember(...inputs.slice(start, start + 1_000));
      ids.push(...results.map(({ id }) => brain.store.thoughts.resolve(id ?? "")));
    }
    return ids;
  };
  const numbered = (count: number, text: string, more: Partial<RememberInput> = {}): RememberInput[] =>
    Array.from({ length: count }, (_, index) => ({ content: `${text} ${index}`, ...more }));
  const find = (words: string[], filter: EligibleFilter) => {
    const { store } = brain;
    const terms = store.fullText.weigh(words.map((word) => [word]));
    return store.fullText.candidates(terms, new Eligible(store.connection, filter)).map(({ ids }) => ids);
  };
  const ascending = (ids: readonly number[]) => [...ids].sort((a, b) => a - b);

  beforeAll(async () => {
    brain = createTestStore();
    const tags = ["old"];
    old = await rememberMany([
      { content: "project falcon", tags },
      ...numbered(OLD - 1, "project", { tags }),
      ...numbered(50, "falcon", { tags }),
    ]);
    both = old[0] ?? 0;
    news = await rememberMany([...numbered(NEW - 1, "project falcon"), { content: "project zeppelin" }]);
    zeppelin = news.at(-1) ?? 0;
    tagIds = [brain.store.labels.find("tag", "old") ?? 0];
  }, SLOW);
  afterAll(() => brain.close());

  const holdProject = () => old.slice(0, OLD);

  it("is found in every older text that passes a filter, and in no other", () => {
    expect(new Eligible(brain.store.connection, { tagIds }).few(1_000)).toBeNull();
    expect(ascending(find(["project"], { tagIds }).flat())).toEqual(holdProject());
  });

  it("is found together with another such word", () => {
    expect(find(["project", "falcon"], { tagIds })[0]).toEqual([both]);
  });

  it("is read although a rarer word stands in a text, when that text does not pass", () => {
    expect(find(["zeppelin"], {})).toEqual([[zeppelin]]);
    expect(ascending(find(["project", "zeppelin"], { tagIds }).flat()).filter((id) => id !== zeppelin)).toEqual(
      holdProject(),
    );
  });

  it("is read up to the bound where more pass", () => {
    const found = find(["project"], {}).flat();
    expect(ascending(found)).toEqual(ascending(news).slice(-3_000));
  });

  it("is found in every older text when all newer ones are hidden", () => {
    const { store } = brain;
    store.write(() => {
      const changes = news.map((nodeId) => ({ nodeId, axis: "decayed" as const, to: 1 }));
      store.ledger.record({ kind: "belief.changed", actor: "person", changes, payload: {} });
    });
    expect(store.fullText.weigh([["project"]])[0]?.documentCount).toBe(OLD + NEW);
    expect(ascending(find(["project"], {}).flat())).toEqual(holdProject());
    expect(find(["project", "falcon"], {})[0]).toEqual([both]);
    expect(find(["project", "zeppelin"], {}).flat()).toEqual(expect.arrayContaining(holdProject()));
  });
});

describe("telling ids that pass from a list", () => {
  it("gives the same whether each is tested or the filter's index was read, hidden ones and times included", async () => {
    const brain = createTestStore();
    const { store } = brain;
    const results = await brain.remember(
      ...Array.from({ length: 60 }, (_, index): RememberInput => {
        const time = Date.UTC(2020, 0, 1 + index);
        return {
          content: `entry ${index}`,
          kind: index % 2 === 0 ? "decision" : "belief",
          tags: index % 3 === 0 ? ["third"] : [],
          ...(index % 5 === 0 ? {} : { referent: { from: time, to: time } }),
        };
      }),
    );
    const ids = results.map(({ id }) => store.thoughts.resolve(id ?? ""));
    const changes = ids.slice(40, 50).map((nodeId) => ({ nodeId, axis: "decayed" as const, to: 1 }));
    store.write(() => store.ledger.record({ kind: "belief.changed", actor: "person", changes, payload: {} }));
    const kindIds = [store.labels.find("kind", "decision") ?? 0];
    const tagIds = [store.labels.find("tag", "third") ?? 0];
    const when = { from: Date.UTC(2020, 0, 10), to: Date.UTC(2020, 1, 20) };
    for (const filter of [{ kindIds }, { tagIds }, { when }, { kindIds, when }, { tagIds, when }, {}]) {
      const expected = new Eligible(store.connection, filter).among(ids).map(({ id }) => id);
      expect(expected.length).toBeGreaterThan(2);
      const eligible = new Eligible(store.connection, filter);
      expect(eligible.passing(ids, 100)).toEqual(expected);
      eligible.passing(new Array<number>(10_001).fill(-1), 1);
      expect(eligible.passing(ids, 100)).toEqual(expected);
      expect(eligible.passing(ids, 2)).toEqual(expected.slice(0, 2));
    }
    brain.close();
  });
});

describe("a word with several stored terms", () => {
  let brain: TestStore;
  beforeEach(() => {
    brain = createTestStore();
  });
  afterEach(() => brain.close());

  it("weighs something in a brain of one thought, and is found by its text", async () => {
    await brain.remember("הבית הגדול נמצא בירושלים");
    const terms = brain.store.fullText.weigh([["הבית", "בית"]]);
    expect(terms.map(({ documentCount, wordCount }) => [documentCount, wordCount])).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(terms[0]?.idf).toBeGreaterThan(0);
    const { results } = await search(brain.store, brain.embedder, "הבית", {});
    expect(results[0]?.channels.text).toBeGreaterThan(0);
  });
});
