import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DormouseError } from "../../src/core/errors.ts";
import { chunkText } from "../../src/text/chunk.ts";

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

function withoutWhiteSpace(text: string): string {
  return text.replace(/\s+/g, "");
}

/** Where each chunk stands in the text, found from left to right. */
function locate(text: string, chunks: readonly string[]): { from: number; to: number }[] {
  let at = 0;
  return chunks.map((chunk) => {
    const from = text.indexOf(chunk, at);
    expect(from).toBeGreaterThanOrEqual(at);
    at = from + chunk.length;
    return { from, to: at };
  });
}

function sentences(count: number, from = 0): string {
  return Array.from({ length: count }, (_, index) => `Sentence number ${from + index} says little.`).join(" ");
}

describe("chunkText", () => {
  it("returns a text that fits as it is, and nothing for a blank one", () => {
    expect(chunkText("  one\n\n two \n")).toEqual(["  one\n\n two \n"]);
    expect(chunkText("x".repeat(1200))).toEqual(["x".repeat(1200)]);
    expect(chunkText("")).toEqual([]);
    expect(chunkText(" \n".repeat(2000))).toEqual([]);
  });

  it("refuses a size no piece can have", () => {
    for (const size of [1, 0, -5, 2.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => chunkText("abc", size)).toThrow(DormouseError);
    }
    expect(chunkText("abc", 2)).toEqual(["ab", "c"]);
  });

  it("cuts between paragraphs when each fits, however short the piece before gets", () => {
    expect(chunkText("Short.\n\nThis paragraph fits whole.\n \nAnother that fits.", 30)).toEqual([
      "Short.",
      "This paragraph fits whole.",
      "Another that fits.",
    ]);
  });

  it("keeps paragraphs together as long as they fit one piece", () => {
    expect(chunkText("One.\n\nTwo.\n\nThree.\n\nFour is a bit longer.", 22)).toEqual([
      "One.\n\nTwo.\n\nThree.",
      "Four is a bit longer.",
    ]);
  });

  it("fills a piece with sentences where the paragraph that follows a short one does not fit at all", () => {
    const chunks = chunkText(`Intro.\n\n${sentences(20)}`, 200);
    expect(chunks[0]?.startsWith("Intro.\n\nSentence number 0")).toBe(true);
    for (const chunk of chunks) expect(chunk.endsWith(".")).toBe(true);
  });

  it("cuts a long paragraph between sentences, not behind abbreviations or before lower case", () => {
    const text = "We saw Dr. Smith at 5 p.m. today and e.g. Mr. Jones too. Then we went home again.";
    expect(chunkText(text, 62)).toEqual([
      "We saw Dr. Smith at 5 p.m. today and e.g. Mr. Jones too.",
      "Then we went home again.",
    ]);
    expect(chunkText("First things come first. Then Dr. Smith came along.", 36)).toEqual([
      "First things come first.",
      "Then Dr. Smith came along.",
    ]);
  });

  it("cuts between list items rather than inside one", () => {
    const items = Array.from({ length: 12 }, (_, index) => `- Item ${index}. It has two sentences.`);
    const chunks = chunkText(items.join("\n"), 100);
    expect(chunks.length).toBeGreaterThan(3);
    for (const chunk of chunks) expect(chunk).toMatch(/^- Item[\s\S]*two sentences\.$/);
  });

  it("cuts Chinese and Japanese behind their own full stops", () => {
    expect(chunkText("今日は天気がいい。明日は雨が降る。「そう。」と言った", 20)).toEqual([
      "今日は天気がいい。明日は雨が降る。",
      "「そう。」と言った",
    ]);
  });

  it("cuts between words where there is no sentence, and inside a word only where there is no gap", () => {
    expect(chunkText("alpha beta gamma delta", 12)).toEqual(["alpha beta", "gamma delta"]);
    expect(chunkText("abcdefghij klm", 4)).toEqual(["abcd", "efgh", "ij", "klm"]);
  });

  it("keeps the indentation of a line a piece starts with", () => {
    expect(chunkText("para one here\n\n    indented code", 20)).toEqual(["para one here", "    indented code"]);
  });

  it("never cuts a fence that fits, even at the blank lines in it", () => {
    const fence = "```ts\nconst a = 1;\n\n\nconst b = 2.5;\n```";
    const chunks = chunkText(`${sentences(1)}\n${fence}\n${sentences(2)}`, 60);
    expect(chunks).toContain(fence);
  });

  it("cuts a fence that does not fit between its lines only", () => {
    const lines = Array.from({ length: 40 }, (_, index) => `  call(${index}); // a. B c`);
    const chunks = chunkText(["Run this:", "~~~js", ...lines, "~~~", "Done."].join("\n"), 150);
    const whole = new Set(["Run this:", "~~~js", ...lines, "~~~", "Done."]);
    for (const chunk of chunks) for (const line of chunk.split("\n")) expect(whole).toContain(line);
    expect(chunks.length).toBeLessThan(12);
  });

  it("takes a fence that is never closed to the end, and a shorter or other fence for content", () => {
    const fence = "````\n```\ntext one.\n\n~~~\ntext two.\n\n```";
    expect(chunkText(`${"word ".repeat(10)}\n\n${fence}`, 52)).toEqual([`${"word ".repeat(10)}`.trim(), fence]);
  });

  it("loses no visible character, keeps the order and the limit, and tears no character, for any text", () => {
    const piece = fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
      fc.constantFrom(
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "\r\n\r\n",
        "\t",
        ". ",
        "! ",
        "。",
        "- a\n",
        "```\n",
        "\n```\n",
        "~~~\n",
      ),
      fc.constantFrom("👨‍👩‍👧", "🇩🇪🇫🇷", "e\u0301\u0316", " \u0308", "한국어", "น้ำ", "\ud800", "word", "Dr."),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 2, max: 40 }), (pieces, maxChars) => {
        const text = pieces.join("");
        const chunks = chunkText(text, maxChars);
        expect(withoutWhiteSpace(chunks.join(""))).toBe(withoutWhiteSpace(text));
        for (const chunk of chunks) {
          expect(chunk.length).toBeLessThanOrEqual(maxChars);
          expect(chunk.trim()).not.toBe("");
        }
        const ranges = locate(text, chunks);
        for (const { segment, index } of graphemes.segment(text)) {
          const visible = segment.trim();
          if (visible === "" || segment.length > maxChars) continue;
          const from = index + segment.indexOf(visible);
          const isWhole = ranges.some((range) => range.from <= from && from + visible.length <= range.to);
          expect(isWhole).toBe(true);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("keeps every fence that fits whole, among any paragraphs", () => {
    const block = fc.oneof(
      fc
        .array(fc.constantFrom("One.", "two", "Three!", "- four", "\n"), { maxLength: 12 })
        .map((words) => words.join(" ")),
      fc
        .array(fc.constantFrom("code();", "", "  x = 1.", "~~~"), { maxLength: 4 })
        .map((lines) => ["```", ...lines, "```"].join("\n")),
    );
    const countMarkers = (text: string) => text.split("\n").filter((line) => line === "```").length;
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), fc.constantFrom("\n", "\n\n"), (blocks, gap) => {
        const chunks = chunkText(blocks.join(gap), 50);
        const fences = blocks.filter((text) => text.startsWith("```"));
        expect(countMarkers(chunks.join("\n"))).toBe(2 * fences.length);
        for (const chunk of chunks) expect(countMarkers(chunk) % 2).toBe(0);
        for (const fence of fences) expect(chunks.some((chunk) => chunk.includes(fence))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("gets through megabytes of anything", { timeout: 120_000 }, () => {
    for (const unit of ["a", " ", "\n", ". ", "\u0300", "🇩", "```\na\n```\n", "One. Two three.\n\n", "漢", "\n- a b"]) {
      const text = unit.repeat(2_000_000 / unit.length);
      const chunks = chunkText(text);
      const kept = chunks.reduce((sum, chunk) => sum + withoutWhiteSpace(chunk).length, 0);
      expect(kept).toBe(withoutWhiteSpace(text).length);
    }
  });
});
