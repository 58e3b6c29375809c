/**
 * One night, and one look through the watched folders: opens the brain, waits until others leave it alone, extracts
 * what is new, sleeps, closes it again. Between two nights the daemon holds nothing of the brain, so a file that was
 * moved or put back is simply met the next time.
 */
import { setTimeout } from "node:timers/promises";
import type { DaemonConfig } from "../app/config.ts";
import { Brain } from "../app.ts";
import { type Clock, type Millis, MS_PER_MINUTE } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import type { Progress } from "../core/ports.ts";
import type { LogEvent, LogFields } from "./daemon-log.ts";
import { createPacer } from "./pace.ts";
import type { DaemonState, NightSummary, ScanSummary } from "./status-file.ts";

/** Waits of the daemon, in milliseconds. */
export interface Patience {
  /** So long nobody else may have written before a night begins. */
  readonly quietMs: number;
  /** How often others are looked at. */
  readonly pollMs: number;
  /** A night that waited so long for others begins all the same: its transactions are short. */
  readonly longestMs: number;
  /** The plan is made again this often: clocks are set, machines are suspended, configurations change. */
  readonly lookMs: number;
}

export const PATIENCE: Patience = {
  quietMs: 30_000,
  pollMs: 2_000,
  longestMs: 30 * MS_PER_MINUTE,
  lookMs: MS_PER_MINUTE,
};

/** What a night is given by the daemon. */
export interface NightContext {
  readonly brainPath: string;
  readonly modelDirectory: string | undefined;
  readonly clock: Clock;
  readonly config: DaemonConfig;
  readonly signal: AbortSignal;
  readonly patience: Patience;
  readonly onState: (state: DaemonState) => void;
  readonly onProgress: (progress: Progress) => void;
  readonly log: (event: LogEvent, fields?: LogFields) => void;
}

/** Opens the brain for one piece of work. */
export async function withDaemonBrain<T>(
  { brainPath, modelDirectory, clock }: Pick<NightContext, "brainPath" | "modelDirectory" | "clock">,
  run: (brain: Brain) => Promise<T> | T,
): Promise<T> {
  const brain = Brain.open({
    path: brainPath,
    clock,
    ...(modelDirectory === undefined ? {} : { modelDirectory }),
  });
  try {
    return await run(brain);
  } finally {
    brain.close();
  }
}

export interface NightResult {
  readonly night: NightSummary;
  /** Null when no folder is watched, or the night was called off before. */
  readonly scan: ScanSummary | null;
}

/** Never throws: what went wrong is in the summary. */
export async function runNight(context: NightContext): Promise<NightResult> {
  const { clock, log, signal } = context;
  const startedAt = clock.now();
  const began = performance.now();
  const cpuBegan = process.cpuUsage();
  let scan: ScanSummary | null = null;
  const end = (part: Pick<NightSummary, "outcome" | "code"> & Partial<NightSummary>): NightResult => {
    const { user, system } = process.cpuUsage(cpuBegan);
    const night: NightSummary = {
      startedAt: toIso(startedAt),
      endedAt: toIso(clock.now()),
      cycle: null,
      failedPhases: [],
      applied: 0,
      seconds: roundTenth((performance.now() - began) / 1_000),
      cpuSeconds: roundTenth((user + system) / 1_000_000),
      ...part,
    };
    const { outcome, code, cycle, applied, seconds, cpuSeconds } = night;
    log(`night_${outcome}`, { code: toWord(code), cycle, applied, seconds, cpuSeconds });
    return { night, scan };
  };
  try {
    log("night_started");
    return await withDaemonBrain(context, async (brain) => {
      context.onState("waiting");
      await waitForQuiet(brain, context);
      if (signal.aborted) return end({ outcome: "stopped", code: null });
      scan = await scanFolders(brain, context);
      if (signal.aborted) return end({ outcome: "stopped", code: null });
      return end(await sleepOnce(brain, context));
    });
  } catch (error) {
    const code = codeOf(error);
    return end({ outcome: code === "lease_held" ? "put_off" : "failed", code });
  }
}

/** Looks through the watched folders, outside a night. Never throws. */
export async function runScan(context: NightContext): Promise<ScanSummary | null> {
  try {
    return await withDaemonBrain(context, (brain) => scanFolders(brain, context));
  } catch (error) {
    return failScan(context, error);
  }
}

async function sleepOnce(
  brain: Brain,
  { config, signal, onState, onProgress, log }: NightContext,
): Promise<Pick<NightSummary, "outcome" | "code" | "cycle" | "failedPhases" | "applied">> {
  onState("sleeping");
  const report = await brain.sleep({
    maxMinutes: config.maxMinutes,
    signal,
    rest: createPacer(config.cpuShare, signal),
    onProgress,
  });
  const failed = report.phases.flatMap(({ name, error }) => (error === undefined ? [] : [{ name, code: error.code }]));
  for (const { name, code } of failed) log("phase_failed", { phase: name, code: toWord(code) });
  return {
    outcome: report.interrupted === true ? "stopped" : "finished",
    code: failed[0]?.code ?? null,
    cycle: report.cycle,
    failedPhases: failed.map(({ name }) => name),
    applied: report.phases.reduce((sum, { applied }) => sum + applied, 0),
  };
}

async function scanFolders(brain: Brain, context: NightContext): Promise<ScanSummary | null> {
  const { config, signal, clock, log, onState, onProgress } = context;
  if (config.watch.length === 0) return null;
  onState("extracting");
  try {
    const report = await brain.extract(config.watch, {
      signal,
      rest: createPacer(config.cpuShare, signal),
      onProgress,
    });
    const { files, thoughts, reinforced, errors } = report;
    const scan = { at: toIso(clock.now()), files, thoughts, reinforced, errors: errors.length, code: null };
    // A look that found nothing new is no news.
    if (thoughts + reinforced + errors.length > 0)
      log("scanned", { files, thoughts, reinforced, errors: errors.length });
    return scan;
  } catch (error) {
    return failScan(context, error);
  }
}

/** A folder that cannot be read keeps no brain from sleeping. */
function failScan({ signal, clock, log }: NightContext, error: unknown): ScanSummary | null {
  if (signal.aborted) return null;
  const code = codeOf(error);
  log("scan_failed", { code: toWord(code) });
  return { at: toIso(clock.now()), files: 0, thoughts: 0, reinforced: 0, errors: 0, code };
}

/** Returns when nobody else has written for a while, when patience is at its end, or when called off. */
async function waitForQuiet(brain: Brain, { clock, signal, patience, log }: NightContext): Promise<void> {
  const began = performance.now();
  const first = brain.activity();
  let { dataVersion } = first;
  let busyUntil = began + patience.quietMs - Math.max(0, clock.now() - (first.lastEventAt ?? Number.NEGATIVE_INFINITY));
  let isTold = false;
  while (!signal.aborted) {
    await pause(patience.pollMs, signal);
    const seen = brain.activity().dataVersion;
    if (seen !== dataVersion) busyUntil = performance.now() + patience.quietMs;
    dataVersion = seen;
    const now = performance.now();
    if (now >= busyUntil || now - began >= patience.longestMs) break;
    if (!isTold) log("waiting");
    isTold = true;
  }
}

/** Ends early, without a failure, when called off. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The stable code of a failure; of what is none of ours, only that. */
export function codeOf(error: unknown): string {
  return error instanceof DormouseError ? error.code : "internal";
}

/** Codes are this program's own words, all in lower case. */
export function toWord(code: string | null): Lowercase<string> | null {
  return code === null ? null : (code.toLowerCase() as Lowercase<string>);
}

export function toIso(at: Millis): string {
  return new Date(at).toISOString();
}

function roundTenth(value: number): number {
  return Math.round(value * 10) / 10;
}
