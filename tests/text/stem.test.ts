import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LANGUAGES, type Language } from "../../src/text/detect-language.ts";
import { foldWord } from "../../src/text/fold.ts";
import { stemByLanguage, stemByScript } from "../../src/text/stem.ts";

function shareStem(one: string, other: string, language: Language): boolean {
  const stems = new Set(stemByLanguage(one, language));
  return (stemByLanguage(other, language) ?? []).some((stem) => stems.has(stem));
}

describe("stemByLanguage", () => {
  it.each<[Language, string, string, string]>([
    ["de", "häuser", "haus", "haustür"],
    ["nl", "fietsen", "fiets", "fietsbel"],
    ["sv", "stolarna", "stol", "stolpe"],
    ["da", "vinduerne", "vindue", "vin"],
    ["no", "hyttene", "hytte", "hyttetak"],
    ["fi", "talossa", "talon", "talous"],
    ["hu", "könyveket", "könyvek", "könyök"],
    ["fr", "travaillaient", "travailler", "travers"],
    ["es", "luces", "luz", "lucha"],
    ["pt", "reuniões", "reunião", "regime"],
    ["it", "laghi", "lago", "lagna"],
    ["ro", "decizii", "decizie", "decembrie"],
    ["tr", "kitapları", "kitap", "kit"],
    ["pl", "samochodzie", "samochodu", "samotny"],
    ["uk", "яблуками", "яблуко", "яблуня"],
    ["bg", "хотелите", "хотел", "хотене"],
  ])("%s: %s and %s are one word, %s another", (language, form, base, other) => {
    expect(shareStem(form, base, language)).toBe(true);
    expect(shareStem(form, other, language)).toBe(false);
  });

  it("finds a word by what it is without its accents", () => {
    for (const [language, word] of [
      ["de", "häuser"],
      ["fr", "décidée"],
      ["es", "decisión"],
      ["pt", "reuniões"],
      ["pl", "książkę"],
      ["tr", "çiçeği"],
      ["it", "città"],
      ["hu", "könyvet"],
    ] as const) {
      expect(stemByLanguage(word, language)).toContain(stemByLanguage(foldWord(word), language)?.[0]);
    }
  });

  it("says nothing about digits, other scripts, and words no language has", () => {
    for (const word of ["a1", "книга", "漢字", "x".repeat(33), "", "👍"]) expect(stemByLanguage(word, "de")).toBeNull();
    expect(stemByLanguage("haus", "uk")).toBeNull();
  });

  it("keeps the languages apart", () => {
    const stems = LANGUAGES.flatMap((language) => stemByLanguage("pasta", language) ?? []);
    expect(stems.length).toBeGreaterThan(10);
    expect(new Set(stems).size).toBe(stems.length);
  });

  it("takes any word of its letters, and gives a stem that an index can hold", () => {
    const letters = "abcdefghijklmnoprstuvwxyzäöüßéèêçñáíóúãõåæøőűăîșțłąęśżğış";
    const cyrillic = "абвгдежзийклмнопрстуфхцчшщъьюяіїєґ";
    for (const language of LANGUAGES) {
      const unit = fc.constantFrom(...(language === "uk" || language === "bg" ? cyrillic : letters));
      fc.assert(
        fc.property(fc.string({ unit, minLength: 1, maxLength: 32 }), (word) => {
          const stems = stemByLanguage(word, language);
          expect(stems).not.toBeNull();
          for (const stem of stems ?? []) expect(stem).toMatch(/^[^\s:"]+:[a-z]{2}$/u);
        }),
        { numRuns: 300 },
      );
    }
  });

  it("does not trip over the words that the package's Bulgarian algorithm throws on", () => {
    expect(stemByLanguage("хотели", "bg")).toEqual(["хотел:bg"]);
  });
});

describe("stemByScript", () => {
  it.each([
    ["Russian", "книгами", "книга"],
    ["Greek", "πλοία", "πλοίο"],
    ["Arabic", "القطار", "قطار"],
    ["Hindi", "किताबों", "किताब"],
    ["Hebrew", "לרכבת", "רכבת"],
    ["English", "libraries", "library"],
  ])("makes one word of two forms in %s", (_, form, base) => {
    const stems = new Set(stemByScript(foldWord(form)));
    expect(stemByScript(foldWord(base)).some((stem) => stems.has(stem))).toBe(true);
  });

  it("leaves alone what is no word of plain letters, and takes only one prefix off", () => {
    expect(stemByScript("covid19")).toEqual(["covid19"]);
    expect(stemByScript("ve̊")).toEqual(["ve̊"]);
    expect(stemByScript("והרכבת")).toEqual(["והרכבת", "הרכבת"]);
    expect(stemByScript("שלום")).toEqual(["שלום", "לום"]);
    expect(stemByScript("בית")).toEqual(["בית"]);
  });

  it("takes any word of its letters", () => {
    for (const letters of [
      "αβγδεζηθικλμνξοπρστυφχψω",
      "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءئؤ",
      "कखगघचजटडतदनपबमयरलवसहािीुूेैोौ्ं",
    ]) {
      fc.assert(
        fc.property(fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 32 }), (word) => {
          for (const stem of stemByScript(word)) expect(stem).toMatch(/^\S+$/);
        }),
        { numRuns: 500 },
      );
    }
  });
});
