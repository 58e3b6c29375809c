/**
 * Reads Claude Code transcripts: one record a line, turned into what the person and the assistant said, in
 * file order. Tool results become cited sources without text; all other records are skipped with a reason.
 * A line that is not blank gives one turn or one skip, unless it is broken: then a fault for what is broken.
 */
import { parseReferent } from "../core/referent.ts";
import type { ReferentTime, SourceInput } from "../core/types.ts";
import type { Fault, Item, RecordReader, Rewind, Skip, Turn } from "./format.ts";
import type { JsonObject } from "./record-fields.ts";
import { isJsonObject, readString } from "./record-fields.ts";
import type { SaidText } from "./said-text.ts";
import { cleanAssistantText, cleanPersonText } from "./said-text.ts";
import type { ToolCall } from "./tool-sources.ts";
import { nameToolSources, readToolCall } from "./tool-sources.ts";

interface ClaudeCodeContext {
  readonly path: string;
  /** Session id of records that name none, usually the file's stem. */
  readonly sessionFallback: string;
  /** True to read sidechains and agent files, each as a source of its own. */
  readonly subagents: boolean;
  /** What `state()` gave when an earlier run saved its place. */
  readonly state?: unknown;
}

/** A reader of one Claude Code transcript. A `state` it does not understand is ignored. */
export function createClaudeCodeReader(context: ClaudeCodeContext): RecordReader {
  return new ClaudeCodeReader(context);
}

const FORMAT = "claude-code";
const AGENT_FILE = /(?:^|[\\/])(agent-[^\\/]+)\.jsonl$/;
const SLASH_COMMAND = /^\/[A-Za-z][\w:-]*(?:\s|$)/;
const SYNTHETIC_MODEL = "<synthetic>";
/** Human messages a rewind can reach back over. */
const MAX_REMEMBERED_MESSAGES = 1_000;
/** A queued prompt that nothing resolved within so many lines is given up, so that the reader settles. */
const MAX_QUEUED_LINES = 5_000;

const SKIPPED_TYPES: ReadonlyMap<string, string> = new Map([
  ["system", "system"],
  ["progress", "progress"],
  ["summary", "summary"],
  ["file-history-snapshot", "snapshot"],
  ["ai-title", "ai_title"],
  ["custom-title", "custom_title"],
  ["agent-name", "agent_name"],
  ["last-prompt", "last_prompt"],
  ["mode", "mode"],
  ["permission-mode", "permission_mode"],
  ["pr-link", "pr_link"],
  ["bridge-session", "bridge_session"],
  ["continued-in", "continued_in"],
]);

/** Where a record stands: its session, the agent that ran it (null on the main line), its time. */
interface Place {
  readonly line: number;
  readonly session: string;
  readonly agent: string | null;
  readonly timestamp: string | null;
  readonly at: number | null;
  readonly domain: string | null;
}

/** Tool calls and results between two assistant texts of one line of talk. */
interface Chain {
  readonly calls: Map<string, ToolCall>;
  readonly results: Map<string, SourceInput>;
}

interface QueuedPrompt {
  readonly text: string;
  readonly place: Place;
}

/** The last human message under a parent. */
interface HumanMessage {
  readonly session: string;
  readonly parent: string;
  readonly uuid: string | null;
  readonly key: string;
  readonly at: number | null;
}

class ClaudeCodeReader implements RecordReader {
  readonly #context: ClaudeCodeContext;
  readonly #fileAgent: string | null;
  readonly #chains = new Map<string, Chain>();
  readonly #queued = new Map<string, QueuedPrompt[]>();
  readonly #humans = new Map<string, HumanMessage>();
  readonly #sources = new Map<string, SourceInput>();
  readonly #firstTimes = new Map<string, number>();
  #hasAttachments = false;

  constructor(context: ClaudeCodeContext) {
    this.#context = context;
    this.#fileAgent = AGENT_FILE.exec(context.path)?.[1] ?? null;
    this.#restore(context.state);
  }

  read(line: string, lineNumber: number): Item[] {
    if (line.trim() === "") return [];
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch {
      return [fault(lineNumber, "invalid_json")];
    }
    if (!isJsonObject(record)) return [fault(lineNumber, "not_an_object")];
    const type = record.type;
    if (typeof type !== "string") return [fault(lineNumber, "no_type")];
    this.#dropStaleQueue(lineNumber);
    const place = this.#locate(record, lineNumber);
    if (type === "user") return this.#readUser(record, place);
    if (type === "assistant") return this.#readAssistant(record, place);
    if (type === "attachment") return this.#readAttachment(record, place);
    if (type === "queue-operation") return this.#readQueueOperation(record, place);
    return [skip(lineNumber, SKIPPED_TYPES.get(type) ?? "unknown_type")];
  }

  isSettled(): boolean {
    return this.#chains.size === 0 && this.#queued.size === 0;
  }

  state(): unknown {
    const own = this.#context.sessionFallback;
    const nameless = (session: string): string | null => (session === own ? null : session);
    return {
      version: 1,
      hasAttachments: this.#hasAttachments,
      firstTimes: [...this.#firstTimes].map(([session, at]) => [nameless(session), at]),
      humans: [...this.#humans.values()]
        .filter((human) => human.uuid !== null)
        .map((human) => [nameless(human.session), human.parent, human.uuid, human.at]),
    };
  }

  #readUser(record: JsonObject, place: Place): Item[] {
    const dropped = this.#findDropReason(record, place);
    if (dropped !== null) return [skip(place.line, dropped)];
    const message = record.message;
    if (!isJsonObject(message)) return [fault(place.line, "no_message")];
    const content = message.content;
    const isMachine = record.toolUseResult != null || record.sourceToolUseID != null;
    if (typeof content === "string") {
      if (isMachine) return [skip(place.line, "tool_result")];
      return this.#finishUser(record, place, [cleanPersonText(content)], []);
    }
    if (!Array.isArray(content)) return [fault(place.line, "no_content")];
    const said: SaidText[] = [];
    const faults: Fault[] = [];
    let hasResult = false;
    for (const block of content as readonly unknown[]) {
      if (!isJsonObject(block)) {
        faults.push(fault(place.line, "bad_block"));
      } else if (isResultBlock(block)) {
        hasResult = true;
        this.#noteResult(block, place);
        said.push({ reason: "tool_result" });
      } else if (block.type === "text" && typeof block.text === "string") {
        said.push(isMachine && !hasResult ? { reason: "tool_result" } : cleanPersonText(block.text));
      } else {
        said.push({ reason: nameBlock(block) });
      }
    }
    return this.#finishUser(record, place, said, faults);
  }

  #finishUser(record: JsonObject, place: Place, said: readonly SaidText[], faults: readonly Fault[]): Item[] {
    const text = joinSaid(said);
    if (text === null) return faults.length > 0 ? [...faults] : [skip(place.line, firstReason(said))];
    // The prompt of a subagent was written by the assistant that started it.
    if (place.agent !== null) return [...faults, this.#makeTurn(record, place, text, "Assistant", "generated", [])];
    const turn = this.#makeTurn(record, place, text, "User", "told", []);
    const rewind = this.#noteHumanMessage(record, place, turn);
    this.#forgetCalls(place);
    return rewind === null ? [...faults, turn] : [...faults, rewind, turn];
  }

  #readAssistant(record: JsonObject, place: Place): Item[] {
    const dropped = this.#findDropReason(record, place);
    if (dropped !== null) return [skip(place.line, dropped)];
    if (record.isApiErrorMessage === true) return [skip(place.line, "api_error")];
    const message = record.message;
    if (!isJsonObject(message)) return [fault(place.line, "no_message")];
    const model = readString(message, "model") ?? "unknown";
    if (model === SYNTHETIC_MODEL) return [skip(place.line, "synthetic")];
    const content = message.content;
    const blocks: readonly unknown[] | null =
      typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : null;
    if (blocks === null) return [fault(place.line, "no_content")];
    const said: SaidText[] = [];
    const faults: Fault[] = [];
    const cites: SourceInput[] = [{ type: "model", key: `model:${model}`, name: `model:${model}`, trust: "unknown" }];
    for (const block of blocks) {
      if (!isJsonObject(block)) {
        faults.push(fault(place.line, "bad_block"));
      } else if (isCallBlock(block)) {
        this.#noteCall(block, place);
        said.push({ reason: "tool_use" });
      } else if (isResultBlock(block)) {
        this.#noteResult(block, place);
        said.push({ reason: "tool_result" });
      } else if (block.type === "text" && typeof block.text === "string") {
        const cleaned = cleanAssistantText(block.text);
        if ("text" in cleaned) cites.push(...this.#takeResults(place));
        said.push(cleaned);
      } else {
        said.push({ reason: nameBlock(block) });
      }
    }
    const text = joinSaid(said);
    if (text === null) return faults.length > 0 ? faults : [skip(place.line, firstReason(said))];
    return [...faults, this.#makeTurn(record, place, text, "Assistant", "generated", cites)];
  }

  /** A prompt typed while the assistant worked has no user record: its words stand in an attachment. */
  #readAttachment(record: JsonObject, place: Place): Item[] {
    this.#hasAttachments = true;
    const dropped = this.#findDropReason(record, place);
    if (dropped !== null) return [skip(place.line, dropped)];
    const attachment = record.attachment;
    const isPrompt =
      isJsonObject(attachment) &&
      place.agent === null &&
      attachment.type === "queued_command" &&
      (attachment.commandMode ?? "prompt") === "prompt" &&
      attachment.isMeta !== true &&
      isFromPerson(attachment);
    if (!isPrompt) return [skip(place.line, "attachment")];
    const prompt = attachment.prompt;
    const said: SaidText[] = [];
    for (const block of (Array.isArray(prompt) ? prompt : [{ type: "text", text: prompt }]) as readonly unknown[]) {
      if (isJsonObject(block) && block.type === "text" && typeof block.text === "string") {
        said.push(cleanQueued(block.text));
      }
    }
    const text = joinSaid(said);
    if (text === null) return [skip(place.line, said.length === 0 ? "attachment" : firstReason(said))];
    return [this.#makeTurn(record, place, text, "User", "told", [])];
  }

  /**
   * Before attachments, a prompt typed while the assistant worked stood in the queue's records only: put in,
   * then removed when it was handed over. One that is dequeued gets a user record, one that is popped goes
   * back to be edited.
   */
  #readQueueOperation(record: JsonObject, place: Place): Item[] {
    const skipped = [skip(place.line, "queue_operation")];
    const waiting = this.#queued.get(place.session) ?? [];
    if (place.agent !== null) return skipped;
    const operation = record.operation;
    if (operation === "enqueue" && typeof record.content === "string") {
      const cleaned = cleanQueued(record.content);
      if ("text" in cleaned) this.#queued.set(place.session, [...waiting, { text: cleaned.text, place }]);
      return skipped;
    }
    const first = operation === "dequeue" || operation === "remove" ? waiting.shift() : undefined;
    if (operation === "popAll" || waiting.length === 0) this.#queued.delete(place.session);
    const isHandedOver =
      operation === "remove" && !this.#hasAttachments && record.content === undefined && record.reason === undefined;
    if (!isHandedOver || first === undefined) return skipped;
    const said = { ...first.place, line: place.line };
    const key = `${FORMAT}:${said.session}:${said.timestamp ?? `line:${first.place.line}`}:queue`;
    return [this.#makeTurn({}, said, first.text, "User", "told", [], key)];
  }

  #dropStaleQueue(line: number): void {
    for (const [session, waiting] of this.#queued) {
      while (waiting[0] !== undefined && line - waiting[0].place.line > MAX_QUEUED_LINES) waiting.shift();
      if (waiting.length === 0) this.#queued.delete(session);
    }
  }

  #locate(record: JsonObject, line: number): Place {
    const timestamp = readString(record, "timestamp");
    const isSidechain = record.isSidechain === true || this.#fileAgent !== null;
    return {
      line,
      session: readString(record, "sessionId") ?? this.#context.sessionFallback,
      agent: isSidechain ? (readString(record, "agentId") ?? this.#fileAgent ?? "sidechain") : null,
      timestamp,
      at: timestamp === null ? null : readInstant(timestamp),
      domain: lastFolder(readString(record, "cwd")),
    };
  }

  #findDropReason(record: JsonObject, place: Place): string | null {
    if (place.agent !== null && !this.#context.subagents) return "sidechain";
    if (record.isCompactSummary === true || place.agent?.includes("acompact") === true) return "compact_summary";
    if (record.isMeta === true || record.isVisibleInTranscriptOnly === true) return "meta";
    return isFromPerson(record) ? null : "not_person";
  }

  #makeTurn(
    record: JsonObject,
    place: Place,
    text: string,
    speaker: "User" | "Assistant",
    basis: "told" | "generated",
    cites: readonly SourceInput[],
    recordKey = keyRecord(record, place, speaker),
  ): Turn {
    const parent = readString(record, "parentUuid");
    const said: ReferentTime | null = place.at === null ? null : { from: place.at, to: place.at };
    return {
      type: "turn",
      line: place.line,
      text,
      speaker,
      said,
      source: this.#sourceOf(place),
      cites,
      recordKey,
      domain: place.domain,
      basis,
      ...(parent === null ? {} : { parentKey: `${FORMAT}:${parent}` }),
    };
  }

  #sourceOf(place: Place): SourceInput {
    const id = place.agent === null ? place.session : `${place.session}:agent:${place.agent}`;
    const known = this.#sources.get(id);
    if (known !== undefined) return known;
    const first = this.#firstTimes.get(id) ?? place.at;
    if (first !== null) this.#firstTimes.set(id, first);
    const day = first === null ? null : new Date(first).toISOString().slice(0, 10);
    const about = [place.domain, day].filter((part) => part !== null);
    const name = about.length === 0 ? place.session : about.join(" ");
    const source: SourceInput = {
      type: "session",
      key: `${FORMAT}:${id}`,
      name: place.agent === null ? `${FORMAT} ${name}` : `${FORMAT} agent ${place.agent} ${name}`,
      reference: this.#context.path,
      // Nothing a subagent reads or writes was said by the person.
      trust: place.agent === null ? "trusted" : "unknown",
    };
    // A record without a folder does not settle the name, so that a resumed reading comes to the same one.
    if (place.domain !== null) this.#sources.set(id, source);
    return source;
  }

  /** Remembers the message under its parent; a second one there means that the person rewound. */
  #noteHumanMessage(record: JsonObject, place: Place, turn: Turn): Rewind | null {
    const parent = readString(record, "parentUuid");
    if (parent === null) return null;
    const id = `${place.session}\n${parent}`;
    const earlier = this.#humans.get(id);
    if (earlier !== undefined) {
      // The same record copied: same id, or written in the same millisecond under a new one.
      if (earlier.key === turn.recordKey || (earlier.at !== null && earlier.at === place.at)) return null;
      this.#humans.delete(id);
    }
    this.#humans.set(id, {
      session: place.session,
      parent,
      uuid: readString(record, "uuid"),
      key: turn.recordKey,
      at: place.at,
    });
    if (this.#humans.size > MAX_REMEMBERED_MESSAGES) {
      for (const oldest of this.#humans.keys()) {
        this.#humans.delete(oldest);
        break;
      }
    }
    if (earlier === undefined) return null;
    return { type: "rewind", line: place.line, source: turn.source, abandonedFrom: earlier.key };
  }

  #noteCall(block: JsonObject, place: Place): void {
    const id = readString(block, "id");
    if (id !== null) this.#chainOf(place).calls.set(id, readToolCall(block));
  }

  #noteResult(block: JsonObject, place: Place): void {
    const id = readString(block, "tool_use_id");
    if (id === null) return;
    const chain = this.#chainOf(place);
    const call = chain.calls.get(id) ?? null;
    chain.calls.delete(id);
    for (const source of nameToolSources(`${FORMAT}:${place.session}:${id}`, id, call)) {
      chain.results.set(`${source.type}\n${source.key}`, source);
    }
  }

  #takeResults(place: Place): SourceInput[] {
    const chain = this.#chains.get(chainId(place));
    if (chain === undefined) return [];
    const results = [...chain.results.values()];
    chain.results.clear();
    if (chain.calls.size === 0) this.#chains.delete(chainId(place));
    return results;
  }

  /** No result comes any more for a call from before a human message; one that does is of an unknown tool. */
  #forgetCalls(place: Place): void {
    const chain = this.#chains.get(chainId(place));
    chain?.calls.clear();
    if (chain?.results.size === 0) this.#chains.delete(chainId(place));
  }

  #chainOf(place: Place): Chain {
    const id = chainId(place);
    let chain = this.#chains.get(id);
    if (chain === undefined) {
      chain = { calls: new Map(), results: new Map() };
      this.#chains.set(id, chain);
    }
    return chain;
  }

  #restore(state: unknown): void {
    if (!isJsonObject(state) || state.version !== 1) return;
    const own = this.#context.sessionFallback;
    this.#hasAttachments = state.hasAttachments === true;
    for (const entry of asRows(state.firstTimes)) {
      const [session, at] = entry;
      if (typeof at === "number") this.#firstTimes.set(typeof session === "string" ? session : own, at);
    }
    for (const entry of asRows(state.humans)) {
      const [from, parent, uuid, at] = entry;
      if (typeof parent !== "string" || typeof uuid !== "string") continue;
      const session = typeof from === "string" ? from : own;
      this.#humans.set(`${session}\n${parent}`, {
        session,
        parent,
        uuid,
        key: `${FORMAT}:${uuid}`,
        at: typeof at === "number" ? at : null,
      });
    }
  }
}

/** The record's own id; without one, its time, its message or, at last, its line in an append-only file. */
function keyRecord(record: JsonObject, place: Place, speaker: "User" | "Assistant"): string {
  const uuid = readString(record, "uuid");
  if (uuid !== null) return `${FORMAT}:${uuid}`;
  const role = speaker === "User" ? "user" : "assistant";
  if (place.timestamp !== null) return `${FORMAT}:${place.session}:${place.timestamp}:${role}`;
  const message = record.message;
  const id = isJsonObject(message) ? readString(message, "id") : null;
  return `${FORMAT}:${place.session}:${id ?? `line:${place.line}`}:${role}`;
}

/** Null for a time without an offset and for no time at all: such a record is kept undated. */
function readInstant(timestamp: string): number | null {
  try {
    const { from, floating } = parseReferent(timestamp);
    return floating === true ? null : from;
  } catch {
    return null;
  }
}

function cleanQueued(text: string): SaidText {
  const cleaned = cleanPersonText(text);
  return "text" in cleaned && SLASH_COMMAND.test(cleaned.text) ? { reason: "command" } : cleaned;
}

/** Records without an origin are older than the field. */
function isFromPerson(record: JsonObject): boolean {
  const origin = record.origin;
  return !isJsonObject(origin) || origin.kind === undefined || origin.kind === "human";
}

function isCallBlock(block: JsonObject): boolean {
  return typeof block.type === "string" && block.type.endsWith("tool_use");
}

function isResultBlock(block: JsonObject): boolean {
  return typeof block.type === "string" && block.type.endsWith("tool_result");
}

function nameBlock(block: JsonObject): string {
  const type = block.type;
  if (type === "thinking" || type === "redacted_thinking") return "thinking";
  return type === "image" || type === "document" ? type : "unknown_block";
}

function joinSaid(said: readonly SaidText[]): string | null {
  const texts = said.flatMap((part) => ("text" in part ? [part.text] : []));
  return texts.length === 0 ? null : texts.join("\n\n");
}

function firstReason(said: readonly SaidText[]): string {
  const reasons = said.flatMap((part) => ("reason" in part ? [part.reason] : []));
  return reasons.find((reason) => reason !== "empty") ?? "empty";
}

function lastFolder(cwd: string | null): string | null {
  const last = (cwd ?? "").split(/[\\/]/).findLast((part) => part !== "");
  return last === undefined || /^[A-Za-z]:$/.test(last) ? null : last;
}

function chainId(place: Place): string {
  return `${place.session}\n${place.agent ?? ""}`;
}

function asRows(value: unknown): readonly (readonly unknown[])[] {
  return Array.isArray(value) ? value.filter((row) => Array.isArray(row)) : [];
}

function skip(line: number, reason: string): Skip {
  return { type: "skip", line, reason };
}

function fault(line: number, rule: string): Fault {
  return { type: "fault", line, rule };
}
