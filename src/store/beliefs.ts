/**
 * What beliefs rest on: which thought replaced which, who disputes whom, what rests on a replaced one, and what a
 * thought believed before. Reads only; beliefs change through the ledger.
 */
import { batchesOf } from "../core/batches.ts";
import { BELIEFS, LINK_TYPES, type LinkType } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { AXES } from "./ledger.ts";
import type { LinkRow } from "./links.ts";
import { readable, recalledBy, unrecalled } from "./visibility.ts";

const BELIEF_AXIS = AXES.indexOf("belief") + 1;
const STALE_AXIS = AXES.indexOf("stale_by") + 1;
const CONTRADICTS = LINK_TYPES.indexOf("contradicts");
const SUPERSEDES = LINK_TYPES.indexOf("supersedes");
const DISPUTED = BELIEFS.indexOf("disputed");
const SUPERSEDED = BELIEFS.indexOf("superseded");
/** The last of the beliefs that nobody else's word brings about; they come first in `BELIEFS`. */
const CONFIRMED = BELIEFS.indexOf("confirmed");
/** Nodes whose edges one statement reads. */
const BATCH = 500;

/** How a thought stands to others, as a result shows it. */
export interface Relations {
  /** Thoughts that it replaced. */
  readonly replaces: readonly number[];
  /** Thoughts that say otherwise. */
  readonly disputedWith: readonly number[];
}

const NONE: Relations = { replaces: [], disputedWith: [] };

/** A parent because of which a leg does not stand, and the event that took it. */
export interface BrokenParent {
  readonly id: number;
  readonly because: "recalled" | "erased" | "rejected" | "held";
  readonly eventSeq: number | null;
}

export class Beliefs {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The standing link of the type between two nodes, whichever way it points. */
  linkBetween(type: LinkType, a: number, b: number): LinkRow | null {
    const row = this.#connection
      .sql<Omit<LinkRow, "type">>(
        `SELECT id, from_id AS fromId, to_id AS toId, weight FROM link WHERE type = @type AND ended_seq IS NULL
           AND ((from_id = @a AND to_id = @b) OR (from_id = @b AND to_id = @a)) LIMIT 1`,
      )
      .get({ type: LINK_TYPES.indexOf(type), a, b });
    return row === undefined ? null : { ...row, type };
  }

  /** Standing links by which the thought was replaced; sound brains have at most one. */
  replacements(nodeId: number): LinkRow[] {
    return this.#links("supersedes", ["to_id"], nodeId);
  }

  /** Of the nodes, those that the session may read. */
  readableAmong(nodeIds: readonly number[]): ReadonlySet<number> {
    return new Set(
      this.#connection
        .values<number>(
          `SELECT n.id FROM json_each(?) wanted CROSS JOIN node n ON n.id = wanted.value WHERE ${readable("n")}`,
        )
        .all(JSON.stringify(nodeIds)),
    );
  }

  /** Superseded thoughts whose place one of these nodes took, ascending, at most `limit`. */
  replacedBy(nodeIds: readonly number[], limit: number): number[] {
    return this.#connection
      .values<number>(
        `SELECT DISTINCT n.id FROM json_each(?) wanted CROSS JOIN link l ON l.from_id = wanted.value
         CROSS JOIN node n ON n.id = l.to_id
         WHERE l.type = ${SUPERSEDES} AND l.ended_seq IS NULL AND n.belief = ${SUPERSEDED} AND ${readable("n")}
         ORDER BY n.id LIMIT ?`,
      )
      .all(JSON.stringify(nodeIds), limit);
  }

  /** Standing contradictions of a thought, either way, the oldest first. */
  disputes(nodeId: number): LinkRow[] {
    return this.#links("contradicts", ["from_id", "to_id"], nodeId);
  }

  /** The event that superseded a thought; null when it is not superseded. */
  supersededBySeq(nodeId: number): number | null {
    const row = this.#connection
      .sql<{ seq: number; value: number }>(
        `SELECT event_seq AS seq, new AS value FROM transition WHERE node_id = ? AND axis = ${BELIEF_AXIS}
         ORDER BY event_seq DESC LIMIT 1`,
      )
      .get(nodeId);
    return row?.value === SUPERSEDED ? row.seq : null;
  }

  /**
   * What a thought believes when nothing replaces it: disputed while a contradiction stands, else what it was last
   * without one, asserted or confirmed. @param without a link that is about to end
   */
  settled(nodeId: number, without: number | null = null): number {
    if (this.disputes(nodeId).some(({ id }) => id !== without)) return DISPUTED;
    const row = this.#connection
      .sql<{ value: number }>(
        `SELECT CASE WHEN new <= ${CONFIRMED} THEN new ELSE old END AS value FROM transition
         WHERE node_id = ? AND axis = ${BELIEF_AXIS} AND (new <= ${CONFIRMED} OR old <= ${CONFIRMED})
         ORDER BY event_seq DESC LIMIT 1`,
      )
      .get(nodeId);
    return row?.value ?? 0;
  }

  /** The two thoughts of a contradiction that ended after an event, when one stood between them until then. */
  hadDispute(a: number, b: number, afterSeq: number): boolean {
    return (
      this.#connection
        .sql(
          `SELECT 1 FROM link WHERE type = ${CONTRADICTS} AND ended_seq > @afterSeq
             AND ((from_id = @a AND to_id = @b) OR (from_id = @b AND to_id = @a)) LIMIT 1`,
        )
        .get({ a, b, afterSeq }) !== undefined
    );
  }

  /**
   * Thoughts that rest on a node over standing legs, at any distance and in any state, ascending. Neither the node
   * nor `replacement`, nor what rests on it only through the replacement.
   */
  dependents(nodeId: number, replacement: number): number[] {
    const seen = new Set([nodeId, replacement]);
    const found: number[] = [];
    const children = this.#connection.values<number>(
      `SELECT DISTINCT d.child_id FROM json_each(?) wanted CROSS JOIN derivation d ON d.parent_id = wanted.value
       CROSS JOIN leg l ON l.id = d.leg_id WHERE l.ended_seq IS NULL`,
    );
    for (let ring = [nodeId]; ring.length > 0; ) {
      const next: number[] = [];
      for (const batch of batchesOf(ring, BATCH)) {
        for (const id of children.all(JSON.stringify(batch))) {
          if (seen.has(id)) continue;
          seen.add(id);
          next.push(id);
        }
      }
      for (const id of next) found.push(id);
      ring = next;
    }
    return found.sort((a, b) => a - b);
  }

  /** Of the nodes, those that no event flagged stale yet, in the order given. */
  notStale(nodeIds: readonly number[]): number[] {
    const statement = this.#connection.values<number>(
      "SELECT n.id FROM json_each(?) wanted CROSS JOIN node n ON n.id = wanted.value WHERE n.stale_by IS NULL",
    );
    return batchesOf(nodeIds, BATCH).flatMap((batch) => statement.all(JSON.stringify(batch)));
  }

  /** Thoughts that an event flagged stale and that still are, ascending. */
  staleSince(eventSeq: number): number[] {
    return this.#connection.values<number>("SELECT id FROM node WHERE stale_by = ? ORDER BY id").all(eventSeq);
  }

  /**
   * What keeps thoughts stale when one reason goes: the event of another replaced thought that they rest on. Absent:
   * nothing does. An event older than the moment at which a thought was last found good does not count.
   * @param nodeIds flagged by the event that goes
   * @param revivedId the thought that the event had superseded
   */
  otherStaleness(nodeIds: readonly number[], revivedId: number): Map<number, number> {
    const leaving = new Set(nodeIds);
    const kept = new Map<number, number>();
    // All of them: the one that keeps a thought may be no reason for what rests on it, and another one is.
    const reasons = new Map<number, Set<number>>();
    const keep = (id: number, seq: number): boolean => {
      const known = reasons.get(id);
      if (known?.has(seq) === true || seq <= this.#lastFoundGood(id) || this.#isPartyTo(seq, id)) return false;
      if (known === undefined) reasons.set(id, new Set([seq]));
      else known.add(seq);
      if (!kept.has(id)) kept.set(id, seq);
      return true;
    };
    const parents = this.#connection.sql<{ childId: number; id: number; belief: number; staleBy: number | null }>(
      `SELECT wanted.value AS childId, p.id, p.belief, p.stale_by AS staleBy FROM json_each(?) wanted
       CROSS JOIN leg l ON l.node_id = wanted.value AND l.ended_seq IS NULL
       CROSS JOIN derivation d ON d.leg_id = l.id CROSS JOIN node p ON p.id = d.parent_id
       WHERE p.role = 1 AND (p.belief = ${SUPERSEDED} OR p.stale_by IS NOT NULL)`,
    );
    let ring: number[] = [];
    for (const batch of batchesOf(nodeIds, BATCH)) {
      for (const { childId, id, belief, staleBy } of parents.all(JSON.stringify(batch))) {
        const own = belief === SUPERSEDED && id !== revivedId ? this.supersededBySeq(id) : null;
        const passedOn = leaving.has(id) ? null : staleBy;
        for (const seq of [own, passedOn]) if (seq !== null && keep(childId, seq)) ring.push(childId);
      }
    }
    const children = this.#connection.sql<{ id: number; parentId: number }>(
      `SELECT d.child_id AS id, wanted.value AS parentId FROM json_each(?) wanted
       CROSS JOIN derivation d ON d.parent_id = wanted.value CROSS JOIN leg l ON l.id = d.leg_id
       WHERE l.ended_seq IS NULL`,
    );
    while (ring.length > 0) {
      const next: number[] = [];
      for (const batch of batchesOf(ring, BATCH)) {
        for (const { id, parentId } of children.all(JSON.stringify(batch))) {
          if (!leaving.has(id)) continue;
          let isNews = false;
          for (const seq of reasons.get(parentId) ?? []) isNews = keep(id, seq) || isNews;
          if (isNews) next.push(id);
        }
      }
      ring = next;
    }
    return kept;
  }

  /** Readable thoughts that each node replaced or is disputed with, itself or what stands behind it; at most `limit` each. */
  relations(nodeIds: readonly number[], limit: number): Map<number, Relations> {
    const found = new Map<number, { replaces: number[]; disputedWith: number[] }>();
    const rows = this.#connection
      .tuples<[nodeId: number, type: number, otherId: number]>(
        `SELECT DISTINCT wanted.value, ${SUPERSEDES}, o.id FROM json_each(@ids) wanted
         CROSS JOIN node m ON m.id = wanted.value OR m.merged_into = wanted.value
         CROSS JOIN main.link l ON l.id IN (
           SELECT id FROM link WHERE from_id = m.id AND type = ${SUPERSEDES} AND ended_seq IS NULL)
         CROSS JOIN node o ON o.id = l.to_id
         WHERE ${readable("o")} AND ${unrecalled("o")} AND o.erased_by IS NULL AND o.belief = ${SUPERSEDED}
         UNION ALL
         SELECT DISTINCT wanted.value, ${CONTRADICTS}, o.id FROM json_each(@ids) wanted
         CROSS JOIN main.link l ON l.id IN (
           SELECT id FROM link WHERE from_id = wanted.value AND type = ${CONTRADICTS} AND ended_seq IS NULL
           UNION ALL
           SELECT id FROM link WHERE to_id = wanted.value AND type = ${CONTRADICTS} AND ended_seq IS NULL)
         CROSS JOIN node o ON o.id = CASE WHEN l.from_id = wanted.value THEN l.to_id ELSE l.from_id END
         WHERE ${readable("o")} AND ${unrecalled("o")} AND o.erased_by IS NULL
         ORDER BY 1, 2, 3 DESC`,
      )
      .all({ ids: JSON.stringify(nodeIds) });
    for (const [nodeId, type, otherId] of rows) {
      const entry = found.get(nodeId) ?? { replaces: [], disputedWith: [] };
      const list = type === SUPERSEDES ? entry.replaces : entry.disputedWith;
      if (list.length < limit) list.push(otherId);
      found.set(nodeId, entry);
    }
    return new Map(nodeIds.map((id) => [id, found.get(id) ?? NONE]));
  }

  /** Parents because of which a leg does not stand, at most `limit`. */
  brokenParents(legId: number, limit: number): BrokenParent[] {
    return this.#connection
      .sql<{ id: number; recalledBy: number | null; erasedBy: number | null; belief: number }>(
        `SELECT p.id, ${recalledBy("p")} AS recalledBy, p.erased_by AS erasedBy, p.belief
         FROM derivation d JOIN node p ON p.id = d.parent_id
         WHERE d.leg_id = ? AND (NOT ${unrecalled("p")} OR p.erased_by IS NOT NULL OR p.belief IN (4, 5)) LIMIT ?`,
      )
      .all(legId, limit)
      .map(({ id, recalledBy, erasedBy, belief }) => {
        if (recalledBy !== null) return { id, because: "recalled", eventSeq: recalledBy };
        if (erasedBy !== null) return { id, because: "erased", eventSeq: erasedBy };
        return { id, because: BELIEFS[belief] === "held" ? "held" : "rejected", eventSeq: this.#lastBeliefSeq(id) };
      });
  }

  /** The event that flagged a thought stale, took it in a recall or erased it; null for each that none did. */
  marks(nodeId: number): {
    readonly staleBy: number | null;
    readonly recalledBy: number | null;
    readonly erasedBy: number | null;
  } {
    const row = this.#connection
      .sql<{ staleBy: number | null; recalledBy: number | null; erasedBy: number | null }>(
        `SELECT n.stale_by AS staleBy, n.erased_by AS erasedBy, ${recalledBy("n")} AS recalledBy
         FROM node n WHERE n.id = ?`,
      )
      .get(nodeId);
    return row ?? { staleBy: null, recalledBy: null, erasedBy: null };
  }

  /** Readable nodes that stand behind a survivor, the newest `limit`, and how many there are in all. */
  behind(nodeId: number, limit: number): { readonly ids: readonly number[]; readonly count: number } {
    const condition = `n.merged_into = ? AND ${readable("n")}`;
    return {
      ids: this.#connection
        .values<number>(`SELECT n.id FROM node n WHERE ${condition} ORDER BY n.id DESC LIMIT ?`)
        .all(nodeId, limit),
      count: this.#connection.values<number>(`SELECT count(*) FROM node n WHERE ${condition}`).get(nodeId) ?? 0,
    };
  }

  #links(type: LinkType, ends: readonly ("from_id" | "to_id")[], nodeId: number): LinkRow[] {
    const each = ends.map(
      (end) =>
        `SELECT id, from_id AS fromId, to_id AS toId, weight FROM link
         WHERE ${end} = @nodeId AND type = ${LINK_TYPES.indexOf(type)} AND ended_seq IS NULL`,
    );
    return this.#connection
      .sql<Omit<LinkRow, "type">>(`${each.join(" UNION ALL ")} ORDER BY id`)
      .all({ nodeId })
      .map((row) => ({ ...row, type }));
  }

  /** True when the event superseded this very thought, or put it in the other's place: it cannot make that stale. */
  #isPartyTo(eventSeq: number, nodeId: number): boolean {
    return (
      this.#connection
        .sql(
          `SELECT 1 FROM transition t WHERE t.event_seq = @eventSeq AND t.axis = ${BELIEF_AXIS} AND t.new = ${SUPERSEDED}
             AND (t.node_id = @nodeId OR EXISTS (SELECT 1 FROM link l WHERE l.from_id = @nodeId AND l.to_id = t.node_id
               AND l.type = ${SUPERSEDES} AND l.ended_seq IS NULL)) LIMIT 1`,
        )
        .get({ eventSeq, nodeId }) !== undefined
    );
  }

  #lastFoundGood(nodeId: number): number {
    return (
      this.#connection
        .values<number | null>(
          `SELECT max(event_seq) FROM transition WHERE node_id = ? AND axis = ${STALE_AXIS} AND new IS NULL`,
        )
        .get(nodeId) ?? 0
    );
  }

  #lastBeliefSeq(nodeId: number): number | null {
    return (
      this.#connection
        .values<number | null>(`SELECT max(event_seq) FROM transition WHERE node_id = ? AND axis = ${BELIEF_AXIS}`)
        .get(nodeId) ?? null
    );
  }
}
