/**
 * Cuts a long text into pieces that can be found on their own: between paragraphs, else between list items,
 * sentences, words. Refuses to cut a fenced code block that fits a piece, and to tear a character apart.
 * Linear: what is looked at for one cut is bounded by the length of a piece.
 */
import { DormouseError } from "../core/errors.ts";

/** A range of the text, `to` exclusive. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** One cut to be found: the piece starts at `from` and ends at `limit` at the latest. */
interface Window {
  readonly text: string;
  readonly from: number;
  readonly limit: number;
}

/** A coarse border that leaves a piece shorter than this share gives way to a finer one further on. */
const SMALLEST_SHARE = 0.25;
/** Code units past the limit that a border's pattern may look at. */
const LOOKAHEAD = 32;

// Every border is the end of a word, where white space begins, and is met once however long the space is.
const PARAGRAPH_BORDER = /(?<=\S)(?=[^\S\n]*\n\s*\n)/g;
/** Before a list item, quote, table row or heading. */
const ITEM_BORDER = /(?<=\S)(?=\s*\n[ \t]{0,12}(?:[-*+•>|]|#{1,6}|\d{1,3}[.)])[ \t])/g;
const LINE_BORDER = /(?<=\S)(?=[^\S\n]*\n)/g;
const WORD_BORDER = /(?<=\S)(?=\s)/g;
const SENTENCE_BORDER =
  /(?<![.!?…])[.!?…]+["'”’)\]]{0,4}(?=\s+(?![\s\p{Ll}]))|[。！？｡]["'」』”’）]{0,4}(?![。！？｡])/gu;
/** A single letter or a short word that takes a full stop inside a sentence. */
const ABBREVIATION = /(?:^|[\s("'.])(?:\p{L}|mrs?|ms|drs?|prof|st|vs|no|cf|approx|fig|vol)\.$/iu;
/** Longer than any such abbreviation with the sign before it. */
const ABBREVIATION_REACH = 10;

const WHITE_SPACE = /\s/;
/** Goes on with the character before it, even if that is white space. */
const EXTENDS_CHARACTER = /\p{M}|\p{Emoji_Modifier}|\u200C|\u200D/u;
const FENCE_LINE = /^[ \t]{0,12}(`{3,}(?=[^`]*$)|~{3,})(.*)$/s;

const graphemeSegmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

/**
 * The text in pieces of at most `maxChars` UTF-16 code units (default 1,200, at least 2), in order. Only
 * white space is lost, at the cuts. A text that fits is returned as it is; a blank one gives no piece. A
 * code fence is kept whole when it fits, else cut between its lines; a character is cut only when it is
 * longer than a piece.
 * @throws DormouseError `invalid` when `maxChars` is no whole number of at least 2.
 */
export function chunkText(text: string, maxChars = 1200): string[] {
  if (!Number.isSafeInteger(maxChars) || maxChars < 2) {
    throw new DormouseError("invalid", `a chunk of ${maxChars} characters is not possible`, {
      hint: "Give a whole number of at least 2.",
    });
  }
  if (text.length <= maxChars) return text.trim() === "" ? [] : [text];
  const chunks: string[] = [];
  const fences = findFences(text);
  let fence = 0;
  let from = skipWhiteSpace(text, 0);
  while (from < text.length) {
    while ((fences[fence]?.to ?? Number.POSITIVE_INFINITY) <= from) fence++;
    const limit = from + maxChars;
    const cut = limit >= text.length ? text.length : findCut({ text, from, limit }, fences, fence);
    const chunk = text.slice(from, cut).trimEnd();
    if (chunk !== "") chunks.push(chunk);
    from = skipWhiteSpace(text, cut);
  }
  return chunks;
}

/** Where the piece ends: past its start, at the limit at the latest. `fences` before `first` lie behind it. */
function findCut(window: Window, fences: readonly Range[], first: number): number {
  let proseFrom = window.from;
  let at = first;
  for (; at < fences.length; at++) {
    const fence = fences[at];
    if (fence === undefined || fence.from >= window.limit) break;
    if (fence.to > window.limit) return alignToCharacter(window, findCutAtFence(window, fence));
    proseFrom = fence.to;
  }
  const proseTo = fences[at]?.from ?? window.text.length;
  return alignToCharacter(window, findCutInProse(window, proseFrom, proseTo));
}

/** For a fence that reaches across the limit. */
function findCutAtFence(window: Window, fence: Range): number {
  const maxChars = window.limit - window.from;
  const before = fence.from - window.from;
  if (before > 0 && (fence.to - fence.from <= maxChars || before >= maxChars * SMALLEST_SHARE)) return fence.from;
  const inside = Math.max(fence.from, window.from);
  return lastBorder(window, inside, LINE_BORDER) ?? lastBorder(window, inside, WORD_BORDER) ?? window.limit;
}

/** No fence lies between `proseFrom`, where the last one ended, and `proseTo`, past the limit, where one starts. */
function findCutInProse(window: Window, proseFrom: number, proseTo: number): number {
  const enough = window.from + (window.limit - window.from) * SMALLEST_SHARE;
  const fenceEnd = proseFrom > window.from ? proseFrom : undefined;
  const paragraph = lastBorder(window, proseFrom, PARAGRAPH_BORDER) ?? fenceEnd;
  if (paragraph !== undefined && (paragraph >= enough || nextParagraphFits(window, paragraph, proseTo))) {
    return paragraph;
  }
  const item = lastBorder(window, proseFrom, ITEM_BORDER);
  if (item !== undefined && item >= enough) return item;
  return (
    lastSentenceBorder(window, proseFrom) ??
    item ??
    lastBorder(window, proseFrom, WORD_BORDER) ??
    fenceEnd ??
    window.limit
  );
}

/** Whether what follows the border is whole again before a piece of its own would be full. */
function nextParagraphFits(window: Window, border: number, proseTo: number): boolean {
  const start = skipWhiteSpace(window.text, border);
  const last = start + window.limit - window.from;
  if (proseTo <= last) return true;
  const ahead = window.text.slice(start, last + LOOKAHEAD);
  for (const match of ahead.matchAll(PARAGRAPH_BORDER)) return start + match.index <= last;
  return false;
}

/** The last border of that kind between `after` and the limit. */
function lastBorder(window: Window, after: number, pattern: RegExp): number | undefined {
  let last: number | undefined;
  for (const match of window.text.slice(after, window.limit + LOOKAHEAD).matchAll(pattern)) {
    const border = after + match.index + match[0].length;
    if (border > window.limit) break;
    if (border > after) last = border;
  }
  return last;
}

/** As `lastBorder`, passing over the full stops of abbreviations. */
function lastSentenceBorder(window: Window, after: number): number | undefined {
  let last: number | undefined;
  for (const match of window.text.slice(after, window.limit + LOOKAHEAD).matchAll(SENTENCE_BORDER)) {
    const border = after + match.index + match[0].length;
    if (border > window.limit) break;
    const ending = window.text.slice(Math.max(after, border - ABBREVIATION_REACH), border);
    if (!ABBREVIATION.test(ending)) last = border;
  }
  return last;
}

/** The cut itself, or the nearest place before it that does not tear a grapheme cluster. */
function alignToCharacter(window: Window, cut: number): number {
  const { text, from, limit } = window;
  const cluster = graphemeSegmenter.segment(text.slice(from, limit + 2)).containing(cut - from);
  if (cluster === undefined || cluster.index === cut - from) return cut;
  if (cluster.index > 0) return from + cluster.index;
  if (cluster.segment.length <= limit - from) return from + cluster.segment.length;
  const next = text.charCodeAt(limit);
  return next >= 0xdc00 && next <= 0xdfff ? limit - 1 : limit;
}

/** Past blank lines to the start of the next line with words on it, or, within a line, past the space. */
function skipWhiteSpace(text: string, from: number): number {
  let at = from;
  let lineStart = from === 0 || text.charCodeAt(from - 1) === 10 ? from : -1;
  while (at < text.length && WHITE_SPACE.test(text.charAt(at))) {
    at++;
    if (text.charCodeAt(at - 1) === 10) lineStart = at;
  }
  if (at === text.length || lineStart === at) return at;
  if (lineStart >= 0) return lineStart;
  const next = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return at > from && EXTENDS_CHARACTER.test(next) ? at - 1 : at;
}

/** Fenced code blocks from their opening line to the end of their closing one; an open one runs to the end. */
function findFences(text: string): Range[] {
  const fences: Range[] = [];
  let opened: { from: number; marker: string } | undefined;
  let lineFrom = 0;
  while (lineFrom < text.length) {
    const newline = text.indexOf("\n", lineFrom);
    const lineTo = newline < 0 ? text.length : newline;
    const found = mayBeFence(text, lineFrom) ? FENCE_LINE.exec(text.slice(lineFrom, lineTo)) : null;
    const marker = found?.[1] ?? "";
    if (marker !== "" && opened === undefined) {
      opened = { from: lineFrom, marker };
    } else if (marker !== "" && opened !== undefined && closes(opened.marker, marker, found?.[2] ?? "")) {
      fences.push({ from: opened.from, to: lineTo });
      opened = undefined;
    }
    lineFrom = lineTo + 1;
  }
  if (opened !== undefined) fences.push({ from: opened.from, to: text.length });
  return fences;
}

/** A glance at the first signs of a line, which spares most lines the pattern. */
function mayBeFence(text: string, lineFrom: number): boolean {
  let at = lineFrom;
  while (at < lineFrom + 12 && (text.charCodeAt(at) === 32 || text.charCodeAt(at) === 9)) at++;
  const sign = text.charAt(at);
  return (sign === "`" || sign === "~") && text.charAt(at + 1) === sign && text.charAt(at + 2) === sign;
}

function closes(opening: string, marker: string, rest: string): boolean {
  return marker.charAt(0) === opening.charAt(0) && marker.length >= opening.length && rest.trim() === "";
}
