/** `dormouse why`: the tree of what a thought rests on. */
import type { WhyNode } from "../../app.ts";
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";
import { fitLine, type Style } from "../output.ts";
import { countOf } from "../render.ts";

export async function runWhy(
  invocation: Invocation,
  id: string,
  flags: { readonly depth: string },
): Promise<ExitStatus> {
  const depth = readCount("--depth", flags.depth);
  const tree = await withBrain(invocation, (brain) => brain.why(id, depth));
  invocation.output.print(tree, (node, style) => whyLines(node, style, "").join("\n"));
  return 0;
}

function whyLines(node: WhyNode, style: Style, indent: string): string[] {
  const marks = [
    node.role === "source" ? `source, ${node.trust}` : node.trust,
    ...(node.visible ? [] : ["out of search"]),
    ...(node.seenBefore ? ["its legs are shown elsewhere"] : []),
  ].join(", ");
  const room = Math.max(20, style.width - indent.length - node.id.length - marks.length - 5);
  const lines = [`${indent}${style.bold(node.id)} (${marks})  ${fitLine(node.label, room)}`];
  for (const leg of node.legs) {
    const ended = leg.ended ? " (ended)" : "";
    lines.push(`${indent}  ${leg.axiom ? `the statement itself${ended}` : `rests on${ended}`}`);
    for (const parent of leg.parents) lines.push(...whyLines(parent, style, `${indent}    `));
  }
  const omitted = [
    ...(node.omittedLegs > 0 ? [countOf(node.omittedLegs, "leg")] : []),
    ...(node.omitted > 0 ? [countOf(node.omitted, "parent")] : []),
  ];
  if (omitted.length > 0) lines.push(`${indent}    and ${omitted.join(" with ")} not shown`);
  return lines;
}
