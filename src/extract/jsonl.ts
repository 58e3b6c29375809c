/**
 * Reads generic JSON Lines: chat messages ({role, content, …}) and ready thoughts ({content, kind, …}).
 * Refuses to guess: a time without an offset or a record of another shape is a fault, never half-read.
 */
import { basename } from "node:path";
import { DormouseError } from "../core/errors.ts";
import { isOwnOutput } from "../core/fence.ts";
import { parseReferent } from "../core/referent.ts";
import type { ReferentTime, SourceInput } from "../core/types.ts";
import type { Item, RecordReader, Turn } from "./format.ts";
import type { JsonObject } from "./record-fields.ts";
import { isJsonObject, readString } from "./record-fields.ts";
import { nameToolSources } from "./tool-sources.ts";

interface JsonlContext {
  /** What the person named; its last part is the source's name. */
  readonly path: string;
  /** Stable identity of the file, such as its absolute path. */
  readonly fileKey: string;
}

/** A reader of one generic JSON Lines file. Its `state()` is empty: ids come from the records and lines. */
export function createJsonlReader(context: JsonlContext): RecordReader {
  return new JsonlReader(context);
}

const FORMAT = "jsonl";
const TIME_FIELDS = ["timestamp", "created_at", "when", "date"] as const;
const PERSON_ROLES: ReadonlySet<string> = new Set(["user", "human"]);
const ASSISTANT_ROLES: ReadonlySet<string> = new Set(["assistant", "model", "ai", "gpt"]);
const TOOL_ROLES: ReadonlySet<string> = new Set(["tool", "function"]);
const SYSTEM_ROLES: ReadonlySet<string> = new Set(["system", "developer"]);
/** Epoch numbers below this are seconds: as milliseconds it is March 1973, as seconds the year 5138. */
const FIRST_EPOCH_MILLIS = 100_000_000_000;
const MAX_EPOCH_MILLIS = 8.64e15;
/** The fields whose values are passed on as they are; another type in them is a fault. */
const TEXT_FIELDS = ["kind", "domain", "session", "name", "speaker"] as const;

/** A rule that the record breaks, with what to do about it. */
class RecordFault {
  readonly rule: string;
  readonly hint: string;

  constructor(rule: string, hint: string) {
    this.rule = rule;
    this.hint = hint;
  }
}

class JsonlReader implements RecordReader {
  readonly #context: JsonlContext;
  readonly #file: SourceInput;
  /** Tool results by session since the assistant's previous text. */
  readonly #results = new Map<string, SourceInput[]>();

  constructor(context: JsonlContext) {
    this.#context = context;
    this.#file = {
      type: "file",
      key: context.fileKey,
      name: basename(context.path),
      reference: context.path,
      trust: "trusted",
    };
  }

  read(line: string, lineNumber: number): Item[] {
    if (line.trim() === "") return [];
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch {
      return [{ type: "fault", line: lineNumber, rule: "invalid_json" }];
    }
    if (!isJsonObject(record)) return [{ type: "fault", line: lineNumber, rule: "not_an_object" }];
    const item = this.#readRecord(record, lineNumber);
    if (item instanceof RecordFault) {
      return [{ type: "fault", line: lineNumber, rule: item.rule, hint: item.hint }];
    }
    return [typeof item === "string" ? { type: "skip", line: lineNumber, reason: item } : item];
  }

  isSettled(): boolean {
    return this.#results.size === 0;
  }

  state(): unknown {
    return null;
  }

  /** A turn, the reason of a skip, or a fault. */
  #readRecord(record: JsonObject, line: number): Turn | string | RecordFault {
    const role = readString(record, "role");
    const text = readText(role === null ? (record.content ?? record.text) : record.content);
    const wrong = findWrongField(record);
    if (wrong !== null) return wrong;
    if (role !== null && TOOL_ROLES.has(role)) {
      this.#noteResult(record, line);
      return "tool_result";
    }
    if (role !== null && SYSTEM_ROLES.has(role)) return "system";
    if (role !== null && !PERSON_ROLES.has(role) && !ASSISTANT_ROLES.has(role)) {
      return new RecordFault("unknown_role", "Roles are user, assistant, system and tool.");
    }
    if (record.content == null && Array.isArray(record.tool_calls)) return "tool_use";
    if (text === null) {
      return new RecordFault("unknown_shape", "A record is {role, content, …} or {content, kind, …} with a text.");
    }
    if (text === "") return "empty";
    if (isOwnOutput(text)) return "own_output";
    const said = readSaid(record);
    if (said instanceof RecordFault) return said;
    const tags = readTags(record.tags);
    if (tags instanceof RecordFault) return tags;
    const kind = readString(record, "kind");
    return {
      type: "turn",
      line,
      text,
      said,
      source: this.#sourceOf(record),
      recordKey: this.#keyOf(record, line),
      domain: readString(record, "domain"),
      ...this.#attribute(record, role),
      ...(kind === null ? {} : { kind }),
      ...(tags.length === 0 ? {} : { tags }),
    };
  }

  /** Who said it and what it rests on. */
  #attribute(record: JsonObject, role: string | null): Pick<Turn, "speaker" | "basis" | "cites"> {
    const name = readString(record, "speaker") ?? readString(record, "name");
    if (role === null) return { speaker: name, basis: "imported", cites: [] };
    if (PERSON_ROLES.has(role)) return { speaker: name ?? "User", basis: "told", cites: [] };
    const model = `model:${readString(record, "model") ?? "unknown"}`;
    const results = this.#results.get(this.#sourceOf(record).key) ?? [];
    this.#results.delete(this.#sourceOf(record).key);
    return {
      speaker: name ?? "Assistant",
      basis: "generated",
      cites: [{ type: "model", key: model, name: model, trust: "unknown" }, ...results],
    };
  }

  #noteResult(record: JsonObject, line: number): void {
    const session = this.#sourceOf(record).key;
    const call = readString(record, "tool_call_id");
    const name = readString(record, "name");
    const key = `${session}:${call ?? `line:${line}`}`;
    const sources = nameToolSources(key, call ?? `line ${line}`, name === null ? null : { name, url: null });
    this.#results.set(session, [...(this.#results.get(session) ?? []), ...sources]);
  }

  #sourceOf(record: JsonObject): SourceInput {
    const session = readSession(record);
    if (session === null) return this.#file;
    return {
      type: "session",
      key: `${FORMAT}:${session}`,
      name: session,
      reference: this.#context.path,
      trust: "trusted",
    };
  }

  #keyOf(record: JsonObject, line: number): string {
    const uuid = readString(record, "uuid");
    if (uuid !== null) return `${FORMAT}:${uuid}`;
    const session = readSession(record);
    const scope = `${FORMAT}:${session ?? this.#context.fileKey}`;
    const id = record.id;
    if (typeof id === "number" || (typeof id === "string" && id !== "")) return `${scope}:${id}`;
    const time = TIME_FIELDS.map((field) => record[field]).find((value) => value != null);
    if (session !== null && (typeof time === "string" || typeof time === "number")) {
      return `${scope}:${time}:${readString(record, "role") ?? ""}`;
    }
    return `${FORMAT}:${this.#context.fileKey}:line:${line}`;
  }
}

function readSession(record: JsonObject): string | null {
  return readString(record, "session") ?? readString(record, "session_id");
}

/** The text of a string or of a list of text blocks; "" when there are no words, null for another shape. */
function readText(content: unknown): string | null {
  if (typeof content === "string") return content.trim();
  if (!Array.isArray(content)) return null;
  const texts: string[] = [];
  for (const block of content as readonly unknown[]) {
    if (typeof block === "string") texts.push(block.trim());
    else if (!isJsonObject(block)) return null;
    else if (typeof block.text === "string") texts.push(block.text.trim());
  }
  return texts.filter((text) => text !== "").join("\n\n");
}

function findWrongField(record: JsonObject): RecordFault | null {
  const wrong = TEXT_FIELDS.find((field) => record[field] != null && typeof record[field] !== "string");
  return wrong === undefined ? null : new RecordFault("bad_field", `The field ${wrong} takes a string.`);
}

function readTags(value: unknown): readonly string[] | RecordFault {
  if (value == null) return [];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const tags: string[] = [];
  for (const tag of list) {
    if (typeof tag !== "string" && typeof tag !== "number") {
      return new RecordFault("bad_field", "The field tags takes a list of strings.");
    }
    if (String(tag).trim() !== "") tags.push(String(tag).trim());
  }
  return tags;
}

/** The first time field that is filled, as a point, a day or {from, to}; null when there is none. */
function readSaid(record: JsonObject): ReferentTime | null | RecordFault {
  const value = TIME_FIELDS.map((field) => record[field]).find((field) => field != null);
  if (value === undefined) return null;
  if (!isJsonObject(value)) return readTime(value);
  const from = value.from == null ? null : readTime(value.from);
  const to = value.to == null ? null : readTime(value.to);
  if (from instanceof RecordFault) return from;
  if (to instanceof RecordFault) return to;
  const interval = { from: from?.from ?? null, to: to?.to ?? null };
  if ((from ?? to) === null || (interval.from !== null && interval.to !== null && interval.from > interval.to)) {
    return new RecordFault("bad_time", "An interval is {from, to} with from not after to.");
  }
  return from?.floating === true || to?.floating === true ? { ...interval, floating: true } : interval;
}

function readTime(value: unknown): ReferentTime | RecordFault {
  const bad = new RecordFault("bad_time", "Times are ISO 8601 with an offset, such as 2026-03-01T09:30:00Z.");
  if (typeof value === "number") {
    const at = Math.round(Math.abs(value) < FIRST_EPOCH_MILLIS ? value * 1000 : value);
    return Math.abs(at) <= MAX_EPOCH_MILLIS ? { from: at, to: at } : bad;
  }
  if (typeof value !== "string") return bad;
  try {
    return parseReferent(value);
  } catch (error) {
    if (!(error instanceof DormouseError)) throw error;
    return new RecordFault(error.code, error.hint ?? bad.hint);
  }
}
