/** `dormouse why`: the tree of what a thought rests on. */
import type { WhyNode } from "../../app.ts";
import { type ExitStatus, type Invocation, readCount, withReader } from "../invocation.ts";
import { fitLine, type Style } from "../output.ts";
import { countOf, legMarks } from "../render.ts";

export async function runWhy(
  invocation: Invocation,
  id: string,
  flags: { readonly depth: string; readonly asOf?: string },
): Promise<ExitStatus> {
  const depth = readCount("--depth", flags.depth);
  const tree = await withReader(invocation, flags.asOf, (brain) => brain.why(id, depth));
  invocation.output.print(tree, (node, style) => whyLines(node, style, "").join("\n"));
  return 0;
}

function whyLines(node: WhyNode, style: Style, indent: string): string[] {
  const marks = [
    node.role === "source" ? `source, ${node.trust}` : node.trust,
    ...stateMarks(node),
    ...(node.seenBefore ? ["its legs are shown elsewhere"] : []),
  ].join(", ");
  const room = Math.max(20, style.width - indent.length - node.id.length - marks.length - 5);
  const lines = [`${indent}${style.bold(node.id)} (${marks})  ${fitLine(node.label, room)}`];
  for (const words of relationLines(node)) lines.push(`${indent}  ${style.dim(words)}`);
  for (const leg of node.legs) {
    lines.push(`${indent}  ${leg.axiom ? "the statement itself" : "rests on"}${legMarks(leg)}`);
    for (const parent of leg.parents) lines.push(...whyLines(parent, style, `${indent}    `));
  }
  const omitted = [
    ...(node.omittedLegs > 0 ? [countOf(node.omittedLegs, "leg")] : []),
    ...(node.omitted > 0 ? [countOf(node.omitted, "parent")] : []),
  ];
  if (omitted.length > 0) lines.push(`${indent}    and ${omitted.join(" with ")} not shown`);
  return lines;
}

/** What is special about the node's own state. */
function stateMarks(node: WhyNode): string[] {
  const marks = [
    ...(node.recalledBy === null ? [] : [`recalled by ${node.recalledBy}`]),
    ...(node.erasedBy === null ? [] : [`erased by ${node.erasedBy}`]),
    ...(node.decayed === "none" ? [] : [node.decayed === "forgotten" ? "forgotten" : `decayed: ${node.decayed}`]),
    ...(node.belief === "asserted" ? [] : [node.belief]),
    ...(node.staleBy === null ? [] : [`stale since ${node.staleBy}`]),
    ...(node.mergedInto === null ? [] : [`stands behind ${node.mergedInto}`]),
  ];
  return marks.length === 0 && !node.visible ? ["out of search"] : marks;
}

/** Other thoughts that it replaced, is disputed with, or stands for. */
function relationLines({ supersededBy, replaces, disputedWith, behind }: WhyNode): string[] {
  const more = behind.count - behind.ids.length;
  return [
    ...(supersededBy.length === 0 ? [] : [`superseded by ${supersededBy.join(", ")}`]),
    ...(replaces.length === 0 ? [] : [`replaces ${replaces.join(", ")}`]),
    ...(disputedWith.length === 0 ? [] : [`disputed by ${disputedWith.join(", ")}`]),
    ...(behind.count === 0 ? [] : [`stands for ${behind.ids.join(", ")}${more === 0 ? "" : ` and ${more} more`}`]),
  ];
}
