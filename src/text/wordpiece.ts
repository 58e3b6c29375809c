/**
 * WordPiece as BERT's uncased models use it: clean, isolate CJK, decompose, drop marks, lower-case, split off
 * punctuation, then take the longest piece that the vocabulary holds, again and again. Works on flat arrays
 * with a hash made beforehand, so that nothing is built at start. Adds no special tokens and reads none in a text.
 */
import { DROPPED, IDEOGRAPH, PUNCTUATION, SPACE } from "./wordpiece-unicode.ts";

/** Token strings and their hash, as views over one file. Token ids are places in `starts`. */
export interface WordPieceVocabulary {
  /** UTF-16 units of all tokens, one after another; pieces inside a word begin with "##". */
  readonly units: Uint16Array;
  /** Token `id` is `units[starts[id]]` up to `units[starts[id + 1]]`; one entry more than there are tokens. */
  readonly starts: Uint32Array;
  /** Open addressing with linear probing; holds id + 1, 0 is free. A power of two long. */
  readonly slots: Uint16Array;
  /** Units of the longest token. */
  readonly longest: number;
  /** What a word becomes that cannot be pieced together. */
  readonly unknownId: number;
}

const MAX_WORD_CODE_POINTS = 100;
const MAX_WORD_UNITS = 2 * MAX_WORD_CODE_POINTS;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const NUMBER_SIGN = 0x23;

const WORD_CLASS = 0;
const SPACE_CLASS = 1;
const PUNCTUATION_CLASS = 2;
const IDEOGRAPH_CLASS = 3;
const DROPPED_CLASS = 4;

const CLASS_RANGES = [
  [SPACE, SPACE_CLASS],
  [PUNCTUATION, PUNCTUATION_CLASS],
  [IDEOGRAPH, IDEOGRAPH_CLASS],
  [DROPPED, DROPPED_CLASS],
] as const;
/** Planes 0 and 1 stand in a table; the few ranges beyond are searched. */
const TABLED_CODE_POINTS = 0x20000;

interface CodePointClasses {
  readonly low: Uint8Array;
  /** First, last, class. */
  readonly high: readonly (readonly [number, number, number])[];
}

let codePointClasses: CodePointClasses | undefined;

/** Token ids of a text in order; words of more than 100 code points and unknown words give `unknownId`. */
export function tokenizeWordPiece(vocabulary: WordPieceVocabulary, text: string): number[] {
  codePointClasses ??= readClasses();
  const classes = codePointClasses;
  const ids: number[] = [];
  const word = new Uint16Array(MAX_WORD_UNITS);
  let units = 0;
  let codePoints = 0;

  const endWord = (): void => {
    if (codePoints > 0) pushPieces(vocabulary, word, units, codePoints, ids);
    units = 0;
    codePoints = 0;
  };
  const append = (codePoint: number): void => {
    codePoints++;
    if (codePoints > MAX_WORD_CODE_POINTS) return;
    if (codePoint > 0xffff) {
      word[units++] = 0xd800 + ((codePoint - 0x10000) >>> 10);
      word[units++] = 0xdc00 + ((codePoint - 0x10000) & 0x3ff);
    } else {
      word[units++] = codePoint;
    }
  };
  /** What stands after decomposition; nothing it can meet is CJK to be isolated, which is asked before. */
  const take = (codePoint: number): void => {
    const kind = classOf(codePoint, classes);
    if (kind === DROPPED_CLASS) return;
    if (kind === SPACE_CLASS) {
      endWord();
    } else if (kind === PUNCTUATION_CLASS) {
      endWord();
      append(codePoint);
      endWord();
    } else {
      append(codePoint);
    }
  };

  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) {
      take(unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit);
      continue;
    }
    const codePoint = text.codePointAt(at) ?? unit;
    if (codePoint > 0xffff) at++;
    const kind = classOf(codePoint, classes);
    if (kind === DROPPED_CLASS) continue;
    if (kind === SPACE_CLASS) {
      endWord();
      continue;
    }
    if (kind === IDEOGRAPH_CLASS) endWord();
    // One code point at a time: lower-casing a whole string would give a final sigma the reference does not.
    for (const part of String.fromCodePoint(codePoint).normalize("NFD").toLowerCase()) take(part.codePointAt(0) ?? 0);
    if (kind === IDEOGRAPH_CLASS) endWord();
  }
  endWord();
  return ids;
}

/**
 * The hash over a vocabulary's tokens, for the file that carries it.
 * @param size a power of two, larger than the number of tokens, which may be 65,534 at most.
 */
export function buildWordPieceSlots(units: Uint16Array, starts: Uint32Array, size: number): Uint16Array {
  const slots = new Uint16Array(size);
  for (let id = 0; id + 1 < starts.length; id++) {
    let hash = FNV_OFFSET;
    for (let at = starts[id] as number; at < (starts[id + 1] as number); at++) hash = mix(hash, units[at] as number);
    let slot = slotOf(hash, size);
    while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
    slots[slot] = id + 1;
  }
  return slots;
}

function pushPieces(
  vocabulary: WordPieceVocabulary,
  word: Uint16Array,
  length: number,
  codePoints: number,
  ids: number[],
): void {
  const before = ids.length;
  let from = codePoints > MAX_WORD_CODE_POINTS ? -1 : 0;
  while (from >= 0 && from < length) {
    const inside = from > 0 ? 2 : 0;
    let hash = inside === 0 ? FNV_OFFSET : mix(mix(FNV_OFFSET, NUMBER_SIGN), NUMBER_SIGN);
    let found = -1;
    let foundEnd = -1;
    const last = Math.min(length, from + vocabulary.longest - inside);
    for (let end = from + 1; end <= last; end++) {
      hash = mix(hash, word[end - 1] as number);
      const id = findPiece(vocabulary, hash, word, from, end, inside);
      if (id >= 0) {
        found = id;
        foundEnd = end;
      }
    }
    if (found >= 0) ids.push(found);
    from = foundEnd;
  }
  if (from < 0) {
    ids.length = before;
    ids.push(vocabulary.unknownId);
  }
}

/** Id of the token with this hash and these units (after "##" when `inside` is 2), −1 when there is none. */
function findPiece(
  vocabulary: WordPieceVocabulary,
  hash: number,
  word: Uint16Array,
  from: number,
  end: number,
  inside: number,
): number {
  const { slots, starts, units } = vocabulary;
  let slot = slotOf(hash, slots.length);
  for (let entry = slots[slot] as number; entry !== 0; entry = slots[slot] as number) {
    const start = starts[entry - 1] as number;
    if ((starts[entry] as number) - start === end - from + inside && isSame(units, start, word, from, end, inside)) {
      return entry - 1;
    }
    slot = (slot + 1) & (slots.length - 1);
  }
  return -1;
}

function isSame(
  units: Uint16Array,
  start: number,
  word: Uint16Array,
  from: number,
  end: number,
  inside: number,
): boolean {
  for (let at = 0; at < inside; at++) if (units[start + at] !== NUMBER_SIGN) return false;
  for (let at = from; at < end; at++) if (units[start + inside + at - from] !== word[at]) return false;
  return true;
}

/** One step of 32-bit FNV-1a over UTF-16 units. */
function mix(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, FNV_PRIME);
}

function slotOf(hash: number, size: number): number {
  return (hash ^ (hash >>> 15)) & (size - 1);
}

function classOf(codePoint: number, classes: CodePointClasses): number {
  if (codePoint < TABLED_CODE_POINTS) return classes.low[codePoint] as number;
  for (const [first, last, kind] of classes.high) if (codePoint >= first && codePoint <= last) return kind;
  return WORD_CLASS;
}

function readClasses(): CodePointClasses {
  const low = new Uint8Array(TABLED_CODE_POINTS);
  const high: [number, number, number][] = [];
  for (const [ranges, kind] of CLASS_RANGES) {
    for (const range of ranges.split(" ")) {
      const [start = "", end = start] = range.split("-");
      const first = Number.parseInt(start, 16);
      const last = Number.parseInt(end, 16);
      // A typed array's fill stops at its end, so a range may reach over the border.
      low.fill(kind, first, last + 1);
      if (last >= TABLED_CODE_POINTS) high.push([first, last, kind]);
    }
  }
  return { low, high };
}
