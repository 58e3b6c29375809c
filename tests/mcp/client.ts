/** The SDK's own client over a real `dormouse mcp` process, in either revision of the protocol. */
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Cli } from "../cli/run-cli.ts";

export const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof REVISIONS)[number];

export async function connectClient(cli: Cli, revision: Revision, ...args: readonly string[]): Promise<Client> {
  const client = new Client(
    { name: "test agent", version: "1.0.0" },
    revision === "2026-07-28" ? { versionNegotiation: { mode: { pin: revision } } } : {},
  );
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(cli.bundle, "cli.js"), "mcp", ...args],
      env: { PATH: process.env.PATH ?? "", HOME: cli.home, DORMOUSE_BRAIN: cli.brain },
      stderr: "pipe",
    }),
  );
  return client;
}
