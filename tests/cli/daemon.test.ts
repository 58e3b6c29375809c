/** `dormouse daemon` as a person meets it: the built program, started, asked, stopped, installed in preview. */
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LogLine } from "../../src/daemon/daemon-log.ts";
import type { DaemonOverview } from "../../src/daemon/overview.ts";
import type { ServicePlan } from "../../src/daemon/service.ts";
import { finished, useCli } from "./run-cli.ts";

const SLOW = 120_000;
const cli = useCli();

const status = () => cli.json<DaemonOverview>(["daemon", "status"]);

async function untilIdle(): Promise<DaemonOverview> {
  for (;;) {
    const overview = await status();
    if (overview.running && overview.status?.state === "idle" && overview.status.next !== null) return overview;
  }
}

describe("the daemon's life", { timeout: SLOW }, () => {
  it("is run, asked after, refused a second time, stopped and remembered", async () => {
    const before = await cli.run(["daemon", "status"]);
    expect([before.status, before.stdout.trim()]).toEqual([0, "not running; it has never run for this brain"]);
    const child = cli.start(["daemon", "run"]);
    const ended = finished(child);
    try {
      const overview = await untilIdle();
      expect(overview.status).toMatchObject({ process: { pid: child.pid }, schedule: "0 3 * * *", nights: 0 });
      const shown = await cli.run(["daemon", "status"]);
      expect(shown.stdout).toContain(`running     process ${child.pid} since`);
      expect(shown.stdout).toMatch(/^next {8}night \d{4}-\d\d-\d\d \d\d:\d\dZ \(scheduled\)$/m);
      const second = await cli.run(["daemon", "run", "--json"]);
      expect([second.status, second.stdout]).toEqual([1, ""]);
      expect(JSON.parse(second.stderr).error).toMatchObject({
        code: "daemon_running",
        message: expect.stringContaining(`process ${child.pid}`),
      });
      expect(await cli.json(["daemon", "stop"])).toEqual({ pid: child.pid, stopped: true });
    } finally {
      child.kill("SIGKILL");
    }
    const ending = await ended;
    expect([ending.status, ending.signal, ending.stdout]).toEqual([0, null, "stopped\n"]);
    expect(ending.stderr).toContain("stopping after this batch");
    expect(await status()).toMatchObject({ running: false, died: false, status: { state: "stopped" } });
    const log = await cli.json<LogLine[]>(["daemon", "log"]);
    expect(log.map(({ event }) => event)).toEqual(["started", "stopping", "stopped"]);
    expect((await cli.run(["daemon", "log", "--lines", "1"])).stdout).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\dZ {2}stopped {2}nights 0\n$/,
    );
    expect(await cli.json(["daemon", "stop"])).toEqual({ pid: null, stopped: false });
  });

  it("shows a daemon that was killed as one that died", async () => {
    const child = cli.start(["daemon", "run"]);
    await untilIdle();
    child.kill("SIGKILL");
    await once(child, "close");
    expect(await status()).toMatchObject({ running: false, died: true });
    expect((await cli.run(["daemon", "status"])).stdout).toContain("ended without a word");
  });

  it("does once what is due, here nothing", async () => {
    const result = await cli.run(["daemon", "run", "--once"]);
    expect([result.status, result.stdout]).toEqual([0, "none yet\n"]);
    expect(await cli.json(["daemon", "run", "--once"])).toMatchObject({ nights: 0, next: { what: "night" } });
  });

  it.each([["run"], ["run", "--once"]])("needs a brain: %s %s", async (...args) => {
    const other = join(cli.home, "none.db");
    const { status: code, stderr } = await cli.run(["daemon", ...args, "--brain", other, "--json"]);
    expect([code, JSON.parse(stderr).error.code]).toEqual([1, "no_brain"]);
    expect(existsSync(other)).toBe(false);
  });

  it("says what is wrong with a schedule, when it is set and when it is read", async () => {
    const set = await cli.run(["config", "set", "daemon.schedule", "0 25 * * *", "--json"]);
    expect([set.status, JSON.parse(set.stderr).error.code]).toEqual([2, "invalid"]);
    expect(JSON.parse(set.stderr).error.message).toContain("hour (0 to 23)");
    writeFileSync(join(cli.home, "config.json"), JSON.stringify({ daemon: { schedule: "0 25 * * *" } }));
    const run = await cli.run(["daemon", "run"]);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("hour (0 to 23)");
  });
});

describe("installing", { timeout: SLOW }, () => {
  const PATH = process.env.PATH ?? "";
  const fakes = () => join(cli.home, "bin");
  function fake(name: string): void {
    mkdirSync(fakes(), { recursive: true });
    writeFileSync(
      join(fakes(), name),
      `#!/bin/sh\necho "${name} $*" >> '${cli.home}/calls'\n[ "$1" = -l ] && { echo "no crontab for you" >&2; exit 1; }\n[ "$1" = - ] && cat > '${cli.home}/table'\nexit 0\n`,
    );
    chmodSync(join(fakes(), name), 0o755);
  }
  const run = (args: readonly string[]) => cli.run(["daemon", ...args], { env: { PATH: `${fakes()}:${PATH}` } });
  const calls = () => (existsSync(join(cli.home, "calls")) ? readFileSync(join(cli.home, "calls"), "utf8") : "");

  it.each([
    ["systemd", "systemctl", "ExecStart=", ".config/systemd/user"],
    ["launchd", "launchctl", "<key>ProgramArguments</key>", "Library/LaunchAgents"],
  ])("shows what it would do with %s, and does it only with --apply", async (kind, tool, content, place) => {
    fake(tool);
    const preview = await run(["install", "--kind", kind]);
    expect(preview.status).toBe(0);
    expect(preview.stdout).toContain("--apply does it");
    expect(preview.stdout).toContain(content);
    expect(preview.stdout).toContain(`run ${tool}`);
    expect([calls(), existsSync(join(cli.home, place))]).toEqual(["", false]);

    const applied = await run(["install", "--kind", kind, "--apply", "--json"]);
    const plan: ServicePlan & { applied: boolean } = JSON.parse(applied.stdout);
    expect(plan.applied).toBe(true);
    const [file] = plan.steps.flatMap((step) => (step.do === "write" ? [step] : []));
    expect(readFileSync(file?.path ?? "", "utf8")).toBe(file?.content);
    expect(file?.content).toContain(cli.brain);
    expect(calls()).toContain(tool);

    expect((await run(["uninstall", "--kind", kind])).stdout).toContain(`remove ${file?.path}`);
    expect(existsSync(file?.path ?? "")).toBe(true);
    expect((await run(["uninstall", "--kind", kind, "--apply"])).stdout).toContain("uninstalled");
    expect(existsSync(file?.path ?? "")).toBe(false);
  });

  it("puts a line into the crontab that really runs", async () => {
    fake("crontab");
    const preview = await run(["install", "--kind", "crontab"]);
    expect(preview.stdout).toContain("daemon run --once");
    expect(calls()).not.toContain("crontab -\n");
    expect((await run(["install", "--kind", "crontab", "--apply"])).status).toBe(0);
    const [line = ""] = readFileSync(join(cli.home, "table"), "utf8").split("\n");
    const command = line.split(" ").slice(5).join(" ").replace(">/dev/null 2>&1", "");
    const { status: code, stdout } = await runShell(command);
    expect([code, stdout]).toEqual([0, "none yet\n"]);
  });

  async function runShell(command: string) {
    const { spawn } = await import("node:child_process");
    // As cron starts it: almost without an environment.
    return finished(spawn("/bin/sh", ["-c", command], { env: { HOME: cli.home, PATH: "/usr/bin:/bin" } }));
  }

  it("needs a brain to install, none to uninstall", async () => {
    const other = join(cli.home, "none.db");
    fake("systemctl");
    expect((await run(["install", "--kind", "systemd", "--brain", other])).status).toBe(1);
    expect((await run(["uninstall", "--kind", "systemd", "--brain", other])).status).toBe(0);
  });
});
