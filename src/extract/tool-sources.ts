/**
 * Names the sources behind a tool's result: the call itself and, for the web, what was fetched. Decides
 * trust by an explicit list of tools that stay on the machine; a tool it does not know is an outside tool.
 */
import type { SourceInput } from "../core/types.ts";
import type { JsonObject } from "./record-fields.ts";
import { readString } from "./record-fields.ts";

/** A call that waits for its result. */
export interface ToolCall {
  readonly name: string;
  /** Address the call fetches; only for tools that fetch one. */
  readonly url: string | null;
}

const LOCAL_TOOLS: ReadonlySet<string> = new Set([
  "Agent",
  "AgentOutputTool",
  "AskUserQuestion",
  "Bash",
  "BashOutput",
  "Config",
  "CronCreate",
  "CronDelete",
  "CronList",
  "Edit",
  "EnterPlanMode",
  "EnterWorktree",
  "ExitPlanMode",
  "ExitWorktree",
  "Glob",
  "Grep",
  "KillBash",
  "KillShell",
  "LS",
  "LSP",
  "Monitor",
  "MultiEdit",
  "NotebookEdit",
  "NotebookRead",
  "PowerShell",
  "Read",
  "SendMessage",
  "Skill",
  "SlashCommand",
  "StructuredOutput",
  "Task",
  "TaskCreate",
  "TaskGet",
  "TaskList",
  "TaskOutput",
  "TaskStop",
  "TaskUpdate",
  "TodoRead",
  "TodoWrite",
  "ToolSearch",
  "Write",
]);
const MAX_NAME_CHARS = 200;

/** Reads a tool call block. */
export function readToolCall(block: JsonObject): ToolCall {
  const name = readString(block, "name");
  const input = block.input;
  const url = typeof input === "object" && input !== null && "url" in input ? input.url : null;
  return {
    name: name === null || name.length > MAX_NAME_CHARS ? "unknown" : name,
    url: name === "WebFetch" && typeof url === "string" ? url : null,
  };
}

/**
 * The sources of one result. `callKey` is the call's stable identity, `callId` its id in the record;
 * `call` is null when the call itself was never met.
 */
export function nameToolSources(callKey: string, callId: string, call: ToolCall | null): SourceInput[] {
  const name = call?.name ?? "unknown";
  const trust = LOCAL_TOOLS.has(name) ? "unknown" : "untrusted";
  const sources: SourceInput[] = [{ type: "tool", key: callKey, name: `tool:${name}`, reference: callId, trust }];
  const host = call?.url == null ? null : readHost(call.url);
  if (call?.url != null && host !== null) {
    sources.push({
      type: "page",
      key: `page:${call.url}`,
      name: `web:${host}`,
      reference: call.url,
      trust: "untrusted",
    });
  }
  if (name === "WebSearch") {
    sources.push({ type: "page", key: `search:${callKey}`, name: "web:search", reference: callId, trust: "untrusted" });
  }
  return sources;
}

function readHost(url: string): string | null {
  try {
    const host = new URL(url).hostname;
    return host === "" ? null : host;
  } catch {
    return null;
  }
}
