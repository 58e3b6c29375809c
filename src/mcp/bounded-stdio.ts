/**
 * The SDK's transport over standard input and output with bounds of its own: what a client sends is read only as fast
 * as it is answered and as the answers are taken, and what is no message is answered instead of closing the
 * connection. Decides nothing about methods, and logs nothing that was sent.
 */
import type { Readable, Writable } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { type Line, LineReader, MAX_LINE_BYTES } from "./line-reader.ts";

/** Requests answered at a time; further ones wait unread. */
const MAX_IN_FLIGHT = 16;
/** Bytes of the requests being answered, beyond which further ones wait; a single one may be longer. */
const MAX_IN_FLIGHT_BYTES = 2 * MAX_LINE_BYTES;
/** How long answers wait for a client that sends nothing more and takes nothing either. */
const LAST_ANSWERS_MS = 5_000;

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

interface Pending {
  count: number;
  bytes: number;
}

/** One client on a pair of streams. `ended` resolves when it has gone and everything it asked is answered. */
export class BoundedStdio implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly ended: Promise<void>;

  readonly #input: Readable;
  readonly #output: Writable;
  readonly #lines = new LineReader();
  readonly #pending = new Map<RequestId, Pending>();
  #pendingCount = 0;
  #pendingBytes = 0;
  /** Messages that the system has not taken yet. */
  #unwritten = 0;
  #isClosed = false;
  #wake: (() => void) | null = null;
  #end: () => void = () => {};

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async start(): Promise<void> {
    this.#output.on("error", () => this.#stop());
    this.#output.on("drain", () => this.#wake?.());
    void this.#read();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.#settle(message.id);
    this.#write(message);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#stop();
    this.onclose?.();
  }

  /** Reads to the end, one message after the other, each when there is room for it. */
  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#input) {
        for (const line of this.#lines.push(chunk)) await this.#take(line);
      }
      const last = this.#lines.finish();
      if (last !== null) await this.#take(last);
      await this.#awaitLastAnswers();
    } catch {
      // The input broke: whoever wrote it is gone, and so is the need to answer.
    }
    this.#end();
  }

  async #take(line: Line): Promise<void> {
    await this.#awaitRoom();
    if (this.#isClosed) return;
    if ("tooLong" in line) {
      this.#refuse(null, INVALID_REQUEST, `line: longer than ${MAX_LINE_BYTES} bytes`);
      return;
    }
    const message = this.#parse(line.bytes);
    if (message === null) return;
    if (isJSONRPCRequest(message)) this.#note(message.id, message.method, line.bytes.length);
    else if (isJSONRPCNotification(message) && this.#cancelsPending(message.params)) return;
    this.onmessage?.(message);
    // Lets what was delivered begin before the next line is looked at.
    await new Promise(setImmediate);
  }

  /** The message in a line; null for an empty line, and for what was refused. */
  #parse(bytes: Buffer): JSONRPCMessage | null {
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      this.#refuse(null, PARSE_ERROR, "line: not UTF-8");
      return null;
    }
    if (text.trim() === "") return null;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#refuse(null, PARSE_ERROR, "line: not JSON");
      return null;
    }
    try {
      return parseJSONRPCMessage(value);
    } catch {
      const isBatch = Array.isArray(value);
      this.#refuse(idOf(value), INVALID_REQUEST, isBatch ? "line: batches are not taken" : "line: no JSON-RPC message");
      return null;
    }
  }

  /** Subscriptions stay open for as long as the client likes, so they take nobody's room. */
  #note(id: RequestId, method: string, bytes: number): void {
    if (method === "subscriptions/listen") return;
    const pending = this.#pending.get(id) ?? { count: 0, bytes: 0 };
    pending.count += 1;
    pending.bytes += bytes;
    this.#pending.set(id, pending);
    this.#pendingCount += 1;
    this.#pendingBytes += bytes;
  }

  #settle(id: RequestId | undefined): void {
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (id === undefined || pending === undefined) return;
    const bytes = pending.bytes / pending.count;
    pending.count -= 1;
    pending.bytes -= bytes;
    if (pending.count === 0) this.#pending.delete(id);
    this.#pendingCount -= 1;
    this.#pendingBytes -= bytes;
    this.#wake?.();
  }

  /** A call takes milliseconds and cannot be stopped halfway; it is answered, as the protocol allows. */
  #cancelsPending(params: unknown): boolean {
    const id = isRecord(params) ? params.requestId : undefined;
    return (typeof id === "string" || typeof id === "number") && this.#pending.has(id);
  }

  async #awaitRoom(): Promise<void> {
    while (
      !this.#isClosed &&
      (this.#pendingCount >= MAX_IN_FLIGHT ||
        this.#pendingBytes >= MAX_IN_FLIGHT_BYTES ||
        this.#output.writableNeedDrain)
    ) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  async #awaitLastAnswers(): Promise<void> {
    const deadline = setTimeout(() => this.#stop(), LAST_ANSWERS_MS);
    while (!this.#isClosed && (this.#pendingCount > 0 || this.#unwritten > 0)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    clearTimeout(deadline);
  }

  #refuse(id: RequestId | null, code: number, message: string): void {
    this.#write({ jsonrpc: "2.0", id, error: { code, message } });
  }

  #write(message: object): void {
    if (this.#isClosed) return;
    this.#unwritten += 1;
    this.#output.write(`${JSON.stringify(message)}\n`, () => {
      this.#unwritten -= 1;
      this.#wake?.();
    });
  }

  #stop(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.destroy();
    this.#wake?.();
    this.#end();
  }
}

function idOf(value: unknown): RequestId | null {
  const id = isRecord(value) ? value.id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
