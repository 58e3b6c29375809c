/**
 * `dormouse demo recall`: a weather tool turns out wrong. Shows in a brain that is thrown away what goes with it, what
 * stands and why, what merely deleting its rows would have left behind, and that all of it can be undone.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Brain, RecallPreview, RecallResult, UnrecallResult } from "../../app.ts";
import type { RememberInput, SearchResult, SourceInput } from "../../core/types.ts";
import { type ExitStatus, endOnInterrupt, type Invocation, withBrain } from "../invocation.ts";
import { fitLine, type Output, type Style } from "../output.ts";
import { countOf } from "../render.ts";
import { reportLines } from "./recall.ts";

const QUESTION = "What about Thursday in Pune?";
const PATTERN = "tool:weather";
const WEATHER: SourceInput = { type: "tool", key: "weather", name: PATTERN, trust: "unknown" };
const CALENDAR: SourceInput = { type: "named", key: "calendar", name: "calendar", trust: "trusted" };
const MORNING: SourceInput = { type: "session", key: "morning", name: "this morning's session", trust: "trusted" };

interface DemoRecallReport {
  /** Thoughts that sleep put behind another that says the same. */
  readonly merged: number;
  readonly before: readonly SearchResult[];
  readonly preview: RecallPreview;
  readonly recall: RecallResult;
  readonly after: readonly SearchResult[];
  /** What deleting the rows that name the tool leaves, although it rests on them. */
  readonly deletingLeaves: readonly string[];
  /** What that would have deleted, although something else holds it up. */
  readonly deletingLoses: readonly string[];
  readonly undone: UnrecallResult;
  readonly again: readonly SearchResult[];
}

/** JSON: everything that is shown. */
export async function runDemoRecall({ output }: Invocation): Promise<ExitStatus> {
  const folder = mkdtempSync(join(tmpdir(), "dormouse-demo-"));
  const cleanUp = () => rmSync(folder, { recursive: true, force: true });
  endOnInterrupt(output, cleanUp);
  try {
    const invocation = { output, brainPath: join(folder, "brain.db"), modelDirectory: undefined };
    const report = await withBrain(invocation, (brain) => play(brain, output), { create: true });
    if (output.json) output.print(report, () => "");
    return 0;
  } finally {
    cleanUp();
  }
}

async function play(brain: Brain, output: Output): Promise<DemoRecallReport> {
  const tell = (render: (style: Style) => readonly string[]) => {
    if (!output.json) output.print(null, (_, style) => render(style).join("\n"));
  };
  await tellStory(brain);
  const sleep = await brain.sleep();
  const merged = sleep.phases.find(({ name }) => name === "consolidate")?.details?.merged ?? 0;
  const before = await ask(brain);
  tell((style) => [
    style.bold("A weather tool, a calendar and you have told a brain about Thursday; it has slept on it."),
    `Sleep put ${merged} ${merged === 1 ? "copy" : "copies"} behind the thought that says the same.`,
    ...asked(before, style),
    "",
    style.bold("The weather tool turns out to be wrong. What would go with it?"),
    `$ dormouse recall --sources '${PATTERN}'`,
  ]);
  const preview = brain.previewRecall({ sources: PATTERN });
  tell((style) => [
    ...reportLines(preview, style, "would go", "would lose a leg and stand"),
    "It stands, for you said so yourself: one leg is enough for a thought.",
  ]);
  const recall = brain.recall({ sources: PATTERN });
  const after = await ask(brain);
  // A thought that names the tool itself lies one step below it.
  const deletingLeaves = recall.removed.filter(({ path }) => path.length > 2).map(({ label }) => label);
  const deletingLoses = recall.weakened.filter(({ path }) => path.length === 2).map(({ label }) => label);
  tell((style) => [
    "",
    `$ dormouse recall --sources '${PATTERN}' --apply`,
    `${countOf(recall.counts.thoughts, "thought")} went, in one event (${recall.event}).`,
    ...asked(after, style),
    "",
    style.bold(`Deleting the rows that came from ${PATTERN} would have`),
    ...deletingLeaves.map((label) => `  left     ${fitLine(label, style.width - 11)}`),
    ...deletingLoses.map((label) => `  deleted  ${fitLine(label, style.width - 11)}`),
  ]);
  const undone = brain.unrecall(recall.event ?? "");
  const again = await ask(brain);
  tell((style) => [
    "",
    style.bold("And if the tool was right after all?"),
    `$ dormouse unrecall ${recall.event}`,
    `${countOf(undone.restored, "node")} stand again, each as it was.`,
    ...asked(again, style),
    "",
    "With your own brain: `dormouse source list` names what it learned from.",
  ]);
  return { merged, before, preview, recall, after, deletingLeaves, deletingLoses, undone, again };
}

async function tellStory(brain: Brain): Promise<void> {
  const rain = "Thursday in Pune brings heavy rain from noon until the evening";
  const told = async (input: RememberInput) => (await brain.remember(input)).id ?? "";
  const fromTool = await told({ content: rain, kind: "observation", legs: [{ parents: [WEATHER] }] });
  await told({ content: rain.toUpperCase(), kind: "observation", legs: [{ parents: [WEATHER, MORNING] }] });
  const home = await told({ content: "You live in Pune", axiom: true, legs: [{ parents: [WEATHER] }] });
  const lunch = await told({ content: "Thursday's lunch with Ravi is in the garden", legs: [{ parents: [CALENDAR] }] });
  await told({
    content: "Take the umbrella on Thursday",
    kind: "insight",
    legs: [{ parents: [fromTool, home] }],
  });
  await told({
    content: "Move Thursday's lunch with Ravi indoors",
    kind: "decision",
    legs: [{ parents: [fromTool, lunch] }],
  });
}

async function ask(brain: Brain): Promise<readonly SearchResult[]> {
  return (await brain.search(QUESTION, { k: 6 })).results;
}

function asked(results: readonly SearchResult[], style: Style): string[] {
  return [
    "",
    `$ dormouse search "${QUESTION}"`,
    ...results.map(({ content, trust }) => `  ${fitLine(`${content} (${trust})`, style.width - 2)}`),
  ];
}
