/**
 * What stands and what fell, worked out anew from legs and pins by the plainest means: a leg counts the parents it
 * waits for. Shares nothing with the graph that recalls use, so that neither can hide the other's fault.
 */
import { formatEventId } from "../core/ids.ts";
import type { Connection } from "./connection.ts";
import type { RecallEffect } from "./recall-effects.ts";

/** A node, or an event, that is not as its legs and the recalls in force would have it. */
export interface AlivenessFault {
  readonly event: string | null;
  readonly nodeId: number | null;
  readonly message: string;
}

/**
 * Compares the least fixpoint with what the effects of recalls say, and those with `node.recalled_by`. Memory: about
 * 8 bytes a node, 16 a leg and 8 a derivation edge.
 */
export function* findAlivenessFaults(
  connection: Connection,
  effects: readonly RecallEffect[],
  highestId: number,
): Generator<AlivenessFault> {
  const events = new Set(effects.map(({ eventSeq }) => eventSeq));
  const fallenUnder = new Map<number, number>();
  const pinned = new Set<number>();
  const inForce = new Set<number>();
  for (const effect of effects) {
    for (const id of effect.removed) fallenUnder.set(id, effect.eventSeq);
    for (const id of effect.restored) fallenUnder.delete(id);
    if (effect.undoneSeq !== null && !events.has(effect.undoneSeq)) {
      const message = "a recall is said to be undone by an event that undid nothing";
      yield { event: formatEventId(effect.eventSeq), nodeId: null, message };
    }
    if (effect.undoneSeq !== null) continue;
    // Where no recall is in force, what rests on itself lies under the event that left it so.
    inForce.add(effect.eventSeq);
    for (const id of effect.pinned) pinned.add(id);
  }
  const alive = leastFixpoint(connection, pinned, highestId);
  const columns = connection.tuples<[id: number, recalledBy: number | null]>("SELECT id, recalled_by FROM node");
  const pending = new Set(effects.filter(({ materialised }) => !materialised).flatMap(({ removed }) => removed));
  for (const [id, recalledBy] of columns.iterate()) {
    const under = fallenUnder.get(id);
    const event = under === undefined ? null : formatEventId(under);
    if (alive[id] === 1 && under !== undefined) {
      yield { event, nodeId: id, message: "a recall took it although it still has something to rest on" };
    } else if (alive[id] !== 1 && under === undefined) {
      yield { event, nodeId: id, message: "it stands although nothing holds it up" };
    } else if (recalledBy === null ? under !== undefined && !pending.has(id) : under === undefined) {
      yield { event, nodeId: id, message: "it is marked as recalled, or not, against what the recalls took" };
    } else if (recalledBy !== null && !inForce.has(recalledBy)) {
      yield { event: formatEventId(recalledBy), nodeId: id, message: "it is marked as recalled by no recall in force" };
    }
  }
}

/** @returns 1 for every node that stands: sources and thoughts that are not pinned, with a leg wholly alive */
function leastFixpoint(connection: Connection, pinned: ReadonlySet<number>, highestId: number): Uint8Array {
  const alive = new Uint8Array(highestId + 1);
  const highestLeg = connection.values<number>("SELECT coalesce(max(id), 0) FROM leg").get() ?? 0;
  const childOf = new Int32Array(highestLeg + 1);
  const isEnded = new Uint8Array(highestLeg + 1);
  const hasStandingLeg = new Uint8Array(highestId + 1);
  const legs = connection.tuples<[id: number, nodeId: number, ended: number]>(
    "SELECT id, node_id, ended_seq IS NOT NULL FROM leg",
  );
  for (const [id, nodeId, ended] of legs.iterate()) {
    childOf[id] = nodeId;
    isEnded[id] = ended;
    if (ended === 0) hasStandingLeg[nodeId] = 1;
  }
  // An ended leg counts only for a thought that has no other.
  const counts = (legId: number) => isEnded[legId] === 0 || hasStandingLeg[childOf[legId] ?? 0] === 0;
  const waitingFor = new Int32Array(highestLeg + 1);
  const edgesFrom = new Int32Array(highestId + 2);
  const edges = connection.tuples<[legId: number, parentId: number]>("SELECT leg_id, parent_id FROM derivation");
  let edgeCount = 0;
  for (const [legId, parentId] of edges.iterate()) {
    waitingFor[legId] = (waitingFor[legId] ?? 0) + 1;
    edgesFrom[parentId + 1] = (edgesFrom[parentId + 1] ?? 0) + 1;
    edgeCount += 1;
  }
  for (let id = 1; id < edgesFrom.length; id++) edgesFrom[id] = (edgesFrom[id] ?? 0) + (edgesFrom[id - 1] ?? 0);
  const next = edgesFrom.slice();
  const legOfEdge = new Int32Array(edgeCount);
  for (const [legId, parentId] of edges.iterate()) {
    const at = next[parentId] ?? 0;
    legOfEdge[at] = legId;
    next[parentId] = at + 1;
  }
  const queue: number[] = [];
  const raise = (id: number) => {
    if (alive[id] === 1 || pinned.has(id)) return;
    alive[id] = 1;
    queue.push(id);
  };
  for (const id of connection.values<number>("SELECT id FROM node WHERE role = 0").iterate()) raise(id);
  for (let legId = 1; legId <= highestLeg; legId++) {
    if (childOf[legId] !== 0 && waitingFor[legId] === 0 && counts(legId)) raise(childOf[legId] ?? 0);
  }
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    for (let at = edgesFrom[id] ?? 0; at < (edgesFrom[id + 1] ?? 0); at++) {
      const legId = legOfEdge[at] ?? 0;
      const left = (waitingFor[legId] ?? 0) - 1;
      waitingFor[legId] = left;
      if (left === 0 && counts(legId)) raise(childOf[legId] ?? 0);
    }
  }
  return alive;
}
