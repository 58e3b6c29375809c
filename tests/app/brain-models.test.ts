/** Which embedder serves a brain: the one its model names, on a machine that has it and on one that has not. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BrainModels } from "../../src/app/brain-models.ts";
import { Brain } from "../../src/app.ts";
import type { Embedder } from "../../src/core/ports.ts";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import { rememberAll } from "../../src/remember/remember.ts";
import { search } from "../../src/retrieve/search.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { createTestStore } from "../support/brain.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";

let home: string;
let path: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "dormouse-models-"));
  path = join(home, "brain.db");
  vi.stubEnv("HOME", home);
  vi.stubEnv("DORMOUSE_MODEL_DIR", "");
  // No test may reach for the network.
  vi.stubEnv("HF_ENDPOINT", "http://127.0.0.1:9");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const TEXTS = [
  "The physician prescribed medicine for her illness.",
  "He repaired the engine of the old car.",
  "They cooked pasta for dinner.",
  "Our flight to Paris was delayed by snow.",
];
const QUESTION = "doctor gave drugs to a sick patient";

/** The built-in model of an earlier package: the same name, and vectors that mean nothing to today's. */
function olderBuiltin(): Embedder {
  const today = createBuiltinEmbedder();
  const turn = (vector: Int8Array) => vector.toReversed();
  return {
    model: { ...today.model, revision: "older" },
    embedPassages: async (texts) => (await today.embedPassages(texts)).map(turn),
    embedQuery: async (text) => turn(await today.embedQuery(text)),
  };
}

async function fill(embedder: Embedder): Promise<void> {
  const brain = Brain.open({ path, create: true, embedder });
  await brain.rememberAll(TEXTS.map((content) => ({ content })));
  brain.close();
}

const missing = expect.objectContaining({ code: "model_missing" });

describe("a brain of the built-in model", () => {
  it("needs nothing of this machine", async () => {
    const brain = Brain.open({ path, create: true });
    await brain.rememberAll(TEXTS.map((content) => ({ content })));
    expect((await brain.search(QUESTION)).results[0]?.content).toBe(TEXTS[0]);
    expect(await brain.modelStatus()).toMatchObject({
      active: { name: "builtin", vectors: 4 },
      current: true,
      building: null,
    });
    brain.close();
  });

  it("gets new vectors at once when the package brings another table, and says so once", async () => {
    await fill(olderBuiltin());
    const notices: string[] = [];
    const brain = Brain.open({ path, onNotice: (notice) => notices.push(notice) });
    expect((await brain.modelStatus()).current).toBe(false);
    const answer = await brain.search(QUESTION);
    expect(answer.results[0]?.content).toBe(TEXTS[0]);
    expect(answer.results[0]?.channels.vector).toBeGreaterThan(0);
    expect(answer.notice).toBeUndefined();
    await brain.search(QUESTION);
    expect(notices).toEqual([expect.stringContaining("made again")]);
    expect(await brain.modelStatus()).toMatchObject({ current: true, active: { vectors: 4 } });
    expect((await brain.doctor()).healthy).toBe(true);
    brain.close();
  });

  it("takes new thoughts too, after the table changed", async () => {
    await fill(olderBuiltin());
    const brain = Brain.open({ path });
    await brain.remember({ content: "A violin was bought." });
    expect((await brain.search("fiddle purchase")).results[0]?.content).toBe("A violin was bought.");
    expect((await brain.modelStatus()).active?.vectors).toBe(5);
    brain.close();
  });

  it("is searched by words, and says so, when it is too large for that; sleep makes the vectors", async () => {
    await fill(olderBuiltin());
    const { store, close } = createTestStore({ path });
    const notices: string[] = [];
    const models = new BrainModels(store, {
      given: undefined,
      directory: undefined,
      onNotice: (notice) => notices.push(notice),
      renewAtOnce: 3,
    });
    const answer = await search(store, models.current, "engine of the car");
    expect(answer.results.map(({ content }) => content)).toEqual([TEXTS[1]]);
    expect(answer.results[0]?.channels.vector).toBe(0);
    expect(answer.notice).toContain("by words only");
    expect(notices).toEqual([expect.stringContaining("dormouse model use builtin")]);

    const [result] = await rememberAll(store, models.current, [{ content: "A violin was bought." }], {
      actor: "person",
    });
    expect(result?.status).toBe("created");
    expect((await search(store, models.current, "violin")).results[0]?.id).toBe(result?.id);
    expect(store.vectors.count()).toBe(4);

    const dry = await runSleep(store, models.current, { dryRun: true }, models.building);
    expect(dry.phases[0]).toMatchObject({ name: "embed", planned: 5, applied: 0 });
    const { phases } = await runSleep(store, models.current, {}, models.building);
    expect(phases.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(phases[0]).toMatchObject({ name: "embed", applied: 5 });
    const later = await search(store, models.current, QUESTION);
    expect(later.notice).toBeUndefined();
    expect(later.results[0]).toMatchObject({ content: TEXTS[0] });
    close();
  });

  it("does not give up another model that is on its way", async () => {
    await fill(olderBuiltin());
    const { store, close } = createTestStore({ path });
    store.write(() => store.models.begin(createHashEmbedder(64, "other").model));
    const models = new BrainModels(store, { given: undefined, directory: undefined, onNotice: () => {} });
    expect((await search(store, models.current, "engine of the car")).notice).toContain("by words only");
    expect(store.models.building()?.name).toBe("other");
    close();
  });

  it("is searched by words while another process makes the vectors", async () => {
    await fill(olderBuiltin());
    const { store, close } = createTestStore({ path });
    store.leases.acquire("model", "another", 60_000);
    const brain = Brain.open({ path, clock: { now: () => store.now() } });
    const answer = await brain.search("engine of the car");
    expect(answer.results.map(({ content }) => content)).toEqual([TEXTS[1]]);
    expect(answer.notice).toContain("by words only");
    store.leases.release("model", "another");
    expect((await brain.search("engine of the car")).notice).toBeUndefined();
    brain.close();
    close();
  });
});

describe("a brain whose model is not on this machine", () => {
  beforeEach(() => fill(createHashEmbedder(384, "e5-small-v2")));

  it("fails to search, to remember and to read files, with what to do; it takes no other model", async () => {
    const notes = join(home, "note.md");
    writeFileSync(notes, "A note.\n");
    const brain = Brain.open({ path });
    const before = brain.stats();
    await expect(brain.search("engine")).rejects.toEqual(missing);
    await expect(brain.search("engine")).rejects.toMatchObject({
      hint: expect.stringContaining("dormouse model use e5-small-v2"),
    });
    await expect(brain.context(["engine"])).rejects.toEqual(missing);
    await expect(brain.remember({ content: "new" })).rejects.toEqual(missing);
    await expect(brain.extract([notes])).rejects.toEqual(missing);
    await expect(brain.doctor({ rebuild: true })).rejects.toEqual(missing);
    expect(brain.stats().vectors).toEqual(before.vectors);
    expect(brain.stats().thoughts).toBe(before.thoughts);
    brain.close();
  });

  it("still shows, lists, forgets and checks, and gives the context that no hint asks for", async () => {
    const brain = Brain.open({ path });
    const [thought] = brain.list({ limit: 10 });
    expect(brain.show(thought?.id ?? "")).toMatchObject({ content: expect.any(String) });
    expect(brain.forget(thought?.id ?? "", "old")).toBeDefined();
    expect(brain.ledger().length).toBeGreaterThan(0);
    expect((await brain.doctor()).healthy).toBe(true);
    expect((await brain.context()).text).toContain(TEXTS[1]);
    expect(await brain.modelStatus()).toMatchObject({ active: { name: "e5-small-v2" } });
    brain.close();
  });

  it("sleeps as far as no vector is missing, and says what is missing otherwise", async () => {
    const brain = Brain.open({ path });
    expect((await brain.sleep()).phases.filter(({ error }) => error !== undefined)).toEqual([]);
    brain.close();
    const { store, close } = createTestStore({ path });
    await rememberAll(store, noEmbedder, [{ content: "without a vector" }], { actor: "person" });
    close();
    const again = Brain.open({ path });
    const failed = (await again.sleep()).phases.filter(({ error }) => error !== undefined);
    expect(failed.map(({ name, error }) => [name, error?.code])).toEqual([["embed", "model_missing"]]);
    again.close();
  });

  it("goes back to the built-in model when a person wants that", async () => {
    const brain = Brain.open({ path });
    await brain.useModel("builtin");
    expect((await brain.search(QUESTION)).results[0]?.content).toBe(TEXTS[0]);
    brain.close();
  });

  it("refuses a folder that is not whole, naming the file, and one whose files made no vector of this brain", async () => {
    const folder = join(home, "e5-small-v2");
    mkdirSync(folder);
    writeFileSync(join(folder, "config.json"), "{}");
    const brain = Brain.open({ path, modelDirectory: folder });
    await expect(brain.search("engine")).rejects.toMatchObject({
      code: "model_missing",
      message: expect.stringContaining("tokenizer.json"),
    });
    vi.stubEnv("DORMOUSE_MODEL_DIR", join(home, "nowhere"));
    const elsewhere = Brain.open({ path });
    await expect(elsewhere.search("engine")).rejects.toMatchObject({
      code: "model_missing",
      message: expect.stringContaining(join(home, "nowhere")),
    });
    elsewhere.close();
    brain.close();
  });
});

const noEmbedder = async () => null;

describe("a change of the model", () => {
  it("lists what there is: in the package, on this machine, on the hub", async () => {
    await fill(createHashEmbedder(384, "mine"));
    const brain = Brain.open({ path });
    const models = await brain.listModels();
    expect(models.map(({ name, active, present, repository }) => [name, active, present, repository])).toEqual([
      ["builtin", false, true, null],
      ["all-MiniLM-L6-v2", false, false, "Xenova/all-MiniLM-L6-v2"],
      ["e5-small-v2", false, false, "Xenova/e5-small-v2"],
      ["mine", true, false, null],
    ]);
    brain.close();
  });

  it("leaves everything as it was when the model cannot be had", async () => {
    await fill(createBuiltinEmbedder());
    const copy = join(home, "copy.db");
    copyFileSync(path, copy);
    const brain = Brain.open({ path });
    const before = brain.stats();
    await expect(brain.useModel("e5-small-v2")).rejects.toEqual(missing);
    await expect(brain.useModel("mine")).rejects.toEqual(missing);
    await expect(brain.useModel("e5-small-v2", { directory: join(home, "no") })).rejects.toEqual(missing);
    const usage = expect.objectContaining({ code: "usage" });
    await expect(brain.useModel("../e5")).rejects.toEqual(usage);
    await expect(brain.useModel("builtin", { directory: home })).rejects.toEqual(usage);
    expect(brain.stats()).toEqual(before);
    expect(await brain.modelStatus()).toMatchObject({ active: { name: "builtin" }, building: null });
    brain.close();
  });

  it("to an embedder that the caller brought is a change like any other", async () => {
    await fill(createBuiltinEmbedder());
    const own = createHashEmbedder(64, "own");
    const brain = Brain.open({ path, embedder: own });
    await expect(brain.search("engine")).rejects.toMatchObject({ code: "model_mismatch" });
    const told: number[] = [];
    await brain.useModel("own", { onProgress: ({ done }) => told.push(done) });
    expect(told).toEqual([4]);
    expect((await brain.search("engine of the car")).results[0]?.content).toBe(TEXTS[1]);
    brain.close();
  });

  it("that was only prepared is finished by sleep or by the same call", async () => {
    await fill(createBuiltinEmbedder());
    const brain = Brain.open({ path, embedder: createHashEmbedder(64, "own") });
    const prepared = await brain.useModel("own", { prepareOnly: true });
    expect(prepared).toMatchObject({
      active: { name: "builtin", vectors: 4 },
      building: { name: "own", done: 0, total: 4, process: null },
    });
    expect(brain.stats().vectors).toMatchObject({ model: "builtin", building: { model: "own", done: 0, total: 4 } });
    const done = await brain.useModel("own");
    expect(done).toMatchObject({ active: { name: "own", vectors: 4 }, building: null });
    brain.close();
  });
});
