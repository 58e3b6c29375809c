import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FENCE_OPEN_MARK, MATERIAL_OPEN_MARK } from "../../src/core/fence.ts";
import { createClaudeCodeReader } from "../../src/extract/claude-code.ts";
import type { Item, RecordReader, Turn } from "../../src/extract/format.ts";

type Fields = Record<string, unknown>;

const PATH = "/home/ines/transcripts/garden.jsonl";
const SESSION = "session-garden";

function makeReader(options: { path?: string; subagents?: boolean; state?: unknown } = {}): RecordReader {
  return createClaudeCodeReader({
    path: options.path ?? PATH,
    sessionFallback: "garden",
    subagents: options.subagents ?? false,
    ...(options.state === undefined ? {} : { state: options.state }),
  });
}

/** Times of fixtures run one second a record. */
function time(second: number): string {
  return new Date(Date.UTC(2026, 2, 7, 9, 0, second)).toISOString();
}

function user(uuid: string, content: unknown, fields: Fields = {}): Fields {
  return {
    type: "user",
    uuid,
    parentUuid: null,
    sessionId: SESSION,
    timestamp: time(0),
    cwd: "/home/ines/garden",
    message: { role: "user", content },
    ...fields,
  };
}

function assistant(uuid: string, content: unknown, fields: Fields = {}): Fields {
  const message = { role: "assistant", model: "model-a", id: `msg-${uuid}`, content };
  return { ...user(uuid, null, fields), type: "assistant", message };
}

const said = (text: string): Fields => ({ type: "text", text });
const call = (id: string, name: string, input: Fields = {}): Fields => ({ type: "tool_use", id, name, input });
const result = (id: string): Fields => ({ type: "tool_result", tool_use_id: id, content: "noise" });

function readAll(records: readonly unknown[], reader: RecordReader = makeReader()): Item[] {
  return records.flatMap((record, index) =>
    reader.read(typeof record === "string" ? record : JSON.stringify(record), index + 1),
  );
}

const turnsOf = (items: readonly Item[]): Turn[] => items.filter((item) => item.type === "turn");

/** `text`, or `!reason` of a skip or fault, or `<key` of a rewind: the whole outcome in one line each. */
function outline(items: readonly Item[]): string[] {
  return items.map((item) => {
    if (item.type === "turn") return item.text;
    if (item.type === "rewind") return `<${item.abandonedFrom}`;
    return `!${item.type === "skip" ? item.reason : item.rule}`;
  });
}

const citesOf = (items: readonly Item[]): string[][] =>
  turnsOf(items).map((turn) => turn.cites.map((source) => `${source.name} ${source.trust}`));

describe("turns", () => {
  it("carry text, speaker, time, source, domain and record key of a person's message", () => {
    expect(readAll([user("u1", "Plant the beans by the wall.", { parentUuid: "p0" })])).toEqual([
      {
        type: "turn",
        line: 1,
        text: "Plant the beans by the wall.",
        speaker: "User",
        said: { from: Date.UTC(2026, 2, 7, 9), to: Date.UTC(2026, 2, 7, 9) },
        source: {
          type: "session",
          key: `claude-code:${SESSION}`,
          name: "claude-code garden 2026-03-07",
          reference: PATH,
          trust: "trusted",
        },
        cites: [],
        recordKey: "claude-code:u1",
        domain: "garden",
        basis: "told",
        parentKey: "claude-code:p0",
      },
    ]);
  });

  it("of the assistant are generated and cite the model that wrote them", () => {
    const [turn] = turnsOf(readAll([assistant("a1", [said("Beans like warmth.")])]));
    expect(turn).toMatchObject({ speaker: "Assistant", basis: "generated", text: "Beans like warmth." });
    expect(turn?.cites).toEqual([{ type: "model", key: "model:model-a", name: "model:model-a", trust: "unknown" }]);
  });

  it("of the assistant never rest on the trusted session alone, even when no model is named", () => {
    const record = { ...assistant("a1", null), message: { content: "Fine." } };
    expect(citesOf(readAll([record]))).toEqual([["model:unknown unknown"]]);
  });

  it("come from a string or from blocks, several text blocks of a line joined by a blank line", () => {
    const items = readAll([
      user("u1", [said("First."), { type: "image", source: {} }, said("Second.")]),
      assistant("a1", "A plain string."),
    ]);
    expect(outline(items)).toEqual(["First.\n\nSecond.", "A plain string."]);
  });

  it("come one a line where several lines share a message id", () => {
    const shared = { role: "assistant", model: "model-a", id: "msg-1" };
    const items = readAll([
      { ...assistant("a1", null), message: { ...shared, content: [{ type: "thinking", thinking: "hm" }] } },
      { ...assistant("a2", null), message: { ...shared, content: [said("One.")] } },
      { ...assistant("a3", null), message: { ...shared, content: [said("Two.")] } },
    ]);
    expect(outline(items)).toEqual(["!thinking", "One.", "Two."]);
    expect(turnsOf(items).map((turn) => turn.recordKey)).toEqual(["claude-code:a2", "claude-code:a3"]);
  });

  it("keep file order when parents say otherwise", () => {
    const items = readAll([
      user("u2", "late", { parentUuid: "u1", timestamp: time(9) }),
      user("u1", "early", { timestamp: time(1) }),
    ]);
    expect(outline(items)).toEqual(["late", "early"]);
  });

  it("have no time when the record's time lacks an offset or is none", () => {
    const items = readAll([
      user("u1", "a", { timestamp: "2026-03-07T09:00:00" }),
      user("u2", "b", { timestamp: "yesterday" }),
      user("u3", "c", { timestamp: 17 }),
      user("u4", "d", { timestamp: "2026-03-07" }),
      user("u5", "e", { timestamp: "2026-03-07T11:00:00.250+02:00" }),
    ]);
    const at = Date.UTC(2026, 2, 7, 9, 0, 0, 250);
    expect(turnsOf(items).map((turn) => turn.said)).toEqual([null, null, null, null, { from: at, to: at }]);
  });

  it("take the last folder of the working directory as domain, with either separator", () => {
    const cwds = ["/home/ines/garden/", "C:\\Users\\ines\\orchard", "/", "C:\\", "", undefined];
    const items = readAll(cwds.map((cwd, index) => user(`u${index}`, `text ${index}`, { cwd })));
    expect(turnsOf(items).map((turn) => turn.domain)).toEqual(["garden", "orchard", null, null, null, null]);
  });

  it("of two sessions in one file stand in two sources", () => {
    const items = readAll([
      user("u1", "here"),
      user("u2", "there", { sessionId: "other", cwd: "/srv/shed" }),
      user("u3", "nowhere", { sessionId: undefined }),
      user("u4", "here again", { cwd: "/srv/shed" }),
    ]);
    expect(turnsOf(items).map((turn) => [turn.source.key, turn.source.name])).toEqual([
      ["claude-code:session-garden", "claude-code garden 2026-03-07"],
      ["claude-code:other", "claude-code shed 2026-03-07"],
      ["claude-code:garden", "claude-code garden 2026-03-07"],
      ["claude-code:session-garden", "claude-code garden 2026-03-07"],
    ]);
  });
});

describe("record keys", () => {
  it("are the same for one uuid in whatever file and session", () => {
    const copy = user("u1", "Hello", { sessionId: "resumed" });
    const keys = [user("u1", "Hello"), copy].map(
      (record) => turnsOf(readAll([record], makeReader({ path: "/x/b.jsonl" })))[0]?.recordKey,
    );
    expect(keys).toEqual(["claude-code:u1", "claude-code:u1"]);
  });

  it("fall back on session, time and role, then on the message id, then on the line", () => {
    const none = { uuid: undefined };
    const items = readAll([
      user("", "a", none),
      assistant("", "b", none),
      { ...assistant("", "c", { ...none, timestamp: undefined }) },
      user("", "d", { ...none, timestamp: undefined }),
    ]);
    expect(turnsOf(items).map((turn) => turn.recordKey)).toEqual([
      `claude-code:${SESSION}:${time(0)}:user`,
      `claude-code:${SESSION}:${time(0)}:assistant`,
      `claude-code:${SESSION}:msg-:assistant`,
      `claude-code:${SESSION}:line:4:user`,
    ]);
  });
});

describe("what nobody said", () => {
  it("is skipped with its reason", () => {
    const cases: [Fields, string][] = [
      [user("u", [result("t")]), "tool_result"],
      [user("u", "1 file", { toolUseResult: "1 file" }), "tool_result"],
      [user("u", [said("1 file")], { toolUseResult: {} }), "tool_result"],
      [assistant("u", [call("t", "Bash")]), "tool_use"],
      [assistant("u", [{ type: "thinking", thinking: "hm" }]), "thinking"],
      [assistant("u", [{ type: "redacted_thinking", data: "xx" }, call("t", "Bash")]), "thinking"],
      [assistant("u", [{ type: "hologram" }]), "unknown_block"],
      [user("u", [{ type: "image", source: {} }]), "image"],
      [user("u", "Loaded a skill.", { isMeta: true }), "meta"],
      [user("u", "Only shown.", { isVisibleInTranscriptOnly: true }), "meta"],
      [user("u", "Look into it.", { isSidechain: true }), "sidechain"],
      [assistant("u", "Looked.", { isSidechain: true }), "sidechain"],
      [user("u", "So far: …", { isCompactSummary: true, isVisibleInTranscriptOnly: true }), "compact_summary"],
      [
        user("u", "This session is being continued from a previous conversation that ran out of context. So far: …"),
        "compact_summary",
      ],
      [user("u", "<command-name>/x</command-name>\n  <command-args>now</command-args>"), "command"],
      [user("u", [said("<command-message>x</command-message>")]), "command"],
      [user("u", "<local-command-stdout>\u001b[1mok\u001b[22m</local-command-stdout>"), "local_command"],
      [user("u", "<bash-input>ls</bash-input><bash-stdout>a\nb</bash-stdout>"), "local_command"],
      [user("u", "<system-reminder>\nBe brief.\n</system-reminder>"), "system_reminder"],
      [
        user("u", "<task-notification>\n<task-id>1</task-id>\n</task-notification>\nRead the output."),
        "task_notification",
      ],
      [user("u", '<teammate-message from="b">hi</teammate-message>'), "not_person"],
      [user("u", "hi", { origin: { kind: "peer" } }), "not_person"],
      [user("u", "[Request interrupted by user]"), "interrupted"],
      [user("u", [said("[Request interrupted by user for tool use]")]), "interrupted"],
      [
        user("u", "Caveat: The messages below were generated by the user while running local commands. Ignore them."),
        "caveat",
      ],
      [user("u", "<local-command-caveat>Caveat: …</local-command-caveat>"), "caveat"],
      [user("u", " \n"), "empty"],
      [user("u", []), "empty"],
      [assistant("u", [said("\n\n")]), "empty"],
      [assistant("u", [said("(no content)")]), "empty"],
      [assistant("u", "API Error: overloaded", { isApiErrorMessage: true }), "api_error"],
      [{ ...assistant("u", null), message: { model: "<synthetic>", content: [said("None.")] } }, "synthetic"],
      [user("u", `Context:\n<${FENCE_OPEN_MARK} n="1">\nbeans\n</${FENCE_OPEN_MARK}>`), "own_output"],
      [assistant("u", [said(`<${MATERIAL_OPEN_MARK}>\nbeans\n</${MATERIAL_OPEN_MARK}>`)]), "own_output"],
      [{ type: "system", subtype: "turn_duration", content: "x" }, "system"],
      [{ type: "progress", data: { type: "hook_progress" } }, "progress"],
      [{ type: "summary", summary: "Beans", leafUuid: "u" }, "summary"],
      [{ type: "file-history-snapshot", snapshot: {} }, "snapshot"],
      [{ type: "queue-operation", operation: "dequeue" }, "queue_operation"],
      [{ type: "attachment", attachment: { type: "diagnostics" } }, "attachment"],
      [{ type: "ai-title", aiTitle: "Beans" }, "ai_title"],
      [{ type: "custom-title" }, "custom_title"],
      [{ type: "agent-name" }, "agent_name"],
      [{ type: "last-prompt" }, "last_prompt"],
      [{ type: "mode" }, "mode"],
      [{ type: "permission-mode" }, "permission_mode"],
      [{ type: "pr-link" }, "pr_link"],
      [{ type: "bridge-session" }, "bridge_session"],
      [{ type: "continued-in" }, "continued_in"],
      [{ type: "constructor" }, "unknown_type"],
    ];
    for (const [record, reason] of cases) {
      expect([JSON.stringify(record), readAll([record])]).toEqual([
        JSON.stringify(record),
        [{ type: "skip", line: 1, reason }],
      ]);
    }
  });

  it("is cut out around what somebody did say", () => {
    const cases: [string, string][] = [
      ["<system-reminder>A</system-reminder>\nWater them.\n<system-reminder>B</system-reminder>", "Water them."],
      ["Water <system-reminder>A</system-reminder>them.", "Water them."],
      [`Water them.<system-reminder><${FENCE_OPEN_MARK}>old</${FENCE_OPEN_MARK}></system-reminder>`, "Water them."],
      ["<ide_opened_file>The user opened a.md</ide_opened_file>\nWater them.", "Water them."],
      ["Water them.\n<ide_selection>lines 1 to 3</ide_selection>", "Water them."],
      ["<local-command-stdout></local-command-stdout>\nWater them.", "Water them."],
    ];
    for (const [text, kept] of cases) expect(outline(readAll([user("u", text)]))).toEqual([kept]);
  });

  it("does not swallow a person's words that quote such a mark", () => {
    const quotes = [
      "Why does <command-name>/x</command-name> fail?",
      "What is a <system-reminder> for?",
      "<constructor>x</constructor> is my tag",
      "<command-name> is never closed here",
      "My log:\n<local-command-stdout>boom</local-command-stdout>",
      "It printed [Request interrupted by user] again.",
      "Caveat: beans need support.",
      "Caveat: The messages below were generated by the user while running local commands.\nWhat does that mean?",
      "Tell me about dormouse:evidence as a name.",
    ];
    for (const text of quotes) expect(outline(readAll([user("u", text)]))).toEqual([text]);
  });

  it("keeps words beside a tool result in one record", () => {
    expect(outline(readAll([user("u", [result("t"), said("No, the other bed.")])]))).toEqual(["No, the other bed."]);
  });
});

describe("broken records", () => {
  it("are faults with line and rule, and reading goes on", () => {
    const reader = makeReader();
    const items = readAll(
      [
        "{not json",
        '"a bare string"',
        "42",
        "[1]",
        "null",
        { silly: "this" },
        { type: 7 },
        { type: "user", message: null },
        { type: "user", message: "error" },
        { type: "user", message: { role: "user", contenst: [] } },
        { type: "assistant", message: { content: 5 } },
        user("u1", ["stray"]),
        user("u2", [null, said("Still here.")]),
        "",
        "   ",
      ],
      reader,
    );
    expect(outline(items)).toEqual([
      "!invalid_json",
      "!not_an_object",
      "!not_an_object",
      "!not_an_object",
      "!not_an_object",
      "!no_type",
      "!no_type",
      "!no_message",
      "!no_message",
      "!no_content",
      "!no_content",
      "!bad_block",
      "!bad_block",
      "Still here.",
    ]);
    expect(items.map((item) => item.line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13]);
    expect(reader.isSettled()).toBe(true);
  });
});

describe("tool results", () => {
  it("are cited by the assistant's next text only, each call a source of its own", () => {
    const items = readAll([
      assistant("a1", [said("Let me look."), call("t1", "Read"), call("t2", "Bash")]),
      user("u1", [result("t2")], { toolUseResult: {} }),
      user("u2", [result("t1")], { toolUseResult: {} }),
      assistant("a2", [{ type: "thinking", thinking: "hm" }]),
      assistant("a3", [said("Two beds.")]),
      assistant("a4", [said("And a wall.")]),
    ]);
    expect(citesOf(items)).toEqual([
      ["model:model-a unknown"],
      ["model:model-a unknown", "tool:Bash unknown", "tool:Read unknown"],
      ["model:model-a unknown"],
    ]);
    expect(turnsOf(items)[1]?.cites[1]).toEqual({
      type: "tool",
      key: `claude-code:${SESSION}:t2`,
      name: "tool:Bash",
      reference: "t2",
      trust: "unknown",
    });
  });

  it("from outside are untrusted, with the page that was fetched", () => {
    const url = "https://beans.example/how?to=grow";
    const items = readAll([
      assistant("a1", [
        call("t1", "WebFetch", { url, prompt: "how" }),
        call("t2", "WebSearch", { query: "beans" }),
        call("t3", "mcp__almanac__today"),
        call("t4", "Telegraph"),
        call("t5", "WebFetch", { url: "no address" }),
      ]),
      user("u1", [result("t1"), result("t2"), result("t3"), result("t4"), result("t5")]),
      assistant("a2", [said("In May.")]),
    ]);
    expect(citesOf(items)).toEqual([
      [
        "model:model-a unknown",
        "tool:WebFetch untrusted",
        "web:beans.example untrusted",
        "tool:WebSearch untrusted",
        "web:search untrusted",
        "tool:mcp__almanac__today untrusted",
        "tool:Telegraph untrusted",
        "tool:WebFetch untrusted",
      ],
    ]);
    const cites = turnsOf(items)[0]?.cites ?? [];
    expect(cites[2]).toEqual({
      type: "page",
      key: `page:${url}`,
      name: "web:beans.example",
      reference: url,
      trust: "untrusted",
    });
    expect(new Set(cites.map((source) => `${source.type} ${source.key}`)).size).toBe(cites.length);
  });

  it("of a call that was never met are an unknown tool's, and untrusted", () => {
    const items = readAll([user("u1", [result("lost")]), assistant("a1", [said("Done.")])]);
    expect(citesOf(items)).toEqual([["model:model-a unknown", "tool:unknown untrusted"]]);
  });

  it("inside one assistant record are cited by the text after them, not before", () => {
    const search = { type: "web_search_tool_result", tool_use_id: "s1", content: [] };
    const items = readAll([
      assistant("a1", [said("Searching."), { ...call("s1", "WebSearch"), type: "server_tool_use" }, search]),
      assistant("a2", [said("Found.")]),
    ]);
    expect(citesOf(items)).toEqual([
      ["model:model-a unknown"],
      ["model:model-a unknown", "tool:WebSearch untrusted", "web:search untrusted"],
    ]);
  });

  it("wait through a person's message for the assistant's text", () => {
    const items = readAll([
      assistant("a1", [call("t1", "Read")]),
      user("u1", [result("t1")]),
      user("u2", "[Request interrupted by user]"),
      user("u3", "Go on."),
      assistant("a2", [said("Going on.")]),
    ]);
    expect(citesOf(items)).toEqual([[], ["model:model-a unknown", "tool:Read unknown"]]);
  });

  it("are cited once, even while other calls still run", () => {
    const items = readAll([
      assistant("a1", [call("t1", "Read"), call("t2", "Bash")]),
      user("u1", [result("t1")]),
      assistant("a2", [said("One is back.")]),
      assistant("a3", [said("Waiting.")]),
      user("u2", [result("t2")]),
      assistant("a4", [said("Both are.")]),
    ]);
    expect(citesOf(items).map((cites) => cites.slice(1))).toEqual([["tool:Read unknown"], [], ["tool:Bash unknown"]]);
  });

  it("of another session are not cited", () => {
    const other = { sessionId: "other" };
    const items = readAll([
      assistant("a1", [call("t1", "Read")]),
      user("u1", [result("t1")]),
      assistant("b1", [said("Elsewhere.")], other),
      assistant("a2", [said("Here.")]),
    ]);
    expect(citesOf(items)).toEqual([["model:model-a unknown"], ["model:model-a unknown", "tool:Read unknown"]]);
  });
});

describe("subagents", () => {
  const side = { isSidechain: true, agentId: "ag1" };
  const records = [
    assistant("a1", [call("t0", "Task")]),
    user("s1", "Count the beds.", side),
    assistant("s2", [call("t1", "WebFetch", { url: "https://beds.example/" })], side),
    user("s3", [result("t1")], side),
    assistant("a2", [said("Meanwhile.")]),
    assistant("s4", [said("Two beds.")], side),
    user("u1", [result("t0")]),
    assistant("a3", [said("There are two.")]),
  ];

  it("are left out by default, with what they read", () => {
    const items = readAll(records);
    expect(outline(items)).toEqual([
      "!tool_use",
      "!sidechain",
      "!sidechain",
      "!sidechain",
      "Meanwhile.",
      "!sidechain",
      "!tool_result",
      "There are two.",
    ]);
    expect(citesOf(items)).toEqual([["model:model-a unknown"], ["model:model-a unknown", "tool:Task unknown"]]);
  });

  it("are sources of their own on demand, said by the assistant, and keep their results", () => {
    const items = readAll(records, makeReader({ subagents: true }));
    expect(turnsOf(items).map((turn) => [turn.text, turn.speaker, turn.basis, turn.source.key])).toEqual([
      ["Count the beds.", "Assistant", "generated", `claude-code:${SESSION}:agent:ag1`],
      ["Meanwhile.", "Assistant", "generated", `claude-code:${SESSION}`],
      ["Two beds.", "Assistant", "generated", `claude-code:${SESSION}:agent:ag1`],
      ["There are two.", "Assistant", "generated", `claude-code:${SESSION}`],
    ]);
    expect(turnsOf(items)[0]?.source.trust).toBe("unknown");
    expect(citesOf(items)).toEqual([
      [],
      ["model:model-a unknown"],
      ["model:model-a unknown", "tool:WebFetch untrusted", "web:beds.example untrusted"],
      ["model:model-a unknown", "tool:Task unknown"],
    ]);
  });

  it("are told by an agent file's name when the records do not say", () => {
    const path = "/t/session/subagents/agent-b7.jsonl";
    expect(outline(readAll([user("u1", "Count.")], makeReader({ path })))).toEqual(["!sidechain"]);
    const items = readAll([user("u1", "Count.")], makeReader({ path, subagents: true }));
    expect(turnsOf(items)[0]?.source.key).toBe(`claude-code:${SESSION}:agent:agent-b7`);
  });

  it("that only compact are left out even on demand", () => {
    const compact = { isSidechain: true, agentId: "acompact-1" };
    const items = readAll([assistant("a1", [said("So far: …")], compact)], makeReader({ subagents: true }));
    expect(outline(items)).toEqual(["!compact_summary"]);
  });
});

describe("rewinds", () => {
  it("are told before the later of two human messages under one parent", () => {
    const items = readAll([
      assistant("a0", [said("Which bed?")]),
      user("u1", "The left one.", { parentUuid: "a0", timestamp: time(1) }),
      assistant("a1", [said("Left it is.")], { parentUuid: "u1" }),
      user("u2", "The right one.", { parentUuid: "a0", timestamp: time(2) }),
      assistant("a2", [said("Right it is.")], { parentUuid: "u2" }),
      user("u3", "No, both.", { parentUuid: "a0", timestamp: time(3) }),
    ]);
    expect(outline(items)).toEqual([
      "Which bed?",
      "The left one.",
      "Left it is.",
      "<claude-code:u1",
      "The right one.",
      "Right it is.",
      "<claude-code:u2",
      "No, both.",
    ]);
    expect(items[3]).toMatchObject({ type: "rewind", line: 4, source: { key: `claude-code:${SESSION}` } });
  });

  it("are not seen where a parent has several children for other reasons", () => {
    const under = { parentUuid: "p" };
    const harmless: [string, Fields[]][] = [
      ["no parent", [user("u1", "a"), user("u2", "b", { timestamp: time(1) })]],
      ["tool results", [user("u1", [result("t1")], under), user("u2", [result("t2")], under)]],
      ["assistant blocks", [assistant("u1", "a", under), assistant("u2", "b", under)]],
      ["one uuid twice", [user("u1", "a", under), user("u1", "b", { ...under, timestamp: time(1) })]],
      ["a copy under a new uuid", [user("u1", "a", under), user("u2", "a", under)]],
      ["a command beside a message", [user("u1", "<command-name>/x</command-name>", under), user("u2", "a", under)]],
      ["an interruption", [user("u1", "[Request interrupted by user]", under), user("u2", "a", under)]],
      ["another session", [user("u1", "a", under), user("u2", "b", { ...under, sessionId: "o", timestamp: time(1) })]],
      ["sidechains", [user("u1", "a", under), user("u2", "b", { ...under, isSidechain: true, timestamp: time(1) })]],
    ];
    for (const [name, records] of harmless) {
      const items = readAll(records, makeReader({ subagents: true }));
      expect([name, items.filter((item) => item.type === "rewind")]).toEqual([name, []]);
    }
  });

  it("reach back over a thousand messages, and no further", () => {
    const between = (count: number): Fields[] =>
      Array.from({ length: count }, (_, index) => user(`m${index}`, `m${index}`, { parentUuid: `p${index}` }));
    const again = user("u2", "b", { parentUuid: "p", timestamp: time(1) });
    const rewindsAfter = (count: number): number =>
      readAll([user("u1", "a", { parentUuid: "p" }), ...between(count), again]).filter((item) => item.type === "rewind")
        .length;
    expect([rewindsAfter(999), rewindsAfter(1000)]).toEqual([1, 0]);
  });
});

describe("prompts typed while the assistant works", () => {
  const queued = (operation: string, fields: Fields = {}): Fields => ({
    type: "queue-operation",
    operation,
    sessionId: SESSION,
    timestamp: time(5),
    ...fields,
  });
  const attachment = (fields: Fields): Fields => ({
    ...user("q1", null, { timestamp: time(6) }),
    type: "attachment",
    attachment: { type: "queued_command", commandMode: "prompt", prompt: "Use the hoe.", ...fields },
  });

  it("are turns of the person when they stand in an attachment", () => {
    const items = readAll([
      attachment({ origin: { kind: "human" } }),
      attachment({ prompt: [said("Use"), { type: "image" }, said("both.")] }),
    ]);
    expect(outline(items)).toEqual(["Use the hoe.", "Use\n\nboth."]);
    expect(turnsOf(items)[0]).toMatchObject({ speaker: "User", basis: "told", recordKey: "claude-code:q1" });
  });

  it("are not taken from attachments that no person typed", () => {
    const items = readAll([
      attachment({ commandMode: "task-notification" }),
      attachment({ origin: { kind: "peer" } }),
      attachment({ isMeta: true }),
      attachment({ prompt: "/compact" }),
      attachment({ prompt: 5 }),
    ]);
    expect(outline(items)).toEqual(["!attachment", "!attachment", "!attachment", "!command", "!attachment"]);
  });

  it("are turns when only the queue holds them, at the time they were typed", () => {
    const reader = makeReader();
    expect(outline(readAll([queued("enqueue", { content: "Use the hoe." })], reader))).toEqual(["!queue_operation"]);
    expect(reader.isSettled()).toBe(false);
    const [turn] = turnsOf(reader.read(JSON.stringify(queued("remove", { timestamp: time(8) })), 2));
    expect(turn).toMatchObject({
      text: "Use the hoe.",
      line: 2,
      said: { from: Date.parse(time(5)), to: Date.parse(time(5)) },
      recordKey: `claude-code:${SESSION}:${time(5)}:queue`,
    });
    expect(reader.isSettled()).toBe(true);
  });

  it("are not taken from the queue when another record holds them or they were taken back", () => {
    const enqueue = queued("enqueue", { content: "Use the hoe." });
    const cases: Fields[][] = [
      [enqueue, queued("dequeue"), user("u1", "Use the hoe.")],
      [enqueue, attachment({}), queued("remove", { reason: "absorbed_mid_turn" })],
      [enqueue, attachment({}), queued("remove")],
    ];
    for (const records of cases) expect(turnsOf(readAll(records)).map((turn) => turn.text)).toEqual(["Use the hoe."]);
    const dropped = [
      [enqueue, queued("popAll", { content: "Use the hoe." }), queued("remove")],
      [queued("enqueue", { content: "/mcp" }), queued("remove")],
      [queued("enqueue", { content: "<task-notification>x</task-notification>" }), queued("remove")],
    ];
    for (const records of dropped) {
      const reader = makeReader();
      expect(turnsOf(readAll(records, reader))).toEqual([]);
      expect(reader.isSettled()).toBe(true);
    }
  });

  it("that nothing resolves do not keep the reader unsettled for ever", () => {
    const reader = makeReader();
    reader.read(JSON.stringify(queued("enqueue", { content: "Use the hoe." })), 1);
    reader.read(JSON.stringify({ type: "progress" }), 5_001);
    expect(reader.isSettled()).toBe(false);
    reader.read(JSON.stringify({ type: "progress" }), 5_002);
    expect(reader.isSettled()).toBe(true);
  });
});

describe("a saved place", () => {
  it("is safe only while no call awaits its result and no result its text", () => {
    const reader = makeReader();
    const settled = [
      user("u1", "Look."),
      assistant("a1", [call("t1", "Read")]),
      user("u2", [result("t1")]),
      assistant("a2", [said("Seen.")]),
      assistant("a3", [call("t2", "Bash")]),
      user("u3", "Stop."),
    ].map((record, index) => {
      reader.read(JSON.stringify(record), index + 1);
      return reader.isSettled();
    });
    expect(settled).toEqual([true, false, false, true, false, true]);
  });

  it("holds ids and numbers only: no words, folders, tools or file names", () => {
    const reader = makeReader();
    readAll(
      [
        user("u1", "Secret beans", { parentUuid: "p1", sessionId: undefined }),
        assistant("a1", [call("t1", "Almanac")]),
        user("u2", [result("t1")]),
        assistant("a2", [said("Secret beans too.")]),
        user("", "no id", { uuid: undefined, parentUuid: "p2", sessionId: undefined }),
      ],
      reader,
    );
    const state = JSON.stringify(reader.state());
    expect(state).toContain("u1");
    expect(state).not.toMatch(/beans|garden\b(?!")|Almanac|ines|no id/);
    expect(state).not.toContain('"garden"');
  });

  it("remembers messages, so that a rewind is seen after it and a copy is none", () => {
    const under = { parentUuid: "p" };
    const first = makeReader();
    readAll([user("u1", "a", under)], first);
    const state: unknown = JSON.parse(JSON.stringify(first.state()));
    const later = user("u2", "b", { ...under, timestamp: time(1) });
    expect(outline(readAll([later], makeReader({ state })))).toEqual(["<claude-code:u1", "b"]);
    expect(outline(readAll([user("u2", "a", under)], makeReader({ state })))).toEqual(["a"]);
  });

  it("leaves a session the name it had", () => {
    const queue = { type: "queue-operation", sessionId: SESSION, timestamp: time(0) };
    const records = [
      { ...queue, operation: "enqueue", content: "Use the hoe." },
      { ...queue, operation: "remove" },
      user("u1", "a", { timestamp: time(86_400) }),
    ];
    const whole = turnsOf(readAll(records)).at(-1);
    const first = makeReader();
    readAll(records.slice(0, 2), first);
    const [rest] = turnsOf(readAll(records.slice(2), makeReader({ state: first.state() })));
    expect(whole?.source.name).toBe("claude-code garden 2026-03-07");
    expect(rest?.source).toEqual(whole?.source);
  });

  it("of another shape is ignored", () => {
    for (const state of [null, 3, "x", [], { version: 2, humans: [["s", "p", "u", 1]] }, { version: 1, humans: 7 }]) {
      const reader = makeReader({ state });
      expect(outline(readAll([user("u2", "b", { parentUuid: "p" })], reader))).toEqual(["b"]);
    }
  });

  /** A source is known by its key and keeps the name it got first; a name made later has less to go by. */
  const withoutNames = (items: readonly Item[]) =>
    items.map((item) => ("source" in item ? { ...item, source: { ...item.source, name: "" } } : item));

  it("read on from gives what one reading gives, wherever it was saved", () => {
    const uuid = fc.constantFrom("a", "b", "c", "d", "e", "f");
    const tool = fc.constantFrom("t1", "t2", "t3");
    const session = fc.constantFrom(SESSION, undefined);
    const block = fc.oneof(
      fc.constantFrom(said("one"), said("two"), said(" "), { type: "thinking" }),
      tool.map((id) => call(id, "WebFetch", { url: `https://${id}.example/` })),
    );
    const parent = fc.constantFrom("a", "b");
    const fields = fc.record({ parentUuid: fc.option(parent), sessionId: session, isSidechain: fc.boolean() });
    const second = fc.nat(2).map((days) => ({ timestamp: time(days * 86_400) }));
    const record = fc.oneof(
      fc
        .tuple(uuid, fc.constantFrom("yes", "no", "[Request interrupted by user]"), fields, second)
        .map(([id, text, more, at]) => user(id, text, { ...more, ...at })),
      fc
        .tuple(uuid, fc.array(block, { maxLength: 3 }), fields)
        .map(([id, blocks, more]) => assistant(id, blocks, more)),
      fc.tuple(uuid, tool, fields).map(([id, use, more]) => user(id, [result(use)], more)),
      fc.tuple(fc.constantFrom("enqueue", "remove", "dequeue"), session).map(([operation, sessionId]) => ({
        type: "queue-operation",
        operation,
        sessionId,
        timestamp: time(1),
        ...(operation === "enqueue" ? { content: "queued" } : {}),
      })),
      fc.constant({ type: "attachment", sessionId: SESSION, attachment: {} }),
    );
    let resumed = 0;
    fc.assert(
      fc.property(fc.array(record, { maxLength: 25 }), fc.boolean(), (records, subagents) => {
        const lines = records.map((entry) => JSON.stringify(entry));
        const whole = makeReader({ subagents });
        const expected: Item[][] = [];
        const places: (string | null)[] = [];
        for (const [index, line] of lines.entries()) {
          expected.push(whole.read(line, index + 1));
          places.push(whole.isSettled() ? JSON.stringify(whole.state()) : null);
        }
        for (const [index, place] of places.entries()) {
          if (place === null) continue;
          resumed += 1;
          const reader = makeReader({ subagents, state: JSON.parse(place) });
          const rest = lines.slice(index + 1).map((line, at) => reader.read(line, index + at + 2));
          expect(rest.map(withoutNames)).toEqual(expected.slice(index + 1).map(withoutNames));
        }
      }),
      { numRuns: 300 },
    );
    expect(resumed).toBeGreaterThan(300);
  });
});
