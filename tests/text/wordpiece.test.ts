import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTable } from "../../src/embed/builtin/table-format.ts";
import { buildWordPieceSlots, tokenizeWordPiece, type WordPieceVocabulary } from "../../src/text/wordpiece.ts";

const { vocabulary } = parseTable(readFileSync(new URL("../../src/embed/builtin/table.bin", import.meta.url)));
const golden = JSON.parse(readFileSync(new URL("./wordpiece-golden.json", import.meta.url), "utf8")) as {
  text: string;
  ids: number[];
}[];

function vocabularyOf(tokens: readonly string[]): WordPieceVocabulary {
  const units = Uint16Array.from(tokens.join(""), (character) => character.charCodeAt(0));
  const starts = new Uint32Array(tokens.length + 1);
  for (const [id, token] of tokens.entries()) starts[id + 1] = (starts[id] ?? 0) + token.length;
  const longest = Math.max(...tokens.map((token) => token.length));
  return { units, starts, slots: buildWordPieceSlots(units, starts, 256), longest, unknownId: 0 };
}

function tokensOf(text: string): string[] {
  return tokenizeWordPiece(vocabulary, text).map((id) =>
    String.fromCharCode(...vocabulary.units.subarray(vocabulary.starts[id], vocabulary.starts[id + 1])),
  );
}

describe("WordPiece", () => {
  it("gives what the reference tokenizer gives on every text of the golden file", () => {
    expect(golden.length).toBeGreaterThanOrEqual(300);
    const wrong = golden.filter(({ text, ids }) => tokenizeWordPiece(vocabulary, text).join() !== ids.join());
    expect(wrong).toEqual([]);
  });

  it("finds every token of the vocabulary that is one word, under its own id", () => {
    let asked = 0;
    const wrong: string[] = [];
    for (let id = 0; id + 1 < vocabulary.starts.length; id++) {
      const token = String.fromCharCode(...vocabulary.units.subarray(vocabulary.starts[id], vocabulary.starts[id + 1]));
      if (!/^[a-z]+$|^[0-9]+$/.test(token)) continue;
      asked++;
      if (tokenizeWordPiece(vocabulary, token).join() !== String(id)) wrong.push(token);
    }
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(20_000);
  });

  it("takes the longest piece first and marks pieces inside a word", () => {
    expect(tokensOf("unaffable")).toEqual(["una", "##ffa", "##ble"]);
  });

  it("makes one unknown of a word with a part that is in no piece, whatever was found before it", () => {
    expect(tokensOf("hello world𓂀 again")).toEqual(["hello", "[UNK]", "again"]);
  });

  it("pieces a word of 100 characters together and gives up at 101, counting code points", () => {
    expect(tokensOf("a".repeat(100))).not.toContain("[UNK]");
    expect(tokensOf("a".repeat(101))).toEqual(["[UNK]"]);
    expect(tokensOf("a\u0301".repeat(100))).not.toContain("[UNK]");
  });

  it("reads the names of special tokens as plain text", () => {
    expect(tokensOf("[CLS]")).toEqual(["[", "cl", "##s", "]"]);
  });

  it("drops what cannot be seen, without splitting the word", () => {
    expect(tokensOf("dor\u200bmou\u00adse\u0000 \ufeff")).toEqual(tokensOf("dormouse"));
  });

  it("treats a lone surrogate as if it were not there", () => {
    expect(tokensOf("a\ud83d b\ude00c")).toEqual(tokensOf("a bc"));
  });

  it("treats two texts apart as it treats them joined by a space", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (left, right) => {
        const joined = tokenizeWordPiece(vocabulary, `${left} ${right}`);
        expect(joined).toEqual([...tokenizeWordPiece(vocabulary, left), ...tokenizeWordPiece(vocabulary, right)]);
      }),
    );
  });

  it("agrees with a plain greedy search over a set of strings", () => {
    const tokens = ["[UNK]", "a", "b", "ab", "aba", "##a", "##b", "##ba", "##bab", "##c", "ca"];
    const small = vocabularyOf(tokens);
    const greedy = (word: string): number[] => {
      const ids: number[] = [];
      let from = 0;
      while (from < word.length) {
        let end = word.length;
        const piece = (): string => (from > 0 ? "##" : "") + word.slice(from, end);
        while (end > from && !tokens.includes(piece())) end--;
        if (end === from) return [0];
        ids.push(tokens.indexOf(piece()));
        from = end;
      }
      return ids;
    };
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), (words) => {
        expect(tokenizeWordPiece(small, words.join(" "))).toEqual(words.flatMap(greedy));
      }),
    );
  });
});
