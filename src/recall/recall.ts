/**
 * The recall button: pulls a source or a thought back with everything that rested on it, and puts it back. A recall
 * is one event and one row of what it took; every reader obeys from its commit on. Destroys nothing.
 */
import { batchesOf } from "../core/batches.ts";
import { DormouseError } from "../core/errors.ts";
import { formatEventId, parseEventId } from "../core/ids.ts";
import { checkCount } from "../core/limits.ts";
import type { ProgressListener } from "../core/ports.ts";
import type { Actor } from "../core/types.ts";
import type { RecallPlan } from "../graph/recall-plan.ts";
import { carryTrust } from "../remember/carry-trust.ts";
import { releaseCopies, settleRecalls } from "../remember/settle.ts";
import type { RecallEffect } from "../store/recall-effects.ts";
import type { Store } from "../store/store.ts";
import { findAlike } from "./alike.ts";
import { findEarlierRecalls } from "./earlier-recalls.ts";
import { matchSources } from "./match-sources.ts";

export const RECALL_RULES = ["fair", "strict"] as const;
/** fair: what has another leg stands. strict: everything reachable through any leg goes. */
export type RecallRule = (typeof RECALL_RULES)[number];

/** What to pull back: nodes by id, sources by a pattern over their names (`*` and `?`), or both. */
export interface RecallTarget {
  readonly ids?: readonly string[];
  readonly sources?: string;
}

export interface RecallOptions {
  /** Default fair. */
  readonly rule?: RecallRule;
  /** Nodes described in each list, 1 to 1,000; default 50. All are counted. */
  readonly limit?: number;
  readonly onProgress?: ProgressListener;
}

export interface RecalledNode {
  readonly id: string;
  readonly role: "source" | "thought";
  readonly kind: string;
  /** A source's name, a thought's words. */
  readonly label: string;
}

/** A node that a recall reaches, and the way from a root down to it. */
export interface ReachedNode extends RecalledNode {
  /** Ids from a root to the node, both ends included. */
  readonly path: readonly string[];
}

/** A thought that no leg joins to what goes, and that says nearly the same as one that does. */
export interface AlikeNode extends RecalledNode {
  readonly like: string;
  readonly cosine: number;
}

/** What a recall does or did. */
export interface RecallReport {
  readonly rule: RecallRule;
  readonly roots: readonly RecalledNode[];
  readonly counts: {
    readonly roots: number;
    /** Thoughts that go. */
    readonly thoughts: number;
    /** Sources that go. */
    readonly sources: number;
    readonly weakened: number;
    readonly released: number;
  };
  /** Parents before children; at most `limit`. */
  readonly removed: readonly ReachedNode[];
  /** Lose a leg and stand; at most `limit`. */
  readonly weakened: readonly ReachedNode[];
  /** Copies that stood behind one that goes and come out, since their own legs stand; at most `limit`. */
  readonly released: readonly RecalledNode[];
  /** Thoughts that went out of search because one that goes now took their place; `supersede --undo` brings them back. */
  readonly replaced: readonly RecalledNode[];
  /** Earlier recalls in force that took a root already, by their events. */
  readonly alreadyBy: readonly string[];
}

export interface RecallPreview extends RecallReport {
  /** Worth a look: the same may have been said without a leg; at most 20, from a sample of what goes. */
  readonly alike: readonly AlikeNode[];
}

export interface RecallResult extends RecallReport {
  /** The event to undo it by; null when an earlier recall of the same roots is in force and nothing was changed. */
  readonly event: string | null;
}

export interface UnrecallResult {
  readonly event: string;
  readonly recall: string;
  /** Nodes that stand again. */
  readonly restored: number;
  /** Nodes of that recall that stay fallen, since another one takes them. */
  readonly stillFallen: number;
}

const WHERE_RECALLS_ARE = "`dormouse list --state recalled` names the recall of each thought, `dormouse ledger` all.";
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
const READ_BATCH = 500;

/** What `recall` would do. Changes nothing. @throws DormouseError `usage`, `not_found`. */
export function previewRecall(store: Store, target: RecallTarget, options: RecallOptions = {}): RecallPreview {
  const limit = checkLimit(options.limit);
  return store.read(() => {
    const rootIds = resolveTarget(store, target);
    const rule = checkRule(options.rule);
    const plan = store.aliveness.current().preview(rootIds, rule);
    const alike = findAlike(store, plan).map(({ id, likeId, cosine }) => ({
      ...nodeView(store, id),
      like: store.thoughts.publicId(likeId),
      cosine,
    }));
    return {
      ...describe(store, rule, rootIds, plan, limit),
      alreadyBy: findEarlierRecalls(store, rootIds, null),
      alike,
    };
  });
}

/**
 * Pulls the target back, durably, and tells what went. What an earlier recall of other roots pins already is pinned by
 * this one, too, and stays down when that one is undone.
 * @throws DormouseError `usage`, `not_found`, `erased`.
 */
export function recall(store: Store, target: RecallTarget, options: RecallOptions, actor: Actor): RecallResult {
  const limit = checkLimit(options.limit);
  const { event, rootIds, rule, plan } = commitRecall(store, target, options.rule, actor);
  const report = store.read(() => ({
    ...describe(store, rule, rootIds, plan, limit),
    alreadyBy: findEarlierRecalls(store, rootIds, event),
  }));
  settleRecalls(store, actor, options.onProgress);
  return { ...report, event };
}

/** A recall that is in force. */
export interface CommittedRecall {
  readonly event: string | null;
  readonly rootIds: readonly number[];
  readonly rule: RecallRule;
  readonly plan: RecallPlan;
}

/** The recall itself, without its aftermath (`settleRecalls`): one event, one row, and every reader obeys. */
export function commitRecall(
  store: Store,
  target: RecallTarget,
  wantedRule: RecallRule = "fair",
  actor: Actor = "person",
): CommittedRecall {
  const rule = checkRule(wantedRule);
  // Built, or brought up to date, before anybody has to wait for it.
  store.read(() => store.aliveness.current());
  return store.write(() => {
    const rootIds = resolveTarget(store, target);
    const graph = store.aliveness.current();
    if (rootIds.every((id) => graph.isPinned(id))) {
      const known = graph.preview(rootIds, rule);
      if (isRecalledBefore(store, rootIds, known)) return { event: null, rootIds, rule, plan: known };
    }
    const plan = graph.recall(rootIds, rule);
    const seq = store.ledger.record({
      kind: "recalled",
      actor,
      payload: {
        rule,
        reason: "untrusted",
        roots: rootIds.map((id) => store.thoughts.publicId(id)),
        pinned: plan.pinned.length,
        removed: plan.fallen.length,
      },
    });
    // A closure falls in order; what only lost its legs does not.
    const removed = rule === "strict" ? plan.fallen : Array.from(Int32Array.from(plan.fallen).sort());
    store.recalls.insert({ eventSeq: seq, removed, restored: [], pinned: plan.pinned });
    store.aliveness.noteSeq(seq);
    return { event: formatEventId(seq), rootIds, rule, plan };
  });
}

/**
 * Undoes a recall: what no other recall pins or breaks stands again, in the very state it had.
 * @throws DormouseError `not_found` for an event that is none or no recall, `undone` for one that was undone already.
 */
export function unrecall(store: Store, eventId: string, actor: Actor): UnrecallResult {
  settleRecalls(store, actor);
  return store.write(() => {
    settleRecalls(store, actor);
    const effect = requireRecall(store, parseEventId(eventId));
    const graph = store.aliveness.current();
    const stillPinned = store.recalls.pinnedBesides(effect.eventSeq);
    const { restored: raised } = graph.unpin(effect.pinned.filter((id) => !stillPinned.has(id)));
    const restored = [...raised].sort((a, b) => a - b);
    const seq = store.ledger.record({
      kind: "unrecalled",
      actor,
      payload: { recall: formatEventId(effect.eventSeq), restored: restored.length },
    });
    store.recalls.markUndone(effect.eventSeq, seq);
    store.recalls.insert({ eventSeq: seq, removed: [], restored, pinned: [] });
    store.recalls.mirrorRestored(restored);
    const stillFallen = store.recalls.fallenBy(effect.eventSeq);
    store.recalls.attributeAnew(stillFallen, seq);
    store.recalls.markMaterialised(seq);
    for (const id of restored) store.mirrorState(id);
    releaseCopies(store, store.recalls.standingCopies(restored, "copies"), actor);
    rejoinCopies(store, effect.eventSeq, restored, actor);
    carryTrust(store, [...restored, ...store.recalls.standingChildren(restored)], actor);
    store.aliveness.noteSeq(store.ledger.head().seq);
    return {
      event: formatEventId(seq),
      recall: formatEventId(effect.eventSeq),
      restored: restored.length,
      stillFallen: stillFallen.length,
    };
  });
}

function requireRecall(store: Store, seq: number): RecallEffect {
  const effect = store.recalls.get(seq);
  if (seq < 1 || seq > store.ledger.head().seq) {
    throw new DormouseError("not_found", `there is no event ${formatEventId(seq)}`, { hint: WHERE_RECALLS_ARE });
  }
  if (effect === null || effect.pinned.length === 0) {
    throw new DormouseError("not_found", `${formatEventId(seq)} is no recall`, { hint: WHERE_RECALLS_ARE });
  }
  if (effect.undoneSeq !== null) {
    throw new DormouseError(
      "undone",
      `${formatEventId(seq)} was undone already, by ${formatEventId(effect.undoneSeq)}`,
      {
        hint: "What is still down lies under another recall: `dormouse list --state recalled` names it.",
      },
    );
  }
  return effect;
}

/**
 * Copies that came out when a survivor fell that stands again now, whichever recall it was, go back behind it, unless
 * something else happened to either.
 */
function rejoinCopies(store: Store, eventSeq: number, restored: readonly number[], actor: Actor): void {
  const copies = store.recalls.partedFrom(restored);
  if (copies.length === 0) return;
  store.ledger.record({
    kind: "recall.rejoined",
    actor,
    payload: { recall: formatEventId(eventSeq) },
    changes: copies.map(({ id, survivorId }) => ({ nodeId: id, axis: "merged_into", to: survivorId })),
  });
}

function resolveTarget(store: Store, { ids = [], sources }: RecallTarget): number[] {
  const found = new Set(ids.map((id) => store.thoughts.resolve(id)));
  const [erased] = store.recalls.erasedAmong([...found]);
  if (erased !== undefined) {
    throw new DormouseError("erased", `${store.thoughts.publicId(erased)} was erased`, {
      hint: "It cannot come back, and nothing is left of it to pull back.",
    });
  }
  if (sources !== undefined) {
    for (const nodeId of matchSources(store, sources)) found.add(nodeId);
  }
  if (found.size === 0) {
    throw new DormouseError("usage", "nothing is named to be recalled", {
      hint: "Name ids, or sources by --sources PATTERN.",
    });
  }
  return [...found].sort((a, b) => a - b);
}

function describe(
  store: Store,
  rule: RecallRule,
  rootIds: readonly number[],
  plan: RecallPlan,
  limit: number,
): Omit<RecallReport, "alreadyBy"> {
  const sources = store.sources.count(plan.fallen);
  const fallen = new Set(plan.fallen);
  const released = store.recalls.standingCopies(plan.fallen, "survivors").filter(({ id }) => !fallen.has(id));
  const reached = (id: number): ReachedNode => ({
    ...nodeView(store, id),
    path: plan.pathTo(id).map((step) => store.thoughts.publicId(step)),
  });
  return {
    rule,
    roots: readableOf(store, rootIds, limit).map((id) => nodeView(store, id)),
    counts: {
      roots: rootIds.length,
      thoughts: plan.fallen.length - sources,
      sources,
      weakened: plan.weakened.length,
      released: released.length,
    },
    removed: readableOf(store, plan.removed, limit).map(reached),
    weakened: readableOf(store, plan.weakened, limit).map(reached),
    released: readableOf(
      store,
      released.map(({ id }) => id),
      limit,
    ).map((id) => nodeView(store, id)),
    replaced: readableOf(store, store.beliefs.replacedBy(plan.fallen, limit), limit).map((id) => nodeView(store, id)),
  };
}

/**
 * Whether a recall in force was asked for all these roots, and pins all that this one would. What a recall of other
 * roots pins is no such thing: it is given back with them.
 */
function isRecalledBefore(store: Store, rootIds: readonly number[], plan: RecallPlan): boolean {
  const roots = rootIds.map((id) => store.thoughts.publicId(id));
  return store.recalls.inForce().some(({ eventSeq, pinned }) => {
    const known = new Set(pinned);
    if (!plan.pinned.every((id) => known.has(id))) return false;
    const named = new Set(rootsOf(store.ledger.get(eventSeq)?.payload));
    return roots.every((id) => named.has(id));
  });
}

function rootsOf(payload: unknown): unknown[] {
  const isNamed = typeof payload === "object" && payload !== null && "roots" in payload;
  return isNamed && Array.isArray(payload.roots) ? payload.roots : [];
}

/** The first of them that the session may read: a recall reaches into every scope, its words do not leave them. */
function readableOf(store: Store, nodeIds: readonly number[], limit: number): number[] {
  const shown: number[] = [];
  for (const batch of batchesOf(nodeIds, READ_BATCH)) {
    const readable = store.beliefs.readableAmong(batch);
    shown.push(...batch.filter((id) => readable.has(id)));
    if (shown.length >= limit) break;
  }
  return shown.slice(0, limit);
}

function nodeView(store: Store, nodeId: number): RecalledNode {
  const source = store.sources.get(nodeId);
  if (source !== null) return { id: source.publicId, role: "source", kind: source.type, label: source.name };
  const { id, kind, content } = store.thoughts.detail(nodeId);
  return { id, role: "thought", kind, label: content };
}

function checkRule(rule: RecallRule = "fair"): RecallRule {
  if (RECALL_RULES.includes(rule)) return rule;
  throw new DormouseError("usage", "there is no such rule", { hint: `Rules: ${RECALL_RULES.join(", ")}.` });
}

function checkLimit(limit: number = DEFAULT_LIMIT): number {
  checkCount("the limit", limit, MAX_LIMIT);
  return limit;
}
