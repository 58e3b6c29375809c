import { readFileSync } from "node:fs";
import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ANALYSER_VERSION,
  analyse,
  analyseQuery,
  FTS_TOKENIZER,
  termHash,
  toIndexText,
  toMatchQuery,
} from "../../src/text/analyse.ts";
import { LANGUAGES, type Language } from "../../src/text/detect-language.ts";
import { foldWord } from "../../src/text/fold.ts";

const sentences = JSON.parse(
  readFileSync(new URL("../fixtures/languages/sentences.json", import.meta.url), "utf8"),
) as { text: string }[];

function shareTerm(question: string, text: string): boolean {
  const indexed = new Set(analyse(text));
  return analyseQuery(question).some((word) => word.some((term) => indexed.has(term)));
}

/** Every word of the question is among the text's, asked in these languages: the strongest match there is. */
function findsAll(question: string, text: string, languages: readonly Language[] = []): boolean {
  const indexed = new Set(analyse(text));
  return analyseQuery(question, languages).every((word) => word.some((term) => indexed.has(term)));
}

/** A question's terms where no language but the default ones is asked for, so that each word has one. */
function termsOfQuery(question: string): string[] {
  return analyseQuery(question).flat();
}

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.string({ unit: fc.constantFrom(..."aBé1_-.'/:@,+# 漢かตี한😀\u200d\u0301\ud83d"), maxLength: 60 }),
);

describe("analyse", () => {
  it("gives folded, stemmed words in order, repeats kept", () => {
    expect(analyse("The runner runs; RUNNING is what he does.")).toEqual([
      "the",
      "runner",
      "run",
      "run",
      "is",
      "what",
      "he",
      "does",
    ]);
  });

  it("takes irregular forms for their base", () => {
    expect(analyse("children bought mice")).toEqual(analyse("child buys mouse"));
    expect(analyse("she went")).toEqual(analyse("she goes"));
  });

  it("does not stem words that only look inflected", () => {
    expect(analyse("news yes this")).toEqual(["news", "yes", "this"]);
  });

  it("drops possessives and apostrophes, straight or curly", () => {
    expect(analyse("the user's keys")).toEqual(["the", "user", "kei"]);
    for (const apostrophe of ["'", "’", "ʼ", "＇"]) {
      expect(analyse(`user${apostrophe}s don${apostrophe}t`)).toEqual(["user", "dont"]);
    }
    expect(findsAll("obrien", "O’Brien's")).toBe(true);
    expect(findsAll("amour", "l’amour")).toBe(true);
  });

  it("lets the spellings of an identifier find each other", () => {
    const spellings = [
      "getUserName",
      "GetUserName",
      "get_user_name",
      "get-user-name",
      "GET_USER_NAME",
      "get.user.name",
    ];
    const whole = analyse("getUserName")[0];
    for (const spelling of spellings) {
      expect(analyse(spelling)).toContain(whole);
      expect(findsAll("user name", spelling)).toBe(true);
      for (const other of spellings) expect(findsAll(spelling, `call ${other}() twice`)).toBe(true);
    }
    expect(shareTerm("getUserName", "the user name")).toBe(true);
    expect(findsAll("node_modules", "node modules")).toBe(false);
    expect(shareTerm("node_modules", "node modules")).toBe(true);
    expect(findsAll("node modules", "rm -rf ./node_modules/.cache")).toBe(true);
    expect(findsAll("e-mail", "my e-mails")).toBe(true);
    expect(findsAll("email", "my e-mails")).toBe(true);
  });

  it("splits capitals, digits and plurals of acronyms where a reader would", () => {
    expect(analyse("HTMLParser")).toEqual(["htmlparser", "html", "parser"]);
    expect(analyse("PDFs")).toEqual(["pdf"]);
    expect(analyse("iPhone15")).toEqual(["iphone15", "iphon", "phone", "15"]);
    expect(analyse("2nd 10am e5")).toEqual(["2nd", "10am", "10", "am", "e5"]);
  });

  it("keeps paths, addresses and files findable by whole and by part", () => {
    const text = "see src/text/analyse.ts at https://docs.example.com/guide or mail bob.smith@example.com";
    for (const question of [
      "analyse.ts",
      "src/text/analyse.ts",
      "text",
      "docs.example.com",
      "guide",
      "bob.smith",
      "smith",
    ]) {
      expect(findsAll(question, text)).toBe(true);
    }
    expect(findsAll("C:\\Users\\bob", "C:\\Users\\bob")).toBe(true);
  });

  it("keeps numbers, dates, versions and times whole, with their parts", () => {
    expect(analyse("2023-05-07")).toEqual(["2023-05-07", "2023", "05", "07"]);
    expect(analyse("1.5")).toEqual(["1.5", "1", "5"]);
    expect(analyse("12:30")).toEqual(["12:30", "12", "30"]);
    expect(analyse("v1.2.3")[0]).toBe("v1.2.3");
    expect(findsAll("1000", "it cost $1,000.")).toBe(true);
    expect(analyse("$1,234.50")).toEqual(["1234.50", "1234", "50", "1", "234"]);
    expect(findsAll("1234.50", "it cost $1,234.50.")).toBe(true);
    expect(findsAll("gpt 4", "GPT-4")).toBe(true);
    expect(findsAll("gpt4", "GPT-4")).toBe(true);
  });

  it("tells C, C++ and C# apart", () => {
    expect(analyse("C++ C# C")).toEqual(["c++", "c", "c#", "c", "c"]);
  });

  it("folds case, accents, ligatures, widths and letter variants of Latin, Greek and Cyrillic", () => {
    for (const [one, other] of [
      ["Straße", "STRASSE"],
      ["οδός", "ΟΔΟΣ"],
      ["naïve Café", "naive cafe"],
      ["cafe\u0301", "café"],
      ["ﬁre", "fire"],
      ["ｆｕｌｌ", "full"],
      ["Ёлка", "елка"],
      ["за\u0301мок", "замок"],
      ["Smørrebrød", "smorrebrod"],
      ["İstanbul", "istanbul"],
      ["Đà Nẵng", "da nang"],
      ["Œuvre", "oeuvre"],
      ["co\xadoperate", "cooperate"],
    ] as const) {
      expect(analyse(one)).toEqual(analyse(other));
    }
  });

  it("takes the stems of the language that a text shows, under its name, and says which it is", () => {
    expect(analyse("Die Häuser und der Fluss")).toEqual(["die:de", "haus:de", "und:de", "der:de", "fluss:de", ":de"]);
    expect(analyse("Häuser, Fluss")).toEqual(["hauser", "fluss"]);
    // Numbers, names of code and whatever has no plain letters are one term in every language.
    expect(analyse("Die Funktion get_user2 ist 2023 nicht mehr da")).toEqual(
      expect.arrayContaining(["getuser2", "user2", "2023", "funktion:de"]),
    );
  });

  it("lets every word of every language be found as it stands, in capitals, and without accents", () => {
    const missed = sentences.flatMap(({ text }) =>
      (text.match(/[\p{L}\p{M}]{2,}/gu) ?? []).flatMap((word) =>
        [word, word.toUpperCase(), foldWord(word)].filter((typed) => !findsAll(typed, text, LANGUAGES)),
      ),
    );
    expect(missed).toEqual([]);
  });

  it("reads through the codes that colour a terminal's output", () => {
    expect(analyse("\u001b[1;31merror\u001b[0m: mod\u001b[4mule\u001b[24m")).toEqual(analyse("error: module"));
    expect(analyse("[31m is not one")).toEqual(["31m", "31", "m", "is", "not", "on"]);
  });

  it("keeps marks where they are letters", () => {
    for (const [one, other] of [
      ["й", "и"],
      ["ї", "і"],
      ["か", "が"],
      ["हिंदी", "हद"],
      ["ดี", "ด"],
    ] as const) {
      expect(analyse(one)).not.toEqual(analyse(other));
    }
    expect(analyse("か\u3099き")).toEqual(analyse("がき"));
  });

  it("leaves out the vowel signs of Arabic and Hebrew", () => {
    expect(analyse("كِتَاب")).toEqual(analyse("كتاب"));
    expect(analyse("שָׁלוֹם")).toEqual(analyse("שלום"));
  });

  it("stems Russian by its own rules", () => {
    expect(analyse("книги")).toEqual(analyse("книгами"));
  });

  it("gives every emoji one term, whatever its colour and variant", () => {
    expect(analyse("👍🏽👍 ❤️❤ 👨‍👩‍👧🇩🇪🇫🇷1️⃣")).toEqual(["👍", "👍", "❤", "❤", "👨‍👩‍👧", "🇩🇪", "🇫🇷", "1\u20e3"]);
    expect(findsAll("👍", "well done 👍🏿!")).toBe(true);
  });

  it("finds every two neighbouring characters of a script without spaces, as a plain scan would", () => {
    const character = fc.constantFrom(
      "漢",
      "字",
      "気",
      "𠀀",
      "か",
      "が",
      "ー",
      "カ",
      "ハ",
      "ท",
      "ที่",
      "น้",
      "เ",
      "ក",
      "ຂ",
      "한",
      "국",
    );
    fc.assert(
      fc.property(fc.array(character, { minLength: 2, maxLength: 12 }), fc.nat(), (characters, pick) => {
        const at = pick % (characters.length - 1);
        const pair = characters.slice(at, at + 2).join("");
        expect(analyse(characters.join(""))).toContain(pair);
        expect(termsOfQuery(pair)).toContain(pair);
      }),
    );
  });

  it("finds single Han characters, Korean nouns before a particle, and words by dictionary", () => {
    expect(findsAll("猫", "昨日猫を見た")).toBe(true);
    expect(findsAll("犬", "昨日猫を見た")).toBe(false);
    expect(findsAll("집", "집에 간다")).toBe(true);
    expect(findsAll("학교", "나는 학교에서 공부했다")).toBe(true);
    expect(analyse("ภาษาไทย")).toContain("ภาษา");
    expect(findsAll("น้ำ", "ดื่มน้ำทุกวัน")).toBe(true);
    expect(findsAll("バグ", "dormouseのバグ、iPhone用")).toBe(true);
    expect(findsAll("iphone", "dormouseのバグ、iPhone用")).toBe(true);
  });

  it("cuts long tokens to 64 code units without tearing a pair", () => {
    expect(analyse("x".repeat(500))).toEqual(["x".repeat(64)]);
    const rare = analyse(`a${"𝒳\u{10400}".normalize("NFC").repeat(80)}`);
    for (const term of rare) expect(/\p{Surrogate}/u.test(term)).toBe(false);
    expect(Math.max(...rare.map((term) => term.length))).toBeLessThanOrEqual(64);
  });

  it("gives only terms an index can hold, for any string", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const term of [...analyse(text), ...analyseQuery(text, LANGUAGES).flat()]) {
          expect(term).not.toBe("");
          expect(term.length).toBeLessThanOrEqual(64);
          expect(term).not.toMatch(/[\s\0A-Z"]|\p{White_Space}|\p{Surrogate}/u);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("is the same for upper and lower case and for composed and decomposed text", () => {
    const letters = "abcdefxyzéüñøßσςάωбжйёї";
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 20 }), (word) => {
        expect(analyse(word.toUpperCase())).toEqual(analyse(word));
        expect(analyse(word.normalize("NFD"))).toEqual(analyse(word));
      }),
    );
  });

  it("gives the same terms again however much was analysed in between", () => {
    const text = "Remembering what the dormouse said, iPhone15 café";
    const before = analyse(text);
    for (let at = 0; at < 60_000; at++) analyse(`word${at.toString(36)}`);
    expect(analyse(text)).toEqual(before);
  });

  it("gets through long texts of anything, and through megabytes", { timeout: 240_000 }, () => {
    const units = ["a", " ", "\n", "_", "a_", "a-", "aB", "ABc", ",000", "1,", "a/", "::", "a'", "'\"", "c++#", "\0"];
    const wide = [
      "é-",
      "\u0300\u0316",
      "漢",
      "ภาษาไทย",
      "👩\u200d",
      "🇩",
      "\ud800",
      "\ufdfa",
      "\ufeff",
      "\u200d",
      "한국어 ",
    ];
    for (const unit of [...units, ...wide]) {
      const text = unit.repeat(Math.ceil(150_000 / unit.length));
      const terms = analyse(text);
      expect(terms.length).toBeLessThanOrEqual(4 * text.length);
      expect(analyseQuery(text).length).toBeLessThanOrEqual(terms.length);
    }
    expect(analyse("a-".repeat(4_000_000)).length).toBeGreaterThan(4_000_000);
  });
});

describe("analyseQuery", () => {
  it("gives distinct terms in order of first appearance", () => {
    expect(termsOfQuery("cats, dogs and more cats")).toEqual(["cat", "dog", "more"]);
  });

  it("drops stop words unless nothing else is left", () => {
    expect(termsOfQuery("What did the cat do?")).toEqual(["cat"]);
    expect(termsOfQuery("To be or not to be")).toEqual(["to", "be", "or", "not"]);
    expect(termsOfQuery("!?")).toEqual([]);
  });

  it("keeps what tells something: months, pronouns, capitals that are names", () => {
    expect(termsOfQuery("What happened on 7 May?")).toEqual(["happen", "7", "mai"]);
    expect(termsOfQuery("Who leads IT?")).toEqual(["lead", "it"]);
    expect(termsOfQuery("WHO LEADS IT?")).toEqual(["lead"]);
  });

  it("asks for a word in every language of the index, and for no term twice", () => {
    expect(analyseQuery("Haus Flüsse", ["de", "it"])).toEqual([
      ["hau", "haus:de", "haus:it"],
      ["fluss", "fluss:de", "flusse:it", "fluss:it"],
    ]);
    expect(analyseQuery("Haus Häuser", ["de"])).toEqual([["hau", "haus:de"], ["hauser"]]);
    expect(analyseQuery("2023 👍", ["de", "fr"])).toEqual([["2023"], ["👍"]]);
    fc.assert(
      fc.property(anyText, (text) => {
        const terms = analyseQuery(text, LANGUAGES).flat();
        expect(new Set(terms).size).toBe(terms.length);
      }),
      { numRuns: 300 },
    );
  });

  it("drops what says nothing in the question's own language, where texts of the index are in it", () => {
    expect(analyseQuery("Wo ist das Haus?", ["de"])).toEqual([["hau", "haus:de"]]);
    const inItalian = analyseQuery("Wo ist das Haus?", ["it"]).map(([term]) => term);
    expect(inItalian).toEqual(["wo", "ist", "da", "hau"]);
    expect(analyseQuery("Wo ist das Haus?").flat()).toEqual(["wo", "ist", "da", "hau"]);
    expect(analyseQuery("Wo ist der?", ["de"]).flat()).toEqual(["wo", "wo:de", "ist", "ist:de", "der", "der:de"]);
  });

  it("drops a stop word, not a word whose stem looks like one", () => {
    expect(termsOfQuery("the willing")).toEqual(["will"]);
  });

  it("asks only for terms the index holds of the same text", () => {
    for (const text of ["AaS", "Aas Aa"]) expect(findsAll(text, text, LANGUAGES)).toBe(true);
    fc.assert(
      fc.property(anyText, (text) => {
        expect(findsAll(text, text, LANGUAGES)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the analyser's version", () => {
  it("names the installed ICU and stemmer", () => {
    const manifest = new URL("../../node_modules/@orama/stemmers/package.json", import.meta.url);
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
    expect(ANALYSER_VERSION).toMatch(/^\d+\+icu/);
    expect(ANALYSER_VERSION).toContain(`icu${process.versions.icu}`);
    expect(ANALYSER_VERSION.endsWith(`+stem${version}`)).toBe(true);
  });
});

describe("terms in FTS5", () => {
  function openIndex(rows: readonly (readonly string[])[]) {
    const db = new Database(":memory:");
    db.exec(`
      CREATE VIRTUAL TABLE terms USING fts5(
        body, content='', contentless_delete=1, detail=none, tokenize="${FTS_TOKENIZER}");
      CREATE VIRTUAL TABLE vocabulary USING fts5vocab(terms, 'row');
    `);
    const insert = db.prepare("INSERT INTO terms(rowid, body) VALUES (?, ?)");
    rows.forEach((terms, index) => {
      insert.run(index + 1, toIndexText(terms));
    });
    const match = db.prepare<[string], number>("SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY rowid").pluck();
    return {
      db,
      search: (terms: readonly string[]) => match.all(toMatchQuery(terms)),
      vocabulary: () => db.prepare<[], string>("SELECT term FROM vocabulary ORDER BY term").pluck().all(),
    };
  }

  it("survive unchanged and are found exactly where they stand", () => {
    const analysed = anyText.map(analyse);
    const free = fc
      .array(fc.constantFrom(..."az09_-./:@+#\\éßй漢がที한😀❤\u20e3\u0301\u093f"), { minLength: 1, maxLength: 8 })
      .map((characters) => characters.join(""));
    const row = fc.oneof(analysed, fc.array(free, { maxLength: 8 }));
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 6 }), (rows) => {
        const index = openIndex(rows);
        const distinct = [...new Set(rows.flat())];
        expect(index.vocabulary()).toHaveLength(distinct.length);
        expect(new Set(index.vocabulary())).toEqual(new Set(distinct));
        for (const term of distinct) {
          const expected = rows.flatMap((terms, at) => (terms.includes(term) ? [at + 1] : []));
          expect(index.search([term])).toEqual(expected);
        }
        index.db.close();
      }),
      { numRuns: 150 },
    );
  });

  it("are tokenised in a brain as here", () => {
    const ddl = readFileSync(new URL("../../migrations/0001_brain.sql", import.meta.url), "utf8");
    expect(ddl).toContain(`tokenize = "${FTS_TOKENIZER}"`);
  });

  it("can be asked for by the thousand", () => {
    const terms = Array.from({ length: 5000 }, (_, at) => `term${at}`);
    const index = openIndex([["term0"], ["other"], ["term4999"]]);
    expect(index.search(terms)).toEqual([1, 3]);
    index.db.close();
  });

  it("are asked for as any of them, never all", () => {
    const index = openIndex([["cat"], ["dog"], ["cat", "dog"], ["bird"]]);
    expect(index.search(["cat", "dog"])).toEqual([1, 2, 3]);
    index.db.close();
  });

  it("cannot break a query, and no terms match nothing", () => {
    const index = openIndex([["and"], ["cat"]]);
    expect(index.search([])).toEqual([]);
    expect(index.search(["and"])).toEqual([1]);
    for (const hostile of [
      '"',
      '""',
      "*",
      "cat*",
      "NEAR(",
      "^cat",
      "body:cat",
      "cat AND",
      "-cat",
      "(",
      "{a b}:",
      "'",
      "",
    ]) {
      expect(() => index.search([hostile, "cat"])).not.toThrow();
      expect(index.search([hostile, "cat"])).toContain(2);
    }
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 4 }), (terms) => {
        expect(() => index.search(terms.map((term) => term.replaceAll("\0", "")))).not.toThrow();
      }),
    );
    index.db.close();
  });
});

describe("termHash", () => {
  /** The same function in whole numbers without wrapping tricks. */
  function hashSlowly(term: string): number {
    const wrap = (value: bigint) => value & 0xffffffffn;
    let hash = 0x811c9dc5n;
    for (let at = 0; at < term.length; at++) hash = wrap((hash ^ BigInt(term.charCodeAt(at))) * 0x01000193n);
    hash = wrap((hash ^ (hash >> 16n)) * 0x85ebca6bn);
    hash = wrap((hash ^ (hash >> 13n)) * 0xc2b2ae35n);
    return Number(hash ^ (hash >> 16n));
  }

  it("is the documented function, an unsigned 32-bit number", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (term) => {
        expect(termHash(term)).toBe(hashSlowly(term));
      }),
    );
    expect(termHash("dormouse")).not.toBe(termHash("dormouses"));
  });

  it("spreads similar terms evenly over low and high bits, with no more collisions than chance", () => {
    const count = 100_000;
    const low = new Array<number>(256).fill(0);
    const high = new Array<number>(256).fill(0);
    const seen = new Set<number>();
    for (let at = 0; at < count; at++) {
      const hash = termHash(`term${at}`);
      seen.add(hash);
      low[hash & 255] = (low[hash & 255] ?? 0) + 1;
      high[hash >>> 24] = (high[hash >>> 24] ?? 0) + 1;
    }
    // Chance alone makes 1.2 collisions among 100,000; chi squared over 256 buckets is 255 ± 23.
    expect(count - seen.size).toBeLessThan(12);
    for (const buckets of [low, high]) {
      const mean = count / 256;
      const chiSquared = buckets.reduce((sum, found) => sum + (found - mean) ** 2 / mean, 0);
      expect(chiSquared).toBeLessThan(400);
    }
  });
});
