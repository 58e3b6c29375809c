/** Downloading a model, against a server of this machine; needs the shared data. */
import { createReadStream, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Progress } from "../../src/core/ports.ts";
import { downloadModel, hubAddress } from "../../src/embed/transformer/hub.ts";
import { missingModelFiles, readModelFolder } from "../../src/embed/transformer/model-folder.ts";

const SHARED = process.env.DORMOUSE_SHARED ?? "";
const NAME = "all-MiniLM-L6-v2";
const REPOSITORY = `Xenova/${NAME}`;

describe("the hub's address", () => {
  it("is the public one unless HF_ENDPOINT names another", () => {
    expect(hubAddress({})).toBe("https://huggingface.co/");
    expect(hubAddress({ HF_ENDPOINT: "http://mirror.example" })).toBe("http://mirror.example/");
    expect(hubAddress({ HF_ENDPOINT: "http://mirror.example/hf/" })).toBe("http://mirror.example/hf/");
  });
});

describe.skipIf(SHARED === "")("a download from the hub", () => {
  let server: Server;
  let hub: string;
  let home: string;
  /** Bytes of the weights after which the server breaks off. */
  let breakAfter = Number.POSITIVE_INFINITY;
  let asked: string[] = [];
  /** Texts that the server has beside the shared files, by file. */
  let more: Record<string, string> = {};

  beforeAll(async () => {
    server = createServer((request, response) => {
      const url = request.url ?? "";
      asked.push(url);
      const file = url.startsWith(`/${REPOSITORY}/resolve/main/`) ? url.split("/resolve/main/")[1] : undefined;
      const text = more[file ?? ""];
      if (text !== undefined) {
        response.writeHead(text === "" ? 500 : 200).end(text);
        return;
      }
      const path = join(SHARED, "models", NAME, file ?? "missing");
      if (!existsSync(path)) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, { "content-length": statSync(path).size });
      if (request.method === "HEAD") {
        response.end();
        return;
      }
      const isBroken = path.endsWith(".onnx") && Number.isFinite(breakAfter);
      const stream = createReadStream(path, isBroken ? { end: breakAfter } : {});
      stream.pipe(response, { end: !isBroken });
      if (isBroken) stream.on("end", () => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    hub = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "dormouse-hub-"));
    breakAfter = Number.POSITIVE_INFINITY;
    asked = [];
    more = {};
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const download = (onProgress?: (progress: Progress) => void, address = hub, repository = REPOSITORY) =>
    downloadModel({
      name: NAME,
      repository,
      folder: join(home, "models", NAME),
      hub: address,
      ...(onProgress === undefined ? {} : { onProgress }),
    });
  const everything = () => readdirSync(home, { recursive: true, encoding: "utf8" });

  it("ends in a folder with the same vectors as the original, and says how far it is in bytes", async () => {
    const told: Progress[] = [];
    await download((progress) => told.push(progress));
    const folder = join(home, "models", NAME);
    expect(missingModelFiles(folder)).toEqual([]);
    const original = await readModelFolder(join(SHARED, "models", NAME));
    expect((await readModelFolder(folder)).revision).toBe(original.revision);
    const last = told.at(-1);
    expect(last?.stage).toBe("download");
    expect(last?.done).toBe(last?.total);
    expect(last?.total).toBeGreaterThan(20_000_000);
    expect(told.length).toBeGreaterThan(3);
    expect(readdirSync(join(home, "models"))).toEqual([NAME]);
  });

  it("asks for nothing when the model is there", async () => {
    await download();
    asked = [];
    await download();
    expect(asked).toEqual([]);
  });

  it("brings the files that say how vectors are made, where the hub has them", async () => {
    await download();
    const folder = join(home, "models", NAME);
    const plain = await readModelFolder(folder);
    expect([plain.rules.pooling, existsSync(join(folder, "1_Pooling"))]).toEqual(["mean", false]);
    rmSync(folder, { recursive: true });
    more = {
      "1_Pooling/config.json": '{"pooling_mode_cls_token": true}',
      "sentence_bert_config.json": '{"max_seq_length": 77}',
      "config_sentence_transformers.json": '{"prompts": {"query": "ask: "}}',
    };
    await download();
    const { rules, revision } = await readModelFolder(folder);
    expect(rules).toEqual({ pooling: "first", maxTokens: 77, queryPrefix: "ask: ", passagePrefix: "" });
    expect(revision).not.toBe(plain.revision);
  });

  it("fails when such a file is there and cannot be had, since the vectors would be others", async () => {
    more = { "1_Pooling/config.json": "" };
    await expect(download()).rejects.toMatchObject({ code: "model_missing" });
    expect(everything()).toEqual(["models"]);
  });

  it("puts a whole folder in the place of one that lacks a file, once it has all", async () => {
    await download();
    const folder = join(home, "models", NAME);
    rmSync(join(folder, "tokenizer.json"));
    breakAfter = 5_000_000;
    await expect(download()).rejects.toMatchObject({ code: "model_missing" });
    expect(missingModelFiles(folder)).toEqual(["tokenizer.json"]);
    breakAfter = Number.POSITIVE_INFINITY;
    await download();
    expect(missingModelFiles(folder)).toEqual([]);
    expect(readdirSync(join(home, "models"))).toEqual([NAME]);
  });

  it("leaves nothing behind when it breaks off, and works when called again", async () => {
    breakAfter = 5_000_000;
    await expect(download()).rejects.toMatchObject({ code: "model_missing" });
    expect(everything()).toEqual(["models"]);
    breakAfter = Number.POSITIVE_INFINITY;
    await download();
    expect(missingModelFiles(join(home, "models", NAME))).toEqual([]);
  });

  it("names the hub when there is no network, and the model when the hub has none", async () => {
    await expect(download(undefined, "http://127.0.0.1:9/")).rejects.toMatchObject({
      code: "model_missing",
      message: expect.stringContaining("127.0.0.1:9 could not be read"),
      hint: expect.stringContaining("--dir"),
    });
    await expect(download(undefined, hub, "Xenova/no-such-model")).rejects.toMatchObject({
      code: "model_missing",
      message: expect.stringContaining("has no Xenova/no-such-model"),
    });
    expect(everything()).toEqual(["models"]);
  });
});
