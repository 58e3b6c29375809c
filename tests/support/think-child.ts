/**
 * A process of its own that sleeps with a scripted model, for being killed: `think-child.ts BRAIN CLOCK [PAUSE_MS]`.
 * Says each step and rests that long, before and after each answer, so that a kill can land anywhere.
 */
import { writeSync } from "node:fs";
import { runSleep } from "../../src/sleep/cycle.ts";
import { Store } from "../../src/store/store.ts";
import { createTestClock } from "./clock.ts";
import { createHashEmbedder } from "./hash-embedder.ts";
import { createScriptedModel, thinkerOf } from "./scripted-model.ts";
import { answerEverything } from "./thinking.ts";

const [path = "", clock = "0", pause = "0"] = process.argv.slice(2);

async function main(): Promise<void> {
  const store = Store.open(path, createTestClock(Number(clock)));
  const room = new Int32Array(new SharedArrayBuffer(4));
  const rest = (where: string) => {
    writeSync(1, `${where}\n`);
    if (Number(pause) > 0) Atomics.wait(room, 0, 0, Number(pause));
  };
  const model = createScriptedModel((asked) => {
    rest(`asked ${asked.task}`);
    return answerEverything(asked);
  });
  const report = await runSleep(store, createHashEmbedder(), {
    loadThinker: thinkerOf(model),
    onProgress: ({ stage }) => rest(stage),
  });
  store.close();
  const failed = report.phases.filter(({ error }) => error !== undefined);
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
});
