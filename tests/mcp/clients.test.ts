/**
 * Several agents on one brain at once, each through a server process of its own: nothing is lost, nothing is doubled,
 * and the history proves. `DORMOUSE_MCP_LOAD=1` makes it eight agents with a thousand calls each.
 */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Brain } from "../../src/app.ts";
import { Cli } from "../cli/run-cli.ts";
import { connectClient, REVISIONS } from "./client.ts";

const IS_LOAD = process.env.DORMOUSE_MCP_LOAD === "1";
const AGENTS = IS_LOAD ? 8 : 3;
const CALLS = IS_LOAD ? 1_000 : 40;
/** Calls that one agent has open at a time. */
const PARALLEL = 4;
const PATIENCE_MS = IS_LOAD ? 1_800_000 : 180_000;
let cli: Cli;

beforeAll(() => {
  cli = Cli.build();
}, PATIENCE_MS);
afterAll(() => {
  cli.removeHome();
  cli.removeBuild();
});

/** One agent's calls: of ten, six remember (two of them what others remember, too, one a retry), four read. */
async function runAgent(agent: number): Promise<{ own: string[]; shared: string[]; failures: string[] }> {
  const client = await connectClient(cli, REVISIONS[agent % REVISIONS.length] ?? REVISIONS[0]);
  const own: string[] = [];
  const shared: string[] = [];
  const failures: string[] = [];
  const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const result = (await client.callTool({ name, arguments: args }, { timeout: PATIENCE_MS })) as CallToolResult;
    if (result.isError === true) failures.push(JSON.stringify(result.content));
    const structured: unknown = result.structuredContent;
    return typeof structured === "object" && structured !== null && "id" in structured ? String(structured.id) : "";
  };
  const runCall = async (index: number): Promise<void> => {
    const kind = index % 10;
    if (kind === 9) {
      const content = `Agent ${agent} retries what it noted at ${index}.`;
      const [first, again] = await Promise.all([
        call("memory_remember", { content }),
        call("memory_remember", { content }),
      ]);
      expect(again).toBe(first);
      own.push(first);
    } else if (kind < 3) own.push(await call("memory_remember", { content: `Agent ${agent} noted number ${index}.` }));
    else if (kind < 5) shared.push(await call("memory_remember", { content: `Everybody noted number ${index}.` }));
    else if (kind < 7) await call("memory_search", { query: `number ${index}`, k: 3 });
    else if (kind < 8) await call("memory_context", { hints: ["noted"] });
    else if (own[0] !== undefined) await call("memory_why", { id: own[0] });
  };
  let next = 0;
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (next < CALLS) {
        const index = next;
        next += 1;
        await runCall(index);
      }
    }),
  );
  await client.close();
  return { own, shared, failures };
}

describe("agents on one brain", { timeout: PATIENCE_MS }, () => {
  it("lose and double nothing, and leave a history that proves", async () => {
    await cli.run(["init"]);
    const agents = await Promise.all(Array.from({ length: AGENTS }, (_, agent) => runAgent(agent)));
    expect(agents.flatMap(({ failures }) => failures)).toEqual([]);
    const own = agents.flatMap((agent) => agent.own);
    const shared = new Set(agents.flatMap((agent) => agent.shared));
    const perTen = CALLS / 10;
    expect(new Set(own).size).toBe(AGENTS * perTen * 4);
    expect(shared.size).toBe(perTen * 2);
    const brain = Brain.open({ path: cli.brain });
    try {
      expect(brain.stats().thoughts).toBe(AGENTS * perTen * 4 + perTen * 2);
      // A client names itself the same in every process, so its source is one and a value is met in it once.
      expect(brain.sources({ type: "model" }).map(({ name }) => name)).toEqual(["agent:test agent"]);
      expect((await brain.doctor()).checks.filter(({ violations }) => violations > 0)).toEqual([]);
      expect((await brain.verify()).problems).toEqual([]);
    } finally {
      brain.close();
    }
  });
});
