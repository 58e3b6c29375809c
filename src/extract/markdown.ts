/**
 * One Markdown note as blocks of verbatim text under their headings, with links, tags and dates.
 * Pure: it knows neither paths nor the store. Comments are dropped, broken frontmatter is named and the
 * body still read. It never rewrites a person's words beyond line ends (LF) and removed comments.
 */
import type { MarkdownIt as MarkdownParser, StateInline, Token } from "markdown-it";
import MarkdownIt from "markdown-it";
import { isMap, isScalar, isSeq, parseDocument, visit } from "yaml";
import { parseReferent } from "../core/referent.ts";
import type { ReferentTime } from "../core/types.ts";
import { chunkText } from "../text/chunk.ts";

/** A link to a note or heading of the same vault; links to the web are none. */
export interface NoteLink {
  /** As written, without heading and alias; "" is the note itself. Markdown targets are still URL-encoded. */
  readonly target: string;
  /** Decoded; of nested headings (`note#A#B`) the innermost. */
  readonly heading: string | null;
  readonly block: string | null;
  readonly alias: string | null;
  readonly embed: boolean;
  readonly style: "wiki" | "markdown";
}

/** A paragraph, list, quote, table, code fence or HTML block, or a piece of one. */
export interface Block {
  /** Verbatim source, at most 1,200 characters. */
  readonly text: string;
  /** 1-based line of the note where `text` begins. */
  readonly line: number;
  /** Headings above it, outermost first. */
  readonly headings: string[];
  /** Its own links; the first block of a section also has those of its heading. */
  readonly links: NoteLink[];
  /** Its own #tags and those of its headings, without the sign. */
  readonly tags: string[];
  /** `^id` of the block, or of its heading when it is the first block there. */
  readonly blockId: string | null;
  /** 0, 1, … for the pieces of one block of the source. */
  readonly part: number;
}

export interface Note {
  /** `title` of the frontmatter, else the first heading of level 1. */
  readonly title: string | null;
  /** Tags of the frontmatter. */
  readonly tags: string[];
  readonly aliases: string[];
  /** Links in frontmatter values. */
  readonly links: NoteLink[];
  /** First readable date of the frontmatter: date, created, published, updated, modified. */
  readonly when: ReferentTime | null;
  /** "invalid_yaml" when the frontmatter could not be read. */
  readonly frontmatterFault: string | null;
  readonly blocks: Block[];
}

const MAX_CHARS = 1200;
/** A wiki link longer than this is none; bounds the search for its end. */
const MAX_LINK_CHARS = 1000;
/** A paragraph directly over `---` is a heading for Markdown; a longer one is surely text. */
const MAX_UNDERLINED_CHARS = 200;

const DATE_KEYS = [
  ["date", "datetime"],
  ["created", "createdat", "datecreated", "creationdate"],
  ["published", "publishedat", "publishdate", "datepublished", "pubdate"],
  ["updated", "updatedat", "dateupdated", "lastupdated"],
  ["modified", "modifiedat", "datemodified", "lastmodified"],
] as const;

const TAG = /(?:[\p{L}\p{M}\p{N}\p{Extended_Pictographic}\p{Regional_Indicator}_/-]|\u200d)+/uy;
const TAG_WORD = /[\p{L}\p{N}\p{Extended_Pictographic}\p{Regional_Indicator}]/u;
const BLOCK_ID_AT_END = /(?:^|[\s>])\^([A-Za-z0-9-]+)\s*$/;
const BLOCK_ID_AT_LINE_END = /[ \t]\^([A-Za-z0-9-]+)[ \t]*$/m;
const BLOCK_ID_LINE = /^\^([A-Za-z0-9-]+)$/;

const markdown = createParser();

/** Reads one note. Line ends and a byte order mark are normalised; no input throws. */
export function parseNote(text: string): Note {
  const source = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const { yaml, body, lines } = splitFrontmatter(source);
  const front = readFrontmatter(yaml);
  const { firstTitle, blocks } = readBody(dropComments(body), lines);
  return {
    title: front.title ?? firstTitle,
    tags: front.tags,
    aliases: front.aliases,
    links: front.links,
    when: front.when,
    frontmatterFault: front.fault,
    blocks,
  };
}

/**
 * The day, or minute, a note's file name begins with: `2023-09-12.md`, `2023-09-12 Meeting.md`,
 * `2023_09_12.md`, `202309121030 Idea.md`, `2023-09-12 1030.md`. Folders before
 * the name are ignored. Null when there is none.
 */
export function whenFromName(fileName: string): ReferentTime | null {
  const name = fileName.slice(fileName.lastIndexOf("/") + 1);
  const match = /^(\d{4})([-_.]?)(\d{2})\2(\d{2})(?:[ T_-]?(\d{2})(\d{2})(?:\d{2})?)?(?!\d)/.exec(name);
  if (match === null) return null;
  const [, year, separator, month, day, hour, minute] = match;
  if (separator === "" && !/^(19|20|21)/.test(name)) return null;
  const span = readTime(`${year}-${month}-${day}`);
  if (span === null || hour === undefined) return span;
  return readTime(`${year}-${month}-${day}T${hour}:${minute}`) ?? span;
}

// ---- frontmatter ----

interface Frontmatter {
  title: string | null;
  tags: string[];
  aliases: string[];
  links: NoteLink[];
  when: ReferentTime | null;
  fault: string | null;
}

/** `lines` is how many lines of the file stand before the body. */
function splitFrontmatter(source: string): { yaml: string; body: string; lines: number } {
  const whole = { yaml: "", body: source, lines: 0 };
  const open = /^---[ \t]*\n/.exec(source);
  if (open === null) return whole;
  const close = /^(?:---|\.\.\.)[ \t]*(?:\n|$)/gm;
  close.lastIndex = open[0].length;
  const end = close.exec(source);
  if (end === null) return whole;
  const yaml = source.slice(open[0].length, end.index);
  // Text between two rules at the head of a note is a person's words, not properties.
  if (yaml.trim() !== "" && isPlainText(yaml)) return whole;
  const head = source.slice(0, end.index + end[0].length);
  return { yaml, body: source.slice(head.length), lines: head.split("\n").length - 1 };
}

function isPlainText(yaml: string): boolean {
  return !/^[ \t]*(?:[^\s#:][^:]*:(?:\s|$)|[-{["'#])/m.test(yaml);
}

function readFrontmatter(yaml: string): Frontmatter {
  const front: Frontmatter = { title: null, tags: [], aliases: [], links: [], when: null, fault: null };
  if (yaml.trim() === "") return front;
  const dates = new Map<string, ReferentTime>();
  try {
    const document = parseDocument(yaml, { schema: "core", uniqueKeys: false, logLevel: "silent" });
    if (document.errors.length > 0) return { ...front, fault: "invalid_yaml" };
    if (document.contents === null) return front;
    if (!isMap(document.contents)) return { ...front, fault: "invalid_yaml" };
    for (const { key, value } of document.contents.items) {
      const name = (scalarText(key) ?? "").toLowerCase().replace(/[\s_-]/g, "");
      if (name === "title") front.title ??= scalarText(value);
      else if (name === "tags" || name === "tag") front.tags.push(...listTexts(value, /[\s,]+/));
      else if (name === "aliases" || name === "alias") front.aliases.push(...listTexts(value, /,/));
      else {
        const when = readTime(scalarText(value) ?? "");
        if (when !== null) dates.set(name, when);
      }
    }
    visit(document, {
      Scalar(key, node) {
        if (key !== "key" && typeof node.value === "string") front.links.push(...wikiLinksIn(node.value));
      },
    });
  } catch {
    // The parser overflows the stack on absurd nesting.
    return { title: null, tags: [], aliases: [], links: [], when: null, fault: "invalid_yaml" };
  }
  front.tags = uniqueTags(front.tags.map((tag) => tag.replace(/^#+/, "")));
  front.aliases = [...new Set(front.aliases)];
  for (const key of DATE_KEYS.flat()) front.when ??= dates.get(key) ?? null;
  return front;
}

/** The text of a scalar as the person wrote it: 007 stays 007, and a date stays a text. */
function scalarText(node: unknown): string | null {
  if (!isScalar(node) || node.value === null || node.value === undefined) return null;
  const text = (node.source ?? String(node.value)).trim();
  return text === "" ? null : text;
}

/** Items of a list, or the parts of one string. A list item stays whole: it may hold blanks. */
function listTexts(node: unknown, separator: RegExp): string[] {
  if (isSeq(node))
    return node.items.flatMap((item) => (isSeq(item) ? listTexts(item, separator) : (scalarText(item) ?? [])));
  return (scalarText(node) ?? "")
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** A date as properties hold it, perhaps linked to its daily note; null for anything else. */
function readTime(text: string): ReferentTime | null {
  const linked = /^\[\[([^[\]|#]+)(?:\|[^[\]]*)?\]\]$/.exec(text);
  try {
    return parseReferent(linked?.[1] ?? text, { floating: true });
  } catch {
    return null;
  }
}

function wikiLinksIn(text: string): NoteLink[] {
  return [...text.matchAll(/(!?)\[\[([^[\]\n]{1,1000})\]\]/g)].flatMap(
    ([, embed, inner]) => readWikiLink(inner ?? "", embed === "!") ?? [],
  );
}

// ---- comments ----

/**
 * The body without `%% … %%` and `<!-- … -->`, line for line. Marks inside code are left alone, and so is
 * a comment that never ends: hiding the rest of a note would lose words.
 */
function dropComments(body: string): string {
  if (!body.includes("%%") && !body.includes("<!--")) return body;
  const code = codeRanges(body);
  const marks = /\\[\s\S]|`+|%%|<!--/g;
  let kept = "";
  let keptTo = 0;
  const ended = new Set<string>();
  let paragraphEnd = 0;
  for (let mark = marks.exec(body); mark !== null; mark = marks.exec(body)) {
    const at = mark.index;
    const inside = code.find(([from, to]) => at >= from && at < to);
    if (inside !== undefined) {
      marks.lastIndex = inside[1];
    } else if (mark[0].startsWith("`")) {
      if (at >= paragraphEnd) paragraphEnd = endOfParagraph(body, at);
      marks.lastIndex = endOfCodeSpan(body, at, mark[0].length, paragraphEnd);
    } else if (!mark[0].startsWith("\\") && !ended.has(mark[0])) {
      const closing = mark[0] === "%%" ? "%%" : "-->";
      const end = indexOutside(body, closing, at + mark[0].length, code);
      if (end < 0) {
        ended.add(mark[0]);
        continue;
      }
      const after = end + closing.length;
      const before = body.slice(keptTo, at);
      const endsLine = after >= body.length || body[after] === "\n";
      kept += endsLine ? before.replace(/[ \t]+$/, "") : before;
      kept += "\n".repeat(body.slice(at, after).split("\n").length - 1);
      keptTo = after;
      marks.lastIndex = after;
    }
  }
  return kept + body.slice(keptTo);
}

/** Offsets of fences and indented code, in order. */
function codeRanges(body: string): [number, number][] {
  const starts = lineStarts(body);
  const tokens: Token[] = [];
  markdown.block.parse(body, markdown, {}, tokens);
  return tokens.flatMap((token): [number, number][] => {
    if ((token.type !== "fence" && token.type !== "code_block") || token.map === null) return [];
    return [[starts[token.map[0]] ?? body.length, starts[token.map[1]] ?? body.length]];
  });
}

function indexOutside(body: string, text: string, from: number, ranges: readonly [number, number][]): number {
  let at = body.indexOf(text, from);
  for (;;) {
    const inside = ranges.find(([start, end]) => at >= start && at < end);
    if (at < 0 || inside === undefined) return at;
    at = body.indexOf(text, inside[1]);
  }
}

function endOfParagraph(body: string, from: number): number {
  const blank = /\n[ \t]*\n/g;
  blank.lastIndex = from;
  return blank.exec(body)?.index ?? body.length;
}

/** Where the code span opened by `length` backticks at `at` ends, or just behind them when it does not. */
function endOfCodeSpan(body: string, at: number, length: number, paragraphEnd: number): number {
  const open = at + length;
  const runs = /`+/g;
  runs.lastIndex = open;
  for (let run = runs.exec(body); run !== null && run.index < paragraphEnd; run = runs.exec(body)) {
    if (run[0].length === length) return run.index + length;
  }
  return open;
}

// ---- body ----

interface Heading {
  level: number;
  text: string;
  tags: string[];
  /** Links and id wait for the first block of the section. */
  links: NoteLink[];
  blockId: string | null;
}

/** A run of lines that may stand alone: a list item, a table row. */
interface Segment {
  start: number;
  end: number;
  depth: number;
  blockId: string | null;
}

interface Piece {
  text: string;
  start: number;
  blockId: string | null;
}

/** A link or tag and where it stands in the body. */
interface Found {
  at: number;
  link: NoteLink | null;
  tag: string | null;
}

function readBody(body: string, linesBefore: number): { firstTitle: string | null; blocks: Block[] } {
  const starts = lineStarts(body);
  const offsetOf = (line: number): number => starts[line] ?? body.length;
  const tokens = markdown.parse(shieldWords(body), {});
  const blocks: Block[] = [];
  let headings: Heading[] = [];
  let firstTitle: string | null = null;
  let line = 0;
  for (let index = 0; index < tokens.length; ) {
    const next = endOfBlock(tokens, index);
    const inner = tokens.slice(index, next);
    index = next;
    const open = inner[0];
    if (open === undefined || open.map === null || open.type === "hr") continue;
    const start = offsetOf(open.map[0]);
    // The rule under such a text is no part of it.
    const isUnderlined = isUnderlinedText(open, inner);
    const end = offsetOf(open.map[1] - (isUnderlined ? 1 : 0));
    const found = findLinksAndTags(inner, body, offsetOf);
    if (open.type === "heading_open" && !isUnderlined) {
      const heading = readHeading(open, inner, found);
      headings = [...headings.filter((above) => above.level < heading.level), heading];
      if (heading.level === 1 && heading.text !== "") firstTitle ??= heading.text;
      continue;
    }
    const text = body.slice(start, end);
    const lone = open.type === "paragraph_open" ? BLOCK_ID_LINE.exec(text.trim()) : null;
    const last = blocks.at(-1);
    if (lone?.[1] !== undefined && last !== undefined) {
      nameBlock(blocks, lone[1]);
      continue;
    }
    if (!saysSomething(open, text)) continue;
    const pieces = cutBlock(body, start, end, segmentsOf(open, inner, body, offsetOf));
    const waiting = headings.flatMap((heading) => heading.links.splice(0));
    const waitingId = headings.map((heading) => heading.blockId).findLast((id) => id !== null) ?? null;
    for (const heading of headings) heading.blockId = null;
    let nextFound = 0;
    pieces.forEach((piece, part) => {
      const until = pieces[part + 1]?.start ?? Number.POSITIVE_INFINITY;
      const own: Found[] = [];
      for (let one = found[nextFound]; one !== undefined && one.at < until; one = found[nextFound]) {
        own.push(one);
        nextFound += 1;
      }
      while (line + 1 < starts.length && offsetOf(line + 1) <= piece.start) line += 1;
      blocks.push({
        text: piece.text,
        line: linesBefore + line + 1,
        headings: headings.map((heading) => heading.text).filter((heading) => heading !== ""),
        links: [...(part === 0 ? waiting : []), ...own.flatMap(({ link }) => link ?? [])],
        tags: uniqueTags([...own.flatMap(({ tag }) => tag ?? []), ...headings.flatMap((heading) => heading.tags)]),
        blockId: piece.blockId ?? (part === 0 ? waitingId : null),
        part,
      });
    });
  }
  return { firstTitle, blocks };
}

/** A `^id` on a line of its own names the block before it, by its first piece. */
function nameBlock(blocks: Block[], blockId: string): void {
  const index = blocks.findLastIndex((block) => block.part === 0);
  const block = blocks[index];
  if (block !== undefined) blocks[index] = { ...block, blockId };
}

/** Index just behind the top-level block that begins at `index`. */
function endOfBlock(tokens: readonly Token[], index: number): number {
  let depth = 0;
  let at = index;
  do {
    depth += tokens[at]?.nesting ?? 0;
    at += 1;
  } while (depth > 0 && at < tokens.length);
  return at;
}

/** Text that someone closed with a rule but no blank line; as a heading it would be lost as a thought. */
function isUnderlinedText(open: Token, inner: readonly Token[]): boolean {
  if (open.type !== "heading_open" || (open.markup !== "-" && open.markup !== "=")) return false;
  const content = inner[1]?.content ?? "";
  return content.includes("\n") || content.length > MAX_UNDERLINED_CHARS;
}

function readHeading(open: Token, inner: readonly Token[], found: readonly Found[]): Heading {
  const raw = (inner[1]?.children ?? []).map(plainText).join("");
  const id = BLOCK_ID_AT_END.exec(raw);
  return {
    level: Number(open.tag.slice(1)),
    text: (id === null ? raw : raw.slice(0, id.index)).replace(/\s+/g, " ").trim(),
    tags: found.flatMap(({ tag }) => tag ?? []),
    links: found.flatMap(({ link }) => link ?? []),
    blockId: id?.[1] ?? null,
  };
}

function plainText(token: Token): string {
  if (token.type === "softbreak" || token.type === "hardbreak") return " ";
  if (token.type === "html_inline") return "";
  return token.children === null ? token.content : token.children.map(plainText).join("");
}

/** False for an empty fence, bare HTML tags, and a paragraph of nothing but embedded files that are no notes. */
function saysSomething(open: Token, text: string): boolean {
  if (open.type === "fence" || open.type === "code_block") return open.content.trim() !== "";
  const words = text
    .replace(/!\[\[([^[\]\n|#]*\.(?!md\b)[A-Za-z][A-Za-z0-9]{1,4})(?:[#|][^[\]\n]*)?\]\]/g, "")
    .replace(/!\[\]\([^()\n]*\)/g, "")
    .replace(/<\/?[a-z][a-z0-9-]*(?:\s[^<>]*)?\/?>/gi, "");
  return /[^\s>*+\-_^]/.test(words);
}

function findLinksAndTags(inner: readonly Token[], body: string, offsetOf: (line: number) => number): Found[] {
  const found: Found[] = [];
  let from = 0;
  let to = 0;
  for (const token of inner) {
    if (token.map !== null) {
      from = offsetOf(token.map[0]);
      to = offsetOf(token.map[1]);
    }
    if (token.type !== "inline") continue;
    const source = body.slice(from, to);
    let cursor = 0;
    const place = (...needles: string[]): number => {
      for (const needle of needles) {
        const at = source.indexOf(needle, cursor);
        if (at < 0) continue;
        cursor = at + needle.length;
        return from + at;
      }
      return from + cursor;
    };
    const labels: { href: string; label: string }[] = [];
    const read = (child: Token): void => {
      for (const open of labels) open.label += child.type === "image" ? plainText(child) : child.content;
      const wiki = child.type === "wiki_link" ? readWikiLinkToken(child) : null;
      if (wiki !== null) found.push({ at: place(child.content), link: wiki, tag: null });
      else if (child.type === "tag") found.push({ at: place(`#${child.content}`), link: null, tag: child.content });
      else if (child.type === "link_open") labels.push({ href: String(child.attrGet("href") ?? ""), label: "" });
      else if (child.type === "link_close") {
        const closed = labels.pop();
        if (closed !== undefined) addMarkdownLink(closed.href, closed.label, false);
      } else if (child.type === "image") addMarkdownLink(String(child.attrGet("src") ?? ""), plainText(child), true);
    };
    const addMarkdownLink = (href: string, label: string, embed: boolean): void => {
      const link = readMarkdownLink(href, label, embed);
      if (link !== null) found.push({ at: place(`](${href}`, `](<${href}`), link, tag: null });
    };
    for (const child of token.children ?? []) read(child);
  }
  return found;
}

// ---- cutting ----

/** Items of a list at every depth, or rows of a table; none for blocks that are cut as text. */
function segmentsOf(open: Token, inner: readonly Token[], body: string, offsetOf: (line: number) => number): Segment[] {
  const isList = open.type === "bullet_list_open" || open.type === "ordered_list_open";
  if (open.map === null || (!isList && open.type !== "table_open")) return [];
  const type = isList ? "list_item_open" : "tr_open";
  const borders = new Map<number, number>();
  for (const token of inner) {
    if (token.type === type && token.map !== null && !borders.has(token.map[0])) borders.set(token.map[0], token.level);
  }
  const lines = [...borders.keys()].sort((a, b) => a - b);
  return lines.map((line, index) => {
    const start = offsetOf(line);
    const end = offsetOf(lines[index + 1] ?? open.map?.[1] ?? line);
    const blockId = isList ? (BLOCK_ID_AT_LINE_END.exec(body.slice(start, end))?.[1] ?? null) : null;
    return { start, end, depth: borders.get(line) ?? 0, blockId };
  });
}

/** Cuts a block into pieces of at most 1,200 characters; a list item with an id of its own stands alone. */
function cutBlock(body: string, start: number, end: number, segments: readonly Segment[]): Piece[] {
  const pieces: Piece[] = [];
  if (segments.length === 0) pieces.push(...cutText(body, start, end, null));
  for (const group of groupSegments(segments)) {
    const first = group[0];
    const last = group.at(-1);
    if (first === undefined || last === undefined) continue;
    pieces.push(...cutText(body, first.start, last.end, group.length === 1 ? first.blockId : null));
  }
  const text = body.slice(start, end);
  const lastLine = text.trimEnd().split("\n").at(-1) ?? "";
  // On a list only an unindented last line names the whole; a mark behind the words names the item.
  const whole = (segments.length > 0 ? BLOCK_ID_LINE : BLOCK_ID_AT_END).exec(lastLine);
  const head = pieces[0];
  if (head !== undefined) head.blockId ??= whole?.[1] ?? null;
  return pieces;
}

/** Fills groups in order; when one is full it is cut at its last border of the least depth. */
function groupSegments(segments: readonly Segment[]): Segment[][] {
  const groups: Segment[][] = [];
  let current: Segment[] = [];
  const flush = (count: number): void => {
    if (count > 0) groups.push(current.slice(0, count));
    current = current.slice(count);
  };
  for (const segment of segments) {
    if (segment.blockId !== null) {
      flush(current.length);
      groups.push([segment]);
      continue;
    }
    for (let first = current[0]; first !== undefined && segment.end - first.start > MAX_CHARS; first = current[0]) {
      let border = current.length;
      let depth = segment.depth;
      for (let index = current.length - 1; index > 0; index -= 1) {
        const inside = current[index]?.depth ?? depth;
        if (inside >= depth) continue;
        border = index;
        depth = inside;
      }
      flush(border);
    }
    current.push(segment);
  }
  flush(current.length);
  return groups;
}

function cutText(body: string, start: number, end: number, blockId: string | null): Piece[] {
  const whole = body.slice(start, end).trimEnd();
  const lead = /^(?:[ \t]*\n)*/.exec(whole)?.[0].length ?? 0;
  const text = whole.slice(lead);
  if (text === "") return [];
  let cursor = 0;
  return (text.length <= MAX_CHARS ? [text] : chunkText(text, MAX_CHARS)).map((chunk, index) => {
    const at = Math.max(text.indexOf(chunk, cursor), cursor);
    cursor = at + chunk.length;
    return { text: chunk, start: start + lead + at, blockId: index === 0 ? blockId : null };
  });
}

// ---- Markdown dialect ----

function createParser(): MarkdownParser {
  const parser = new MarkdownIt("default", { html: true });
  // Targets are compared with file names, not put into a page.
  parser.normalizeLink = (url) => url;
  parser.inline.ruler.before("link", "wiki_link", scanWikiLink);
  parser.inline.ruler.before("link", "tag", scanTag);
  return parser;
}

function scanWikiLink(state: StateInline, silent: boolean): boolean {
  const embed = state.src.startsWith("![[", state.pos);
  if (!embed && !state.src.startsWith("[[", state.pos)) return false;
  const open = state.pos + (embed ? 3 : 2);
  const window = state.src.slice(open, Math.min(state.posMax, open + MAX_LINK_CHARS));
  const length = window.indexOf("]]");
  if (length < 0) return false;
  const inner = window.slice(0, length);
  if (inner.includes("\n") || inner.includes("[[") || readWikiLink(inner, embed) === null) return false;
  if (!silent) state.push("wiki_link", "", 0).content = `${embed ? "!" : ""}[[${inner}]]`;
  state.pos = open + length + 2;
  return true;
}

function scanTag(state: StateInline, silent: boolean): boolean {
  if (state.src[state.pos] !== "#") return false;
  if (state.pos > 0 && !/\s/.test(state.src[state.pos - 1] ?? "")) return false;
  TAG.lastIndex = state.pos + 1;
  const tag = TAG.exec(state.src.slice(0, state.posMax))?.[0].replace(/\/+$/, "") ?? "";
  if (!TAG_WORD.test(tag) || /^\d+$/.test(tag)) return false;
  if (!silent) state.push("tag", "", 0).content = tag;
  state.pos += 1 + tag.length;
  return true;
}

function readWikiLinkToken(token: Token): NoteLink | null {
  const embed = token.content.startsWith("!");
  return readWikiLink(token.content.slice(embed ? 3 : 2, -2), embed);
}

/** `note#heading|alias` and its kin; a bar in a table is escaped. Null when it names nothing or the web. */
function readWikiLink(inner: string, embed: boolean): NoteLink | null {
  const bar = inner.indexOf("|");
  const address = (bar < 0 ? inner : inner.slice(0, bar)).replace(/\\$/, "").trim();
  const alias = bar < 0 ? "" : inner.slice(bar + 1).trim();
  if (address === "" || /[[\]]/.test(address)) return null;
  return readAddress(address, alias, embed, "wiki");
}

/** A relative link of plain Markdown; null when it leads to the web or nowhere. */
function readMarkdownLink(href: string, label: string, embed: boolean): NoteLink | null {
  const address = href.trim();
  return address === "" ? null : readAddress(address, label.trim(), embed, "markdown");
}

function readAddress(address: string, alias: string, embed: boolean, style: NoteLink["style"]): NoteLink | null {
  if (/^(?:[a-z][a-z0-9+.-]+:\/\/|mailto:|tel:|\/\/)/i.test(address)) return null;
  if (style === "markdown" && /^[a-z][a-z0-9+.-]+:/i.test(address)) return null;
  const hash = address.indexOf("#");
  const target = (hash < 0 ? address : address.slice(0, hash)).trim();
  const raw = hash < 0 ? "" : address.slice(hash + 1);
  const fragment = (style === "markdown" ? decodeUrl(raw) : raw).split("#").findLast((part) => part.trim() !== "");
  const inner = fragment?.trim() ?? "";
  if (target === "" && inner === "") return null;
  return {
    target,
    heading: inner === "" || inner.startsWith("^") ? null : inner,
    block: inner.startsWith("^") ? inner.slice(1) : null,
    alias: alias === "" ? null : alias,
    embed,
    style,
  };
}

function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Keeps `[^1]: word` and `[Ann]: hello` from being read as link definitions, which show nothing. Only for
 * the parser's eyes: same length, and block texts are cut from the body itself.
 */
function shieldWords(body: string): string {
  return body.replace(/^( {0,3})\[(\^[^\]\n]+|[^\]\n]+(?=\]:[ \t]+[^\s./:#<]+[ \t]*$))\]:/gm, "$1($2):");
}

/** NFC, first spelling kept, compared without case. */
function uniqueTags(tags: readonly string[]): string[] {
  const byKey = new Map<string, string>();
  for (const tag of tags) {
    const text = tag.normalize("NFC").trim();
    if (text !== "" && !byKey.has(text.toLowerCase())) byKey.set(text.toLowerCase(), text);
  }
  return [...byKey.values()];
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
