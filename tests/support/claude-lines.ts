/** Lines of Claude Code transcripts as the tool writes them. */

export interface LineOptions {
  readonly uuid?: string;
  readonly parent?: string | null;
  readonly session?: string;
  readonly at?: string;
  readonly cwd?: string;
}

let count = 0;

function line(type: "user" | "assistant", message: unknown, options: LineOptions, extra: object = {}): string {
  count += 1;
  const record = {
    type,
    uuid: options.uuid ?? `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`,
    parentUuid: options.parent ?? null,
    sessionId: options.session ?? "11111111-1111-4111-8111-111111111111",
    timestamp: options.at ?? "2026-02-03T10:00:00.000Z",
    cwd: options.cwd ?? "/home/me/garden",
    isSidechain: false,
    message,
    ...extra,
  };
  return `${JSON.stringify(record)}\n`;
}

export function personLine(text: string, options: LineOptions = {}): string {
  return line("user", { role: "user", content: text }, options);
}

export function assistantLine(text: string, options: LineOptions = {}): string {
  return assistantBlocks([{ type: "text", text }], options);
}

export function callLine(id: string, name: string, input: object, options: LineOptions = {}): string {
  return assistantBlocks([{ type: "tool_use", id, name, input }], options);
}

export function resultLine(id: string, text: string, options: LineOptions = {}): string {
  return line("user", { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text }] }, options, {
    toolUseResult: text,
  });
}

function assistantBlocks(content: readonly object[], options: LineOptions): string {
  return line("assistant", { role: "assistant", id: "msg_1", model: "model-a", content }, options);
}
