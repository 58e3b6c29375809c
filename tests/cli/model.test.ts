/** `dormouse model` as processes: list, use, status, in the background, from a folder and from a hub. */
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ListedModel, ModelStatus } from "../../src/app.ts";
import { Cli } from "./run-cli.ts";

const SHARED = process.env.DORMOUSE_SHARED ?? "";
const E5 = join(SHARED, "models", "e5-small-v2");
/** Nothing listens there, so no test reaches the network. */
const NO_HUB = { HF_ENDPOINT: "http://127.0.0.1:9" };

let built: Cli;
let cli: Cli;
beforeAll(() => {
  built = Cli.build();
}, 60_000);
afterAll(() => built.removeBuild());
beforeEach(async () => {
  cli = built.fresh();
  await cli.run(["init"]);
  await cli.remember("The physician prescribed medicine for her illness.");
  await cli.remember("He repaired the engine of the old car.");
});
afterEach(() => cli.removeHome());

type Failure = { error: { code: string; message: string; hint: string } };
async function failure(
  args: readonly string[],
  status: number,
  env: NodeJS.ProcessEnv = NO_HUB,
): Promise<Failure["error"]> {
  const result = await cli.run([...args, "--json"], { env });
  expect([result.status, result.stdout]).toEqual([status, ""]);
  return (JSON.parse(result.stderr) as Failure).error;
}

describe("dormouse model", () => {
  it("lists the built-in model as the one in use, and what else could be had", async () => {
    const listed = await cli.json<ListedModel[]>(["model", "list"]);
    expect(listed.map(({ name, active, present }) => [name, active, present])).toEqual([
      ["builtin", true, true],
      ["all-MiniLM-L6-v2", false, false],
      ["e5-small-v2", false, false],
    ]);
    const { stdout } = await cli.run(["model", "list"]);
    expect(stdout).toMatch(/^builtin +in use, part of this package\n/);
    expect(stdout).toContain("`model use` fetches Xenova/e5-small-v2");
  });

  it("says which model is in use", async () => {
    const status = await cli.json<ModelStatus>(["model", "status"]);
    expect(status).toMatchObject({
      active: { name: "builtin", dimensions: 256, vectors: 2 },
      current: true,
      building: null,
    });
    expect((await cli.run(["model", "status"])).stdout).toMatch(
      /^in use +builtin, revision \w{12}, 256 dimensions, 2 vectors\n$/,
    );
  });

  it("fails without a network or a folder, and the brain keeps its model", async () => {
    expect(await failure(["model", "use", "e5-small-v2"], 1)).toMatchObject({
      code: "model_missing",
      hint: expect.stringContaining("--dir"),
    });
    expect(await failure(["model", "use", "e5-small-v2", "--dir", join(cli.home, "no")], 1)).toMatchObject({
      code: "model_missing",
      message: expect.stringContaining(join(cli.home, "no")),
    });
    expect((await failure(["model", "use", "mine"], 1)).hint).toContain("e5-small-v2");
    expect(await failure(["model", "use", "../../etc"], 2)).toMatchObject({ code: "usage" });
    expect(await failure(["model", "status", "--model-dir", " "], 2)).toMatchObject({ code: "usage" });
    expect((await cli.json<ModelStatus>(["model", "status"])).active?.name).toBe("builtin");
  }, 30_000);

  it("to the model in use does nothing", async () => {
    const status = await cli.json<ModelStatus>(["model", "use", "builtin"]);
    expect(status).toMatchObject({ active: { name: "builtin", vectors: 2 }, building: null });
  });
});

describe.skipIf(SHARED === "")("dormouse model use with a real model", () => {
  const best = async (query: string, env: NodeJS.ProcessEnv = {}) => {
    const result = await cli.run(["search", query, "--json"], { env });
    if (result.status !== 0) throw new Error(result.stderr);
    return (JSON.parse(result.stdout) as { results: { content: string }[] }).results[0]?.content;
  };

  it("takes it from a folder, remembers the folder on this machine only, and goes back", async () => {
    const used = await cli.json<ModelStatus>(["model", "use", "e5-small-v2", "--dir", E5]);
    expect(used).toMatchObject({ active: { name: "e5-small-v2", dimensions: 384, vectors: 2 }, building: null });
    expect(await best("doctor gave drugs to a sick patient")).toContain("physician");
    expect(JSON.parse(readFileSync(join(cli.home, ".dormouse/models.json"), "utf8"))).toEqual({
      "e5-small-v2": [{ revision: used.active?.revision, directory: E5 }],
    });
    expect(readFileSync(cli.brain).includes(E5)).toBe(false);
    expect(await cli.remember("A thought for the new model")).toMatch(/^n_/);
    expect((await cli.json<ModelStatus>(["model", "status"])).active?.vectors).toBe(3);

    // The same brain where nothing is remembered: an error, and no other model in its stead.
    const elsewhere = built.fresh();
    const env = { DORMOUSE_BRAIN: cli.brain };
    const lost = await elsewhere.run(["search", "physician", "--json"], { env });
    expect([lost.status, (JSON.parse(lost.stderr) as Failure).error.code]).toEqual([1, "model_missing"]);
    for (const args of [["list"], ["stats"], ["doctor"], ["ledger"], ["context"]]) {
      expect([args, (await elsewhere.run(args, { env })).status]).toEqual([args, 0]);
    }
    expect((await elsewhere.run(["search", "physician", "--model-dir", E5], { env })).status).toBe(0);
    const named = { ...env, DORMOUSE_MODEL_DIR: join(SHARED, "models") };
    expect((await elsewhere.run(["search", "physician"], { env: named })).status).toBe(0);
    elsewhere.removeHome();

    expect((await cli.json<ModelStatus>(["model", "use", "builtin"])).active).toMatchObject({
      name: "builtin",
      vectors: 3,
    });
  }, 60_000);

  it("takes a name and prefixes of a person's own", async () => {
    const args = ["model", "use", "mine", "--dir", E5, "--query-prefix", "query: ", "--passage-prefix", "passage: "];
    const { active } = await cli.json<ModelStatus>(args);
    expect(active).toMatchObject({ name: "mine", vectors: 2 });
    expect(await best("doctor gave drugs to a sick patient")).toContain("physician");
    // Another prefix makes other vectors, so it is another model.
    const other = await cli.json<ModelStatus>(["model", "use", "mine", "--query-prefix", "ask: "]);
    expect(other.active?.revision).not.toBe(active?.revision);
    expect(JSON.parse(readFileSync(join(cli.home, ".dormouse/models.json"), "utf8"))).toEqual({
      mine: [
        {
          revision: other.active?.revision,
          directory: E5,
          rules: { queryPrefix: "ask: ", passagePrefix: "passage: " },
        },
        {
          revision: active?.revision,
          directory: E5,
          rules: { queryPrefix: "query: ", passagePrefix: "passage: " },
        },
      ],
    });
  }, 60_000);

  it("goes on in the background, and says how far it is", async () => {
    const lines = Array.from({ length: 150 }, (_, index) => `Note ${index} about the garden, the boat and the tax.`);
    await cli.run(["extract", "-", "--format", "text"], { stdin: lines.join("\n\n") });
    const started = await cli.json<ModelStatus & { process: number }>([
      ...["model", "use", "e5-small-v2", "--dir", E5, "--background"],
    ]);
    expect(started).toMatchObject({ active: { name: "builtin" }, building: { name: "e5-small-v2", done: 0 } });
    expect(started.process).toBeGreaterThan(0);
    expect(await best("engine of the car")).toContain("engine");
    await expect
      .poll(async () => (await cli.json<ModelStatus>(["model", "status"])).active?.name, {
        timeout: 60_000,
        interval: 500,
      })
      .toBe("e5-small-v2");
    const { active, building } = await cli.json<ModelStatus>(["model", "status"]);
    expect(building).toBeNull();
    expect(active?.vectors).toBeGreaterThan(2);
    expect((await cli.run(["doctor"])).status).toBe(0);
  }, 120_000);

  describe("from a hub", () => {
    let server: Server;
    let env: NodeJS.ProcessEnv;
    beforeAll(async () => {
      server = createServer((request, response) => {
        const file = (request.url ?? "").split("/Xenova/all-MiniLM-L6-v2/resolve/main/")[1] ?? "missing";
        const path = join(SHARED, "models/all-MiniLM-L6-v2", file);
        if (!existsSync(path)) {
          response.writeHead(404).end();
          return;
        }
        response.writeHead(200, { "content-length": statSync(path).size });
        createReadStream(path).pipe(response);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      env = { HF_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    });
    afterAll(() => new Promise((resolve) => server.close(resolve)));

    it("fetches it into the home, once", async () => {
      const used = await cli.run(["model", "use", "all-MiniLM-L6-v2", "--json"], { env });
      expect(used.stderr).toBe("");
      expect(JSON.parse(used.stdout)).toMatchObject({ active: { name: "all-MiniLM-L6-v2", vectors: 2 } });
      expect(existsSync(join(cli.home, ".dormouse/models/all-MiniLM-L6-v2/onnx/model_quantized.onnx"))).toBe(true);
      expect(await best("doctor gave drugs to a sick patient", NO_HUB)).toContain("physician");
    }, 60_000);
  });
});
