/** What the server makes of bytes: the bar below the protocol, on a real process without a client library. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { PassThrough, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Brain } from "../../src/app.ts";
import { serve } from "../../src/mcp/serve.ts";
import { Cli, finished } from "../cli/run-cli.ts";

const SLOW = 120_000;
const MIB = 1_048_576;
let built: Cli;
let cli: Cli;
let child: ChildProcess;

beforeAll(() => {
  built = Cli.build();
}, SLOW);
afterAll(() => {
  built.removeHome();
  built.removeBuild();
});
beforeEach(async () => {
  cli = built.fresh();
  await cli.run(["init"]);
  child = cli.start(["mcp"]);
  child.stdin?.on("error", () => {});
});
afterEach(() => {
  child.kill("SIGKILL");
  cli.removeHome();
});

interface Reply {
  readonly id: number | string | null;
  readonly result?: { readonly isError?: boolean; readonly structuredContent?: Record<string, unknown> };
  readonly error?: { readonly code: number; readonly message: string };
}

const request = (id: number | string, method: string, params?: object) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
const ping = (id: number) => request(id, "ping");
const hello = request("hello", "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "raw", version: "1" },
});
const remember = (id: number, content: string) =>
  request(id, "tools/call", { name: "memory_remember", arguments: { content } });

/** Sends the bytes, ends the input and gives what was answered. */
async function converse(bytes: string | Buffer): Promise<{ replies: Reply[]; status: number | null; stderr: string }> {
  child.stdin?.end(bytes);
  const { stdout, status, stderr } = await finished(child);
  expect(stdout === "" || stdout.endsWith("\n")).toBe(true);
  return {
    status,
    stderr,
    replies: stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line): Reply => JSON.parse(line)),
  };
}

/** Most memory the process ever held, in MiB. */
function peakMiB(): number {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

const thoughts = async () => (await cli.json<{ thoughts: number }>(["stats"])).thoughts;

describe("the MCP server's standard input", { timeout: SLOW }, () => {
  it("takes CRLF, empty lines and a last line without an end, answers each request and exits 0 at the end", async () => {
    const { replies, status, stderr } = await converse(`${hello}\r\n\r\n\n   \n${ping(1)}\n${remember(2, "Anna")}`);
    expect(replies.map(({ id }) => id)).toEqual(["hello", 1, 2]);
    expect(replies[2]?.result?.structuredContent).toMatchObject({ status: "created" });
    expect([status, stderr, await thoughts()]).toEqual([0, "", 1]);
  });

  it("exits 0 when it is told nothing at all", async () => {
    expect(await converse("")).toEqual({ replies: [], status: 0, stderr: "" });
  });

  it("answers what is no message by rule, and goes on", async () => {
    const bad: readonly (readonly [string | Buffer, number | null, number, string])[] = [
      [Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), null, -32700, "line: not UTF-8"],
      ["{", null, -32700, "line: not JSON"],
      ["[]", null, -32600, "line: batches are not taken"],
      [`[${ping(1)}]`, null, -32600, "line: batches are not taken"],
      ["7", null, -32600, "line: no JSON-RPC message"],
      ['{"id":5,"method":"ping"}', 5, -32600, "line: no JSON-RPC message"],
      ['{"jsonrpc":"2.0","id":6,"method":7}', 6, -32600, "line: no JSON-RPC message"],
      ["[".repeat(200_000), null, -32700, "line: not JSON"],
    ];
    const bytes = Buffer.concat([
      Buffer.from(`${hello}\n`),
      ...bad.flatMap(([line]) => [Buffer.from(line), Buffer.from("\n")]),
      Buffer.from(`${ping(9)}\n`),
    ]);
    const { replies, status } = await converse(bytes);
    expect(replies.slice(1, -1).map(({ id, error }) => [id, error])).toEqual(
      bad.map(([, id, code, message]) => [id, { code, message }]),
    );
    expect([replies.at(-1), status]).toEqual([{ jsonrpc: "2.0", id: 9, result: {} }, 0]);
  });

  it("runs nothing for a notification", async () => {
    const { id: _, ...notification } = JSON.parse(remember(2, "Said by a notification"));
    const { replies } = await converse(`${hello}\n${JSON.stringify(notification)}\n${ping(3)}\n`);
    expect([replies.map(({ id }) => id), await thoughts()]).toEqual([["hello", 3], 0]);
    // The control: the very same, with an id.
    child = cli.start(["mcp"]);
    await converse(`${hello}\n${remember(2, "Said by a notification")}\n`);
    expect(await thoughts()).toBe(1);
  });

  it("answers deep and wide arguments, and arguments of the wrong kind, without falling over", async () => {
    const depth = 100_000;
    const deep = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":${"[".repeat(depth)}${"]".repeat(depth)}}}}`;
    const wide = request(3, "tools/call", { name: "memory_search", arguments: Array.from({ length: 9_000 }, () => 1) });
    const none = request(4, "tools/call", { name: "memory_search", arguments: null });
    const { replies, status } = await converse(`${hello}\n${deep}\n${wide}\n${none}\n${ping(5)}\n`);
    expect(replies.map(({ id }) => id)).toEqual(["hello", 2, 3, 4, 5]);
    for (const reply of replies.slice(1, 4)) {
      expect(reply.error !== undefined || reply.result?.isError === true).toBe(true);
      expect(JSON.stringify(reply).length).toBeLessThan(2_000);
    }
    expect([replies[4]?.result, status]).toEqual([{}, 0]);
  });

  it("answers a line of more than 1 MiB while it still arrives", async () => {
    const lines = createInterface({ input: child.stdout ?? new PassThrough() });
    const reply = once(lines, "line");
    child.stdin?.write(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${"x".repeat(MIB)}`);
    // No line has ended yet.
    expect(JSON.parse(String((await reply)[0]))).toMatchObject({ id: null, error: { code: -32600 } });
    const next = once(lines, "line");
    child.stdin?.write(`${"x".repeat(3 * MIB)}"}}\n${ping(2)}\n`);
    expect(JSON.parse(String((await next)[0]))).toMatchObject({ id: 2, result: {} });
  });

  it("answers every one of 96 lines of 1 MiB sent at once", async () => {
    const line = (id: number) => {
      const empty = request(id, "ping", { _meta: { padding: "" } });
      return `${empty.replace('""', `"${"x".repeat(MIB - empty.length)}"`)}\n`;
    };
    const answered: Promise<unknown>[] = [];
    let peak = 0;
    const replies: Reply[] = [];
    createInterface({ input: child.stdout ?? new PassThrough() }).on("line", (text) => {
      replies.push(JSON.parse(text));
      if (process.platform === "linux") peak = Math.max(peak, peakMiB());
    });
    for (let id = 1; id <= 96; id += 1) answered.push(new Promise((resolve) => child.stdin?.write(line(id), resolve)));
    await Promise.all(answered);
    while (replies.length < 96) await delay(20);
    expect(replies.map(({ id }) => id)).toEqual(Array.from({ length: 96 }, (_, index) => index + 1));
    expect(replies.every(({ result }) => result !== undefined)).toBe(true);
    if (process.platform === "linux") console.log(`96 MiB at once: ${Math.round(peak)} MiB at the most`);
    // Reading ahead would hold 96 MiB of bytes and more than that of strings.
    expect(peak).toBeLessThan(250);
  });

  it("holds a stalled reader's 20,000 pings outside, and loses none", async () => {
    const pings = 20_000;
    child.stdout?.pause();
    let sent = false;
    const text = Array.from({ length: pings }, (_, index) => `${ping(index)}\n`).join("");
    // Padded, so that what waits is more than the pipes between the two processes hold.
    const padded = text.replaceAll('"method":"ping"', `"method":"ping","params":{"_meta":{"p":"${"x".repeat(200)}"}}`);
    child.stdin?.write(`${hello}\n${padded}`, () => {
      sent = true;
    });
    await delay(3_000);
    expect(sent).toBe(false);
    if (process.platform === "linux") {
      const peak = peakMiB();
      console.log(`20,000 pings to a stalled reader: ${Math.round(peak)} MiB at the most`);
      expect(peak).toBeLessThan(250);
    }
    const conversation = converse("");
    child.stdout?.resume();
    const { replies, status } = await conversation;
    expect(replies.slice(1).map(({ id }) => id)).toEqual(Array.from({ length: pings }, (_, index) => index));
    expect(status).toBe(0);
  });

  it("goes when its reader has gone", async () => {
    const exit = once(child, "exit");
    child.stdin?.write(`${hello}\n`);
    await once(child.stdout ?? child, "data");
    child.stdout?.destroy();
    child.stdin?.write(`${ping(1)}\n`);
    await delay(100);
    child.stdin?.write(`${ping(2)}\n`);
    const [status] = await exit;
    expect(status).toBe(0);
  });
});

describe("a client that sends no more and takes nothing", { timeout: SLOW }, () => {
  it("is not waited for without end", async () => {
    const brain = Brain.open({ path: cli.brain });
    const input = new PassThrough();
    const written: string[] = [];
    const output = new Writable({ write: (chunk) => void written.push(String(chunk)) });
    input.end(`${hello}\n`);
    await serve(brain, { input, output, version: "1", onFailure: () => {} });
    brain.close();
    expect([written.length, output.writableLength > 0]).toEqual([1, true]);
  });
});

describe("a call that crashes", { timeout: SLOW }, () => {
  it("is an anonymous internal error, and the next call is answered", async () => {
    const brain = Brain.open({ path: cli.brain });
    await brain.remember({ content: "Anna lives in Graça." });
    const search = brain.search.bind(brain);
    let calls = 0;
    brain.search = async (query, options) => {
      calls += 1;
      if (calls === 1) throw new TypeError("Anna lives in Graça.");
      return search(query, options);
    };
    brain.show = () => {
      throw new TypeError("Anna lives in Graça.");
    };
    const input = new PassThrough();
    const output = new PassThrough();
    const told: string[] = [];
    const done = serve(brain, { input, output, version: "1", onFailure: (sentence) => told.push(sentence) });
    const find = (id: number) => request(id, "tools/call", { name: "memory_search", arguments: { query: "Anna" } });
    const node = request(3, "resources/read", { uri: "dormouse://node/n_0123456789abcdef" });
    input.end(`${hello}\n${find(1)}\n${find(2)}\n${node}\n`);
    await done;
    brain.close();
    const [, first, second, third] = String(output.read())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const anonymous = "internal_error: the call failed inside the server; nothing more can be told here";
    expect(first.result).toEqual({ isError: true, content: [{ type: "text", text: anonymous }] });
    expect(second.result.structuredContent.results).toHaveLength(1);
    expect(third.error).toEqual({ code: -32603, message: anonymous });
    expect(told).toEqual([
      "internal error in memory_search (TypeError)",
      "internal error in resources/read (TypeError)",
    ]);
  });
});
