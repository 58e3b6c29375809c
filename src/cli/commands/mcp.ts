/** `dormouse mcp`: serves the brain to one agent over standard input and output until the agent goes. */
import { Brain } from "../../app.ts";
import { serve } from "../../mcp/serve.ts";
import type { ExitStatus, Invocation } from "../invocation.ts";

export interface McpFlags {
  readonly scope?: readonly string[];
}

export async function runMcp(invocation: Invocation, flags: McpFlags, version: string): Promise<ExitStatus> {
  const note = (sentence: string) => invocation.output.note(sentence);
  const brain = Brain.open({
    actor: "agent",
    onNotice: note,
    ...(invocation.brainPath === undefined ? {} : { path: invocation.brainPath }),
    ...(invocation.modelDirectory === undefined ? {} : { modelDirectory: invocation.modelDirectory }),
    ...(flags.scope === undefined ? {} : { scopes: flags.scope }),
  });
  try {
    await serve(brain, { input: process.stdin, output: process.stdout, version, onFailure: note });
  } finally {
    brain.close();
  }
  // What nobody takes would keep the process for as long as its reader lives.
  if (process.stdout.writableLength > 0) process.exit(0);
  return 0;
}
