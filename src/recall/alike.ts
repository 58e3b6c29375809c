/**
 * Thoughts that may repeat what a recall takes although no leg says so: near in vectors, joined by nothing. A hint
 * for a person, from a bounded sample; nothing is recalled by likeness.
 */
import type { RecallPlan } from "../graph/recall-plan.ts";
import { MODEL_GAUGES } from "../store/operations.ts";
import type { Store } from "../store/store.ts";

/** Of the thoughts that go, so many are compared; spread evenly over them, parents first. */
const SAMPLE = 40;
/** Neighbours asked for each. */
const NEIGHBORS = 12;
const SHOWN = 20;
/** For a brain that sleep has not measured yet: high enough for any model. */
const DEFAULT_COSINE = 0.9;

export interface Alike {
  readonly id: number;
  /** What it is like. */
  readonly likeId: number;
  readonly cosine: number;
}

/** Nearest first, each once; before or after the recall. */
export function findAlike(store: Store, plan: RecallPlan): Alike[] {
  if (store.models.active() === null || plan.fallen.length === 0) return [];
  const least = linkCosine(store);
  const best = new Map<number, Alike>();
  const filter = { scopeIds: store.scopes.readableIds(), except: new Set(plan.fallen) };
  // Sources, which have no vector, come first.
  const thoughts = plan.removed.slice(store.sources.count(plan.fallen));
  const step = Math.max(1, thoughts.length / SAMPLE);
  for (let at = 0; at < thoughts.length; at += step) {
    const likeId = thoughts[Math.floor(at)] ?? 0;
    const vector = store.vectors.get(likeId);
    if (vector === null) continue;
    for (const { nodeId: id, cosine } of store.vectors.nearest(vector, NEIGHBORS, filter).neighbors) {
      if (cosine < least || cosine <= (best.get(id)?.cosine ?? -1)) continue;
      if (plan.pathTo(id).length === 0) best.set(id, { id, likeId, cosine: Math.round(cosine * 1000) / 1000 });
    }
  }
  return [...best.values()].sort((a, b) => b.cosine - a.cosine || a.id - b.id).slice(0, SHOWN);
}

/** The cosine from which sleep links, if it was measured with the model in use. */
function linkCosine(store: Store): number {
  const { operations, models } = store;
  if (operations.gauge(MODEL_GAUGES.model) !== models.active()?.id) return DEFAULT_COSINE;
  return operations.gauge(MODEL_GAUGES.link) ?? DEFAULT_COSINE;
}
