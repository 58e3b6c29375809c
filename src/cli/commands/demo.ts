/**
 * `dormouse demo`: reads a small sample into a brain that is thrown away afterwards, asks it two questions,
 * lets it sleep and shows what was written down. With a path it does the same for a person's own folder and
 * own brain, after asking; without a terminal to ask on it refuses, and without anything to read it stops.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Brain, defaultBrainPath, type EventView, type SleepReport } from "../../app.ts";
import { DormouseError } from "../../core/errors.ts";
import { packagePath } from "../../core/package-path.ts";
import type { ExtractReport, SearchAnswer } from "../../core/types.ts";
import { type ExitStatus, endOnInterrupt, type Invocation, withBrain } from "../invocation.ts";
import type { Output, Style } from "../output.ts";
import { countOf } from "../render.ts";
import { noteTroubles, readNothing, renderExtractReport } from "./extract.ts";
import { eventLine } from "./ledger.ts";
import { renderSearchAnswer } from "./search.ts";
import { renderSleepReport } from "./sleep.ts";

/** Relative to the package's root; shipped with it. */
const SAMPLE = ["src/cli/demo-sample/session.jsonl", "src/cli/demo-sample/notes"];
const SAMPLE_QUESTIONS = ["What is the landlord's phone number?", "Why did we choose the flat in Graça?"];
/** Questions that most people's notes and talks have an answer to. */
const OWN_QUESTIONS = ["What was decided, and why?", "What is still to be done?"];
const SHOWN_HITS = 3;
const SHOWN_EVENTS = 6;

/** What `--json` prints. */
interface DemoReport {
  readonly brain: string | null;
  readonly extract: ExtractReport;
  readonly answers: readonly SearchAnswer[];
  /** Null when there was nothing to read. */
  readonly sleep: SleepReport | null;
  readonly ledger: readonly EventView[];
}

/**
 * Status 1 when nothing could be read or a phase of sleep failed.
 * @throws DormouseError `usage` for a path without `--yes` where nobody can be asked, `io` for a missing path.
 */
export async function runDemo(
  invocation: Invocation,
  path: string | undefined,
  flags: { readonly yes?: boolean },
): Promise<ExitStatus> {
  return path === undefined ? demoOnSample(invocation) : demoOnFolder(invocation, path, flags.yes === true);
}

async function demoOnSample({ output }: Invocation): Promise<ExitStatus> {
  const folder = mkdtempSync(join(tmpdir(), "dormouse-demo-"));
  const cleanUp = () => rmSync(folder, { recursive: true, force: true });
  endOnInterrupt(output, cleanUp);
  try {
    const brainPath = join(folder, "brain.db");
    tell(output, (style) => [
      style.bold("Dormouse on a sample: a talk about a move to Lisbon, and seven notes."),
      "The brain of this demo is deleted at the end.",
    ]);
    const report = await withBrain(
      { output, brainPath, modelDirectory: undefined },
      (brain) => runSteps(brain, output, SAMPLE.map(packagePath), SAMPLE_QUESTIONS),
      { create: true },
    );
    finish(output, { ...report, brain: null });
    return statusOf(report);
  } finally {
    cleanUp();
  }
}

async function demoOnFolder(invocation: Invocation, path: string, agreed: boolean): Promise<ExitStatus> {
  const { output } = invocation;
  if (!existsSync(path)) throw new DormouseError("io", `there is nothing at ${path}`);
  const brainPath = invocation.brainPath ?? defaultBrainPath();
  if (!agreed && !(await askToRead(output, path, brainPath))) {
    output.note("nothing was read");
    return 0;
  }
  endOnInterrupt(output);
  const report = await withBrain(invocation, (brain) => runSteps(brain, output, [path], OWN_QUESTIONS), {
    create: true,
  });
  finish(output, { ...report, brain: brainPath });
  return statusOf(report);
}

/** @throws DormouseError `usage` where nobody can be asked. */
async function askToRead(output: Output, path: string, brainPath: string): Promise<boolean> {
  if (output.json || process.stdin.isTTY !== true || process.stdout.isTTY !== true) {
    throw new DormouseError("usage", "reading your own folder into your brain needs a yes", {
      hint: `\`dormouse demo ${path} --yes\` reads it into ${brainPath}.`,
    });
  }
  const { confirm } = await import("@clack/prompts");
  return (await confirm({ message: `Read ${path} into ${brainPath}? Nothing leaves this machine.` })) === true;
}

async function runSteps(
  brain: Brain,
  output: Output,
  paths: readonly string[],
  questions: readonly string[],
): Promise<Omit<DemoReport, "brain">> {
  const extract = await brain.extract(paths, { onProgress: output.progress });
  step(output, `extract ${paths.map((path) => basename(path)).join(" ")}`, (style) =>
    renderExtractReport(extract, style, false),
  );
  noteTroubles(extract, output);
  if (extract.files === 0) return { extract, answers: [], sleep: null, ledger: [] };
  const answers: SearchAnswer[] = [];
  for (const question of questions) {
    const answer = await brain.search(question, { k: SHOWN_HITS });
    answers.push(answer);
    step(output, `search "${question}"`, (style) => renderSearchAnswer(answer, style));
  }
  const sleep = await brain.sleep({ onProgress: output.progress });
  step(output, "sleep", (style) => [renderSleepReport(sleep, style), ...explainSleep(sleep)].join("\n"));
  const ledger = brain.ledger({ limit: SHOWN_EVENTS });
  step(output, `ledger --limit ${SHOWN_EVENTS}`, (style) =>
    ledger.map((event) => eventLine(event, { ...style, isTerminal: true })).join("\n"),
  );
  return { extract, answers, sleep, ledger };
}

/** What the numbers of the night mean. */
function explainSleep({ phases }: SleepReport): string[] {
  const merged = phases.find(({ name }) => name === "consolidate")?.details?.merged ?? 0;
  const linked = phases.find(({ name }) => name === "link")?.applied ?? 0;
  const lines: string[] = [];
  if (merged === 1)
    lines.push("One note stands behind its twin: both say the same, spelled differently. Neither is lost.");
  if (merged > 1)
    lines.push(`${merged} notes stand behind twins that say the same, spelled differently. None is lost.`);
  if (linked > 0) lines.push(`${countOf(linked, "new link")} between notes that are near each other in meaning.`);
  if (lines.length === 0) lines.push("Nothing was alike enough to merge or link, and nothing is old enough to fade.");
  return lines;
}

function finish(output: Output, report: DemoReport): void {
  if (output.json) {
    output.print(report, () => "");
    return;
  }
  if (report.sleep === null) {
    tell(output, () => [
      "",
      "There was nothing to read: no notes, talks or text of a known format.",
      "The demo ends here.",
    ]);
    return;
  }
  const next =
    report.brain === null
      ? [
          "Now with your own words:",
          "  dormouse init",
          "  dormouse extract ~/.claude/projects     talks with Claude Code",
          "  dormouse extract ~/notes                a folder of Markdown notes",
          '  dormouse search "what did we decide"',
          "  dormouse sleep                          best every night",
        ]
      : [
          "Your brain is at",
          `  ${report.brain}`,
          "Ask it with `dormouse search`, and let it `dormouse sleep` every night.",
        ];
  tell(output, () => ["", ...next]);
}

/** Nothing read at all, or a phase that failed. */
function statusOf({ extract, sleep }: Omit<DemoReport, "brain">): ExitStatus {
  return sleep === null || readNothing(extract) || sleep.phases.some(({ error }) => error !== undefined) ? 1 : 0;
}

function step(output: Output, command: string, render: (style: Style) => string): void {
  tell(output, (style) => ["", style.bold(`$ dormouse ${command}`), render(style)]);
}

/** Prints while the demo goes on; JSON waits for the whole. */
function tell(output: Output, render: (style: Style) => readonly string[]): void {
  if (!output.json) output.print(null, (_, style) => render(style).join("\n"));
}
