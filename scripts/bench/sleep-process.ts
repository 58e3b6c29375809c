/**
 * One step of the sleep bench in a process of its own: makes a brain, opens it, or lets it sleep, and tells
 * the parent how long that took and the most memory the process held.
 */
import { Brain } from "../../src/app.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { fillBrain } from "./brain-files.ts";
import { peakMemory } from "./memory.ts";

export interface SleepStep {
  /** copies: makes a brain of as many near-copies of one note. */
  readonly kind: "fill" | "copies" | "open" | "sleep";
  readonly path: string;
  readonly nodes: number;
}

export interface SleepStepResult {
  readonly seconds: number;
  /** Of the processor, which other work on the machine does not lengthen as it does the seconds. */
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  /** What each phase of a sleep took, in order; empty for the other steps. */
  readonly phases: readonly { readonly name: string; readonly tookMs: number; readonly stopped: boolean }[];
}

async function main(): Promise<void> {
  const step = JSON.parse(process.argv[2] ?? "") as SleepStep;
  const brain = Brain.open({ path: step.path, create: step.kind === "fill" || step.kind === "copies" });
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  let phases: SleepStepResult["phases"] = [];
  try {
    if (step.kind === "fill") await fillBrain(brain, step.nodes);
    else if (step.kind === "copies") await brain.rememberAll(copiesOf(step.nodes));
    else if (step.kind === "sleep") phases = await sleepOnce(brain);
    else await brain.search("a question that loads what a search needs");
  } finally {
    brain.close();
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const result: SleepStepResult = {
    seconds: (performance.now() - started) / 1000,
    cpuSeconds: (user + system) / 1e6,
    peakBytes: peakMemory(),
    phases,
  };
  process.send?.(result);
}

/** One note in as many spellings: each bit of a number says whether a word begins with a capital. */
function copiesOf(count: number): RememberInput[] {
  const words = "the heating in our cellar gets serviced every autumn by that same small firm from town".split(" ");
  return Array.from({ length: count }, (_, index) => ({
    content: words.map((word, at) => ((index >> at) & 1 ? word[0]?.toUpperCase() + word.slice(1) : word)).join(" "),
  }));
}

/** @throws Error when a phase failed: the time of a failure is no measurement. */
async function sleepOnce(brain: Brain): Promise<SleepStepResult["phases"]> {
  const { phases } = await brain.sleep();
  const failed = phases.find(({ error }) => error !== undefined);
  if (failed !== undefined) throw new Error(`the phase ${failed.name} failed: ${failed.error?.message ?? ""}`);
  return phases.map(({ name, tookMs, details }) => ({ name, tookMs, stopped: (details?.stopped ?? 0) > 0 }));
}

await main();
