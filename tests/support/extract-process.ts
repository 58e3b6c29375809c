/** Extracts a folder into a brain in a process of its own: `extract-process.ts BRAIN FOLDER`. */
import { systemClock } from "../../src/core/clock.ts";
import { runExtract } from "../../src/extract/run.ts";
import { Store } from "../../src/store/store.ts";
import { createHashEmbedder } from "./hash-embedder.ts";

const [path = "", folder = ""] = process.argv.slice(2);
const store = Store.open(path, systemClock);
const report = await runExtract(store, createHashEmbedder(), [folder], { batchSize: 4 });
store.close();
if (report.errors.length > 0) throw new Error(JSON.stringify(report.errors));
