import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { saysTheSame, tellingWords } from "../../src/sleep/same-text.ts";

const same = (a: string, b: string) => saysTheSame(tellingWords(a), tellingWords(b));

describe("texts that say the same", () => {
  test.each([
    ["The deploy script needs Node 20.", "the deploy script needs node 20"],
    ["The deploy script needs Node 20.", "Deploy script needs Node 20!"],
    ["Thanks Nate! I'll keep you updated.", "Thanks, Nate! I’ll keep you updated."],
    ["A well-known bakery in Lyon", "well known bakery in Lyon"],
    ["We met — at last — in Oslo", "We met at last in Oslo"],
    ["CALL THE PLUMBER", "Call the plumber"],
    ["Она живёт в Москве.", "она живёт в москве"],
    ["我喜欢喝茶。", "我喜欢喝茶。 "],
  ])("%j and %j", (a, b) => {
    expect(same(a, b)).toBe(true);
  });
});

describe("texts that differ in what they tell", () => {
  test.each([
    ["a number", "I ran 5 km", "I ran 8 km"],
    ["a decimal point", "It costs 5.5 euros", "It costs 55 euros"],
    ["a bare fraction", "Take .5 of a pill", "Take 5 of a pill"],
    ["a sign", "It was -5 degrees", "It was 5 degrees"],
    ["a currency", "It costs $5", "It costs €5"],
    ["a unit", "Grew by 5%", "Grew by 5"],
    ["a date", "Meeting on 2024-05-03 with Anna", "Meeting on 2024-05-04 with Anna"],
    ["a month", "Meeting on May 3", "Meeting on June 3"],
    ["a time", "The train leaves at 9:15", "The train leaves at 9:51"],
    ["a name", "I met Anna at the harbour", "I met Anne at the harbour"],
    ["who did what", "Anna paid Bob back", "Bob paid Anna back"],
    ["a negation", "I do like the plan", "I do not like the plan"],
    ["a contracted negation", "I can go there", "I can't go there"],
    ["a tense", "She works at the mill", "She worked at the mill"],
    ["a question", "You sold the house", "You sold the house?"],
    ["a mood", "The talk went well :)", "The talk went well :("],
    ["an acronym", "He moved to the US", "He moved to us"],
    ["a letter that is a name", "Vitamin A is scarce", "Vitamin is scarce"],
    ["a language", "He writes C++", "He writes C"],
    ["a word added", "I ran by the river", "I ran by the river today"],
    ["an emoji", "The exam is over 🎉", "The exam is over 😭"],
    ["a quantifier", "All of them came", "Some of them came"],
    ["a sign of code", "x = a*b + 1", "x = ab + 1"],
    ["a quote in code", "const name = 'id'", "const name = id"],
    ["an accent", "pêche au lac", "péché au lac"],
  ])("%s: %j and %j", (_, a, b) => {
    expect(same(a, a)).toBe(true);
    expect(same(a, b)).toBe(false);
  });
});

test("saying the same is symmetric, and transitive over three spellings", () => {
  const spelling = fc.constantFrom("the Cat sat", "The cat sat.", "cat sat", "a cat, sat", "cats sat", "cat sat?");
  fc.assert(
    fc.property(spelling, spelling, spelling, (a, b, c) => {
      expect(same(a, b)).toBe(same(b, a));
      if (same(a, b) && same(b, c)) expect(same(a, c)).toBe(true);
    }),
  );
});

test("any text says the same as itself", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => same(text, text)));
});

test("a long text without a gap is read in linear time", () => {
  expect(tellingWords("a".repeat(200_000))).toHaveLength(1);
  expect(tellingWords("a.".repeat(100_000))).toHaveLength(1);
});
