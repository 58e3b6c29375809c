/**
 * What an edit of a note comes to: which blocks stayed, moved, came and went, and what took whose place.
 * Pure. Moves as little as possible: only blocks outside the longest run that kept its order get new ordinals.
 */

/** A block as it stands in the store. */
export interface StoredBlock {
  readonly key: string;
  readonly ordinal: number;
}

export interface NoteDiff {
  /** Per new block, its index among the stored ones, or null for one that came. */
  readonly storedIndex: readonly (number | null)[];
  /** Indexes of stored blocks that are gone, in order. */
  readonly gone: readonly number[];
  /** Per new block, the ordinal it stands at from now on; ascending. */
  readonly ordinals: readonly number[];
  /**
   * Per new block the number of unmoved blocks before it, and per gone block likewise: blocks of equal number
   * stand at the same place.
   */
  readonly placeOfNew: readonly number[];
  readonly placeOfGone: ReadonlyMap<number, number>;
}

/** Distance between ordinals when there is room. */
const ORDINAL_GAP = 1024;
/** Words in common, of all words of both, from which a block counts as an edited form of another. */
const EDITED_SIMILARITY = 0.2;
/** Blocks at one place that are compared word by word; of more, the order decides. */
const MAX_COMPARED = 60;

/**
 * Compares a note's stored blocks, in order, with the keys of its blocks now. Keys are unique on each side.
 * `used` are all ordinals of the source that cannot be given again, those of the stored blocks included.
 */
export function diffNote(stored: readonly StoredBlock[], next: readonly string[], used: ReadonlySet<number>): NoteDiff {
  const indexByKey = new Map(stored.map(({ key }, index) => [key, index]));
  const storedIndex = next.map((key) => indexByKey.get(key) ?? null);
  const kept = new Set(storedIndex.filter((index) => index !== null));
  const gone = stored.flatMap((_, index) => (kept.has(index) ? [] : [index]));
  const unmoved = longestIncreasing(storedIndex);
  const fixed = next.map((_, at) => {
    const index = storedIndex[at];
    return unmoved.has(at) && index != null ? (stored[index]?.ordinal ?? null) : null;
  });
  const unmovedStored = [...unmoved].flatMap((at) => storedIndex[at] ?? []).sort((a, b) => a - b);
  const placeOfNew: number[] = [];
  let before = 0;
  for (const ordinal of fixed) {
    if (ordinal !== null) before += 1;
    placeOfNew.push(before);
  }
  const placeOfGone = new Map<number, number>();
  let passed = 0;
  for (const index of gone) {
    while ((unmovedStored[passed] ?? Number.POSITIVE_INFINITY) < index) passed += 1;
    placeOfGone.set(index, passed);
  }
  return { storedIndex, gone, ordinals: assignOrdinals(fixed, used), placeOfNew, placeOfGone };
}

/** Positions of a longest run of ascending numbers; nulls are passed over. */
function longestIncreasing(values: readonly (number | null)[]): Set<number> {
  const tails: number[] = [];
  const previous = new Map<number, number>();
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = values[tails[middle] ?? 0] ?? 0;
      if (there < value) low = middle + 1;
      else high = middle;
    }
    const before = tails[low - 1];
    if (before !== undefined) previous.set(at, before);
    tails[low] = at;
  }
  const run = new Set<number>();
  for (let at = tails.at(-1); at !== undefined; at = previous.get(at)) run.add(at);
  return run;
}

/** Fills the nulls with free ordinals in between; when a gap is too small, all get new ones behind the last. */
function assignOrdinals(fixed: readonly (number | null)[], used: ReadonlySet<number>): number[] {
  let last = 0;
  for (const ordinal of used) if (ordinal > last) last = ordinal;
  const ordinals: number[] = [];
  for (let at = 0; at < fixed.length; ) {
    const own = fixed[at];
    if (own != null) {
      ordinals.push(own);
      at += 1;
      continue;
    }
    let end = at;
    while (end < fixed.length && fixed[end] === null) end += 1;
    const count = end - at;
    const high = fixed[end] ?? null;
    const low = ordinals.at(-1) ?? null;
    const filled =
      high === null ? countUp(last, count) : fillGap(low ?? high - ORDINAL_GAP * (count + 1), high, count, used);
    if (filled === null) return countUp(last, fixed.length);
    ordinals.push(...filled);
    at = end;
  }
  return ordinals;
}

function countUp(last: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => last + ORDINAL_GAP * (index + 1));
}

/** `count` free ordinals between the two, spread evenly, else packed; null when there are too few. */
function fillGap(low: number, high: number, count: number, used: ReadonlySet<number>): number[] | null {
  return place(low, high, count, used, Math.floor((high - low) / (count + 1))) ?? place(low, high, count, used, 1);
}

function place(low: number, high: number, count: number, used: ReadonlySet<number>, step: number): number[] | null {
  if (step < 1) return null;
  const found: number[] = [];
  let at = low;
  for (let index = 1; index <= count; index++) {
    at = Math.max(at + 1, low + step * index);
    while (used.has(at)) at += 1;
    if (at >= high) return null;
    found.push(at);
  }
  return found;
}

/**
 * Pairs each gone text with the text that replaces it, if any: the most alike first, then in order. Both
 * lists are of one place and one heading.
 * @returns index of the new text per gone one, or null
 */
export function pairReplacements(gone: readonly string[], came: readonly string[]): (number | null)[] {
  const pairs: (number | null)[] = gone.map(() => null);
  const free = new Set(came.keys());
  if (gone.length <= MAX_COMPARED && came.length <= MAX_COMPARED) {
    const goneWords = gone.map(wordsOf);
    const cameWords = came.map(wordsOf);
    const alike = goneWords
      .flatMap((words, from) => cameWords.map((others, to) => ({ from, to, share: similarity(words, others) })))
      .filter(({ share }) => share >= EDITED_SIMILARITY)
      .sort((a, b) => b.share - a.share || a.from - b.from || a.to - b.to);
    for (const { from, to } of alike) {
      if (pairs[from] !== null || !free.has(to)) continue;
      pairs[from] = to;
      free.delete(to);
    }
  }
  for (const [from, to] of pairs.entries()) {
    if (to !== null) continue;
    const [first] = free;
    if (first === undefined) break;
    pairs[from] = first;
    free.delete(first);
  }
  return pairs;
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const word of a) if (b.has(word)) common += 1;
  const all = a.size + b.size - common;
  return all === 0 ? 0 : common / all;
}
