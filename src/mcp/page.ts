/**
 * Long answers in pages: as many items as a number of tokens holds, and a cursor for the rest. A cursor belongs to the
 * arguments it was given for and to nobody's session: any later call, and any other process, can go on from it.
 */
import { createHash } from "node:crypto";
import { estimateTokens } from "../app.ts";
import { DormouseError } from "../core/errors.ts";

/** Tokens of an answer unless the caller says otherwise. */
export const DEFAULT_MAX_TOKENS = 2_000;
/** What everything but the items costs: field names, counts, the cursor. */
const FRAME_TOKENS = 160;
const CURSOR = /^[A-Za-z0-9_-]{1,200}$/;

/** Where a page begins. */
export interface Place {
  /** Items before it. */
  readonly offset: number;
  /** The clock of the first page, so that all pages are of one answer. */
  readonly now: number;
  /** The last item before it, by which it is found again when the brain changed meanwhile. */
  readonly after: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** For the next page; null on the last. */
  readonly cursor: string | null;
  readonly remaining: number;
}

/** @throws DormouseError `usage` for a cursor that is none, or was given for other arguments */
export function readCursor(cursor: string | undefined, asked: object): Place | null {
  if (cursor === undefined) return null;
  try {
    const [offset, now, after, digest] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    const isPlace =
      Number.isSafeInteger(offset) && offset > 0 && Number.isSafeInteger(now) && typeof after === "string";
    if (CURSOR.test(cursor) && isPlace && digest === digestOf(asked)) return { offset, now, after };
  } catch {
    // Answered below, as every other text that is no cursor.
  }
  throw new DormouseError("usage", "cursor: not one that was given for these arguments", {
    hint: "Send the arguments of the first page again with the cursor, or leave it out to start over.",
  });
}

/**
 * The items from a place on that fit; always at least one while there are any.
 * @param shorten what is done to an item that is too long for a page of its own
 */
export function takePage<T extends object>(
  items: readonly T[],
  options: {
    readonly asked: object;
    readonly now: number;
    readonly place: Place | null;
    readonly maxTokens: number;
    readonly idOf: (item: T) => string;
    /** Default: the item as JSON. */
    readonly costOf?: (item: T) => number;
    readonly shorten: (item: T, maxTokens: number) => T;
  },
): Page<T> {
  const { place, idOf, costOf = tokensOf } = options;
  const start = place === null ? 0 : startAfter(items, place, idOf);
  const room = options.maxTokens - FRAME_TOKENS;
  const taken: T[] = [];
  let tokens = 0;
  for (const item of items.slice(start)) {
    const fitting = taken.length === 0 && costOf(item) > room ? options.shorten(item, room) : item;
    tokens += costOf(fitting);
    if (taken.length > 0 && tokens > room) break;
    taken.push(fitting);
  }
  const end = start + taken.length;
  const last = items[end - 1];
  const hasMore = end < items.length && last !== undefined;
  const cursor = hasMore ? encode([end, options.now, idOf(last), digestOf(options.asked)]) : null;
  return { items: taken, cursor, remaining: items.length - end };
}

/** What an item costs as JSON. */
export function tokensOf(item: object): number {
  return estimateTokens(JSON.stringify(item));
}

/** A text's beginning that costs at most so many tokens, marked as cut. */
export function cutText(text: string, maxTokens: number): string {
  let cut = text;
  while (cut.length > 0 && estimateTokens(JSON.stringify(cut)) > maxTokens) {
    cut = cut.slice(0, Math.floor(cut.length * 0.8)).replace(/[\uD800-\uDBFF]$/, "");
  }
  return cut === text ? text : `${cut} […]`;
}

function startAfter<T>(items: readonly T[], { offset, after }: Place, idOf: (item: T) => string): number {
  const at = items.findIndex((item) => idOf(item) === after);
  return at < 0 ? Math.min(offset, items.length) : at + 1;
}

function encode(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place), "utf8").toString("base64url");
}

function digestOf(asked: object): string {
  const sorted = Object.entries(asked)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(sorted)).digest("base64url").slice(0, 12);
}
