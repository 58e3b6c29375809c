import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { packagePath } from "../../src/core/package-path.ts";
import type { CompletionRequest } from "../../src/core/ports.ts";
import { type CommandModelOptions, createCommandModel } from "../../src/llm/command.ts";
import { languageModelConformance } from "../conformance/language-model.ts";
import { isRunning, waitUntilGone } from "../support/running.ts";

const FAKE = packagePath("tests/support/fake-llm-command.mjs");

function fakeCommand(behaviour: string, ...details: readonly string[]): CommandModelOptions["command"] {
  return [process.execPath, FAKE, behaviour, ...details];
}

languageModelConformance("a model behind a command", async (behaviour, timeoutSeconds) => {
  const commands: Record<typeof behaviour.kind, CommandModelOptions["command"]> = {
    answer: fakeCommand("answer", behaviour.kind === "answer" ? behaviour.text : ""),
    echo: fakeCommand("echo"),
    silent: fakeCommand("silent"),
    trickle: fakeCommand("trickle"),
    huge: fakeCommand("huge"),
    fail: fakeCommand("fail"),
    absent: ["dormouse-no-such-program"],
    noText: fakeCommand("bytes", "7bfffe"),
  };
  return { model: createCommandModel({ command: commands[behaviour.kind], timeoutSeconds }), close: async () => {} };
});

const request: CompletionRequest = { system: "S", prompt: "P", schema: {}, maxTokens: 50 };

describe("a command", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "dormouse-command-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is called as configured, else by its program's name", () => {
    expect(createCommandModel({ command: ["/usr/bin/llm", "-m", "x"], timeoutSeconds: 1 }).name).toBe("llm");
    expect(createCommandModel({ command: ["llm"], model: "qwen3:8b", timeoutSeconds: 1 }).name).toBe("qwen3:8b");
  });

  it("gets its arguments as they are, an empty folder, and no variable that was not named", async () => {
    process.env.DORMOUSE_TEST_SECRET = "s3cret";
    process.env.DORMOUSE_TEST_KEY = "k3y";
    try {
      const command = fakeCommand("surroundings", "$HOME; touch owned", "*", "");
      const model = createCommandModel({
        command,
        timeoutSeconds: 30,
        passEnvironment: ["DORMOUSE_TEST_KEY", "NOT_SET"],
      });
      const { text } = await model.complete(request);
      const seen = JSON.parse(text) as { folder: string; arguments: string[]; environment: Record<string, string> };
      expect(seen.arguments).toEqual(["$HOME; touch owned", "*", ""]);
      expect(seen.environment.PATH).toBe(process.env.PATH);
      expect(seen.environment.DORMOUSE_TEST_KEY).toBe("k3y");
      expect(seen.environment).not.toHaveProperty("DORMOUSE_TEST_SECRET");
      expect(seen.environment).not.toHaveProperty("NOT_SET");
      expect(seen.folder).not.toBe(process.cwd());
      expect(existsSync(seen.folder)).toBe(false);
    } finally {
      delete process.env.DORMOUSE_TEST_SECRET;
      delete process.env.DORMOUSE_TEST_KEY;
    }
  });

  it("may leave its input unread", async () => {
    const model = createCommandModel({ command: fakeCommand("deaf"), timeoutSeconds: 30 });
    expect(await model.complete({ ...request, prompt: "x".repeat(2_000_000) })).toMatchObject({
      text: "I did not listen.",
    });
  });

  it("fails with the status it ended with", async () => {
    const model = createCommandModel({ command: fakeCommand("fail"), timeoutSeconds: 30 });
    await expect(model.complete(request)).rejects.toMatchObject({
      code: "llm_refused",
      message: expect.stringContaining("status 3"),
    });
  });

  it("fails when the file is no program", async () => {
    const file = join(folder, "model");
    writeFileSync(file, "no program");
    const model = createCommandModel({ command: [file], timeoutSeconds: 30 });
    await expect(model.complete(request)).rejects.toMatchObject({ code: "llm_unreachable" });
  });

  it("leaves no process behind when it answers", async () => {
    const ids = join(folder, "ids");
    const model = createCommandModel({ command: fakeCommand("family", ids), timeoutSeconds: 30 });
    expect(await model.complete(request)).toMatchObject({ text: "done" });
    await expectGone(ids);
  });

  it("leaves no process behind when its time is up", async () => {
    const ids = join(folder, "ids");
    const model = createCommandModel({ command: fakeCommand("clan", ids), timeoutSeconds: 2 });
    await expect(model.complete(request)).rejects.toMatchObject({ code: "llm_timeout" });
    await expectGone(ids);
  });

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("ends with the process that runs it, by %s too", async (signal) => {
    const ids = join(folder, "ids");
    const child = spawn(
      process.execPath,
      ["--import", "tsx", packagePath("tests/support/llm-command-child.ts"), ...fakeCommand("clan", ids)],
      { stdio: "ignore", env: { ...process.env, TMPDIR: folder } },
    );
    const ended = once(child, "exit");
    while (!existsSync(ids) || readFileSync(ids, "utf8").split(" ").length < 2) await delay(50);
    expect(readFileSync(ids, "utf8").split(" ").map(Number).every(isRunning)).toBe(true);
    expect(readdirSync(folder).some((name) => name.startsWith("dormouse-llm-"))).toBe(true);
    child.kill(signal);
    expect(await ended).toEqual([null, signal]);
    await expectGone(ids);
    expect(readdirSync(folder).filter((name) => name.startsWith("dormouse-llm-"))).toEqual([]);
  });
});

/** The two processes named in the file end. */
async function expectGone(file: string): Promise<void> {
  const ids = readFileSync(file, "utf8").split(" ").map(Number);
  expect(ids).toHaveLength(2);
  await waitUntilGone(ids);
}
