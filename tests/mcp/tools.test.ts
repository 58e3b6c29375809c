/** Every tool, driven by the SDK's own client over a real process, in both revisions of the protocol. */
import type { CallToolResult, Client } from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Brain } from "../../src/app.ts";
import { estimateTokens } from "../../src/retrieve/pack.ts";
import { Cli } from "../cli/run-cli.ts";
import { connectClient, REVISIONS } from "./client.ts";

const SLOW = 120_000;
let built: Cli;
let cli: Cli;
let client: Client | null = null;

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
});
afterEach(async () => {
  await client?.close();
  client = null;
  cli.removeHome();
});

async function call(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
  if (client === null) throw new Error("no client");
  return (await client.callTool({ name, arguments: args })) as CallToolResult;
}

async function answer<T = Record<string, unknown>>(name: string, args: Record<string, unknown>): Promise<T> {
  const result = await call(name, args);
  if (result.isError === true) throw new Error(textOf(result));
  return result.structuredContent as T;
}

function textOf({ content: [first] }: CallToolResult): string {
  return first?.type === "text" ? first.text : "";
}

async function withBrain<T>(use: (brain: Brain) => Promise<T> | T): Promise<T> {
  const brain = Brain.open({ path: cli.brain });
  try {
    return await use(brain);
  } finally {
    brain.close();
  }
}

describe.each(REVISIONS)("the MCP server, revision %s", { timeout: SLOW }, (revision) => {
  it("speaks this revision and lists its tools in a fixed order, none of which destroys or applies a recall", async () => {
    client = await connectClient(cli, revision);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "memory_search",
      "memory_context",
      "memory_remember",
      "memory_why",
      "memory_forget",
      "memory_recall_preview",
    ]);
    for (const { inputSchema, outputSchema, description } of tools) {
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: "object" });
      expect(description?.length).toBeGreaterThan(60);
    }
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(hints.memory_forget).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(hints.memory_recall_preview).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(hints.memory_remember).toMatchObject({ readOnlyHint: false, destructiveHint: false, idempotentHint: true });
  });

  it("answers a search and a context as the library does", async () => {
    await cli.remember("Anna lives in Graça and pays 1,150 euros.", "--tag", "lisbon");
    await cli.remember("The tram to Graça leaves at nine.");
    client = await connectClient(cli, revision);
    const found = await answer<{ results: unknown[]; page: unknown }>("memory_search", { query: "Graça rent" });
    const context = await answer("memory_context", { hints: ["Graça"] });
    const expected = await withBrain(async (brain) => ({
      search: await brain.search("Graça rent"),
      context: await brain.context(["Graça"]),
    }));
    expect(expected.search.results.length).toBe(2);
    expect(found).toEqual({
      ...expected.search,
      tookMs: expect.any(Number),
      page: { cursor: null, remaining: 0 },
      evidence: expect.stringContaining("dormouse:evidence"),
    });
    expect(context).toEqual({ ...expected.context, tookMs: expect.any(Number) });
  });

  it("remembers for the agent, below the ids it cites and its own source, and knows the same call again", async () => {
    const cited = await cli.remember("Anna pays 1,150 euros.");
    client = await connectClient(cli, revision);
    const args = { content: "Anna wants to move.", legs: [[cited]], source: "page:example.org", due: "2027-01-01" };
    const first = await answer<{ id: string; status: string }>("memory_remember", args);
    const events = await withBrain((brain) => brain.ledger({ limit: 500 }).length);
    const again = await answer("memory_remember", args);
    expect([first.status, again]).toEqual(["created", { id: first.id, status: "known" }]);
    await withBrain((brain) => {
      expect(brain.ledger({ limit: 500 }).length).toBe(events);
      const { legs, trust } = brain.why(first.id);
      expect(legs.map(({ axiom, parents }) => [axiom, parents.map(({ label }) => label).sort()])).toEqual([
        [false, ["Anna pays 1,150 euros.", "agent:test agent", "page:example.org"]],
      ]);
      expect(trust).toBe("unknown");
      const taken = brain.previewRecall({ sources: "agent:*" }).removed.map(({ id }) => id);
      expect(taken).toContain(first.id);
    });
  });

  it("says why, forgets with the way back, and previews a recall without doing it", async () => {
    const root = await cli.remember("The page says the flat is free.", "--source", "page:example.org");
    const child = await cli.remember("So Anna can move.", "--leg", root);
    client = await connectClient(cli, revision);
    const expected = await withBrain((brain) => ({
      why: brain.why(child),
      preview: brain.previewRecall({ sources: "page:*" }),
    }));
    expect(expected.why.legs[0]?.parents[0]?.id).toBe(root);
    expect((await answer<{ why: unknown }>("memory_why", { id: child })).why).toEqual(expected.why);
    const preview = await answer("memory_recall_preview", { sources: "page:*" });
    expect(preview).toMatchObject({ ...expected.preview, applied: false });
    expect(expected.preview.counts.thoughts).toBe(2);
    const forgotten = await answer<{ undo: string }>("memory_forget", { id: child, reason: "the person asked" });
    expect(forgotten).toMatchObject({ id: child, changed: true, undo: `dormouse revive ${child}` });
    await withBrain((brain) => {
      expect(brain.list({ state: "recalled", limit: 9 })).toEqual([]);
      expect(brain.list({ state: "forgotten", limit: 9 }).map(({ id }) => id)).toEqual([child]);
      expect(brain.ledger({ limit: 1 })[0]).toMatchObject({ actor: "agent" });
    });
    expect((await cli.run(forgotten.undo.split(" ").slice(1))).status).toBe(0);
  });

  it("bounds every answer, and its pages together are the library's answer", async () => {
    const source = { type: "page", key: "p", name: "page:example.org", trust: "unknown" } as const;
    const root = await withBrain(async (brain) => {
      const parents: string[] = [];
      for (let index = 0; index < 60; index += 1) {
        const content = `The tram number ${index} stops near the market ${"and the river ".repeat(index === 7 ? 1_200 : 9)}`;
        const { id } = await brain.remember({ content, occurrence: { source } });
        parents.push(id ?? "");
      }
      return (await brain.remember({ content: "Trams are many.", legs: parents.map((id) => ({ parents: [id] })) })).id;
    });
    client = await connectClient(cli, revision);
    const expected = await withBrain(async (brain) => ({
      search: (await brain.search("tram market river", { k: 60 })).results.map(({ id }) => id),
      recall: brain.previewRecall({ sources: "page:*" }, { limit: 1_000 }).removed.map(({ id }) => id),
      why: brain.why(root ?? "").legs.length,
    }));
    expect(expected).toMatchObject({ search: { length: 60 }, why: 50 });
    expect(expected.recall.length).toBeGreaterThan(60);
    const pages = async <T>(name: string, args: Record<string, unknown>, take: (structured: T) => string[]) => {
      const all: string[] = [];
      for (let cursor: string | null | undefined, count = 0; cursor !== null && count < 60; count += 1) {
        const result = await call(name, { ...args, ...(cursor === undefined ? {} : { cursor }) });
        const structured = result.structuredContent as T & { page: { cursor: string | null } };
        expect(estimateTokens(JSON.stringify(structured))).toBeLessThanOrEqual(2_100);
        expect(estimateTokens(textOf(result))).toBeLessThanOrEqual(2_100);
        all.push(...take(structured));
        cursor = structured.page.cursor;
      }
      return all;
    };
    type Found = { results: { id: string }[] };
    type Recalled = { removed: { id: string }[] };
    type Why = { why: { legs: { parents: { id: string }[] }[] } };
    const query = { query: "tram market river", k: 60 };
    expect(await pages<Found>("memory_search", query, ({ results }) => results.map(({ id }) => id))).toEqual(
      expected.search,
    );
    const recalled = await pages<Recalled>("memory_recall_preview", { sources: "page:*", limit: 1_000 }, (page) =>
      page.removed.map(({ id }) => id),
    );
    expect(recalled).toEqual(expected.recall);
    const legs = await pages<Why>("memory_why", { id: root, depth: 1 }, ({ why }) =>
      why.legs.flatMap(({ parents }) => parents.map(({ id }) => id)),
    );
    expect(new Set(legs).size).toBe(50);
    expect(legs.length).toBe(50);
  });

  it("refuses what no schema allows, by rule and field, and lives on", async () => {
    const id = await cli.remember("Anna pays 1,150 euros.");
    client = await connectClient(cli, revision);
    const refused: readonly [string, Record<string, unknown>, RegExp][] = [
      ["memory_search", {}, /query: .*expected string/],
      ["memory_search", { query: 5 }, /query: .*expected string, received number/],
      ["memory_search", { query: "" }, /query: Too small/],
      ["memory_search", { query: "x".repeat(20_001) }, /query: Too big/],
      ["memory_search", { query: "x", k: 0 }, /k: Too small/],
      ["memory_search", { query: "x", k: 1.5 }, /k: .*expected int/],
      ["memory_search", { query: "x", brain: "/other.db" }, /brain: one brain is fixed/],
      ["memory_search", { query: "x", scope: "secret" }, /scope: scopes are fixed/],
      ["memory_search", { query: "x", scopes: ["secret"] }, /scopes: scopes are fixed/],
      ["memory_search", { query: "x", constructor: 1 }, /constructor: there is no such argument/],
      ["memory_search", { query: "x", "words of a thought": 1 }, /: unknown argument$/],
      ["memory_search", { query: "x", cursor: "bm9wZQ" }, /usage: cursor: not one/],
      ["memory_search", { query: "x", when: "yesterday" }, /bad_time: when: no such time/],
      ["memory_search", { query: "x", when: "2026-03-01T10:00" }, /naive_time: when: has no offset/],
      ["memory_search", { query: "x", tags: Array.from({ length: 5_000 }, () => 1) }, /maximum of 2000 elements/],
      ["memory_context", { hints: "Anna" }, /hints: .*expected array/],
      ["memory_context", { maxTokens: 1e9 }, /maxTokens: Too big/],
      ["memory_remember", { content: "   " }, /empty: content/],
      ["memory_remember", { content: "a\u0000b" }, /invalid: content: holds a NUL/],
      ["memory_remember", { content: "x", legs: [[]] }, /legs\.0: Too small/],
      ["memory_remember", { content: "x", legs: [["n_0000000000000000"]] }, /not_found: there is no thought/],
      ["memory_remember", { content: "x", basis: "guessed" }, /basis: Invalid option/],
      ["memory_remember", { content: "x", confidence: 101 }, /confidence: Too big/],
      ["memory_remember", { content: "x", axiom: true }, /axiom: there is no such argument/],
      ["memory_why", { id: "anna" }, /usage: that is not a node id/],
      ["memory_why", { id, depth: 51 }, /depth: Too big/],
      ["memory_forget", { id }, /reason: .*expected string/],
      ["memory_recall_preview", {}, /usage: /],
      ["memory_recall_preview", { ids: [id], apply: true }, /apply: there is no such argument/],
      ["memory_recall_preview", { ids: [id], rule: "all" }, /rule: Invalid option/],
    ];
    const before = await withBrain((brain) => brain.ledger({ limit: 1 })[0]?.id);
    for (const [name, args, message] of refused) {
      const result = await call(name, args);
      expect([name, result.isError, textOf(result)]).toEqual([name, true, expect.stringMatching(message)]);
      expect(textOf(result).length).toBeLessThan(1_000);
    }
    await expect(call("memory_erase", { id })).rejects.toThrow(/not found/);
    expect(await withBrain((brain) => brain.ledger({ limit: 1 })[0]?.id)).toBe(before);
    const query: unknown = JSON.parse('{"query":"Anna","__proto__":{"maxTokens":1,"k":0}}');
    expect(await answer("memory_search", Object(query))).toMatchObject({ results: [{ id }] });
  });

  it("gives nodes and today's context as resources, and reading them is no access", async () => {
    const id = await cli.remember("Anna pays 1,150 euros.");
    client = await connectClient(cli, revision);
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    expect([resources.map(({ uri }) => uri), resourceTemplates.map(({ uriTemplate }) => uriTemplate)]).toEqual([
      ["dormouse://context"],
      ["dormouse://node/{id}"],
    ]);
    const [context] = (await client.readResource({ uri: "dormouse://context" })).contents;
    const [node] = (await client.readResource({ uri: `dormouse://node/${id}` })).contents;
    expect(context).toMatchObject({ text: expect.stringContaining("Anna pays") });
    expect(JSON.parse(node !== undefined && "text" in node ? node.text : "")).toMatchObject({ id, accessDays: 0 });
    await expect(client.readResource({ uri: "dormouse://node/nobody" })).rejects.toThrow(/not a node id/);
    await expect(client.readResource({ uri: "file:///etc/passwd" })).rejects.toThrow();
    await answer("memory_search", { query: "Anna" });
    expect(await withBrain((brain) => brain.show(id))).toMatchObject({ accessDays: 1 });
  });

  it("reads and writes only the scopes it was started with", async () => {
    const secret = await cli.remember("Anna's secret is the garden.", "--scope", "secret");
    const own = await cli.remember("Anna's desk is by the garden.", "--scope", "work");
    client = await connectClient(cli, revision, "--scope", "work", "--scope", "public");
    const { results } = await answer<{ results: { id: string }[] }>("memory_search", { query: "Anna garden" });
    expect(results.map(({ id }) => id)).toEqual([own]);
    expect(textOf(await call("memory_why", { id: secret }))).toMatch(/not_found/);
    expect(textOf(await call("memory_remember", { content: "x", legs: [[secret]] }))).toMatch(/not_found/);
    const { id } = await answer<{ id: string }>("memory_remember", { content: "Anna has a new desk." });
    expect(await withBrain((brain) => brain.show(id))).toMatchObject({ scope: "work" });
  });
});

describe("starting the MCP server", { timeout: SLOW }, () => {
  it.each([
    ["no brain", ["--brain", "absent.db", "mcp"], 1, "no_brain"],
    ["an unknown scope", ["mcp", "--scope", "nowhere"], 2, "unknown_scope"],
  ])("fails on stderr alone with %s", async (_, args, status, code) => {
    const result = await cli.run(["--json", ...args]);
    expect([result.status, result.stdout]).toEqual([status, ""]);
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code } });
  });
});
