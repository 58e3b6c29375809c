import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitLine, printable, wrapText } from "../../src/cli/output.ts";
import { describeProgress } from "../../src/cli/progress.ts";

describe("printable", () => {
  it("shows control and direction marks as replacement characters, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printable(text)).toMatch(/^(?:[^\p{Cc}\u202A-\u202E\u2066-\u2069]|[\n\t])*$/u);
      }),
    );
    expect(printable("a\u001B[31mb\u009Bc\u0007d\u202Ee\r\nf\tg")).toBe("a\uFFFD[31mb\uFFFDc\uFFFDd\uFFFDe\nf\tg");
  });
});

describe("fitLine", () => {
  it("leaves what fits, and cuts the rest behind an ellipsis", () => {
    expect(fitLine("seven hills", 11)).toBe("seven hills");
    expect(fitLine("seven hills", 8)).toBe("seven h…");
    expect(fitLine("seven\n  hills", 20)).toBe("seven hills");
  });

  it("counts wide characters as two columns and marks as none", () => {
    expect(fitLine("日本語", 6)).toBe("日本語");
    expect(fitLine("日本語", 5)).toBe("日本…");
    expect(fitLine("cafe\u0301s", 5)).toBe("cafe\u0301s");
  });
});

describe("wrapText", () => {
  it("breaks at blanks, keeps line breaks, and breaks words longer than a line", () => {
    expect(wrapText("one two three four five six seven", 24, "  ")).toBe("  one two three four\n  five six seven");
    expect(wrapText("a\n\nb", 40, "")).toBe("a\n\nb");
    expect(wrapText("x".repeat(45), 20, "")).toBe(["x".repeat(20), "x".repeat(20), "x".repeat(5)].join("\n"));
  });

  it("says that it left lines out", () => {
    expect(wrapText("one\ntwo\nthree", 40, "> ", 2)).toBe("> one\n> two …");
  });

  it("loses no word and exceeds no width", () => {
    const words = fc.array(fc.stringMatching(/^[a-zé]{1,15}$/), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(words, fc.integer({ min: 20, max: 60 }), (list, width) => {
        const lines = wrapText(list.join(" "), width, "").split("\n");
        expect(lines.join(" ").split(/\s+/)).toEqual(list);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe("describeProgress", () => {
  it.each([
    [{ stage: "extract", done: 1_049_000, total: 4_000_000 }, "extract 26 % (1.0 of 4.0 MB)"],
    [{ stage: "extract", done: 4_100_000, total: 4_000_000 }, "extract 100 % (4.1 of 4.0 MB)"],
    [{ stage: "extract", done: 1_500_000, total: null }, "extract 1.5 MB"],
    [{ stage: "extract", done: 0, total: 0 }, "extract 0.0 MB"],
    [{ stage: "link", done: 12, total: 46 }, "link 26 % (12 of 46)"],
    [{ stage: "consolidate", done: 12, total: null }, "consolidate 12"],
  ])("says %j as %s", (progress, expected) => {
    expect(describeProgress(progress)).toBe(expected);
  });
});
