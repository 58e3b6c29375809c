import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createClaudeCodeReader } from "../../src/extract/claude-code.ts";
import type { Item } from "../../src/extract/format.ts";
import { readLines } from "../../src/extract/lines.ts";

const folder = join(process.env.DORMOUSE_SHARED ?? "", "samples/claude-code");

async function readSample(name: string, subagents = false): Promise<Item[]> {
  const path = join(folder, name);
  const reader = createClaudeCodeReader({ path, sessionFallback: "sample", subagents });
  const items: Item[] = [];
  for await (const line of readLines(path, 0)) items.push(...reader.read(line.text ?? "", line.number));
  return items;
}

function countItems(items: readonly Item[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) {
    const name = {
      turn: () => (item.type === "turn" ? (item.speaker ?? "") : ""),
      rewind: () => "rewind",
      skip: () => (item.type === "skip" ? item.reason : ""),
      fault: () => (item.type === "fault" ? `fault ${item.rule}` : ""),
    }[item.type]();
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/**
 * The lines on which the person speaks, by another route: no parser of blocks, a few looks at each raw line.
 * The text is what stands in the record's first text.
 */
function findHumanLines(name: string): [number, string][] {
  const found: [number, string][] = [];
  for (const [index, raw] of readFileSync(join(folder, name), "utf8").split("\n").entries()) {
    if (!/"type":\s?"user"/.test(raw) || /"(isMeta|isSidechain|isCompactSummary)":\s?true/.test(raw)) continue;
    if (/"type":\s?"progress"/.test(raw)) continue;
    if (/"(tool_use_id|toolUseResult|tool_result)":/.test(raw)) continue;
    const start = /"content":\s?(?:\[\{"type":\s?"text",\s?"text":\s?)?("(?:[^"\\]|\\.)*")/.exec(raw)?.[1];
    if (start === undefined) continue;
    const text = String(JSON.parse(start));
    const noise = /^(<command-|<local-command|<task-notification|\[Request interrupted|Caveat: The messages below)/;
    if (!noise.test(text)) found.push([index + 1, text.trim()]);
  }
  return found;
}

/** Checked by eye against the files: turns by speaker, skips by reason, faults by rule. */
const SAMPLES: Record<string, Record<string, number>> = {
  "ccl-edge_cases.jsonl": {
    User: 3,
    Assistant: 2,
    tool_use: 2,
    tool_result: 1,
    caveat: 1,
    command: 1,
    local_command: 1,
    summary: 1,
    "fault no_content": 1,
    "fault no_message": 1,
    "fault not_an_object": 3,
    "fault no_type": 1,
    "fault bad_block": 1,
  },
  "ccl-representative_messages.jsonl": { User: 4, Assistant: 3, tool_use: 2, tool_result: 2, summary: 1 },
  "ccl-session_b.jsonl": { User: 2, Assistant: 1 },
  "ccl-todowrite_examples.jsonl": { User: 2, Assistant: 3, tool_use: 3, tool_result: 3, summary: 1 },
  "simonw-sample_session.jsonl": { User: 2, Assistant: 2, tool_use: 1, tool_result: 2, summary: 1 },
  "polylogue-claude-normalization-main.jsonl": {
    User: 3,
    Assistant: 3,
    tool_result: 2,
    command: 1,
    meta: 1,
    interrupted: 1,
    queue_operation: 1,
    sidechain: 1,
  },
  "polylogue-normalization-lineage-subagent-acompact.jsonl": { sidechain: 2, summary: 1 },
  "codemie/incremental-turn-1.jsonl": {
    User: 1,
    Assistant: 2,
    thinking: 7,
    tool_use: 7,
    tool_result: 6,
    summary: 1,
    snapshot: 1,
  },
  "codemie/incremental-turn-2.jsonl": {
    User: 1,
    Assistant: 5,
    thinking: 11,
    tool_use: 14,
    tool_result: 14,
    summary: 1,
    snapshot: 2,
    system: 2,
  },
  "codemie/incremental-turn-2-agent-a485154.jsonl": { sidechain: 44, progress: 1 },
  "codemie/session-196820da.jsonl": {
    User: 13,
    Assistant: 21,
    thinking: 47,
    tool_use: 65,
    tool_result: 65,
    snapshot: 15,
    queue_operation: 4,
    meta: 1,
    command: 1,
    local_command: 1,
  },
  "codemie/session-3fe1b6bc.jsonl": {
    User: 8,
    Assistant: 31,
    thinking: 65,
    tool_use: 76,
    tool_result: 76,
    snapshot: 10,
    queue_operation: 3,
    meta: 3,
    command: 2,
    local_command: 1,
  },
  "codemie/session-624a4a58.jsonl": {
    User: 15,
    Assistant: 29,
    thinking: 55,
    tool_use: 48,
    tool_result: 48,
    snapshot: 18,
    queue_operation: 1,
    meta: 1,
    command: 1,
    local_command: 1,
    interrupted: 3,
    system: 1,
    compact_summary: 1,
  },
  "codemie/session-9eda1058.jsonl": {
    User: 3,
    Assistant: 5,
    thinking: 4,
    tool_use: 3,
    tool_result: 3,
    snapshot: 3,
    summary: 16,
    interrupted: 1,
    system: 2,
  },
  "spotter/4d5611e5-241a-462a-8d15-5122611a9569.jsonl": {
    User: 2,
    Assistant: 84,
    thinking: 14,
    tool_use: 150,
    tool_result: 150,
    snapshot: 14,
    progress: 1083,
    empty: 6,
    system: 6,
    queue_operation: 1,
    compact_summary: 1,
    task_notification: 1,
  },
  "spotter/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl": {
    User: 2,
    Assistant: 158,
    thinking: 6,
    tool_use: 242,
    tool_result: 242,
    snapshot: 26,
    progress: 1697,
    empty: 2,
    system: 5,
    meta: 2,
    compact_summary: 1,
    command: 1,
    local_command: 1,
  },
  "spotter/short.jsonl": {
    User: 1,
    Assistant: 1,
    thinking: 1,
    tool_use: 2,
    tool_result: 2,
    snapshot: 1,
    progress: 3,
    empty: 1,
    interrupted: 1,
    system: 2,
  },
  "spotter/subagent.jsonl": {
    User: 1,
    Assistant: 7,
    thinking: 4,
    tool_use: 16,
    tool_result: 16,
    snapshot: 3,
    progress: 44,
    empty: 1,
    command: 1,
    meta: 1,
    interrupted: 1,
    system: 1,
  },
  "spotter/tool_heavy.jsonl": {
    User: 2,
    Assistant: 1,
    thinking: 1,
    tool_use: 6,
    tool_result: 6,
    snapshot: 3,
    progress: 10,
    empty: 1,
    queue_operation: 2,
    meta: 1,
    command: 1,
    local_command: 1,
    interrupted: 2,
    system: 2,
  },
};

/** Prompts typed mid-turn that only the queue's records hold. */
const QUEUED: Record<string, [number, string][]> = {
  "codemie/session-624a4a58.jsonl": [[194, "no, add conversationId field, but set value from sessionId"]],
  "codemie/session-3fe1b6bc.jsonl": [[153, "check 019b7f07-4a68-7d10-a8ef-8454269f439d and event_msg type"]],
};

describe.skipIf(!process.env.DORMOUSE_SHARED)("Claude Code samples", () => {
  it.each(Object.keys(SAMPLES))("%s gives the counted turns, skips and faults", async (name) => {
    expect(countItems(await readSample(name))).toEqual(SAMPLES[name]);
  });

  it.each(Object.keys(SAMPLES))("%s gives each human message as a turn, and no other", async (name) => {
    const told: [number, string][] = [];
    for (const item of await readSample(name))
      if (item.type === "turn" && item.basis === "told") told.push([item.line, item.text]);
    const expected = [...findHumanLines(name), ...(QUEUED[name] ?? [])].sort(([left], [right]) => left - right);
    expect(told).toEqual(expected);
  });

  it.each(Object.keys(SAMPLES))("%s gives one turn, skip or fault a line, and no rewind", async (name) => {
    const items = await readSample(name);
    const lines = readFileSync(join(folder, name), "utf8")
      .split("\n")
      .filter((line) => line.trim() !== "");
    expect(items.map((item) => item.line)).toEqual(lines.map((_, index) => index + 1));
    expect(items.filter((item) => item.type === "rewind")).toEqual([]);
  });

  it("a session that grew repeats its first records and adds to them", async () => {
    const keysOf = (items: readonly Item[]): string[] =>
      items.flatMap((item) => (item.type === "turn" ? [item.recordKey] : []));
    const before = keysOf(await readSample("codemie/incremental-turn-1.jsonl"));
    const after = keysOf(await readSample("codemie/incremental-turn-2.jsonl"));
    expect(after.filter((key) => before.includes(key))).toEqual(before);
    expect([before.length, after.length]).toEqual([3, 6]);
  });

  it("a file of two sessions gives two sources, and two texts under one uuid two turns", async () => {
    const items = await readSample("polylogue-claude-normalization-main.jsonl");
    const turns = items.filter((item) => item.type === "turn");
    expect(new Set(turns.map((turn) => turn.source.key))).toEqual(
      new Set(["claude-code:claude-normalization-main", "claude-code:claude-normalization-other"]),
    );
    const twice = turns.filter((turn) => turn.recordKey === "claude-code:main-u1");
    expect(twice.map((turn) => turn.text)).toEqual([
      "Review the parser.",
      "Conflicting duplicate that must not survive.",
    ]);
  });

  it("pages that were fetched are cited by the text that came next, as untrusted", async () => {
    const items = await readSample("spotter/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl");
    const citing = items.flatMap((item) =>
      item.type === "turn" && item.cites.some((source) => source.type === "page")
        ? [[item.line, item.cites.filter((source) => source.trust === "untrusted").map((source) => source.name)]]
        : [],
    );
    const fetched = ["tool:WebFetch", "web:hexdocs.pm"];
    expect(citing).toEqual([
      [128, [...fetched, ...fetched]],
      [181, fetched],
      [1009, fetched],
    ]);
  });

  it("agent files are read on demand, and what compacts is not", async () => {
    const nested = "spotter/4d5611e5-241a-462a-8d15-5122611a9569/subagents";
    expect(countItems(await readSample(`${nested}/agent-a2898e3.jsonl`, true))).toEqual({
      Assistant: 8,
      tool_use: 33,
      tool_result: 33,
      progress: 70,
    });
    expect(countItems(await readSample(`${nested}/agent-acompact-e1f845.jsonl`, true))).toEqual({ compact_summary: 5 });
    expect(countItems(await readSample("codemie/incremental-turn-2-agent-a485154.jsonl", true))).toEqual({
      Assistant: 4,
      tool_use: 20,
      tool_result: 20,
      progress: 1,
    });
  });
});
