/** `dormouse search`: ranked thoughts with their scores, on request with the reasons. */
import type { Interval, SearchAnswer, SearchOptions, SearchResult } from "../../core/types.ts";
import { type ExitStatus, type Invocation, readCount, withReader } from "../invocation.ts";
import { type Style, wrapText } from "../output.ts";
import { beliefWords, countOf, originLine, titleLine } from "../render.ts";

interface SearchFlags {
  readonly k: string;
  readonly kind?: readonly string[];
  readonly domain?: readonly string[];
  readonly tag?: readonly string[];
  readonly when?: string;
  readonly explain?: boolean;
  readonly now?: string;
  readonly asOf?: string;
}

/** Lines of a result's text on screen. */
const MAX_LINES = 4;

export async function runSearch(invocation: Invocation, query: string, flags: SearchFlags): Promise<ExitStatus> {
  const options = await readOptions(flags);
  const answer = await withReader(invocation, flags.asOf, (brain) => brain.search(query, options));
  invocation.output.print(answer, renderSearchAnswer);
  return 0;
}

async function readOptions(flags: SearchFlags): Promise<SearchOptions> {
  const isTimed = flags.when !== undefined || flags.now !== undefined;
  const { now, when } = isTimed ? await readTimes(flags) : {};
  return {
    k: readCount("-k", flags.k),
    ...(flags.kind === undefined ? {} : { kinds: flags.kind }),
    ...(flags.domain === undefined ? {} : { domains: flags.domain }),
    ...(flags.tag === undefined ? {} : { tags: flags.tag }),
    ...(when === undefined ? {} : { when }),
    ...(now === undefined ? {} : { now }),
    explain: flags.explain === true,
  };
}

/** A bare date filters by the day on this machine: at any offset, it would let in half of the days beside it. */
async function readTimes({ now, when, asOf }: SearchFlags): Promise<{ now?: number; when?: Interval }> {
  const { readAsOf, readInstant, readOption, readRange } = await import("../times.ts");
  const past = await readAsOf(asOf, Date.now());
  const at = now === undefined ? past : await readOption("--now", () => readInstant(now, Date.now()));
  const range = when === undefined ? null : (await readOption("--when", () => readRange(when, at, "local"))).range;
  return {
    ...(now === undefined ? {} : { now: at }),
    ...(range === null ? {} : { when: { from: range.from, to: range.to } }),
  };
}

/** The results, best first, under a line of counts. */
export function renderSearchAnswer(answer: SearchAnswer, style: Style): string {
  const { results, scanned, tookMs } = answer;
  const counts = `${countOf(scanned.eligible, "thought")} eligible, ${scanned.scored} scored, ${tookMs} ms`;
  if (results.length === 0) return `nothing found (${counts})`;
  return [
    style.dim(`${countOf(results.length, "result")} (${counts})`),
    ...results.map((result) => renderResult(result, style)),
  ].join("\n\n");
}

function renderResult(result: SearchResult, style: Style): string {
  const lines = [
    titleLine(result, style, [result.score.toFixed(3)]),
    wrapText(result.content, style.width, "  ", MAX_LINES),
    `  ${originLine(result, style)}`,
    ...beliefWords(result).map((words) => wrapText(words, style.width, "  ")),
  ];
  const { explain, channels } = result;
  if (explain === undefined) return lines.join("\n");
  const parts = [
    `words ${channels.text}${explain.terms.length === 0 ? "" : ` (${explain.terms.join(", ")})`}`,
    `meaning ${channels.vector}${explain.cosine === null ? "" : ` (cosine ${explain.cosine})`}`,
    `neighbours ${channels.graph}`,
    `recency × ${explain.recency}`,
    ...(explain.inTime ? ["at the time asked for"] : []),
    ...(explain.bySpeakerNamed ? ["said by whom the question names"] : []),
  ];
  lines.push(wrapText(parts.join(", "), style.width, "  "));
  for (const { from, via, share } of explain.paths) lines.push(`  ${share} from ${from} (${via})`);
  if (explain.collapsed.length > 0) lines.push(`  says the same: ${explain.collapsed.join(", ")}`);
  return lines.join("\n");
}
