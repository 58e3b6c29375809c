/**
 * Phase 10: one set of numbers a night, so that a person can see the brain change over time: states, links,
 * vectors, size, and what the phases before did. Numbers only; label words stay out of the metric table.
 */
import { takeCensus } from "../store/census.ts";
import { countForMetrics } from "../store/sleep-upkeep.ts";
import type { PhaseContext, PhaseOutcome } from "./phase.ts";

export function writeMetrics({ store, cycle, reports, dryRun, commit }: PhaseContext): PhaseOutcome {
  if (dryRun) return { planned: 0, applied: 0 };
  const census = takeCensus(store);
  const metrics: Record<string, number> = {
    thoughts: census.thoughts,
    "thoughts.visible": census.visible,
    sources: census.sources,
    legs: census.legs,
    links: census.links,
    occurrences: census.occurrences,
    "vectors.count": census.vectors.count,
    "vectors.coverage": census.thoughts === 0 ? 1 : census.vectors.count / census.thoughts,
    events: census.ledger.events,
    "file.bytes": census.fileBytes,
    ...prefixed("state", census.states),
    ...store.read(() => countForMetrics(store.connection)),
  };
  for (const { name, applied, tookMs } of reports) {
    metrics[`phase.${name}.applied`] = applied;
    metrics[`phase.${name}.ms`] = tookMs;
  }
  commit(() => {
    for (const [name, value] of Object.entries(metrics)) store.operations.addMetric(cycle, name, value);
  });
  return { planned: 0, applied: 0, details: { rows: Object.keys(metrics).length } };
}

function prefixed(prefix: string, counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [`${prefix}.${name}`, value]));
}
