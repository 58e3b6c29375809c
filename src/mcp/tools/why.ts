/**
 * `memory_why`: what a thought rests on. A walk that is too long comes in pages; each is a tree from the thought
 * itself down to the nodes of the page, and all of them together are the library's walk.
 */
import * as z from "zod";
import type { WhyNode } from "../../app.ts";
import { systemClock } from "../../core/clock.ts";
import { disarmFences } from "../../core/fence.ts";
import { beliefSchema, decayedSchema, relationsShape, trustSchema } from "../answer-schemas.ts";
import { cutText, DEFAULT_MAX_TOKENS, readCursor, takePage, tokensOf } from "../page.ts";
import {
  cursorSchema,
  defineTool,
  EVIDENCE_NOTE,
  evidenceSchema,
  idSchema,
  maxTokensSchema,
  pageSchema,
} from "../tool.ts";

const breakSchema = z.object({ id: z.string(), because: z.string(), event: z.string().nullable() });
const legSchema = z.object({
  axiom: z.boolean(),
  endedBy: z.string().nullable(),
  broken: z.array(breakSchema),
  get parents(): z.ZodArray<typeof nodeSchema> {
    return z.array(nodeSchema);
  },
});
const nodeSchema = z.object({
  id: z.string(),
  role: z.enum(["source", "thought"]),
  label: z.string(),
  trust: trustSchema,
  visible: z.boolean(),
  decayed: decayedSchema,
  belief: beliefSchema,
  staleBy: z.string().nullable(),
  recalledBy: z.string().nullable(),
  erasedBy: z.string().nullable(),
  supersededBy: z.array(z.string()),
  ...relationsShape,
  mergedInto: z.string().nullable(),
  behind: z.object({ ids: z.array(z.string()), count: z.number().int() }),
  depth: z.number().int(),
  seenBefore: z.boolean(),
  omitted: z.number().int(),
  omittedLegs: z.number().int(),
  get legs(): z.ZodArray<typeof legSchema> {
    return z.array(legSchema);
  },
});
type Node = z.input<typeof nodeSchema>;

/** A node of the walk with its place in it. */
interface Step {
  readonly index: number;
  readonly parent: number;
  readonly node: WhyNode;
}

const TEXT_LABEL_CHARS = 200;

export const whyTool = defineTool({
  name: "memory_why",
  title: "Why memory holds something",
  description:
    "What a thought rests on: its reasons down to the sources, what of them was recalled or replaced, and how far each " +
    "is trusted. Use it before you rely on something that matters, and to cite.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: {
    id: idSchema.describe("n_… of a thought or s_… of a source."),
    depth: z.number().int().min(1).max(50).optional().describe("Steps to follow, default 5."),
    maxTokens: maxTokensSchema,
    cursor: cursorSchema,
  },
  output: { why: nodeSchema, page: pageSchema, evidence: evidenceSchema },
  run({ cursor, maxTokens = DEFAULT_MAX_TOKENS, ...asked }, { brain }) {
    const place = readCursor(cursor, asked);
    const steps = walk(brain.why(asked.id, asked.depth));
    const { items, ...page } = takePage(steps, {
      asked,
      now: place?.now ?? systemClock.now(),
      place,
      // The way down to the first node of a page is shown again.
      maxTokens: Math.floor(maxTokens * 0.7),
      idOf: ({ index }) => String(index),
      costOf: ({ node }) => tokensOf({ ...node, legs: [] }) + 20,
      shorten: (step, room) => ({ ...step, node: { ...step.node, label: cutText(step.node.label, room) } }),
    });
    const why = treeOf(steps, items);
    return { structured: { why, page, evidence: EVIDENCE_NOTE }, text: renderWalk(items, page) };
  },
});

/** The nodes of a walk, the nearest first. */
function walk(root: WhyNode): Step[] {
  const steps: Step[] = [{ index: 0, parent: -1, node: root }];
  for (const { index, node } of steps) {
    for (const { parents } of node.legs) {
      for (const parent of parents) steps.push({ index: steps.length, parent: index, node: parent });
    }
  }
  return steps;
}

/** The part of the walk that leads to these nodes. */
function treeOf(steps: readonly Step[], items: readonly Step[]): Node {
  const kept = new Map(items.map(({ index, node }) => [index, node]));
  const shown = new Set<number>();
  for (const { index } of items) {
    for (let at = index; at >= 0 && !shown.has(at); at = steps[at]?.parent ?? -1) shown.add(at);
  }
  const indexOf = new Map(steps.map(({ index, node }) => [node, index]));
  const build = (node: WhyNode): Node => {
    const index = indexOf.get(node) ?? 0;
    const own = kept.get(index);
    const { legs: _, ...rest } = own ?? { ...node, label: cutText(node.label, 40) };
    return {
      ...rest,
      supersededBy: [...rest.supersededBy],
      replaces: [...rest.replaces],
      disputedWith: [...rest.disputedWith],
      behind: { ids: [...rest.behind.ids], count: rest.behind.count },
      legs: node.legs.flatMap(({ axiom, endedBy, broken, parents }) => {
        const here = parents.filter((parent) => shown.has(indexOf.get(parent) ?? -1));
        // A leg without parents here is told with its own node, unless its parents come on another page.
        if (here.length === 0 && (own === undefined || parents.length > 0)) return [];
        return [{ axiom, endedBy, broken: [...broken], parents: here.map(build) }];
      }),
    };
  };
  const [root] = steps;
  if (root === undefined) throw new RangeError("a walk has a first node");
  return build(root.node);
}

function renderWalk(items: readonly Step[], page: z.infer<typeof pageSchema>): string {
  const lines = items.map(({ node }) => {
    const label = disarmFences(node.label).replaceAll(/\s+/g, " ");
    const shown = label.length > TEXT_LABEL_CHARS ? `${label.slice(0, TEXT_LABEL_CHARS)} […]` : label;
    const state = [
      node.trust,
      ...(node.recalledBy === null ? [] : [`recalled by ${node.recalledBy}`]),
      ...(node.belief === "asserted" ? [] : [node.belief]),
      ...(node.staleBy === null ? [] : ["stale"]),
      ...(node.legs.some(({ axiom }) => axiom) ? ["the person's own word"] : []),
    ];
    return `${"  ".repeat(node.depth)}[${node.id} | ${node.role} | ${state.join(" | ")}] ${shown}`;
  });
  const rest = page.cursor === null ? [] : [`${page.remaining} more with cursor ${page.cursor}`];
  return [EVIDENCE_NOTE, ...lines, ...rest].join("\n");
}
