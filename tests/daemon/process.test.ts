/** The daemon as a process: missed nights, signals, kills, two at once, brains that go missing, disks that refuse. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeConfig } from "../../src/app/config.ts";
import { Brain } from "../../src/app.ts";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { readLog } from "../../src/daemon/daemon-log.ts";
import { readOverview } from "../../src/daemon/overview.ts";
import { daemonFile } from "../../src/daemon/status-file.ts";
import type { DaemonChildOptions } from "../support/daemon-child.ts";
import { DaemonProcess } from "../support/daemon-process.ts";

const SLOW = 120_000;
let folder: string;
let brainPath: string;
let started: DaemonProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-daemon-"));
  brainPath = join(folder, "brain.db");
  started = [];
});
afterEach(async () => {
  for (const daemon of started) daemon.kill("SIGKILL");
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(folder, { recursive: true, force: true });
});

function start(options: Partial<DaemonChildOptions> = {}, owner = {}): DaemonProcess {
  const daemon = new DaemonProcess({ brainPath, ...options }, owner);
  started.push(daemon);
  return daemon;
}

/** Words that are in no log and no status. */
const SECRET = "marmalade";

/** Large ones are made once and copied. */
const shelf = mkdtempSync(join(tmpdir(), "dormouse-daemon-shelf-"));
afterAll(() => rmSync(shelf, { recursive: true, force: true }));

async function makeBrain(thoughts: number, daysAgo: number): Promise<void> {
  const kept = join(shelf, `${thoughts}-${daysAgo}.db`);
  if (!existsSync(kept)) await fillBrain(kept, thoughts, daysAgo);
  copyFileSync(kept, brainPath);
}

async function fillBrain(path: string, thoughts: number, daysAgo: number): Promise<void> {
  const brain = Brain.open({ path, create: true, clock: { now: () => Date.now() - daysAgo * MS_PER_DAY } });
  const texts = Array.from({ length: thoughts }, (_, at) =>
    [1, 2, 3, 4, 5].map((part) => `${SECRET}${at}x${part}`).join(" "),
  );
  for (let at = 0; at < texts.length; at += 500) {
    await brain.rememberAll(texts.slice(at, at + 500).map((content) => ({ content })));
  }
  brain.close();
}

const useBrain = async <T>(run: (brain: Brain) => T | Promise<T>): Promise<T> => {
  const brain = Brain.open({ path: brainPath });
  try {
    return await run(brain);
  } finally {
    brain.close();
  }
};

const events = () => readLog(daemonFile(brainPath, "log"), 100).map(({ event }) => event);
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** A night so slow that something can happen in the middle of it. */
const settleSlowly = () =>
  writeConfig(brainPath, (stored) => ({ ...stored, daemon: { cpuShare: 0.02, jitterMinutes: 0 } }));
const settle = (daemon: NonNullable<Parameters<Parameters<typeof writeConfig>[1]>[0]["daemon"]> = {}) =>
  writeConfig(brainPath, (stored) => ({ ...stored, daemon: { jitterMinutes: 0, ...daemon } }));

describe("nights", { timeout: SLOW }, () => {
  it("catches up once on nights that were missed, and then waits for the next", async () => {
    await makeBrain(30, 40);
    await settle();
    const daemon = start();
    const night = await daemon.until("a night", ({ nights }) => nights === 1);
    expect(night.lastNight).toMatchObject({ outcome: "finished", code: null, failedPhases: [], cycle: 1 });
    const idle = await daemon.until("the next one", ({ state, nights }) => state === "idle" && nights === 1);
    expect(idle.next).toMatchObject({ what: "night", reason: "scheduled" });
    expect(Date.parse(idle.next?.at ?? "")).toBeGreaterThan(Date.now());
    // The night was a real one: it left links.
    expect(await useBrain((brain) => brain.stats().links)).toBeGreaterThan(0);
    expect(isAlive(daemon.pid)).toBe(true);
  });

  it("sleeps when the schedule's minute comes on its clock", async () => {
    await makeBrain(5, 0);
    await settle();
    const three = new Date();
    three.setHours(27, 0, 0, 0);
    const daemon = start({ clockStart: three.getTime() - 5_000 });
    const idle = await daemon.until("a plan", ({ state, next }) => state === "idle" && next !== null);
    expect(idle).toMatchObject({ nights: 0, next: { what: "night", at: three.toISOString(), reason: "scheduled" } });
    const { lastNight } = await daemon.until("a night", ({ nights }) => nights === 1);
    expect(Date.parse(lastNight?.startedAt ?? "")).toBeGreaterThanOrEqual(three.getTime());
  });

  it("leaves a night that somebody slept by hand", async () => {
    await makeBrain(5, 3);
    await settle();
    await useBrain((brain) => brain.sleep());
    const daemon = start();
    const idle = await daemon.until("a plan", ({ state, next }) => state === "idle" && next !== null);
    expect(idle).toMatchObject({ nights: 0, next: { reason: "scheduled" } });
    daemon.kill("SIGTERM");
    expect((await daemon.ended).code).toBe(0);
    expect(events()).toEqual(["started", "stopping", "stopped"]);
  });

  it("waits while others write, and no longer than it should", async () => {
    await makeBrain(5, 3);
    await settle();
    const quietMs = 5_000;
    let last = 0;
    let daemon: DaemonProcess | null = null;
    await useBrain(async (brain) => {
      for (let at = 0; at < 15 || events().at(-1) !== "waiting"; at++) {
        await brain.remember({ content: `something new ${at}` });
        last = Date.now();
        daemon ??= start({ patience: { quietMs, pollMs: 20 } });
        await new Promise((resolve) => setTimeout(resolve, 200));
        expect(daemon.statuses.map(({ state }) => state)).not.toContain("sleeping");
      }
    });
    const [waiter] = started;
    const sleeping = await waiter?.until("sleep", ({ state }) => state === "sleeping");
    expect(Date.parse(sleeping?.since ?? "") - last).toBeGreaterThanOrEqual(quietMs - 100);
  });

  it("begins in the end although others write on", async () => {
    await makeBrain(5, 3);
    await settle();
    const daemon = start({ patience: { quietMs: 60_000, pollMs: 20, longestMs: 500 } });
    let isOver = false;
    const night = daemon
      .until("a night", ({ nights }) => nights === 1)
      .then((status) => {
        isOver = true;
        return status;
      });
    await useBrain(async (brain) => {
      for (let at = 0; !isOver; at++) {
        await brain.remember({ content: `still new ${at}` });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    expect((await night).lastNight?.outcome).toBe("finished");
  });

  it("puts the night off while another process sleeps, and says so", async () => {
    await makeBrain(600, 40);
    await settle();
    let seen: DaemonProcess["statuses"][number] | null = null;
    await useBrain((brain) =>
      brain.sleep({
        // In the middle of its work this process holds the lease.
        rest: async () => {
          seen ??= await start().until("putting it off", ({ trouble }) => trouble !== null);
        },
      }),
    );
    expect(seen).toMatchObject({
      nights: 0,
      lastNight: { outcome: "put_off", code: "lease_held" },
      trouble: { code: "lease_held", times: 1 },
    });
  });
});

describe("ending", { timeout: SLOW }, () => {
  it.each([["SIGTERM"], ["SIGINT"], ["SIGHUP"]] as const)(
    "finishes its batch on %s in the middle of a night, and the next daemon goes on",
    async (signal) => {
      await makeBrain(1_500, 40);
      await settleSlowly();
      const daemon = start();
      await daemon.until("work in a phase", ({ state, progress }) => state === "sleeping" && progress !== null);
      daemon.kill(signal);
      expect(await daemon.ended).toMatchObject({ code: 0, signal: null });
      // Whoever has not stopped after 4.5 seconds is ended without these words.
      expect(daemon.statuses.at(-1)).toMatchObject({ state: "stopped", nights: 0, lastNight: { outcome: "stopped" } });
      expect(daemon.statuses.map(({ state }) => state)).toContain("stopping");
      expect(events().slice(-3)).toEqual(["stopping", "night_stopped", "stopped"]);
      expect(readOverview(brainPath)).toMatchObject({ running: false, died: false });

      await settle({ cpuShare: 1 });
      const next = start();
      const done = await next.until("the night", ({ nights }) => nights === 1);
      expect(done.lastNight).toMatchObject({ outcome: "finished", failedPhases: [] });
      expect((await useBrain((brain) => brain.doctor())).healthy).toBe(true);
    },
  );

  it("leaves at once while it waits or rests", async () => {
    await makeBrain(5, 0);
    await settle();
    const daemon = start();
    await daemon.until("idling", ({ state, next }) => state === "idle" && next !== null);
    daemon.kill("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: 0, signal: null });
  });

  it("starts no process of its own", async () => {
    await makeBrain(600, 40);
    await settleSlowly();
    const daemon = start();
    await daemon.until("work in a phase", ({ progress }) => progress !== null);
    // Control: this process has the daemon for a child.
    expect(childrenOf(process.pid)).toContain(daemon.pid);
    expect(childrenOf(daemon.pid)).toEqual([]);
  });
});

/** As ps lists them, without ps itself and the compiler that runs TypeScript in these tests. */
function childrenOf(pid: number): number[] {
  return execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, name]) => Number(parent) === pid && name !== "ps" && name !== "esbuild")
    .map(([child]) => Number(child));
}

describe("a daemon that was killed", { timeout: SLOW }, () => {
  it("is taken over from in the middle of its night, lease and all", async () => {
    await makeBrain(1_500, 40);
    await settleSlowly();
    const first = start();
    await first.until("work in a phase", ({ state, progress }) => state === "sleeping" && progress !== null);
    first.kill("SIGKILL");
    expect((await first.ended).signal).toBe("SIGKILL");
    expect(readOverview(brainPath)).toMatchObject({ running: false, died: true });

    await settle({ cpuShare: 1 });
    const second = start();
    const done = await second.until("the night", ({ nights }) => nights === 1);
    expect(done.process.pid).toBe(second.pid);
    expect(done.lastNight).toMatchObject({ outcome: "finished", failedPhases: [] });
    await useBrain(async (brain) => {
      expect((await brain.doctor()).healthy).toBe(true);
      expect((await brain.verify()).problems).toEqual([]);
      // Nothing of the night is left to do.
      const again = await brain.sleep({ dryRun: true });
      expect(again.phases.filter(({ name, planned }) => planned > 0 && name !== "upkeep")).toEqual([]);
    });
  });

  it("does not keep its place by a number that another process got", async () => {
    await makeBrain(5, 0);
    await settle();
    const first = start();
    await first.until("idling", ({ state }) => state === "idle");
    first.kill("SIGKILL");
    await first.ended;
    // As if this very process had been given the number.
    const path = daemonFile(brainPath, "json");
    const status = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...status, process: { ...status.process, pid: process.pid } }));
    const second = start();
    await second.until("idling", ({ state, next }) => state === "idle" && next !== null);
    expect(readOverview(brainPath)).toMatchObject({ running: true, status: { process: { pid: second.pid } } });
  });
});

describe("a second daemon", { timeout: SLOW }, () => {
  it("is refused with the first one's name, and the first goes on", async () => {
    await makeBrain(5, 0);
    await settle();
    const first = start();
    await first.until("idling", ({ state, next }) => state === "idle" && next !== null);
    const ending = await start().ended;
    expect(ending.code).toBe(1);
    expect(JSON.parse(ending.stderr)).toMatchObject({
      code: "daemon_running",
      message: expect.stringContaining(`process ${first.pid} `),
      hint: expect.stringContaining("daemon stop"),
    });
    expect(readOverview(brainPath)).toMatchObject({ running: true, status: { process: { pid: first.pid } } });
    expect(isAlive(first.pid)).toBe(true);
  });

  it("is one of two that start at once", async () => {
    await makeBrain(5, 0);
    await settle();
    const daemons = [start(), start(), start()];
    const fates = await Promise.all(
      daemons.map((daemon) =>
        Promise.race([
          daemon
            .until("idling", ({ state, next }) => state === "idle" && next !== null)
            .then(
              () => "runs",
              () => "ended",
            ),
          daemon.ended.then(({ code }) => `ended ${code}`),
        ]),
      ),
    );
    expect(fates.filter((fate) => fate === "runs")).toHaveLength(1);
    const endings = await Promise.all(daemons.filter((_, at) => fates[at] !== "runs").map(({ ended }) => ended));
    for (const { code, stderr } of endings) {
      expect(code).toBe(1);
      expect(["daemon_running", "lease_held"]).toContain(JSON.parse(stderr).code);
    }
  });

  it("of another brain is welcome", async () => {
    await makeBrain(5, 0);
    await settle();
    const first = start();
    await first.until("idling", ({ state, next }) => state === "idle" && next !== null);
    const otherFolder = join(folder, "other");
    mkdirSync(otherFolder);
    const other = join(otherFolder, "brain.db");
    Brain.open({ path: other, create: true }).close();
    await start({ brainPath: other }).until("idling", ({ state, next }) => state === "idle" && next !== null);
  });
});

describe("a brain that cannot be used", { timeout: SLOW }, () => {
  it("keeps a daemon from starting, and nothing is made", async () => {
    const ending = await start().ended;
    expect([ending.code, JSON.parse(ending.stderr).code]).toEqual([1, "no_brain"]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("that is damaged keeps a daemon from starting, too", async () => {
    writeFileSync(brainPath, "a shopping list, and a long one at that\n".repeat(100));
    const ending = await start().ended;
    expect([ending.code, JSON.parse(ending.stderr).code]).toEqual([1, "not_a_brain"]);
    expect(readdirSync(folder)).toEqual(["brain.db"]);
  });

  it.each([
    ["was moved away", "no_brain", () => renameSync(brainPath, `${brainPath}.away`)],
    [
      "was overwritten",
      "not_a_brain",
      () => {
        renameSync(brainPath, `${brainPath}.away`);
        writeFileSync(brainPath, "not a brain any more\n".repeat(100));
      },
    ],
  ])("and %s meanwhile is told, tried again later, and slept on when it is back", async (_, code, harm) => {
    await makeBrain(5, 0);
    await settle();
    const three = new Date();
    three.setHours(27, 0, 0, 0);
    const daemon = start({ clockStart: three.getTime() - 5_000 });
    await daemon.until("idling", ({ state, next }) => state === "idle" && next !== null);
    harm();
    const failed = await daemon.until("the failure", ({ trouble }) => trouble !== null);
    expect(failed).toMatchObject({ nights: 0, lastNight: { outcome: "failed", code }, trouble: { code, times: 1 } });
    const retry = await daemon.until("another try", ({ next }) => next?.reason === "retry");
    expect(Date.parse(retry.next?.at ?? "")).toBeGreaterThan(three.getTime());
    expect(isAlive(daemon.pid)).toBe(true);
    daemon.kill("SIGTERM");
    expect((await daemon.ended).code).toBe(0);
    rmSync(brainPath, { force: true });
    renameSync(`${brainPath}.away`, brainPath);
    const next = start({ clockStart: three.getTime() + 60_000 });
    await next.until("the night", ({ nights }) => nights === 1);
  });

  it("and moved in the middle of a night loses nothing, and the daemon lives", async () => {
    await makeBrain(1_500, 40);
    await settleSlowly();
    const daemon = start();
    await daemon.until("work in a phase", ({ state, progress }) => state === "sleeping" && progress !== null);
    renameSync(brainPath, `${brainPath}.away`);
    for (const ending of ["-wal", "-shm"]) renameSync(`${brainPath}${ending}`, `${brainPath}.away${ending}`);
    daemon.kill("SIGTERM");
    expect((await daemon.ended).code).toBe(0);
    for (const ending of ["", "-wal", "-shm"]) {
      if (existsSync(`${brainPath}.away${ending}`)) renameSync(`${brainPath}.away${ending}`, `${brainPath}${ending}`);
    }
    await useBrain(async (brain) => {
      expect((await brain.doctor()).healthy).toBe(true);
      expect(brain.stats().thoughts).toBe(1_500);
    });
  });

  /** Root may write everywhere, so the daemon of these tests is somebody else. */
  const NOBODY = 65_534;
  const owner = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  function giveAway(): void {
    if (owner.uid === undefined) return;
    for (const file of ["", ...readdirSync(folder)]) chownSync(join(folder, file), owner.uid, owner.gid);
  }

  it("on a disk that cannot be written keeps a daemon from starting", async () => {
    await makeBrain(5, 3);
    await settle();
    giveAway();
    // Control: with the rights in place it runs.
    const well = start({ once: true }, owner);
    expect(await well.ended).toMatchObject({ code: 0, stderr: "" });
    for (const file of readdirSync(folder)) chmodSync(join(folder, file), 0o400);
    chmodSync(folder, 0o500);
    const ending = await start({}, owner).ended;
    chmodSync(folder, 0o700);
    expect([ending.code, JSON.parse(ending.stderr).code]).toEqual([1, "io"]);
  });

  it("on a disk that stops being writable is tried again later, status and log or not", async () => {
    await makeBrain(5, 0);
    await settle();
    giveAway();
    const three = new Date();
    three.setHours(27, 0, 0, 0);
    const daemon = start({ clockStart: three.getTime() - 5_000 }, owner);
    await daemon.until("idling", ({ state, next }) => state === "idle" && next !== null);
    for (const file of readdirSync(folder)) chmodSync(join(folder, file), 0o400);
    chmodSync(folder, 0o500);
    const failed = await daemon.until("the failure", ({ trouble }) => trouble !== null);
    chmodSync(folder, 0o700);
    expect(failed.trouble).toMatchObject({ code: "io", times: 1 });
    daemon.kill("SIGTERM");
    expect((await daemon.ended).code).toBe(0);
  });
});

describe("the configuration", { timeout: SLOW }, () => {
  it("is told to be wrong at the start", async () => {
    await makeBrain(5, 0);
    writeFileSync(join(folder, "config.json"), JSON.stringify({ daemon: { schedule: "0 25 * * *" } }), { mode: 0o600 });
    const ending = await start().ended;
    expect(ending.code).toBe(1);
    const told = JSON.parse(ending.stderr);
    expect(told.message).toContain("hour (0 to 23)");
    expect(told.hint).toBeTruthy();
    expect(readOverview(brainPath).status).toBeNull();
  });

  it("holds from when it is changed, and what cannot be read leaves the last one standing", async () => {
    await makeBrain(5, 0);
    await settle({ schedule: "0 4 * * *" });
    const daemon = start();
    await daemon.until("idling", ({ state, schedule }) => state === "idle" && schedule === "0 4 * * *");
    await settle({ schedule: "30 5 * * *" });
    const { next } = await daemon.until("the change", ({ state, schedule, next: shown }) => {
      const at = new Date(shown?.at ?? 0);
      return state === "idle" && schedule === "30 5 * * *" && at.getHours() === 5;
    });
    expect(next?.what).toBe("night");
    const path = join(folder, "config.json");
    for (const [text, code] of [
      ["{", "bad_config"],
      [JSON.stringify({ daemon: { cpuShare: 7 } }), "bad_config"],
    ] as const) {
      const before = daemon.statuses.length;
      writeFileSync(path, text);
      const told = await daemon.until("trouble", ({ trouble, writtenAt }) => {
        return trouble !== null && writtenAt > (daemon.statuses[before - 1]?.writtenAt ?? "");
      });
      expect(told).toMatchObject({ trouble: { code }, schedule: "30 5 * * *" });
    }
    rmSync(path);
    await daemon.until("the defaults", ({ trouble, schedule }) => trouble === null && schedule === "0 3 * * *");
  });

  it("is watched folders, whose news are in the brain after the night, without a word in log and status", async () => {
    await makeBrain(5, 3);
    const notes = join(folder, "notes");
    mkdirSync(notes);
    writeFileSync(join(notes, "trip.md"), `The ${SECRET} from Porto is in the cellar.\n`);
    await settle({ watch: [notes, join(folder, "not-there")] });
    const daemon = start();
    const night = await daemon.until("a night", ({ nights }) => nights === 1);
    expect(night.lastScan).toMatchObject({ files: 1, thoughts: 1, errors: 1, code: null });
    const found = await useBrain((brain) => brain.search("Porto cellar"));
    expect(found.results[0]?.content).toContain("Porto");
    daemon.kill("SIGTERM");
    await daemon.ended;
    expect(events()).toEqual(["started", "night_started", "scanned", "night_finished", "stopping", "stopped"]);
    for (const ending of ["json", "log"] as const) {
      const text = readFileSync(daemonFile(brainPath, ending), "utf8");
      expect(text).not.toMatch(/marmalade|Porto|trip|notes|not-there/i);
    }
  });

  it("does what is due and ends, when asked to do it once", async () => {
    await makeBrain(5, 3);
    await settle();
    const due = start({ once: true });
    expect((await due.ended).code).toBe(0);
    expect(due.statuses.at(-1)).toMatchObject({ state: "stopped", nights: 1, next: { reason: "scheduled" } });
    const early = start({ once: true });
    expect((await early.ended).code).toBe(0);
    expect(early.statuses.at(-1)).toMatchObject({ nights: 0, lastNight: { outcome: "finished" } });
  });
});
