import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ConfigFile, configPathOf, DEFAULT_DAEMON_CONFIG, readConfig, writeConfig } from "../../src/app/config.ts";
import { listConfig, setConfigKey, unsetConfigKey } from "../../src/app/config-keys.ts";
import { DEFAULT_LLM_BUDGET } from "../../src/llm/budget.ts";
import { DEFAULT_SLEEP_CONFIG } from "../../src/sleep/phase.ts";

let folder: string;
let brain: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-config-"));
  brain = join(folder, "brain.db");
  file = configPathOf(brain);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const http = { kind: "http", url: "http://127.0.0.1:11434/v1", model: "qwen3:8b" } as const;
const command = { kind: "command", command: ["llm", "-m", "x"] } as const;

/** Writes the file as somebody would by hand. */
function byHand(value: unknown, mode = 0o600): void {
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  chmodSync(file, mode);
}

async function failureOf(run: Promise<unknown>): Promise<{ code: string; message: string; hint: string }> {
  return run.then(
    () => {
      throw new Error("it worked");
    },
    ({ code, message, hint }) => ({ code, message, hint }),
  );
}

describe("the configuration of a brain", () => {
  it("is all defaults, and no file, until something is settled", async () => {
    expect(await readConfig(brain)).toEqual({
      llmBudget: DEFAULT_LLM_BUDGET,
      sleep: {},
      daemon: DEFAULT_DAEMON_CONFIG,
    });
    expect(existsSync(file)).toBe(false);
  });

  it("fills defaults around what is settled, and keeps only that in the file", async () => {
    const settled: ConfigFile = {
      llm: http,
      llmBudget: { calls: 5 },
      sleep: { decayAgeDays: 30 },
      daemon: { cpuShare: 0.2 },
    };
    const config = await writeConfig(brain, () => settled);
    expect(config).toEqual({
      llm: { ...http, timeoutSeconds: 120, maxRetries: 3, insecure: false },
      llmBudget: { ...DEFAULT_LLM_BUDGET, calls: 5 },
      sleep: { decayAgeDays: 30 },
      daemon: { ...DEFAULT_DAEMON_CONFIG, cpuShare: 0.2 },
    });
    expect(await readConfig(brain)).toEqual(config);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(settled);
    expect(await writeConfig(brain, (stored) => ({ ...stored, llm: command }))).toMatchObject({
      llm: { ...command, timeoutSeconds: 120, passEnv: [] },
      llmBudget: { calls: 5 },
    });
  });

  it("is the owner's alone and replaced whole, with nothing left beside it", async () => {
    await writeConfig(brain, () => ({ llm: http }));
    chmodSync(file, 0o600);
    await writeConfig(brain, (stored) => ({ ...stored, sleep: { coreShare: 0.02 } }));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["config.json"]);
  });

  it("is written through a link, which stays one", async () => {
    const kept = join(folder, "kept.json");
    writeFileSync(kept, "{}");
    symlinkSync(kept, file);
    await writeConfig(brain, () => ({ sleep: { linkDegree: 9 } }));
    expect(JSON.parse(readFileSync(kept, "utf8"))).toEqual({ sleep: { linkDegree: 9 } });
  });

  it("stays as it was when a change breaks a rule or its maker fails", async () => {
    await writeConfig(brain, () => ({ llmBudget: { calls: 5 } }));
    const before = readFileSync(file, "utf8");
    expect(await failureOf(writeConfig(brain, () => ({ llmBudget: { calls: -1 } })))).toMatchObject({
      code: "invalid",
    });
    await expect(
      writeConfig(brain, () => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("takes every number of sleep at its default", async () => {
    await expect(writeConfig(brain, () => ({ sleep: DEFAULT_SLEEP_CONFIG }))).resolves.toMatchObject({
      sleep: DEFAULT_SLEEP_CONFIG,
    });
  });

  it.each([
    [{ lllm: http }, "unknown key lllm", "llm, llmBudget, sleep, daemon"],
    [{ llm: { ...http, modle: "x" } }, "unknown key llm.modle", "apiKeyEnv"],
    [{ llm: { ...http, apiKey: "s3cret" } }, "unknown key llm.apiKey", "apiKeyEnv"],
    [{ llm: { ...command, url: "x" } }, "unknown key llm.url", "command"],
    [{ sleep: { decayDays: 3 } }, "unknown key sleep.decayDays", "decayAgeDays"],
    [{ daemon: { cron: "x" } }, "unknown key daemon.cron", "schedule"],
    [{ llm: { kind: "grpc" } }, "llm.kind must be http or command", "kind"],
    [{ llm: { kind: "http", model: "m" } }, "llm.url is missing", "url"],
    [{ llm: { ...http, url: "http://example.org/v1" } }, "llm.url plain http://", "insecure"],
    [{ llm: { ...http, url: "https://me:s3cret@example.org/v1" } }, "llm.url the address holds a secret", "apiKeyEnv"],
    [{ llm: { ...http, apiKeyEnv: "s3cret-key" } }, "llm.apiKeyEnv must be the name of an environment variable", ""],
    [{ llm: { ...http, timeoutSeconds: 301 } }, "llm.timeoutSeconds must be at most 300", ""],
    [{ llm: { ...http, maxRetries: 2.5 } }, "llm.maxRetries must be a whole number", ""],
    [{ llm: { ...command, command: [] } }, "llm.command.0 is missing", ""],
    [{ llm: { ...command, command: ["./run"] } }, "llm.command must begin with a program's name or absolute path", ""],
    [{ llm: { ...command, passEnv: ["A B"] } }, "llm.passEnv.0 must be the name", ""],
    [{ llmBudget: { calls: "many" } }, "llmBudget.calls must be a whole number", "tokens"],
    [{ sleep: { coreShare: 1.5 } }, "sleep.coreShare must be at most 1", ""],
    [{ sleep: { linkDegree: -1 } }, "sleep.linkDegree must not be below 0", ""],
    [{ daemon: { schedule: "every night" } }, "daemon.schedule must have the five fields of cron", ""],
    [{ daemon: { watch: ["notes"] } }, "daemon.watch.0 must be an absolute path", ""],
    [{ daemon: { cpuShare: 0 } }, "daemon.cpuShare must be at least 0.01", ""],
    [[], "the file expected object", ""],
    ["null", "the file expected object", ""],
    ["{ llm: 1 }", "is not JSON, line 1", "Correct it"],
    ['{\n  "sleep": {},\n  "daemon": {"cpuShare": 0.5,}\n}', "is not JSON, line 3", "Correct it"],
    ["", "is not JSON", "Correct it"],
  ])("refuses %j by name, telling no value", async (value, complaint, hint) => {
    byHand(value);
    const failure = await failureOf(readConfig(brain));
    expect(failure.code).toBe("bad_config");
    expect(failure.message).toContain(complaint);
    expect(failure.message).toContain(file);
    expect(failure.hint).toContain(hint);
    expect(JSON.stringify(failure)).not.toContain("s3cret");
    expect(await failureOf(writeConfig(brain, () => ({})))).toMatchObject({ code: "bad_config" });
  });

  it.skipIf(process.platform === "win32")("refuses a model named in a file that others may have written", async () => {
    byHand({ llm: command, sleep: {} }, 0o600);
    expect(await readConfig(brain)).toHaveProperty("llm");
    for (const mode of [0o644, 0o660, 0o622]) {
      byHand({ llm: command }, mode);
      expect(await failureOf(readConfig(brain))).toMatchObject({
        code: "bad_config",
        hint: expect.stringContaining("chmod 600"),
      });
    }
    byHand({ sleep: { linkDegree: 9 } }, 0o644);
    expect(await readConfig(brain)).toMatchObject({ sleep: { linkDegree: 9 } });
  });

  it("refuses a file that is too large, and a folder in its place", async () => {
    byHand(`{"sleep": {}}${" ".repeat(300_000)}`);
    expect(await failureOf(readConfig(brain))).toMatchObject({ code: "bad_config" });
    const elsewhere = join(folder, "config.json", "brain.db");
    expect(await failureOf(writeConfig(elsewhere, () => ({})))).toMatchObject({ code: "io" });
  });
});

describe("keys of the configuration", () => {
  it("are listed with value and default, those of a model only when there is one", async () => {
    const { path, entries, hasApiKey } = await listConfig(brain);
    expect([path, hasApiKey]).toEqual([file, null]);
    expect(entries.every(({ isDefault }) => isDefault)).toBe(true);
    expect(entries.map(({ key }) => key).filter((key) => key.startsWith("llm."))).toEqual(["llm.kind"]);
    await writeConfig(brain, () => ({ llm: { ...http, apiKeyEnv: "SOME_KEY" }, daemon: { jitterMinutes: 0 } }));
    const after = await listConfig(brain, { SOME_KEY: "x" });
    expect(after.hasApiKey).toBe(true);
    expect((await listConfig(brain, {})).hasApiKey).toBe(false);
    expect(after.entries.filter(({ isDefault }) => !isDefault)).toEqual([
      { key: "llm.kind", value: "http", isDefault: false },
      { key: "llm.url", value: http.url, isDefault: false },
      { key: "llm.model", value: http.model, isDefault: false },
      { key: "llm.apiKeyEnv", value: "SOME_KEY", isDefault: false },
      { key: "daemon.jitterMinutes", value: 0, isDefault: false },
    ]);
  });

  it("can each be set to its own default and unset again", async () => {
    await writeConfig(brain, () => ({ llm: http }));
    const { entries } = await listConfig(brain);
    for (const { key, value } of entries.filter((entry) => entry.value !== null && entry.key !== "llm.kind")) {
      await setConfigKey(brain, key, Array.isArray(value) ? value.map(String) : [String(value)]);
      const set = (await listConfig(brain)).entries.find((entry) => entry.key === key);
      expect(set).toEqual({ key, value, isDefault: false });
    }
    for (const { key } of entries.filter((entry) => !["llm.kind", "llm.url", "llm.model"].includes(entry.key))) {
      await unsetConfigKey(brain, key);
    }
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ llm: http });
    await unsetConfigKey(brain, "llm");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({});
  });

  it("read lists, switches and folders as they are typed", async () => {
    await writeConfig(brain, () => ({ llm: http }));
    await setConfigKey(brain, "llm.insecure", ["true"]);
    await setConfigKey(brain, "llm.url", ["http://192.168.1.5:8080/v1"]);
    await setConfigKey(brain, "daemon.schedule", ["*/30 1-5 * * mon"]);
    await setConfigKey(brain, "daemon.watch", ["/notes/a b", "relative"]);
    expect(await readConfig(brain)).toMatchObject({
      llm: { insecure: true, url: "http://192.168.1.5:8080/v1" },
      daemon: { schedule: "*/30 1-5 * * mon", watch: ["/notes/a b", join(process.cwd(), "relative")] },
    });
  });

  it.each([
    ["lllm.url", ["x"], "usage", "there is no key lllm.url"],
    ["sleep", ["3"], "usage", "sleep is no key but several"],
    ["sleep.decayDays", ["3"], "usage", "there is no key sleep.decayDays"],
    ["sleep.__proto__", ["3"], "usage", "there is no key"],
    ["__proto__.x", ["3"], "usage", "there is no key"],
    ["constructor", ["3"], "usage", "there is no key"],
    ["sleep.linkDegree", ["many"], "usage", "must be a number"],
    ["sleep.linkDegree", ["1", "2"], "usage", "takes one value"],
    ["sleep.linkDegree", ["1e3"], "usage", "must be a number"],
    ["sleep.linkDegree", ["1.5"], "invalid", "must be a whole number"],
    ["llm.insecure", ["yes"], "usage", "true or false"],
    ["llm.url", ["http://127.0.0.1/v1"], "no_llm", "no language model is configured"],
    ["daemon.schedule", ["0 3 * *"], "invalid", "daemon.schedule"],
    ["daemon.schedule", ["0 0 3 * * *"], "invalid", "five fields"],
    ["daemon.schedule", ["99 3 * * *"], "invalid", "cannot be read"],
  ])("refuse %s %j with %s", async (key, words, code, message) => {
    const failure = await failureOf((async () => setConfigKey(brain, key, words))());
    expect(failure).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(existsSync(file)).toBe(false);
  });

  it("refuse to be taken from a model that needs them", async () => {
    await writeConfig(brain, () => ({ llm: http }));
    expect(await failureOf(unsetConfigKey(brain, "llm.model"))).toMatchObject({
      code: "invalid",
      message: "llm.model is missing",
    });
  });

  it("lose nothing to any order of settings", async () => {
    const { entries } = await listConfig(brain);
    const numeric = entries.filter(({ value }) => typeof value === "number").map(({ key }) => key);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.constantFrom(...numeric), { minLength: 1, maxLength: 6 }), async (keys) => {
        rmSync(file, { force: true });
        for (const key of keys) await setConfigKey(brain, key, ["1"]);
        const set = (await listConfig(brain)).entries.filter(({ isDefault }) => !isDefault);
        expect(set.map(({ key }) => key).sort()).toEqual([...keys].sort());
        expect(set.every(({ value }) => value === 1)).toBe(true);
      }),
      { numRuns: 20 },
    );
  });
});
