/** The transformer adapter on real models; needs the shared data. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "@xenova/transformers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Embedder, VECTOR_SCALE } from "../../src/core/ports.ts";
import { readModelFolder } from "../../src/embed/transformer/model-folder.ts";
import { createTransformerEmbedder } from "../../src/embed/transformer/transformer.ts";
import { cosineOf, embedderConformance } from "../conformance/embedder.ts";

const SHARED = process.env.DORMOUSE_SHARED ?? "";
const folderOf = (name: string) => join(SHARED, "models", name);
const load = async (name: string): Promise<Embedder> =>
  createTransformerEmbedder(await readModelFolder(folderOf(name)));

describe.skipIf(SHARED === "")("models of the shared folder", () => {
  embedderConformance("e5-small-v2", () => load("e5-small-v2"));
  embedderConformance("all-MiniLM-L6-v2", () => load("all-MiniLM-L6-v2"));

  const TEXTS = [
    "yes",
    "Caroline: I went to the support group yesterday and it was powerful.",
    "The build fails on Node 20 because the lock file is out of date.",
    "Größe, naïveté, Привет, 你好世界 😍",
    "We talked about the garden, the tax return and the boat. ".repeat(100),
  ];

  describe.each([
    { name: "e5-small-v2", query: "query: ", passage: "passage: ", maxTokens: 512 },
    { name: "all-MiniLM-L6-v2", query: "", passage: "", maxTokens: 256 },
  ])("$name", ({ name, query, passage, maxTokens }) => {
    let embedder: Embedder;
    let reference: (text: string) => Promise<number[]>;
    beforeAll(async () => {
      embedder = await load(name);
      const extract = await pipeline("feature-extraction", folderOf(name), { dtype: "q8", local_files_only: true });
      reference = async (text) => {
        const output = await extract([text], { pooling: "mean", normalize: true });
        return [...(output.data as Float32Array)];
      };
    });

    /** Numbers that differ from the reference's, rounded alike, by more than one. */
    const strays = (vector: Int8Array | undefined, exact: readonly number[]): number =>
      exact.filter((value, at) => Math.abs(Math.round(value * VECTOR_SCALE) - (vector?.[at] ?? 999)) > 1).length;

    it("gives the vectors of the reference pipeline, with the model's prefixes", async () => {
      // The reference cuts at 512 tokens whatever the model was made for.
      const texts = maxTokens === 512 ? TEXTS : TEXTS.slice(0, -1);
      const vectors = await embedder.embedPassages(texts);
      for (const [index, text] of texts.entries()) {
        expect(strays(vectors[index], await reference(passage + text))).toBe(0);
      }
      const question = "Where did Caroline go?";
      expect(strays(await embedder.embedQuery(question), await reference(query + question))).toBe(0);
      // Else any vector would do.
      expect(strays(vectors[0], await reference(query + question))).toBeGreaterThan(100);
    });

    it("tells a question from a passage exactly when the model does", async () => {
      const text = "Where did Caroline go?";
      const [stored = new Int8Array()] = await embedder.embedPassages([text]);
      const asked = await embedder.embedQuery(text);
      if (query === passage) expect(asked).toEqual(stored);
      else expect(cosineOf(asked, stored)).toBeLessThan(0.999);
    });

    it("cuts a long text where the model ends", async () => {
      const words = Array.from({ length: 1_000 }, (_, index) => ["garden", "boat", "tax", "house"][index % 4]);
      const [long, longer, short] = await embedder.embedPassages([
        words.slice(0, 600).join(" "),
        `${words.slice(0, 600).join(" ")} and something else entirely, about violins`,
        words.slice(0, 100).join(" "),
      ]);
      expect(longer).toEqual(long);
      expect(short).not.toEqual(long);
    });

    it("names itself, its revision and its runtime", () => {
      expect(embedder.model).toMatchObject({ name, dimensions: 384 });
      expect(embedder.model.revision).toMatch(/^[0-9a-f]{32}$/);
      expect(embedder.model.runtime).toMatch(/^transformers\.js\/\d+\.\d+\.\d+ onnxruntime\/\d+\.\d+\.\d+$/);
    });
  });

  it("holds two models apart that have the same dimensions", async () => {
    const [e5, mini] = await Promise.all([load("e5-small-v2"), load("all-MiniLM-L6-v2")]);
    expect(e5.model.dimensions).toBe(mini.model.dimensions);
    expect(e5.model.revision).not.toBe(mini.model.revision);
  });

  it("answers calls that overlap as if they came one after the other", async () => {
    const embedder = await load("e5-small-v2");
    const [alone] = await embedder.embedPassages(["the garden fence"]);
    const all = await Promise.all([
      embedder.embedPassages(["the garden fence"]),
      embedder.embedQuery("fence"),
      embedder.embedPassages(["the boat", "the garden fence"]),
    ]);
    expect(all[0][0]).toEqual(alone);
    expect(all[2][1]).toEqual(alone);
  });

  describe("in folders of their own", () => {
    let copy: string;
    beforeAll(() => {
      copy = mkdtempSync(join(tmpdir(), "dormouse-folders-"));
    });
    afterAll(() => rmSync(copy, { recursive: true, force: true }));

    it("need no tokenizer_config.json", async () => {
      const folder = join(copy, "bare", "all-MiniLM-L6-v2");
      cpSync(folderOf("all-MiniLM-L6-v2"), folder, { recursive: true });
      rmSync(join(folder, "tokenizer_config.json"));
      const bare = await createTransformerEmbedder(await readModelFolder(folder));
      const whole = await load("all-MiniLM-L6-v2");
      expect(bare.model).toEqual(whole.model);
      expect(await bare.embedPassages(TEXTS)).toEqual(await whole.embedPassages(TEXTS));
    });

    it("fail with the name and the place of the model when the files are damaged", async () => {
      const folder = join(copy, "all-MiniLM-L6-v2");
      cpSync(folderOf("all-MiniLM-L6-v2"), folder, { recursive: true });
      const weights = readFileSync(join(folder, "onnx/model_quantized.onnx"));
      rmSync(join(folder, "onnx/model_quantized.onnx"));
      writeFileSync(join(folder, "onnx/model_quantized.onnx"), weights.subarray(0, weights.length / 2));
      await expect(createTransformerEmbedder(await readModelFolder(folder))).rejects.toMatchObject({
        code: "damaged",
        message: expect.stringContaining(folder),
      });
    });
  });
});
