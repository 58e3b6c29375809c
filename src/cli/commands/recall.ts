/** `dormouse recall`: shows what would go with a bad source or thought, and why; with --apply it goes. */
import type { RecallPreview, RecallReport, RecallResult } from "../../app.ts";
import { DormouseError } from "../../core/errors.ts";
import { requireIds } from "../id-arguments.ts";
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";
import { fitLine, type Style } from "../output.ts";
import { countOf } from "../render.ts";

export interface RecallFlags {
  readonly sources?: string;
  readonly rule: "fair" | "strict";
  readonly reason: string;
  readonly apply?: boolean;
  readonly limit?: string;
}

/** Nodes a list shows to a person. */
const SHOWN = 20;
/** Columns of the margin, an id and the gap after it. */
const ID_COLUMNS = 24;
/** Nodes each list holds in JSON. */
const JSON_LIMIT = 1_000;

/** JSON: the report, with `event` once it was done. */
export async function runRecall(
  invocation: Invocation,
  ids: readonly string[],
  flags: RecallFlags,
): Promise<ExitStatus> {
  if (flags.reason !== "untrusted") {
    throw new DormouseError("usage", "this version recalls what is untrusted, and erases nothing", {
      hint: "A recall hides everything that rested on it; leave --reason out.",
    });
  }
  requireIds(ids);
  const { output } = invocation;
  const target = { ids, ...(flags.sources === undefined ? {} : { sources: flags.sources }) };
  const limit = flags.limit === undefined ? (output.json ? JSON_LIMIT : SHOWN) : readCount("--limit", flags.limit);
  const options = { rule: flags.rule, limit, onProgress: output.progress };
  await withBrain(invocation, (brain) => {
    if (flags.apply === true) output.print(brain.recall(target, options), renderRecallResult);
    else output.print(brain.previewRecall(target, options), renderPreview);
  });
  return 0;
}

function renderPreview(preview: RecallPreview, style: Style): string {
  const { alike } = preview;
  return [
    ...reportLines(preview, style, "would go", "would lose a leg and stand"),
    ...(alike.length === 0
      ? []
      : [
          "",
          style.bold("looks alike, but no leg joins it: judge for yourself"),
          ...alike.map(
            ({ id, label, like, cosine }) => `  ${id}  ${firstLine(label, style)}\n    like ${like} (${cosine})`,
          ),
        ]),
    ...earlierLines(preview.alreadyBy),
    "",
    "Nothing was changed. Run it again with --apply to do it; `dormouse unrecall` undoes it.",
  ].join("\n");
}

/** What went, and how to undo it. */
export function renderRecallResult(result: RecallResult, style: Style): string {
  if (result.event === null) {
    return ["all of this was recalled already; nothing was changed", ...earlierLines(result.alreadyBy)].join("\n");
  }
  return [
    ...reportLines(result, style, "went", "lost a leg and stands"),
    ...earlierLines(result.alreadyBy),
    "",
    `Undo it with: dormouse unrecall ${result.event}`,
  ].join("\n");
}

/** Which recalls took a root before, each with its undoing. */
function earlierLines(events: readonly string[]): string[] {
  if (events.length === 0) return [];
  const shown = events.slice(0, SHOWN);
  return [
    "",
    `already recalled by ${[...shown, ...(events.length > shown.length ? ["others"] : [])].join(", ")}; ` +
      `\`dormouse unrecall ${shown.length === 1 ? shown[0] : "EVENT"}\` undoes that`,
  ];
}

/** Roots, what goes with the way down to each, and what only weakens. */
export function reportLines(report: RecallReport, style: Style, goes: string, weakens: string): string[] {
  const { rule, roots, counts, removed, weakened, released, replaced } = report;
  const rest = (shown: number, all: number) => (all > shown ? [`  … and ${all - shown} more`] : []);
  return [
    `recall of ${countOf(counts.roots, "root")} (${rule}): ${countOf(counts.thoughts, "thought")} and ` +
      `${countOf(counts.sources, "source")} ${counts.thoughts + counts.sources === 1 ? goes.replace(/^go$/, "goes") : goes}`,
    ...roots.slice(0, SHOWN).map(({ id, kind, label }) => `  root ${id}  ${kind}  ${firstLine(label, style)}`),
    ...rest(Math.min(SHOWN, roots.length), counts.roots),
    ...(removed.length === 0 ? [] : ["", style.bold(goes)]),
    ...removed.flatMap(({ id, label, path }) => [
      `  ${id}  ${firstLine(label, style)}`,
      ...(path.length > 2 ? [style.dim(`    ${pathLine(path)}`)] : []),
    ]),
    ...rest(removed.length, counts.thoughts + counts.sources),
    ...(counts.weakened === 0 ? [] : ["", style.bold(weakens)]),
    ...weakened.map(({ id, label }) => `  ${id}  ${firstLine(label, style)}`),
    ...rest(weakened.length, counts.weakened),
    ...(counts.released === 0 ? [] : ["", style.bold("comes out from behind one that goes, on a source of its own")]),
    ...released.map(({ id, label }) => `  ${id}  ${firstLine(label, style)}`),
    ...rest(released.length, counts.released),
    ...(replaced.length === 0
      ? []
      : [
          "",
          style.bold("was replaced by something that goes; `dormouse supersede --undo ID` brings it back"),
          ...replaced.map(({ id, label }) => `  ${id}  ${firstLine(label, style)}`),
        ]),
  ];
}

/** The beginning of a node's words in what is left of its line. */
function firstLine(label: string, style: Style): string {
  return fitLine(label, style.width - ID_COLUMNS);
}

/** What lies between the root and the node; a long way is cut in the middle. */
function pathLine(path: readonly string[]): string {
  const between = path.slice(1, -1);
  const shown = between.length <= 4 ? between : [...between.slice(0, 2), "…", ...between.slice(-2)];
  return `through ${shown.join(" → ")}`;
}
