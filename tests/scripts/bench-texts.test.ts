import { describe, expect, it } from "vitest";
import { formatGrowth } from "../../scripts/bench/figures.ts";
import { createRandom, createTextSource, zipfSums } from "../../scripts/bench/texts.ts";

function takeTurns(seed: number, count: number) {
  const source = createTextSource(seed);
  return Array.from({ length: count }, () => source.next());
}

describe("createTextSource", () => {
  it("gives the same conversation for the same seed and another for another", () => {
    expect(takeTurns(3, 200)).toEqual(takeTurns(3, 200));
    expect(takeTurns(4, 1)).not.toEqual(takeTurns(3, 1));
  });

  it("gives twenty turns to a session, one in ten to the journal, and every turn a record of its own", () => {
    const turns = takeTurns(5, 400);
    const journal = turns.filter(({ occurrence }) => occurrence?.source.name === "journal");
    expect(journal).toHaveLength(40);
    expect(journal.every(({ speaker }) => speaker === undefined)).toBe(true);
    const sessions = turns.filter(({ occurrence }) => occurrence?.source.type === "session");
    expect(new Set(sessions.map(({ occurrence }) => occurrence?.source.key)).size).toBe(20);
    expect(new Set(turns.map(({ occurrence }) => occurrence?.recordKey)).size).toBe(400);
  });

  it("spreads kinds, tags and domains unevenly, and lets the days go by", () => {
    const turns = takeTurns(9, 2_000);
    const share = (passes: (turn: (typeof turns)[number]) => boolean) => turns.filter(passes).length / turns.length;
    expect(share(({ kind }) => kind === "insight")).toBeCloseTo(0.02, 2);
    expect(share(({ kind }) => kind === undefined)).toBeGreaterThan(0.7);
    expect(share(({ tags }) => (tags?.length ?? 0) > 0)).toBeGreaterThan(0.1);
    expect(share(({ tags }) => tags?.includes("tag 1") === true)).toBeGreaterThan(
      share(({ tags }) => tags?.includes("tag 100") === true),
    );
    expect(new Set(turns.map(({ domain }) => domain)).size).toBeGreaterThan(5);
    const moments = turns.map(({ referent }) => referent?.from ?? 0);
    expect(moments.every((moment, index) => index === 0 || moment > (moments[index - 1] ?? 0))).toBe(true);
  });

  it("goes on making words that were never used before", () => {
    const seen = new Set<string>();
    const fresh = (texts: readonly { content: string }[]) =>
      texts.flatMap(({ content }) => content.split(" ")).filter((word) => !seen.has(word) && seen.add(word)).length;
    const turns = takeTurns(10, 12_000);
    fresh(turns.slice(0, 9_000));
    expect(fresh(turns.slice(9_000))).toBeGreaterThan(1_000);
  });

  it("asks of common words alone when told to", () => {
    const source = createTextSource(11);
    const common = new Set<string>();
    for (let round = 0; round < 500; round++) {
      const words = source.commonWords().split(" ");
      expect(words.length).toBeGreaterThanOrEqual(1);
      expect(words.length).toBeLessThanOrEqual(4);
      for (const word of words) common.add(word);
    }
    expect(common.size).toBeLessThanOrEqual(60);
  });

  it("spreads lengths as turns do: half short, some long, none out of bounds", () => {
    const lengths = takeTurns(6, 2_000)
      .map(({ content }) => content.split(" ").length)
      .sort((a, b) => a - b);
    expect(lengths[1_000]).toBeGreaterThan(20);
    expect(lengths[1_000]).toBeLessThan(30);
    expect(lengths[1_900]).toBeGreaterThan(60);
    expect(lengths[0]).toBeGreaterThanOrEqual(3);
    expect(lengths.at(-1)).toBeLessThanOrEqual(400);
  });

  it("repeats common words and keeps a long tail of rare ones", () => {
    const counts = new Map<string, number>();
    const words = takeTurns(7, 2_000).flatMap(({ content }) => content.split(" "));
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    expect((counts.get("the") ?? 0) / words.length).toBeGreaterThan(0.015);
    expect(counts.size).toBeGreaterThan(8_000);
  });

  it("makes queries of two to eight words, at least two of them of the text", () => {
    const source = createTextSource(8);
    const text = "quartz violin harbour lantern meadow";
    for (let round = 0; round < 200; round++) {
      const words = source.queryFor(text).split(" ");
      expect(words.length).toBeGreaterThanOrEqual(2);
      expect(words.length).toBeLessThanOrEqual(8);
      expect(words.filter((word) => text.includes(word)).length).toBeGreaterThanOrEqual(2);
    }
  });
});

describe("createRandom", () => {
  it("stays in [0, 1) and fills it evenly, whatever the seed", () => {
    for (const seed of [0, 1, 0x9e3779b9, 2 ** 32 - 1]) {
      const random = createRandom(seed);
      const buckets = new Array<number>(10).fill(0);
      for (let draw = 0; draw < 10_000; draw++) {
        const value = random();
        expect(value >= 0 && value < 1).toBe(true);
        const bucket = Math.floor(value * 10);
        buckets[bucket] = (buckets[bucket] ?? 0) + 1;
      }
      for (const count of buckets) expect(Math.abs(count - 1_000)).toBeLessThan(200);
    }
  });
});

describe("zipfSums", () => {
  it("rises by less and less", () => {
    const sums = zipfSums(1_000);
    const steps = [...sums].map((sum, index) => sum - (sums[index - 1] ?? 0));
    for (const [index, step] of steps.entries()) {
      expect(step).toBeGreaterThan(0);
      if (index > 0) expect(step).toBeLessThan(steps[index - 1] ?? 0);
    }
  });
});

describe("formatGrowth", () => {
  it("tells the factor of one doubling, however far apart the sizes are", () => {
    const linear = [10, 20, 160].map((value) => ({ nodes: value * 1_000, value }));
    expect(linear.map((_, index) => formatGrowth(linear, index))).toEqual(["", "×2.00", "×2.00"]);
    const quadratic = [1, 4].map((nodes) => ({ nodes, value: nodes ** 2 }));
    expect(formatGrowth(quadratic, 1)).toBe("×4.00");
  });

  it("tells the factor of a tenfold when asked", () => {
    const entries = [1, 10, 1_000].map((nodes) => ({ nodes, value: nodes * 2 }));
    expect(entries.map((_, index) => formatGrowth(entries, index, 10))).toEqual(["", "×10.00", "×10.00"]);
  });

  it("is blank where nothing can be divided", () => {
    const entries = [
      { nodes: 1, value: 0 },
      { nodes: 2, value: 3 },
      { nodes: 2, value: 4 },
    ];
    expect(entries.map((_, index) => formatGrowth(entries, index))).toEqual(["", "", ""]);
  });
});
