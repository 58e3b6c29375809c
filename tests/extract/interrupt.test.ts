/** An extraction that is called off stops after its batch, keeps what it stored, and the next run goes on from there. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestStore, type TestStore } from "../support/brain.ts";
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

const countThoughts = () => brain.store.connection.values<number>("SELECT count(*) FROM node WHERE role = 1").get();
const writeTalk = () =>
  folder.write(
    "talk.jsonl",
    Array.from({ length: 60 }, (_, at) => `${JSON.stringify({ role: "user", content: `remark ${at}` })}\n`).join(""),
  );
const writeNotes = () => {
  for (let at = 0; at < 60; at++) folder.write(`note-${at}.md`, `Paragraph ${at} about the tram.\n`);
};

describe.each([
  ["records", writeTalk],
  ["notes", writeNotes],
])("an extraction of %s", (_, write) => {
  it("stops where it is called off and goes on later", async () => {
    write();
    const stop = new AbortController();
    const run = extract(brain, folder.path, {
      batchSize: 8,
      signal: stop.signal,
      rest: async () => {
        if ((countThoughts() ?? 0) >= 16) stop.abort(new Error("called off"));
      },
    });
    await expect(run).rejects.toThrow("called off");
    const stored = countThoughts() ?? 0;
    expect(stored).toBeGreaterThanOrEqual(16);
    expect(stored).toBeLessThan(60);
    const report = await extract(brain, folder.path);
    expect(report.thoughts).toBe(60 - stored);
    expect(countThoughts()).toBe(60);
  });

  it("reads nothing when it was called off before", async () => {
    write();
    await expect(extract(brain, folder.path, { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(countThoughts()).toBe(0);
  });
});
