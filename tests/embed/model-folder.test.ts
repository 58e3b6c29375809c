import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { missingModelFiles, readModelFolder } from "../../src/embed/transformer/model-folder.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "dormouse-model-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function writeModel(name: string, files: Record<string, string | object> = {}): string {
  const folder = join(root, name);
  const all: Record<string, string | object> = {
    "config.json": { model_type: "bert", max_position_embeddings: 512 },
    "tokenizer.json": { words: ["a"] },
    "onnx/model_quantized.onnx": "weights",
    ...files,
  };
  for (const [file, content] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

const rulesOf = async (name: string, files: Record<string, string | object> = {}) =>
  (await readModelFolder(writeModel(name, files))).rules;

describe("the rules of a model folder", () => {
  it("go by the family of the name", async () => {
    const plain = { queryPrefix: "", passagePrefix: "", pooling: "mean", maxTokens: 512 };
    expect(await rulesOf("some-model")).toEqual(plain);
    expect(await rulesOf("e5-small-v2")).toEqual({ ...plain, queryPrefix: "query: ", passagePrefix: "passage: " });
    expect(await rulesOf("multilingual-e5-small")).toMatchObject({ queryPrefix: "query: " });
    expect(await rulesOf("all-MiniLM-L6-v2")).toEqual({ ...plain, maxTokens: 256 });
    expect(await rulesOf("bge-small-en-v1.5")).toMatchObject({ pooling: "first", passagePrefix: "" });
    expect((await rulesOf("bge-base_en")).queryPrefix).toMatch(/^Represent this sentence/);
    expect(await rulesOf("node5-model")).toEqual(plain);
  });

  it("follow what the files say of pooling, prompts and length", async () => {
    expect(
      await rulesOf("mine", {
        "1_Pooling/config.json": { pooling_mode_cls_token: true },
        "config_sentence_transformers.json": { prompts: { query: "ask: ", document: "text: " } },
        "sentence_bert_config.json": { max_seq_length: 128 },
      }),
    ).toEqual({ queryPrefix: "ask: ", passagePrefix: "text: ", pooling: "first", maxTokens: 128 });
    expect((await rulesOf("long", { "tokenizer_config.json": { model_max_length: 1e30 } })).maxTokens).toBe(512);
    expect((await rulesOf("short", { "tokenizer_config.json": { model_max_length: 64 } })).maxTokens).toBe(64);
    const roberta = { model_type: "roberta", max_position_embeddings: 514, pad_token_id: 1 };
    expect((await rulesOf("roberta", { "config.json": roberta })).maxTokens).toBe(512);
  });

  it("are replaced by those that are given", async () => {
    const folder = writeModel("e5-small-v2");
    const { rules } = await readModelFolder(folder, { given: { queryPrefix: "Q: " } });
    expect(rules).toMatchObject({ queryPrefix: "Q: ", passagePrefix: "passage: " });
  });
});

describe("the revision of a model folder", () => {
  it("stays with the same bytes in another place, and changes with weights, tokenizer and rules", async () => {
    const folder = writeModel("model");
    const { revision } = await readModelFolder(folder);
    cpSync(folder, join(root, "copy"), { recursive: true });
    expect((await readModelFolder(join(root, "copy"), { name: "model" })).revision).toBe(revision);
    const others = [
      writeModel("weights", { "onnx/model_quantized.onnx": "Weights" }),
      writeModel("tokenizer", { "tokenizer.json": { words: ["b"] } }),
      writeModel("length", { "sentence_bert_config.json": { max_seq_length: 100 } }),
    ];
    const revisions = await Promise.all(others.map(async (other) => (await readModelFolder(other)).revision));
    const prefixed = await readModelFolder(folder, { given: { passagePrefix: "p: " } });
    expect(new Set([revision, prefixed.revision, ...revisions]).size).toBe(5);
  });

  it("covers the files that large weights lie in", async () => {
    const whole = writeModel("large", { "onnx/model_quantized.onnx_data": "many numbers" });
    const other = writeModel("large2", { "onnx/model_quantized.onnx_data": "other numbers" });
    expect((await readModelFolder(whole)).revision).not.toBe((await readModelFolder(other)).revision);
  });

  it("reads a file once as long as it is untouched, and again when it was changed under the same times", async () => {
    const folder = writeModel("model");
    const known = new Map<string, string>();
    let stored = 0;
    const digests = {
      get: (key: string) => known.get(key),
      set: (key: string, digest: string) => {
        stored += 1;
        known.set(key, digest);
      },
    };
    const { revision } = await readModelFolder(folder, { digests });
    expect((await readModelFolder(folder, { digests })).revision).toBe(revision);
    expect(stored).toBe(2);
    const path = join(folder, "onnx/model_quantized.onnx");
    const { atime, mtime } = statSync(path);
    writeFileSync(path, "WEIGHTS");
    utimesSync(path, atime, mtime);
    expect((await readModelFolder(folder, { digests })).revision).not.toBe(revision);
    expect(stored).toBe(3);
  });
});

describe("a model folder that is not whole", () => {
  it("is refused with the names of what is missing", async () => {
    const folder = join(root, "half");
    await expect(readModelFolder(folder)).rejects.toMatchObject({
      code: "model_missing",
      message: expect.stringContaining(folder),
    });
    mkdirSync(folder);
    writeFileSync(join(folder, "config.json"), "{}");
    expect(missingModelFiles(folder)).toEqual(["tokenizer.json", "onnx/model_quantized.onnx"]);
    await expect(readModelFolder(folder)).rejects.toMatchObject({
      code: "model_missing",
      message: expect.stringContaining("tokenizer.json, onnx/model_quantized.onnx"),
    });
    expect(missingModelFiles(writeModel("full", { "onnx/model.onnx": "w" }))).toEqual([]);
  });

  it("takes full weights when there are no quantised ones", async () => {
    const folder = writeModel("full", { "onnx/model.onnx": "w" });
    expect((await readModelFolder(folder)).weights).toBe("q8");
    rmSync(join(folder, "onnx/model_quantized.onnx"));
    expect((await readModelFolder(folder)).weights).toBe("fp32");
  });

  it("is refused when a file of it is no JSON", async () => {
    const folder = writeModel("broken", { "config.json": "{" });
    await expect(readModelFolder(folder)).rejects.toMatchObject({ code: "damaged" });
  });
});
