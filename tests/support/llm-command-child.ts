/** A process of its own that asks a command, for being ended meanwhile: `llm-command-child.ts PROGRAM ARGS…`. */
import { createCommandModel } from "../../src/llm/command.ts";

const [program = "", ...args] = process.argv.slice(2);

createCommandModel({ command: [program, ...args], timeoutSeconds: 60 })
  .complete({ system: "S", prompt: "P", schema: {}, maxTokens: 50 })
  .catch(() => {
    process.exitCode = 1;
  });
