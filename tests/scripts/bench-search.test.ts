import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeBrain } from "../../scripts/bench/brain-files.ts";
import { makeQuestions, QUESTION_SHAPES } from "../../scripts/bench/questions.ts";
import { startPeer, startSearcher } from "../../scripts/bench/searchers.ts";
import { createBrainShelf } from "../../scripts/bench/shelf.ts";
import { Brain } from "../../src/app.ts";

const SLOW = 120_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-bench-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the brains of the search bench", { timeout: SLOW }, () => {
  it("hold a hub, insights that rest on turns, links, and questions of every shape that find something", async () => {
    const path = join(folder, "brain.db");
    await makeBrain(path, 2_100, () => {});
    const brain = Brain.open({ path });
    const census = brain.stats();
    expect(census.thoughts).toBe(2_100);
    const questions = makeQuestions(path, 20);
    expect(new Set(questions.map(({ shape }) => shape))).toEqual(new Set(QUESTION_SHAPES));
    for (const { shape, query, filters } of questions) {
      const { results, scanned } = await brain.search(query, filters);
      expect(results.length, shape).toBeGreaterThan(0);
      if (shape === "narrow filter") expect(scanned.eligible).toBeLessThan(500);
    }
    const insights = brain.list({ kinds: ["insight"], limit: 5 });
    const parents = brain.why(insights[0]?.id ?? "").legs.flatMap((leg) => leg.parents);
    expect(parents.filter(({ role }) => role === "thought").length).toBeGreaterThan(0);
    brain.close();
    const searcher = startSearcher({ kind: "brain", path });
    const { results, withAccessMs } = await searcher.ask({ query: questions[0]?.query ?? "", filters: {} });
    expect([results, withAccessMs > 0]).toEqual([10, true]);
    expect(await searcher.end()).toBeGreaterThan(10 * 2 ** 20);
  });

  it("are kept under a name only when whole, and taken from there the next time", async () => {
    const cache = join(folder, "cache");
    const told: string[] = [];
    for (const run of [1, 2]) {
      const shelf = createBrainShelf((text) => told.push(`${run} ${text}`), cache);
      const brain = Brain.open({ path: await shelf.brainOf(120) });
      expect(brain.stats().thoughts).toBe(120);
      brain.close();
      shelf.remove();
    }
    expect(told.filter((text) => text.startsWith("1 making"))).not.toEqual([]);
    expect(told.filter((text) => text.startsWith("2 "))).toEqual([]);
  });
});

describe("a peer", { timeout: SLOW }, () => {
  const script = () => {
    const path = join(folder, "peer.mjs");
    writeFileSync(
      path,
      `import { createInterface } from "node:readline";
       const texts = [];
       for await (const line of createInterface({ input: process.stdin })) {
         const request = JSON.parse(line);
         if (request.op === "add") texts.push(request.text);
         if (request.query === "die") process.exit(3);
         const results = texts.filter((text) => text.includes(request.query)).slice(0, request.k);
         console.log(JSON.stringify(request.op === "add" ? {} : { results }));
       }`,
    );
    return `"${process.execPath}" "${path}"`;
  };

  it("is filled and asked through lines of JSON", async () => {
    const peer = startPeer(script(), 2);
    expect(await peer.fill(["red fox", "grey fox", "white fox", "owl"], 60_000)).toMatchObject({ texts: 4 });
    expect(await peer.ask({ query: "fox", filters: {} })).toMatchObject({ results: 2 });
    expect(await peer.ask({ query: "owl", filters: {} })).toMatchObject({ results: 1 });
    expect(await peer.end()).toBeNull();
  });

  it("that dies ends the bench with what it ended with", async () => {
    const peer = startPeer(script(), 2);
    await expect(peer.ask({ query: "die", filters: {} })).rejects.toThrow("ended with 3");
  });
});
