import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Block, parseNote, whenFromName } from "../../src/extract/markdown.ts";

const HOUR = 3_600_000;

function blocksOf(...lines: string[]): Block[] {
  return parseNote(lines.join("\n")).blocks;
}

function textsOf(...lines: string[]): string[] {
  return blocksOf(...lines).map((block) => block.text);
}

describe("blocks of a note", () => {
  it("makes a block of each paragraph, list, fence, table and quote, verbatim, under its headings", () => {
    const note = [
      "# Garden",
      "",
      "Water at *dawn*.",
      "Never at noon.",
      "",
      "## Beds",
      "- kale",
      "  - curly",
      "- leek",
      "",
      "```sh",
      "# no heading",
      "```",
      "",
      "| bed | crop |",
      "| --- | ---- |",
      "| a | kale |",
      "",
      "### Lore",
      "> Sow late.",
      "",
      "## Tools",
      "1. spade",
    ];
    expect(blocksOf(...note).map(({ text, line, headings, part }) => ({ text, line, headings, part }))).toEqual([
      { text: "Water at *dawn*.\nNever at noon.", line: 3, headings: ["Garden"], part: 0 },
      { text: "- kale\n  - curly\n- leek", line: 7, headings: ["Garden", "Beds"], part: 0 },
      { text: "```sh\n# no heading\n```", line: 11, headings: ["Garden", "Beds"], part: 0 },
      { text: "| bed | crop |\n| --- | ---- |\n| a | kale |", line: 15, headings: ["Garden", "Beds"], part: 0 },
      { text: "> Sow late.", line: 20, headings: ["Garden", "Beds", "Lore"], part: 0 },
      { text: "1. spade", line: 23, headings: ["Garden", "Tools"], part: 0 },
    ]);
  });

  it("yields nothing for headings without text, rules, empty fences and bare HTML tags", () => {
    expect(textsOf("# A", "## B", "", "***", "```", "```", "", "<div>", "</div>", "", "- ", "")).toEqual([]);
    expect(textsOf("# A", "x")).toEqual(["x"]);
  });

  it("drops a paragraph of nothing but an embedded file, keeps one that embeds a note or says something", () => {
    expect(textsOf("![[Daily.base]]", "", "![[a.png|100]] ![[b.pdf#page=2]]", "", "![](c.png)")).toEqual([]);
    expect(textsOf("![[Daily note]]", "", "See ![[a.png]]", "", "![[n.md]]", "", "![a cat](c.png)")).toHaveLength(4);
  });

  it("reads setext headings, but keeps a long text that someone closed with a rule", () => {
    const blocks = blocksOf(
      "Title",
      "=====",
      "one",
      "",
      "Part",
      "---",
      "two",
      "",
      "A line",
      "and another",
      "---",
      "three",
    );
    expect(blocks.map(({ text, headings, line }) => [text, headings, line])).toEqual([
      ["one", ["Title"], 3],
      ["two", ["Title", "Part"], 7],
      ["A line\nand another", ["Title", "Part"], 9],
      ["three", ["Title", "Part"], 12],
    ]);
  });

  it("reads a note with CRLF and a byte order mark like the same note without them", () => {
    const lines = ["---", "tags: [a, b]", "date: 2024-05-01", "---", "# T", "", "one [[x]]", "two", "", "- #tag"];
    const plain = parseNote(lines.join("\n"));
    expect(plain.blocks.map((block) => [block.text, block.line])).toEqual([
      ["one [[x]]\ntwo", 7],
      ["- #tag", 10],
    ]);
    expect(plain.tags).toEqual(["a", "b"]);
    expect(parseNote(`\ufeff${lines.join("\r\n")}`)).toEqual(plain);
    expect(parseNote(lines.join("\r"))).toEqual(plain);
  });

  it("keeps words that Markdown takes for invisible link definitions, and drops real ones", () => {
    expect(textsOf("[Ann]: hello", "", "[^1]: http://a.b is where it stood", "", "[^2]: once")).toEqual([
      "[Ann]: hello",
      "[^1]: http://a.b is where it stood",
      "[^2]: once",
    ]);
    expect(textsOf("See [[x]].", "", "[x]: x.md 'The X'", "[y]: <y y.md>")).toEqual(["See [[x]]."]);
  });
});

describe("cutting long blocks", () => {
  it("cuts a long paragraph into numbered parts that hold their own links and lines", () => {
    const sentence = "The heron stood in the shallow water until the light was gone. ";
    const lines = [
      `${sentence.repeat(12)}[[first]]`,
      `${sentence.repeat(12)}[[second]]`,
      `${sentence.repeat(12)}#last`,
    ];
    const blocks = blocksOf("# Log", "", ...lines, "", "short");
    const long = blocks.slice(0, -1);
    expect(long.length).toBeGreaterThanOrEqual(2);
    expect(long.map((block) => block.part)).toEqual(long.map((_, index) => index));
    for (const block of long) {
      expect(block.text.length).toBeLessThanOrEqual(1200);
      expect(block.headings).toEqual(["Log"]);
      for (const link of block.links) expect(block.text).toContain(`[[${link.target}]]`);
      for (const tag of block.tags) expect(block.text).toContain(`#${tag}`);
      expect(["", ...lines][block.line - 2]).toContain(block.text.split("\n")[0]);
    }
    expect(long.flatMap((block) => block.links.map((link) => link.target))).toEqual(["first", "second"]);
    expect(long.flatMap((block) => block.tags)).toEqual(["last"]);
    expect(blocks.at(-1)).toMatchObject({ text: "short", part: 0, line: 7 });
  });

  it("cuts a long list at items, at outer ones where it can", () => {
    const item = (name: string): string[] => [`- ${name}`, `  - ${"a".repeat(250)}`, `  - ${"b".repeat(250)}`];
    const lines = [...item("one"), ...item("two"), ...item("three"), ...item("four [[x]]")];
    const blocks = blocksOf(...lines);
    expect(blocks.map(({ line, part }) => [line, part])).toEqual([
      [1, 0],
      [7, 1],
    ]);
    expect(blocks.map((block) => block.text).join("\n")).toBe(lines.join("\n"));
    expect(blocks.map((block) => block.links.length)).toEqual([0, 1]);
  });

  it("cuts a long table at rows and keeps its head with the first of them", () => {
    const rows = Array.from({ length: 40 }, (_, index) => `| row ${index} | ${"x".repeat(60)} |`);
    const lines = ["| a | b |", "| - | - |", ...rows];
    const texts = textsOf(...lines);
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.join("\n")).toBe(lines.join("\n"));
    for (const text of texts) expect(text.endsWith(" |")).toBe(true);
  });

  it("loses no line of any note made of words, lists and quotes, and never exceeds 1,200 characters", () => {
    const word = fc.stringMatching(/^[a-zäé]{1,12}$/);
    const words = fc.array(word, { minLength: 1, maxLength: 90 }).map((list) => list.join(" "));
    const block = fc.oneof(
      words,
      fc.array(words, { minLength: 1, maxLength: 12 }).map((list) => list.map((text) => `- ${text}`).join("\n")),
      words.map((text) => `> ${text}`),
    );
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 8 }), (parts) => {
        const body = parts.join("\n\n***\n\n");
        const blocks = parseNote(body).blocks;
        const bare = (text: string): string => text.replace(/\s+/g, "").replaceAll("***", "");
        expect(bare(blocks.map((one) => one.text).join(""))).toBe(bare(body));
        const lines = body.split("\n");
        for (const one of blocks) {
          expect(one.text.length).toBeLessThanOrEqual(1200);
          expect(lines[one.line - 1]).toContain(one.text.split("\n")[0]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("survives any text", () => {
    const soup = fc
      .array(
        fc.constantFrom(
          "[[",
          "]]",
          "|",
          "#",
          "%%",
          "<!--",
          "-->",
          "`",
          "```\n",
          "\n",
          "- ",
          "> ",
          "^a",
          "---\n",
          "a ",
          "!",
          "\\",
        ),
        {
          maxLength: 60,
        },
      )
      .map((list) => list.join(""));
    fc.assert(
      fc.property(fc.oneof(soup, fc.string({ unit: "binary", maxLength: 200 })), (text) => {
        for (const block of parseNote(text).blocks) expect(block.text.trim()).not.toBe("");
      }),
      { numRuns: 300 },
    );
  });
});

describe("links", () => {
  const linksOf = (...lines: string[]) => blocksOf(...lines).flatMap((block) => block.links);
  const plain = { heading: null, block: null, alias: null, embed: false, style: "wiki" };

  it("reads wiki links with heading, block, alias and embed", () => {
    expect(
      linksOf(
        "[[Note]] [[a/Note.md|the note]] [[Note#Head line|x]] [[Note#^b-1]] [[#Here]] ![[Pic.png|120]] [[N#A#B]]",
      ),
    ).toEqual([
      { ...plain, target: "Note" },
      { ...plain, target: "a/Note.md", alias: "the note" },
      { ...plain, target: "Note", heading: "Head line", alias: "x" },
      { ...plain, target: "Note", block: "b-1" },
      { ...plain, target: "", heading: "Here" },
      { ...plain, target: "Pic.png", alias: "120", embed: true },
      { ...plain, target: "N", heading: "B" },
    ]);
  });

  it("reads relative Markdown links and images, and leaves the web out", () => {
    const markdown = { ...plain, style: "markdown" };
    expect(
      linksOf(
        "[x](../other%20note.md#Some%20head) [y](<a b.md>) [here](#top) ![cat](img/cat.png) [ref][r]",
        "[w](https://a.b/c.md) [m](mailto:a@b.c) <https://a.b> [p](//a.b/c) [e]()",
        "",
        "[r]: sub/ref.md",
      ),
    ).toEqual([
      { ...markdown, target: "../other%20note.md", heading: "Some head", alias: "x" },
      { ...markdown, target: "a b.md", alias: "y" },
      { ...markdown, target: "", heading: "top", alias: "here" },
      { ...markdown, target: "img/cat.png", alias: "cat", embed: true },
      { ...markdown, target: "sub/ref.md", alias: "ref" },
    ]);
  });

  it("finds none in code, in escapes, in comments and in HTML blocks", () => {
    expect(linksOf("[[real]]")).toHaveLength(1);
    expect(
      linksOf(
        "`[[a]]` ``x ` [[b]]`` \\[[c]] [\\[d]] [[ ]] [[]] [[a",
        "b]]",
        "",
        "```",
        "[[e]]",
        "```",
        "",
        "    [[f]]",
        "",
        "%% [[g]] %% <!-- [[h]] -->",
        "",
        "<div>",
        "[[i]]",
        "</div>",
      ),
    ).toEqual([]);
  });

  it("reads the escaped bar of a table and a definition named like the link", () => {
    expect(linksOf("no table: [[x\\|y]]")).toEqual([{ ...plain, target: "x", alias: "y" }]);
    expect(linksOf("| a | b |", "| - | - |", "| [[x\\|y]] | z |")).toEqual([{ ...plain, target: "x", alias: "y" }]);
    expect(linksOf("To [[x]].", "", "[x]: folder/x.md 'X'")).toEqual([{ ...plain, target: "x" }]);
  });

  it("gives the links of a heading to the first block below it and to no other", () => {
    const blocks = blocksOf("## With [[Ann]]", "", "### Later", "one", "", "two", "## [[Nobody]]", "## End", "three");
    expect(blocks.map((block) => [block.text, block.links.map((link) => link.target)])).toEqual([
      ["one", ["Ann"]],
      ["two", []],
      ["three", []],
    ]);
    expect(blocks[0]?.headings).toEqual(["With [[Ann]]", "Later"]);
    const parts = blocksOf("# On [[Ann]] ^a", "word ".repeat(500));
    expect(parts.map((block) => [block.links.length, block.blockId])).toEqual([
      [1, "a"],
      [0, null],
      [0, null],
    ]);
  });
});

describe("tags", () => {
  it("takes words after a sign that follows a blank, nested and in any script", () => {
    expect(blocksOf("#one text #a/b/c, #naïve #日本 #y1984 #0🌲 #2024-01 #ONE")[0]?.tags).toEqual([
      "one",
      "a/b/c",
      "naïve",
      "日本",
      "y1984",
      "0🌲",
      "2024-01",
    ]);
  });

  it("takes none from numbers, code, addresses, escapes and headings' signs", () => {
    expect(blocksOf("#1984 `#code` https://a.b/#part C# \\#esc a#b #/ #- (#")[0]?.tags).toEqual([]);
    expect(blocksOf("```", "#code", "```")[0]?.tags).toEqual([]);
  });

  it("gives the tags of a heading to all blocks below it", () => {
    const blocks = blocksOf("# Day #work", "one #x", "", "two", "# Other", "three");
    expect(blocks.map((block) => block.tags)).toEqual([["x", "work"], ["work"], []]);
  });

  it("writes tags in NFC, whatever form the file has", () => {
    expect(blocksOf("#cafe\u0301")[0]?.tags).toEqual(["caf\u00e9"]);
    expect(parseNote("---\ntags: [cafe\u0301, caf\u00e9]\n---\n").tags).toEqual(["caf\u00e9"]);
  });
});

describe("block ids", () => {
  const idsOf = (...lines: string[]) => blocksOf(...lines).map((block) => [block.text.split("\n")[0], block.blockId]);

  it("names paragraphs, quotes, fences, tables and whole lists", () => {
    expect(idsOf("a finding ^f-1", "", "> said", "> ^q", "", "> also", "^q2", "", "> far", "", "^q3")).toEqual([
      ["a finding ^f-1", "f-1"],
      ["> said", "q"],
      ["> also", "q2"],
      ["> far", "q3"],
    ]);
    expect(idsOf("```", "x", "```", "^code", "", "| a |", "| - |", "| b |", "^t", "", "- x", "- y", "^l")).toEqual([
      ["```", "code"],
      ["| a |", "t"],
      ["- x", "l"],
    ]);
  });

  it("lets a list item with an id stand alone, at any depth", () => {
    expect(idsOf("- a", "- b", "  - c ^c", "  - d", "- e ^e")).toEqual([
      ["- a", null],
      ["  - c ^c", "c"],
      ["  - d", null],
      ["- e ^e", "e"],
    ]);
  });

  it("passes the id of a heading to the first block below it", () => {
    const blocks = blocksOf("## Method ^m", "one", "", "two");
    expect(blocks.map((block) => [block.headings, block.blockId])).toEqual([
      [["Method"], "m"],
      [["Method"], null],
    ]);
  });

  it("sees no id in a power or in code", () => {
    expect(idsOf("area is r^2", "", "`x ^2`")).toEqual([
      ["area is r^2", null],
      ["`x ^2`", null],
    ]);
  });
});

describe("comments", () => {
  it("drops both kinds across lines and paragraphs and keeps the line numbers", () => {
    const blocks = blocksOf("one %%a%% two", "", "%%", "hidden #no", "", "# no", "%%", "", "<!-- x", "y -->", "three");
    expect(blocks.map(({ text, line, headings, tags }) => ({ text, line, headings, tags }))).toEqual([
      { text: "one  two", line: 1, headings: [], tags: [] },
      { text: "three", line: 11, headings: [], tags: [] },
    ]);
  });

  it("leaves marks in code and comments without an end alone", () => {
    expect(textsOf("`%%a%%` and `<!-- b -->`", "", "```", "%%c%%", "<!-- d -->", "```")).toEqual([
      "`%%a%%` and `<!-- b -->`",
      "```\n%%c%%\n<!-- d -->\n```",
    ]);
    expect(textsOf("It rose by 5 %% and then", "", "more")).toEqual(["It rose by 5 %% and then", "more"]);
    expect(textsOf("%%", "```", "inside", "```", "%%", "after")).toEqual(["after"]);
  });
});

describe("frontmatter", () => {
  it("takes tags as lists, texts and numbers, and aliases", () => {
    expect(parseNote("---\ntags: [1984, 'two words', \"#x\"]\n---\n").tags).toEqual(["1984", "two words", "x"]);
    expect(parseNote("---\ntags: a, b c #d\n---\n").tags).toEqual(["a", "b", "c"]);
    expect(parseNote("---\ntags: 007\ntag:\n  - B\n  - b\n---\n").tags).toEqual(["007", "B"]);
    expect(parseNote("---\ntags:\naliases: One, Two words\nalias: [3, Four, with comma]\n---\n")).toMatchObject({
      tags: [],
      aliases: ["One", "Two words", "3", "Four", "with comma"],
    });
  });

  it("reads title and property links", () => {
    const note = parseNote('---\ntitle: 2024\npeople: ["[[Ann|A]]"]\n---\n# Head\nx');
    expect(note.title).toBe("2024");
    expect(note.links.map((link) => [link.target, link.alias])).toEqual([["Ann", "A"]]);
    expect(parseNote("text\n\n# *The* head #tag").title).toBe("The head tag");
    expect(parseNote("## No title").title).toBeNull();
  });

  it.each([
    ["date: 2024-05-01", Date.UTC(2024, 4, 1) - 14 * HOUR, Date.UTC(2024, 4, 2) + 12 * HOUR - 1],
    ["created: '2024-05-01 10:30'", Date.UTC(2024, 4, 1, 10, 30) - 14 * HOUR, Date.UTC(2024, 4, 1, 22, 30)],
    ["Published: 2024-05-01T10:30:00", Date.UTC(2024, 4, 1, 10, 30) - 14 * HOUR, Date.UTC(2024, 4, 1, 22, 30)],
    ['updated: "[[2024-05-01]]"', Date.UTC(2024, 4, 1) - 14 * HOUR, Date.UTC(2024, 4, 2) + 12 * HOUR - 1],
  ])("reads %s as an interval over all offsets", (line, from, to) => {
    expect(parseNote(`---\n${line}\n---\nx`).when).toEqual({ from, to, floating: true });
  });

  it("reads a time with offset as an instant, and prefers date to created to published", () => {
    const at = Date.UTC(2024, 4, 1, 8, 30);
    const lines = ["published: 2020-01-01", "created: 2021-01-01", "date: 2024-05-01T10:30:00+02:00"];
    expect(parseNote(`---\n${lines.join("\n")}\n---\n`).when).toEqual({ from: at, to: at });
    expect(parseNote(`---\n${lines.slice(0, 2).join("\n")}\n---\n`).when?.to).toBe(
      Date.UTC(2021, 0, 2) + 12 * HOUR - 1,
    );
    expect(parseNote("---\ndate: soon\ncreated: 2021-02-30\n---\n").when).toBeNull();
  });

  it("names broken frontmatter and still reads the body", () => {
    for (const yaml of ["a: [b", "a: 'x\nb: y", "a: b: c", "title: {{title}} x", `a: ${"[".repeat(20_000)}`]) {
      expect(parseNote(`---\n${yaml}\n---\nbody`)).toMatchObject({ frontmatterFault: "invalid_yaml", when: null });
      expect(parseNote(`---\n${yaml}\n---\nbody`).blocks.map((block) => block.text)).toEqual(["body"]);
    }
  });

  it("survives the holes of templates", () => {
    const note = parseNote("---\ncreated: {{date}}\ntitle: '{{title}}'\ntags: [x]\n---\nHi {{title}}");
    expect(note).toMatchObject({ frontmatterFault: null, when: null, title: "{{title}}", tags: ["x"] });
    expect(note.blocks.map((block) => block.text)).toEqual(["Hi {{title}}"]);
  });

  it("gives no blocks for a note of frontmatter only", () => {
    expect(parseNote("---\ntags: [a]\n---").blocks).toEqual([]);
    expect(parseNote("---\n---\n")).toMatchObject({ blocks: [], frontmatterFault: null });
    expect(parseNote("").blocks).toEqual([]);
  });

  it("takes rules inside and around a text for rules", () => {
    expect(textsOf("one", "", "---", "", "a: b", "", "---", "", "two")).toEqual(["one", "a: b", "two"]);
    expect(textsOf("---", "", "One line of words", "and a second one", "", "---", "after")).toEqual([
      "One line of words\nand a second one",
      "after",
    ]);
    expect(textsOf("---", "title: x", "", "never closed")).toEqual(["title: x", "never closed"]);
  });
});

describe("whenFromName", () => {
  const day = { from: Date.UTC(2023, 8, 12) - 14 * HOUR, to: Date.UTC(2023, 8, 13) + 12 * HOUR - 1, floating: true };

  it("reads the day a name begins with", () => {
    for (const name of ["2023-09-12.md", "2023-09-12 Meeting.md", "Daily/2023_09_12.md", "20230912.md"]) {
      expect(whenFromName(name)).toEqual(day);
    }
  });

  it("reads the minute of a time-stamped name", () => {
    const at = Date.UTC(2023, 8, 12, 10, 30);
    const minute = { from: at - 14 * HOUR, to: at + 12 * HOUR, floating: true };
    for (const name of ["202309121030 Idea.md", "2023-09-12 1030.md", "20230912103059.md"]) {
      expect(whenFromName(name)).toEqual(minute);
    }
    expect(whenFromName("2023-09-12 1984 read again.md")).toEqual(day);
  });

  it("reads nothing else", () => {
    for (const name of [
      "2023 Japan.md",
      "2023-02-30.md",
      "2023-09.md",
      "Note 2023-09-12.md",
      "12345678.md",
      "2023-09-123.md",
    ]) {
      expect(whenFromName(name)).toBeNull();
    }
  });
});
