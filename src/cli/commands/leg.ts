/** `dormouse leg`: what justifies a thought, and further justifications by hand. */
import type { LegChange, WhyNode } from "../../app.ts";
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { readLeg } from "../leg-option.ts";
import { fitLine, type Style } from "../output.ts";
import { countOf, legMarks, risenWords } from "../render.ts";

interface LegAddFlags {
  readonly leg?: readonly string[];
  readonly axiom?: boolean;
}

/** JSON: what changed. */
export async function runLegAdd(invocation: Invocation, id: string, flags: LegAddFlags): Promise<ExitStatus> {
  const legs = { legs: (flags.leg ?? []).map(readLeg), axiom: flags.axiom === true };
  const change = await withBrain(invocation, (brain) => brain.addLegs(id, legs));
  invocation.output.print(change, renderLegChange);
  return 0;
}

/** JSON: id, state of each leg with its parents, and how much was left out. */
export async function runLegList(invocation: Invocation, id: string): Promise<ExitStatus> {
  const node = await withBrain(invocation, (brain) => brain.why(id, 1));
  const answer = {
    id: node.id,
    role: node.role,
    trust: node.trust,
    legs: node.legs.map(({ axiom, endedBy, broken, parents }) => ({
      axiom,
      state: stateOf({ endedBy, broken }),
      endedBy,
      broken,
      parents: parents.map(({ id: parent, role, label, trust }) => ({ id: parent, role, label, trust })),
    })),
    omitted: node.omitted,
    omittedLegs: node.omittedLegs,
  };
  invocation.output.print(answer, renderLegs);
  return 0;
}

type LegList = Pick<WhyNode, "id" | "role" | "trust" | "omitted" | "omittedLegs"> & {
  readonly legs: readonly {
    readonly axiom: boolean;
    readonly state: "stands" | "ended" | "broken";
    readonly endedBy: string | null;
    readonly broken: WhyNode["legs"][number]["broken"];
    readonly parents: readonly Pick<WhyNode, "id" | "role" | "label" | "trust">[];
  }[];
};

function stateOf({
  endedBy,
  broken,
}: Pick<WhyNode["legs"][number], "endedBy" | "broken">): LegList["legs"][number]["state"] {
  if (endedBy !== null) return "ended";
  return broken.length === 0 ? "stands" : "broken";
}

function renderLegs(list: LegList, style: Style): string {
  if (list.role === "source") return `${list.id} is a source: thoughts rest on it, it rests on nothing`;
  const lines = list.legs.flatMap((leg) => [
    `  ${leg.axiom ? "the statement itself" : "rests on"}${legMarks(leg)}`,
    ...leg.parents.map(({ id, label, trust }) => `    ${id} (${trust})  ${fitLine(label, style.width - 38)}`),
  ]);
  const omitted = [
    ...(list.omittedLegs > 0 ? [countOf(list.omittedLegs, "leg")] : []),
    ...(list.omitted > 0 ? [countOf(list.omitted, "parent")] : []),
  ];
  return [
    `${style.bold(list.id)} (${list.trust})  ${countOf(list.legs.length + list.omittedLegs, "leg")}`,
    ...lines,
    ...(omitted.length === 0 ? [] : [`  and ${omitted.join(" with ")} not shown`]),
  ].join("\n");
}

function renderLegChange(change: LegChange): string {
  if (change.event === null) return `${change.id} rests on that already; nothing changed`;
  return [
    `${countOf(change.added, "leg")} added to ${change.id} (${change.event}); it is ${change.trust}`,
    ...(change.risen === 0 ? [] : [`  ${risenWords(change.risen)}`]),
  ].join("\n");
}
