/**
 * Writes the reference of the command line, src/cli/REFERENCE.md, from the definitions of its commands.
 * With `--check` it writes nothing and fails when the file is not what it would write.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import { EXTRACT_WORDS } from "../src/cli/extract-words.ts";
import { createProgram } from "../src/cli/program.ts";
import { THINK_RULES } from "../src/cli/think-words.ts";
import { packagePath } from "../src/core/package-path.ts";

const REFERENCE = packagePath("src/cli/REFERENCE.md");

const INTRODUCTION = `# Command line reference

Made by \`tsx scripts/docs.ts\` from the definitions in program.ts; do not edit.

- Every command takes \`--json\`: one JSON value on stdout; a failure is \`{"error": {"code", "message", "hint"}}\` on stderr.
- Exit status: 0 worked, 1 failed, 2 called wrongly, 130 interrupted.
- The brain is \`--brain FILE\`, else \`DORMOUSE_BRAIN\`, else \`~/.dormouse/brain.db\`. \`init\` and \`demo PATH\` make it.
- Times are ISO 8601 (\`2026-05-01\`, \`2026-05-01T10:30:00Z\`), or words such as \`yesterday\` and \`in 3 days\`. A date and time
  needs an offset. Ranges are \`FROM..TO\`, \`FROM..\` or \`..TO\`. A bare date of \`remember --when\` is that day at any
  offset on Earth; one that filters, or says how long something holds, is from midnight to midnight on this machine.
- \`extract\` exits 0 when anything was read, an unchanged file included, and lists errors on stderr; 1 when nothing could
  be read, and with \`--strict\` on any error.
`;

function renderReference(): string {
  const program = createProgram(() => {});
  const sections = program.commands.flatMap((command) => renderCommand(command, [command.name()]));
  return [INTRODUCTION, `## dormouse\n\n${fence(helpOf(program))}`, ...sections, renderWords()].join("\n");
}

/** A command and those within it, each under its own heading. */
function renderCommand(command: Command, path: readonly string[]): string[] {
  return [
    `${"#".repeat(path.length + 1)} ${path.join(" ")}\n\n${fence(helpOf(command))}`,
    ...command.commands.flatMap((inner) => renderCommand(inner, [...path, inner.name()])),
  ];
}

/** What the short words of an extraction's report, and of refused answers, mean. */
function renderWords(): string {
  const list = (words: Readonly<Record<string, string>>) =>
    Object.entries(words)
      .map(([word, meaning]) => `- \`${word}\`: ${meaning}`)
      .join("\n");
  const { files, records, errors } = EXTRACT_WORDS;
  return [
    "## Words of an extraction\n",
    `Files passed over (the name of a format alone means that it has no reader yet):\n\n${list(files)}\n`,
    `Records and blocks passed over:\n\n${list(records)}\n`,
    `Errors:\n\n${list(errors)}\n`,
    "## Words of refused answers\n",
    `Why \`think --ingest\`, \`distil --ingest\` and sleep did not take what a language model said:\n\n${list(THINK_RULES)}\n`,
  ].join("\n");
}

/** The help of a command without the global options, which stand once at the top. */
function helpOf(command: Command): string {
  return command.helpInformation().replace(/\nGlobal Options:\n(?: {2}.*\n)+/, "");
}

function fence(text: string): string {
  return `\`\`\`\n${text.trim()}\n\`\`\`\n`;
}

const wanted = renderReference();
if (!process.argv.includes("--check")) {
  writeFileSync(REFERENCE, wanted);
} else if (readFileSync(REFERENCE, "utf8") !== wanted) {
  process.stderr.write("src/cli/REFERENCE.md is stale: run `npx tsx scripts/docs.ts`\n");
  process.exitCode = 1;
}
