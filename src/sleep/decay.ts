/**
 * Phase 6: takes out of search what nothing holds. A thought goes when it is old on the recorded clock, was
 * never read, is not permanent, and no visible thought is joined to it; then what derived from it, once that is
 * older still and has no other parent. Nothing is deleted, and permanent or core thoughts are never touched.
 */
import { batchesOf } from "../core/batches.ts";
import { MS_PER_DAY } from "../core/clock.ts";
import { DECAY_REASONS, type DecayReason } from "../core/types.ts";
import { LINK_CURSOR } from "../store/operations.ts";
import {
  clearGoing,
  type DecayGates,
  type DueThought,
  disusedThoughts,
  type LeavingThought,
  markGoing,
  orphanedThoughts,
  stillLeaving,
} from "../store/sleep-decay.ts";
import type { Store } from "../store/store.ts";
import type { PhaseContext, PhaseOutcome, SleepConfig } from "./phase.ts";
import { coreKindId } from "./promote.ts";

/** Thoughts of one event and one transaction. */
const BATCH = 500;

interface Gates {
  readonly disuse: DecayGates;
  readonly cascade: DecayGates;
}

/**
 * Everything that goes tonight, in id order. Which thoughts those are does not depend on the order in which
 * they are found: each one gone can only let more go.
 */
export function planDecay(store: Store, gates: Gates, limit: number): DueThought[] {
  const { connection } = store;
  clearGoing(connection);
  const due: DueThought[] = [];
  const take = (find: typeof disusedThoughts, by: DecayGates): boolean => {
    if (due.length >= limit) return false;
    const found = find(connection, by, limit - due.length);
    const ids = found.map(({ id }) => id);
    markGoing(connection, ids);
    for (const thought of found) due.push(thought);
    return found.length > 0;
  };
  take(disusedThoughts, gates.disuse);
  // What follows its parents may have been all that held something else.
  while (take(orphanedThoughts, gates.cascade)) take(disusedThoughts, gates.disuse);
  return due.sort((a, b) => a.id - b.id);
}

export async function decayUnheld(context: PhaseContext): Promise<PhaseOutcome> {
  const { store, config, dryRun } = context;
  const gates = gatesOf(context);
  const due = store.read(() => planDecay(store, gates, config.decayPerNight));
  const tally = { disuse: 0, cascade: 0, stopped: due.length < config.decayPerNight ? 0 : 1 };
  if (dryRun) return { planned: due.length, applied: 0, details: tally };
  for (const batch of batchesOf(due, BATCH)) {
    const ids = batch.map(({ id }) => id);
    const left = context.isTimeUp() ? null : context.commit(() => applyDecay(context, gates, ids));
    // Something was read or joined since the plan, and may hold what the rest of the plan counts as gone.
    if (left === null) {
      tally.stopped = 1;
      break;
    }
    tally.disuse += left.disuse;
    tally.cascade += left.cascade;
    await context.breathe(tally.disuse + tally.cascade, due.length);
  }
  clearGoing(store.connection);
  return { planned: due.length, applied: tally.disuse + tally.cascade, details: tally };
}

function gatesOf({ store, config, startedAt }: PhaseContext): Gates {
  const gates = (ageDays: number): DecayGates => ({
    cutoff: startedAt - ageDays * MS_PER_DAY,
    now: startedAt,
    coreKindId: coreKindId(store) ?? 0,
    linkedUpTo: store.operations.cursor(LINK_CURSOR),
  });
  return { disuse: gates(config.decayAgeDays), cascade: gates(Math.max(config.decayAgeDays, config.cascadeAgeDays)) };
}

/** One event a reason. @returns how many went by reason, or null when a part of the plan no longer holds */
function applyDecay(
  context: PhaseContext,
  gates: Gates,
  ids: readonly number[],
): { disuse: number; cascade: number } | null {
  const leaving = stillLeaving(context.store.connection, gates.disuse, ids);
  if (leaving.length < ids.length) return null;
  const follows = (thought: LeavingThought) =>
    thought.followsParent && thought.recordedAt <= gates.cascade.cutoff ? "cascade" : "disuse";
  const byReason = (reason: "disuse" | "cascade") => leaving.filter((thought) => follows(thought) === reason);
  const [disuse, cascade] = [byReason("disuse"), byReason("cascade")];
  recordDecay(context, "disuse", disuse);
  recordDecay(context, "cascade", cascade);
  return { disuse: disuse.length, cascade: cascade.length };
}

function recordDecay(context: PhaseContext, reason: DecayReason, thoughts: readonly LeavingThought[]): void {
  const { store, actor, config, cycle, startedAt } = context;
  if (thoughts.length === 0) return;
  const to = DECAY_REASONS.indexOf(reason);
  store.ledger.record({
    kind: "decayed",
    actor,
    payload: {
      cycle,
      reason,
      count: thoughts.length,
      gates: gatesAsDecided(reason, config, startedAt),
      // In the order of `states`: when each was recorded, and how many stood behind it.
      decided: thoughts.map(({ recordedAt, behind }) => [recordedAt, behind.length]),
    },
    // What stood behind a thought goes with it, each for itself: whoever meets one again revives that one.
    changes: thoughts.flatMap(({ id, behind }) => [
      { nodeId: id, axis: "decayed", to },
      ...behind.flatMap(
        (nodeId) =>
          [
            { nodeId, axis: "merged_into", to: null },
            { nodeId, axis: "decayed", to },
          ] as const,
      ),
    ]),
  });
}

/** What every thought of the event was found to have. */
function gatesAsDecided(reason: DecayReason, config: SleepConfig, startedAt: number) {
  const ageDays = reason === "cascade" ? Math.max(config.decayAgeDays, config.cascadeAgeDays) : config.decayAgeDays;
  return {
    recordedUntil: Math.floor(startedAt - ageDays * MS_PER_DAY),
    permanence: 0,
    accessDays: 0,
    ...(reason === "cascade" ? { visibleParents: 0 } : { visibleNeighbors: 0 }),
  };
}
