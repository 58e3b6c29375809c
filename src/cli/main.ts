/**
 * The `dormouse` program. Lets a reader close the pipe (`dormouse list | head`) without a complaint and hands
 * everything else to program.ts. Nothing heavy may be imported or touched here, not even the standard streams,
 * which load when first used: agents start this at every prompt.
 */
import { Output } from "./output.ts";
import { runCommandLine } from "./program.ts";

// A write into a closed pipe that nobody listens for arrives here.
process.once("uncaughtException", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  new Output(process.argv.includes("--json")).fail(error);
  process.exit(1);
});

// No top-level await: the bundle is CommonJS (start.ts says why).
void runCommandLine(process.argv.slice(2)).then((status) => {
  process.exitCode = status;
});
