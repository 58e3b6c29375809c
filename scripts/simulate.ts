/**
 * Years of a brain in minutes: conversations arrive day by day, a person asks, the brain sleeps every night.
 *
 *   npm run simulate -- --data DIR [--years 0.5] [--seed 1] [--asked 1] [--set locomo|beam]… [--limit N]
 *                       [--config NAME=NUMBER]… [--sleep-every 1] [--alone] [--json]
 *
 * `--asked`: share of the questions that are asked in fact; what answers the others must not be lost either.
 * `--sleep-every`: days from one sleep to the next; a longer pause changes little and takes less time.
 * `--config`: any number that steers sleep. `--alone`: without the brain that never sleeps beside it.
 */
import { parseArgs } from "node:util";
import { DormouseError } from "../src/core/errors.ts";
import { createBuiltinEmbedder } from "../src/embed/builtin/builtin.ts";
import { DEFAULT_SLEEP_CONFIG, type SleepConfig } from "../src/sleep/phase.ts";
import { discoverSets, SET_NAMES, type SetName } from "./eval/discover.ts";
import { runScript } from "./run-script.ts";
import { drawGlosses } from "./simulate/glosses.ts";
import { live } from "./simulate/life.ts";
import { formatLife, summarise } from "./simulate/report.ts";
import { planDays } from "./simulate/schedule.ts";

const DAYS_PER_YEAR = 365;
const BEAM_SCALES = ["100K"];

interface SimulationOptions {
  readonly data: string;
  readonly sets: readonly SetName[];
  readonly years: number;
  readonly seed: number;
  readonly askedShare: number;
  /** Conversations of each set at most. */
  readonly limit: number;
  readonly config: Partial<SleepConfig>;
  readonly sleepEvery: number;
  readonly alone: boolean;
  readonly json: boolean;
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const { data, sets, limit, seed, years, askedShare, config, sleepEvery, alone } = options;
  const corpora = sets.flatMap((only) =>
    [...discoverSets(data, { only, scales: BEAM_SCALES })].flatMap((set) => set.corpora.slice(0, limit)),
  );
  if (corpora.length === 0) throw new DormouseError("not_found", `no conversations under ${data}`);
  const days = Math.round(years * DAYS_PER_YEAR);
  const schedule = planDays(corpora, drawGlosses(days, seed), { days, seed, askedShare });
  const started = performance.now();
  const life = await live(schedule, {
    embedder: createBuiltinEmbedder(),
    config,
    sleepEvery,
    alone,
    onDay: (day) => {
      if (day % 30 === 29) process.stderr.write(`day ${day + 1} of ${days}\n`);
    },
  });
  const report = {
    years,
    seed,
    askedShare,
    sleepEvery,
    config,
    ...summarise(life),
    tookSeconds: secondsSince(started),
  };
  console.log(options.json ? JSON.stringify(report, null, 2) : formatLife(report));
}

function secondsSince(started: number): number {
  return Math.round((performance.now() - started) / 1000);
}

function readOptions(args: readonly string[]): SimulationOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      data: { type: "string" },
      years: { type: "string", default: "0.5" },
      seed: { type: "string", default: "1" },
      asked: { type: "string", default: "1" },
      set: { type: "string", multiple: true, default: ["locomo", "beam"] },
      limit: { type: "string" },
      config: { type: "string", multiple: true, default: [] },
      "sleep-every": { type: "string", default: "1" },
      alone: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  if (values.data === undefined) throw usage("--data DIR is missing");
  return {
    data: values.data,
    sets: values.set.map((name) => SET_NAMES.find((known) => known === name) ?? failOn(`--set ${name}`)),
    years: readNumber("--years", values.years, 0.1, 10),
    seed: readNumber("--seed", values.seed, 0, 2 ** 31),
    askedShare: readNumber("--asked", values.asked, 0, 1),
    limit: values.limit === undefined ? Number.POSITIVE_INFINITY : readNumber("--limit", values.limit, 1, 1e6),
    config: Object.fromEntries(values.config.map(readSetting)),
    sleepEvery: readNumber("--sleep-every", values["sleep-every"], 1, 365),
    alone: values.alone,
    json: values.json,
  };
}

function readSetting(text: string): [string, number] {
  const [name = "", value = ""] = text.split("=");
  if (!(name in DEFAULT_SLEEP_CONFIG) || value === "") throw usage(`--config ${text} names no number of sleep`);
  return [name, readNumber(`--config ${name}`, value, 0, Number.MAX_SAFE_INTEGER)];
}

function readNumber(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= least && value <= most)) {
    throw usage(`${option} takes a number from ${least} to ${most}`);
  }
  return value;
}

function failOn(option: string): never {
  throw usage(`${option} is none of ${SET_NAMES.join(", ")}`);
}

function usage(message: string): DormouseError {
  return new DormouseError("usage", message, {
    hint: "npm run simulate -- --data DIR [--years 2] [--seed 1] [--json]",
  });
}

await runScript(main);
