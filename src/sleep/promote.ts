/**
 * Phase 5: permanence earned by being read on many days, and core memories by standing in the middle of the
 * graph. Both thresholds come from the brain's own distribution; both are lost again under hysteresis. Refuses
 * to touch a person's pin or a kind that a person gave, and promotes nothing in a young brain.
 */
import { batchesOf } from "../core/batches.ts";
import { MS_PER_DAY } from "../core/clock.ts";
import { PERMANENCES } from "../core/types.ts";
import { countThoughts } from "../store/sleep-links.ts";
import {
  brainCreatedAt,
  type CentralThought,
  type CoreMemory,
  centralThoughts,
  coreMemories,
  type ReadThought,
  readingHistogram,
  readOften,
  readSeldom,
  stillIs,
} from "../store/sleep-standing.ts";
import type { Store } from "../store/store.ts";
import type { PhaseContext, PhaseOutcome, SleepConfig } from "./phase.ts";

const CORE_KIND = "core memory";
const NONE = PERMANENCES.indexOf("none");
const EARNED = PERMANENCES.indexOf("earned");
/** Changes of one event and one transaction. */
const BATCH = 500;
/** Days must also be so many times the median, or everything would stand out in a brain read evenly. */
const TIMES_MEDIAN = 2;

/** Days of reading that earn permanence, and below which it is lost. Shown by `stats`. */
const DAYS_GAUGE = "permanence_days";

/** Id of the kind of core memories, null in a brain that never had one. */
export function coreKindId(store: Store): number | null {
  return store.labels.find("kind", CORE_KIND);
}

/**
 * Days of reading that earn permanence: the quantile over all visible thoughts, unread ones included, but at
 * least the configured days and more than twice the median. Pure. `histogram` ascends.
 */
export function planThreshold(
  histogram: readonly { readonly days: number; readonly thoughts: number }[],
  visible: number,
  config: Pick<SleepConfig, "permanenceMinDays" | "permanenceQuantile">,
): number {
  const unread = visible - histogram.reduce((sum, { thoughts }) => sum + thoughts, 0);
  const atRank = (share: number) => {
    let left = Math.ceil(share * visible) - unread;
    if (left <= 0) return 0;
    for (const { days, thoughts } of histogram) {
      left -= thoughts;
      if (left <= 0) return days;
    }
    return histogram.at(-1)?.days ?? 0;
  };
  return Math.max(config.permanenceMinDays, atRank(config.permanenceQuantile), TIMES_MEDIAN * atRank(0.5));
}

/** What changes tonight. */
interface PromotionPlan {
  readonly thresholdDays: number;
  readonly earned: readonly ReadThought[];
  readonly lost: readonly ReadThought[];
  readonly core: readonly CentralThought[];
  readonly demoted: readonly CoreMemory[];
}

export async function promoteStanding(context: PhaseContext): Promise<PhaseOutcome> {
  const { store, dryRun } = context;
  const plan = store.read(() => planPromotions(context));
  const { earned, lost, core, demoted } = plan;
  const planned = earned.length + lost.length + core.length + demoted.length;
  const details = { earned: earned.length, lost: lost.length, core: core.length, demoted: demoted.length };
  if (dryRun) return { planned, applied: 0, details };
  if (store.operations.gauge(DAYS_GAUGE) !== plan.thresholdDays) {
    context.commit(() => store.operations.setGauge(DAYS_GAUGE, plan.thresholdDays));
  }
  let applied = 0;
  const inBatches = async <T>(items: readonly T[], apply: (batch: readonly T[]) => number) => {
    for (const batch of batchesOf(items, BATCH)) {
      if (context.isTimeUp()) return;
      applied += context.commit(() => apply(batch));
      await context.breathe(applied, planned);
    }
  };
  await inBatches(lost, (batch) => changePermanence(context, plan, batch, NONE));
  await inBatches(earned, (batch) => changePermanence(context, plan, batch, EARNED));
  await inBatches(demoted, (batch) => restoreKinds(context, batch));
  await inBatches(core, (batch) => makeCore(context, batch));
  return { planned, applied, details: { ...details, thresholdDays: plan.thresholdDays } };
}

function planPromotions({ store, config, startedAt }: PhaseContext): PromotionPlan {
  const { connection } = store;
  const visible = countThoughts(connection, 0, Number.MAX_SAFE_INTEGER);
  const thresholdDays = planThreshold(readingHistogram(connection), visible, config);
  const isYoung = startedAt - brainCreatedAt(connection) < config.promoteBrainAgeDays * MS_PER_DAY;
  const kindId = coreKindId(store);
  const standing = kindId === null ? [] : coreMemories(connection, kindId);
  const central = centralThoughts(connection, 2 * config.coreMinScore * config.keepShare, Math.max(1, visible));
  const { core, demoted } = planCore({ central, standing, visible, coreKindId: kindId }, config);
  return {
    thresholdDays,
    earned: isYoung ? [] : readOften(connection, thresholdDays),
    lost: readSeldom(connection, Math.ceil(thresholdDays * config.keepShare)),
    core: isYoung ? [] : core,
    demoted,
  };
}

interface CoreSnapshot {
  /** Best first, down to the score that keeps a place. */
  readonly central: readonly CentralThought[];
  /** Core memories that sleep made. */
  readonly standing: readonly CoreMemory[];
  readonly visible: number;
  readonly coreKindId: number | null;
}

/**
 * Core memories to make and to undo. The best-placed thoughts up to the allowed number become core from the
 * minimal score on; a core memory stays while its score keeps the configured share of that. Those a person
 * made take no place and are not undone. Pure.
 */
export function planCore(
  { central, standing, visible, coreKindId }: CoreSnapshot,
  config: Pick<SleepConfig, "coreMinScore" | "coreShare">,
): { core: CentralThought[]; demoted: CoreMemory[] } {
  const scored = new Set(central.map(({ id }) => id));
  const kept = standing.filter(({ id }) => scored.has(id));
  const free = Math.max(1, Math.floor(visible * config.coreShare)) - kept.length;
  return {
    core: central
      .filter(({ kindId, score }) => score >= 2 * config.coreMinScore && kindId !== coreKindId)
      .slice(0, Math.max(0, free)),
    demoted: standing.filter(({ id }) => !scored.has(id)),
  };
}

function changePermanence(
  { store, actor, cycle }: PhaseContext,
  { thresholdDays }: PromotionPlan,
  thoughts: readonly ReadThought[],
  to: number,
): number {
  const from = to === EARNED ? NONE : EARNED;
  const still = thoughts.filter(({ id }) => stillIs(store.connection, id, { permanence: from }));
  if (still.length === 0) return 0;
  store.ledger.record({
    kind: "permanence.changed",
    actor,
    payload: { cycle, reason: "read", count: still.length, thresholdDays, days: still.map(({ days }) => days) },
    changes: still.map(({ id }) => ({ nodeId: id, axis: "permanence", to })),
  });
  return still.length;
}

function makeCore(context: PhaseContext, thoughts: readonly CentralThought[]): number {
  const { store, actor, cycle, config } = context;
  const kindId = store.labels.intern("kind", CORE_KIND, actor);
  const still = thoughts.filter((thought) => stillIs(store.connection, thought.id, { kindId: thought.kindId }));
  if (still.length === 0) return 0;
  store.ledger.record({
    kind: "attributes.set",
    actor,
    payload: {
      cycle,
      reason: "central",
      count: still.length,
      minScoreDoubled: 2 * config.coreMinScore,
      scoresDoubled: still.map(({ score }) => score),
    },
    changes: still.map(({ id }) => ({ nodeId: id, axis: "kind_id", to: kindId })),
  });
  return still.length;
}

function restoreKinds({ store, actor, cycle }: PhaseContext, memories: readonly CoreMemory[]): number {
  const kindId = coreKindId(store);
  const still = memories.filter(({ id }) => kindId !== null && stillIs(store.connection, id, { kindId }));
  if (still.length === 0) return 0;
  store.ledger.record({
    kind: "attributes.set",
    actor,
    payload: { cycle, reason: "no_longer_central", count: still.length },
    changes: still.map(({ id, formerKindId }) => ({ nodeId: id, axis: "kind_id", to: formerKindId })),
  });
  return still.length;
}
