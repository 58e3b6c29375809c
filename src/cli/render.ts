/**
 * Thoughts and their surroundings as text for a person, shared by the commands that show them.
 * Pure: takes what the brain answered, gives lines.
 */
import type { BeliefChange, SourceDetail, StateChange, ThoughtDetail, ThoughtInspection, WhyNode } from "../app.ts";
import type { BeliefRelations, ThoughtView } from "../core/types.ts";
import { fitLine, printable, type Style, wrapText } from "./output.ts";
import { describeDue, describeReferent, formatMinute } from "./times.ts";

/** Columns of an id, `n_` and 16 characters. */
const ID_WIDTH = 18;

/** "1 thought", "2 thoughts". */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Id, kind, time and further facts of a thought in one line. */
export function titleLine(view: ThoughtView, style: Style, extra: readonly string[] = []): string {
  const when = view.referent === null ? null : describeReferent(view.referent);
  const facts = [view.kind, ...(when === null ? [] : [when]), ...extra];
  return `${style.bold(view.id)}  ${printable(facts.join("  "))}`;
}

/** Where a thought is from and how far it is trusted, with its tags and domain. */
export function originLine(view: ThoughtView, style: Style): string {
  const parts = [`${view.source.name} (${view.trust})`];
  if (view.domain !== null) parts.push(view.domain);
  parts.push(...view.tags.map((tag) => `#${tag}`));
  return style.dim(fitLine(parts.join("  "), style.width - 2));
}

/** One line a thought: id, kind, when it happened or else was recorded, beginning of the text. */
export function listLine(thought: ThoughtDetail, style: Style): string {
  const day = thought.referent === null ? thought.recordedAt.slice(0, 10) : describeReferent(thought.referent);
  const marks = [stateWords(thought.state), thought.stale ? "stale" : ""].filter((words) => words !== "").join(", ");
  const head = `${thought.kind.padEnd(11)} ${day}  ${marks === "" ? "" : `[${marks}] `}`;
  const room = style.isTerminal ? Math.max(20, style.width - ID_WIDTH - 2) : 10_000;
  return `${style.bold(thought.id)}  ${fitLine(`${printable(head)}${thought.content}`, room)}`;
}

/** What is special about a node's state, in words; empty for a plain visible thought. */
function stateWords(state: ThoughtDetail["state"]): string {
  const words: string[] = [];
  if (state.recalledBy !== null) words.push(`recalled by ${state.recalledBy}`);
  if (state.unheldSince !== null) words.push(`no leg holds it up since ${state.unheldSince}`);
  if (state.permanence !== "none") words.push(state.permanence === "pinned" ? "pinned" : "permanent");
  if (state.decayed !== "none") words.push(state.decayed === "forgotten" ? "forgotten" : `decayed: ${state.decayed}`);
  if (state.belief !== "asserted") words.push(state.belief);
  if (state.mergedInto !== null) words.push(`stands behind ${state.mergedInto}`);
  if (words.length === 0 && !state.visible) words.push("out of search");
  return words.join(", ");
}

/** The command that lifts the recall which a node lies under; null where there is none. */
function undoWords({ recalledBy }: ThoughtDetail["state"]): string | null {
  return recalledBy === null ? null : `dormouse unrecall ${recalledBy}`;
}

/** Everything `show` knows, one fact a line. */
export function renderInspection(node: ThoughtInspection | SourceDetail, style: Style): string {
  return node.role === "source" ? renderSource(node, style) : renderThought(node, style);
}

function renderSource(source: SourceDetail, style: Style): string {
  return [
    `${style.bold(source.id)}  source  ${source.type}`,
    ...factLines(
      [
        ["name", source.name],
        ["reference", source.reference],
        ["trust", source.trust],
        ["state", stateWords(source.state)],
        ["undo", undoWords(source.state)],
        ["thoughts", String(source.thoughts)],
      ],
      style,
    ),
  ].join("\n");
}

function renderThought(thought: ThoughtInspection, style: Style): string {
  const facts: [string, string | null][] = [
    ["state", [stateWords(thought.state) || "visible", ...(thought.stale ? ["stale"] : [])].join(", ")],
    ["undo", undoWords(thought.state)],
    ["reason", thought.reason],
    ["happened", thought.referent === null ? null : describeReferent(thought.referent)],
    ["recorded", formatMinute(new Date(thought.recordedAt))],
    ["valid", thought.valid === null ? null : describeReferent(thought.valid)],
    ["due", thought.due === null ? null : describeDue(Date.parse(thought.due))],
    ["speaker", thought.speaker],
    ["source", `${thought.source.name} (${thought.source.id})`],
    ["trust", thought.trust],
    ["basis", thought.basis],
    ["confidence", thought.confidence === null ? null : String(thought.confidence)],
    ["salience", thought.salience === null ? null : String(thought.salience)],
    ["domain", thought.domain],
    ["scope", thought.scope],
    ["tags", thought.tags.join(", ")],
    ["aspects", thought.aspects.join(", ")],
    ["facets", thought.facets.map(({ name, value }) => `${name}=${value}`).join(", ")],
    ["about", thought.subjects.join(", ")],
    ["read on", countOf(thought.accessDays, "day")],
  ];
  for (const leg of thought.legs) {
    const state = leg.ended === null ? "" : `, ended by ${leg.ended}`;
    const parents = leg.omitted === 0 ? leg.parents : [...leg.parents, `${leg.omitted} more`];
    facts.push(["rests on", `${leg.axiom ? "the statement itself" : parents.join(" + ")} (${leg.added}${state})`]);
  }
  facts.push(["", moreOf(thought.counts.legs - thought.legs.length, "older leg")]);
  for (const { sourceName, source, said, previous, next, ended } of thought.occurrences) {
    const places = [
      said === null ? null : describeReferent(said),
      previous === null ? null : `after ${previous}`,
      next === null ? null : `before ${next}`,
      ended ? "gone from there" : null,
    ].filter((part) => part !== null);
    facts.push(["met in", [`${sourceName} (${source})`, ...places].join(", ")]);
  }
  facts.push(["", moreOf(thought.counts.occurrences - thought.occurrences.length, "older occurrence")]);
  for (const { type, direction, id } of thought.links) facts.push([type, direction === "to" ? id : `from ${id}`]);
  facts.push(["", moreOf(thought.counts.links - thought.links.length, "weaker link")]);
  return [
    `${style.bold(thought.id)}  ${printable(thought.kind)}`,
    wrapText(thought.content, style.width, "  "),
    ...factLines(facts, style),
  ].join("\n");
}

function moreOf(count: number, noun: string): string | null {
  return count === 0 ? null : `and ${countOf(count, noun)}`;
}

function factLines(facts: readonly (readonly [string, string | null])[], style: Style): string[] {
  return facts
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `  ${style.dim(name.padEnd(11))} ${printable(value ?? "")}`);
}

/** How many thoughts that a recall took stand again; ahead of it, what rests on them is not known. */
export function risenWords(risen: number, isAhead = false): string {
  const fallen = `${countOf(risen, "thought")} that had fallen in a recall`;
  if (isAhead) return `${fallen} would stand again, with what rests on ${risen === 1 ? "it" : "them"}`;
  return `${fallen} ${risen === 1 ? "stands" : "stand"} again`;
}

/** What a change of state came to. */
export function renderChange(change: StateChange, done: string): string {
  return change.changed ? `${done} ${change.id} (${change.event})` : `${change.id} was so already; nothing changed`;
}

/** What a decision about beliefs came to. */
export function renderBeliefChange(change: BeliefChange): string {
  const beliefs = change.beliefs.map(({ id, belief }) => `${id} is ${belief}`).join(", ");
  if (!change.changed) return `${beliefs} already; nothing changed`;
  const flags = [
    ...(change.flagged === 0 ? [] : [`${countOf(change.flagged, "thought")} flagged stale`]),
    ...(change.cleared === 0 ? [] : [`${countOf(change.cleared, "thought")} no longer stale`]),
  ];
  return [`${beliefs} (${change.event})`, ...flags.map((line) => `  ${line}`)].join("\n");
}

/** What is to be known of a belief before one relies on it; nothing for a thought that is simply believed. */
export function beliefWords(view: ThoughtView & Partial<BeliefRelations>): string[] {
  const { replaces = [], disputedWith = [] } = view;
  return [
    ...(view.belief === "asserted" ? [] : [withIds(view.belief, "by", view.belief === "disputed" ? disputedWith : [])]),
    ...(view.stale ? ["stale: what it rests on was replaced"] : []),
    ...(replaces.length === 0 ? [] : [withIds("", "replaces", replaces)]),
  ];
}

function withIds(before: string, word: string, ids: readonly string[]): string {
  return [before, ...(ids.length === 0 ? [] : [word, ids.join(", ")])].filter((part) => part !== "").join(" ");
}

/** Why a leg does not stand; nothing for one that does. */
export function legMarks({ endedBy, broken }: Pick<WhyNode["legs"][number], "endedBy" | "broken">): string {
  const marks = [
    ...(endedBy === null ? [] : [`ended by ${endedBy}`]),
    ...broken.map(
      ({ id, because, event }) =>
        `${id} was ${because === "held" ? "held back" : because}${event === null ? "" : ` by ${event}`}`,
    ),
  ];
  if (marks.length === 0) return "";
  return ` (${endedBy === null ? "broken: " : ""}${marks.join(", ")})`;
}
