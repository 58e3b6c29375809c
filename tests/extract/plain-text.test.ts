import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FENCE_OPEN_MARK, MATERIAL_OPEN_MARK } from "../../src/core/fence.ts";
import { createParagraphReader, readPlainText } from "../../src/extract/plain-text.ts";

const context = { path: "notes/garden.txt", fileKey: "/home/ines/notes/garden.txt" };
const textsOf = (text: string): string[] => readPlainText(text, context).map((turn) => turn.text);

describe("readPlainText", () => {
  it("gives each paragraph as an imported turn of the file", () => {
    expect(readPlainText("Beans by the wall.\nPeas by the gate.\n\n\nWater at dusk.\n", context)).toEqual([
      {
        type: "turn",
        line: 1,
        text: "Beans by the wall.\nPeas by the gate.",
        speaker: null,
        said: null,
        source: {
          type: "file",
          key: "/home/ines/notes/garden.txt",
          name: "garden.txt",
          reference: "notes/garden.txt",
          trust: "trusted",
        },
        cites: [],
        recordKey: "text:/home/ines/notes/garden.txt:1",
        domain: null,
        basis: "imported",
      },
      expect.objectContaining({ line: 5, text: "Water at dusk.", recordKey: "text:/home/ines/notes/garden.txt:1" }),
    ]);
  });

  it("takes CRLF, a byte order mark, blank lines of spaces and an empty text", () => {
    expect(textsOf("\uFEFFa\r\nb\r\n  \t\r\nc")).toEqual(["a\nb", "c"]);
    expect(textsOf("")).toEqual([]);
    expect(textsOf(" \n\r\n\t")).toEqual([]);
  });

  it("tells equal paragraphs apart by their number, and only those", () => {
    const keys = readPlainText("yes\n\nno\n\nyes\n\nyes", context).map((turn) => turn.recordKey.split(":").at(-1));
    expect(keys).toEqual(["1", "1", "2", "3"]);
  });

  it("leaves every other paragraph's identity alone when one is added", () => {
    const paragraphs = fc.array(fc.constantFrom("a", "b", "c\nd"), { maxLength: 8 });
    const identities = (list: readonly string[]): string[] =>
      readPlainText(list.join("\n\n"), context)
        .map((turn) => `${turn.recordKey} ${turn.text}`)
        .sort();
    fc.assert(
      fc.property(paragraphs, paragraphs, (before, after) => {
        const grown = identities([...before, "new", ...after]);
        expect(grown.filter((identity) => !identity.endsWith(" new"))).toEqual(identities([...before, ...after]));
      }),
    );
  });

  it("skips our own output up to its end, and a paragraph that quotes its mark", () => {
    const own = `<${FENCE_OPEN_MARK} n="2">\none\n\ntwo\n</${FENCE_OPEN_MARK}>`;
    expect(textsOf(`before\n${own}\nafter`)).toEqual(["before", "after"]);
    expect(textsOf(`<${MATERIAL_OPEN_MARK}>x</${MATERIAL_OPEN_MARK}>\nafter`)).toEqual(["after"]);
    expect(textsOf(`see <${FENCE_OPEN_MARK}> there\n\nafter`)).toEqual(["after"]);
  });

  it("passes a huge paragraph on in parts that lose nothing", () => {
    const line = "0123456789".repeat(10_000);
    const turns = readPlainText(Array.from({ length: 25 }, () => line).join("\n"), context);
    expect(turns.map((turn) => turn.line)).toEqual([1, 10, 19]);
    expect(turns.flatMap((turn) => turn.text.split("\n"))).toEqual(Array.from({ length: 25 }, () => line));
  });
});

describe("createParagraphReader", () => {
  it("gives a paragraph when the blank line after it is read, the last one at the end", () => {
    const reader = createParagraphReader(context);
    expect(reader.read("a", 1)).toEqual([]);
    expect(reader.read("b", 2)).toEqual([]);
    expect(reader.read("", 3).map((turn) => turn.text)).toEqual(["a\nb"]);
    expect(reader.read("c", 4)).toEqual([]);
    expect(reader.finish().map((turn) => [turn.text, turn.line])).toEqual([["c", 4]]);
    expect(reader.finish()).toEqual([]);
  });
});
