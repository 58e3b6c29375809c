import { chmodSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DECAY_REASONS } from "../../src/core/types.ts";
import { runExtract } from "../../src/extract/run.ts";
import { rebuildDerived } from "../../src/remember/rebuild.ts";
import { search } from "../../src/retrieve/search.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { verifyHistory } from "../../src/store/verify.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { personLine } from "../support/claude-lines.ts";
import {
  createTestFolder,
  dumpTables,
  extract,
  linkedTexts,
  nodeOfText,
  standingTexts,
  type TestFolder,
} from "../support/extract.ts";

let brain: TestStore;
let folder: TestFolder;

beforeEach(() => {
  brain = createTestStore();
  folder = createTestFolder();
});
afterEach(() => {
  const broken = checkIntegrity(brain.store).filter(({ violations }) => violations > 0);
  brain.close();
  folder.close();
  expect(broken).toEqual([]);
});

const run = () => extract(brain, folder.path);
const textsOf = (source?: RegExp): string[] => standingTexts(brain.store, source).map(({ text }) => text);
const stateOf = (text: string) => {
  const { state } = brain.store.thoughts.detail(nodeOfText(brain.store, text));
  return state.decayed !== "none" ? state.decayed : state.belief;
};
/** Text and occurrence of every standing block, in order. */
const occurrences = () =>
  brain.store.connection.db
    .prepare<[], { id: number; ordinal: number; text: string }>(
      `SELECT o.id, o.ordinal, c.text FROM occurrence o JOIN node n ON n.id = o.node_id
       JOIN readable_content c ON c.id = n.content_id WHERE o.ended_seq IS NULL ORDER BY o.source_id, o.ordinal`,
    )
    .all();
const idsByText = () => new Map(occurrences().map(({ text, id }) => [text, id]));
const eventsSince = (seq: number): string[] =>
  brain.store.ledger.list({ since: seq, limit: 1000 }).map(({ kind }) => kind);

describe("a vault", () => {
  it("gives each paragraph with heading, tags, date, domain and trust", async () => {
    folder.write(
      "Garden/Beans.md",
      "---\ntags: [veg, 2024]\ndate: 2024-05-01\n---\n# Beans\n\nFirst.\n\n## Rows #green\n\nSecond.\n",
    );
    folder.write("Loose.md", "Third.\n");
    expect(await run()).toEqual({
      files: 2,
      records: 3,
      thoughts: 3,
      reinforced: 0,
      risen: 0,
      skipped: {},
      errors: [],
    });
    expect(brain.store.thoughts.detail(nodeOfText(brain.store, "Second."))).toMatchObject({
      kind: "observation",
      domain: "Garden",
      tags: ["veg", "2024", "green"],
      facets: [{ name: "heading", value: "Beans > Rows green" }],
      referent: { from: "2024-04-30T10:00:00.000Z", floating: true },
      speaker: null,
      basis: "imported",
      trust: "trusted",
      source: { name: "Beans" },
    });
    const loose = brain.store.thoughts.detail(nodeOfText(brain.store, "Third."));
    expect(loose).toMatchObject({ domain: null, referent: null, source: { name: "Loose" } });
    expect(loose.facets).toEqual([{ name: "heading", value: "Loose" }]);
    expect(await run()).toMatchObject({ files: 2, records: 0, skipped: { unchanged: 2 } });
  });

  it("finds a paragraph by the title and the headings it stands under", async () => {
    folder.write("Minimal Theme.md", "## To do\n\nCheck the contrast in dark mode.\n");
    folder.write("Other.md", "Check the oven before leaving.\n\nA theme of the talk was patience.\n");
    await run();
    const { results } = await search(brain.store, brain.embedder, "Minimal Theme to do", { k: 1 });
    expect(results[0]?.content).toBe("Check the contrast in dark mode.");
    await rebuildDerived(brain.store, brain.embedder);
    const again = await search(brain.store, brain.embedder, "Minimal Theme to do", { k: 1 });
    expect(again.results).toEqual(results);
  });

  it("reads CRLF and a byte order mark as if they were not there", async () => {
    folder.write("A.md", "\uFEFF---\r\ntags: veg\r\n---\r\nFirst.\r\nstill first\r\n\r\nSecond.\r\n");
    await run();
    expect(textsOf()).toEqual(["First.\nstill first", "Second."]);
    folder.write("A.md", "---\ntags: veg\n---\nFirst.\nstill first\n\nSecond.\n");
    const seq = brain.store.ledger.head().seq;
    expect(await run()).toMatchObject({ thoughts: 0, reinforced: 0, skipped: { known: 2 } });
    expect(eventsSince(seq)).toEqual([]);
  });

  it("leaves out templates, hidden and ignored notes, and our own output", async () => {
    folder.write(".obsidian/templates.json", '{"folder": "Shapes"}');
    folder.write("Shapes/Day.md", "Template.\n");
    folder.write("templates/Week.md", "Template.\n");
    folder.write(".dormouseignore", "private/\n");
    folder.write("private/Diary.md", "Secret.\n");
    folder.write("A.md", "First.\n\n<dormouse:evidence>\n\nOld words.\n\n</dormouse:evidence>\n\nLast.\n");
    expect(await run()).toMatchObject({ files: 1, thoughts: 2, skipped: { template: 2, own_output: 3 } });
    expect(textsOf()).toEqual(["First.", "Last."]);
  });

  it("names broken frontmatter and reads the body", async () => {
    const file = folder.write("A.md", "---\ntags: [a\n---\nFirst.\n");
    expect(await run()).toMatchObject({ thoughts: 1, errors: [{ file, line: 1, rule: "invalid_yaml" }] });
  });
});

describe("an edited note", () => {
  const paragraphs = (...texts: string[]): string => texts.map((text) => `${text}\n`).join("\n");

  it("gains an inserted paragraph in its place and moves nothing", async () => {
    folder.write("A.md", paragraphs("One.", "Two.", "Three."));
    await run();
    const before = occurrences();
    folder.write("A.md", paragraphs("Zero.", "One.", "One and a half.", "Two.", "Three.", "Four."));
    expect(await run()).toMatchObject({ thoughts: 3, reinforced: 0, skipped: { known: 3 } });
    expect(textsOf()).toEqual(["Zero.", "One.", "One and a half.", "Two.", "Three.", "Four."]);
    expect(occurrences()).toEqual(expect.arrayContaining(before));
  });

  it("supersedes a changed paragraph by its replacement and keeps the others", async () => {
    folder.write("A.md", paragraphs("# Plan", "Keep this.", "Beans go by the wall.", "And this."));
    await run();
    const before = idsByText();
    folder.write("A.md", paragraphs("# Plan", "Keep this.", "Something new.", "Beans go by the gate.", "And this."));
    expect(await run()).toMatchObject({ thoughts: 2 });
    expect(textsOf()).toEqual(["Keep this.", "Something new.", "Beans go by the gate.", "And this."]);
    expect(stateOf("Beans go by the wall.")).toBe("superseded");
    expect(linkedTexts(brain.store, "Beans go by the gate.", "supersedes")).toEqual(["Beans go by the wall."]);
    for (const text of ["Keep this.", "And this."]) expect(idsByText().get(text)).toBe(before.get(text));
  });

  it("asserts the old paragraph again when the edit is undone, and supersedes the other way round", async () => {
    const first = paragraphs("Keep this.", "Beans go by the wall.");
    folder.write("A.md", first);
    await run();
    folder.write("A.md", paragraphs("Keep this.", "Beans go by the gate."));
    await run();
    folder.write("A.md", first);
    expect(await run()).toMatchObject({ thoughts: 0, reinforced: 1 });
    expect(stateOf("Beans go by the wall.")).toBe("asserted");
    expect(stateOf("Beans go by the gate.")).toBe("superseded");
    expect(linkedTexts(brain.store, "Beans go by the wall.", "supersedes")).toEqual(["Beans go by the gate."]);
    expect(linkedTexts(brain.store, "Beans go by the gate.", "supersedes")).toEqual([]);
  });

  it("lets a deleted paragraph decay with reason source_gone, and revives it when it comes back", async () => {
    folder.write("A.md", paragraphs("One.", "Two.", "Three."));
    await run();
    folder.write("A.md", paragraphs("One.", "Three."));
    await run();
    expect(textsOf()).toEqual(["One.", "Three."]);
    expect(stateOf("Two.")).toBe("source_gone");
    folder.write("A.md", paragraphs("One.", "Two.", "Three."));
    expect(await run()).toMatchObject({ thoughts: 0, reinforced: 1 });
    expect(textsOf()).toEqual(["One.", "Two.", "Three."]);
    expect(stateOf("Two.")).toBe("asserted");
  });

  it("takes the time of a paragraph that comes back from the note that it comes back in", async () => {
    const put = (date: string, text: string) => folder.write("n.md", `---\ndate: ${date}\n---\n${text}\n`);
    const yearOf = () =>
      brain.store.thoughts.detail(nodeOfText(brain.store, "The kettle.")).referent?.from?.slice(0, 4);
    put("2018-05-01", "The kettle.");
    await run();
    expect(yearOf()).toBe("2018");
    put("2018-05-01", "Something else.");
    await run();
    expect(yearOf()).toBe("2018");
    put("2010-05-01", "The kettle.");
    await run();
    expect(yearOf()).toBe("2010");
    expect(verifyHistory(brain.store).problems).toEqual([]);
  });

  it("does not supersede across headings", async () => {
    folder.write("A.md", paragraphs("# Wall", "Beans.", "# Gate", "Peas."));
    await run();
    folder.write("A.md", paragraphs("# Wall", "# Gate", "Kale.", "Peas."));
    await run();
    expect(stateOf("Beans.")).toBe("source_gone");
    expect(linkedTexts(brain.store, "Kale.", "supersedes")).toEqual([]);
  });

  it("only ends the leg of a paragraph that stands elsewhere", async () => {
    folder.write("A.md", paragraphs("One.", "Shared."));
    folder.write("B.md", paragraphs("Shared.", "Two."));
    await run();
    folder.write("A.md", paragraphs("One.", "Changed."));
    await run();
    expect(stateOf("Shared.")).toBe("asserted");
    expect(textsOf()).toEqual(["One.", "Changed.", "Shared.", "Two."]);
    expect(linkedTexts(brain.store, "Changed.", "supersedes")).toEqual([]);
  });

  it("ends one of two equal paragraphs and keeps the thought", async () => {
    folder.write("A.md", paragraphs("Yes.", "No.", "Yes."));
    await run();
    expect(occurrences().map(({ text }) => text)).toEqual(["Yes.", "No.", "Yes."]);
    folder.write("A.md", paragraphs("Yes.", "No."));
    await run();
    expect(textsOf()).toEqual(["Yes.", "No."]);
    expect(stateOf("Yes.")).toBe("asserted");
  });

  it("follows a new order with the same occurrences", async () => {
    folder.write("A.md", paragraphs("One.", "Two.", "Three.", "Four."));
    await run();
    const before = idsByText();
    const seq = brain.store.ledger.head().seq;
    folder.write("A.md", paragraphs("Four.", "One.", "Three.", "Two."));
    expect(await run()).toMatchObject({ thoughts: 0, reinforced: 0, skipped: { known: 4 } });
    expect(textsOf()).toEqual(["Four.", "One.", "Three.", "Two."]);
    expect(idsByText()).toEqual(before);
    expect(eventsSince(seq)).toEqual(["occurrence.moved"]);
  });

  it("has room for any number of edits at one place", async () => {
    const middle = (index: number): string => `Version ${index} of the middle.`;
    for (let index = 0; index < 30; index++) {
      folder.write("A.md", paragraphs("One.", ...Array.from({ length: index * 50 }, (_, at) => middle(at)), "Last."));
      await run();
    }
    const texts = textsOf();
    expect(texts).toHaveLength(2 + 29 * 50);
    expect([texts[0], texts[1], texts.at(-1)]).toEqual(["One.", middle(0), "Last."]);
  }, 60_000);

  it("keeps a paragraph that moves to another note, whichever is read first", async () => {
    folder.write("A.md", paragraphs("One.", "Moves down."));
    folder.write("B.md", paragraphs("Two.", "Moves up."));
    await run();
    folder.write("A.md", paragraphs("One.", "Moves up."));
    folder.write("B.md", paragraphs("Two.", "Moves down."));
    const seq = brain.store.ledger.head().seq;
    expect(await extract(brain, folder.path, { batchSize: 1 })).toMatchObject({ thoughts: 0, reinforced: 2 });
    expect(textsOf()).toEqual(["One.", "Moves up.", "Two.", "Moves down."]);
    expect([stateOf("Moves up."), stateOf("Moves down.")]).toEqual(["asserted", "asserted"]);
    expect(eventsSince(seq)).not.toContain("decayed");
    expect(eventsSince(seq)).not.toContain("belief.changed");
  });

  it("takes back the trust that only the lost paragraph gave", async () => {
    const record = { role: "assistant", content: "Shared." };
    folder.write("s.jsonl", `${JSON.stringify(record)}\n`);
    await run();
    await brain.remember({ content: "x" });
    const node = nodeOfText(brain.store, "Shared.");
    expect(brain.store.thoughts.detail(node).trust).toBe("unknown");
    expect(brain.store.thoughts.detail(node).speaker).toBe("Assistant");
    folder.write("A.md", paragraphs("Once.", "Mine."));
    await run();
    await brain.remember({
      content: "Mine.",
      legs: [{ parents: [{ type: "page", key: "p", name: "web:p", trust: "untrusted" }] }],
    });
    const mine = nodeOfText(brain.store, "Mine.");
    await brain.remember({ content: "So it is.", legs: [{ parents: [brain.store.thoughts.publicId(mine)] }] });
    const resting = nodeOfText(brain.store, "So it is.");
    expect(brain.store.thoughts.detail(mine).trust).toBe("trusted");
    expect(brain.store.thoughts.detail(resting).trust).toBe("trusted");
    folder.write("A.md", paragraphs("Once."));
    await run();
    expect(brain.store.thoughts.detail(mine)).toMatchObject({ trust: "untrusted", state: { visible: true } });
    expect(brain.store.thoughts.detail(resting)).toMatchObject({ trust: "untrusted", state: { visible: true } });
  });

  it("flags what rests on a superseded paragraph as stale and leaves it standing", async () => {
    folder.write("A.md", paragraphs("Keep.", "Beans go by the wall."));
    await run();
    const parent = brain.store.thoughts.publicId(nodeOfText(brain.store, "Beans go by the wall."));
    await brain.remember({ content: "So the wall is full.", legs: [{ parents: [parent] }] });
    folder.write("A.md", paragraphs("Keep.", "Beans go by the gate."));
    await run();
    const child = nodeOfText(brain.store, "So the wall is full.");
    expect(brain.store.thoughts.detail(child).state.visible).toBe(true);
    const row = brain.store.connection.db.prepare("SELECT stale_by AS stale FROM node WHERE id = ?").get(child);
    expect(row).not.toEqual({ stale: null });
  });

  it("leaves a thought alone that a person forgot", async () => {
    folder.write("A.md", paragraphs("One.", "Two."));
    await run();
    const nodeId = nodeOfText(brain.store, "Two.");
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "decayed",
        actor: "person",
        payload: { node: brain.store.thoughts.publicId(nodeId) },
        changes: [{ nodeId, axis: "decayed", to: DECAY_REASONS.indexOf("forgotten") }],
      }),
    );
    folder.write("A.md", paragraphs("One."));
    await run();
    folder.write("A.md", paragraphs("One.", "Two."));
    expect(await run()).toMatchObject({ skipped: { forgotten: 1, known: 1 } });
    expect(stateOf("Two.")).toBe("forgotten");
  });
});

describe("renamed and deleted notes", () => {
  it("keeps the occurrences of a renamed note, also when it was edited a little", async () => {
    folder.write("Old.md", "One.\n\nTwo.\n\nThree.\n\nFour.\n");
    folder.write("Other.md", "Five.\n");
    await run();
    const before = idsByText();
    folder.remove("Old.md");
    folder.write("sub/New.md", "One.\n\nTwo.\n\nThree, changed.\n\nFour.\n");
    expect(await run()).toMatchObject({ thoughts: 1, reinforced: 0 });
    for (const text of ["One.", "Two.", "Four."]) expect(idsByText().get(text)).toBe(before.get(text));
    expect(textsOf()).toEqual(["One.", "Two.", "Three, changed.", "Four.", "Five."]);
    expect(stateOf("Three.")).toBe("superseded");
    expect(await run()).toMatchObject({ skipped: { unchanged: 2 } });
  });

  it("gives a new note at a left path a source of its own", async () => {
    folder.write("Inbox.md", "One.\n\nTwo.\n");
    await run();
    renameSync(join(folder.path, "Inbox.md"), join(folder.path, "Done.md"));
    await run();
    folder.write("Inbox.md", "Three.\n");
    await run();
    expect(textsOf()).toEqual(["One.", "Two.", "Three."]);
    folder.write("Inbox.md", "Four.\n");
    await run();
    expect(textsOf()).toEqual(["One.", "Two.", "Four."]);
    expect(new Set(standingTexts(brain.store).map(({ source }) => source))).toEqual(new Set(["Inbox"]));
    const sources = brain.store.connection.db.prepare("SELECT count(DISTINCT source_id) AS n FROM occurrence");
    expect(sources.get()).toEqual({ n: 2 });
  });

  it("lets the thoughts of a deleted note decay and revives them when it is back", async () => {
    folder.write("A.md", "One.\n\nShared.\n");
    folder.write("B.md", "Shared.\n\nTwo.\n");
    await run();
    folder.remove("A.md");
    expect(await run()).toMatchObject({ errors: [] });
    expect(textsOf()).toEqual(["Shared.", "Two."]);
    expect([stateOf("One."), stateOf("Shared.")]).toEqual(["source_gone", "asserted"]);
    folder.write("A.md", "One.\n\nShared.\n");
    expect(await run()).toMatchObject({ thoughts: 0, reinforced: 2 });
    expect(textsOf()).toEqual(["One.", "Shared.", "Shared.", "Two."]);
    expect(stateOf("One.")).toBe("asserted");
  });

  it("ends what an emptied note held", async () => {
    folder.write("A.md", "One.\n");
    folder.write("B.md", "Two.\n");
    await run();
    folder.write("A.md", "");
    await run();
    expect(textsOf()).toEqual(["Two."]);
    expect(stateOf("One.")).toBe("source_gone");
  });

  it("notices a deletion from any folder above, and none when a single note is read", async () => {
    folder.write("v/sub/A.md", "One.\n");
    folder.write("v/sub/B.md", "Two.\n");
    await extract(brain, join(folder.path, "v"));
    folder.remove("v/sub/A.md");
    await extract(brain, join(folder.path, "v/sub/B.md"));
    expect(stateOf("One.")).toBe("asserted");
    await run();
    expect(stateOf("One.")).toBe("source_gone");
    expect(stateOf("Two.")).toBe("asserted");
  });

  it("takes nothing away for a folder or note that cannot be read", async () => {
    folder.write("shut/A.md", "One.\n");
    folder.write("open/B.md", "Two.\n");
    folder.write("open/C.md", "Three.\n");
    await run();
    const shut = join(folder.path, "shut");
    const note = join(folder.path, "open/B.md");
    chmodSync(folder.path, 0o755);
    chmodSync(shut, 0o000);
    chmodSync(note, 0o000);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect((await run()).errors).toEqual([
        { file: shut, line: null, rule: "no_permission" },
        { file: note, line: null, rule: "no_permission" },
      ]);
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(shut, 0o755);
      chmodSync(note, 0o644);
    }
    expect(textsOf().sort()).toEqual(["One.", "Three.", "Two."]);
    expect([stateOf("One."), stateOf("Two.")]).toEqual(["asserted", "asserted"]);
  });

  it("takes nothing away for notes that are ignored now", async () => {
    folder.write("A.md", "One.\n");
    folder.write("B.md", "Two.\n");
    await run();
    folder.write(".dormouseignore", "B.md\n");
    expect(await run()).toMatchObject({ files: 1 });
    expect(stateOf("Two.")).toBe("asserted");
  });

  it("takes nothing away when the whole folder is empty, as an unmounted disk is", async () => {
    folder.write("v/A.md", "One.\n");
    folder.write("v/B.md", "Two.\n");
    const vault = join(folder.path, "v");
    await extract(brain, vault);
    folder.remove("v");
    expect(await extract(brain, vault)).toMatchObject({ errors: [{ file: vault, rule: "not_found" }] });
    mkdirSync(vault);
    expect(await extract(brain, vault)).toMatchObject({ errors: [{ file: vault, rule: "empty_folder" }] });
    expect([stateOf("One."), stateOf("Two.")]).toEqual(["asserted", "asserted"]);
  });
});

describe("links between notes", () => {
  it("lead to the first thought of the note, heading or block they name", async () => {
    folder.write(
      "Index.md",
      "To [[beans]].\n\nTo [[Beans#Rows]].\n\nTo [[Beans#^deep]].\n\nTo [it](veg/Beans.md#rows).\n",
    );
    folder.write("veg/Beans.md", "First.\n\n## Rows\n\nIn rows.\n\nDeep. ^deep\n\nSee [[Index]] and [[#Rows]].\n");
    await run();
    expect(linkedTexts(brain.store, "To [[beans]].", "mention")).toEqual(["First."]);
    expect(linkedTexts(brain.store, "To [[Beans#Rows]].", "mention")).toEqual(["In rows."]);
    expect(linkedTexts(brain.store, "To [[Beans#^deep]].", "mention")).toEqual(["Deep. ^deep"]);
    expect(linkedTexts(brain.store, "To [it](veg/Beans.md#rows).", "mention")).toEqual(["In rows."]);
    expect(linkedTexts(brain.store, "See [[Index]] and [[#Rows]].", "mention")).toEqual(["In rows.", "To [[beans]]."]);
  });

  it("wait for a target that is written later, and are joined when it is met", async () => {
    folder.write("A.md", "---\nup: '[[Parent]]'\n---\nSee [[Later]] and ![[picture.png]].\n");
    await run();
    const counts = brain.store.connection.db.prepare("SELECT count(*) AS n, count(link_id) AS joined FROM mention");
    expect(counts.get()).toEqual({ n: 2, joined: 0 });
    folder.write("sub/Later.md", "Here.\n");
    await run();
    expect(counts.get()).toEqual({ n: 2, joined: 1 });
    expect(linkedTexts(brain.store, "See [[Later]] and ![[picture.png]].", "mention")).toEqual(["Here."]);
    folder.write("Parent.md", "Parent.\n");
    await extract(brain, join(folder.path, "Parent.md"));
    expect(counts.get()).toEqual({ n: 2, joined: 1 });
    await run();
    expect(counts.get()).toEqual({ n: 2, joined: 2 });
  });

  it("follow the target when its first paragraph changes", async () => {
    folder.write("A.md", "See [[B]].\n");
    folder.write("C.md", "See [[B#Rows]].\n");
    folder.write("B.md", "First.\n\n## Rows\n\nIn rows.\n");
    await run();
    folder.write("B.md", "New first.\n\n## Rows\n\nNow in lines.\n\nIn rows.\n");
    await run();
    expect(linkedTexts(brain.store, "See [[B]].", "mention")).toEqual(["New first."]);
    expect(linkedTexts(brain.store, "See [[B#Rows]].", "mention")).toEqual(["Now in lines."]);
  });

  it("are joined by the next run when a crash came in between", async () => {
    folder.write("A.md", "See [[B]].\n");
    folder.write("B.md", "Target.\n");
    await run();
    const expected = linkedTexts(brain.store, "See [[B]].", "mention");
    expect(expected).toEqual(["Target."]);
    const other = createTestStore();
    try {
      let calls = 0;
      const failing = {
        ...other.embedder,
        embedPassages: (texts: readonly string[]) => {
          calls += 1;
          return calls > 1 ? Promise.reject(new Error("the power went")) : other.embedder.embedPassages(texts);
        },
      };
      const options = { batchSize: 1 };
      await expect(runExtract(other.store, failing, [folder.path], options)).rejects.toThrow("the power went");
      expect(await runExtract(other.store, other.embedder, [folder.path], options)).toMatchObject({ thoughts: 1 });
      expect(linkedTexts(other.store, "See [[B]].", "mention")).toEqual(expected);
    } finally {
      other.close();
    }
  });

  it("of a note named alone are resolved in the vault around it", async () => {
    folder.write(".obsidian/app.json", "{}");
    folder.write("deep/er/Target.md", "Target.\n");
    await run();
    const file = folder.write("A.md", "See [[Target]].\n");
    expect(await extract(brain, file)).toMatchObject({ files: 1, thoughts: 1 });
    expect(linkedTexts(brain.store, "See [[Target]].", "mention")).toEqual(["Target."]);
  });
});

describe("any series of edits", () => {
  it("leaves what a fresh reading of the vault would hold, in its order, and nothing else visible", async () => {
    const paragraph = fc.constantFrom("Oak.", "Elm.", "Ash.", "Yew.", "Fir.", "Box.", "# Trees", "# Hedges");
    const note = fc.record({
      name: fc.constantFrom("A", "B", "sub/A", "sub/C"),
      paragraphs: fc.option(fc.array(paragraph, { maxLength: 6 }), { nil: null }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(note, { maxLength: 3 }), { minLength: 1, maxLength: 6 }), async (steps) => {
        const [brain, folder] = [createTestStore(), createTestFolder()];
        try {
          folder.write("Fixed.md", "Stays.\n");
          const notes = new Map<string, string[]>([["Fixed", ["Stays."]]]);
          for (const edits of steps) {
            for (const { name, paragraphs } of edits) {
              if (paragraphs !== null) folder.write(`${name}.md`, `${paragraphs.join("\n\n")}\n`);
              else if (notes.has(name)) folder.remove(`${name}.md`);
              if (paragraphs === null) notes.delete(name);
              else
                notes.set(
                  name,
                  paragraphs.filter((text) => !text.startsWith("#")),
                );
            }
            await runExtract(brain.store, brain.embedder, [folder.path], { batchSize: 2 });
            const bySource = brain.store.connection.db
              .prepare<[], { texts: string }>(
                `SELECT group_concat(text, ' ') AS texts FROM (
                   SELECT o.source_id, c.text FROM occurrence o JOIN node n ON n.id = o.node_id
                   JOIN readable_content c ON c.id = n.content_id WHERE o.ended_seq IS NULL
                   ORDER BY o.source_id, o.ordinal) GROUP BY source_id`,
              )
              .all()
              .map(({ texts }) => texts);
            const expected = [...notes.values()].filter(({ length }) => length > 0).map((texts) => texts.join(" "));
            expect(bySource.sort()).toEqual(expected.sort());
            const visible = brain.store.connection.db
              .prepare<[], { text: string }>(
                `SELECT c.text FROM node n JOIN readable_content c ON c.id = n.content_id
                 WHERE n.role = 1 AND n.decayed = 0 AND n.belief = 0`,
              )
              .all()
              .map(({ text }) => text);
            expect(visible.sort()).toEqual([...new Set([...notes.values()].flat())].sort());
          }
          expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
        } finally {
          brain.close();
          folder.close();
        }
      }),
      { numRuns: 40 },
    );
  }, 120_000);
});

describe("a dry run over a changed vault", () => {
  it("writes nothing, though notes were edited, renamed and deleted", async () => {
    folder.write("A.md", "One.\n\nTwo.\n");
    folder.write("B.md", "Three.\n\nFour.\n");
    folder.write("C.md", "Five.\n");
    await run();
    folder.write("A.md", "One.\n\nTwo, changed.\n");
    folder.remove("B.md");
    folder.write("New.md", "Three.\n\nFour.\n");
    folder.remove("C.md");
    folder.write("s.jsonl", personLine("Hello there."));
    const before = dumpTables(brain.store);
    const foreseen = await extract(brain, folder.path, { dryRun: true });
    expect(dumpTables(brain.store)).toBe(before);
    expect(await run()).toEqual(foreseen);
    expect(textsOf()).toEqual(["One.", "Two, changed.", "Three.", "Four.", "Hello there."]);
  });
});
