/** `dormouse history`: what happened to one thought or source, an event a line and its effects below. */
import type { HistoryEntry } from "../../app.ts";
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";
import { fitLine, type Style, wrapText } from "../output.ts";
import { countOf } from "../render.ts";
import { formatMinute } from "../times.ts";

type HistoryLeg = HistoryEntry["legsAdded"][number];

const INDENT = "    ";

/** JSON: an array of events, the latest last. */
export async function runHistory(
  invocation: Invocation,
  id: string,
  flags: { readonly limit: string },
): Promise<ExitStatus> {
  const limit = readCount("--limit", flags.limit);
  const entries = await withBrain(invocation, (brain) => brain.history(id, { limit }));
  invocation.output.print(entries, (found, style) => found.map((entry) => renderEntry(entry, style)).join("\n"));
  return 0;
}

function renderEntry(entry: HistoryEntry, style: Style): string {
  const head = `${entry.event.padEnd(7)} ${formatMinute(new Date(entry.at))}  ${entry.actor.padEnd(9)}  ${entry.kind}`;
  const lines = effectLines(entry).map((line) => `${INDENT}${fitLine(line, style.width - INDENT.length)}`);
  const reason = entry.reason === null ? [] : [wrapText(`why: ${entry.reason}`, style.width, INDENT)];
  return [head, ...lines, ...reason].join("\n");
}

function effectLines(entry: HistoryEntry): string[] {
  return [
    ...(entry.recall === null ? [] : [RECALL_WORDS[entry.recall]]),
    ...entry.changes.map(({ what, from, to }) => `${what}: ${from ?? "none"} → ${to ?? "none"}`),
    ...entry.links.map(
      ({ type, direction, id, ended }) => `${ended ? "no longer " : ""}${linkWords(type, direction)} ${id}`,
    ),
    ...entry.metIn.map(({ id, name }) => `met in ${name} (${id})`),
    ...entry.goneFrom.map(({ id, name }) => `gone from ${name} (${id})`),
    ...entry.legsAdded.map((leg) => `leg added: ${legWords(leg)}`),
    ...entry.legsEnded.map((leg) => `leg ended: ${legWords(leg)}`),
  ];
}

const RECALL_WORDS: Record<NonNullable<HistoryEntry["recall"]>, string> = {
  recalled: "recalled",
  taken: "fell with what it rested on",
  "given back": "stands again",
  "brought out": "came out from behind its survivor, which fell",
};

function linkWords(type: string, direction: "to" | "from"): string {
  if (type === "supersedes") return direction === "to" ? "takes the place of" : "superseded by";
  return direction === "to" ? "contradicts" : "contradicted by";
}

function legWords({ axiom, parents, omitted }: HistoryLeg): string {
  if (axiom) return "the statement itself";
  return [...parents, ...(omitted === 0 ? [] : [countOf(omitted, "more parent")])].join(" + ");
}
