import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createTestFolder, extract, standingTexts } from "../support/extract.ts";

const shared = process.env.DORMOUSE_SHARED ?? "";
const samples = join(shared, "samples");

describe.skipIf(!process.env.DORMOUSE_SHARED)("real samples", () => {
  let brain: TestStore;
  beforeEach(() => {
    brain = createTestStore();
  });
  afterEach(() => {
    const broken = checkIntegrity(brain.store).filter(({ violations }) => violations > 0);
    brain.close();
    expect(broken).toEqual([]);
  });

  const countSources = (): number => {
    const row = brain.store.connection.db.prepare<[], { n: number }>("SELECT count(*) AS n FROM source").get();
    return row?.n ?? 0;
  };

  it.each([
    ["ccl-edge_cases.jsonl", { records: 5, thoughts: 5, reinforced: 0, errors: 7, sources: 3 }],
    ["ccl-representative_messages.jsonl", { records: 7, thoughts: 7, reinforced: 0, errors: 0, sources: 4 }],
    ["ccl-session_b.jsonl", { records: 3, thoughts: 3, reinforced: 0, errors: 0, sources: 2 }],
    ["ccl-todowrite_examples.jsonl", { records: 5, thoughts: 5, reinforced: 0, errors: 0, sources: 4 }],
    ["codemie/incremental-turn-2.jsonl", { records: 6, thoughts: 8, reinforced: 0, errors: 0, sources: 16 }],
    ["codemie/session-196820da.jsonl", { records: 34, thoughts: 144, reinforced: 0, errors: 0, sources: 67 }],
    ["codemie/session-3fe1b6bc.jsonl", { records: 39, thoughts: 54, reinforced: 0, errors: 0, sources: 78 }],
    ["codemie/session-624a4a58.jsonl", { records: 44, thoughts: 81, reinforced: 0, errors: 0, sources: 50 }],
    ["codemie/session-9eda1058.jsonl", { records: 8, thoughts: 12, reinforced: 0, errors: 0, sources: 5 }],
    ["polylogue-claude-normalization-main.jsonl", { records: 6, thoughts: 6, reinforced: 0, errors: 0, sources: 5 }],
    ["simonw-sample_session.jsonl", { records: 4, thoughts: 4, reinforced: 0, errors: 0, sources: 4 }],
    [
      "spotter/4d5611e5-241a-462a-8d15-5122611a9569.jsonl",
      { records: 86, thoughts: 87, reinforced: 0, errors: 0, sources: 152 },
    ],
    [
      "spotter/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
      { records: 160, thoughts: 160, reinforced: 1, errors: 0, sources: 249 },
    ],
    ["spotter/short.jsonl", { records: 2, thoughts: 2, reinforced: 0, errors: 0, sources: 2 }],
    ["spotter/subagent.jsonl", { records: 8, thoughts: 10, reinforced: 0, errors: 0, sources: 24 }],
    ["spotter/tool_heavy.jsonl", { records: 3, thoughts: 3, reinforced: 0, errors: 0, sources: 3 }],
  ])("holds what %s says, once", async (name, expected) => {
    const file = join(samples, "claude-code", name);
    const report = await extract(brain, file);
    const { records, thoughts, reinforced, errors } = report;
    expect({ records, thoughts, reinforced, errors: errors.length, sources: countSources() }).toEqual(expected);
    expect(standingTexts(brain.store)).toHaveLength(thoughts + reinforced);
    expect(await extract(brain, file)).toMatchObject({ files: 1, records: 0, thoughts: 0, skipped: { unchanged: 1 } });
  });

  it("reads the whole folder, then nothing more, then what subagents said", async () => {
    const folder = join(samples, "claude-code");
    const first = await extract(brain, folder);
    expect(first).toMatchObject({ files: 20, records: 430, thoughts: 598, reinforced: 1 });
    expect(first.skipped).toMatchObject({ known: 3, subagent: 2, progress: 2838, tool_result: 638 });
    expect(first.errors).toHaveLength(7);
    expect(await extract(brain, folder)).toMatchObject({ records: 0, thoughts: 0, skipped: { unchanged: 20 } });
    const again = await extract(brain, folder, { subagents: true });
    // One of the 20 is a README of 7 paragraphs, unchanged now; the rest is read again for what was passed over.
    expect(again).toMatchObject({ files: 22, records: 438, thoughts: 30, skipped: { known: 595, unchanged: 1 } });
  });

  it("yields only what is new of a session that grew", async () => {
    const folder = createTestFolder();
    try {
      const file = join(folder.path, "session.jsonl");
      copyFileSync(join(samples, "claude-code/codemie/incremental-turn-1.jsonl"), file);
      expect(await extract(brain, file)).toMatchObject({ records: 3, thoughts: 3, reinforced: 0 });
      copyFileSync(join(samples, "claude-code/codemie/incremental-turn-2.jsonl"), file);
      expect(await extract(brain, file)).toMatchObject({ thoughts: 5, reinforced: 0, skipped: { known: 3 } });
    } finally {
      folder.close();
    }
  });

  it.each([
    [
      "foam-docs",
      { files: 86, records: 1466, thoughts: 1432, reinforced: 34, risen: 0, skipped: {} },
      { mentions: 267, joined: 257 },
    ],
    [
      "kepano-obsidian",
      {
        files: 51,
        records: 91,
        thoughts: 91,
        reinforced: 0,
        risen: 0,
        skipped: { no_text: 40, other_file: 32, template: 52 },
      },
      { mentions: 48, joined: 4 },
    ],
  ])("holds every paragraph and link of the vault %s, once", async (name, expected, links) => {
    const vault = join(samples, "vaults", name);
    expect(await extract(brain, vault)).toEqual({ ...expected, errors: [] });
    const counts = brain.store.connection.db.prepare(
      "SELECT count(*) AS mentions, count(link_id) AS joined FROM mention",
    );
    expect(counts.get()).toEqual(links);
    expect(await extract(brain, vault)).toMatchObject({ records: 0, thoughts: 0, reinforced: 0 });
    expect(counts.get()).toEqual(links);
  });

  it("refuses the other tools' formats by name", async () => {
    const report = await extract(brain, samples);
    expect(report.skipped).toMatchObject({ codex: 8, chatgpt: 4, "claude-ai": 2, gemini: 1, pi: 2 });
  });
});
