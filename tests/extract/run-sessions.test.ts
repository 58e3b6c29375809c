import { spawn } from "node:child_process";
import { chmodSync, renameSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Embedder } from "../../src/core/ports.ts";
import { DECAY_REASONS } from "../../src/core/types.ts";
import { runExtract } from "../../src/extract/run.ts";
import { digestValue } from "../../src/remember/remember.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { assistantLine, callLine, personLine, resultLine } from "../support/claude-lines.ts";
import {
  createTestFolder,
  dumpTables,
  extract,
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
  brain.close();
  folder.close();
});

const textsOf = (): string[] => standingTexts(brain.store).map(({ text }) => text);

/** Works for so many calls and then fails, as a process does that is killed between two batches. */
function failAfter(embedder: Embedder, calls: number): Embedder {
  let left = calls;
  return {
    model: embedder.model,
    embedQuery: (text) => embedder.embedQuery(text),
    embedPassages: (texts) => {
      left -= 1;
      return left < 0 ? Promise.reject(new Error("the power went")) : embedder.embedPassages(texts);
    },
  };
}

describe("a growing session", () => {
  it("yields what was said, and when read again only what is new", async () => {
    const file = folder.write("a.jsonl", personLine("Plant the beans.") + assistantLine("They go by the wall."));
    expect(await extract(brain, file)).toEqual({
      files: 1,
      records: 2,
      thoughts: 2,
      reinforced: 0,
      risen: 0,
      skipped: {},
      errors: [],
    });
    expect(await extract(brain, file)).toMatchObject({ files: 1, records: 0, skipped: { unchanged: 1 } });
    folder.append("a.jsonl", personLine("And the peas?"));
    expect(await extract(brain, file)).toMatchObject({ records: 1, thoughts: 1, reinforced: 0, skipped: {} });
    expect(standingTexts(brain.store).map(({ text, speaker }) => [speaker, text])).toEqual([
      ["User", "Plant the beans."],
      ["Assistant", "They go by the wall."],
      ["User", "And the peas?"],
    ]);
  });

  it("keeps kind, domain, referent time and trust of what was said", async () => {
    const at = "2026-02-03T10:00:00.000Z";
    await extract(brain, folder.write("a.jsonl", personLine("Plant the beans.", { at }) + assistantLine("Done.")));
    const person = brain.store.thoughts.detail(nodeOfText(brain.store, "Plant the beans."));
    expect(person).toMatchObject({
      kind: "observation",
      domain: "garden",
      basis: "told",
      trust: "trusted",
      referent: { from: at, to: at },
    });
    const assistant = brain.store.thoughts.detail(nodeOfText(brain.store, "Done."));
    expect(assistant).toMatchObject({ basis: "generated", trust: "unknown" });
  });

  it("does not change the kind of a thought that was known before", async () => {
    await brain.remember({ content: "Plant the beans.", kind: "decision", speaker: "User" });
    await extract(brain, folder.write("a.jsonl", personLine("Plant the beans.")));
    const node = nodeOfText(brain.store, "Plant the beans.");
    expect(brain.store.thoughts.detail(node).kind).toBe("decision");
    expect(brain.store.occurrences.sample(node, 100)).toHaveLength(2);
  });

  it("leaves a truncated last line for next time and passes it over in silence", async () => {
    const [first, second] = [personLine("Plant the beans."), assistantLine("They go by the wall.")];
    const file = folder.write("a.jsonl", first + second.slice(0, 60));
    expect(await extract(brain, file)).toMatchObject({ records: 1, errors: [], skipped: { partial_line: 1 } });
    folder.append("a.jsonl", second.slice(60));
    expect(await extract(brain, file)).toMatchObject({ records: 1, thoughts: 1, errors: [], skipped: {} });
    expect(textsOf()).toEqual(["Plant the beans.", "They go by the wall."]);
  });

  it("reads a whole last line without a line break once", async () => {
    const file = folder.write("a.jsonl", personLine("Plant the beans.") + personLine("And the peas?").trimEnd());
    expect(await extract(brain, file)).toMatchObject({ thoughts: 2 });
    folder.append("a.jsonl", `\n${personLine("And the kale?")}`);
    expect(await extract(brain, file)).toMatchObject({ thoughts: 1, reinforced: 0, skipped: { known: 1 } });
    expect(textsOf()).toEqual(["Plant the beans.", "And the peas?", "And the kale?"]);
  });

  it("reads a shrunk or replaced file from its start and adds only what is new", async () => {
    const lines = [personLine("Plant the beans."), personLine("And the peas?"), personLine("And the kale?")];
    const file = folder.write("a.jsonl", lines.join(""));
    await extract(brain, file);
    folder.write("a.jsonl", lines[0] ?? "");
    expect(await extract(brain, file)).toMatchObject({ thoughts: 0, skipped: { known: 1 } });
    const replaced = personLine("Something else entirely, and longer than what was there before it.");
    folder.write("a.jsonl", replaced + lines.join("") + lines.join(""));
    expect(await extract(brain, file)).toMatchObject({ thoughts: 1, reinforced: 0, skipped: { known: 6 } });
  });

  it("notices that earlier lines changed although the file only seems to have grown", async () => {
    const padding = Array.from({ length: 200 }, (_, index) => personLine(`Row ${index} of the garden is ready.`));
    const file = folder.write("a.jsonl", padding.join("") + personLine("Plant the beans."));
    await extract(brain, file);
    folder.write("a.jsonl", padding.join("") + personLine("Plant the peas instead.") + personLine("Plant the beans."));
    expect(await extract(brain, file)).toMatchObject({ thoughts: 1 });
    expect(textsOf()).toContain("Plant the peas instead.");
  });

  it("reads a file again whose time changed but not its length", async () => {
    const file = folder.write("a.jsonl", personLine("Plant the beans."));
    await extract(brain, file);
    utimesSync(file, new Date(), new Date("2026-05-01T00:00:00Z"));
    expect(await extract(brain, file)).toMatchObject({ records: 1, thoughts: 0, skipped: { known: 1 } });
  });

  it("adds nothing for a copy of the session under another name", async () => {
    const lines = personLine("Plant the beans.") + assistantLine("They go by the wall.");
    await extract(brain, folder.write("a.jsonl", lines));
    const copy = folder.write("b.jsonl", lines + personLine("And the peas?"));
    expect(await extract(brain, copy)).toMatchObject({ thoughts: 1, skipped: { known: 2 } });
  });

  it("keeps everything when the file vanishes", async () => {
    folder.write("a.jsonl", personLine("Plant the beans."));
    await extract(brain, folder.path);
    folder.remove("a.jsonl");
    expect(await extract(brain, folder.path)).toMatchObject({ files: 0, errors: [] });
    expect(standingTexts(brain.store)).toMatchObject([{ text: "Plant the beans.", visible: true }]);
  });

  it("makes one thought with several occurrences of a repeated yes, one for each speaker", async () => {
    const lines = [personLine("yes"), assistantLine("yes"), personLine("yes"), personLine("Yes")];
    const report = await extract(brain, folder.write("a.jsonl", lines.join("")));
    expect(report).toMatchObject({ records: 4, thoughts: 3, reinforced: 1 });
    const standing = standingTexts(brain.store);
    expect(standing).toHaveLength(4);
    expect(standing[0]?.node).toBe(standing[2]?.node);
    expect(new Set(standing.map(({ node }) => node)).size).toBe(3);
  });

  it("cuts a long text into chunks that follow each other and are each known again", async () => {
    const sentences = Array.from({ length: 120 }, (_, index) => `Bed number ${index} gets compost in the spring.`);
    const file = folder.write("a.jsonl", personLine(sentences.join(" ")) + personLine("Good."));
    const report = await extract(brain, file);
    expect(report.records).toBe(2);
    expect(report.thoughts).toBeGreaterThan(4);
    const texts = textsOf();
    expect(texts.slice(0, -1).join(" ")).toBe(sentences.join(" "));
    expect(texts.every((text) => text.length <= 1200)).toBe(true);
    utimesSync(file, new Date(), new Date("2026-05-01T00:00:00Z"));
    expect(await extract(brain, file)).toMatchObject({
      thoughts: 0,
      reinforced: 0,
      risen: 0,
      skipped: { known: report.thoughts },
    });
  });
});

describe("a rewind", () => {
  const question = personLine("Plant the beans.", { uuid: "u1" });
  const answer = assistantLine("By the wall.", { uuid: "a1", parent: "u1" });
  const abandoned = personLine("No, by the gate.", { uuid: "u2", parent: "a1", at: "2026-02-03T10:01:00.000Z" });
  const abandonedAnswer = assistantLine("By the gate then.", { uuid: "a2", parent: "u2" });
  const again = personLine("Fine, and water them.", { uuid: "u3", parent: "a1", at: "2026-02-03T10:02:00.000Z" });
  const end = assistantLine("Watered.", { uuid: "a3", parent: "u3" });

  const threads = (): [number, string][] => standingTexts(brain.store).map(({ thread, text }) => [thread, text]);
  const expected = [
    [0, "Plant the beans."],
    [0, "By the wall."],
    [0, "Fine, and water them."],
    [0, "Watered."],
    [1, "No, by the gate."],
    [1, "By the gate then."],
  ];

  it("keeps both branches and joins only the later one to what came before", async () => {
    const file = folder.write("a.jsonl", [question, answer, abandoned, abandonedAnswer, again, end].join(""));
    await extract(brain, file);
    expect(threads()).toEqual(expected);
    utimesSync(file, new Date(), new Date("2026-05-01T00:00:00Z"));
    await extract(brain, file);
    expect(threads()).toEqual(expected);
  });

  it("is understood when it is appended after the session was read", async () => {
    const file = folder.write("a.jsonl", [question, answer, abandoned, abandonedAnswer].join(""));
    await extract(brain, file);
    folder.append("a.jsonl", again + end);
    expect(await extract(brain, file)).toMatchObject({ thoughts: 2 });
    expect(threads()).toEqual(expected);
    expect(brain.store.ledger.list({ limit: 100 }).filter(({ kind }) => kind === "thread.split")).toHaveLength(1);
  });
});

describe("tool results", () => {
  it("are sources without text, cited by the assistant's next text only", async () => {
    const lines = [
      personLine("What does the page say?"),
      callLine("t1", "WebFetch", { url: "https://example.org/beans" }),
      resultLine("t1", "SECRET PAGE WORDS"),
      assistantLine("It says to soak them."),
      assistantLine("Anything else?"),
      callLine("t2", "Read", { file_path: "/x" }),
      resultLine("t2", "FILE WORDS"),
      assistantLine("The file agrees."),
    ];
    await extract(brain, folder.write("a.jsonl", lines.join("")));
    const parents = (text: string): string[] => {
      const node = nodeOfText(brain.store, text);
      const legs = brain.store.legs.sample(node, 100, 100);
      return legs.flatMap(({ parentIds }) => parentIds.map((id) => brain.store.sources.get(id)?.name ?? "?")).sort();
    };
    const session = "claude-code garden 2026-02-03";
    expect(parents("It says to soak them.")).toEqual([session, "model:model-a", "tool:WebFetch", "web:example.org"]);
    expect(parents("Anything else?")).toEqual([session, "model:model-a"]);
    expect(parents("The file agrees.")).toEqual([session, "model:model-a", "tool:Read"]);
    const trust = (text: string) => brain.store.thoughts.detail(nodeOfText(brain.store, text)).trust;
    expect(trust("It says to soak them.")).toBe("untrusted");
    expect(trust("Anything else?")).toBe("unknown");
    expect(trust("The file agrees.")).toBe("unknown");
    const bodies = brain.store.connection.db.prepare("SELECT text FROM readable_content").all();
    expect(JSON.stringify(bodies)).not.toMatch(/SECRET PAGE WORDS|FILE WORDS/);
  });

  it("are still cited by a text that was appended after the session was read", async () => {
    const lines = [
      personLine("What does the page say?"),
      callLine("t1", "WebFetch", { url: "https://example.org/beans" }),
      resultLine("t1", "words"),
    ];
    const file = folder.write("a.jsonl", lines.join(""));
    await extract(brain, file);
    folder.append("a.jsonl", assistantLine("It says to soak them."));
    expect(await extract(brain, file)).toMatchObject({ thoughts: 1 });
    expect(brain.store.thoughts.detail(nodeOfText(brain.store, "It says to soak them.")).trust).toBe("untrusted");
  });
});

describe("what goes wrong", () => {
  it("names file and line of a broken record and reads the rest", async () => {
    const file = folder.write("a.jsonl", `${personLine("Plant the beans.")}{"type": broken}\n${personLine("Peas.")}`);
    expect(await extract(brain, file)).toMatchObject({
      records: 2,
      thoughts: 2,
      errors: [{ file, line: 2, rule: "invalid_json" }],
    });
  });

  it("names a missing path and goes on with the others", async () => {
    const file = folder.write("a.jsonl", personLine("Plant the beans."));
    const missing = join(folder.path, "gone.jsonl");
    const report = await runExtract(brain.store, brain.embedder, [missing, file]);
    expect(report).toMatchObject({ files: 1, thoughts: 1, errors: [{ file: missing, line: null, rule: "not_found" }] });
  });

  it("refuses other formats by name when they are named, and counts them when met in a folder", async () => {
    const codex = folder.write("codex.jsonl", '{"timestamp":"x","type":"session_meta","payload":{}}\n');
    const empty = folder.write("empty.jsonl", "");
    const binary = folder.write("binary.txt", Buffer.from([1, 0, 2]));
    folder.write("picture.png", Buffer.from([1, 0, 2]));
    for (const [file, rule] of [
      [codex, "codex"],
      [empty, "empty"],
      [binary, "binary"],
    ] as const) {
      expect(await extract(brain, file)).toMatchObject({ files: 0, records: 0, errors: [{ file, rule }] });
    }
    expect(await extract(brain, folder.path)).toMatchObject({
      errors: [],
      skipped: { codex: 1, empty: 1, binary: 1, other_file: 1 },
    });
  });

  it("throws for an unknown scope before it reads anything", async () => {
    const file = folder.write("a.jsonl", personLine("Plant the beans."));
    const before = dumpTables(brain.store);
    await expect(extract(brain, file, { scope: "nowhere" })).rejects.toMatchObject({ code: "unknown_scope" });
    expect(dumpTables(brain.store)).toBe(before);
  });

  it("stores a text with a NUL and lone surrogates instead of failing its batch", async () => {
    const lines = personLine("Plant\u0000the beans \ud800.") + personLine("\u200b\u0001") + personLine("Peas.");
    expect(await extract(brain, folder.write("a.jsonl", lines))).toMatchObject({ thoughts: 2, skipped: { empty: 1 } });
    expect(textsOf()).toEqual(["Plant\uFFFDthe beans \uFFFD.", "Peas."]);
  });

  it("cuts labels that are too long and leaves out empty ones", async () => {
    const record = {
      content: "Plant the beans.",
      kind: "k".repeat(500),
      tags: ["t".repeat(999), " ", "ok"],
      domain: "",
    };
    await extract(brain, folder.write("a.jsonl", `${JSON.stringify(record)}\n`));
    const detail = brain.store.thoughts.detail(nodeOfText(brain.store, "Plant the beans."));
    expect(detail.kind).toHaveLength(400);
    expect(detail.tags.map(({ length }) => length)).toEqual([400, 2]);
  });

  it("reports a file and a folder without rights and reads the rest", async () => {
    folder.write("open/a.jsonl", personLine("Plant the beans."));
    const file = folder.write("open/shut.jsonl", personLine("Peas."));
    folder.write("shut/b.jsonl", personLine("Kale."));
    const shut = join(folder.path, "shut");
    chmodSync(file, 0o000);
    chmodSync(shut, 0o000);
    chmodSync(folder.path, 0o755);
    const isRoot = process.geteuid?.() === 0;
    // The brain is open already; only what is opened from here on meets the missing rights.
    if (isRoot) process.seteuid?.(65_534);
    try {
      const report = await extract(brain, folder.path);
      expect(report).toMatchObject({ files: 1, thoughts: 1 });
      expect(report.errors).toEqual([
        { file: shut, line: null, rule: "no_permission" },
        { file, line: null, rule: "no_permission" },
      ]);
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(shut, 0o755);
    }
  });
});

describe("crash and resume", () => {
  const lines = Array.from({ length: 60 }, (_, index) =>
    [
      personLine(`Question ${index}: how is bed ${index}?`, { uuid: `q${index}`, parent: `a${index - 1}` }),
      callLine(`t${index}`, index % 3 === 0 ? "WebFetch" : "Read", { url: `https://example.org/${index}` }),
      resultLine(`t${index}`, "words"),
      assistantLine(`Answer ${index}: it is fine.`, { uuid: `a${index}`, parent: `q${index}` }),
    ].join(""),
  ).join("");

  const shape = (store: TestStore["store"]) => ({
    texts: standingTexts(store).map(({ node: _, ...rest }) => rest),
    trusts: standingTexts(store).map(({ text }) => store.thoughts.detail(nodeOfText(store, text)).trust),
    cursors: store.connection.db.prepare("SELECT offset, line, size FROM extract_cursor").all(),
    sources: store.connection.db.prepare("SELECT count(*) AS n FROM source").get(),
  });

  it("comes to the same brain however many batches were stored before the crash", async () => {
    const file = folder.write("a.jsonl", lines);
    await extract(brain, file, { batchSize: 8 });
    const undisturbed = shape(brain.store);
    expect(undisturbed.texts).toHaveLength(120);
    for (const calls of [0, 1, 4, 9, 14]) {
      const other = createTestStore();
      try {
        const run = (embedder: Embedder) => runExtract(other.store, embedder, [file], { batchSize: 8 });
        await expect(run(failAfter(other.embedder, calls))).rejects.toThrow("the power went");
        const stored = standingTexts(other.store).length;
        expect(stored).toBeLessThan(120);
        const report = await run(other.embedder);
        expect(report.thoughts).toBe(120 - stored);
        expect(shape(other.store)).toEqual(undisturbed);
      } finally {
        other.close();
      }
    }
  });

  it("saves a place with every batch that a later run goes on from", async () => {
    const file = folder.write("a.jsonl", lines);
    await expect(runExtract(brain.store, failAfter(brain.embedder, 5), [file], { batchSize: 8 })).rejects.toThrow(
      "the power went",
    );
    const { offset } = brain.store.connection.db.prepare("SELECT offset FROM extract_cursor").get() as {
      offset: number;
    };
    expect(offset).toBeGreaterThan(lines.length / 4);
    const report = await extract(brain, file, { batchSize: 8 });
    expect(report.skipped.known ?? 0).toBeLessThan(8);
  });

  it("doubles nothing when two processes read the same folder at once", async () => {
    folder.write("a.jsonl", lines);
    folder.write("vault/Note.md", "# One\n\nFirst.\n\nSecond.\n\n# Two\n\nThird with [[Other]].\n");
    folder.write("vault/Other.md", "Fourth.\n\nFifth.\n");
    brain.store.close();
    const program = fileURLToPath(new URL("../support/extract-process.ts", import.meta.url));
    const run = (): Promise<number | null> =>
      new Promise((resolve) => {
        const child = spawn(process.execPath, ["--import", "tsx", program, brain.path, folder.path], {
          stdio: "inherit",
        });
        child.on("exit", resolve);
      });
    expect(await Promise.all([run(), run()])).toEqual([0, 0]);
    const reopened = createTestStore({ path: brain.path });
    try {
      expect(standingTexts(reopened.store, /^claude-code/)).toHaveLength(120);
      expect(
        standingTexts(reopened.store, /^(One|Other)/)
          .map(({ text }) => text)
          .sort(),
      ).toEqual(["Fifth.", "First.", "Fourth.", "Second.", "Third with [[Other]]."]);
      const mentions = reopened.store.connection.db.prepare(
        "SELECT count(*) AS n, count(link_id) AS joined FROM mention",
      );
      expect(mentions.get()).toEqual({ n: 1, joined: 1 });
    } finally {
      reopened.close();
    }
  }, 60_000);
});

describe("folders", () => {
  it("leaves out what subagents said unless asked for", async () => {
    const agent = (text: string) =>
      personLine(text).replace('"isSidechain":false', '"isSidechain":true,"agentId":"x1"');
    folder.write("p/s.jsonl", personLine("Plant the beans."));
    folder.write("p/agent-x1.jsonl", agent("Look for beans."));
    folder.write("p/s/subagents/agent-x2.jsonl", agent("Look for peas."));
    expect(await extract(brain, folder.path)).toMatchObject({ files: 1, thoughts: 1, skipped: { subagent: 2 } });
    const report = await extract(brain, folder.path, { subagents: true });
    expect(report).toMatchObject({ files: 3, thoughts: 2, skipped: { known: 1 } });
    expect(
      standingTexts(brain.store, /agent/)
        .map(({ text }) => text)
        .sort(),
    ).toEqual(["Look for beans.", "Look for peas."]);
  });

  it("reads a file once that several paths lead to", async () => {
    const file = folder.write("a.txt", "Plant the beans.\n\nAnd the peas.");
    symlinkSync(file, join(folder.path, "b.txt"));
    const report = await runExtract(brain.store, brain.embedder, [file, folder.path, join(folder.path, "b.txt")]);
    expect(report).toMatchObject({ files: 1, records: 2, thoughts: 2 });
  });

  it("reads only files of the format that was asked for", async () => {
    folder.write("a.jsonl", personLine("Plant the beans."));
    folder.write("b.jsonl", '{"role":"user","content":"Peas."}\n');
    folder.write("c.txt", "Kale.");
    folder.write("d.md", "Leek.");
    expect(await extract(brain, folder.path, { format: "jsonl" })).toMatchObject({
      files: 1,
      skipped: { other_format: 3 },
    });
    expect(textsOf()).toEqual(["Peas."]);
  });

  it("tells how many bytes are done and ends with all of them", async () => {
    folder.write("a.jsonl", personLine("Plant the beans."));
    folder.write("b.md", "Peas.");
    const seen: { done: number; total: number | null }[] = [];
    await extract(brain, folder.path, { onProgress: ({ done, total }) => seen.push({ done, total }) });
    const total = personLine("Plant the beans.").length + 5;
    expect(seen.at(-1)).toEqual({ done: total, total });
  });
});

describe("text and standard input", () => {
  it("reads paragraphs of a text and, after an edit, only the new ones", async () => {
    const file = folder.write("a.txt", "\uFEFFBeans by the wall.\r\n\r\nPeas by the gate.\r\n");
    expect(await extract(brain, file)).toMatchObject({ records: 2, thoughts: 2 });
    folder.write("a.txt", "Beans by the wall.\n\nKale in the middle.\n\nPeas by the gate.\n");
    expect(await extract(brain, file)).toMatchObject({ thoughts: 1, skipped: { known: 2 } });
  });

  it("reads records and text from standard input, and the same input again adds nothing", async () => {
    const pipe = (text: string) => Readable.from([Buffer.from(text.slice(0, 7)), Buffer.from(text.slice(7))]);
    const text = "Beans by the wall.\n\nPeas by the gate.";
    expect(await extract(brain, "-", { stdin: pipe(text) })).toMatchObject({ files: 1, records: 2, thoughts: 2 });
    expect(await extract(brain, "-", { stdin: pipe(text) })).toMatchObject({ thoughts: 0, skipped: { known: 2 } });
    const records = '{"role":"user","content":"Kale."}\n{"role":"user","content":"Leek."}';
    expect(await extract(brain, "-", { stdin: pipe(records) })).toMatchObject({ records: 2, thoughts: 2 });
    expect(await extract(brain, "-", { stdin: pipe("") })).toMatchObject({ errors: [{ file: "-", rule: "empty" }] });
    expect(textsOf()).toEqual(["Beans by the wall.", "Peas by the gate.", "Kale.", "Leek."]);
  });

  it("gives every thought the domain and scope that were asked for", async () => {
    const file = folder.write("a.jsonl", personLine("Plant the beans."));
    await extract(brain, file, { domain: "allotment", scope: "work" });
    const detail = brain.store.thoughts.detail(nodeOfText(brain.store, "Plant the beans."));
    expect(detail).toMatchObject({ domain: "allotment", scope: "work" });
  });
});

describe("scopes", () => {
  it("are not pulled along by a model that was met in a stricter one before", async () => {
    const secret = folder.write("a.jsonl", personLine("Mine.") + assistantLine("Yours alone."));
    await extract(brain, secret, { scope: "secret" });
    const file = folder.write(
      "b.jsonl",
      personLine("Ours.", { session: "s2" }) + assistantLine("Noted.", { session: "s2" }),
    );
    await extract(brain, file, { scope: "work" });
    const scopeOf = (text: string) => brain.store.thoughts.detail(nodeOfText(brain.store, text)).scope;
    expect(["Mine.", "Yours alone.", "Ours.", "Noted."].map(scopeOf)).toEqual(["secret", "secret", "work", "work"]);
  });
});

describe("a dry run", () => {
  it("says what would be stored and writes nothing at all", async () => {
    await extract(brain, folder.write("known.jsonl", personLine("yes") + personLine("Plant the beans.")));
    folder.append("known.jsonl", personLine("yes") + personLine("And the peas?"));
    folder.write("vault/Note.md", "First.\n\nSecond with [[Other]].\n");
    folder.write("vault/Other.md", "Second with [[Other]].\n");
    const before = dumpTables(brain.store);
    const foreseen = await extract(brain, folder.path, { dryRun: true });
    expect(dumpTables(brain.store)).toBe(before);
    expect(foreseen).toMatchObject({ thoughts: 3, reinforced: 2, errors: [] });
    const done = await extract(brain, folder.path);
    expect(done).toEqual(foreseen);
    expect(dumpTables(brain.store)).not.toBe(before);
  });

  it("foresees what is refused, by reason", async () => {
    const { store } = brain;
    await extract(brain, folder.write("a.jsonl", personLine("Plant the beans.")));
    const nodeId = nodeOfText(store, "Plant the beans.");
    store.write(() => {
      store.ledger.record({
        kind: "decayed",
        actor: "person",
        payload: { node: store.thoughts.publicId(nodeId) },
        changes: [{ nodeId, axis: "decayed", to: DECAY_REASONS.indexOf("forgotten") }],
      });
      store.tombstones.add(store.scopes.idOf(), digestValue(store, "User", "And the peas?"), "person");
    });
    const file = folder.write("b.jsonl", personLine("Plant the beans.") + personLine("And the peas?"));
    const foreseen = await extract(brain, file, { dryRun: true });
    expect(foreseen).toMatchObject({ thoughts: 0, reinforced: 0, skipped: { forgotten: 1, tombstone: 1 } });
    expect(await extract(brain, file)).toEqual(foreseen);
  });
});

describe("moving a session file", () => {
  it("adds nothing and loses nothing", async () => {
    const file = folder.write("a.jsonl", personLine("Plant the beans."));
    await extract(brain, file);
    const moved = join(folder.path, "b.jsonl");
    renameSync(file, moved);
    expect(await extract(brain, moved)).toMatchObject({ thoughts: 0, skipped: { known: 1 } });
  });
});
