/** What files say while a recall keeps it out comes in once the recall is undone. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recall, unrecall } from "../../src/recall/recall.ts";
import { list } from "../../src/retrieve/inspect.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { assistantLine, personLine } from "../support/claude-lines.ts";
import { createTestFolder, extract, standingTexts, type TestFolder } from "../support/extract.ts";

let brain: TestStore;
let folder: TestFolder;
beforeEach(() => {
  brain = createTestStore();
  folder = createTestFolder();
});
afterEach(() => {
  const broken = checkIntegrity(brain.store).filter(({ violations }) => violations > 0);
  brain.close();
  folder.close();
  expect(broken).toEqual([]);
});

const run = (batchSize = 2) => extract(brain, folder.path, { batchSize });
const visible = () =>
  list(brain.store, { limit: 1_000 })
    .map(({ content }) => content)
    .sort();
const inOrder = () => standingTexts(brain.store).map(({ text }) => text);
const pullBack = (sources: string) => recall(brain.store, { sources }, {}, "person").event ?? "";
const giveBack = (event: string) => unrecall(brain.store, event, "person");

const turns = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => personLine(`I said thing number ${from + index}.`)).join("");
const texts = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `I said thing number ${from + index}.`);

describe("a session that is recalled while it goes on", () => {
  it("gives every turn once the recall is undone, in order", async () => {
    folder.write("s.jsonl", turns(0, 5));
    await run();
    expect(visible()).toEqual(texts(0, 5));
    const event = pullBack("claude-code *");
    folder.append("s.jsonl", turns(5, 12));
    expect(await run()).toMatchObject({ thoughts: 0, skipped: { dead_source: 7 } });
    // Nothing was recalled or given back since: it is not read again in vain.
    expect(await run()).toMatchObject({ records: 0, skipped: { unchanged: 1 } });
    folder.append("s.jsonl", turns(12, 13));
    expect(await run()).toMatchObject({ thoughts: 0, skipped: { dead_source: 8 } });
    giveBack(event);
    expect(visible()).toEqual(texts(0, 5));
    expect(await run()).toMatchObject({ thoughts: 8 });
    expect(inOrder()).toEqual(texts(0, 13));
    expect(await run()).toMatchObject({ records: 0, skipped: { unchanged: 1 } });
  });

  it("gives what a recalled model said, and took what the person said at once", async () => {
    folder.write("s.jsonl", assistantLine("It rains today."));
    await run();
    const event = pullBack("model:*");
    expect(visible()).toEqual([]);
    folder.append("s.jsonl", turns(0, 3) + assistantLine("The sun shines tomorrow.") + turns(3, 6));
    expect(await run()).toMatchObject({ thoughts: 6, skipped: { dead_source: 1 } });
    expect(visible()).toEqual(texts(0, 6));
    giveBack(event);
    expect(await run()).toMatchObject({ thoughts: 1 });
    expect(visible()).toEqual([...texts(0, 6), "It rains today.", "The sun shines tomorrow."]);
    expect(await run()).toMatchObject({ records: 0, skipped: { unchanged: 1 } });
  });

  it("says the same in a dry run", async () => {
    folder.write("s.jsonl", turns(0, 2));
    await run();
    pullBack("claude-code *");
    folder.append("s.jsonl", turns(2, 5));
    const planned = await extract(brain, folder.path, { dryRun: true });
    expect(planned).toMatchObject({ thoughts: 0, skipped: { dead_source: 3 } });
    expect(await run()).toMatchObject({ thoughts: 0, skipped: { dead_source: 3 } });
  });
});

describe("a note that is recalled while it is edited", () => {
  it("gives its new paragraphs once the recall is undone", async () => {
    folder.write("Garden.md", "# Garden\n\nThe beans are sown.\n");
    folder.write("House.md", "# House\n\nThe roof leaks.\n");
    await run();
    const event = pullBack("Garden");
    expect(visible()).toEqual(["The roof leaks."]);
    folder.write("Garden.md", "# Garden\n\nThe beans are sown.\n\nThe peas are up.\n");
    expect(await run()).toMatchObject({ thoughts: 0, skipped: { dead_source: 1, unchanged: 1 } });
    expect(await run()).toMatchObject({ skipped: { unchanged: 2 } });
    giveBack(event);
    expect(await run()).toMatchObject({ thoughts: 1, skipped: { unchanged: 1 } });
    expect(visible()).toEqual(["The beans are sown.", "The peas are up.", "The roof leaks."]);
    expect(await run()).toMatchObject({ skipped: { unchanged: 2 } });
  });
});
