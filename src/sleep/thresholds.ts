/**
 * Phase 2: what "similar" and "the same" mean to this brain's model, measured on the brain itself: cosines of
 * random pairs and of nearest neighbours over a bounded sample. Models differ in both by more than any
 * constant could bridge (two random texts: 0.1 to 0.8), so no other phase holds a cosine of its own.
 */
import { percentileOf } from "../core/percentile.ts";
import { VECTOR_SCALE } from "../core/ports.ts";
import { LINK_CURSOR, MODEL_GAUGES } from "../store/operations.ts";
import type { Store } from "../store/store.ts";
import type { Thresholds } from "./forecast.ts";
import { nearestExactly, sampleVectors } from "./neighbors.ts";
import { DEFAULT_SLEEP_CONFIG, type PhaseContext, type PhaseOutcome, type SleepConfig } from "./phase.ts";

/** A brain is calibrated again once it has grown by this factor. */
const GROWTH = 1.1;
/** Vectors read for nearest neighbours of the sample, at most: 400 queries at 100,000 nodes, in two seconds. */
const NEIGHBOR_COMPARISONS = 40_000_000;
const MIN_NEIGHBOR_QUERIES = 100;
/** Comparisons between two looks at the time, some tens of milliseconds. */
const COMPARED_BETWEEN = 500_000;

/**
 * Distance from identical, in units of the distance between random texts, within which two texts are the
 * same to the eye of a reader of results.
 */
const DUPLICATE_DISTANCE = 0.02;
/** The same for thoughts whose words are the same: what the model must grant them before they are merged. */
const MERGE_DISTANCE = 0.12;
/** A vector without any word has cosine 0.5 with every other; nothing may be similar at that. */
const LEAST_LINK_COSINE = 0.55;

/** For brains too small to be measured: high enough for any model. */
const DEFAULT_THRESHOLDS: Thresholds = { randomMean: 0, link: 0.9, kin: 0.9, duplicate: 0.985, merge: 0.93 };

/** The thresholds that a phase goes by: in a dry run those that calibration would measure. */
export function thresholdsOf({ store, forecast }: Pick<PhaseContext, "store" | "forecast">): Thresholds {
  return forecast.thresholds ?? readThresholds(store);
}

/** The thresholds of the last calibration, if it was of the model in use; else the defaults. */
export function readThresholds(store: Store): Thresholds {
  const active = store.models.active();
  if (active === null || store.operations.gauge(MODEL_GAUGES.model) !== active.id) return DEFAULT_THRESHOLDS;
  const randomMean = store.operations.gauge(MODEL_GAUGES.randomMean);
  const link = store.operations.gauge(MODEL_GAUGES.link);
  const duplicate = store.operations.gauge(MODEL_GAUGES.duplicate);
  if (randomMean === null || link === null || duplicate === null) return DEFAULT_THRESHOLDS;
  const kin = store.operations.gauge(MODEL_GAUGES.kin) ?? link;
  return { randomMean, link, kin, duplicate, merge: 1 - MERGE_DISTANCE * (1 - randomMean) };
}

/** A cosine on the scale of links: 0 as similar as two random texts, 1000 identical. */
export function toWeight(cosine: number, { randomMean }: Thresholds): number {
  return Math.max(0, Math.min(1000, Math.round((1000 * (cosine - randomMean)) / (1 - randomMean))));
}

type ThresholdConfig = Pick<SleepConfig, "linkedShare" | "isolatedShare" | "leastKinCosine">;

/** Measured cosines, ascending. */
export interface CosineSample {
  readonly random: readonly number[];
  readonly nearest: readonly number[];
}

/**
 * Thresholds from a sample: pure, monotone in the sample's quantiles. A thought is isolated when its nearest neighbour
 * is no nearer than two thoughts picked at random mostly are, and few are called so.
 */
export function planThresholds(
  { random, nearest }: CosineSample,
  config: ThresholdConfig = DEFAULT_SLEEP_CONFIG,
): Thresholds & { readonly randomP99: number } {
  // A model that calls everything the same would otherwise divide by zero later on.
  const randomMean = Math.min(0.95, Math.max(0, random.reduce((sum, cosine) => sum + cosine, 0) / random.length));
  const randomP99 = percentileOf(random, 0.99);
  const merge = 1 - MERGE_DISTANCE * (1 - randomMean);
  const wanted = Math.max(LEAST_LINK_COSINE, randomP99, percentileOf(nearest, 1 - config.linkedShare));
  const link = Math.min(wanted, merge);
  const unrelated = Math.min(percentileOf(random, 0.5), percentileOf(nearest, config.isolatedShare));
  return {
    randomMean,
    randomP99,
    link,
    kin: Math.min(link, Math.max(config.leastKinCosine, unrelated)),
    duplicate: 1 - DUPLICATE_DISTANCE * (1 - randomMean),
    merge,
  };
}

/** Calibrates a brain that never was, has another model by now, or has grown by a tenth. */
export async function calibrate(context: PhaseContext): Promise<PhaseOutcome> {
  const { store, config, dryRun, forecast, commit } = context;
  const model = store.models.active();
  const vectors = model === null ? 0 : store.vectors.count();
  const known = store.operations.gauge(MODEL_GAUGES.vectors);
  if (model === null || vectors < config.calibrationMinNodes) return { planned: 0, applied: 0 };
  const isOfModel = store.operations.gauge(MODEL_GAUGES.model) === model.id;
  const knowsKin = store.operations.gauge(MODEL_GAUGES.kin) !== null;
  const isCurrent = isOfModel && knowsKin && known !== null && vectors < known * GROWTH;
  if (isCurrent) return { planned: 0, applied: 0 };
  const sample = await measureCosines(context, vectors);
  if (sample === null) return { planned: 1, applied: 0, details: { stopped: 1 } };
  if (sample.nearest.length < config.calibrationMinNodes / 2) return { planned: 0, applied: 0 };
  const thresholds = planThresholds(sample, config);
  if (dryRun) {
    forecast.thresholds = thresholds;
    return { planned: 1, applied: 0, details: { sampled: sample.nearest.length } };
  }
  commit(() => {
    // A release before this one left thoughts without a link that have kin: all are looked at once more.
    if (isOfModel && !knowsKin) store.operations.moveCursor(LINK_CURSOR, 0);
    for (const [name, value] of [
      [MODEL_GAUGES.randomMean, thresholds.randomMean],
      [MODEL_GAUGES.randomP99, thresholds.randomP99],
      [MODEL_GAUGES.link, thresholds.link],
      [MODEL_GAUGES.kin, thresholds.kin],
      [MODEL_GAUGES.duplicate, thresholds.duplicate],
      [MODEL_GAUGES.vectors, vectors],
      [MODEL_GAUGES.model, model.id],
    ] as const) {
      store.operations.setGauge(name, value);
    }
  });
  return { planned: 1, applied: 1, details: { sampled: sample.nearest.length } };
}

/** Null when time ran out. */
async function measureCosines(context: PhaseContext, vectors: number): Promise<CosineSample | null> {
  const { store, config } = context;
  const sampled = store.read(() => sampleVectors(store, config.calibrationSample));
  const random = sampled.flatMap(({ vector }, index) =>
    sampled.slice(0, index).map((other) => cosineOf(vector, other.vector)),
  );
  const queries = Math.max(MIN_NEIGHBOR_QUERIES, Math.floor(NEIGHBOR_COMPARISONS / vectors));
  const step = Math.max(1, Math.ceil(sampled.length / queries));
  const asked = sampled.filter((_, index) => index % step === 0);
  const between = Math.max(1, Math.floor(COMPARED_BETWEEN / vectors));
  const nearest: number[] = [];
  for (const [index, { id, scopeId }] of asked.entries()) {
    if (!context.dryRun && context.isTimeUp()) return null;
    const [neighbor] = store.read(() => nearestExactly(store, id, scopeId, 1));
    if (neighbor !== undefined) nearest.push(neighbor.cosine);
    if (index % between === 0) await context.breathe(index + 1, asked.length);
  }
  return { random: random.sort((a, b) => a - b), nearest: nearest.sort((a, b) => a - b) };
}

function cosineOf(a: Int8Array, b: Int8Array): number {
  let dot = 0;
  for (let at = 0; at < a.length; at++) dot += (a[at] ?? 0) * (b[at] ?? 0);
  return Math.max(-1, Math.min(1, dot / (VECTOR_SCALE * VECTOR_SCALE)));
}
