/**
 * Last phase: one set of numbers a night, so that a person can see the brain change over time: states, kinds, links,
 * vectors, near-duplicates, latencies, size, and what the phases before did. Numbers only; no word gets here.
 */
import { takeCensus } from "../store/census.ts";
import { addMetrics, lastMetric, takeLatencies, thinMetrics } from "../store/metrics.ts";
import { countForMetrics } from "../store/sleep-upkeep.ts";
import { sampleVectors } from "./neighbors.ts";
import type { PhaseContext, PhaseOutcome } from "./phase.ts";
import { readThresholds } from "./thresholds.ts";

/** Thoughts asked for a nearest neighbour to estimate how many say nearly the same as another. */
const DUPLICATE_SAMPLE = 60;

export function writeMetrics(context: PhaseContext): PhaseOutcome {
  const { store, cycle, reports, dryRun, commit } = context;
  if (dryRun) return { planned: 0, applied: 0 };
  const census = takeCensus(store);
  const perVisible = (count: number) => (census.visible === 0 ? 0 : count / census.visible);
  const values: Record<string, number> = {
    thoughts: census.thoughts,
    "thoughts.visible": census.visible,
    sources: census.sources,
    legs: census.legs,
    links: census.links,
    "links.per_thought": perVisible(2 * census.links),
    occurrences: census.occurrences,
    "vectors.count": census.vectors.count,
    "vectors.coverage": census.thoughts === 0 ? 1 : census.vectors.count / census.thoughts,
    "duplicates.near": estimateNearDuplicates(context, census.ledger.events, census.visible),
    events: census.ledger.events,
    "file.bytes": census.fileBytes,
    ...prefixed("state", census.states),
    ...store.read(() => countForMetrics(store.connection)),
  };
  for (const { name, applied, tookMs, details } of reports) {
    values[`phase.${name}.applied`] = applied;
    values[`phase.${name}.ms`] = tookMs;
    if (name !== "decay" || details === undefined) continue;
    for (const reason of ["disuse", "cascade"]) values[`night.decayed.${reason}`] = details[reason] ?? 0;
  }
  const at = store.now();
  const rows = commit(() => {
    const all = { ...values, ...takeLatencies(store.connection) };
    addMetrics(store.connection, { cycle, at }, all);
    thinMetrics(store.connection, at);
    return Object.keys(all).length;
  });
  return { planned: 0, applied: 0, details: { rows } };
}

/**
 * Visible thoughts that have a neighbour which says nearly the same, from a sample spread over them. Where nothing
 * happened since the last night, what that night found.
 */
function estimateNearDuplicates({ store }: PhaseContext, events: number, visible: number): number {
  if (store.models.active() === null) return 0;
  const known = lastMetric(store.connection, "duplicates.near");
  if (known !== null && lastMetric(store.connection, "events") === events) return known;
  const { duplicate } = readThresholds(store);
  return store.read(() => {
    const sample = sampleVectors(store, DUPLICATE_SAMPLE);
    if (sample.length === 0) return 0;
    const twins = sample.filter(({ id, scopeId, vector }) => {
      const { neighbors } = store.vectors.nearest(vector, 1, { scopeIds: [scopeId], except: new Set([id]) });
      return (neighbors[0]?.cosine ?? -1) >= duplicate;
    });
    return Math.round((visible * twins.length) / sample.length);
  });
}

function prefixed(prefix: string, counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [`${prefix}.${name}`, value]));
}
