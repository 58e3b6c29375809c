/**
 * What the command line prints: one JSON value or compact text on stdout, progress and failures on stderr.
 * Control characters never reach a terminal raw, because a remembered page could carry escape sequences.
 */
import { fstatSync, writeSync } from "node:fs";
import { DormouseError } from "../core/errors.ts";
import type { ProgressListener } from "../core/ports.ts";
import { describeProgress } from "./progress.ts";

const DEFAULT_WIDTH = 100;
const MIN_WIDTH = 40;
const MAX_WIDTH = 120;
/** A command that ends sooner shows no progress. */
const PROGRESS_AFTER_MS = 1_000;
const PROGRESS_EVERY_MS = 150;
const STDOUT = 1;
const CLEAR_LINE = "\r\u001B[2K";

/** How text may look on this stdout. */
export interface Style {
  /** Columns, 40 to 120. */
  readonly width: number;
  /** True when a person reads along: long lines are cut to the width. */
  readonly isTerminal: boolean;
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
}

/** The two streams of one command. */
export class Output {
  readonly json: boolean;
  readonly #startedAt = performance.now();
  #shownAt = 0;
  #isProgressShown = false;

  constructor(json: boolean) {
    this.json = json;
  }

  /** Prints the value as one line of JSON, or what `render` makes of it for a person. */
  print<T>(value: T, render: (value: T, style: Style) => string): void {
    this.clearProgress();
    writeOut(`${this.json ? JSON.stringify(value) : render(value, createStyle())}\n`);
  }

  /** A line for a person beside the result; nothing in JSON mode. */
  note(line: string): void {
    if (this.json) return;
    this.clearProgress();
    process.stderr.write(`${line}\n`);
  }

  /** Shows how far a long command is: on a terminal only, after the first second. */
  readonly progress: ProgressListener = (progress) => {
    if (this.json || process.stderr.isTTY !== true) return;
    const now = performance.now();
    if (now - this.#startedAt < PROGRESS_AFTER_MS || now - this.#shownAt < PROGRESS_EVERY_MS) return;
    this.#shownAt = now;
    this.#isProgressShown = true;
    process.stderr.write(`${CLEAR_LINE}${printable(describeProgress(progress))}`);
  };

  clearProgress(): void {
    if (!this.#isProgressShown) return;
    this.#isProgressShown = false;
    process.stderr.write(CLEAR_LINE);
  }

  /** Reports a failure on stderr; stdout is left alone. */
  fail(error: unknown): void {
    this.clearProgress();
    const { code, message, hint } = describeFailure(error);
    if (this.json) {
      process.stderr.write(`${JSON.stringify({ error: { code, message, hint } })}\n`);
      return;
    }
    process.stderr.write(`dormouse: ${printable(message)}\n${hint === null ? "" : `hint: ${printable(hint)}\n`}`);
  }
}

/** Text of an unexpected error could quote a memory, so only its type, code and place are told. */
function describeFailure(error: unknown): { code: string; message: string; hint: string | null } {
  if (error instanceof DormouseError) return { code: error.code, message: error.message, hint: error.hint ?? null };
  const name = error instanceof Error ? error.name : typeof error;
  const code = error instanceof Error && "code" in error ? ` ${String(error.code)}` : "";
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const places = stack.split("\n").filter((line) => /^\s+at /.test(line));
  const where = process.env.DORMOUSE_DEBUG && places.length > 0 ? `\n${places.join("\n")}` : "";
  return {
    code: "internal",
    message: `something unforeseen went wrong (${name}${code})${where}`,
    hint: where === "" ? "Run it again with DORMOUSE_DEBUG=1 to see where." : null,
  };
}

/**
 * Into a pipe or a file without Node's stream, whose loading takes a twentieth of a short command. What a full
 * pipe does not take, and everything for a terminal, goes through the stream.
 */
function writeOut(text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (isPlainOutput() && written < bytes.length) written += writeSync(STDOUT, bytes, written);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // The reader has seen enough.
    if (code === "EPIPE") process.exit(0);
    if (code !== "EAGAIN") throw error;
  }
  if (written < bytes.length) process.stdout.write(bytes.subarray(written));
}

/** True when stdout is a pipe, a socket or a file. */
function isPlainOutput(): boolean {
  const stdout = fstatSync(STDOUT);
  return stdout.isFIFO() || stdout.isFile() || stdout.isSocket();
}

function createStyle(): Style {
  const isTerminal = !isPlainOutput() && process.stdout.isTTY === true;
  const hasColor = isTerminal && !process.env.NO_COLOR && process.env.TERM !== "dumb";
  const width = isTerminal ? process.stdout.columns || DEFAULT_WIDTH : DEFAULT_WIDTH;
  return {
    width: Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)),
    isTerminal,
    bold: (text) => (hasColor ? `\u001B[1m${text}\u001B[22m` : text),
    dim: (text) => (hasColor ? `\u001B[2m${text}\u001B[22m` : text),
  };
}

/** The text with control and direction-changing characters made visible; line breaks and tabs stay. */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(/[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/gu, "\uFFFD");
}

/** One line of at most `width` columns; an ellipsis stands for what was cut. */
export function fitLine(text: string, width: number): string {
  const line = printable(text).replaceAll(/\s+/g, " ").trim();
  if (columnsOf(line) <= width) return line;
  let fitted = "";
  let used = 1;
  for (const character of line) {
    used += columnsOf(character);
    if (used > width) break;
    fitted += character;
  }
  return `${fitted.trimEnd()}…`;
}

/** The text broken at blanks into lines of at most `width` columns behind `indent`, at most `maxLines` of them. */
export function wrapText(
  text: string,
  width: number,
  indent: string,
  maxLines: number = Number.POSITIVE_INFINITY,
): string {
  const room = Math.max(20, width - indent.length);
  const lines = printable(text)
    .split("\n")
    .flatMap((line) => wrapLine(line, room));
  const shown = lines.slice(0, maxLines);
  if (shown.length < lines.length) shown[shown.length - 1] = `${fitLine(shown.at(-1) ?? "", room - 2)} …`;
  return shown.map((line) => `${indent}${line}`.trimEnd()).join("\n");
}

function wrapLine(line: string, room: number): string[] {
  const lines: string[] = [];
  let current = "";
  for (const word of line.trimEnd().split(/(?<=\s)(?=\S)/)) {
    for (const piece of breakWord(word, room)) {
      if (current !== "" && columnsOf(current) + columnsOf(piece.trimEnd()) > room) {
        lines.push(current.trimEnd());
        current = "";
      }
      current += piece;
    }
  }
  lines.push(current.trimEnd());
  return lines;
}

function breakWord(word: string, room: number): string[] {
  if (columnsOf(word) <= room) return [word];
  const pieces: string[] = [];
  let piece = "";
  for (const character of word) {
    if (columnsOf(piece) + columnsOf(character) > room) {
      pieces.push(piece);
      piece = "";
    }
    piece += character;
  }
  return [...pieces, piece];
}

const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uFF01-\uFF60]/gu;
const ZERO_WIDTH = /\p{Mn}|\p{Me}|[\u200B-\u200F]/gu;

/** Columns a terminal gives to the text. */
function columnsOf(text: string): number {
  // Most text is plain ASCII, and the two scans below are the slow part of a long list.
  if (/^[\u0020-\u007E]*$/.test(text)) return text.length;
  return [...text].length + (text.match(WIDE)?.length ?? 0) - (text.match(ZERO_WIDTH)?.length ?? 0);
}
