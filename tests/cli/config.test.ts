/** `dormouse config` as processes: show, set, unset, and the language model, asked for real at a fake server. */
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ConfigListing } from "../../src/app/config-keys.ts";
import type { LlmTest } from "../../src/app/language-model.ts";
import { packagePath } from "../../src/core/package-path.ts";
import { type FakeLlm, type FakeScript, startFakeLlm } from "../support/fake-llm.ts";
import { waitUntilGone } from "../support/running.ts";
import { Cli, finished } from "./run-cli.ts";

let built: Cli;
let cli: Cli;
let file: string;
const fakes: FakeLlm[] = [];
beforeAll(() => {
  built = Cli.build();
}, 60_000);
afterAll(() => {
  built.removeHome();
  built.removeBuild();
});
beforeEach(async () => {
  cli = built.fresh();
  file = join(cli.home, "config.json");
  await cli.run(["init"]);
});
afterEach(async () => {
  cli.removeHome();
  await Promise.all(fakes.splice(0).map((fake) => fake.close()));
});

async function fakeWith(script: FakeScript): Promise<FakeLlm> {
  const fake = await startFakeLlm(script);
  fakes.push(fake);
  return fake;
}

async function failure(args: readonly string[], status: number, env: NodeJS.ProcessEnv = {}) {
  const result = await cli.run([...args, "--json"], { env });
  expect([result.status, result.stdout]).toEqual([status, ""]);
  return JSON.parse(result.stderr).error as { code: string; message: string; hint: string };
}

describe("config show, set and unset", { timeout: 120_000 }, () => {
  it("show defaults, then what was set, and the defaults again", async () => {
    const before = await cli.json<ConfigListing>(["config", "show"]);
    expect(before.path).toBe(file);
    expect(before.entries).toContainEqual({ key: "llmBudget.calls", value: 40, isDefault: true });
    expect((await cli.run(["config", "show"])).stdout).toContain(`${file} (not there: all defaults)`);
    expect((await cli.run(["config", "show"])).stdout).toMatch(/daemon\.schedule\s+0 3 \* \* \*\n/);
    expect(existsSync(file)).toBe(false);

    expect((await cli.run(["config", "set", "llmBudget.calls", "100"])).stdout).toBe("llmBudget.calls = 100\n");
    expect(await cli.json(["config", "set", "daemon.watch", "/a b", "/c"])).toMatchObject({ value: ["/a b", "/c"] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const after = await cli.json<ConfigListing>(["config", "show"]);
    expect(after.entries.filter(({ isDefault }) => !isDefault)).toEqual([
      { key: "llmBudget.calls", value: 100, isDefault: false },
      { key: "daemon.watch", value: ["/a b", "/c"], isDefault: false },
    ]);

    expect((await cli.run(["config", "unset", "llmBudget.calls"])).stdout).toBe("llmBudget.calls = 40 (the default)\n");
    expect((await cli.run(["config", "unset", "daemon"])).status).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({});
    expect((await cli.run(["config", "show"])).stdout).not.toContain("not there");
  });

  it("refuse what is no key by name, with those that are, and exit 2", async () => {
    const error = await failure(["config", "set", "llmBudget.cals", "3"], 2);
    expect(error).toMatchObject({ code: "usage", message: "there is no key llmBudget.cals" });
    expect(error.hint).toContain("calls, tokens, minutes");
    expect(await failure(["config", "unset", "sleeep"], 2)).toMatchObject({ code: "usage" });
    expect(await failure(["config", "set", "llmBudget.calls", "3.5"], 2)).toMatchObject({ code: "invalid" });
    expect(await failure(["config", "set", "llmBudget.calls"], 2)).toMatchObject({ code: "usage" });
    expect(existsSync(file)).toBe(false);
  });

  it("need a brain to write beside", async () => {
    const elsewhere = join(cli.home, "none.db");
    expect(await failure(["--brain", elsewhere, "config", "set", "llmBudget.calls", "3"], 1)).toMatchObject({
      code: "no_brain",
    });
    expect(existsSync(file)).toBe(false);
  });

  it("steer sleep, which says so when the file is broken", async () => {
    await cli.remember("The tram to the harbour leaves at nine.");
    await cli.run(["config", "set", "sleep.linkDegree", "9"]);
    expect((await cli.run(["sleep"])).status).toBe(0);
    const text = readFileSync(file, "utf8").replace("linkDegree", "linkDegre");
    await cli.run(["config", "unset", "sleep"]);
    writeFileSync(file, text);
    expect(await failure(["sleep"], 1)).toMatchObject({
      code: "bad_config",
      message: expect.stringContaining("unknown key sleep.linkDegre"),
    });
    expect((await cli.run(["search", "tram"])).status).toBe(0);
  });
});

describe("config llm", { timeout: 120_000 }, () => {
  it("settles a server, names the variable of its key and never the key", async () => {
    const { url } = await fakeWith([{ reply: { animal: "A dormouse" } }]);
    const args = [
      "config",
      "llm",
      "http",
      "--url",
      url,
      "--model",
      "qwen3:8b",
      "--key-env",
      "SOME_KEY",
      "--timeout",
      "60",
    ];
    const { status, stdout } = await cli.run(args);
    expect(status).toBe(0);
    expect(stdout).toContain(`sleep may ask qwen3:8b at ${new URL(url).origin}`);
    expect(stdout).toContain("SOME_KEY, which is not set");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      llm: { kind: "http", url, model: "qwen3:8b", apiKeyEnv: "SOME_KEY", timeoutSeconds: 60 },
    });
    expect(await failure(["config", "llm", "test"], 1)).toMatchObject({
      code: "no_llm",
      message: expect.stringContaining("SOME_KEY"),
    });
    const env = { SOME_KEY: "s3cret" };
    expect((await cli.run(["config", "llm", "test"], { env })).status).toBe(0);
    expect(fakes[0]?.requests[0]?.headers.authorization).toBe("Bearer s3cret");
    expect((await cli.run(["config", "show"], { env })).stdout).toMatch(/SOME_KEY \(set in this environment\)/);
    expect((await cli.run(["config", "set", "llm.maxRetries", "1"])).status).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ llm: { maxRetries: 1, model: "qwen3:8b" } });
  });

  it("tests it with one small question: what came, in which time, at what cost", async () => {
    const { url, requests } = await fakeWith([
      { reply: { animal: "A dormouse\u001B[2J" }, usage: { prompt: 90, completion: 8 } },
    ]);
    await cli.run(["config", "llm", "http", "--url", url, "--model", "m"]);
    expect(await cli.json<LlmTest>(["config", "llm", "test"])).toEqual({
      model: "m",
      reply: "A dormouse\u001B[2J",
      repaired: false,
      tookMs: expect.any(Number),
      usage: {
        calls: 1,
        failed: 0,
        invalid: 0,
        promptTokens: 90,
        completionTokens: 8,
        estimatedTokens: 0,
        minutes: expect.any(Number),
      },
    });
    const { stdout } = await cli.run(["config", "llm", "test"]);
    expect(stdout).toMatch(/^m answered in \d+\.\d s: A dormouse\uFFFD\[2J\n {2}1 call, 98 tokens, in the form/);
    expect(requests).toHaveLength(2);
  });

  it("tells what is wrong with it, and does not repeat what it said", async () => {
    const { url } = await fakeWith([{ reply: "It is a wombat, surely." }]);
    await cli.run(["config", "llm", "http", "--url", url, "--model", "m"]);
    const error = await failure(["config", "llm", "test"], 1);
    expect(error).toMatchObject({ code: "llm_bad_reply", hint: expect.stringContaining("larger model") });
    expect(JSON.stringify(error)).not.toContain("wombat");
    await cli.run(["config", "llm", "http", "--url", "http://127.0.0.1:9/v1", "--model", "m", "--retries", "0"]);
    expect(await failure(["config", "llm", "test"], 1)).toMatchObject({
      code: "llm_unreachable",
      hint: expect.stringContaining("http://127.0.0.1:9"),
    });
  });

  it("settles a command behind --, finds it from here, and asks it", async () => {
    const fake = packagePath("tests/support/fake-llm-command.mjs");
    const words = [process.execPath, fake, "answer", '{"animal": "dormouse"}'];
    const { status, stdout, stderr } = await cli.run([
      "config",
      "llm",
      "command",
      "--model",
      "own",
      "--env",
      "A_KEY",
      "--",
      ...words,
    ]);
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("sleep may run");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      llm: { kind: "command", command: words, model: "own", passEnv: ["A_KEY"] },
    });
    expect(await cli.json(["config", "llm", "test"])).toMatchObject({ model: "own", reply: "dormouse" });
    await cli.run(["config", "llm", "command", "--", "./my-model", "--json", "-x"]);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      llm: { kind: "command", command: [join(process.cwd(), "my-model"), "--json", "-x"] },
    });
  });

  it("can be turned off, and refuses what cannot be", async () => {
    await cli.run(["config", "llm", "http", "--url", "http://127.0.0.1:9/v1", "--model", "m"]);
    expect((await cli.run(["config", "llm", "off"])).stdout).toContain("sleep does without");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({});
    expect(await failure(["config", "llm", "test"], 1)).toMatchObject({ code: "no_llm" });
    const remote = ["config", "llm", "http", "--url", "http://models.example.org/v1", "--model", "m"];
    expect(await failure(remote, 2)).toMatchObject({ code: "invalid", message: expect.stringContaining("https://") });
    expect((await cli.run([...remote, "--insecure"])).status).toBe(0);
    expect(await failure(["config", "llm", "http", "--model", "m"], 2)).toMatchObject({ code: "usage" });
    expect(await failure(["config", "llm", "command"], 2)).toMatchObject({ code: "usage" });
    expect(await failure(["config", "llm"], 2)).toMatchObject({
      code: "usage",
      hint: expect.stringContaining("config llm --help"),
    });
  });

  it("ends at once on Ctrl-C while it waits, and takes the command with it", async () => {
    const ids = join(cli.home, "ids");
    const fake = packagePath("tests/support/fake-llm-command.mjs");
    await cli.run(["config", "llm", "command", "--", process.execPath, fake, "clan", ids]);
    const child = cli.start(["config", "llm", "test"]);
    const done = finished(child);
    while (!existsSync(ids) || !readFileSync(ids, "utf8").includes(" "))
      await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill("SIGINT");
    await once(child, "exit");
    expect((await done).status).toBe(130);
    await waitUntilGone(readFileSync(ids, "utf8").split(" ").map(Number));
  });
});
