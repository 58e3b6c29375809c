/**
 * What is written for systemd, launchd and cron: whole files against golden ones, hostile paths against the tools
 * where they are there and against readers of their own, and the order of steps against fakes on PATH.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { packagePath } from "../../src/core/package-path.ts";
import { planCrontabInstall, planCrontabUninstall, readCrontab } from "../../src/daemon/crontab.ts";
import { planLaunchdInstall, planLaunchdUninstall } from "../../src/daemon/launchd.ts";
import {
  applyPlan,
  assertPlainPaths,
  daemonCommand,
  detectServiceKind,
  type ServicePlan,
  type ServiceSpec,
  serviceName,
} from "../../src/daemon/service.ts";
import { planSystemdInstall, planSystemdUninstall } from "../../src/daemon/systemd.ts";

const PLAIN: ServiceSpec = {
  brainPath: "/home/ana/.dormouse/brain.db",
  modelDirectory: null,
  program: ["/usr/bin/node", "/usr/lib/node_modules/dormouse-memory/dist/cli.js"],
  home: "/home/ana",
  configHome: null,
  userId: 1000,
};
/** Everything that some file or shell takes for more than a letter. */
const HOSTILE: ServiceSpec = {
  ...PLAIN,
  brainPath: `/home/ána/My "own" brain's 100% $HOME \\ \`id\` & <é> #1;*/brain.db`,
  modelDirectory: "/home/ána/mo dels",
  program: ["/opt/no de/bin/node", "--import", "/opt/a%b.mjs", "/opt/dormouse's/cli.js"],
};

/** Says what systemd thinks of a unit. */
const ANALYZER = "systemd-analyze";

const golden = (name: string) => readFileSync(packagePath(`tests/fixtures/daemon/${name}`), "utf8");
const written = ({ steps }: ServicePlan) =>
  steps.flatMap((step) => (step.do === "write" ? [step.content] : [])).join("");
const cronLine = ({ steps }: ServicePlan) =>
  steps.flatMap((step) => (step.do === "run" ? [step.stdin ?? ""] : [])).join("");
/** In short: what a plan does. */
const outline = ({ steps }: ServicePlan) =>
  steps.map((step) => (step.do === "run" ? step.command.join(" ") : `${step.do} ${step.path}`));

let folder: string;
const path = process.env.PATH;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-service-"));
});
afterEach(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true, force: true });
});

/** A program on PATH that notes how it was called. */
function fake(name: string, script: string): void {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\necho "${name} $*" >> '${folder}/calls'\n${script}\n`);
  chmodSync(file, 0o755);
  process.env.PATH = `${folder}:${path}`;
}
const calls = () =>
  existsSync(join(folder, "calls")) ? readFileSync(join(folder, "calls"), "utf8").trim().split("\n") : [];

describe("the name of a service", () => {
  it("is the brain's own, the same each time, and plain", () => {
    expect(serviceName(PLAIN.brainPath)).toBe(serviceName(PLAIN.brainPath));
    expect(serviceName(PLAIN.brainPath)).not.toBe(serviceName(HOSTILE.brainPath));
    expect(serviceName(HOSTILE.brainPath)).toMatch(/^dormouse-[0-9a-f]{8}$/);
  });
});

describe("what this machine has", () => {
  it.each([
    ["darwin", [], "launchd"],
    ["linux", ["systemctl", "crontab"], "systemd"],
    ["linux", ["crontab"], "crontab"],
    ["freebsd", ["crontab"], "crontab"],
  ] as const)("%s with %j is %s", (platform, tools, kind) => {
    expect(detectServiceKind(platform, (name) => (tools as readonly string[]).includes(name))).toBe(kind);
  });

  it.each([["linux"], ["win32"]] as const)("is told to be nothing on a bare %s", (platform) => {
    expect(() => detectServiceKind(platform, (name) => platform === "win32" && name === "crontab")).toThrow(
      expect.objectContaining({ code: "service_failed" }),
    );
  });
});

describe("paths with control characters", () => {
  it.each([["\n"], ["\r"], ["\t"], ["\u0000"]])("are refused: %j", (character) => {
    expect(() => assertPlainPaths(PLAIN)).not.toThrow();
    expect(() => assertPlainPaths({ ...PLAIN, brainPath: `/home/a${character}b/brain.db` })).toThrow(
      expect.objectContaining({ code: "usage" }),
    );
  });
});

describe("systemd", () => {
  it("gets a user unit that starts, restarts and stops the daemon", () => {
    expect(written(planSystemdInstall(PLAIN))).toBe(golden("plain.service"));
    expect(written(planSystemdInstall(HOSTILE))).toBe(golden("hostile.service"));
  });

  it("is told in order, and undone in order", () => {
    const name = serviceName(PLAIN.brainPath);
    const unit = `/home/ana/.config/systemd/user/${name}.service`;
    expect(outline(planSystemdInstall(PLAIN))).toEqual([
      `write ${unit}`,
      "systemctl --user daemon-reload",
      `systemctl --user enable ${name}.service`,
      `systemctl --user restart ${name}.service`,
    ]);
    expect(outline(planSystemdUninstall(PLAIN))).toEqual([
      `systemctl --user disable --now ${name}.service`,
      `remove ${unit}`,
      "systemctl --user daemon-reload",
    ]);
    expect(outline(planSystemdInstall({ ...PLAIN, configHome: "/cfg" }))[0]).toBe(
      `write /cfg/systemd/user/${name}.service`,
    );
  });

  it("reads back the very arguments", () => {
    for (const spec of [PLAIN, HOSTILE]) {
      const line = /^ExecStart=(.*)$/m.exec(written(planSystemdInstall(spec)))?.[1] ?? "";
      expect(readSystemdWords(line)).toEqual(daemonCommand(spec));
    }
    const odd = { ...PLAIN, program: ["/opt/$x 'y'/node", "/cli.js"] };
    const line = /^ExecStart=(.*)$/m.exec(written(planSystemdInstall(odd)))?.[1] ?? "";
    expect(readSystemdWords(line)).toEqual(["/usr/bin/env", ...daemonCommand(odd)]);
  });

  it.skipIf(spawnSync(ANALYZER, ["--version"]).status !== 0)("finds nothing to complain about", () => {
    const verify = (text: string) => {
      const unit = join(folder, "dormouse-test.service");
      // The program must be there for systemd to be content.
      writeFileSync(unit, text.replace(/^ExecStart="[^"]*"/m, `ExecStart="${process.execPath}"`));
      const { status, stderr } = spawnSync(ANALYZER, ["--user", "verify", unit], {
        encoding: "utf8",
        env: { ...process.env, XDG_RUNTIME_DIR: folder },
      });
      return { status, stderr };
    };
    // Control: it does complain.
    expect(verify(golden("plain.service").replace("RestartSec", "RestartSecs")).stderr).toContain("RestartSecs");
    for (const spec of [PLAIN, HOSTILE]) {
      expect(verify(written(planSystemdInstall(spec)))).toEqual({ status: 0, stderr: "" });
    }
  });
});

/** Words of an ExecStart line, by the rules of systemd.service(5): quotes, escapes, `%%` and `$$`. */
function readSystemdWords(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, bare]) =>
    quoted === undefined
      ? (bare ?? "")
      : quoted
          .replaceAll(/\\(.)/g, "$1")
          .replaceAll("%%", "%")
          .replaceAll("$$", () => "$"),
  );
}

describe("launchd", () => {
  it("gets an agent that starts, restarts and stops the daemon", () => {
    expect(written(planLaunchdInstall(PLAIN))).toBe(golden("plain.plist"));
    expect(written(planLaunchdInstall(HOSTILE))).toBe(golden("hostile.plist"));
  });

  it("is told in order, and undone in order", () => {
    const name = serviceName(PLAIN.brainPath);
    const plist = `/home/ana/Library/LaunchAgents/${name}.plist`;
    expect(outline(planLaunchdInstall(PLAIN))).toEqual([
      `write ${plist}`,
      `launchctl bootout gui/1000/${name}`,
      `launchctl bootstrap gui/1000 ${plist}`,
    ]);
    expect(outline(planLaunchdUninstall(PLAIN))).toEqual([`launchctl bootout gui/1000/${name}`, `remove ${plist}`]);
  });

  it("reads back the very arguments", () => {
    for (const spec of [PLAIN, HOSTILE]) {
      const text = written(planLaunchdInstall(spec));
      const list = /<key>ProgramArguments<\/key>\s*<array>([\s\S]*?)<\/array>/.exec(text)?.[1] ?? "";
      const words = [...list.matchAll(/<string>(.*)<\/string>/g)].map(([, word]) =>
        (word ?? "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"),
      );
      expect(words).toEqual(daemonCommand(spec));
    }
  });
});

describe("cron", () => {
  const OTHERS = "# my own\nMAILTO=ana\n0 7 * * * echo 'good morning' # dormouse-like\n";

  it("gets one line that does what is due and ends", () => {
    expect(cronLine(planCrontabInstall(PLAIN, OTHERS))).toBe(golden("plain.crontab"));
    expect(cronLine(planCrontabInstall(HOSTILE, OTHERS))).toBe(golden("hostile.crontab"));
  });

  it("runs the very arguments, through the shell that it uses", () => {
    for (const spec of [PLAIN, HOSTILE]) {
      // Instead of node a program that prints what it was given.
      const show = join(folder, "show args");
      writeFileSync(show, '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done > "$SHOWN"\n');
      chmodSync(show, 0o755);
      const [line = ""] = cronLine(
        planCrontabInstall({ ...spec, program: [show, ...spec.program.slice(1)] }, ""),
      ).split("\n");
      // What cron does to a line: five fields, then everything up to a bare percent sign.
      const command = line.split(" ").slice(5).join(" ");
      expect(command).not.toMatch(/(^|[^\\])%/);
      const shown = join(folder, "shown");
      execFileSync("/bin/sh", ["-c", command.replaceAll("\\%", "%")], { env: { ...process.env, SHOWN: shown } });
      expect(readFileSync(shown, "utf8").trim().split("\n")).toEqual(daemonCommand(spec, "--once").slice(1));
    }
  });

  it("keeps one line a brain and every line of others, with and without a last line break", () => {
    for (const before of [OTHERS, OTHERS.trimEnd(), ""]) {
      const once = cronLine(planCrontabInstall(PLAIN, before));
      const twice = cronLine(planCrontabInstall(PLAIN, once));
      expect(twice).toBe(once);
      const both = cronLine(planCrontabInstall(HOSTILE, once));
      expect(both.trimEnd().split("\n")).toHaveLength(once.trimEnd().split("\n").length + 1);
      expect(cronLine(planCrontabUninstall(HOSTILE, both))).toBe(once);
      expect(cronLine(planCrontabUninstall(PLAIN, once)).trimEnd()).toBe(before.trimEnd());
    }
    expect(planCrontabUninstall(PLAIN, OTHERS.trimEnd()).steps).toEqual([]);
  });

  it("is read and written through its tool", () => {
    fake(
      "crontab",
      `if [ "$1" = -l ]; then cat '${folder}/table' 2>/dev/null || { echo "no crontab for ana" >&2; exit 1; }; else cat > '${folder}/table'; fi`,
    );
    expect(readCrontab()).toBe("");
    writeFileSync(join(folder, "table"), OTHERS);
    expect(readCrontab()).toBe(OTHERS);
    applyPlan(planCrontabInstall(HOSTILE, readCrontab()));
    expect(readFileSync(join(folder, "table"), "utf8")).toBe(golden("hostile.crontab"));
    applyPlan(planCrontabUninstall(HOSTILE, readCrontab()));
    expect(readFileSync(join(folder, "table"), "utf8")).toBe(OTHERS);
    expect(calls()).toEqual(["crontab -l", "crontab -l", "crontab -l", "crontab -", "crontab -l", "crontab -"]);
  });

  it("that cannot be read is not taken for empty", () => {
    fake("crontab", 'echo "you may not use this program" >&2; exit 1');
    expect(() => readCrontab()).toThrow(expect.objectContaining({ code: "service_failed" }));
  });
});

describe("doing a plan", () => {
  const specIn = (): ServiceSpec => ({ ...PLAIN, home: folder });
  const unit = () => join(folder, ".config/systemd/user", `${serviceName(PLAIN.brainPath)}.service`);

  it("writes the unit for its owner alone and tells systemd, and takes both back", () => {
    fake("systemctl", "exit 0");
    applyPlan(planSystemdInstall(specIn()));
    expect(readFileSync(unit(), "utf8")).toBe(golden("plain.service"));
    applyPlan(planSystemdUninstall(specIn()));
    expect(existsSync(unit())).toBe(false);
    const name = serviceName(PLAIN.brainPath);
    expect(calls()).toEqual([
      "systemctl --user daemon-reload",
      `systemctl --user enable ${name}.service`,
      `systemctl --user restart ${name}.service`,
      `systemctl --user disable --now ${name}.service`,
      "systemctl --user daemon-reload",
    ]);
  });

  it("names the tool that failed and what it said", () => {
    fake("systemctl", 'echo "Failed to connect to bus" >&2; exit 1');
    expect(() => applyPlan(planSystemdInstall(specIn()))).toThrow(
      expect.objectContaining({
        code: "service_failed",
        message: "`systemctl --user daemon-reload` failed: Failed to connect to bus",
      }),
    );
  });

  it("goes on when what it would undo was never there", () => {
    fake("launchctl", '[ "$1" = bootstrap ] || { echo "No such process" >&2; exit 3; }');
    applyPlan(planLaunchdInstall(specIn()));
    applyPlan(planLaunchdUninstall(specIn()));
    expect(calls().map((call) => call.split(" ").slice(0, 2).join(" "))).toEqual([
      "launchctl bootout",
      "launchctl bootstrap",
      "launchctl bootout",
    ]);
  });

  it("tells which file could not be written", () => {
    mkdirSync(join(folder, ".config"));
    writeFileSync(join(folder, ".config/systemd"), "in the way");
    expect(() => applyPlan(planSystemdInstall(specIn()))).toThrow(
      expect.objectContaining({ code: "io", message: expect.stringContaining(unit()) }),
    );
  });
});
