/**
 * Measures speed, growth, memory and size on generated brains, each beside a named baseline of the same run.
 *
 *   npm run bench [-- --only size|search|recall|recall-button|verify|ingest|context|sleep|daemon|model]… [--scale N,N]
 *                 [--cache DIR] [--peer COMMAND] [--model-dir DIR] [--json]
 *
 * Without --scale a run takes about ten minutes. A brain of a million takes half an hour to make: --cache keeps
 * it for the next run. --peer runs another memory beside search, through JSON lines (bench/searchers.ts);
 * --model-dir is the folder of a transformer model for the bench "model", 100,000 texts in half an hour or more.
 */
import { availableParallelism, cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { DormouseError } from "../src/core/errors.ts";
import { benchContext } from "./bench/context-bench.ts";
import { benchDaemon } from "./bench/daemon-bench.ts";
import type { BenchReport, Progress } from "./bench/figures.ts";
import { benchIngest } from "./bench/ingest-bench.ts";
import { benchModel } from "./bench/model-bench.ts";
import { benchRecall } from "./bench/recall-bench.ts";
import { benchRecallButton } from "./bench/recall-button-bench.ts";
import { benchSearch } from "./bench/search-bench.ts";
import { type BrainShelf, createBrainShelf } from "./bench/shelf.ts";
import { benchSize } from "./bench/size-bench.ts";
import { benchSleep } from "./bench/sleep-bench.ts";
import { benchVerify } from "./bench/verify-bench.ts";
import { runScript } from "./run-script.ts";
import { formatTable } from "./text-table.ts";

interface Bench {
  readonly name: string;
  /** Thoughts, ascending, when --scale does not say. */
  readonly sizes: readonly number[];
  readonly run: (
    shelf: BrainShelf,
    sizes: readonly number[],
    onProgress: Progress,
    options: BenchOptions,
  ) => Promise<BenchReport>;
}

const BENCHES: readonly Bench[] = [
  // First: searching adds rows of what was read to the brain that it shares.
  { name: "size", sizes: [10_000], run: benchSize },
  {
    name: "search",
    sizes: [10_000, 100_000],
    run: (shelf, sizes, onProgress, { peer }) => benchSearch(shelf, sizes, onProgress, peer),
  },
  { name: "recall", sizes: [10_000, 100_000], run: benchRecall },
  { name: "recall-button", sizes: [10_000, 100_000], run: benchRecallButton },
  { name: "verify", sizes: [10_000, 100_000], run: benchVerify },
  { name: "ingest", sizes: [10_000], run: benchIngest },
  { name: "context", sizes: [10_000, 100_000], run: benchContext },
  { name: "sleep", sizes: [5_000, 10_000, 20_000], run: benchSleep },
  { name: "daemon", sizes: [5_000], run: benchDaemon },
  {
    name: "model",
    sizes: [100_000],
    run: (_shelf, sizes, onProgress, { modelDirectory }) => benchModel(modelDirectory, sizes, onProgress),
  },
];

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const { benches, sizes, cache, json } = options;
  const onProgress: Progress = (text) => process.stderr.write(`${text}\n`);
  const shelf = createBrainShelf(onProgress, cache);
  const machine = describeMachine();
  const reports: BenchReport[] = [];
  try {
    if (!json) console.log(formatMachine(machine));
    for (const bench of benches) {
      const report = await bench.run(shelf, sizes ?? bench.sizes, onProgress, options);
      reports.push(report);
      if (!json) console.log(`\n${formatReport(report)}`);
    }
  } finally {
    shelf.remove();
  }
  if (json) {
    const benchFigures = reports.map(({ name, title, notes, figures }) => ({ name, title, notes, figures }));
    console.log(JSON.stringify({ machine, benches: benchFigures }, null, 2));
  }
}

interface BenchOptions {
  readonly benches: readonly Bench[];
  readonly sizes: readonly number[] | null;
  /** Folder that keeps brains for later runs. */
  readonly cache: string | null;
  readonly peer: string | null;
  readonly modelDirectory: string | null;
  readonly json: boolean;
}

function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", multiple: true },
      scale: { type: "string" },
      cache: { type: "string" },
      peer: { type: "string" },
      "model-dir": { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const names = BENCHES.map(({ name }) => name);
  const unknown = values.only?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw usage(`--only takes one of ${names.join(", ")}`);
  const sizes = values.scale?.split(",").map(Number) ?? null;
  if (sizes?.some((size) => !Number.isInteger(size) || size < 1))
    throw usage("--scale takes whole numbers, as 10000,100000");
  return {
    benches: BENCHES.filter(({ name }) => values.only === undefined || values.only.includes(name)),
    sizes: sizes?.sort((a, b) => a - b) ?? null,
    cache: values.cache ?? null,
    peer: values.peer ?? null,
    modelDirectory: values["model-dir"] ?? null,
    json: values.json,
  };
}

function usage(message: string): DormouseError {
  return new DormouseError("usage", message, {
    hint: "npm run bench -- --only NAME --scale N,N --cache DIR --peer COMMAND --model-dir DIR --json",
  });
}

interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryBytes: number;
  readonly platform: string;
  readonly node: string;
  readonly date: string;
}

function describeMachine(): Machine {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    memoryBytes: totalmem(),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    date: new Date().toISOString().slice(0, 10),
  };
}

function formatMachine({ cores, cpu, memoryBytes, platform, node, date }: Machine): string {
  const memory = (memoryBytes / 2 ** 30).toFixed(0);
  return `${cores} cores, ${cpu}, ${memory} GiB, ${platform}, Node ${node}, ${date}`;
}

function formatReport({ title, head, rows, notes }: BenchReport): string {
  const table = rows.length === 0 ? [] : [formatTable(head, rows)];
  return [title, ...table, ...notes.map((note) => `- ${note}`)].join("\n");
}

await runScript(main);
