/**
 * What a person decides about beliefs: which thought takes another's place, which two cannot both be true, which of
 * them is, and what still holds. Nothing is removed, and nothing is decided on anybody's behalf.
 */
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import { type Actor, BELIEFS, type Belief } from "../core/types.ts";
import { disputeNodes, isDisputed } from "../remember/dispute.ts";
import {
  checkSupersession,
  endSupersession,
  requireSpeaking,
  requireThere,
  requireUnmerged,
  type StoredWords,
  supersedeNode,
} from "../remember/supersede.ts";
import type { Change } from "../store/ledger.ts";
import type { LinkRow } from "../store/links.ts";
import type { Store } from "../store/store.ts";
import type { NodeState } from "../store/thoughts.ts";
import { checkReason } from "./reason.ts";

const DISPUTED = BELIEFS.indexOf("disputed");
const CONFIRMED = BELIEFS.indexOf("confirmed");

export interface BeliefChange {
  readonly changed: boolean;
  /** The event that decided it, the last where several did; null when nothing changed. */
  readonly event: string | null;
  /** What each thought named, and each opponent settled with it, is believed to be now. */
  readonly beliefs: readonly { readonly id: string; readonly belief: Belief }[];
  /** Thoughts that were flagged stale by it. */
  readonly flagged: number;
  /** Thoughts that are no longer stale by it. */
  readonly cleared: number;
}

export interface BeliefOptions {
  /** Why, in a person's words; they go to the erasable text table. */
  readonly reason?: string;
}

export interface ResolveOptions extends BeliefOptions {
  /** The one that the winner is right against; needed when several say otherwise. */
  readonly over?: string;
  /** Both are believed again: they did not exclude each other. */
  readonly both?: boolean;
}

/**
 * Puts one thought in the place of another: the old one leaves search and stays readable; what rests on it is flagged
 * stale. @throws DormouseError as `checkSupersession` does
 */
export function supersede(
  store: Store,
  oldId: string,
  newId: string,
  actor: Actor,
  options: BeliefOptions = {},
): BeliefChange {
  const reason = checkReason(options.reason);
  return store.write(() => {
    const [old, by] = [stateOf(store, oldId), stateOf(store, newId)];
    if (!checkSupersession(store, old, by)) return unchanged(store, [old, by]);
    const { seq, stale } = supersedeNode(store, {
      oldId: old.id,
      newId: by.id,
      actor,
      reason: "superseded",
      ...storeWords(store, reason),
    });
    return changeOf(store, [old, by], seq, { flagged: stale });
  });
}

/**
 * Takes a supersession back: the old thought is believed as before, a contradiction that it settled stands again, and
 * what it made stale is fresh. @throws DormouseError `recalled`, `erased`, `held`, `tombstone`, `forgotten`
 */
export function undoSupersede(store: Store, id: string, actor: Actor): BeliefChange {
  return store.write(() => {
    const old = stateOf(store, id);
    requireThere(old);
    const supersededBy = store.beliefs.supersededBySeq(old.id);
    if (supersededBy === null) return unchanged(store, [old]);
    const dispute = settledDispute(store, old, supersededBy);
    const seq = store.ledger.record({
      kind: "belief.changed",
      actor,
      payload: { node: old.publicId, undoes: formatEventId(supersededBy), reason: "undone" },
      changes:
        dispute === null
          ? [{ nodeId: old.id, axis: "belief", to: store.beliefs.settled(old.id) }]
          : [dispute.fromId, dispute.toId].map((nodeId): Change => ({ nodeId, axis: "belief", to: DISPUTED })),
    });
    const cleared = endSupersession(store, old.id, supersededBy, actor);
    if (dispute !== null) store.links.add([{ type: "contradicts", ...dispute, weight: 1000 }], actor);
    const shown = dispute === null ? [old] : [old, store.thoughts.state(dispute.toId)];
    return changeOf(store, shown, seq, { cleared });
  });
}

/** The contradiction that a supersession settled, unless the other side has no say any more. */
function settledDispute(store: Store, old: NodeState, eventSeq: number): { fromId: number; toId: number } | null {
  for (const { fromId } of store.beliefs.replacements(old.id)) {
    const by = store.thoughts.state(fromId);
    const hasSay = by.recalledBy === null && by.erasedBy === null && BELIEFS.indexOf(by.belief) <= DISPUTED;
    if (hasSay && store.beliefs.hadDispute(old.id, fromId, eventSeq)) return { fromId: old.id, toId: fromId };
  }
  return null;
}

/**
 * Says that two thoughts cannot both be true: both stay in search, labelled as disputed, until somebody resolves it.
 * @throws DormouseError as `requireSpeaking` does; `usage` for the same thought twice
 */
export function contradict(
  store: Store,
  oneId: string,
  otherId: string,
  actor: Actor,
  options: BeliefOptions = {},
): BeliefChange {
  const reason = checkReason(options.reason);
  return store.write(() => {
    const pair = [stateOf(store, oneId), stateOf(store, otherId)] as const;
    // Words that nothing refers to must not be stored.
    const words = isDisputed(store, pair) ? undefined : storeWords(store, reason).words;
    const seq = disputeNodes(store, pair, actor, words);
    if (seq === null) return unchanged(store, pair);
    return changeOf(store, pair, seq);
  });
}

/**
 * Settles a dispute. The winner is believed as it was before; the other one is superseded by it, or with `both`
 * believed again, too. An opponent that is out of search for another reason stays as it is.
 * @throws DormouseError `undisputed`; `usage` when several say otherwise and none is named; as `requireSpeaking` does
 */
export function resolve(store: Store, id: string, actor: Actor, options: ResolveOptions = {}): BeliefChange {
  const reason = checkReason(options.reason);
  return store.write(() => {
    const winner = stateOf(store, id);
    requireSpeaking(winner);
    requireUnmerged(store, winner);
    const disputes = chooseDisputes(store, winner, options);
    const { words } = storeWords(store, reason);
    const named = [winner, ...disputes.map(({ other }) => other)];
    const loser = options.both === true ? undefined : disputes.find(({ other }) => canLose(other))?.other;
    const settled = disputes.filter(({ other }) => other.id !== loser?.id);
    const seq = settled.length === 0 ? 0 : recordSettlement(store, winner, settled, loser ? undefined : words, actor);
    if (loser === undefined) return changeOf(store, named, seq);
    const { seq: lost, stale } = supersedeNode(store, {
      oldId: loser.id,
      newId: winner.id,
      actor,
      reason: "resolved",
      ...(words === undefined ? {} : { words }),
    });
    return changeOf(store, named, lost, { flagged: stale });
  });
}

interface Dispute {
  readonly link: LinkRow;
  readonly other: NodeState;
}

/** Those that are to be settled: with the one named, or with the only one that has a say and all that have none. */
function chooseDisputes(store: Store, winner: NodeState, options: ResolveOptions): Dispute[] {
  const links = store.beliefs.disputes(winner.id);
  const opponentOf = ({ fromId, toId }: LinkRow) => (fromId === winner.id ? toId : fromId);
  // What a session may not read it does not decide about: the thought stays disputed until somebody who may does.
  const readable = store.beliefs.readableAmong(links.map(opponentOf));
  const disputes = links
    .filter((link) => readable.has(opponentOf(link)))
    .map((link) => ({ link, other: store.thoughts.state(opponentOf(link)) }));
  if (disputes.length === 0) {
    throw new DormouseError("undisputed", `nothing contradicts ${winner.publicId}`, {
      hint: "`dormouse list --state disputed` lists what is disputed.",
    });
  }
  if (options.over !== undefined) {
    const over = stateOf(store, options.over);
    const dispute = disputes.find(({ other }) => other.id === over.id);
    if (dispute !== undefined) return [dispute];
    throw new DormouseError("undisputed", `${winner.publicId} and ${over.publicId} do not contradict each other`, {
      hint: `\`dormouse why ${winner.publicId}\` names what does.`,
    });
  }
  const opponents = disputes.filter(({ other }) => canLose(other));
  if (opponents.length > 1 && options.both !== true) {
    throw new DormouseError("usage", `${opponents.length} thoughts contradict ${winner.publicId}`, {
      hint: `Name one with --over; \`dormouse why ${winner.publicId}\` lists them.`,
    });
  }
  return disputes;
}

/** False for what is out of the dispute already: another event decides whether it comes back. */
function canLose(node: NodeState): boolean {
  return (
    node.recalledBy === null &&
    node.erasedBy === null &&
    node.mergedInto === null &&
    node.decayed !== "forgotten" &&
    BELIEFS.indexOf(node.belief) <= DISPUTED
  );
}

/** Ends contradictions without a loser. Each side is believed as before unless something else contradicts it. */
function recordSettlement(
  store: Store,
  winner: NodeState,
  settled: readonly Dispute[],
  words: StoredWords | undefined,
  actor: Actor,
): number {
  const { beliefs, ledger, links, reasons } = store;
  links.end(
    settled.map(({ link }) => link),
    actor,
  );
  const seq = ledger.record({
    kind: "belief.changed",
    actor,
    payload: {
      nodes: [winner, ...settled.map(({ other }) => other)].map(({ publicId }) => publicId),
      reason: "resolved",
    },
    ...(words === undefined ? {} : { commitment: words.commitment }),
    changes: [winner, ...settled.map(({ other }) => other)]
      .filter(({ belief }) => belief === "disputed")
      .map(({ id }) => ({ nodeId: id, axis: "belief", to: beliefs.settled(id) })),
  });
  if (words !== undefined) reasons.add(seq, words.id);
  return seq;
}

/**
 * A person's word that a thought holds, also when what it rests on was replaced.
 * @throws DormouseError `disputed` before the dispute is resolved; as `requireSpeaking` does
 */
export function confirm(store: Store, id: string, actor: Actor): BeliefChange {
  return store.write(() => {
    const node = stateOf(store, id);
    requireSpeaking(node);
    requireUnmerged(store, node);
    if (node.belief === "disputed") {
      throw new DormouseError("disputed", `${node.publicId} is disputed`, {
        hint: `\`dormouse resolve ${node.publicId}\` decides for it, with --both for both sides.`,
      });
    }
    const isStale = store.beliefs.marks(node.id).staleBy !== null;
    if (node.belief === "confirmed" && !isStale) return unchanged(store, [node]);
    const seq = store.ledger.record({
      kind: "belief.changed",
      actor,
      payload: { node: node.publicId, reason: "confirmed" },
      changes: [
        { nodeId: node.id, axis: "belief", to: CONFIRMED },
        { nodeId: node.id, axis: "stale_by", to: null },
      ],
    });
    return changeOf(store, [node], seq, { cleared: isStale ? 1 : 0 });
  });
}

function stateOf(store: Store, id: string): NodeState {
  return store.thoughts.state(store.thoughts.resolve(id));
}

function storeWords(store: Store, reason: string | undefined): { words?: StoredWords } {
  return reason === undefined ? {} : { words: store.contents.add(reason) };
}

function unchanged(store: Store, nodes: readonly NodeState[]): BeliefChange {
  return { ...changeOf(store, nodes, 0), changed: false, event: null };
}

function changeOf(
  store: Store,
  nodes: readonly NodeState[],
  seq: number,
  counts: { readonly flagged?: number; readonly cleared?: number } = {},
): BeliefChange {
  const readable = store.beliefs.readableAmong(nodes.map(({ id }) => id));
  const shown = nodes.filter(({ id }) => readable.has(id));
  return {
    changed: true,
    event: formatEventId(seq),
    beliefs: shown.map(({ id, publicId }) => ({ id: publicId, belief: store.thoughts.state(id).belief })),
    flagged: counts.flagged ?? 0,
    cleared: counts.cleared ?? 0,
  };
}
