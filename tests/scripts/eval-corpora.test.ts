import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { parseBeam } from "../../scripts/eval/beam.ts";
import { sampleEvenly, toInputs } from "../../scripts/eval/corpus.ts";
import { parseCranfield } from "../../scripts/eval/cranfield.ts";
import { latestOf, parseAnchorDay, parseSlashedTime, parseSpokenTime } from "../../scripts/eval/dates.ts";
import { discoverSets } from "../../scripts/eval/discover.ts";
import { parseLocomo } from "../../scripts/eval/locomo.ts";
import { parseLongMemEval } from "../../scripts/eval/longmemeval.ts";
import { MS_PER_DAY, MS_PER_HOUR } from "../../src/core/clock.ts";

const conversation = {
  sample_id: "kitchen",
  conversation: {
    speaker_a: "Ann",
    speaker_b: "Bo",
    session_10_date_time: "12:05 am on 1 January, 2024",
    session_10: [{ speaker: "Bo", dia_id: "D10:1", text: "Happy new year!" }],
    session_2_date_time: "1:56 pm on 8 May, 2023",
    session_2: [
      { speaker: "Ann", dia_id: "D2:1", text: "Look at this.", blip_caption: "a blue teapot on a shelf" },
      { speaker: "Bo", dia_id: "D2:2", text: " " },
      { speaker: "Bo", dia_id: "D2:3", text: "Lovely!" },
    ],
  },
  qa: [
    { question: "What did Ann show?", answer: "a teapot", category: 4, evidence: ["D2:1"] },
    { question: "When?", answer: "never", category: 5, evidence: ["D2:1; D10:1", "D:2:3", "D"] },
    { question: "Nothing?", answer: "", category: 3, evidence: [] },
    { question: "Elsewhere?", answer: "", category: 1, evidence: ["D7:1"] },
  ],
};

describe("parseLocomo", () => {
  const [corpus] = parseLocomo([conversation]);

  it("orders sessions by number, joins captions and drops empty turns", () => {
    expect(corpus?.documents.map(({ key, speaker, text }) => [key, speaker, text])).toEqual([
      ["D2:1", "Ann", "Look at this. a blue teapot on a shelf"],
      ["D2:3", "Bo", "Lovely!"],
      ["D10:1", "Bo", "Happy new year!"],
    ]);
  });

  it("makes each session a source of its own", () => {
    expect(new Set(corpus?.documents.map(({ source }) => source.key)).size).toBe(2);
  });

  it("keeps questions with evidence, adversarial ones too, and counts the others as skipped", () => {
    expect(corpus?.questions.map(({ category, gold }) => [category, [...gold.keys()]])).toEqual([
      ["single-hop", ["D2:1"]],
      ["adversarial", ["D2:1", "D10:1"]],
    ]);
    expect(corpus?.skipped).toBe(2);
  });

  it("asks a day after the last session", () => {
    const midnight = Date.UTC(2024, 0, 1, 0, 5);
    expect(corpus?.questions[0]?.now).toBe(midnight + 12 * MS_PER_HOUR + MS_PER_DAY);
  });

  it("names the field of a file that is laid out otherwise and shows none of its words", () => {
    expect(() => parseLocomo({ secret: "word" })).toThrow(/LoCoMo file: a list was expected/);
    expect(() => parseLocomo([{ conversation: "secret" }])).toThrow(/^conversation: an object was expected$/);
  });
});

describe("parseBeam", () => {
  const chat = [
    {
      batch_number: 1,
      turns: [
        [
          { role: "user", id: 0, time_anchor: "March-15-2024", content: "I start my garden." },
          { role: "assistant", id: 1, content: "Good luck." },
        ],
        [{ role: "user", id: 2, content: "   " }],
      ],
    },
    { batch_number: 2, turns: [[{ role: "user", id: 3, time_anchor: "May-02-2024", content: "Beans!" }]] },
  ];
  const corpus = parseBeam("100K-1", chat, {
    abstention: [{ question: "Unanswerable?" }],
    event_ordering: [{ question: "In which order?", source_chat_ids: [[0, 1], [3]] }],
    knowledge_update: [{ question: "What now?", source_chat_ids: { original_info: [0], updated_info: [3, 99] } }],
    preference_following: [{ question: "Which?", source_chat_ids: [] }],
  });

  it("dates messages by the anchor before them and drops blank ones", () => {
    const march = parseAnchorDay("March-15-2024");
    const may = parseAnchorDay("May-02-2024");
    expect(corpus.documents.map(({ key, speaker, referent }) => [key, speaker, referent])).toEqual([
      ["0", "User", march],
      ["1", "Assistant", march],
      ["3", "User", may],
    ]);
  });

  it("reads message ids from lists, nested lists and objects, and leaves out what is not there", () => {
    expect(corpus.questions.map(({ category, gold }) => [category, [...gold.keys()]])).toEqual([
      ["event ordering", ["0", "1", "3"]],
      ["knowledge update", ["0", "3"]],
    ]);
    expect(corpus.skipped).toBe(2);
  });
});

describe("parseLongMemEval", () => {
  const corpus = parseLongMemEval([
    {
      question_id: "q1",
      question: "Which car?",
      question_date: "2023/04/10 (Mon) 23:07",
      question_type: "multi-session",
      abstention: false,
      evidence_sessions: [
        { date: "2023/04/09 (Sun) 10:00", turns: [{ role: "user", content: "My car is red." }] },
        { date: "2023/04/10 (Mon) 09:00", turns: [{ role: "assistant", content: "Red it is." }] },
      ],
    },
    { question_id: "q2", question: "None?", question_date: "", question_type: "x", evidence_sessions: [] },
    {
      question_id: "q3",
      question: "Which bike?",
      question_date: "unclear",
      question_type: "x",
      abstention: true,
      evidence_sessions: [{ date: "", turns: [{ role: "user", content: "My bike is blue." }] }],
    },
  ]);

  it("pools the turns of all questions, and a question's own are its answer", () => {
    expect(corpus.documents.map(({ key }) => key)).toEqual(["q1/1/1", "q1/2/1", "q3/1/1"]);
    expect(corpus.questions.map(({ category, gold }) => [category, [...gold.keys()]])).toEqual([
      ["multi-session", ["q1/1/1", "q1/2/1"]],
      ["abstention", ["q3/1/1"]],
    ]);
    expect(corpus.skipped).toBe(1);
  });

  it("leaves a time unknown that it cannot read", () => {
    expect(corpus.questions.map(({ now }) => now === null)).toEqual([false, true]);
    expect(corpus.documents[2]?.referent).toBeNull();
  });
});

describe("parseCranfield", () => {
  const corpus = parseCranfield({
    documents: [
      ".I 1\n.T\nwing in a\nslipstream .\n.A\nbrown\n.B\nj. 1958\n.W\nan experimental\nstudy .",
      ".I 2\n.T\n.A\n.B\n.W",
      ".I 3\n.T\nheat\n.A\n.B\n.W\nheat flows .\n",
    ].join("\n"),
    queries: ".I 001\n.W\nwings of\naircraft .\n.I 004\n.W\nheat conduction .\n.I 009\n.W\nunjudged .\n",
    judgements: "1 1 2 \n1 3 -1 \n1 2 1\n2 3  4\n2 77 1\n",
  });

  it("joins title and text, and skips empty documents", () => {
    expect(corpus.documents.map(({ key, text }) => [key, text])).toEqual([
      ["1", "wing in a slipstream .\nan experimental study ."],
      ["3", "heat\nheat flows ."],
    ]);
  });

  it("judges the k-th query under k, drops −1, and turns grades into gains", () => {
    expect(corpus.questions.map(({ text, gold }) => [text, [...gold]])).toEqual([
      ["wings of aircraft .", [["1", 3]]],
      ["heat conduction .", [["3", 1]]],
    ]);
    expect(corpus.skipped).toBe(1);
  });

  it("joins no document to the next", () => {
    expect(new Set(corpus.documents.map(({ source }) => source.key)).size).toBe(corpus.documents.length);
  });
});

describe("dates of the sets", () => {
  it("become every moment they could mean without an offset", () => {
    const local = Date.UTC(2023, 4, 8, 13, 56);
    const expected = { from: local - 14 * MS_PER_HOUR, to: local + 12 * MS_PER_HOUR, floating: true };
    expect(parseSpokenTime("1:56 pm on 8 May, 2023")).toEqual(expected);
    expect(parseSlashedTime("2023/05/08 (Mon) 13:56")).toEqual(expected);
  });

  it("reads midnight and noon of the twelve-hour clock", () => {
    expect(parseSpokenTime("12:05 am on 1 June, 2023")?.to).toBe(Date.UTC(2023, 5, 1, 12, 5));
    expect(parseSpokenTime("12:05 pm on 1 June, 2023")?.to).toBe(Date.UTC(2023, 5, 2, 0, 5));
  });

  it("are unknown when they cannot be read or do not exist", () => {
    for (const text of [
      "",
      "yesterday",
      "1:56 pm on 31 April, 2023",
      "13:99 pm on 8 May, 2023",
      "1:56 pm on 8 Mai, 2023",
    ])
      expect(parseSpokenTime(text)).toBeNull();
    expect(parseAnchorDay("February-30-2024")).toBeNull();
    expect(parseAnchorDay("2024-02-03")).toBeNull();
    expect(parseSlashedTime("2023/13/08 (Mon) 13:56")).toBeNull();
  });

  it("have a latest moment unless all are unknown", () => {
    const [early, late] = [parseAnchorDay("March-01-2024"), parseAnchorDay("March-09-2024")];
    expect(latestOf([late, null, early])).toBe(late?.to);
    expect(latestOf([null, null])).toBeNull();
  });
});

describe("toInputs", () => {
  const document = {
    key: "7",
    speaker: "User",
    source: { type: "session" as const, key: "s", name: "s" },
    referent: null,
  };

  it("keeps a text whole up to the longest a thought may be", () => {
    const text = "word ".repeat(4_000).trim();
    expect(toInputs("c", { ...document, text }).map(({ content }) => content)).toEqual([text]);
  });

  it("cuts a longer one into pieces that hold all its words, each with a record of its own", () => {
    const text = Array.from({ length: 6_000 }, (_, index) => `word${index}`).join(" ");
    const inputs = toInputs("c", { ...document, text });
    expect(inputs.length).toBeGreaterThan(1);
    expect(inputs.map(({ content }) => content).join(" ")).toBe(text);
    expect(new Set(inputs.map(({ occurrence }) => occurrence?.recordKey)).size).toBe(inputs.length);
  });
});

describe("sampleEvenly", () => {
  it("takes as many as asked, in order, from the whole length", () => {
    fc.assert(
      fc.property(fc.nat({ max: 200 }), fc.integer({ min: 1, max: 250 }), (length, count) => {
        const items = Array.from({ length }, (_, index) => index);
        const sample = sampleEvenly(items, count);
        expect(sample).toHaveLength(Math.min(length, count));
        expect(sample).toEqual([...new Set(sample)].sort((a, b) => a - b));
        const largestGap = Math.max(0, ...sample.slice(1).map((item, index) => item - (sample[index] ?? 0)));
        expect(largestGap).toBeLessThanOrEqual(Math.ceil(length / count) + 1);
      }),
    );
  });
});

describe("discoverSets", () => {
  const folder = mkdtempSync(join(tmpdir(), "dormouse-sets-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const write = (path: string, content: unknown) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === "string" ? content : JSON.stringify(content));
  };
  const chat = [{ turns: [[{ role: "user", id: 0, content: "hello" }]] }];
  write("locomo/a.json", [conversation]);
  write("locomo/LICENSE.txt", "no set");
  for (const place of ["100K/2", "100K/10", "1M/3"]) {
    write(`beam/${place}/chat.json`, chat);
    write(`beam/${place}/probing_questions.json`, { recall: [{ question: "what?", source_chat_ids: [0] }] });
  }
  write("beam/100K/11/notes.json", {});
  write("longmemeval-evidence/split.json", { dev: ["q1"] });
  write("longmemeval-evidence/turns.json", [{ question_id: "q1", question: "?", evidence_sessions: [] }]);
  write("cranfield/cran.all.1400", ".I 1\n.T\nheat\n.W\nheat\n");
  write("cranfield/cran.qry", ".I 1\n.W\nheat\n");
  write("cranfield/cranqrel", "1 1 1\n");

  it("uses whatever files are there, in the order of their names", () => {
    expect([...discoverSets(folder)].map(({ name, corpora }) => [name, corpora.map((corpus) => corpus.name)])).toEqual([
      ["LoCoMo", ["kitchen"]],
      ["BEAM 1M", ["1M-3"]],
      ["BEAM 100K", ["100K-2", "100K-10"]],
      ["LongMemEval evidence", ["pool"]],
      ["Cranfield", ["pool"]],
    ]);
  });

  it("reads only the set and the scales asked for", () => {
    expect([...discoverSets(folder, { only: "beam", scales: ["1M"] })].map(({ name }) => name)).toEqual(["BEAM 1M"]);
    expect([...discoverSets(folder, { only: "locomo" })].map(({ name }) => name)).toEqual(["LoCoMo"]);
  });

  it("yields nothing where no set is", () => {
    expect([...discoverSets(join(folder, "locomo"))]).toEqual([]);
  });

  it("names the file that is not JSON", () => {
    write("broken/locomo/a.json", "[");
    expect(() => [...discoverSets(join(folder, "broken"))]).toThrow(/a\.json is not JSON/);
  });
});

describe.skipIf(!process.env.DORMOUSE_SHARED)("the shared evaluation data", () => {
  const sets = [...discoverSets(join(process.env.DORMOUSE_SHARED ?? "", "data"))];

  it("has documents and questions in every corpus, each answered by documents that are there", () => {
    expect(sets.length).toBeGreaterThan(3);
    for (const { corpora } of sets) {
      for (const { documents, questions } of corpora) {
        const keys = new Set(documents.map(({ key }) => key));
        expect(keys.size).toBe(documents.length);
        expect(questions.length).toBeGreaterThan(0);
        for (const { gold } of questions) expect([...gold.keys()].filter((key) => !keys.has(key))).toEqual([]);
      }
    }
  });

  it("has a readable time for every dated document", () => {
    for (const { corpora } of sets.filter(({ graded }) => !graded)) {
      for (const { documents } of corpora) expect(documents.filter(({ referent }) => referent === null)).toEqual([]);
    }
  });

  it("has evidence for 479 questions of LongMemEval and none of Cranfield's empty documents", () => {
    const pooled = sets.find(({ name }) => name === "LongMemEval evidence")?.corpora[0];
    expect([pooled?.questions.length, pooled?.documents.length]).toEqual([479, 896]);
    const cranfield = sets.find(({ name }) => name === "Cranfield")?.corpora[0];
    expect([cranfield?.questions.length, cranfield?.documents.length]).toEqual([225, 1398]);
    expect(cranfield?.documents.some(({ key }) => key === "471" || key === "995")).toBe(false);
  });
});
