/**
 * A process of its own that works on a brain, for being killed or for working beside another:
 * `recall-child.ts BRAIN recall SOURCE` pulls a source back, saying `in force` and then `settling` after every batch;
 * `recall-child.ts BRAIN swing SOURCE TIMES` recalls and undoes; `recall-child.ts BRAIN write PREFIX TIMES` remembers.
 */
import { writeSync } from "node:fs";
import { systemClock } from "../../src/core/clock.ts";
import { commitRecall, recall, unrecall } from "../../src/recall/recall.ts";
import { rememberAll } from "../../src/remember/remember.ts";
import { settleRecalls } from "../../src/remember/settle.ts";
import { Store } from "../../src/store/store.ts";
import { createHashEmbedder } from "./hash-embedder.ts";

const [path = "", job = "", name = "", times = "1"] = process.argv.slice(2);

async function main(): Promise<void> {
  const store = Store.open(path, systemClock);
  const say = (line: string) => writeSync(1, `${line}\n`);
  if (job === "recall") {
    say("begun");
    commitRecall(store, { ids: [name] });
    say("in force");
    settleRecalls(store, "person", ({ stage }) => say(stage));
  }
  for (let turn = 0; turn < Number(times); turn++) {
    if (job === "swing") {
      const { event } = recall(store, { ids: [name] }, {}, "person");
      if (event !== null) unrecall(store, event, "person");
    }
    if (job === "write") {
      const inputs = [{ content: `${name} wrote turn number ${turn}` }];
      await rememberAll(store, createHashEmbedder(), inputs, { actor: "person" });
    }
  }
  store.close();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
