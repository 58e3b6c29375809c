import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { DETECT_HEAD_BYTES, detectFormat } from "../../src/extract/detect.ts";

function detect(path: string, ...lines: unknown[]): string {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  return detectBytes(path, Buffer.from(text));
}

function detectBytes(path: string, bytes: Buffer): string {
  const found = detectFormat(path, bytes.subarray(0, DETECT_HEAD_BYTES));
  return typeof found === "string" ? found : `refused ${found.refused}`;
}

const message = { role: "user", content: "Beans." };

describe("detectFormat", () => {
  it("knows Claude Code by its records, whatever the first one is", () => {
    const firsts = [
      { type: "user", uuid: "u", message },
      { type: "assistant", sessionId: "s", message },
      { type: "summary", summary: "Beans", leafUuid: "u" },
      { type: "file-history-snapshot", messageId: "m", snapshot: {} },
      { type: "queue-operation", operation: "enqueue", sessionId: "s" },
      { type: "permission-mode", permissionMode: "plan", sessionId: "s" },
      { type: "progress", sessionId: "s", data: {} },
    ];
    for (const first of firsts) expect(detect("x.jsonl", first)).toBe("claude-code");
    expect(detect("x.jsonl", { type: "brand-new" }, "{broken", firsts[0])).toBe("claude-code");
    expect(detect("x.jsonl", '"massive error"', firsts[0])).toBe("claude-code");
    expect(detect("stdin", firsts[0])).toBe("claude-code");
  });

  it("knows generic JSON Lines by role and content, or content alone", () => {
    expect(detect("x.jsonl", message)).toBe("jsonl");
    expect(detect("x.ndjson", { content: "Beans.", kind: "fact" })).toBe("jsonl");
    expect(detect("x", { text: "Beans." })).toBe("jsonl");
  });

  it("knows Markdown and text by their names, and text without one", () => {
    expect(detect("a/b.md", JSON.stringify({ type: "user", sessionId: "s" }))).toBe("markdown");
    expect(detect("B.MARKDOWN", "# Beans")).toBe("markdown");
    expect(detect("a.txt", message)).toBe("text");
    expect(detect("journal", "Beans by the wall.")).toBe("text");
    expect(detect("a.log", "12:00 watered")).toBe("text");
    expect(detect("stdin", 'He sent {"role":"user","content":"x"} to me.', message)).toBe("text");
  });

  it("refuses other programs' formats by name", () => {
    expect(detect("x.jsonl", { type: "session_meta", payload: { id: "1" } })).toBe("refused codex");
    expect(detect("x.jsonl", { type: "event_msg", payload: {} })).toBe("refused codex");
    expect(detect("x.jsonl", { record_type: "state" })).toBe("refused codex");
    expect(detect("x.jsonl", { id: "1", timestamp: "t", instructions: null })).toBe("refused codex");
    const item = { type: "message", role: "user", content: [{ type: "input_text", text: "x" }] };
    expect(detect("x.jsonl", item)).toBe("refused codex");
    expect(detect("x.jsonl", { type: "session", version: 3, id: "1" })).toBe("refused pi");
    expect(detect("x.jsonl", { type: "session", id: "1", cwd: "/a" })).toBe("refused pi");
    expect(detect("x.json", JSON.stringify([{ uuid: "1", chat_messages: [] }], null, 2))).toBe("refused claude-ai");
    expect(detect("x.json", JSON.stringify([{ mapping: { a: {} } }]))).toBe("refused chatgpt");
    expect(detect("x.json", { mapping: { a: {} }, current_node: "a" })).toBe("refused chatgpt");
    expect(detect("x.json", { sessionId: "1", messages: [] })).toBe("refused gemini");
    expect(detect("x.json", JSON.stringify({ sessionId: "1", messages: [{}] }, null, 1))).toBe("refused gemini");
  });

  it("judges a document that is one line longer than the head by its keys", () => {
    const long = JSON.stringify([{ title: "Beans", mapping: { a: { text: "x".repeat(2 * DETECT_HEAD_BYTES) } } }]);
    expect(detect("conversations.json", long)).toBe("refused chatgpt");
  });

  it("judges records whose first line is longer than the head by their keys", () => {
    const text = "x".repeat(2 * DETECT_HEAD_BYTES);
    const quoted = JSON.stringify({ parentUuid: null, sessionId: "s" });
    const record = {
      parentUuid: null,
      sessionId: "s",
      type: "user",
      uuid: "u",
      message: { role: "user", content: text },
    };
    expect(detect("x.jsonl", record)).toBe("claude-code");
    expect(detect("x.jsonl", { type: "session_meta", payload: { instructions: text } })).toBe("refused codex");
    expect(detect("x.jsonl", { role: "user", content: text })).toBe("jsonl");
    expect(detect("x.jsonl", { note: `${quoted} ${text}` })).toBe("refused unknown_jsonl");
  });

  it("refuses what it cannot tell", () => {
    expect(detect("x.jsonl", { silly: "this" })).toBe("refused unknown_jsonl");
    expect(detect("x.jsonl", "no json at all")).toBe("refused unknown_jsonl");
    expect(detect("package.json", { name: "beans", version: "1.0.0" })).toBe("refused unknown_json");
    expect(detect("code.ts", "export {};")).toBe("refused unknown");
  });

  it("refuses empty and binary files", () => {
    expect(detect("x.jsonl")).toBe("refused empty");
    expect(detect("x.md", "\uFEFF \r\n")).toBe("refused empty");
    expect(detectBytes("x.md", Buffer.from([0x42, 0x00]))).toBe("refused binary");
    expect(detectBytes("x.txt", Buffer.from("caf\xe9 au lait", "latin1"))).toBe("refused binary");
    expect(detectBytes("x.txt", Buffer.from("beans", "utf16le"))).toBe("refused binary");
    expect(detectBytes("x.jsonl", gzipSync("beans"))).toBe("refused binary");
  });

  it("does not take a character cut by the head's end for binary", () => {
    const bytes = Buffer.from("Bohnen 🌱");
    for (let cut = 1; cut <= 3; cut++) expect(detectBytes("x.txt", bytes.subarray(0, -cut))).toBe("text");
    expect(detectBytes("x.txt", Buffer.concat([bytes.subarray(0, -2), Buffer.from(" more")]))).toBe("refused binary");
  });
});

describe.skipIf(!process.env.DORMOUSE_SHARED)("detectFormat on the samples", () => {
  const samples = join(process.env.DORMOUSE_SHARED ?? "", "samples");
  const cases: [string, string][] = [
    ["claude-code/ccl-edge_cases.jsonl", "claude-code"],
    ["claude-code/ccl-representative_messages.jsonl", "claude-code"],
    ["claude-code/polylogue-claude-normalization-main.jsonl", "claude-code"],
    ["claude-code/polylogue-normalization-lineage-subagent-acompact.jsonl", "claude-code"],
    ["claude-code/simonw-sample_session.jsonl", "claude-code"],
    ["claude-code/codemie/session-196820da.jsonl", "claude-code"],
    ["claude-code/codemie/incremental-turn-2-agent-a485154.jsonl", "claude-code"],
    ["claude-code/spotter/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl", "claude-code"],
    ["claude-code/spotter/tool_heavy.jsonl", "claude-code"],
    ["claude-code/spotter/README.md", "markdown"],
    ["codex/agentsview-standard_session.jsonl", "refused codex"],
    ["codex/polylogue-interleaved_stream.jsonl", "refused codex"],
    ["codex/rollout-2026-05-11T11-26-55-019e1625-789d-76c0-80ab-3724b5ddb799.jsonl", "refused codex"],
    ["codex/ai-sessions-codex-sample.ts", "refused unknown"],
    ["pi-openclaw/before-compaction.jsonl", "refused pi"],
    ["pi-openclaw/large-session.jsonl", "refused pi"],
    ["gemini-cli/session-2026-01-16-file-ops.json", "refused gemini"],
    ["chatgpt/polylogue-native-conversation-v1.json", "refused chatgpt"],
    ["chatgpt/polylogue-representative-00.json", "refused chatgpt"],
    ["claude-ai/polylogue-representative-01.json", "refused claude-ai"],
    ["vaults/kepano-obsidian/Attachments/out-of-control.jpg", "refused binary"],
    ["docs/gbrain-conversation-formats-all.jsonl", "refused unknown_jsonl"],
  ];

  it.each(cases)("%s is %s", (path, expected) => {
    expect(detectBytes(path, readFileSync(join(samples, path)))).toBe(expected);
  });
});
