/**
 * The contract between the sleep cycle and its phases: what a phase is given, what it answers, and the numbers
 * that steer them all. A phase reads a snapshot, plans without writing, and applies its plan through `commit`.
 */
import type { Embedder, EmbedderSource } from "../core/ports.ts";
import type { Actor } from "../core/types.ts";
import type { LlmBudget, MeteredModel } from "../llm/budget.ts";
import type { Store } from "../store/store.ts";
import type { Forecast } from "./forecast.ts";

/** In the order in which they run. Merging comes before linking: copies would crowd out every other neighbour. */
export const PHASE_NAMES = [
  "embed",
  "calibrate",
  "consolidate",
  "link",
  "distil",
  "think",
  "tension",
  "dream",
  "date",
  "promote",
  "decay",
  "shelve",
  "upkeep",
  "gc",
  "metrics",
] as const;
export type PhaseName = (typeof PHASE_NAMES)[number];

/** What one phase did. */
export interface PhaseReport {
  readonly name: PhaseName;
  /** Changes found due: vectors, links, merges and releases, a model's answers, permanence and kind changes, decays, repairs. */
  readonly planned: number;
  /** Changes made; 0 in a dry run. */
  readonly applied: number;
  readonly tookMs: number;
  readonly error?: { readonly code: string; readonly message: string };
  /** Counts of the phase's own; `stopped` is 1 when time or the night's work ran out. */
  readonly details?: Readonly<Record<string, number>>;
}

/** Every number that steers sleep. Ages are in days on the recorded clock. */
export interface SleepConfig {
  /** Below so many visible thoughts with a vector, the brain's own distribution says nothing. */
  readonly calibrationMinNodes: number;
  /** Thoughts sampled for calibration, at most. */
  readonly calibrationSample: number;
  /** Share of the thoughts whose nearest neighbour is near enough for a link. */
  readonly linkedShare: number;
  /**
   * Share of the thoughts that are isolated for being far from everything, at most; decay takes what is isolated, and
   * a brain on one topic has none. What has a nearer neighbour gets one link in any case.
   */
  readonly isolatedShare: number;
  /** Cosine below which nothing is kin: the nearest of many is nearer than two at random by chance alone. */
  readonly leastKinCosine: number;
  /** Similar links that one visit of a thought adds, at most. */
  readonly linkNeighbors: number;
  /** Similar links a thought holds, at most. */
  readonly linkDegree: number;
  /** Thoughts visited for links in one night, at most. */
  readonly linkPerNight: number;
  /** Comparisons of vectors up to which neighbours are searched exactly, beyond it by cells. */
  readonly exactComparisons: number;
  /** Telling words that something said must have before it is merged; shorter ones live by their place. */
  readonly mergeMinWords: number;
  /** Nodes that stand behind one survivor, at most. */
  readonly mergeClusterSize: number;
  /** Distinct days of reading that permanence takes, at least. */
  readonly permanenceMinDays: number;
  /** Quantile of the visible thoughts' reading days that permanence takes. */
  readonly permanenceQuantile: number;
  /** Share of the threshold below which what was earned is lost again; for permanence and core memories. */
  readonly keepShare: number;
  /** Age of a brain before it makes anything permanent or core. */
  readonly promoteBrainAgeDays: number;
  /** Structural score a core memory has, at least: 2 a derivation, 1 a mention, ½ a similar link up to six. */
  readonly coreMinScore: number;
  /** Share of the visible thoughts that are core memories, at most; one is always allowed. */
  readonly coreShare: number;
  /** Age before disuse takes a thought. */
  readonly decayAgeDays: number;
  /** Age before a thought follows its decayed parents. */
  readonly cascadeAgeDays: number;
  /** Thoughts that decay in one night, at most. */
  readonly decayPerNight: number;
  /** Vectors from which on they are shelved into cells; below, a search reads them all. */
  readonly shelveMinVectors: number;
  /** Vectors that a cell should hold. */
  readonly cellRows: number;
}

export const DEFAULT_SLEEP_CONFIG: SleepConfig = {
  calibrationMinNodes: 50,
  calibrationSample: 400,
  linkedShare: 0.75,
  isolatedShare: 0.01,
  leastKinCosine: 0.4,
  linkNeighbors: 5,
  linkDegree: 12,
  linkPerNight: 200_000,
  exactComparisons: 20_000_000,
  mergeMinWords: 4,
  mergeClusterSize: 5_000,
  permanenceMinDays: 3,
  permanenceQuantile: 0.99,
  keepShare: 2 / 3,
  promoteBrainAgeDays: 14,
  coreMinScore: 10,
  coreShare: 0.01,
  decayAgeDays: 14,
  cascadeAgeDays: 30,
  decayPerNight: 50_000,
  shelveMinVectors: 20_000,
  cellRows: 160,
};

/** A language model for one night, and what it may cost in all. */
export interface Thinker {
  readonly model: MeteredModel;
  readonly budget: LlmBudget;
}

/** What a phase works with. */
export interface PhaseContext {
  readonly store: Store;
  /** Of the brain's active model. */
  readonly embedder: EmbedderSource;
  /** Loads the embedder of the model that is being built, or that the active one's vectors are to be made again by. */
  readonly loadBuilding: () => Promise<Embedder | null>;
  /**
   * The night's language model, the same each time; null when none is configured: what needs one is skipped.
   * @throws DormouseError `no_llm` when the configured one cannot be used
   */
  readonly loadThinker: () => Promise<Thinker | null>;
  /** The phases of this cycle. */
  readonly wanted: ReadonlySet<PhaseName>;
  readonly config: SleepConfig;
  readonly actor: Actor;
  readonly dryRun: boolean;
  /** Number of this cycle, from 1. */
  readonly cycle: number;
  /** When the cycle began; ages are measured against it. */
  readonly startedAt: number;
  /** Reports of the phases that ran before. */
  readonly reports: readonly PhaseReport[];
  /** What the phases before would have left, in a dry run. */
  readonly forecast: Forecast;
  /** Ends a request that waits for a language model; what has none looks at `isTimeUp`. */
  readonly signal?: AbortSignal;
  /** True once the time given is used up; asked between batches. */
  isTimeUp(): boolean;
  /** One transaction that fails when the lease was lost. Never called in a dry run. */
  commit<T>(fn: () => T): T;
  /** Tells a listener how far the phase is, and lets other work of the process run. */
  breathe(done: number, total: number | null): Promise<void>;
}

export interface PhaseOutcome {
  readonly planned: number;
  readonly applied: number;
  readonly details?: Readonly<Record<string, number>>;
}

export type Phase = (context: PhaseContext) => PhaseOutcome | Promise<PhaseOutcome>;
