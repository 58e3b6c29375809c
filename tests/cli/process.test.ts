import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Cli, finished } from "./run-cli.ts";

const SLOW = 120_000;
let built: Cli;
let cli: Cli;

beforeAll(() => {
  built = Cli.build();
}, SLOW);
afterAll(() => {
  built.removeHome();
  built.removeBuild();
});
beforeEach(() => {
  cli = built.fresh();
});
afterEach(() => cli.removeHome());

interface Counted {
  readonly thoughts: number;
}

describe("a command line called wrongly", { timeout: SLOW }, () => {
  it("prints help on stderr and exits 2 without a command", async () => {
    const { status, stdout, stderr } = await cli.run([]);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Commands:");
  });

  it.each([
    ["an unknown command", ["serach", "x"], "unknown command 'serach'", "Did you mean search?"],
    ["an unknown option", ["search", "x", "--explian"], "unknown option '--explian'", "Did you mean --explain?"],
    ["a missing argument", ["show"], "missing required argument 'id'", "dormouse show --help"],
    ["too many arguments", ["stats", "now"], "too many arguments for 'stats'", "dormouse stats --help"],
    ["help for an unknown command", ["help", "nope"], "unknown command 'nope'", "dormouse --help"],
    ["options alone", ["--brain", "x"], "a command is missing", "dormouse --help"],
    ["an empty brain file", ["list", "--brain", ""], "--brain names no file", "default brain"],
    ["an option without its value", ["search", "x", "--tag"], "argument missing", "dormouse search --help"],
  ])("says what is wrong with %s", async (_, args, message, hint) => {
    const human = await cli.run(args);
    expect([human.status, human.stdout]).toEqual([2, ""]);
    expect(human.stderr).toContain(`dormouse: `);
    expect(human.stderr).toContain(message);
    expect(human.stderr).toMatch(/^hint: /m);
    expect(human.stderr).toContain(hint);
    // At the front, since an option that lacks its value would swallow it.
    const json = await cli.run(["--json", ...args]);
    expect([json.status, json.stdout]).toEqual([2, ""]);
    expect(JSON.parse(json.stderr)).toEqual({
      error: { code: "usage", message: expect.stringContaining(message), hint: expect.stringContaining(hint) },
    });
  });

  it("answers --json alone with a failure, and help with the help", async () => {
    const alone = await cli.run(["--json"]);
    expect([alone.status, alone.stdout, JSON.parse(alone.stderr).error.code]).toEqual([2, "", "usage"]);
    for (const args of [["help"], ["--help"], ["help", "search"], ["search", "--help"]]) {
      const { status, stdout, stderr } = await cli.run(args);
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout).toContain("Usage: dormouse");
    }
  });

  it("prints the package's version", async () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(await cli.run(["--version"])).toMatchObject({ status: 0, stdout: `${version}\n` });
  });
});

describe("a brain that cannot be used", { timeout: SLOW }, () => {
  it.each([
    ["search", "x"],
    ["context"],
    ["list"],
    ["stats"],
    ["doctor"],
    ["ledger"],
    ["sleep"],
    ["show", "n_0000000000000000"],
    ["remember", "x"],
    ["extract", "."],
  ])("%s says that there is none and makes none", async (...args) => {
    const result = await cli.run([...args, "--json"]);
    expect([result.status, result.stdout]).toEqual([1, ""]);
    expect(JSON.parse(result.stderr).error).toMatchObject({ code: "no_brain", hint: expect.stringContaining("init") });
    expect((await cli.run(["list"])).status).toBe(1);
  });

  it("refuses a file that is no SQLite database and leaves it as it was", async () => {
    writeFileSync(cli.brain, "a shopping list, and a long one at that\n".repeat(10));
    const before = readFileSync(cli.brain);
    for (const args of [["init"], ["list"], ["remember", "x"]]) {
      const { status, stderr } = await cli.run([...args, "--json"]);
      expect(status).toBe(1);
      expect(JSON.parse(stderr).error.code).toBe("not_a_brain");
    }
    expect(readFileSync(cli.brain).equals(before)).toBe(true);
  });

  it("refuses another program's database", async () => {
    const db = new Database(cli.brain);
    db.exec("CREATE TABLE recipe (name TEXT)");
    db.close();
    const { status, stderr } = await cli.run(["list", "--json"]);
    expect([status, JSON.parse(stderr).error.code]).toEqual([1, "not_a_brain"]);
  });

  it("refuses a brain of a later version", async () => {
    await cli.run(["init"]);
    const db = new Database(cli.brain);
    db.pragma("user_version = 99");
    db.close();
    const { status, stderr } = await cli.run(["search", "x", "--json"]);
    expect(status).toBe(1);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "newer_brain", hint: expect.stringContaining("Update") });
  });

  it("refuses a folder", async () => {
    const { status, stderr } = await cli.run(["list", "--brain", cli.home, "--json"]);
    expect([status, JSON.parse(stderr).error.code]).toEqual([1, "not_a_brain"]);
  });

  it.skipIf(process.getuid?.() === 0)("says that it lacks the right to read", async () => {
    await cli.run(["init"]);
    chmodSync(cli.brain, 0o000);
    const { status, stderr } = await cli.run(["list", "--json"]);
    expect([status, JSON.parse(stderr).error.code]).toEqual([1, "io"]);
  });

  it("fails doctor with status 1 for a damaged index, and repairs it", async () => {
    await cli.run(["init"]);
    await cli.remember("the index will miss this");
    const db = new Database(cli.brain);
    db.exec("UPDATE node SET token_count = token_count + 5");
    db.close();
    const sick = await cli.json<{ healthy: boolean; checks: { violations: number }[] }>(["doctor"], 1);
    expect(sick.healthy).toBe(false);
    expect((await cli.run(["doctor"])).stdout).toContain("FAILED");
    expect(await cli.json(["doctor", "--rebuild"])).toMatchObject({ healthy: true });
  });
});

describe("processes side by side", { timeout: SLOW }, () => {
  it("loses nothing when two remember at once", async () => {
    await cli.run(["init"]);
    const series = async (name: string) => {
      const ids: string[] = [];
      for (let at = 0; at < 20; at++) ids.push(await cli.remember(`thought ${at} of ${name}`));
      return ids;
    };
    const ids = (await Promise.all([series("left"), series("right")])).flat();
    expect(new Set(ids).size).toBe(40);
    expect(await cli.json(["stats"])).toMatchObject({ thoughts: 40 });
    expect(await cli.json(["doctor"])).toMatchObject({ healthy: true });
  });

  it("makes one brain when two init at once", async () => {
    const results = await Promise.all([cli.run(["init"]), cli.run(["init"]), cli.run(["init"])]);
    expect(results.map(({ status }) => status)).toEqual([0, 0, 0]);
    expect(await cli.json(["doctor"])).toMatchObject({ healthy: true });
  });
});

describe("a process cut short", { timeout: SLOW }, () => {
  /** A talk long enough to be read in many batches. */
  function writeLongTalk(): string {
    const folder = join(cli.home, "talks");
    mkdirSync(folder);
    const lines = Array.from({ length: 6_000 }, (_, at) =>
      JSON.stringify({
        role: "user",
        content: `remark ${at} about tram ${at % 97}`,
        timestamp: "2026-05-01T10:00:00Z",
      }),
    );
    writeFileSync(join(folder, "talk.jsonl"), `${lines.join("\n")}\n`);
    return folder;
  }

  async function waitForThoughts(): Promise<void> {
    const db = new Database(cli.brain, { readonly: true });
    try {
      const count = db.prepare<[], { n: number }>("SELECT count(*) AS n FROM node WHERE role = 1");
      while ((count.get()?.n ?? 0) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    } finally {
      db.close();
    }
  }

  it.each([["SIGKILL"], ["SIGINT"]] as const)("keeps finished batches on %s and goes on from there", async (signal) => {
    await cli.run(["init"]);
    const folder = writeLongTalk();
    const child = cli.start(["extract", folder]);
    const ended = finished(child);
    await waitForThoughts();
    child.kill(signal);
    const result = await ended;
    if (signal === "SIGINT") {
      expect(result.status).toBe(130);
      expect(result.stderr).toContain("interrupted");
    } else {
      expect(result.signal).toBe("SIGKILL");
    }
    const between = await cli.json<Counted>(["stats"]);
    expect(between.thoughts).toBeGreaterThan(0);
    expect(between.thoughts).toBeLessThan(6_000);
    await cli.json(["extract", folder]);
    expect(await cli.json(["stats"])).toMatchObject({ thoughts: 6_000, occurrences: 6_000 });
    expect(await cli.json(["doctor"])).toMatchObject({ healthy: true });
  });

  it("ends quietly when its reader closes the pipe", async () => {
    await cli.run(["init"]);
    const folder = writeLongTalk();
    await cli.run(["extract", folder]);
    const child = cli.start(["list", "--limit", "6000"]);
    let stderr = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.stdout?.once("data", () => child.stdout?.destroy());
    const [status, signal] = await once(child, "close");
    expect([status, signal, stderr]).toEqual([0, null, ""]);
  });
});

describe("what is printed", { timeout: SLOW }, () => {
  it("carries no escape sequence of a memory to the terminal", async () => {
    await cli.run(["init"]);
    const id = await cli.remember("red \u001B[31malert\u001B[0m and \u202Ereversed");
    for (const args of [["show", id], ["list"], ["search", "alert"], ["why", id]]) {
      const { stdout } = await cli.run(args);
      expect(stdout).toContain("alert");
      expect(stdout).not.toMatch(/\u202E/);
      expect(stdout.includes("\u001B")).toBe(false);
    }
  });

  it("puts the brain where --brain says, before or after the command", async () => {
    const other = join(cli.home, "other.db");
    expect((await cli.run(["--brain", other, "init"])).status).toBe(0);
    await cli.run(["remember", "kept apart", "--brain", other]);
    expect(JSON.parse((await cli.run(["list", "--brain", other, "--json"])).stdout)).toHaveLength(1);
    expect((await cli.run(["list"])).status).toBe(1);
  });
});
