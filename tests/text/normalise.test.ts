import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isBlank, normaliseText } from "../../src/text/normalise.ts";

describe("normaliseText", () => {
  it("makes one space of every run of Unicode white space and trims both ends", () => {
    expect(normaliseText("\u00a0\t one\r\n\r\n two\u2003\u3000three\u2028\u0085 ")).toBe("one two three");
  });

  it("drops U+FEFF at the ends, between and around white space, and keeps it inside", () => {
    expect(normaliseText("\ufeff \ufeffa\ufeffb \ufeff\n")).toBe("a\ufeffb");
  });

  it("composes, so that both spellings of an accent are one value", () => {
    expect(normaliseText("Cafe\u0301")).toBe("Café");
  });

  it("keeps case, punctuation and compatibility forms apart", () => {
    const texts = ["yes", "Yes", "yes.", "ｙｅｓ", "ye s"];
    expect(new Set(texts.map(normaliseText)).size).toBe(texts.length);
  });

  it("reads a lone surrogate as the replacement character a UTF-8 store makes of it, and keeps pairs", () => {
    expect(normaliseText("a\ud800b\udc00 😀")).toBe("a\ufffdb\ufffd 😀");
  });

  it("is idempotent and the same for canonically equivalent texts", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
        const once = normaliseText(text);
        expect(normaliseText(once)).toBe(once);
        expect(normaliseText(text.normalize("NFD"))).toBe(once);
      }),
    );
  });

  it("equals splitting at white space and joining by spaces", () => {
    const character = fc.constantFrom("a", "É", " ", "\n", "\t", "\u00a0", "\u2009", "\u3000", "漢", "-");
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 30 }), (text) => {
        const words = text.split(/\p{White_Space}/u).filter((word) => word !== "");
        expect(normaliseText(text)).toBe(words.join(" "));
      }),
    );
  });

  it("copes with half a million combining marks in the worst order and loses none of them", { timeout: 60_000 }, () => {
    const text = `a${"\u0300".repeat(250_000)}${"\u0316".repeat(250_000)}`;
    const marks = normaliseText(text)
      .normalize("NFD")
      .match(/[\u0300\u0316]/g);
    expect(marks).toHaveLength(500_000);
  });
});

describe("isBlank", () => {
  it("is true for nothing, white space, and characters nobody can see", () => {
    for (const text of ["", " \n\t", "\u00a0\u3000", "\ufeff", "\u200b\u200d\u2060", "\0\x1b"]) {
      expect(isBlank(text)).toBe(true);
    }
  });

  it("is false as soon as anything can be seen", () => {
    for (const text of [" . ", "a", "\u200b😀", "\n0"]) expect(isBlank(text)).toBe(false);
  });
});
