#!/usr/bin/env node
/**
 * The `dormouse` program. Lets a reader close the pipe (`dormouse list | head`) without a complaint and hands
 * everything else to program.ts. Nothing heavy may be imported here: agents start this at every prompt.
 */
import { runCommandLine } from "./program.ts";

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
}

process.exitCode = await runCommandLine(process.argv.slice(2));
