/** What is reached over the graph only: neither words nor vectors of the answer touch the question. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RememberInput } from "../../src/core/types.ts";
import { forget, revive } from "../../src/recall/states.ts";
import { search } from "../../src/retrieve/search.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const explained = async (query: string, id: string) =>
  (await search(brain.store, brain.embedder, query, { explain: true, k: 50 })).results.find((entry) => entry.id === id);
const hide = (id: string) =>
  brain.store.write(() =>
    brain.store.ledger.record({
      kind: "decayed",
      actor: "sleep",
      payload: {},
      changes: [{ nodeId: brain.store.thoughts.resolve(id), axis: "decayed", to: 1 }],
    }),
  );
async function rememberOne(input: RememberInput): Promise<string> {
  const [result] = await brain.remember(input);
  return result?.id ?? "";
}
const turn = (content: string, session: string, record: number): RememberInput => ({
  content,
  occurrence: {
    source: { type: "session", key: session, name: session, trust: "trusted" },
    recordKey: `${session} ${record}`,
  },
});

describe("an answer two derivation edges away", () => {
  let [first, middle, answer] = ["", "", ""];
  beforeEach(async () => {
    first = await rememberOne({ content: "zeppelin" });
    middle = await rememberOne({ content: "qqq www", legs: [{ parents: [first] }] });
    answer = await rememberOne({ content: "xxx yyy", legs: [{ parents: [middle] }] });
    // Enough others that the vector channel has nearer ones to offer than the answer.
    await brain.remember(...Array.from({ length: 80 }, (_, index) => `zebra ${index} zenith ${index} zeal`));
  });

  it("is found through both, though neither channel touches it", async () => {
    const found = await explained("zeppelin", answer);
    expect(found?.channels.text).toBe(0);
    expect(found?.channels.vector).toBeLessThan(0.01);
    expect(found?.explain?.paths).toMatchObject([{ from: first, via: "derivation" }]);
    const nearer = await explained("zeppelin", middle);
    expect(nearer?.channels.graph).toBeGreaterThan(found?.channels.graph ?? 0);
  });

  it.each([
    ["the near end of the first edge", () => first],
    ["the end that both edges share", () => middle],
    ["the far end of the second edge", () => answer],
  ])("is found no longer when %s decays", async (_, pick) => {
    expect(await explained("zeppelin", answer)).toBeDefined();
    hide(pick());
    expect(await explained("zeppelin", answer)).toBeUndefined();
  });

  it("is found again when the shared end is revived", async () => {
    forget(brain.store, middle, "r", "person");
    expect(await explained("zeppelin", answer)).toBeUndefined();
    revive(brain.store, middle, "person");
    expect(await explained("zeppelin", answer)).toBeDefined();
  });

  it("is found against the direction of the edges as well", async () => {
    const found = await explained("xxx yyy", first);
    expect(found?.explain?.paths).toMatchObject([{ from: answer, via: "derivation" }]);
  });

  it("does not end where a third edge would lead", async () => {
    const far = await rememberOne({ content: "vvv uuu", legs: [{ parents: [answer] }] });
    expect((await explained("zeppelin", far))?.channels.graph ?? 0).toBe(0);
  });
});

describe("turns around a match", () => {
  const texts = [
    "aaa one",
    "bbb two",
    "ccc three",
    "ddd four",
    "zeppelin",
    "eee five",
    "fff six",
    "ggg seven",
    "hhh eight",
  ];
  let ids: string[] = [];
  beforeEach(async () => {
    ids = [];
    for (const [index, content] of texts.entries()) ids.push(await rememberOne(turn(content, "s", index)));
    await brain.remember(...Array.from({ length: 80 }, (_, index) => `zebra ${index} zenith ${index} zeal`));
  });
  const graph = async (index: number) => (await explained("zeppelin", ids[index] ?? ""))?.channels.graph ?? 0;

  it("take less the farther they stand, four turns either way", async () => {
    const before = [await graph(3), await graph(2), await graph(1), await graph(0)];
    const after = [await graph(5), await graph(6), await graph(7), await graph(8)];
    for (const side of [before, after]) {
      expect(side).toEqual([...side].sort((a, b) => b - a));
      expect(side[3]).toBeGreaterThan(0);
    }
  });

  it("take nothing from behind a hidden turn", async () => {
    expect(await graph(7)).toBeGreaterThan(0);
    hide(ids[6] ?? "");
    expect(await graph(7)).toBe(0);
    expect(await graph(5)).toBeGreaterThan(0);
  });
});
