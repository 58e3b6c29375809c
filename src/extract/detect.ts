/**
 * Tells a file's format from its name and first bytes. A format it knows but cannot read is refused by
 * name, and so is what it cannot tell: no file is half-read as something it is not.
 */
import { isUtf8 } from "node:buffer";
import { extname } from "node:path";
import type { Format } from "./format.ts";
import type { JsonObject } from "./record-fields.ts";
import { isJsonObject } from "./record-fields.ts";

/** `refused` is a short stable word: `empty`, `binary`, the name of a format without a reader, or `unknown…`. */
type Detection = Format | { readonly refused: string };

/** Bytes from the file's start that are enough to tell; fewer only when the file is shorter. */
export const DETECT_HEAD_BYTES = 64 * 1024;

const TEXT_EXTENSIONS: ReadonlySet<string> = new Set(["", ".txt", ".text", ".log", ".org", ".rst"]);
const MARKDOWN_EXTENSIONS: ReadonlySet<string> = new Set([".md", ".markdown"]);
const JSON_LINES_EXTENSIONS: ReadonlySet<string> = new Set([".jsonl", ".ndjson"]);
const MAX_INSPECTED_LINES = 50;
/** A UTF-8 character cut by the end of the head has at most this many bytes in it. */
const MAX_CUT_BYTES = 3;

const CLAUDE_CODE_TYPES: ReadonlySet<string> = new Set([
  "user",
  "assistant",
  "system",
  "progress",
  "attachment",
  "ai-title",
  "custom-title",
  "agent-name",
  "last-prompt",
  "mode",
  "permission-mode",
  "pr-link",
  "bridge-session",
  "continued-in",
]);
const CODEX_TYPES: ReadonlySet<string> = new Set([
  "session_meta",
  "turn_context",
  "response_item",
  "event_msg",
  "compacted",
]);

/**
 * The format of the file at `path`, judged by its name and `headBytes`, its first bytes
 * (`DETECT_HEAD_BYTES` of them or the whole file). The file itself is not read.
 */
export function detectFormat(path: string, headBytes: Buffer): Detection {
  const head = decodeHead(headBytes);
  if (head === null) return { refused: "binary" };
  if (head.trim() === "") return { refused: "empty" };
  const extension = extname(path).toLowerCase();
  if (MARKDOWN_EXTENSIONS.has(extension)) return "markdown";
  if (extension === ".txt") return "text";
  const byShape = detectByShape(head);
  if (byShape !== null) return byShape;
  if (JSON_LINES_EXTENSIONS.has(extension)) return { refused: "unknown_jsonl" };
  if (extension === ".json") return { refused: "unknown_json" };
  return TEXT_EXTENSIONS.has(extension) ? "text" : { refused: "unknown" };
}

function decodeHead(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  for (let cut = 0; cut <= Math.min(MAX_CUT_BYTES, bytes.length); cut++) {
    const whole = bytes.subarray(0, bytes.length - cut);
    if (isUtf8(whole)) return whole.toString("utf8").replace(/^\uFEFF/, "");
  }
  return null;
}

function detectByShape(head: string): Detection | null {
  const start = head.trimStart();
  if (!start.startsWith("{") && !start.startsWith("[")) {
    // One broken line does not make a transcript a text, but prose that merely holds JSON stays prose.
    return /^["\d]/.test(start) ? detectByRecords(start) : null;
  }
  return detectByRecords(start) ?? detectByDocument(start);
}

/** The first line that has a known shape decides. */
function detectByRecords(head: string): Detection | null {
  for (const line of head.split("\n", MAX_INSPECTED_LINES)) {
    const record = parseRecord(line);
    const format = record === null ? null : classifyRecord(record);
    if (format !== null) return format;
  }
  return null;
}

function parseRecord(line: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function classifyRecord(record: JsonObject): Detection | null {
  const type = record.type;
  if (isClaudeCode(record, type)) return "claude-code";
  if (isCodex(record, type)) return { refused: "codex" };
  if (type === "session" && ("version" in record || "cwd" in record)) return { refused: "pi" };
  if ("mapping" in record) return { refused: "chatgpt" };
  if ("chat_messages" in record) return { refused: "claude-ai" };
  if (Array.isArray(record.messages) && "sessionId" in record) return { refused: "gemini" };
  const isMessage = typeof record.role === "string" && "content" in record;
  const isThought = typeof record.content === "string" || typeof record.text === "string";
  return isMessage || (isThought && typeof type !== "string") ? "jsonl" : null;
}

function isClaudeCode(record: JsonObject, type: unknown): boolean {
  if (type === "summary") return "leafUuid" in record || "sessionId" in record;
  if (type === "file-history-snapshot") return "messageId" in record || "snapshot" in record;
  if (type === "queue-operation") return "operation" in record || "sessionId" in record;
  if (typeof type !== "string" || !CLAUDE_CODE_TYPES.has(type)) return false;
  return "sessionId" in record || ("uuid" in record && "message" in record);
}

function isCodex(record: JsonObject, type: unknown): boolean {
  if (typeof type === "string" && CODEX_TYPES.has(type)) return isJsonObject(record.payload);
  if (record.record_type === "state") return true;
  if (type === "message" && Array.isArray(record.content)) {
    return record.content.some(
      (block) => isJsonObject(block) && (block.type === "input_text" || block.type === "output_text"),
    );
  }
  return type === undefined && "instructions" in record && "timestamp" in record && "id" in record;
}

/** A document over many lines, or a first line longer than the head: its unescaped keys have to do. */
function detectByDocument(head: string): Detection | null {
  const has = (key: string): boolean => head.includes(`"${key}":`) || new RegExp(`"${key}"\\s+:`).test(head);
  if (has("sessionId") && (has("parentUuid") || has("isSidechain"))) return "claude-code";
  if (/^\{"type":"file-history-snapshot"/.test(head)) return "claude-code";
  if (/"type":\s?"session_meta"/.test(head) && has("payload")) return { refused: "codex" };
  if (has("chat_messages")) return { refused: "claude-ai" };
  if (has("mapping") || (has("conversation_id") && has("current_node"))) return { refused: "chatgpt" };
  if (has("sessionId") && has("messages")) return { refused: "gemini" };
  const isCutLine = !head.includes("\n");
  return isCutLine && /^\{"(?:role|content|text)":/.test(head) ? "jsonl" : null;
}
