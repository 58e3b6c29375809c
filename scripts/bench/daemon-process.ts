/**
 * The daemon's nights in a process of its own, one after the other on a clock that goes a day further each time, with
 * a few new thoughts a day: what the process holds, how much of a processor it takes, and how long it would not hear
 * a signal.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DEFAULT_DAEMON_CONFIG } from "../../src/app/config.ts";
import { Brain } from "../../src/app.ts";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import { PATIENCE, runNight } from "../../src/daemon/night.ts";
import { fillBrain, generateTurns } from "./brain-files.ts";
import { peakMemory } from "./memory.ts";

export interface DaemonStep {
  readonly path: string;
  readonly nodes: number;
  readonly nights: number;
  /** Share of one processor. */
  readonly cpuShare: number;
  /** Nights after which the memory is read. */
  readonly marks: readonly number[];
}

export interface DaemonStepResult {
  /** Resident memory after so many nights, in bytes. */
  readonly memory: readonly { readonly night: number; readonly bytes: number }[];
  readonly peakBytes: number;
  /** Processor time over time of the first night, and of all together. */
  readonly firstShare: number;
  readonly firstSeconds: number;
  readonly share: number;
  readonly seconds: number;
  /** The longest time that the event loop was held, in milliseconds. */
  readonly longestHoldMs: number;
}

/** Thoughts that come in by day. */
const A_DAY = 20;

async function main(): Promise<void> {
  const step = JSON.parse(process.argv[2] ?? "") as DaemonStep;
  let now = Date.now();
  const clock = { now: () => now };
  const brain = Brain.open({ path: step.path, create: true, clock });
  await fillBrain(brain, step.nodes);
  brain.close();
  const notes = join(step.path, "..");
  const turns = generateTurns(step.nodes + A_DAY * step.nights);
  for (let at = 0; at < step.nodes; at++) turns.next();

  const hold = monitorEventLoopDelay({ resolution: 5 });
  hold.enable();
  const memory: { night: number; bytes: number }[] = [];
  let seconds = 0;
  let cpuSeconds = 0;
  let first = { seconds: 0, cpuSeconds: 0 };
  for (let night = 1; night <= step.nights; night++) {
    now += MS_PER_DAY;
    const news = Array.from({ length: A_DAY }, () => turns.next().value?.content ?? "");
    writeFileSync(join(notes, `day-${night}.md`), news.join("\n\n"));
    const { night: done } = await runNight({
      brainPath: step.path,
      modelDirectory: undefined,
      clock,
      config: { ...DEFAULT_DAEMON_CONFIG, cpuShare: step.cpuShare, watch: [notes] },
      signal: new AbortController().signal,
      patience: { ...PATIENCE, quietMs: 0, pollMs: 1 },
      onState: () => {},
      onProgress: () => {},
      log: () => {},
    });
    if (done.outcome !== "finished" || done.code !== null) throw new Error(`night ${night}: ${JSON.stringify(done)}`);
    seconds += done.seconds;
    cpuSeconds += done.cpuSeconds;
    if (night === 1) first = done;
    if (step.marks.includes(night)) memory.push({ night, bytes: process.memoryUsage.rss() });
  }
  const result: DaemonStepResult = {
    memory,
    peakBytes: peakMemory(),
    firstShare: first.cpuSeconds / first.seconds,
    firstSeconds: first.seconds,
    share: cpuSeconds / seconds,
    seconds,
    longestHoldMs: hold.max / 1e6,
  };
  process.send?.(result);
}

await main();
