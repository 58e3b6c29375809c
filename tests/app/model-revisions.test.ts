/**
 * One name, several models: other files or prefixes under it, brains that differ in them, and processes that change
 * them beside an open brain. The folders are real, the vectors are those of words, seeded by the revision.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Brain } from "../../src/app.ts";
import type { ModelFolder } from "../../src/embed/transformer/model-folder.ts";
import { createTestStore } from "../support/brain.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";

const loads: string[] = [];
vi.mock("../../src/embed/transformer/transformer.ts", () => ({
  createTransformerEmbedder: async ({ name, revision }: ModelFolder) => {
    loads.push(revision);
    const embedder = createHashEmbedder(64, revision);
    return { ...embedder, model: { ...embedder.model, name, revision } };
  },
}));

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "dormouse-revisions-"));
  vi.stubEnv("HOME", home);
  vi.stubEnv("DORMOUSE_MODEL_DIR", "");
  // No test may reach for the network.
  vi.stubEnv("HF_ENDPOINT", "http://127.0.0.1:9");
  loads.length = 0;
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const TEXTS = ["He repaired the engine of the old car.", "They cooked pasta for dinner."];

function writeModel(folder: string, weights: string): string {
  mkdirSync(join(folder, "onnx"), { recursive: true });
  for (const file of ["config.json", "tokenizer.json"]) writeFileSync(join(folder, file), "{}");
  writeFileSync(join(folder, "onnx", "model.onnx"), weights);
  return folder;
}

const usualFolder = (name: string) => join(home, ".dormouse", "models", name);
const remembered = (): unknown => JSON.parse(readFileSync(join(home, ".dormouse", "models.json"), "utf8"));

async function makeBrain(name: string): Promise<string> {
  const path = join(home, name);
  const brain = Brain.open({ path, create: true });
  await brain.rememberAll(TEXTS.map((content) => ({ content })));
  brain.close();
  return path;
}

/** What a process of its own would do. */
async function inBrain<T>(path: string, fn: (brain: Brain) => Promise<T>): Promise<T> {
  const brain = Brain.open({ path });
  try {
    return await fn(brain);
  } finally {
    brain.close();
  }
}

const answers = (path: string) =>
  inBrain(path, async (brain) => {
    const { results, notice } = await brain.search("engine of the car");
    return [results[0]?.content, notice];
  });
const isFound = [TEXTS[0], undefined];

describe("a model of the same name with other prefixes or files", () => {
  it("lets the brain search with the old one until the new one is whole, and sleep finishes it", async () => {
    const path = await makeBrain("brain.db");
    const folder = writeModel(join(home, "mine"), "weights");
    const first = await inBrain(path, (brain) => brain.useModel("mine", { directory: folder }));
    const options = { queryPrefix: "ask: ", prepareOnly: true };
    const begun = await inBrain(path, (brain) => brain.useModel("mine", options));
    expect(begun.active?.revision).toBe(first.active?.revision);
    expect(begun.building?.revision).not.toBe(first.active?.revision);
    expect(await answers(path)).toEqual(isFound);
    await inBrain(path, (brain) => brain.remember({ content: "written meanwhile" }));
    const { phases } = await inBrain(path, (brain) => brain.sleep({ phases: ["embed"] }));
    expect(phases[0]).toMatchObject({ applied: 3 });
    const { active, building } = await inBrain(path, (brain) => brain.modelStatus());
    expect([active?.revision, building]).toEqual([begun.building?.revision, null]);
    expect(await answers(path)).toEqual(isFound);
  });

  it("is gone on with by its name alone, as the process in the background does", async () => {
    const path = await makeBrain("brain.db");
    const folder = writeModel(join(home, "mine"), "weights");
    await inBrain(path, (brain) => brain.useModel("mine", { directory: folder }));
    const rules = { queryPrefix: "ask: ", passagePrefix: "" };
    const begun = await inBrain(path, (brain) => brain.useModel("mine", { ...rules, prepareOnly: true }));
    const done = await inBrain(path, (brain) => brain.useModel("mine"));
    expect([done.active?.revision, done.building]).toEqual([begun.building?.revision, null]);
  });

  it("breaks no other brain, whether that has the family's prefixes or files of another folder", async () => {
    const usual = writeModel(usualFolder("e5-small-v2"), "usual");
    const other = writeModel(join(home, "other"), "other");
    const [plain, prefixed, foreign] = await Promise.all(["a.db", "b.db", "c.db"].map(makeBrain));
    const use = (path = "", options = {}) => inBrain(path, (brain) => brain.useModel("e5-small-v2", options));
    const revisions = [
      (await use(plain)).active?.revision,
      (await use(prefixed, { passagePrefix: "text: " })).active?.revision,
      (await use(foreign, { directory: other })).active?.revision,
    ];
    expect(new Set(revisions).size).toBe(3);
    for (const path of [plain, prefixed, foreign]) {
      expect(await answers(path ?? "")).toEqual(isFound);
      // Asked for by the name alone, each stays what it is.
      const { active } = await use(path);
      expect(active?.revision).toBe(revisions[[plain, prefixed, foreign].indexOf(path)]);
    }
    expect(remembered()).toEqual({
      "e5-small-v2": [
        { revision: revisions[2], directory: other },
        { revision: revisions[1], directory: usual, rules: { passagePrefix: "text: " } },
        { revision: revisions[0], directory: usual },
      ],
    });
    // The way back to the family's own prefixes.
    const back = await use(prefixed, { directory: usual });
    expect(back.active?.revision).toBe(revisions[0]);
  });

  it("is found by an entry of models.json that a person or an older version wrote", async () => {
    const path = await makeBrain("brain.db");
    const folder = writeModel(join(home, "mine"), "weights");
    mkdirSync(join(home, ".dormouse"));
    const entry = { directory: folder, rules: { queryPrefix: "q: " } };
    writeFileSync(join(home, ".dormouse", "models.json"), JSON.stringify({ mine: entry }));
    const first = await inBrain(path, (brain) => brain.useModel("mine"));
    writeFileSync(join(home, ".dormouse", "models.json"), JSON.stringify({ mine: entry }));
    expect(await answers(path)).toEqual(isFound);
    const next = await makeBrain("next.db");
    await inBrain(next, (brain) => brain.useModel("mine", { queryPrefix: "other: " }));
    expect(await answers(path)).toEqual(isFound);
    expect((await inBrain(path, (brain) => brain.modelStatus())).active?.revision).toBe(first.active?.revision);
  });

  it("is not remembered when another process makes vectors", async () => {
    const path = await makeBrain("brain.db");
    const folder = writeModel(join(home, "mine"), "weights");
    const { store, close } = createTestStore({ path });
    store.leases.acquire("model", "another", 60_000);
    const brain = Brain.open({ path, clock: { now: () => store.now() } });
    await expect(brain.useModel("mine", { directory: folder })).rejects.toMatchObject({ code: "lease_held" });
    expect(remembered).toThrow("ENOENT");
    brain.close();
    close();
  });

  it("is refused when no place makes the revision, and taken when the files are put back", async () => {
    const path = await makeBrain("brain.db");
    const folder = writeModel(join(home, "mine"), "weights");
    await inBrain(path, (brain) => brain.useModel("mine", { directory: folder }));
    writeModel(folder, "other weights");
    const brain = Brain.open({ path });
    await expect(brain.search("engine")).rejects.toMatchObject({ code: "model_mismatch" });
    writeModel(folder, "weights");
    expect((await brain.search("engine of the car")).results[0]?.content).toBe(TEXTS[0]);
    writeModel(folder, "third weights");
    const { active } = await brain.useModel("mine");
    expect(active?.vectors).toBe(2);
    expect((await brain.search("engine of the car")).results[0]?.content).toBe(TEXTS[0]);
    brain.close();
  });
});

describe("a brain that stays open while another process changes its model", () => {
  it("goes on with the other revision of the same name, and loads each once", async () => {
    const path = await makeBrain("brain.db");
    const folder = writeModel(join(home, "mine"), "weights");
    await inBrain(path, (brain) => brain.useModel("mine", { directory: folder }));
    const open = Brain.open({ path });
    expect((await open.search("engine of the car")).results[0]?.content).toBe(TEXTS[0]);
    const { active } = await inBrain(path, (brain) => brain.useModel("mine", { passagePrefix: "text: " }));
    loads.length = 0;
    for (const _ of [1, 2]) {
      const { results, notice } = await open.search("engine of the car");
      expect([results[0]?.content, notice]).toEqual(isFound);
      expect(results[0]?.channels.vector).toBeGreaterThan(0);
    }
    await open.remember({ content: "A violin was bought." });
    expect(loads).toEqual([active?.revision]);
    open.close();
  });

  it("goes on with building the other revision in its own sleep", async () => {
    const path = await makeBrain("brain.db");
    const folder = writeModel(join(home, "mine"), "weights");
    await inBrain(path, (brain) => brain.useModel("mine", { directory: folder }));
    const open = Brain.open({ path });
    await open.search("engine");
    for (const queryPrefix of ["one: ", "two: "]) {
      const begun = await inBrain(path, (brain) => brain.useModel("mine", { queryPrefix, prepareOnly: true }));
      const { phases } = await open.sleep();
      expect(phases.filter(({ error }) => error !== undefined)).toEqual([]);
      expect((await open.modelStatus()).active?.revision).toBe(begun.building?.revision);
    }
    open.close();
  });
});

describe("a name", () => {
  it("that every object has is the name of no model", async () => {
    const path = await makeBrain("brain.db");
    for (const name of ["constructor", "toString", "__proto__"]) {
      await expect(inBrain(path, (brain) => brain.useModel(name))).rejects.toMatchObject({
        code: "model_missing",
        hint: expect.stringContaining("--dir"),
      });
    }
  });

  it("that a brain file brings leads to no folder outside of those of models", async () => {
    const path = join(home, "foreign.db");
    writeModel(join(home, "outside"), "weights");
    const brain = Brain.open({ path, create: true, embedder: createHashEmbedder(64, "../../outside") });
    await brain.remember({ content: TEXTS[0] ?? "" });
    brain.close();
    const opened = Brain.open({ path, modelDirectory: join(home, "models", "x") });
    await expect(opened.search("engine")).rejects.toMatchObject({ code: "model_missing" });
    expect(await opened.listModels()).toContainEqual(
      expect.objectContaining({ name: "../../outside", directory: null, present: false, repository: null }),
    );
    expect(loads).toEqual([]);
    opened.close();
  });
});

describe("a model's usual folder that lacks a file", () => {
  it("is fetched again when its name says from where, and named otherwise", async () => {
    const path = await makeBrain("brain.db");
    for (const name of ["e5-small-v2", "mine"]) rmSync(join(writeModel(usualFolder(name), name), "tokenizer.json"));
    const use = (name: string) => inBrain(path, (brain) => brain.useModel(name));
    await expect(use("e5-small-v2")).rejects.toMatchObject({ message: expect.stringContaining("127.0.0.1:9") });
    await expect(use("mine")).rejects.toMatchObject({ message: expect.stringContaining("lacks tokenizer.json") });
    // What could not be replaced is left.
    expect(readFileSync(join(usualFolder("e5-small-v2"), "onnx", "model.onnx"), "utf8")).toBe("e5-small-v2");
  });
});

describe("a rebuild of the indexes", () => {
  it("takes the files that are here, also when their revision is the one being built", async () => {
    const path = await makeBrain("brain.db");
    const folder = writeModel(join(home, "mine"), "weights");
    await inBrain(path, (brain) => brain.useModel("mine", { directory: folder }));
    writeModel(folder, "other weights");
    const begun = await inBrain(path, (brain) => brain.useModel("mine", { prepareOnly: true }));
    expect(begun.building).not.toBeNull();
    const { healthy, rebuilt } = await inBrain(path, (brain) => brain.doctor({ rebuild: true }));
    expect([healthy, rebuilt?.vectors]).toEqual([true, 2]);
    const status = await inBrain(path, (brain) => brain.modelStatus());
    expect([status.active?.revision, status.building]).toEqual([begun.building?.revision, null]);
    expect(await answers(path)).toEqual(isFound);
  });
});
