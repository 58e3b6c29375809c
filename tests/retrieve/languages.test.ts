import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Brain } from "../../src/app.ts";
import type { Embedder } from "../../src/core/ports.ts";
import { Eligible } from "../../src/store/eligible.ts";
import { ANALYSER_VERSION, analyse, analyseQuery, termHash, toIndexText } from "../../src/text/analyse.ts";
import { createTestStore } from "../support/brain.ts";

/** Every text is as far from every question as can be, so that words alone decide. */
const wordsOnly: Embedder = {
  model: { name: "test-words-only", revision: "1", dimensions: 8, runtime: "test" },
  embedPassages: async (texts) => texts.map(() => Int8Array.of(127, 0, 0, 0, 0, 0, 0, 0)),
  embedQuery: async () => Int8Array.of(0, 127, 0, 0, 0, 0, 0, 0),
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-languages-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function openBrainOf(name: string, texts: readonly string[]): Promise<Brain> {
  const brain = Brain.open({ path: join(folder, `${name}.db`), create: true, embedder: wordsOnly });
  for (let start = 0; start < texts.length; start += 256) {
    await brain.rememberAll(texts.slice(start, start + 256).map((content) => ({ content })));
  }
  return brain;
}

/** What words found, best first. */
async function findByWords(brain: Brain, query: string, k: number): Promise<string[]> {
  const { results } = await brain.search(query, { k });
  return results.filter(({ channels }) => channels.text > 0).map(({ content }) => content);
}

interface Sentence {
  readonly language: string;
  readonly text: string;
  /** Words as the text has them, or as somebody types them who leaves out case and accents. */
  readonly exact: readonly string[];
  /** The same words in another form: number, case, tense, article. */
  readonly inflected: readonly string[];
}

const sentences = JSON.parse(
  readFileSync(new URL("../fixtures/languages/sentences.json", import.meta.url), "utf8"),
) as Sentence[];

describe("one brain of thirty languages", () => {
  let brain: Brain;
  beforeAll(async () => {
    brain = await openBrainOf(
      "sentences",
      sentences.map(({ text }) => text),
    );
  });
  afterAll(() => brain.close());

  it.each([...new Set(sentences.map(({ language }) => language))])(
    "finds each thought in %s first",
    async (language) => {
      const missed: string[] = [];
      for (const { text, exact, inflected } of sentences.filter((sentence) => sentence.language === language)) {
        expect(exact.length).toBeGreaterThan(0);
        for (const query of [...exact, ...inflected]) {
          if ((await findByWords(brain, query, 1))[0] !== text) missed.push(query);
        }
      }
      expect(missed).toEqual([]);
    },
  );

  it("holds at least ten languages asked for in forms that the texts do not have", () => {
    const inflecting = sentences.filter(({ text, inflected }) =>
      inflected.some((query) => !query.split(" ").every((word) => text.includes(word))),
    );
    expect(new Set(inflecting.map(({ language }) => language)).size).toBeGreaterThanOrEqual(20);
  });

  it("gives a word no more weight in a language that few texts are in", async () => {
    const english = Array.from({ length: 40 }, (_, index) => `The plan for day ${index} is a plan we all agreed on`);
    const mixed = await openBrainOf("mixed", [
      ...english,
      "Der Plan für das Haus ist noch nicht fertig und wird auch nicht mehr fertig, weil er dem Amt nicht gefällt",
    ]);
    const { results } = await mixed.search("plan day 7", { k: 41, explain: true });
    const german = results.findIndex(({ content }) => content.startsWith("Der Plan"));
    expect(german).toBeGreaterThan(0);
    expect(results[german]?.explain?.terms).toEqual(["plan:de"]);
    expect(results[0]?.content).toBe(english[7]);
    mixed.close();
  });

  it("follows a common word in every language, not only in the one that few texts are in", async () => {
    const { store, remember, close } = createTestStore();
    for (let batch = 0; batch < 7; batch++) {
      await remember(...Array.from({ length: 500 }, (_, index) => `Note ${batch} ${index} about the plan`));
    }
    await remember("Der Plan für das Haus ist noch nicht fertig");
    const terms = store.fullText.weigh(analyseQuery("plan", store.fullText.languages()));
    expect(terms.map(({ term, documentCount }) => [term, documentCount])).toEqual([
      ["plan", 3_500],
      ["plan:de", 1],
    ]);
    const everyone = new Eligible(store.connection, {});
    const ids = store.fullText.candidates(terms, everyone).flatMap((group) => group.ids);
    expect(ids.length).toBeGreaterThan(2_500);
    expect(ids).toContain(Math.max(...ids));
    const together = store.fullText.weigh(analyseQuery("plan about", store.fullText.languages()));
    expect(store.fullText.candidates(together, everyone)[0]?.ids.length).toBeGreaterThan(200);
    close();
  });
});

describe("a brain whose index an earlier analyser made", () => {
  it("is indexed anew when it is opened", async () => {
    const text = "Wir haben die alten Häuser am Fluss besichtigt und den Kauf bis zum Frühling verschoben.";
    const made = await openBrainOf("earlier", [text]);
    const { path } = made;
    made.close();

    // What the first release stored of this text: English stems of everything.
    const old = "wir haben die alten hauser am fluss besichtigt und den kauf bi zum fruhl verschoben".split(" ");
    const db = new Database(path);
    const [node] = db.prepare<[], { id: number }>("SELECT id FROM node WHERE role = 1").all();
    const entries = [...new Set(old.map(termHash))].sort((a, b) => a - b);
    const packed = Buffer.alloc(entries.length * 5);
    for (const [index, id] of entries.entries()) {
      packed.writeUInt32LE(id, index * 5);
      packed[index * 5 + 4] = 1;
    }
    db.exec("INSERT INTO full_text (full_text) VALUES ('delete-all'); DELETE FROM term_frequency");
    db.prepare("INSERT INTO full_text (rowid, terms) VALUES (?, ?)").run(node?.id, toIndexText(old));
    db.prepare("UPDATE forward_index SET terms = ? WHERE node_id = ?").run(packed, node?.id);
    for (const id of entries) db.prepare("INSERT INTO term_frequency VALUES (?, 1)").run(id);
    db.prepare("UPDATE node SET token_count = ? WHERE id = ?").run(old.length, node?.id);
    db.prepare("UPDATE full_text_state SET terms = ?").run(old.length);
    db.close();

    // Control: under the old terms the inflected form is not found.
    const before = Brain.open({ path, embedder: wordsOnly });
    expect(await findByWords(before, "Fluss", 1)).toEqual([text]);
    expect(await findByWords(before, "altes Haus", 1)).toEqual([]);
    before.close();

    const marked = new Database(path);
    marked.prepare("UPDATE full_text_state SET analyser = ?").run(ANALYSER_VERSION.replace(/^\d+/, "1"));
    marked.close();
    const after = Brain.open({ path, embedder: wordsOnly });
    expect(await findByWords(after, "altes Haus", 1)).toEqual([text]);
    expect((await after.doctor()).checks.filter(({ violations }) => violations > 0)).toEqual([]);
    after.close();
  });

  it("is opened at once when it is large, says what is missing, and is indexed anew by sleep", async () => {
    const made = await openBrainOf("earlier and large", ["The kettle is descaled in May"]);
    const { path } = made;
    made.close();
    const db = new Database(path);
    db.prepare("UPDATE full_text_state SET analyser = 'older', documents = 20001").run();
    db.close();

    const notices: string[] = [];
    const brain = Brain.open({ path, embedder: wordsOnly, onNotice: (notice) => notices.push(notice) });
    expect(notices).toEqual([expect.stringContaining("until the next sleep")]);
    expect(await findByWords(brain, "kettle", 1)).toEqual(["The kettle is descaled in May"]);
    await brain.sleep();
    expect((await brain.doctor()).healthy).toBe(true);
    brain.close();
    Brain.open({ path, embedder: wordsOnly, onNotice: (notice) => notices.push(notice) }).close();
    expect(notices).toHaveLength(1);
  });
});

const shared = process.env.DORMOUSE_SHARED;

describe.skipIf(!shared)("one brain of 2,110 real records in ten languages", { timeout: 240_000 }, () => {
  const SETS = ["room_classification", "memory_extraction", "entity_extraction", "calibration"];
  const LANGUAGES = ["en", "de", "es", "fr", "it", "pt-BR", "ru", "hi", "ko", "zh"];
  const recordsOf = (language: string): Map<string, string> =>
    new Map(
      SETS.flatMap((set) =>
        readFileSync(`${shared}/data/mempalace/${set}/dataset${language === "en" ? "" : `.${language}`}.jsonl`, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as { id: string; session_summary?: string; text?: string })
          .map(({ id, session_summary, text }): [string, string] => [id, session_summary ?? text ?? ""]),
      ),
    );
  let records: Map<string, Map<string, string>>;
  let brain: Brain;
  beforeAll(async () => {
    records = new Map(LANGUAGES.map((language) => [language, recordsOf(language)]));
    brain = await openBrainOf(
      "records",
      [...records.values()].flatMap((texts) => [...texts.values()]),
    );
  }, 120_000);
  afterAll(() => brain.close());

  /** Distinctive words of a record in forms it does not have, where the language has forms. */
  const asked: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    en: {
      rc_042: "lying to councils, scenes",
      rc_062: "pollinating corridors, wasp, aster",
      rc_067: "currant cuttings, trenches, buried buds",
      rc_075: "blueberry leaf vein, yellowed",
      mem_016: "latency comparisons, assumption, computations",
    },
    de: {
      rc_042: "Höhepunkte, Momente der Entschlossenheit, sie lügt",
      rc_062: "einheimische Aster, parasitoide Wespe, Bergminzen",
      rc_067: "Steckling der Johannisbeere, Knospe, Gräben",
      rc_075: "Heidelbeere, Gelbfärbungen der Blattader",
      mem_016: "Permutationstest, Verteilungsannahme, Latenzvergleich",
    },
    es: {
      rc_042: "mentiras al consejo, escenas, decidió",
      rc_062: "avispa parasitoide, corredores, polinizador",
      rc_067: "grosella, yema enterrada, zanjas",
      rc_075: "arándano, hoja amarillenta, aguja de pinos",
      mem_016: "prueba de permutaciones, latencias",
    },
    fr: {
      rc_042: "mensonges, choisir la scène, conseils",
      rc_062: "corridors pollinisateurs, guêpe parasitoïde",
      rc_067: "boutures de groseillier, bourgeon enterré",
      rc_075: "myrtille, nervure de la feuille, jaunissements",
      mem_016: "hypothèse de distributions, latences",
    },
    it: {
      rc_042: "menzogne, consigli, svolte, scene",
      rc_062: "vespa parassitoide, corridoi, impollinatore",
      rc_067: "talee legnose, gemma, trincee di sabbia",
      rc_075: "mirtillo, nervatura della foglia, ingiallimenti",
      mem_016: "confronto delle latenze, ipotesi distributiva",
    },
    "pt-BR": {
      rc_042: "mentiras, conselhos, cenas",
      rc_062: "vespa parasitóide, corredores polinizadores",
      rc_067: "groselha, trincheiras, enterrado, areias",
      rc_075: "mirtilo, nervura da folha, agulha de pinheiros",
      mem_016: "teste de permutações, suposição distributiva",
    },
    ru: {
      rc_042: "кульминации, сцены, ложью, советы",
      rc_062: "опылитель, астра, паразитоидная оса",
      rc_067: "черенок смородины, почка, траншеи",
      rc_075: "голубика, жилка листа, пожелтения",
      mem_016: "перестановочный тест, задержка",
    },
    hi: {
      rc_042: "परिषदों, झूठ, दृश्यों, चरमोत्कर्ष",
      rc_062: "परजीवी ततैया, पुदीना, गलियारा",
      rc_067: "कली, रेत की खाई, कटिंगों",
      rc_075: "पत्ता, नस, पीलापन, चीड़ की सुई",
      mem_016: "latency तुलना, विधियाँ",
    },
    ko: {
      rc_042: "평의회를 거짓말로",
      rc_062: "말벌",
      rc_067: "도랑",
      rc_075: "유황",
      mem_016: "순열 검정은",
    },
    zh: {
      rc_042: "议会",
      rc_062: "黄蜂",
      rc_067: "醋栗",
      rc_075: "松针",
      mem_016: "排列测试",
    },
  };

  it.each(LANGUAGES)("finds known records in %s among the first three by words in other forms", async (language) => {
    const missed: string[] = [];
    for (const [id, query] of Object.entries(asked[language] ?? {})) {
      const wanted = records.get(language)?.get(id) ?? "no such record";
      if (!(await findByWords(brain, query, 3)).includes(wanted)) missed.push(`${id}: ${query}`);
    }
    expect(Object.keys(asked[language] ?? {})).toHaveLength(5);
    expect(missed).toEqual([]);
  });

  it.each(LANGUAGES)("finds 99 of 100 records in %s by their three rarest words", async (language) => {
    const texts = [...(records.get(language)?.values() ?? [])];
    const wordsOf = (text: string): string[] => [
      ...new Set(
        language === "zh"
          ? [...text.matchAll(/(?=(\p{Script=Han}{2}))/gu)].map(([, pair]) => pair ?? "")
          : (text.match(/\p{L}[\p{L}\p{M}]{3,}/gu) ?? []),
      ),
    ];
    const frequencies = new Map<string, number>();
    // The records are translations that keep each other's names and English terms.
    for (const text of [...records.values()].flatMap((ofLanguage) => [...ofLanguage.values()])) {
      for (const word of wordsOf(text)) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
    }
    const frequency = (word: string) => frequencies.get(word) ?? 0;
    const long = texts.filter((text) => wordsOf(text).length >= 12);
    expect(long.length).toBeGreaterThan(100);
    let found = 0;
    for (const text of long) {
      const rarest = wordsOf(text).sort((a, b) => frequency(a) - frequency(b) || (a < b ? -1 : 1));
      if ((await findByWords(brain, rarest.slice(0, 3).join(" "), 3)).includes(text)) found++;
    }
    expect(found / long.length).toBeGreaterThanOrEqual(0.99);
  });

  it.each([
    ["zh", 2],
    ["zh", 1],
    ["ko", 2],
  ] as const)(
    "finds in %s, by %i characters, first of all every record that a plain scan finds",
    async (language, length) => {
      const texts = [...(records.get(language)?.values() ?? [])];
      const everywhere = [...records.values()].flatMap((ofLanguage) => [...ofLanguage.values()]);
      const script = language === "zh" ? "Han" : "Hangul";
      const runs = new RegExp(`(?=(\\p{Script=${script}}{${length}}))`, "gu");
      const counts = new Map<string, number>();
      for (const text of texts) {
        for (const [, run = ""] of new Set([...text.matchAll(runs)])) counts.set(run, (counts.get(run) ?? 0) + 1);
      }
      const queries = [...counts.keys()].sort().filter((_, index) => index % Math.ceil(counts.size / 200) === 0);
      expect(queries.length).toBeGreaterThan(90);
      const wrong: string[] = [];
      for (const query of queries) {
        const holding = new Set(everywhere.filter((text) => text.includes(query)));
        if (holding.size > 100) continue;
        // What holds only one of two characters may follow, never precede.
        const first = new Set((await findByWords(brain, query, 200)).slice(0, holding.size));
        if ([...holding].some((text) => !first.has(text))) wrong.push(query);
      }
      expect(wrong).toEqual([]);
    },
  );

  it("indexes in the language it is written in, and leaves English alone", () => {
    const german = analyse(records.get("de")?.get("rc_075") ?? "");
    const english = analyse(records.get("en")?.get("rc_075") ?? "");
    expect(german.filter((term) => term.endsWith(":de")).length).toBeGreaterThan(30);
    expect(english.filter((term) => /:[a-z]*$/.test(term))).toEqual([]);
  });
});
