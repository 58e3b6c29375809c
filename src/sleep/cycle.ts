/**
 * One night of sleep: the phases in order under one lease. A phase that fails is reported and the later ones
 * still run; a cycle killed at any point loses nothing, and the next one goes on where it stood. A dry run
 * takes no lease and writes nothing.
 */
import { setImmediate } from "node:timers/promises";
import { MS_PER_MINUTE } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import type { Embedder, EmbedderSource, ProgressListener } from "../core/ports.ts";
import type { Actor } from "../core/types.ts";
import { settleRecalls } from "../remember/settle.ts";
import type { HeldLease } from "../store/leases.ts";
import { WHOLE_CYCLE_CURSOR } from "../store/operations.ts";
import type { Store } from "../store/store.ts";
import { consolidate } from "./consolidate.ts";
import { decayUnheld } from "./decay.ts";
import { embedMissing } from "./embed.ts";
import { createForecast } from "./forecast.ts";
import { reportGarbage } from "./garbage.ts";
import { linkNeighbors } from "./link.ts";
import { writeMetrics } from "./metrics.ts";
import {
  DEFAULT_SLEEP_CONFIG,
  PHASE_NAMES,
  type Phase,
  type PhaseContext,
  type PhaseName,
  type PhaseReport,
  type SleepConfig,
  type Thinker,
} from "./phase.ts";
import { promoteStanding } from "./promote.ts";
import { shelveVectors } from "./shelve.ts";
import { thinkPhase } from "./think.ts";
import { calibrate } from "./thresholds.ts";
import { keepInOrder } from "./upkeep.ts";

export type { PhaseName, PhaseReport, SleepConfig, Thinker };
export { PHASE_NAMES };

const LEASE = "sleep";
/** How long a holder may be silent; it speaks after every batch, at the latest after a third of this. */
const LEASE_MS = 10 * MS_PER_MINUTE;

const PHASES: Record<PhaseName, Phase> = {
  embed: embedMissing,
  calibrate,
  link: linkNeighbors,
  consolidate,
  distil: thinkPhase("distil"),
  think: thinkPhase("think"),
  tension: thinkPhase("tension"),
  dream: thinkPhase("dream"),
  date: thinkPhase("date"),
  promote: promoteStanding,
  decay: decayUnheld,
  shelve: shelveVectors,
  upkeep: keepInOrder,
  gc: reportGarbage,
  metrics: writeMetrics,
};

export interface SleepOptions {
  /**
   * Plan only. Of the earlier phases' plans, later ones know the thresholds and the merges; otherwise they plan on the
   * brain as it is: what waits for its vector is not linked yet, and what waits for its links does not decay.
   */
  readonly dryRun?: boolean;
  /** No batch begins after so many minutes; what is left is the next night's. Default: no limit. */
  readonly maxMinutes?: number;
  /** Default: all. They always run in the order of PHASE_NAMES. */
  readonly phases?: readonly PhaseName[];
  readonly onProgress?: ProgressListener;
  /** Once aborted, no batch and no phase begins any more; the cycle ends as stopped and the next one goes on. */
  readonly signal?: AbortSignal;
  /** Awaited between batches, outside transactions, for whoever wants the machine to rest. */
  readonly rest?: () => Promise<void>;
  /** Who the events say it was; default sleep. */
  readonly actor?: Actor;
  readonly config?: Partial<SleepConfig>;
  /** Who thinks and dreams, asked for once a phase needs it; null, the default: nobody. */
  readonly loadThinker?: () => Promise<Thinker | null>;
}

export interface SleepReport {
  readonly cycle: number;
  readonly dryRun: boolean;
  readonly phases: readonly PhaseReport[];
  readonly tookMs: number;
  /** True when the signal ended it; such a cycle does not count as a night's. */
  readonly interrupted?: true;
}

/**
 * Runs one cycle.
 * @throws DormouseError `lease_held` when another process is asleep on this brain, or took the lease over;
 * `usage` for a bad option. Failures of a phase are in its report instead.
 */
export async function runSleep(
  store: Store,
  embedder: EmbedderSource,
  options: SleepOptions = {},
  loadBuilding: () => Promise<Embedder | null> = async () => null,
): Promise<SleepReport> {
  const started = performance.now();
  const wanted = wantedPhases(options);
  const lease = options.dryRun === true ? null : store.leases.hold(LEASE, LEASE_MS);
  try {
    const night = createNight({ store, embedder, loadBuilding, wanted }, options, lease);
    // What a killed recall left unfinished comes first: phases go by the states of rows.
    if (lease !== null) settleRecalls(store, night.actor, options.onProgress);
    for (const name of PHASE_NAMES) {
      if (options.signal?.aborted === true) break;
      if (wanted.has(name)) night.reports.push(await runPhase(name, night));
    }
    const isInterrupted = options.signal?.aborted === true;
    if (lease !== null && !isInterrupted && wanted.size === PHASE_NAMES.length) {
      night.commit(() => store.operations.moveCursor(WHOLE_CYCLE_CURSOR, night.cycle));
    }
    return {
      cycle: night.cycle,
      dryRun: night.dryRun,
      phases: night.reports,
      tookMs: elapsed(started),
      ...(isInterrupted ? { interrupted: true } : {}),
    };
  } finally {
    lease?.release();
  }
}

function wantedPhases({ phases = PHASE_NAMES, maxMinutes }: SleepOptions): ReadonlySet<PhaseName> {
  const unknown = phases.find((name) => !PHASE_NAMES.includes(name));
  if (unknown !== undefined) {
    throw new DormouseError("usage", "there is no such phase", { hint: `Phases: ${PHASE_NAMES.join(", ")}.` });
  }
  if (maxMinutes !== undefined && !(maxMinutes > 0)) {
    throw new DormouseError("usage", "the time limit must be more than 0 minutes");
  }
  return new Set(phases);
}

type Given = Pick<PhaseContext, "store" | "embedder" | "loadBuilding" | "wanted">;

type Night = Omit<PhaseContext, "breathe" | "reports"> & {
  readonly reports: PhaseReport[];
  readonly onProgress: ProgressListener;
  readonly rest: () => Promise<void>;
};

function createNight(given: Given, options: SleepOptions, lease: HeldLease | null): Night {
  const { store } = given;
  const startedAt = store.now();
  const endsAt = startedAt + (options.maxMinutes ?? Number.POSITIVE_INFINITY) * MS_PER_MINUTE;
  return {
    ...given,
    loadThinker: once(options.loadThinker ?? (async () => null)),
    config: { ...DEFAULT_SLEEP_CONFIG, ...options.config },
    actor: options.actor ?? "sleep",
    dryRun: options.dryRun === true,
    cycle: store.operations.nextCycle(),
    startedAt,
    reports: [],
    forecast: createForecast(),
    onProgress: options.onProgress ?? (() => {}),
    rest: options.rest ?? (async () => {}),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    isTimeUp: () => options.signal?.aborted === true || store.now() >= endsAt,
    commit: (fn) => {
      if (lease === null) throw new RangeError("a dry run writes nothing");
      return store.write(() => {
        lease.keep();
        return fn();
      });
    },
  };
}

/** Loads at the first call; what that one came to stands for the night. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
}

async function runPhase(name: PhaseName, night: Night): Promise<PhaseReport> {
  const started = performance.now();
  const breathe = async (done: number, total: number | null) => {
    night.onProgress({ stage: name, done, total });
    await setImmediate();
    await night.rest();
  };
  try {
    const outcome = await PHASES[name]({ ...night, breathe, commit: commitUnderModel(name, night) });
    return { name, ...outcome, tookMs: elapsed(started) };
  } catch (error) {
    if (error instanceof DormouseError && error.code === "lease_held") throw error;
    return { name, planned: 0, applied: 0, tookMs: elapsed(started), error: describeError(error) };
  }
}

/**
 * What a phase planned by one model's vectors must not be applied once another process has made another model
 * the active one. The phase that embeds looks for itself.
 */
function commitUnderModel(name: PhaseName, { store, commit }: Night): Night["commit"] {
  if (name === "embed") return commit;
  const planned = store.read(() => store.models.active())?.id;
  return (fn) =>
    commit(() => {
      if (store.models.active()?.id !== planned) {
        throw new DormouseError("model_mismatch", "another embedding model was put in place during this sleep", {
          hint: "The next sleep goes on with it.",
        });
      }
      return fn();
    });
}

/** Only our own messages are repeated: those of others may quote a memory. */
function describeError(error: unknown): { code: string; message: string } {
  if (error instanceof DormouseError) return { code: error.code, message: error.message };
  const name = error instanceof Error ? error.name : "unknown error";
  return { code: "sleep_failed", message: `the phase stopped on an unexpected failure (${name})` };
}

function elapsed(started: number): number {
  return Math.round((performance.now() - started) * 100) / 100;
}
