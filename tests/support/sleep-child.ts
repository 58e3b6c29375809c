/**
 * A process of its own that sleeps on a brain, for being killed: `sleep-child.ts BRAIN CLOCK [PAUSE_MS]`. Says
 * the phase it is in after every step and rests that long, so that a kill can land anywhere.
 */
import { writeSync } from "node:fs";
import { runSleep } from "../../src/sleep/cycle.ts";
import { Store } from "../../src/store/store.ts";
import { SMALL_CELLS, WIDE } from "./cells.ts";
import { createTestClock } from "./clock.ts";
import { createHashEmbedder } from "./hash-embedder.ts";

const [path = "", clock = "0", pause = "0"] = process.argv.slice(2);

async function main(): Promise<void> {
  const store = Store.open(path, createTestClock(Number(clock)));
  const rest = new Int32Array(new SharedArrayBuffer(4));
  const report = await runSleep(store, createHashEmbedder(WIDE), {
    config: SMALL_CELLS,
    onProgress: ({ stage }) => {
      writeSync(1, `${stage}\n`);
      if (Number(pause) > 0) Atomics.wait(rest, 0, 0, Number(pause));
    },
  });
  store.close();
  if (report.phases.some(({ error }) => error !== undefined)) throw new Error("a phase failed");
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
});
