/** `dormouse source`: where thoughts come from, and how far each source is trusted. */
import type { SourceListing, SourceListOptions, TrustChange } from "../../app.ts";
import { SOURCE_TYPES, TRUST_LEVELS } from "../../core/types.ts";
import { requireIds } from "../id-arguments.ts";
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";
import { fitLine, printable, type Style } from "../output.ts";
import { countOf } from "../render.ts";
import { readChoice } from "../words.ts";

export interface SourceListFlags {
  readonly type?: string;
  readonly trust?: string;
  readonly names?: string;
  readonly limit: string;
}

/** Columns of the longest type and level. */
const TYPE_WIDTH = 7;
const TRUST_WIDTH = 9;
/** Columns that a list line has before the name. */
const HEAD_WIDTH = 52;

/** JSON: an array of sources. */
export async function runSourceList(invocation: Invocation, flags: SourceListFlags): Promise<ExitStatus> {
  const { output } = invocation;
  const limit = readCount("--limit", flags.limit);
  const filter: Omit<SourceListOptions, "limit"> = {
    ...(flags.type === undefined ? {} : { type: readChoice("--type", flags.type, SOURCE_TYPES) }),
    ...(flags.trust === undefined ? {} : { trust: readChoice("--trust", flags.trust, TRUST_LEVELS) }),
    ...(flags.names === undefined ? {} : { names: flags.names }),
  };
  const { sources, more } = await withBrain(invocation, (brain) => {
    const found = brain.sources({ ...filter, limit });
    const isCut = !output.json && found.length === limit;
    return { sources: found, more: isCut ? brain.countSources(filter) - found.length : 0 };
  });
  output.print(sources, (found, style) => {
    if (found.length === 0) return "no sources";
    const rest = more > 0 ? [`… and ${more} more; --limit shows as many as you like`] : [];
    return [...found.map((source) => sourceLine(source, style)), ...rest].join("\n");
  });
  return 0;
}

/** JSON: what changed. */
export async function runSourceTrust(
  invocation: Invocation,
  words: readonly string[],
  flags: { readonly sources?: string },
): Promise<ExitStatus> {
  const level = readChoice("the level, named last,", words.at(-1) ?? "", TRUST_LEVELS);
  requireIds(words.slice(0, -1));
  const target = { ids: words.slice(0, -1), ...(flags.sources === undefined ? {} : { sources: flags.sources }) };
  const change = await withBrain(invocation, (brain) => brain.setTrust(target, level));
  invocation.output.print(change, renderTrustChange);
  return 0;
}

function sourceLine(source: SourceListing, style: Style): string {
  const thoughts = source.more ? `over ${source.thoughts} thoughts` : countOf(source.thoughts, "thought");
  const head = `${source.type.padEnd(TYPE_WIDTH)}  ${source.trust.padEnd(TRUST_WIDTH)}  ${thoughts.padEnd(12)}`;
  const name = source.recalled ? `[recalled] ${source.name}` : source.name;
  const room = style.isTerminal ? Math.max(20, style.width - HEAD_WIDTH) : 10_000;
  return `${style.bold(source.id)}  ${head}  ${fitLine(printable(name), room)}`;
}

function renderTrustChange(change: TrustChange, style: Style): string {
  if (change.event === null) return `${change.trust} already; nothing changed`;
  const more = change.sources - change.changed.length;
  return [
    `${countOf(change.sources, "source")} ${change.sources === 1 ? "is" : "are"} ${change.trust} now (${change.event})`,
    ...change.changed.map(
      ({ id, name, from }) => `  ${id}  was ${from}  ${fitLine(printable(name), style.width - 40)}`,
    ),
    ...(more === 0 ? [] : [`  … and ${more} more`]),
    `the trust of ${countOf(change.thoughts, "thought")} changed with ${change.sources === 1 ? "it" : "them"}`,
  ].join("\n");
}
