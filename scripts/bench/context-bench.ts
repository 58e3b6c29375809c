/**
 * Cold `context` from the start of the process to its end, as an agent's hook calls it, beside a bare Node
 * that does nothing. The two take turns, so that a busy machine slows both.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { packagePath } from "../../src/core/package-path.ts";
import { median, percentile } from "../statistics.ts";
import { generateTurns } from "./brain-files.ts";
import type { BenchReport, Progress } from "./figures.ts";
import type { BrainShelf } from "./shelf.ts";

const RUNS = 21;
const HINT_WORDS = 4;

/** A report without rows, and why, when there is no bundle to measure. */
export async function benchContext(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const head = ["thoughts", "context ms", "p95", "bare node ms", "p95", "ratio"];
  const title = "cold context by the bundled CLI, milliseconds, medians";
  const missing = buildBundle(onProgress);
  if (missing !== null) return { name: "context", title, head, rows: [], notes: [missing], figures: null };
  const measured = [];
  for (const nodes of sizes) {
    const path = await shelf.brainOf(nodes);
    onProgress(`starting context and bare node ${RUNS} times each over ${nodes} thoughts`);
    measured.push({ nodes, ...timeRuns(path, hintFor(nodes)) });
  }
  return {
    name: "context",
    title,
    head,
    rows: measured.map(({ nodes, contextMs, bareMs }) => [
      String(nodes),
      median(contextMs).toFixed(0),
      percentile(contextMs, 0.95).toFixed(0),
      median(bareMs).toFixed(0),
      percentile(bareMs, 0.95).toFixed(0),
      (median(contextMs) / median(bareMs)).toFixed(2),
    ]),
    notes: [`${RUNS} runs each, taking turns, after one of each that is not counted; bare node is \`node -e 0\``],
    figures: measured.map(({ nodes, contextMs, bareMs }) => ({
      nodes,
      contextMs: median(contextMs),
      bareMs: median(bareMs),
      ratio: median(contextMs) / median(bareMs),
    })),
  };
}

/** What `dormouse` starts, as the package says. */
function programPath(): string {
  const { bin } = JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { bin: { dormouse: string } };
  return packagePath(bin.dormouse);
}

/** Builds the bundle when the project can; says what is missing, or null. */
function buildBundle(onProgress: Progress): string | null {
  const script = packagePath("scripts/build.mjs");
  if (existsSync(script)) {
    onProgress("building the bundle");
    const { status, stderr } = spawnSync(process.execPath, [script], { cwd: packagePath("."), encoding: "utf8" });
    if (status !== 0) return `not measured: the build failed with ${status}: ${stderr.trim().split("\n")[0] ?? ""}`;
  }
  return existsSync(programPath()) ? null : "not measured: there is no bundle and nothing to build it";
}

/** A few words of a text in the middle of the brain. */
function hintFor(nodes: number): string {
  let index = 0;
  for (const { content } of generateTurns(nodes)) {
    if (index++ >= nodes / 2) return content.split(" ").slice(0, HINT_WORDS).join(" ");
  }
  return "nothing";
}

function timeRuns(path: string, hint: string): { contextMs: number[]; bareMs: number[] } {
  const contextMs: number[] = [];
  const bareMs: number[] = [];
  for (let run = 0; run <= RUNS; run++) {
    const context = timeProcess([programPath(), "context", hint, "--brain", path]);
    const bare = timeProcess(["-e", "0"]);
    if (run === 0) continue;
    contextMs.push(context);
    bareMs.push(bare);
  }
  return { contextMs, bareMs };
}

/** @throws Error when the process fails: the time of a failure is no measurement. */
function timeProcess(args: readonly string[]): number {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const took = performance.now() - started;
  if (status !== 0) throw new Error(`${args[0]} ended with ${status}: ${stderr.trim()}`);
  return took;
}
