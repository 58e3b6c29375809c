/**
 * One thought taking another's place: the checks, the event, the link, and the flags on what rests on the old one.
 * Nothing is removed. The caller owns the transaction.
 */
import { batchesOf } from "../core/batches.ts";
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import { type Actor, BELIEFS } from "../core/types.ts";
import { CHANGES_PER_EVENT, type Change } from "../store/ledger.ts";
import type { Store } from "../store/store.ts";
import type { NodeState } from "../store/thoughts.ts";

const SUPERSEDED = BELIEFS.indexOf("superseded");

/** Words of a person, stored already. */
export interface StoredWords {
  readonly id: number;
  readonly commitment: Buffer;
}

export interface Supersession {
  readonly oldId: number;
  readonly newId: number;
  readonly actor: Actor;
  /** A code, never words. */
  readonly reason: "superseded" | "resolved" | "replaced";
  readonly words?: StoredWords;
}

/**
 * Refuses what can have no say: a source, and a thought that stands behind another or is out of search for a reason
 * that has to be undone first. @throws DormouseError with the code of that reason and the way back as its hint
 */
export function requireSpeaking(node: NodeState): void {
  requireThere(node);
  const { publicId: id } = node;
  if (node.decayed !== "none") {
    throw new DormouseError("decayed", `${id} decayed`, { hint: `\`dormouse revive ${id}\` first.` });
  }
  if (node.belief === "superseded") {
    throw new DormouseError("superseded", `${id} was superseded`, {
      hint: `\`dormouse why ${id}\` names what took its place; \`dormouse supersede --undo ${id}\` takes that back.`,
    });
  }
}

/** As `requireSpeaking`, but a decayed or superseded thought may be named. */
export function requireThere(node: NodeState): void {
  const { publicId: id } = node;
  if (node.role === 0) {
    throw new DormouseError("usage", `${id} is a source, not a thought`, { hint: "Thought ids begin with n_." });
  }
  if (node.erasedBy !== null) throw new DormouseError("erased", `${id} was erased`, { hint: "It cannot come back." });
  if (node.recalledBy !== null) {
    const event = formatEventId(node.recalledBy);
    throw new DormouseError("recalled", `${id} was recalled (${event})`, {
      hint: `\`dormouse unrecall ${event}\` first.`,
    });
  }
  if (node.decayed === "forgotten") {
    throw new DormouseError("forgotten", `${id} was forgotten`, { hint: `\`dormouse revive ${id}\` first.` });
  }
  if (node.belief === "held") {
    throw new DormouseError("held", `${id} waits for review`, { hint: "Approve or reject it first." });
  }
  if (node.belief === "rejected") {
    throw new DormouseError("tombstone", `${id} was rejected`, { hint: "It can have no say any more." });
  }
}

/** @throws DormouseError `merged`, naming the survivor. */
export function requireUnmerged(store: Store, node: NodeState): void {
  if (node.mergedInto === null) return;
  const survivor = store.thoughts.publicId(node.mergedInto);
  throw new DormouseError("merged", `${node.publicId} stands behind ${survivor}`, {
    hint: `Name ${survivor} instead.`,
  });
}

/**
 * Refuses a pair that cannot take each other's place.
 * @returns false when `by` has taken the place of `old` already
 * @throws DormouseError as `requireSpeaking`; `superseded` when another thought took its place; `usage` for the same
 * thought twice; `invalid` when readers of the old one could not be told of a secret by the new one's looser scope
 */
export function checkSupersession(store: Store, old: NodeState, by: NodeState): boolean {
  if (old.id === by.id) {
    throw new DormouseError("usage", `${old.publicId} cannot take its own place`, { hint: "Name two thoughts." });
  }
  requireThere(old);
  requireUnmerged(store, old);
  if (old.belief === "superseded") {
    const [link] = store.beliefs.replacements(old.id);
    if (link?.fromId === by.id) return false;
    const [replacement] = store.beliefs.readableAmong(link === undefined ? [] : [link.fromId]);
    const who = replacement === undefined ? null : store.thoughts.publicId(replacement);
    throw new DormouseError("superseded", `${old.publicId} was superseded${who === null ? "" : ` by ${who}`}`, {
      hint: `${who === null ? "" : `Supersede ${who}, or `}\`dormouse supersede --undo ${old.publicId}\` first.`,
    });
  }
  requireSpeaking(by);
  requireUnmerged(store, by);
  if (store.scopes.strictest([old.scopeId, by.scopeId]) !== by.scopeId) {
    throw new DormouseError("invalid", `${by.publicId} is in a looser scope than ${old.publicId}`, {
      hint: "Remember the new thought with --supersedes, which takes the scope of the old one.",
    });
  }
  return true;
}

/**
 * Puts one thought in another's place: the old one leaves search, a contradiction between the two is settled, and what
 * rests on the old one is flagged stale, at any distance and in any state.
 * @returns the event, and how many thoughts it flagged
 */
export function supersedeNode(
  store: Store,
  { oldId, newId, actor, reason, words }: Supersession,
): { seq: number; stale: number } {
  const { beliefs, ledger, links, thoughts } = store;
  const dispute = beliefs.linkBetween("contradicts", oldId, newId);
  const seq = ledger.nextSeq();
  const dependents = beliefs.notStale(beliefs.dependents(oldId, newId));
  const flags = dependents.map((nodeId): Change => ({ nodeId, axis: "stale_by", to: seq }));
  ledger.record({
    kind: "belief.changed",
    actor,
    payload: { node: thoughts.publicId(oldId), by: thoughts.publicId(newId), reason, stale: dependents.length },
    ...(words === undefined ? {} : { commitment: words.commitment }),
    changes: [
      { nodeId: oldId, axis: "belief", to: SUPERSEDED },
      ...(dispute === null ? [] : [{ nodeId: newId, axis: "belief" as const, to: beliefs.settled(newId, dispute.id) }]),
      ...flags.slice(0, CHANGES_PER_EVENT),
    ],
  });
  if (words !== undefined) store.reasons.add(seq, words.id);
  if (dispute !== null) links.end([dispute], actor);
  links.add([{ type: "supersedes", fromId: newId, toId: oldId, weight: 1000 }], actor);
  recordStaleness(store, flags.slice(CHANGES_PER_EVENT), seq, actor);
  return { seq, stale: dependents.length };
}

/**
 * What is left to do when a superseded thought is believed again: the link by which it was replaced ends, and what was
 * flagged stale by that event is fresh again unless something else that it rests on was replaced, too.
 * @param eventSeq the event that had superseded it
 * @returns how many thoughts lost their flag
 */
export function endSupersession(store: Store, nodeId: number, eventSeq: number, actor: Actor): number {
  store.links.end(store.beliefs.replacements(nodeId), actor);
  const flagged = store.beliefs.staleSince(eventSeq);
  const kept = store.beliefs.otherStaleness(flagged, nodeId);
  const changes = flagged.map((id): Change => ({ nodeId: id, axis: "stale_by", to: kept.get(id) ?? null }));
  recordStaleness(store, changes, eventSeq, actor);
  return flagged.length - kept.size;
}

/** In events of at most 500 changes; `cause` is the event that superseded what they rest on. */
function recordStaleness(store: Store, changes: readonly Change[], cause: number, actor: Actor): void {
  for (const batch of batchesOf(changes, CHANGES_PER_EVENT)) {
    store.ledger.record({
      kind: "stale.changed",
      actor,
      payload: { cause: formatEventId(cause), count: batch.length },
      changes: batch,
    });
  }
}
