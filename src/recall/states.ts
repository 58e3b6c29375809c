/**
 * What a person does to single thoughts: forget, revive, pin, unpin. Each is one event with its transition;
 * asking for the state that already holds changes nothing and is no error.
 */
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import { type Actor, DECAY_REASONS, PERMANENCES } from "../core/types.ts";
import { requireUnrecalled } from "../remember/recalled.ts";
import type { Change, EventKind } from "../store/ledger.ts";
import type { Store } from "../store/store.ts";
import type { NodeState } from "../store/thoughts.ts";
import { checkReason } from "./reason.ts";

export interface StateChange {
  readonly id: string;
  readonly changed: boolean;
  /** The event that did it; null when nothing changed. */
  readonly event: string | null;
}

/**
 * Takes a thought out of search until a person revives it; nothing is deleted. The reason's words go to
 * the erasable text table.
 */
export function forget(store: Store, id: string, reason: string, actor: Actor): StateChange {
  checkReason(reason);
  return store.write(() => {
    const node = resolveThought(store, id);
    if (node.decayed === "forgotten") return { id: node.publicId, changed: false, event: null };
    const stored = store.contents.add(reason);
    const seq = store.ledger.record({
      kind: "decayed",
      actor,
      payload: { node: node.publicId, reason: "forgotten" },
      commitment: stored.commitment,
      changes: [{ nodeId: node.id, axis: "decayed", to: DECAY_REASONS.indexOf("forgotten") }],
    });
    store.reasons.add(seq, stored.id);
    return { id: node.publicId, changed: true, event: formatEventId(seq) };
  });
}

/**
 * Brings a decayed or forgotten thought back.
 * @throws DormouseError `recalled` for one that a recall took: `unrecall` brings it back with all that fell with it.
 */
export function revive(store: Store, id: string, actor: Actor): StateChange {
  return store.write(() => {
    const node = resolveThought(store, id);
    requireUnrecalled(store, node);
    return change(store, node, "revived", { axis: "decayed", to: 0 }, node.decayed !== "none", actor);
  });
}

/**
 * Makes a thought permanent by a person's word.
 * @throws DormouseError `forgotten` for a decayed one, which must be revived first; `recalled`
 */
export function pin(store: Store, id: string, actor: Actor): StateChange {
  return store.write(() => {
    const node = resolveThought(store, id);
    requireUnrecalled(store, node);
    if (node.decayed !== "none") {
      throw new DormouseError("forgotten", `${node.publicId} is out of search`, {
        hint: `\`dormouse revive ${node.publicId}\` first.`,
      });
    }
    const to = PERMANENCES.indexOf("pinned");
    return change(store, node, "permanence.changed", { axis: "permanence", to }, node.permanence !== "pinned", actor);
  });
}

/**
 * Takes a person's pin away; what the thought earned by being read, sleep gives again.
 * @throws DormouseError `recalled`: what a recall took comes back in the very state it had
 */
export function unpin(store: Store, id: string, actor: Actor): StateChange {
  return store.write(() => {
    const node = resolveThought(store, id);
    requireUnrecalled(store, node);
    return change(
      store,
      node,
      "permanence.changed",
      { axis: "permanence", to: 0 },
      node.permanence === "pinned",
      actor,
    );
  });
}

function change(
  store: Store,
  node: NodeState,
  kind: EventKind,
  transition: Omit<Change, "nodeId">,
  changes: boolean,
  actor: Actor,
): StateChange {
  const id = node.publicId;
  if (!changes) return { id, changed: false, event: null };
  const seq = store.ledger.record({
    kind,
    actor,
    payload: { node: id },
    changes: [{ nodeId: node.id, ...transition }],
  });
  return { id, changed: true, event: formatEventId(seq) };
}

/** The thought behind an id; from here on it goes by its own id, not by what was typed. */
function resolveThought(store: Store, id: string): NodeState {
  const node = store.thoughts.state(store.thoughts.resolve(id));
  if (node.role === 0) {
    throw new DormouseError("usage", `${node.publicId} is a source, not a thought`, {
      hint: "Thought ids begin with n_.",
    });
  }
  return node;
}
