/**
 * Reads plain text as paragraphs parted by blank lines. A paragraph's identity is its file and how many
 * equal ones stood before it, so text added anywhere leaves the others what they were. Refuses our own output.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { FENCE_OPEN_MARK, isOwnOutput, MATERIAL_OPEN_MARK } from "../core/fence.ts";
import type { SourceInput } from "../core/types.ts";
import type { Turn } from "./format.ts";

interface PlainTextContext {
  /** What the person named; its last part is the source's name. */
  readonly path: string;
  /** Stable identity of the text, such as the file's absolute path. */
  readonly fileKey: string;
}

/** Paragraphs as they are completed, for text that is read line by line. */
interface ParagraphReader {
  /** Takes one line without its break; gives the paragraph that it ended, if any. */
  read(line: string, lineNumber: number): Turn[];
  /** Gives the last paragraph. */
  finish(): Turn[];
}

/** Longest paragraph held back; a longer one is passed on in parts that end at a line's end. */
const MAX_PARAGRAPH_CHARS = 1_000_000;
const OWN_MARKS = [FENCE_OPEN_MARK, MATERIAL_OPEN_MARK];

/** The paragraphs of a text, in order; lines are 1-based. */
export function readPlainText(text: string, context: PlainTextContext): Turn[] {
  const reader = createParagraphReader(context);
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  return [...lines.flatMap((line, index) => reader.read(line, index + 1)), ...reader.finish()];
}

/** A reader for text of any length; holds one paragraph and a digest of each paragraph met. */
export function createParagraphReader(context: PlainTextContext): ParagraphReader {
  const source: SourceInput = {
    type: "file",
    key: context.fileKey,
    name: basename(context.path),
    reference: context.path,
    trust: "trusted",
  };
  const counts = new Map<string, number>();
  let lines: string[] = [];
  let chars = 0;
  let firstLine = 0;
  let ownMark: string | null = null;

  function finish(): Turn[] {
    const text = lines.join("\n").trim();
    lines = [];
    chars = 0;
    if (text === "" || isOwnOutput(text)) return [];
    const digest = createHash("sha256").update(text).digest("base64");
    const count = (counts.get(digest) ?? 0) + 1;
    counts.set(digest, count);
    return [
      {
        type: "turn",
        line: firstLine,
        text,
        speaker: null,
        said: null,
        source,
        cites: [],
        recordKey: `text:${context.fileKey}:${count}`,
        domain: null,
        basis: "imported",
      },
    ];
  }

  function read(line: string, lineNumber: number): Turn[] {
    if (ownMark !== null) {
      if (line.trimStart().startsWith(`</${ownMark}>`)) ownMark = null;
      return [];
    }
    const opened = OWN_MARKS.find((mark) => line.trimStart().startsWith(`<${mark}`));
    if (opened !== undefined) {
      if (!line.includes(`</${opened}>`)) ownMark = opened;
      return finish();
    }
    if (line.trim() === "") return finish();
    const ended = chars + line.length > MAX_PARAGRAPH_CHARS ? finish() : [];
    if (lines.length === 0) firstLine = lineNumber;
    lines.push(line);
    chars += line.length + 1;
    return ended;
  }

  return { read, finish };
}
