import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RememberInput } from "../../src/core/types.ts";
import { forget } from "../../src/recall/states.ts";
import { search } from "../../src/retrieve/search.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const turn = (content: string, session: string, record: number, speaker?: string): RememberInput => ({
  content,
  ...(speaker === undefined ? {} : { speaker }),
  occurrence: {
    source: { type: "session", key: session, name: session, trust: "trusted" },
    recordKey: `${session} ${record}`,
  },
});
const ranked = async (query: string) =>
  (await search(brain.store, brain.embedder, query, { explain: true, k: 50 })).results;

describe("the source of the best answer", () => {
  const filler = (session: string) =>
    Array.from({ length: 8 }, (_, index) => turn(`${session} filler number ${index}`, session, index + 1));

  it("lifts what else was said in it, beyond the reach of the turns around, until the best is gone", async () => {
    const [best] = await brain.remember(turn("The observatory trip to Tenerife was booked", "trip", 0));
    await brain.remember(...filler("trip"), turn("booked a table", "trip", 10));
    await brain.remember(...filler("dinner"), turn("booked a bench", "dinner", 10));
    const graphOf = async (content: string) =>
      (await ranked("observatory Tenerife booked")).find((result) => result.content === content)?.channels.graph ?? 0;
    expect(await graphOf("booked a table")).toBeGreaterThan(await graphOf("booked a bench"));
    forget(brain.store, best?.id ?? "", "r", "person");
    expect(Math.abs((await graphOf("booked a table")) - (await graphOf("booked a bench")))).toBeLessThan(0.01);
  });

  it("does not join single statements of a person", async () => {
    await brain.remember("The observatory trip was booked", "booked a table");
    const { channels } = (await ranked("observatory trip booked")).find(
      ({ content }) => content === "booked a table",
    ) ?? {
      channels: { graph: -1 },
    };
    expect(channels.graph).toBe(0);
  });
});

describe("a speaker whom the question names", () => {
  it("comes before another who said as much, and the explanation says why", async () => {
    await brain.remember(
      turn("I would love to see the whales", "a", 0, "Melanie"),
      turn("I would love to see the whales too", "b", 0, "Caroline"),
    );
    const of = (results: Awaited<ReturnType<typeof ranked>>) =>
      results.map(({ content, explain }) => [
        content.endsWith("too") ? "Caroline" : "Melanie",
        explain?.bySpeakerNamed,
      ]);
    expect(of(await ranked("Which animals would Caroline love to see?"))).toEqual([
      ["Caroline", true],
      ["Melanie", false],
    ]);
    expect(of(await ranked("Which animals would Melanie love to see?"))).toEqual([
      ["Melanie", true],
      ["Caroline", false],
    ]);
    expect(of(await ranked("Which animals would they love to see?")).map(([, named]) => named)).toEqual([false, false]);
  });
});
