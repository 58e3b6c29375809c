import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { analyse, languageTerm } from "../../src/text/analyse.ts";
import { isFunctionWord, LANGUAGES, type Language } from "../../src/text/detect-language.ts";

interface Sentence {
  readonly language: string;
  readonly text: string;
}

const sentences = JSON.parse(
  readFileSync(new URL("../fixtures/languages/sentences.json", import.meta.url), "utf8"),
) as Sentence[];

const CODES: Readonly<Record<string, Language>> = {
  German: "de",
  Dutch: "nl",
  Swedish: "sv",
  Danish: "da",
  Norwegian: "no",
  Finnish: "fi",
  Hungarian: "hu",
  French: "fr",
  Spanish: "es",
  Portuguese: "pt",
  Italian: "it",
  Romanian: "ro",
  Turkish: "tr",
  Polish: "pl",
  Ukrainian: "uk",
  Bulgarian: "bg",
};

/** The languages a text is indexed under; at most one for a text of usual length. */
function languagesOf(text: string): Language[] {
  const terms = new Set(analyse(text));
  return LANGUAGES.filter((language) => terms.has(languageTerm(language)));
}

describe("the language of a text", () => {
  it("is told from one sentence for every language with rules of its own, and for no other", () => {
    const wrong = sentences
      .map(({ language, text }) => ({ text, expected: [CODES[language] ?? []].flat(), found: languagesOf(text) }))
      .filter(({ expected, found }) => found.join() !== expected.join());
    expect(wrong).toEqual([]);
    expect(new Set(sentences.flatMap(({ language }) => CODES[language] ?? [])).size).toBe(LANGUAGES.length);
  });

  it("is not guessed from a word, a name, an interjection or an abbreviation", () => {
    for (const text of [
      "",
      "Zürich",
      "Ah ha ha, yeah!",
      "Sure, see ya. Bye!",
      "Mann-Whitney U",
      "AI and ML in production",
      "José and Zoë met at the café in São Paulo",
      "Die Hard is on tonight",
      "We ordered à la carte, and the fish was great",
      "para 3, sub 2",
    ]) {
      expect(languagesOf(text)).toEqual([]);
    }
  });

  it("stays what most of the text is in when single words of another stand in it", () => {
    expect(languagesOf("Das ist die Pipeline, mit der wir the best model of the year trainiert haben.")).toEqual([
      "de",
    ]);
    expect(languagesOf("We ate Kaiserschmarrn mit Apfelmus on the last day, and it was great for all of us.")).toEqual(
      [],
    );
  });

  it("does not depend on what was analysed before", () => {
    const text = "Die Katze schläft auf dem Sofa und träumt.";
    const before = analyse(text);
    for (const { text: other } of sentences) analyse(other);
    expect(analyse(text)).toEqual(before);
    expect(languagesOf(text)).toEqual(["de"]);
  });

  it("knows which function words tell nothing in a question, and pronouns are not among them", () => {
    expect(isFunctionWord("welche", "de")).toBe(true);
    expect(isFunctionWord("haus", "de")).toBe(false);
    expect(isFunctionWord("ich", "de")).toBe(false);
    expect(isFunctionWord("welche", "fr")).toBe(false);
  });
});

describe.skipIf(!process.env.DORMOUSE_SHARED)("the language of real texts", () => {
  const shared = `${process.env.DORMOUSE_SHARED}/data`;
  const summaries = (suffix: string) =>
    readFileSync(`${shared}/mempalace/room_classification/dataset${suffix}.jsonl`, "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { session_summary: string }).session_summary);

  it.each([
    ["de", ".de"],
    ["es", ".es"],
    ["fr", ".fr"],
    ["it", ".it"],
    ["pt", ".pt-BR"],
  ] as const)("is told for 97 of 100 session summaries in %s", (language, suffix) => {
    const texts = summaries(suffix);
    const right = texts.filter((text) => languagesOf(text).join() === language);
    expect(right.length).toBeGreaterThanOrEqual(0.97 * texts.length);
  });

  it("is no other than the script's own for English, Russian, Hindi, Korean and Chinese", () => {
    const texts = ["", ".ru", ".hi", ".ko", ".zh"].flatMap(summaries);
    expect(texts.length).toBeGreaterThan(450);
    expect(texts.filter((text) => languagesOf(text).length > 0)).toEqual([]);
  });

  it("is English for English conversation", () => {
    const conversations = JSON.parse(readFileSync(`${shared}/locomo/locomo-dev5.json`, "utf8")) as {
      conversation: Record<string, unknown>;
    }[];
    const turns = conversations.flatMap(({ conversation }) =>
      Object.values(conversation).flatMap((session) =>
        Array.isArray(session) ? session.map(({ text }: { text: string }) => text) : [],
      ),
    );
    expect(turns.length).toBeGreaterThan(2_500);
    expect(turns.filter((text) => languagesOf(text).length > 0)).toEqual([]);
  });
});
