/**
 * What the daemon costs while it runs for most of a year: memory of one process over 200 real nights of a brain that
 * gets something new every day, the share of a processor it keeps to, and the longest time it would not hear SIGTERM.
 */
import { fork } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { DaemonStep, DaemonStepResult } from "./daemon-process.ts";
import type { BenchReport, Progress } from "./figures.ts";
import type { BrainShelf } from "./shelf.ts";

const MIB = 1024 * 1024;
const NIGHTS = 200;
const MARKS = [20, 100, NIGHTS];
/** What a night may take of a processor by default. */
const SHARE = 0.5;

interface DaemonFigures extends DaemonStepResult {
  readonly nodes: number;
  readonly nights: number;
  readonly cpuShare: number;
}

/** Memory is measured at full speed; the share by one night of its own. @throws Error when a night fails */
export async function benchDaemon(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const measured: DaemonFigures[] = [];
  for (const nodes of sizes) {
    for (const { nights, cpuShare } of [
      { nights: 1, cpuShare: SHARE },
      { nights: NIGHTS, cpuShare: 1 },
    ]) {
      onProgress(`${nights} ${nights === 1 ? "night" : "nights"} of a brain of ${nodes}`);
      const path = shelf.pathOf(`daemon-${nodes}-${nights}/brain.db`);
      mkdirSync(dirname(path), { recursive: true });
      measured.push({ nodes, nights, cpuShare, ...(await runStep({ path, nodes, nights, cpuShare, marks: MARKS })) });
    }
  }
  return {
    name: "daemon",
    title: "nights of the daemon in one process",
    head: [
      "thoughts",
      "nights",
      "share asked",
      "share taken",
      "seconds",
      "memory after 20 / 100 / 200, MiB",
      "peak MiB",
      "longest hold",
    ],
    rows: measured.map((entry) => [
      String(entry.nodes),
      String(entry.nights),
      entry.cpuShare.toFixed(2),
      entry.share.toFixed(2),
      entry.seconds.toFixed(1),
      entry.memory.map(({ bytes }) => (bytes / MIB).toFixed(0)).join(" / "),
      (entry.peakBytes / MIB).toFixed(0),
      `${entry.longestHoldMs.toFixed(0)} ms`,
    ]),
    notes: [
      "share: processor time over time, of one processor; longest hold: how long the event loop was held, in which no signal is heard",
    ],
    figures: measured,
  };
}

function runStep(step: DaemonStep): Promise<DaemonStepResult> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL("./daemon-process.ts", import.meta.url)), [JSON.stringify(step)]);
    let result: DaemonStepResult | null = null;
    child.on("message", (message) => {
      result = message as DaemonStepResult;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code === 0 && result !== null) resolve(result);
      else reject(new Error(`${step.nights} nights of ${step.nodes} thoughts ended with ${code}`));
    });
  });
}
