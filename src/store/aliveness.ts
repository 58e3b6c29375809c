/**
 * The graph of aliveness as the file has it: built from legs, kept as a snapshot, brought up to date by what was
 * written since, whoever wrote it. Only what recalls needs it; nobody else pays for it.
 */
import { AlivenessGraph, type Leg, type NodeLegs } from "../graph/aliveness.ts";
import type { Connection } from "./connection.ts";
import type { Ledger } from "./ledger.ts";
import type { RecallEffects } from "./recall-effects.ts";

type LegRow = readonly [nodeId: number, legId: number, ended: number, parentId: number | null];

/** Legs by node, then by leg: what `groupLegs` expects. */
const LEG_ROWS = `SELECT l.node_id, l.id, l.ended_seq IS NOT NULL, d.parent_id FROM leg l INDEXED BY leg_by_node
  LEFT JOIN derivation d ON d.leg_id = l.id`;

export class Aliveness {
  readonly #connection: Connection;
  readonly #ledger: Ledger;
  readonly #effects: RecallEffects;
  #graph: AlivenessGraph | null = null;
  /** The event up to which the graph knows the file. */
  #seq = 0;

  constructor(connection: Connection, ledger: Ledger, effects: RecallEffects) {
    this.#connection = connection;
    this.#ledger = ledger;
    this.#effects = effects;
  }

  /** The graph as this transaction sees the file. A write of the caller's own follows by `noteSeq`. */
  current(): AlivenessGraph {
    const head = this.#ledger.head().seq;
    // Another snapshot of the file may be older than what a transaction of this process saw.
    if (this.#seq > head) this.forget();
    this.#graph ??= this.#loadSnapshot() ?? this.#build();
    if (this.#seq < head) this.#replay(this.#graph, head);
    return this.#graph;
  }

  /** The graph was changed by the very event that this transaction recorded. */
  noteSeq(seq: number): void {
    this.#seq = seq;
  }

  /** A transaction that changed the graph was rolled back. */
  forget(): void {
    this.#graph = null;
    this.#seq = 0;
  }

  /** Event of the snapshot in the file; null when there is none. */
  snapshotSeq(): number | null {
    return this.#connection.values<number>("SELECT event_seq FROM graph_snapshot WHERE id = 1").get() ?? null;
  }

  /** Keeps the graph of this moment in the file. Inside a write transaction. */
  saveSnapshot(): void {
    const body = this.current().save();
    this.#connection
      .sql("INSERT OR REPLACE INTO graph_snapshot (id, event_seq, body) VALUES (1, ?, ?)")
      .run(this.#seq, Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  }

  dropSnapshot(): void {
    this.#connection.sql("DELETE FROM graph_snapshot").run();
    this.forget();
  }

  /** Whether the snapshot can be read and is of this ledger; true when there is none. */
  isSnapshotSound(): boolean {
    const row = this.#readSnapshot();
    if (row === null) return true;
    return row.eventSeq <= this.#ledger.head().seq && parse(row.body) !== null;
  }

  #readSnapshot(): { readonly eventSeq: number; readonly body: Buffer } | null {
    return (
      this.#connection
        .sql<{ eventSeq: number; body: Buffer }>("SELECT event_seq AS eventSeq, body FROM graph_snapshot WHERE id = 1")
        .get() ?? null
    );
  }

  /** Null when there is none, or one that cannot be used: then the graph is built anew. */
  #loadSnapshot(): AlivenessGraph | null {
    const row = this.#readSnapshot();
    if (row === null || row.eventSeq > this.#ledger.head().seq) return null;
    const graph = parse(row.body);
    if (graph !== null) this.#seq = row.eventSeq;
    return graph;
  }

  #build(): AlivenessGraph {
    this.#seq = this.#ledger.head().seq;
    return AlivenessGraph.build({
      highestId: this.#connection.values<number>("SELECT coalesce(max(id), 0) FROM node").get() ?? 0,
      sources: this.#connection.values<number>("SELECT node_id FROM source").iterate(),
      thoughts: groupLegs(this.#connection.tuples<LegRow>(`${LEG_ROWS} ORDER BY l.node_id, l.id`).iterate()),
      pinned: this.#effects.pinnedNow(),
    });
  }

  /** Learns the nodes, legs and pins of later events. In which order they came does not change what stands. */
  #replay(graph: AlivenessGraph, head: number): void {
    const known = graph.highestId;
    for (const id of this.#connection.values<number>("SELECT node_id FROM source WHERE node_id > ?").all(known)) {
      graph.addSource(id);
    }
    const legs = this.#connection.tuples<LegRow>(`${LEG_ROWS} WHERE l.node_id = ? ORDER BY l.node_id, l.id`);
    for (const nodeId of this.#changedSince(this.#seq)) {
      for (const node of groupLegs(legs.iterate(nodeId))) graph.setLegs(node.id, node.legs);
    }
    for (const effect of this.#effects.after(this.#seq)) {
      if (effect.undoneSeq === null) graph.pin(effect.pinned);
    }
    const undone = this.#effects.undoneAfter(this.#seq).filter(({ eventSeq }) => eventSeq <= this.#seq);
    if (undone.length > 0) {
      const pinned = this.#effects.pinnedNow();
      graph.unpin([...new Set(undone.flatMap((effect) => effect.pinned))].filter((id) => !pinned.has(id)));
    }
    this.#seq = head;
  }

  /** Thoughts with a leg that came or ended after this event, ascending. */
  #changedSince(seq: number): number[] {
    const changed = new Set<number>(
      this.#connection.values<number>("SELECT node_id FROM leg WHERE ended_seq > ?").all(seq),
    );
    // Legs are numbered in the order of their events, so the new ones are the last.
    for (const [nodeId, addedSeq] of this.#connection
      .tuples<[nodeId: number, addedSeq: number]>("SELECT node_id, added_seq FROM leg ORDER BY id DESC")
      .iterate()) {
      if (addedSeq <= seq) break;
      changed.add(nodeId);
    }
    return [...changed].sort((a, b) => a - b);
  }
}

function parse(body: Buffer): AlivenessGraph | null {
  try {
    return AlivenessGraph.load(body);
  } catch {
    return null;
  }
}

/**
 * The legs that a thought stands on: those that have not ended, or, once all have, every one. That its text left its
 * file takes a thought out of search but does not unsay it, so what rests on it stays.
 */
function* groupLegs(rows: Iterable<LegRow>): Generator<NodeLegs> {
  let node: GroupedNode | undefined;
  let legId = 0;
  let parents: number[] = [];
  for (const [nodeId, nextLegId, ended, parentId] of rows) {
    if (node?.id !== nodeId) {
      if (node !== undefined) yield toNodeLegs(node);
      node = { id: nodeId, standing: [], ended: [] };
      legId = 0;
    }
    if (legId !== nextLegId) {
      legId = nextLegId;
      parents = [];
      (ended === 1 ? node.ended : node.standing).push(parents);
    }
    if (parentId !== null) parents.push(parentId);
  }
  if (node !== undefined) yield toNodeLegs(node);
}

interface GroupedNode {
  readonly id: number;
  readonly standing: Leg[];
  readonly ended: Leg[];
}

function toNodeLegs({ id, standing, ended }: GroupedNode): NodeLegs {
  return { id, legs: standing.length > 0 ? standing : ended };
}
