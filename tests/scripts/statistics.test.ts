import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { median, percentile } from "../../scripts/statistics.ts";
import { formatTable } from "../../scripts/text-table.ts";

const samples = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 60 });

describe("percentile", () => {
  it("is the smallest value that the share of the sample does not exceed", () => {
    fc.assert(
      fc.property(samples, fc.integer({ min: 1, max: 100 }), (sample, percent) => {
        const value = percentile(sample, percent / 100);
        const atMost = (limit: number) => sample.filter((other) => other <= limit).length;
        expect(sample).toContain(value);
        expect(atMost(value)).toBeGreaterThanOrEqual(Math.ceil((percent / 100) * sample.length));
        for (const other of sample.filter((candidate) => candidate < value)) {
          expect(atMost(other)).toBeLessThan(Math.ceil((percent / 100) * sample.length));
        }
      }),
    );
  });

  it("refuses an empty sample and a share outside the range", () => {
    expect(() => percentile([], 0.5)).toThrow(RangeError);
    expect(() => percentile([1], 0)).toThrow(RangeError);
    expect(() => percentile([1], 1.1)).toThrow(RangeError);
  });
});

describe("median", () => {
  it("is the middle, or the mean of the two middle values", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([1, 9, 4, 6])).toBe(5);
  });

  it("refuses an empty sample", () => {
    expect(() => median([])).toThrow(RangeError);
  });
});

describe("formatTable", () => {
  it("aligns the first column left and the others right, and fills missing cells", () => {
    expect(formatTable(["name", "n"], [["a", "1000"], ["longer"]])).toBe(
      ["name       n", "------  ----", "a       1000", "longer"].join("\n"),
    );
  });
});
