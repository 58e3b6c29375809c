import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { LISTABLE_STATES } from "../../src/app.ts";
import { createProgram } from "../../src/cli/program.ts";
import { packagePath } from "../../src/core/package-path.ts";

const program = createProgram(() => {});

describe("the grammar", () => {
  const withInner = (command: Command, name: string): [string, Command][] => [
    [name, command],
    ...command.commands.flatMap((inner) => withInner(inner, `${name} ${inner.name()}`)),
  ];
  const commands = program.commands.flatMap((command) => withInner(command, command.name()));

  it.each(commands)("%s has a description, global options and an example of itself", (name, command) => {
    const help = command.helpInformation();
    expect(command.description()).not.toBe("");
    expect(help).toMatch(new RegExp(`\\nExamples?:\\n(.*\\n)*? {2}\\$ .*dormouse ${name}`));
    expect(help).toContain("--json");
    expect(help).toContain("--brain <file>");
    expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
  });

  it("has one module a command", () => {
    const modules = readdirSync(packagePath("src/cli/commands")).map((file) => file.replace(/\.ts$/, ""));
    const commands = program.commands.map((command) => command.name());
    // A subcommand that is long enough for a module of its own is named after both.
    const subcommands = program.commands.flatMap((command) =>
      command.commands.map((sub) => `${command.name()}-${sub.name()}`),
    );
    expect(modules.filter((name) => !subcommands.includes(name)).sort()).toEqual(commands.sort());
  });

  it("names every state that list knows", () => {
    const help = program.commands.find((command) => command.name() === "list")?.helpInformation();
    for (const state of LISTABLE_STATES) expect(help).toContain(state);
  });
});

describe("the reference", () => {
  it("is what the definitions say", () => {
    const check = () =>
      execFileSync(process.execPath, ["--import", "tsx", packagePath("scripts/docs.ts"), "--check"], {
        cwd: packagePath("."),
        encoding: "utf8",
      });
    expect(check).not.toThrow();
  });
});
