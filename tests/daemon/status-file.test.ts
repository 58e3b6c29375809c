/** Which process is the daemon of a brain, and what its status file says of it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
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
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readOverview } from "../../src/daemon/overview.ts";
import { identifySelf, isSameProcess } from "../../src/daemon/process-identity.ts";
import { type DaemonStatus, daemonFile, findRunning, readStatus, writeStatus } from "../../src/daemon/status-file.ts";

let folder: string;
let brain: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-status-"));
  brain = join(folder, "brain.db");
  writeFileSync(brain, "");
  path = daemonFile(brain, "json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function createStatus(change: Partial<DaemonStatus> = {}): DaemonStatus {
  return {
    version: 1,
    process: identifySelf(),
    startedAt: "2026-03-01T12:00:00.000Z",
    state: "idle",
    since: "2026-03-01T12:00:00.000Z",
    progress: null,
    schedule: "0 3 * * *",
    next: null,
    nights: 0,
    lastNight: null,
    lastScan: null,
    trouble: null,
    writtenAt: "2026-03-01T12:00:00.000Z",
    ...change,
  };
}

describe("a process", () => {
  it("is the same as long as it runs", async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    const pid = child.pid ?? 0;
    expect(isSameProcess({ pid, startedAs: null })).toBe(true);
    expect(isSameProcess(identifySelf())).toBe(true);
    child.kill("SIGKILL");
    await once(child, "close");
    expect(isSameProcess({ pid, startedAs: null })).toBe(false);
  });

  it("is another one when its number was given out again", () => {
    const { pid, startedAs } = identifySelf();
    expect(startedAs).not.toBeNull();
    expect(isSameProcess({ pid, startedAs: `${startedAs}0` })).toBe(false);
  });
});

describe("the status file", () => {
  it("comes back as it was written, and nobody else may read it", () => {
    const status = createStatus({ state: "sleeping", progress: { stage: "link", done: 3, total: null } });
    writeStatus(path, status);
    expect(readStatus(path)).toEqual(status);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(["brain.db", "brain.db.daemon.json"]);
  });

  it("is never seen half written", async () => {
    // A reader of its own reads while it is written again and again.
    const reader = spawn(process.execPath, [
      "-e",
      `const { readFileSync } = require("node:fs"); let read = 0;
       process.on("SIGTERM", () => { console.log(read); process.exit(0); });
       (function look() { for (let i = 0; i < 50; i++) { JSON.parse(readFileSync(${JSON.stringify(path)}, "utf8")); read++; } setImmediate(look); })();`,
    ]);
    writeStatus(path, createStatus());
    let printed = "";
    reader.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
    await once(reader, "spawn");
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (let at = 0; at < 2_000; at++) writeStatus(path, createStatus({ nights: at }));
    reader.kill("SIGTERM");
    const [status] = await once(reader, "close");
    expect(status).toBe(0);
    expect(Number(printed)).toBeGreaterThan(10);
  });

  it.each([
    ["nothing", ""],
    ["half of it", '{"version":1,"process":{"pid":12'],
    ["another program's JSON", '{"pid":1}'],
    ["a later version", JSON.stringify({ ...createStatus(), version: 2 })],
    ["a process that is none", JSON.stringify({ ...createStatus(), process: { pid: -1, startedAs: null } })],
    ["a state that is none", JSON.stringify({ ...createStatus(), state: "dancing" })],
    ["a list", "[]"],
  ])("counts as none when it holds %s", (_, text) => {
    writeFileSync(path, text);
    expect(readStatus(path)).toBeNull();
    expect(findRunning(path)).toBeNull();
    expect(readOverview(brain)).toMatchObject({ running: false, died: false, status: null });
  });

  it("is one for every path that leads to the brain", () => {
    const link = join(folder, "link.db");
    symlinkSync(brain, link);
    expect(daemonFile(link, "json")).toBe(daemonFile(brain, "json"));
  });

  it("leaves nothing behind where it cannot be put in place", () => {
    // A folder cannot be replaced by a file.
    mkdirSync(path);
    expect(() => writeStatus(path, createStatus())).toThrow();
    expect(readdirSync(folder).sort()).toEqual(["brain.db", "brain.db.daemon.json"]);
  });
});

describe("the daemon of a brain", () => {
  it("is running while its process is, unless it said that it stopped", () => {
    writeStatus(path, createStatus());
    expect(findRunning(path)?.process).toEqual(identifySelf());
    expect(readOverview(brain)).toMatchObject({ running: true, died: false });
    writeStatus(path, createStatus({ state: "stopped" }));
    expect(findRunning(path)).toBeNull();
    expect(readOverview(brain)).toMatchObject({ running: false, died: false });
  });

  it("died when its process is gone, also when another one has its number", () => {
    const { pid, startedAs } = identifySelf();
    writeStatus(path, createStatus({ process: { pid, startedAs: `${startedAs}0` } }));
    expect(findRunning(path)).toBeNull();
    expect(readOverview(brain)).toMatchObject({ running: false, died: true });
    expect(readFileSync(path, "utf8")).toContain(String(pid));
  });
});
