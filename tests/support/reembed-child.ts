/**
 * A process of its own that gives a brain the vectors of another model, for being killed: `reembed-child.ts BRAIN
 * CLOCK MODEL [PAUSE_MS]`. Says "step" after every batch and rests that long, so that a kill can land anywhere.
 */
import { writeSync } from "node:fs";
import { reembed } from "../../src/remember/reembed.ts";
import { Store } from "../../src/store/store.ts";
import { createTestClock } from "./clock.ts";
import { createHashEmbedder } from "./hash-embedder.ts";

const [path = "", clock = "0", model = "", pause = "0"] = process.argv.slice(2);

async function main(): Promise<void> {
  const store = Store.open(path, createTestClock(Number(clock)));
  await reembed(store, createHashEmbedder(64, model), {
    onStep: async () => {
      writeSync(1, "step\n");
      await new Promise((resolve) => setTimeout(resolve, Number(pause)));
    },
  });
  store.close();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
});
