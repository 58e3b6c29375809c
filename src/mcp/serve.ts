/**
 * Serves one brain to one MCP client over a pair of streams until the client has gone. Both revisions of the protocol
 * (2025-11-25 and 2026-07-28) are served; the client's first message decides which.
 */
import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Brain } from "../app.ts";
import { BoundedStdio } from "./bounded-stdio.ts";
import { createServer } from "./server.ts";

export interface ServeOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** The program's version, as the client sees it. */
  readonly version: string;
  /** Told that something failed, without a word of what was said or remembered. */
  readonly onFailure: (sentence: string) => void;
}

/** Resolves when the client has gone and all it asked is answered. */
export async function serve(brain: Brain, { input, output, version, onFailure }: ServeOptions): Promise<void> {
  const transport = new BoundedStdio(input, output);
  const onCrash = (where: string, error: unknown) =>
    onFailure(`internal error in ${where} (${error instanceof Error ? error.name : typeof error})`);
  const handle = serveStdio(() => createServer({ brain, onCrash }, version), { transport });
  await transport.ended;
  await handle.close();
}
