/**
 * `dormouse daemon run`: one process for one brain that lets it sleep when the schedule says so, catches up on what
 * it missed, looks through watched folders, and ends within seconds when told to. Refuses to be the second one.
 * Decides nothing about memories: it calls what `extract` and `sleep` call.
 */
import { statSync } from "node:fs";
import { type Config, configPathOf, type DaemonConfig, readConfig } from "../app/config.ts";
import { parseSchedule, type Schedule } from "../app/schedule.ts";
import { type Clock, type Millis, MS_PER_MINUTE, systemClock } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import { DaemonLog, type LogEvent, type LogFields } from "./daemon-log.ts";
import {
  codeOf,
  type NightContext,
  PATIENCE,
  type Patience,
  pause,
  runNight,
  runScan,
  toIso,
  toWord,
  withDaemonBrain,
} from "./night.ts";
import { jitterOf, type Plan, planNext, retryDelay } from "./plan-next.ts";
import { identifySelf, isSameProcess } from "./process-identity.ts";
import { type DaemonStatus, daemonFile, findRunning, readStatus, writeStatus } from "./status-file.ts";

export interface DaemonOptions {
  readonly brainPath: string;
  readonly modelDirectory?: string | undefined;
  /** Told to stop by it; default: never. */
  readonly signal?: AbortSignal;
  /** Do what is due now and end. */
  readonly once?: boolean;
  readonly clock?: Clock;
  readonly patience?: Patience;
  /** Told each change of the status, and once that the log cannot be written. */
  readonly onStatus?: (status: DaemonStatus) => void;
  readonly onNotice?: (notice: string) => void;
}

/** A status that only says how far a phase is, is written no more often. */
const PROGRESS_EVERY_MS = 2_000;
const START_LEASE = "daemon.start";

/**
 * Runs until the signal says stop, or, `once`, until what is due is done.
 * @returns the last status
 * @throws DormouseError `daemon_running` when the brain has a daemon, naming it; `bad_config` and `invalid` for a
 * configuration or schedule that cannot be read; `no_brain` and others, as opening a brain does
 */
export async function runDaemon(options: DaemonOptions): Promise<DaemonStatus> {
  const config = await readConfig(options.brainPath);
  const schedule = parseSchedule(config.daemon.schedule);
  return new Daemon(options, config, schedule).run();
}

class Daemon {
  readonly #options: DaemonOptions;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #patience: Patience;
  readonly #statusPath: string;
  readonly #startedAt: Millis;
  /** Of this brain's file, for the jitter. */
  #seed = 0;
  #config: DaemonConfig;
  #configMark: string;
  #schedule: Schedule;
  #status: DaemonStatus;
  #log: DaemonLog | null = null;
  #restedAt: Millis = 0;
  #scannedAt: Millis | null = null;
  #failures = 0;
  #retryAt: Millis | null = null;
  #progressAt = Number.NEGATIVE_INFINITY;

  constructor(options: DaemonOptions, config: Config, schedule: Schedule) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#patience = options.patience ?? PATIENCE;
    this.#statusPath = daemonFile(options.brainPath, "json");
    this.#startedAt = this.#clock.now();
    this.#config = config.daemon;
    this.#configMark = markOf(configPathOf(options.brainPath));
    this.#schedule = schedule;
    const now = toIso(this.#startedAt);
    this.#status = {
      version: 1,
      process: identifySelf(),
      startedAt: now,
      state: "idle",
      since: now,
      progress: null,
      schedule: schedule.expression,
      next: null,
      nights: 0,
      lastNight: null,
      lastScan: null,
      trouble: null,
      writtenAt: now,
    };
  }

  async run(): Promise<DaemonStatus> {
    await this.#claim();
    this.#log = new DaemonLog(daemonFile(this.#options.brainPath, "log"), this.#clock, (code) =>
      this.#options.onNotice?.(`the log cannot be written (${code}); the work goes on`),
    );
    this.#note("started", { pid: process.pid });
    this.#signal.addEventListener("abort", () => {
      this.#note("stopping");
      this.#tell({ state: "stopping", next: null });
    });
    try {
      await this.#loop();
    } finally {
      this.#note("stopped", { nights: this.#status.nights });
      const next = this.#options.once === true ? this.#status.next : null;
      this.#tell({ state: "stopped", next, progress: null });
      await this.#log.close();
    }
    return this.#status;
  }

  /** Becomes the brain's daemon. Looking and writing happen under a lease, so that of two that start one wins. */
  async #claim(): Promise<void> {
    await withDaemonBrain(this.#brainOptions(), (brain) => {
      this.#restedAt = brain.restedAt();
      this.#seed = seedOf(this.#statusPath);
      brain.exclusively(START_LEASE, () => {
        const running = findRunning(this.#statusPath);
        if (running !== null) throw alreadyRunning(running);
        const before = readStatus(this.#statusPath);
        this.#status = {
          ...this.#status,
          lastNight: before?.lastNight ?? null,
          lastScan: before?.lastScan ?? null,
        };
        try {
          writeStatus(this.#statusPath, this.#status);
        } catch (error) {
          throw new DormouseError("io", `${this.#statusPath} cannot be written`, {
            hint: "The daemon says there which process it is; check the rights of the brain's folder.",
            cause: error,
          });
        }
      });
    });
    const scanned = this.#status.lastScan;
    // Whoever is started again and again to do what is due looks at the folders no more often for it.
    if (this.#options.once === true && scanned !== null) this.#scannedAt = Date.parse(scanned.at);
  }

  async #loop(): Promise<void> {
    while (!this.#signal.aborted) {
      await this.#followConfig();
      const plan = this.#plan();
      const wait = plan.at - this.#clock.now();
      if (wait <= 0) {
        if (plan.what === "night") await this.#night();
        else await this.#scan();
        continue;
      }
      this.#showPlan(plan);
      if (this.#options.once === true) return;
      await pause(Math.min(wait, this.#patience.lookMs), this.#signal);
    }
  }

  #plan(): Plan {
    return planNext({
      now: this.#clock.now(),
      startedAt: this.#startedAt,
      nextDue: (after) => this.#schedule.next(after),
      restedAt: this.#restedAt,
      jitter: (due) => jitterOf(this.#seed, due, this.#config.jitterMinutes * MS_PER_MINUTE),
      retryAt: this.#retryAt,
      scannedAt: this.#scannedAt,
      isWatching: this.#config.watch.length > 0,
    });
  }

  #showPlan({ what, at, reason }: Plan): void {
    const next = { what, at: toIso(at), reason };
    const { state, next: shown } = this.#status;
    if (state === "idle" && shown?.at === next.at && shown.what === what && shown.reason === reason) return;
    this.#tell({ state: "idle", next, progress: null });
  }

  /** Whoever slept meanwhile, a person or a machine that shares the file, spares this brain the night. */
  async #night(): Promise<void> {
    if (await this.#hasSleptMeanwhile()) return;
    const { night, scan } = await runNight(this.#context());
    const now = this.#clock.now();
    if (scan !== null) this.#scannedAt = now;
    const isDone = night.outcome === "finished";
    if (isDone) this.#restedAt = now;
    if (isDone || night.outcome === "stopped") this.#failures = 0;
    else this.#failures += 1;
    this.#retryAt = this.#failures === 0 ? null : now + retryDelay(this.#failures);
    this.#tell({
      nights: this.#status.nights + Number(isDone),
      lastNight: night,
      ...(scan === null ? {} : { lastScan: scan }),
      trouble:
        this.#retryAt === null || night.code === null
          ? null
          : { code: night.code, times: this.#failures, retryAt: toIso(this.#retryAt) },
    });
  }

  async #hasSleptMeanwhile(): Promise<boolean> {
    try {
      const restedAt = await withDaemonBrain(this.#brainOptions(), (brain) => brain.restedAt());
      if (restedAt <= this.#restedAt) return false;
      this.#restedAt = restedAt;
      if (this.#plan().at <= this.#clock.now()) return false;
      this.#failures = 0;
      this.#retryAt = null;
      this.#tell({ trouble: null });
      return true;
    } catch {
      // The night meets the same failure and tells it.
      return false;
    }
  }

  async #scan(): Promise<void> {
    const scan = await runScan(this.#context());
    this.#scannedAt = this.#clock.now();
    if (scan !== null) this.#tell({ lastScan: scan });
  }

  /** A configuration that was changed holds from now on; one that cannot be read leaves the last one standing. */
  async #followConfig(): Promise<void> {
    const mark = markOf(configPathOf(this.#options.brainPath));
    if (mark === this.#configMark) return;
    this.#configMark = mark;
    try {
      const { daemon } = await readConfig(this.#options.brainPath);
      this.#schedule = parseSchedule(daemon.schedule);
      this.#config = daemon;
      this.#note("config_changed");
      this.#tell({ schedule: this.#schedule.expression, trouble: null });
    } catch (error) {
      const code = codeOf(error);
      this.#note("config_failed", { code: toWord(code) });
      this.#tell({ trouble: { code, times: 1, retryAt: null } });
    }
  }

  #context(): NightContext {
    return {
      ...this.#brainOptions(),
      config: this.#config,
      signal: this.#signal,
      patience: this.#patience,
      onState: (state) => this.#tell({ state, progress: null, next: null }),
      onProgress: ({ stage, done, total }) => {
        const now = performance.now();
        if (now - this.#progressAt < PROGRESS_EVERY_MS) return;
        this.#progressAt = now;
        this.#tell({ progress: { stage, done, total } });
      },
      log: (event, fields) => this.#note(event, fields),
    };
  }

  #brainOptions(): Pick<NightContext, "brainPath" | "modelDirectory" | "clock"> {
    const { brainPath, modelDirectory } = this.#options;
    return { brainPath, modelDirectory, clock: this.#clock };
  }

  #note(event: LogEvent, fields?: LogFields): void {
    this.#log?.write(event, fields);
  }

  /** A status that cannot be written, since its disk is full or gone, keeps nothing from going on. */
  #tell(change: Partial<DaemonStatus>): void {
    const now = toIso(this.#clock.now());
    const since = change.state === undefined || change.state === this.#status.state ? this.#status.since : now;
    this.#status = { ...this.#status, ...change, since, writtenAt: now };
    this.#options.onStatus?.(this.#status);
    try {
      writeStatus(this.#statusPath, this.#status);
    } catch {
      this.#progressAt = performance.now();
    }
  }
}

function alreadyRunning({ process: { pid }, startedAt }: DaemonStatus): DormouseError {
  return new DormouseError("daemon_running", `process ${pid} is the daemon of this brain since ${startedAt}`, {
    hint: "`dormouse daemon status` says what it is at, `dormouse daemon stop` ends it.",
  });
}

/** Changes whenever the file does; the same for a file that is not there. */
function markOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.ino}.${stat.size}.${stat.mtimeMs}`;
}

/** 32 bits of a text, FNV-1a. */
function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

export interface StopResult {
  /** Null: no daemon was running. */
  readonly pid: number | null;
  readonly stopped: boolean;
}

/**
 * Tells the daemon of a brain to stop and waits until its process is gone.
 * @throws DormouseError `io` when it may not be told; `busy` when it is still there after `timeoutMs`
 */
export async function stopDaemon(brainPath: string, timeoutMs: number): Promise<StopResult> {
  const running = findRunning(daemonFile(brainPath, "json"));
  if (running === null) return { pid: null, stopped: false };
  const { process: identity } = running;
  try {
    process.kill(identity.pid, "SIGTERM");
  } catch (error) {
    if (!isSameProcess(identity)) return { pid: identity.pid, stopped: true };
    throw new DormouseError("io", `process ${identity.pid} cannot be told to stop`, {
      hint: "It may belong to another user.",
      cause: error,
    });
  }
  const never = new AbortController().signal;
  for (const began = performance.now(); performance.now() - began < timeoutMs; ) {
    if (!isSameProcess(identity)) return { pid: identity.pid, stopped: true };
    await pause(50, never);
  }
  throw new DormouseError("busy", `process ${identity.pid} is still there after ${Math.round(timeoutMs / 1000)} s`, {
    hint: "It may be in the middle of a long transaction; killing it loses nothing that was finished.",
  });
}
