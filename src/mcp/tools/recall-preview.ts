/** `memory_recall_preview`: what pulling sources or thoughts back would take along. Never pulls anything back. */
import * as z from "zod";
import type { RecallPreview } from "../../app.ts";
import { systemClock } from "../../core/clock.ts";
import { disarmFences } from "../../core/fence.ts";
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

const nodeShape = { id: z.string(), role: z.enum(["source", "thought"]), kind: z.string(), label: z.string() };
const nodesSchema = z.array(z.object(nodeShape));
const reachedSchema = z.array(z.object({ ...nodeShape, path: z.array(z.string()) }));

/** The lists of a preview in the order in which they are told. */
const LISTS = ["roots", "removed", "weakened", "released", "replaced", "alike"] as const;
type List = (typeof LISTS)[number];
type Item = { [L in List]: { readonly list: L; readonly node: RecallPreview[L][number] } }[List];

const TITLES: Readonly<Record<List, string>> = {
  roots: "would be pulled back",
  removed: "would go with it",
  weakened: "would lose a reason and stand",
  released: "would come out from behind one that goes",
  replaced: "was replaced by one that goes",
  alike: "says nearly the same and would stay",
};
const TEXT_LABEL_CHARS = 160;

export const recallPreviewTool = defineTool({
  name: "memory_recall_preview",
  title: "Preview a recall",
  description:
    "Show what pulling a bad source or thought back would take with it: everything that rests on it. Changes nothing " +
    "and cannot: the person applies it with `dormouse recall`. Give ids, or a pattern of source names.",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: {
    ids: z.array(idSchema).min(1).max(100).optional().describe("n_… and s_… to pull back."),
    sources: z
      .string()
      .min(1)
      .max(400)
      .optional()
      .describe("Every source of such a name; * is anything, as in page:*."),
    rule: z
      .enum(["fair", "strict"])
      .optional()
      .describe("fair (default): what has another reason stands; strict: everything it reached goes."),
    limit: z.number().int().min(1).max(1_000).optional().describe("Nodes described in each list, default 50."),
    maxTokens: maxTokensSchema,
    cursor: cursorSchema,
  },
  output: {
    rule: z.enum(["fair", "strict"]),
    counts: z.object({
      roots: z.number().int(),
      thoughts: z.number().int(),
      sources: z.number().int(),
      weakened: z.number().int(),
      released: z.number().int(),
    }),
    roots: nodesSchema,
    removed: reachedSchema,
    weakened: reachedSchema,
    released: nodesSchema,
    replaced: nodesSchema,
    alike: z.array(z.object({ ...nodeShape, like: z.string(), cosine: z.number() })),
    alreadyBy: z.array(z.string()),
    applied: z.literal(false),
    page: pageSchema,
    evidence: evidenceSchema,
  },
  run({ cursor, maxTokens = DEFAULT_MAX_TOKENS, ...asked }, { brain }) {
    const { ids, sources, rule, limit } = asked;
    const place = readCursor(cursor, asked);
    const preview = brain.previewRecall(
      { ...(ids === undefined ? {} : { ids }), ...(sources === undefined ? {} : { sources }) },
      { ...(rule === undefined ? {} : { rule }), ...(limit === undefined ? {} : { limit }) },
    );
    const { items, ...page } = takePage(itemsOf(preview), {
      asked,
      now: place?.now ?? systemClock.now(),
      place,
      maxTokens,
      idOf: ({ list, node }) => `${list} ${node.id}`,
      costOf: ({ node }) => tokensOf(node),
      shorten: shortenItem,
    });
    const pick = <L extends List>(list: L) =>
      items.flatMap((item) => (item.list === list ? [item.node as RecallPreview[L][number]] : []));
    const withPath = ({ path, ...node }: RecallPreview["removed"][number]) => ({ ...node, path: [...path] });
    return {
      structured: {
        rule: preview.rule,
        counts: preview.counts,
        roots: pick("roots"),
        removed: pick("removed").map(withPath),
        weakened: pick("weakened").map(withPath),
        released: pick("released"),
        replaced: pick("replaced"),
        alike: pick("alike"),
        alreadyBy: [...preview.alreadyBy],
        applied: false as const,
        page,
        evidence: EVIDENCE_NOTE,
      },
      text: renderPreview(preview, items, page),
    };
  },
});

function itemsOf(preview: RecallPreview): Item[] {
  return [
    ...preview.roots.map((node) => ({ list: "roots" as const, node })),
    ...preview.removed.map((node) => ({ list: "removed" as const, node })),
    ...preview.weakened.map((node) => ({ list: "weakened" as const, node })),
    ...preview.released.map((node) => ({ list: "released" as const, node })),
    ...preview.replaced.map((node) => ({ list: "replaced" as const, node })),
    ...preview.alike.map((node) => ({ list: "alike" as const, node })),
  ];
}

/** Words first; a path as long as a page keeps its ends. */
function shortenItem(item: Item, room: number): Item {
  const label = cutText(item.node.label, Math.floor(room / 2));
  if (item.list !== "removed" && item.list !== "weakened") return { ...item, node: { ...item.node, label } } as Item;
  const { path } = item.node;
  const kept = Math.max(1, Math.floor(room / 20));
  const ends = path.length <= 2 * kept ? path : [...path.slice(0, kept), "…", ...path.slice(-kept)];
  return { ...item, node: { ...item.node, label, path: ends } };
}

function renderPreview(preview: RecallPreview, items: readonly Item[], page: z.infer<typeof pageSchema>): string {
  const { thoughts, sources, weakened } = preview.counts;
  const lines = [
    EVIDENCE_NOTE,
    `A preview, nothing was changed: ${thoughts} thoughts and ${sources} sources would go, ${weakened} would be weakened.`,
  ];
  let section: List | null = null;
  for (const { list, node } of items) {
    if (list !== section) lines.push(`## ${TITLES[list]}`);
    section = list;
    const label = disarmFences(node.label).replaceAll(/\s+/g, " ");
    const shown = label.length > TEXT_LABEL_CHARS ? `${label.slice(0, TEXT_LABEL_CHARS)} […]` : label;
    lines.push(`  [${node.id} | ${node.role}] ${shown}`);
  }
  if (page.cursor !== null) lines.push(`${page.remaining} more with cursor ${page.cursor}`);
  lines.push("The person applies it with `dormouse recall … --apply`; `dormouse unrecall` undoes that.");
  return lines.join("\n");
}
