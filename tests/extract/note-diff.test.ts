import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffNote, pairReplacements } from "../../src/extract/note-diff.ts";

const stored = (...keys: string[]) => keys.map((key, index) => ({ key, ordinal: (index + 1) * 1024 }));
const usedBy = (blocks: readonly { ordinal: number }[]) => new Set(blocks.map(({ ordinal }) => ordinal));

describe("diffNote", () => {
  it("puts a new block between its neighbours and leaves them where they are", () => {
    const before = stored("a", "b");
    const diff = diffNote(before, ["a", "x", "b"], usedBy(before));
    expect(diff.storedIndex).toEqual([0, null, 1]);
    expect(diff.ordinals).toEqual([1024, 1536, 2048]);
    expect(diff.gone).toEqual([]);
  });

  it("moves the one block that changed its place", () => {
    const before = stored("a", "b", "c", "d");
    const diff = diffNote(before, ["d", "a", "b", "c"], usedBy(before));
    expect(diff.ordinals.slice(1)).toEqual([1024, 2048, 3072]);
    expect(diff.ordinals[0]).toBeLessThan(1024);
  });

  it("says that a gone and a new block stand at the same place", () => {
    const before = stored("a", "b", "c");
    const diff = diffNote(before, ["a", "x", "c", "y"], usedBy(before));
    expect(diff.gone).toEqual([1]);
    expect([diff.placeOfGone.get(1), diff.placeOfNew[1], diff.placeOfNew[3]]).toEqual([1, 1, 2]);
  });

  it("gives all new ordinals when a gap is full", () => {
    const before = [
      { key: "a", ordinal: 5 },
      { key: "b", ordinal: 6 },
    ];
    const diff = diffNote(before, ["a", "x", "b"], new Set([5, 6, 7]));
    expect(diff.ordinals).toEqual([1031, 2055, 3079]);
  });

  it("does not use the ordinals of ended occurrences again", () => {
    const before = [
      { key: "a", ordinal: 1 },
      { key: "b", ordinal: 5 },
    ];
    expect(diffNote(before, ["a", "x", "y", "b"], new Set([1, 2, 5])).ordinals).toEqual([1, 3, 4, 5]);
  });

  it("keeps order, never collides, and moves no more than it must, through any series of edits", () => {
    const note = fc.uniqueArray(fc.integer({ min: 0, max: 14 }).map(String), { maxLength: 15 });
    fc.assert(
      fc.property(fc.array(note, { minLength: 1, maxLength: 30 }), (notes) => {
        let current: { key: string; ordinal: number }[] = [];
        const used = new Set<number>();
        for (const next of notes) {
          const diff = diffNote(current, next, used);
          const ascending = diff.ordinals.every((ordinal, at) => at === 0 || ordinal > (diff.ordinals[at - 1] ?? 0));
          expect(ascending).toBe(true);
          const kept = new Map(current.map(({ key, ordinal }) => [key, ordinal]));
          const unmoved = next.filter((key, at) => kept.get(key) === diff.ordinals[at]).length;
          const fresh = diff.ordinals.filter((ordinal, at) => kept.get(next[at] ?? "") !== ordinal);
          expect(fresh.filter((ordinal) => used.has(ordinal))).toEqual([]);
          const best = longestCommonOrder(
            current.map(({ key }) => key),
            next,
          );
          expect(unmoved === best || unmoved === 0).toBe(true);
          expect(diff.gone.map((index) => current[index]?.key)).toEqual(
            current.map(({ key }) => key).filter((key) => !next.includes(key)),
          );
          for (const ordinal of diff.ordinals) used.add(ordinal);
          current = next.map((key, at) => ({ key, ordinal: diff.ordinals[at] ?? 0 }));
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** Length of the longest common subsequence, by the table everyone knows. */
function longestCommonOrder(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const left of a) {
    const next = [0];
    for (const [at, right] of b.entries()) {
      next.push(left === right ? (row[at] ?? 0) + 1 : Math.max(next[at] ?? 0, row[at + 1] ?? 0));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

describe("pairReplacements", () => {
  it("pairs an edited text with its edited form, not with what stands first", () => {
    expect(pairReplacements(["Beans go by the wall."], ["A new thing.", "Beans go by the gate."])).toEqual([1]);
  });

  it("pairs what is not alike in order, and leaves over what has no partner", () => {
    expect(pairReplacements(["one", "two", "three"], ["alpha", "beta"])).toEqual([0, 1, null]);
    expect(pairReplacements(["one"], [])).toEqual([null]);
  });
});
