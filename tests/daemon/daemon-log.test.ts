/** The daemon's log: lines of JSON, put aside by size, read from its end. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DaemonLog, readLog } from "../../src/daemon/daemon-log.ts";
import { createTestClock } from "../support/clock.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-log-"));
  path = join(folder, "brain.db.daemon.log");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const unexpected = (code: string) => {
  throw new Error(`the log broke: ${code}`);
};

describe("the log", () => {
  it("holds a line for each thing that happened, with the time of the clock it is given", async () => {
    const clock = createTestClock();
    const log = new DaemonLog(path, clock, unexpected);
    log.write("started", { pid: 12 });
    clock.advance(60_000);
    log.write("night_failed", { code: "busy", cycle: null });
    await log.close();
    expect(readFileSync(path, "utf8")).toBe(
      '{"at":"2026-03-01T12:00:00.000Z","event":"started","pid":12}\n' +
        '{"at":"2026-03-01T12:01:00.000Z","event":"night_failed","code":"busy","cycle":null}\n',
    );
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("goes on where an earlier process stopped", async () => {
    for (const pid of [1, 2]) {
      const log = new DaemonLog(path, createTestClock(), unexpected);
      log.write("started", { pid });
      await log.close();
    }
    expect(readLog(path, 9).map(({ pid }) => pid)).toEqual([1, 2]);
  });

  it("never grows beyond its bounds, and is read over the seam", async () => {
    const log = new DaemonLog(path, createTestClock(), unexpected, 2);
    for (let at = 0; at < 400; at++) {
      log.write("scanned", { at_number: at });
      if (at % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await log.close();
    const files = readdirSync(folder).sort();
    expect(files).toEqual(
      [1, 2, 3].map((number) => `brain.db.daemon.log.${number}`).toSpliced(0, 0, "brain.db.daemon.log"),
    );
    for (const file of files) expect(statSync(join(folder, file)).size).toBeLessThan(4 * 1024);
    for (const file of files) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    const lines = readLog(path, 30);
    expect(lines.map(({ at_number: number }) => number)).toEqual(Array.from({ length: 30 }, (_, at) => 370 + at));
  });

  it("tells once that it cannot be written, and lets the work go on", async () => {
    mkdirSync(path);
    const told: string[] = [];
    const log = new DaemonLog(path, createTestClock(), (code) => told.push(code));
    log.write("started");
    await expect.poll(() => told.length).toBe(1);
    log.write("stopped");
    await log.close();
    expect(told).toHaveLength(1);
  });
});

describe("reading the log", () => {
  it("gives nothing where there is none", () => {
    expect(readLog(path, 10)).toEqual([]);
  });

  it("passes over lines that are none", () => {
    writeFileSync(path, 'rest of a line"}\n{"at":"x","event":"started"}\n[1]\n17\n{"at":"y","event":"stopp');
    expect(readLog(path, 10)).toEqual([{ at: "x", event: "started" }]);
  });
});
