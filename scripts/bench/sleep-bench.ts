/**
 * Time and peak memory of sleep by brain size: over a brain that never slept, again over the same one unchanged, and
 * over brains of nothing but near-copies of one note. Every step runs in a process of its own, so that one peak does not hide another.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type BenchReport, formatGrowth, type Progress } from "./figures.ts";
import type { BrainShelf } from "./shelf.ts";
import type { SleepStep, SleepStepResult } from "./sleep-process.ts";

const MIB = 1024 * 1024;

const BRAINS = ["new", "unchanged", "copies of one note"] as const;
/** Near-copies of one note: what costs the square of them elsewhere. */
const COPIES = [500, 1_000, 2_000];

interface SleepFigures extends SleepStepResult {
  readonly nodes: number;
  readonly brain: (typeof BRAINS)[number];
  /** Peak of a process that only opened and searched the brain. */
  readonly idleBytes: number;
}

/** @throws Error when a step fails. */
export async function benchSleep(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const measured: SleepFigures[] = [];
  for (const nodes of sizes) {
    const path = shelf.pathOf(`sleep-${nodes}.db`);
    onProgress(`making a brain of ${nodes} thoughts to sleep`);
    await runStep({ kind: "fill", path, nodes });
    const idle = await runStep({ kind: "open", path, nodes });
    for (const brain of ["new", "unchanged"] as const) {
      onProgress(`sleeping over ${nodes} thoughts, ${brain}`);
      measured.push({ nodes, brain, ...(await runStep({ kind: "sleep", path, nodes })), idleBytes: idle.peakBytes });
    }
  }
  for (const nodes of COPIES) {
    const path = shelf.pathOf(`copies-${nodes}.db`);
    onProgress(`sleeping over ${nodes} copies of one note`);
    await runStep({ kind: "copies", path, nodes });
    const idle = await runStep({ kind: "open", path, nodes });
    const slept = await runStep({ kind: "sleep", path, nodes });
    measured.push({ nodes, brain: "copies of one note", ...slept, idleBytes: idle.peakBytes });
  }
  return {
    name: "sleep",
    title: "one cycle of sleep",
    head: [
      "brain",
      "thoughts",
      "seconds",
      "CPU seconds",
      "a doubling",
      "peak MiB",
      "a doubling",
      "idle MiB",
      "longest phase",
    ],
    rows: BRAINS.flatMap((brain) => formatRows(measured.filter((entry) => entry.brain === brain))),
    notes: [
      "peak: largest resident memory of the process that slept; idle: of one that only opened and searched the brain",
      "a phase marked * stopped at its bound of work or time and goes on in the next cycle",
    ],
    figures: measured,
  };
}

function formatRows(measured: readonly SleepFigures[]): string[][] {
  const cpu = measured.map((entry) => ({ nodes: entry.nodes, value: entry.cpuSeconds }));
  const peaks = measured.map((entry) => ({ nodes: entry.nodes, value: entry.peakBytes }));
  return measured.map((entry, index) => [
    entry.brain,
    String(entry.nodes),
    entry.seconds.toFixed(2),
    entry.cpuSeconds.toFixed(2),
    formatGrowth(cpu, index),
    (entry.peakBytes / MIB).toFixed(0),
    formatGrowth(peaks, index),
    (entry.idleBytes / MIB).toFixed(0),
    formatLongest(entry),
  ]);
}

function formatLongest({ phases }: SleepStepResult): string {
  const [longest] = [...phases].sort((a, b) => b.tookMs - a.tookMs);
  if (longest === undefined) return "";
  return `${longest.name}${longest.stopped ? "*" : ""} ${(longest.tookMs / 1000).toFixed(2)} s`;
}

function runStep(step: SleepStep): Promise<SleepStepResult> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL("./sleep-process.ts", import.meta.url)), [JSON.stringify(step)]);
    let result: SleepStepResult | null = null;
    child.on("message", (message) => {
      result = message as SleepStepResult;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code === 0 && result !== null) resolve(result);
      else reject(new Error(`the step ${step.kind} at ${step.nodes} thoughts ended with ${code}`));
    });
  });
}
