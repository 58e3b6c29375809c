/**
 * A process of its own that sleeps on a brain, for being killed: `sleep-child.ts BRAIN CLOCK [PAUSE_MS] [PHASE NTH
 * STYLE]`. Says the phase it is in after every step and rests that long, so that a kill can land anywhere; says
 * `write PHASE` at each transaction; kills itself at the n-th transaction of a phase: before it, inside it when all
 * is written and nothing committed, or after it.
 */
import { writeSync } from "node:fs";
import { runSleep } from "../../src/sleep/cycle.ts";
import { Store } from "../../src/store/store.ts";
import { SMALL_CELLS, WIDE } from "./cells.ts";
import { createTestClock } from "./clock.ts";
import { createHashEmbedder } from "./hash-embedder.ts";

const [path = "", clock = "0", pause = "0", phase = "", nth = "0", style = ""] = process.argv.slice(2);

/** Phases by the file that their writes come from. */
const PHASE_BY_FILE: Readonly<Record<string, string>> = { thresholds: "calibrate" };

function writingPhase(): string {
  for (const [, file = ""] of (new Error().stack ?? "").matchAll(/src\/sleep\/([a-z-]+)\.ts/g)) {
    if (file !== "cycle") return PHASE_BY_FILE[file] ?? file;
  }
  return "none";
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("still alive");
}

function killAtWrite(store: Store): void {
  const write = store.write.bind(store);
  let seen = 0;
  store.write = (fn) => {
    const writing = writingPhase();
    writeSync(1, `write ${writing}\n`);
    if (writing === phase) seen += 1;
    const isTurn = writing === phase && seen === Number(nth);
    if (isTurn && style === "before") die();
    const result = write(() => {
      const written = fn();
      if (isTurn && style === "inside") die();
      return written;
    });
    if (isTurn) die();
    return result;
  };
}

async function main(): Promise<void> {
  const store = Store.open(path, createTestClock(Number(clock)));
  const rest = new Int32Array(new SharedArrayBuffer(4));
  killAtWrite(store);
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
