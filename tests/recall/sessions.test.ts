/** Sources of real talks pulled back: a tool, a whole session. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recall, unrecall } from "../../src/recall/recall.ts";
import { buildContext } from "../../src/retrieve/context.ts";
import { list } from "../../src/retrieve/inspect.ts";
import { search } from "../../src/retrieve/search.ts";
import { why } from "../../src/retrieve/why.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { takeCensus } from "../../src/store/census.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { assistantLine, callLine, personLine, resultLine } from "../support/claude-lines.ts";
import { createTestFolder, extract, type TestFolder } from "../support/extract.ts";

let brain: TestStore;
let folder: TestFolder;
beforeEach(() => {
  brain = createTestStore();
  folder = createTestFolder();
});
afterEach(() => {
  brain.close();
  folder.close();
});

const SAMPLES = process.env.DORMOUSE_SHARED;
const texts = () => list(brain.store, { limit: 1_000 }).map(({ content }) => content);
const failing = () => checkIntegrity(brain.store).filter(({ violations }) => violations > 0);

const ONE = { session: "11111111-1111-4111-8111-111111111111" };
const TWO = { session: "22222222-2222-4222-8222-222222222222" };

describe("a tool whose results were wrong", () => {
  it("takes what the assistant said after reading them, and leaves the person's turns", async () => {
    const file = folder.write(
      "a.jsonl",
      personLine("Will it freeze in the greenhouse tonight?", ONE) +
        assistantLine("Let me look at the forecast for you.", ONE) +
        callLine("call_1", "Forecast", { place: "greenhouse" }, ONE) +
        resultLine("call_1", "minus four degrees", ONE) +
        assistantLine("It freezes tonight, so cover the tomatoes.", ONE) +
        personLine("Good, I cover the tomatoes.", ONE),
    );
    await extract(brain, file);
    expect(texts()).toContain("It freezes tonight, so cover the tomatoes.");
    const { counts } = recall(brain.store, { sources: "tool:forecast" }, {}, "person");
    expect(counts).toMatchObject({ sources: 1, thoughts: 1 });
    expect(texts().sort()).toEqual([
      "Good, I cover the tomatoes.",
      "Let me look at the forecast for you.",
      "Will it freeze in the greenhouse tonight?",
    ]);
    // Read again, the session brings nothing back.
    folder.append("a.jsonl", personLine("And tomorrow?", ONE));
    await extract(brain, file);
    expect(texts()).not.toContain("It freezes tonight, so cover the tomatoes.");
    expect(failing()).toEqual([]);
  });

  it.skipIf(SAMPLES === undefined)(
    "takes nothing that a person said in real sessions, whichever tool it is",
    async () => {
      await extract(brain, join(SAMPLES ?? "", "samples/claude-code"));
      const { store } = brain;
      const tools = store.read(() => store.sources.matching("tool:*"));
      expect(tools.length).toBeGreaterThan(2);
      const saidByPeople = () => list(store, { limit: 5_000 }).filter(({ speaker }) => speaker === "User").length;
      const people = saidByPeople();
      expect(people).toBeGreaterThan(20);
      const all = texts().length;
      const { counts, event } = recall(store, { sources: "tool:*" }, {}, "person");
      expect(counts.sources).toBe(tools.length);
      expect(counts.thoughts).toBeGreaterThan(0);
      expect(texts()).toHaveLength(all - counts.thoughts);
      expect(saidByPeople()).toBe(people);
      expect(failing()).toEqual([]);
      unrecall(store, event ?? "", "person");
      expect(texts()).toHaveLength(all);
      expect(failing()).toEqual([]);
    },
  );
});

describe("a session that is slept on and then pulled back", () => {
  it("leaves nothing but what another session said, too, and why says through which leg", async () => {
    const shared = "The boiler is serviced every autumn by Miller and sons";
    const merged = "The water meter in the cellar is read every January by the town";
    const bad = folder.write(
      "bad.jsonl",
      personLine(shared, ONE) + personLine(merged, ONE) + personLine("The roof leaks above the stairs", ONE),
    );
    const good = folder.write("good.jsonl", personLine(shared, TWO) + personLine(merged.toUpperCase(), TWO));
    await extract(brain, bad);
    brain.clock.advance(60_000);
    await extract(brain, good);
    const [leak] = (await search(brain.store, brain.embedder, "roof leaks above the stairs")).results;
    await brain.remember({ content: "Call the roofer about the stairs", legs: [{ parents: [leak?.id ?? ""] }] });
    await runSleep(brain.store, brain.embedder);
    const { store } = brain;
    const sourceId = leak?.source.id ?? "";
    const before = texts();
    expect(before).toHaveLength(4);
    const { event } = recall(store, { ids: [sourceId] }, {}, "person");
    // What one session said in other letters comes out from behind the copy that fell.
    expect(texts().sort()).toEqual([merged.toUpperCase(), shared].sort());
    const found = (await search(store, brain.embedder, "roof stairs roofer meter boiler")).results.map(
      ({ content }) => content,
    );
    expect(found.sort()).toEqual([merged.toUpperCase(), shared].sort());
    const { text } = await buildContext(store, brain.embedder, ["roof stairs"]);
    expect(text).not.toMatch(/leaks|roofer/);
    expect(takeCensus(store).visible).toBe(2);
    const kept = list(store, { limit: 10 }).find(({ content }) => content === shared);
    const legs = why(store, kept?.id ?? "").legs;
    expect(legs.map(({ broken, parents }) => [broken.length > 0, parents.some(({ id }) => id === sourceId)])).toEqual([
      [true, true],
      [false, false],
    ]);
    await runSleep(store, brain.embedder);
    expect(texts().sort()).toEqual([merged.toUpperCase(), shared].sort());
    unrecall(store, event ?? "", "person");
    expect(texts().sort()).toEqual([...before].sort());
    expect(failing()).toEqual([]);
  });
});
