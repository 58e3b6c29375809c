import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Brain } from "../../src/app.ts";
import type { SearchAnswer } from "../../src/core/types.ts";
import { Cli } from "../cli/run-cli.ts";

const SLOW = 120_000;

/** Each text with the queries whose best answer it is. No other text holds what they ask for. */
const HOLDERS: readonly (readonly [text: string, ...queries: string[]])[] = [
  [
    "The well-known state-of-the-art engine was rebuilt",
    "well-known",
    "state-of-the-art",
    "-state-of-the-art",
    "--state-of-the-art",
    "state‑of‑the‑art",
  ],
  ["Clean node_modules with __pycache__ in one go", "node_modules", "__pycache__", "_node_modules_", "pycache"],
  [
    'She said "carpe diem" then left',
    '"carpe diem"',
    '"carpe',
    'carpe"',
    "'carpe diem'",
    "“carpe diem”",
    "«carpe diem»",
    '""carpe""',
    "carpe\\",
    "`carpe`",
  ],
  ["Rock AND roll at seven", "AND", "rock AND roll", "NEAR(rock roll, 3)", "rock NOT jazz", "roll AND NOT"],
  ["Bring OR leave it", "OR", "bring OR take", "leave OR"],
  ["NOT on Mondays", "NOT", "NOT mondays"],
  ["It stands NEAR a harbour", "NEAR", "NEAR/2 harbour", "NEAR("],
  ["Use the glob *.tsx for every component", "*.tsx", "tsx*", "*tsx", "compo*nent glob", "^tsx"],
  ["The function f(x) returns (a + b) when asked", "(returns)", "(((returns", "returns))))", "f(x) returns"],
  ["Set title:urgent in the header", "title:urgent", "title : urgent", "{title body}:urgent", "::urgent::"],
  ["Dinner was great 🦉", "🦉", "🦉🦉🦉", "\ud83d🦉"],
  ["The whole family came 👨‍👩‍👧 to Lisbon", "👨‍👩‍👧"],
  ["A cheer for 🇧🇷 in the final", "🇧🇷", "hey 🇧🇷!"],
  ["Thumbs up 👍🏽 from the client", "👍", "👍🏿"],
  ["Press 1️⃣ to continue", "1️⃣"],
  ["It cost $1,234.50 (50% off) on 2023-05-07 at 12:30", "$1,234.50", "1234.50", "2023-05-07", "12:30", "50%"],
  [
    "Robert'); DROP TABLE students;-- is a famous name",
    "Robert'); DROP TABLE students;--",
    "'; DROP TABLE students; --",
    "1' OR '1'='1' DROP TABLE students",
    "robert\0students",
  ],
  ["Mail bob.smith@example.com about C++", "bob.smith@example.com", "bob.smith", "c++", "@example.com"],
  ["The path is C:\\Users\\ada\\notes.txt on the old laptop", "C:\\Users\\ada\\notes.txt", "notes.txt", "\\ada\\"],
  ["To be, as it were, is the question", "To be, as it were?", "to be as it were"],
  ["Who works in the IT department of the WHO", "the IT department"],
  ["שלום עולם on the greeting card", "\u202bשלום עולם\u202c", "\u200fשלום", "\u2067עולם\u2069"],
  ["The café résumé is ready", "cafe\u0301", "RE\u0301SUME\u0301", "ｃａｆｅ", "resume"],
  ["A soft\u00adhyphen hides here", "softhyphen", "soft\u00adhyphen"],
  ["The bell rings\u0007 twice", "\u0007bell\u0001", "\u001b[31mrings\u001b[0m", "bell\u007f"],
  ['{"key": [1, 2, {"deep": null}]} is JSON', '{"deep": null}', '"key": [1, 2'],
  ["<script>alert('xss')</script> in the comment", "<script>alert('xss')</script>"],
  ["SELECT name FROM users WHERE id = 7 is slow", "SELECT name FROM users WHERE id = 7", "SELECT * FROM users"],
  [`${"$"}{process.env.HOME} \`rm -rf /\` in a shell`, `${"$"}{process.env.HOME}`, "`rm -rf /`", "$(rm -rf /)"],
  ["ﷺ and ½ cup of ﬁne ﬂour", "½", "fine flour"],
];
const OTHERS = ["The cat sat by the window", "Tea is at five", "A walk by the river", "Umbrella on Thursday"];

let folder: string;
let brain: Brain;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-hostile-"));
  brain = Brain.open({ path: join(folder, "brain.db"), create: true });
  await brain.rememberAll([...HOLDERS.map(([content]) => ({ content })), ...OTHERS.map((content) => ({ content }))]);
});
afterAll(() => {
  brain.close();
  rmSync(folder, { recursive: true, force: true });
});

async function best(query: string): Promise<{ content: string; byWords: boolean } | undefined> {
  const [first] = (await brain.search(query, { k: 1 })).results;
  return first === undefined ? undefined : { content: first.content, byWords: first.channels.text > 0 };
}

describe("a query with signs that mean something elsewhere", () => {
  const cases = HOLDERS.flatMap(([text, ...queries]) => queries.map((query) => [query, text] as const));

  it.each(cases)("%j finds the text that holds it", async (query, text) => {
    expect(await best(query)).toEqual({ content: text, byWords: true });
  });

  it("finds every text by the whole of itself", async () => {
    for (const text of [...HOLDERS.map(([holder]) => holder), ...OTHERS]) {
      expect((await best(text))?.content).toBe(text);
    }
  });

  it.each(["\u001b[ ", "\u001b[?;( ", "\u001b[31m", "\u001b[?25l", "\u001b[2 q"])(
    "keeps its first letter behind %j, a terminal code or the beginning of none",
    async (before) => {
      expect(await best(`${before}umbrella`)).toEqual({ content: "Umbrella on Thursday", byWords: true });
    },
  );

  it("means the same within any signs around it", async () => {
    const sign = fc.constantFrom(
      ..." \t\n\0\u001b\u200b\u200e\u202e\"'`*()[]{}<>^~|&!?,;:=%$€\\/-—…。「」\ud800\udc00\u0301",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: sign, maxLength: 12 }),
        fc.string({ unit: sign, maxLength: 12 }),
        async (a, b) => {
          expect(await best(`${a} umbrella ${b}`)).toEqual({ content: "Umbrella on Thursday", byWords: true });
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe("a query that says nothing", () => {
  it.each([
    ["nothing", ""],
    ["white space", " \n\t\u00a0\u3000"],
    ["characters nobody sees", "\u200b\u200d\u2060\ufeff"],
    ["control characters", "\0\u0007\u001b"],
    ["marks of direction", "\u202e\u202d\u2067"],
    ["20,001 characters", "x".repeat(20_001)],
    ["a megabyte", "carpe diem ".repeat(100_000)],
  ])("is a usage error when it is %s", async (_, query) => {
    await expect(brain.search(query)).rejects.toMatchObject({ code: "usage" });
  });

  it.each(["!?", "...", "---", '""', "()", "\ud800", "\udc00\ud800", "\u0301\u0301", "*", "€ → ≥", "．。、"])(
    "is a usage error when it is nothing but signs: %j",
    async (query) => {
      await expect(brain.search(query)).rejects.toMatchObject({ code: "usage" });
    },
  );

  it("is answered when it has only stop words", async () => {
    expect((await best("the to be as it were"))?.content).toBe("To be, as it were, is the question");
    expect((await best("what was it"))?.byWords).toBe(true);
  });
});

describe("a very long query", { timeout: SLOW }, () => {
  const filler = (length: number) =>
    Array.from({ length: Math.ceil(length / 5) }, (_, index) => `w${(index % 7_000).toString(36)}`)
      .join(" ")
      .slice(0, length);

  it.each([10_000, 20_000])("of %i characters finds what its last words name", async (length) => {
    const query = `${filler(length - 11)} carpe diem`;
    expect(query.length).toBeLessThanOrEqual(length);
    expect(await best(query)).toEqual({ content: 'She said "carpe diem" then left', byWords: true });
  });

  it.each([
    ["one letter", "x"],
    ["hyphens", "-a"],
    ["emoji", "🦉"],
    ["joined emoji", "👨‍👩‍👧"],
    ["accents", "a\u0301"],
    ["Han", "漢字"],
    ["Thai", "ภาษาไทย"],
    ["Korean", "한국어 "],
    ["operators", "AND NOT ( "],
    ["German", "Donaudampfschifffahrt und die Häuser "],
  ])("of nothing but %s is answered", async (_, unit) => {
    const query = unit.repeat(Math.ceil(20_000 / unit.length)).slice(0, 20_000);
    expect((await brain.search(query)).query).toBe(query);
  });
});

describe("a very long query of signs", () => {
  it.each(['"', "(", "\u0301\u0316", "\ud800"])("is a usage error: %j", async (unit) => {
    await expect(brain.search(unit.repeat(20_000 / unit.length))).rejects.toMatchObject({ code: "usage" });
  });
});

describe("the command line", { timeout: SLOW }, () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = Cli.build();
    expect((await cli.run(["init"])).status).toBe(0);
    for (const [text] of HOLDERS.slice(0, 8)) {
      const { status } = await cli.run(["remember", "--", text]);
      expect(status).toBe(0);
    }
  }, SLOW);
  afterAll(() => {
    cli.removeHome();
    cli.removeBuild();
  });

  async function firstAnswer(query: string): Promise<[query: string, content: string | undefined]> {
    const { status, stdout } = await cli.run(["search", "--json", "--", query]);
    expect(status).toBe(0);
    const answer = JSON.parse(stdout) as SearchAnswer;
    return [answer.query, answer.results[0]?.content];
  }

  it.each([
    ["--state-of-the-art", "The well-known state-of-the-art engine was rebuilt"],
    ["node_modules", "Clean node_modules with __pycache__ in one go"],
    ['"carpe', 'She said "carpe diem" then left'],
    ["NOT mondays", "NOT on Mondays"],
    ["*.tsx", "Use the glob *.tsx for every component"],
    ["\u001b[31mharbour\u001b[0m", "It stands NEAR a harbour"],
  ])("answers %j as the library does", async (query, text) => {
    expect(await firstAnswer(query)).toEqual([query, text]);
  });

  it("exits 2 for a query of nothing and for one that is too long", async () => {
    for (const query of ["", "   ", "x".repeat(20_001)]) {
      const { status, stderr } = await cli.run(["search", "--json", "--", query]);
      expect(status).toBe(2);
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: "usage" } });
    }
  });

  it("has the rules of other languages than English with it", async () => {
    expect((await cli.run(["remember", "--", "Wir haben die alten Häuser am Fluss besichtigt."])).status).toBe(0);
    const { stdout } = await cli.run(["search", "--json", "--explain", "--", "altes Haus"]);
    const [first] = (JSON.parse(stdout) as SearchAnswer).results;
    expect(first?.explain?.terms.toSorted()).toEqual(["alt:de", "haus:de"]);
  });

  it("answers a query of 10,000 characters", async () => {
    const query = `${Array.from({ length: 1_900 }, (_, index) => `q${index}`).join(" ")} carpe diem`;
    expect(query.length).toBeGreaterThan(10_000);
    expect(await firstAnswer(query)).toEqual([query, 'She said "carpe diem" then left']);
  });
});
