/**
 * Legs: the independent justifications of a thought, and the derivation edges that belong to them.
 * A leg stands while all its parents do; equal sets of parents are one leg.
 */
import { formatId } from "../core/ids.ts";
import type { Actor } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { type CanonicalValue, sha256 } from "./digest.ts";
import type { Ledger } from "./ledger.ts";
import { unrecalled } from "./visibility.ts";

/** Derivation edges of one node that a neighbourhood read looks at each way. */
const EDGES_LOOKED_AT = 64;

export interface NewLeg {
  /** Rests on nothing but a person's word; then `parentIds` is empty. */
  readonly axiom: boolean;
  readonly parentIds: readonly number[];
}

export interface LegRow {
  readonly id: number;
  readonly axiom: boolean;
  readonly parentIds: readonly number[];
  readonly addedSeq: number;
  readonly endedSeq: number | null;
}

/** A leg with only so many of its parents. */
export interface LegSample extends LegRow {
  /** Parents it has in all. */
  readonly parentCount: number;
}

/** A parent as the write path needs to know it. */
export interface ParentState {
  readonly id: number;
  readonly publicId: string;
  readonly role: number;
  readonly scopeId: number;
  readonly trust: number;
  /** Out of the graph for justification: recalled, erased or rejected. Decay and merging do not break a leg. */
  readonly dead: boolean;
}

/**
 * SQL condition: the thought stands on the leg. That is one that has not ended, or, once all have, any of them: a text
 * that left its file is not unsaid by it.
 */
export function isLegInUse(alias: string): string {
  return `(${alias}.ended_seq IS NULL OR NOT EXISTS (
    SELECT 1 FROM leg standing WHERE standing.node_id = ${alias}.node_id AND standing.ended_seq IS NULL))`;
}

export class Legs {
  readonly #connection: Connection;
  readonly #ledger: Ledger;

  constructor(connection: Connection, ledger: Ledger) {
    this.#connection = connection;
    this.#ledger = ledger;
  }

  parent(nodeId: number): ParentState | null {
    const row = this.#connection
      .sql<{ publicId: Buffer; role: number; scopeId: number; trust: number; dead: number }>(
        `SELECT public_id AS publicId, role, scope_id AS scopeId, trust,
           (NOT ${unrecalled("n")} OR erased_by IS NOT NULL OR belief IN (4, 5)) AS dead FROM node n WHERE id = ?`,
      )
      .get(nodeId);
    if (row === undefined) return null;
    return {
      id: nodeId,
      publicId: formatId(row.role === 0 ? "source" : "thought", row.publicId),
      role: row.role,
      scopeId: row.scopeId,
      trust: row.trust,
      dead: row.dead === 1,
    };
  }

  /** The standing leg of the node with exactly these parents, or null. */
  find(nodeId: number, leg: NewLeg): number | null {
    return (
      this.#connection
        .sql<{ id: number }>("SELECT id FROM leg WHERE node_id = ? AND parents_digest = ? AND ended_seq IS NULL")
        .get(nodeId, this.#parentsDigest(leg))?.id ?? null
    );
  }

  /** Writes the rows of a leg under an event that already names it (see `describe`). */
  insert(nodeId: number, leg: NewLeg, seq: number): number {
    const { lastInsertRowid } = this.#connection
      .sql("INSERT INTO leg (node_id, axiom, parents_digest, added_seq) VALUES (?, ?, ?, ?)")
      .run(nodeId, leg.axiom ? 1 : 0, this.#parentsDigest(leg), seq);
    const legId = Number(lastInsertRowid);
    const edge = this.#connection.sql(
      `INSERT INTO derivation (leg_id, parent_id, child_id, parent_role)
       SELECT @legId, id, @nodeId, role FROM node WHERE id = @parentId`,
    );
    for (const parentId of leg.parentIds) edge.run({ legId, parentId, nodeId });
    return legId;
  }

  /** A leg as an event names it. */
  describe(leg: NewLeg): CanonicalValue {
    return leg.axiom ? "axiom" : this.#publicIds(leg.parentIds);
  }

  /** Ends legs of one node under one event, for instance when the paragraph they stood in is gone. */
  end(nodeId: number, legIds: readonly number[], actor: Actor, reason: string): number {
    const seq = this.#ledger.record({
      kind: "leg.ended",
      actor,
      payload: {
        node: this.#publicIds([nodeId])[0],
        legs: legIds.map((id) => this.describe(this.#row(id))),
        reason,
      },
    });
    for (const id of legIds) {
      this.#connection.sql("UPDATE leg SET ended_seq = ? WHERE id = ? AND ended_seq IS NULL").run(seq, id);
      this.#connection
        .sql("UPDATE occurrence SET ended_seq = ?, record_digest = NULL WHERE leg_id = ? AND ended_seq IS NULL")
        .run(seq, id);
    }
    return seq;
  }

  /**
   * At most `limit` legs of a node with at most `parentLimit` parents each: standing ones before ended ones,
   * newer before older; of those, the oldest first.
   */
  sample(nodeId: number, limit: number, parentLimit: number): LegSample[] {
    return this.#connection
      .sql<{ id: number; axiom: number; addedSeq: number; endedSeq: number | null; parentCount: number }>(
        `SELECT id, axiom, added_seq AS addedSeq, ended_seq AS endedSeq,
           (SELECT count(*) FROM derivation WHERE leg_id = chosen.id) AS parentCount
         FROM (SELECT * FROM leg WHERE node_id = ? ORDER BY ended_seq IS NOT NULL, id DESC LIMIT ?) chosen ORDER BY id`,
      )
      .all(nodeId, limit)
      .map((row) => ({
        ...row,
        axiom: row.axiom === 1,
        parentIds: this.#connection
          .values<number>("SELECT parent_id FROM derivation WHERE leg_id = ? ORDER BY parent_id LIMIT ?")
          .all(row.id, parentLimit),
      }));
  }

  /** Parents of a leg, at most `limit`, and how many it has. */
  parentsOf(legId: number, limit: number): { readonly ids: readonly number[]; readonly count: number } {
    return {
      ids: this.#connection
        .values<number>("SELECT parent_id FROM derivation WHERE leg_id = ? ORDER BY parent_id LIMIT ?")
        .all(legId, limit),
      count: this.#connection.values<number>("SELECT count(*) FROM derivation WHERE leg_id = ?").get(legId) ?? 0,
    };
  }

  /** Number of legs of a node, ended ones included, and of the parents in all of them together. */
  count(nodeId: number): { readonly legs: number; readonly parents: number } {
    const row = this.#connection
      .sql<{ legs: number; parents: number }>(
        `SELECT (SELECT count(*) FROM leg WHERE node_id = @nodeId) AS legs,
           (SELECT count(*) FROM derivation WHERE child_id = @nodeId) AS parents`,
      )
      .get({ nodeId });
    return row ?? { legs: 0, parents: 0 };
  }

  /**
   * Pairs of a thought and one next to it over a standing derivation edge, whatever their states, each once: at most
   * `limit` parents and `limit` children of each. Sources are no neighbours. Looks at `EDGES_LOOKED_AT` edges between
   * thoughts each way and no more, ended ones included, so that neither a hub nor a value met in many sources costs
   * more than another.
   */
  neighbors(nodeIds: readonly number[], limit: number): { nodeId: number; neighborId: number }[] {
    const wanted = JSON.stringify(nodeIds);
    const over = (own: "child_id" | "parent_id", other: "child_id" | "parent_id", and: string) =>
      this.#connection
        .tuples<[nodeId: number, neighborId: number]>(
          `SELECT wanted.value, n.id FROM json_each(?) wanted CROSS JOIN node n ON n.id IN (
             SELECT DISTINCT d.${other} FROM (SELECT leg_id, ${other} FROM derivation
               WHERE ${own} = wanted.value ${and} ORDER BY ${other} LIMIT ${EDGES_LOOKED_AT}) d
             CROSS JOIN leg l ON l.id = d.leg_id WHERE l.ended_seq IS NULL LIMIT ?)`,
        )
        .all(wanted, limit)
        .map(([nodeId, neighborId]) => ({ nodeId, neighborId }));
    return [...over("child_id", "parent_id", "AND parent_role = 1"), ...over("parent_id", "child_id", "")];
  }

  hasStanding(nodeId: number): boolean {
    return (
      this.#connection.sql("SELECT 1 FROM leg WHERE node_id = ? AND ended_seq IS NULL LIMIT 1").get(nodeId) !==
      undefined
    );
  }

  /** The node has standing legs, and each names a thought: it may rest on itself. */
  standsOnThoughtsAlone(nodeId: number): boolean {
    return (
      this.hasStanding(nodeId) &&
      this.#connection
        .sql(
          `SELECT 1 FROM leg l WHERE l.node_id = ? AND l.ended_seq IS NULL
             AND NOT EXISTS (SELECT 1 FROM derivation d WHERE d.leg_id = l.id AND d.parent_role = 1) LIMIT 1`,
        )
        .get(nodeId) === undefined
    );
  }

  #row(legId: number): LegRow {
    const row = this.#connection
      .sql<{ id: number; axiom: number; addedSeq: number; endedSeq: number | null }>(
        "SELECT id, axiom, added_seq AS addedSeq, ended_seq AS endedSeq FROM leg WHERE id = ?",
      )
      .get(legId);
    if (row === undefined) throw new RangeError("no such leg");
    const parentIds = this.#connection
      .sql<{ id: number }>("SELECT parent_id AS id FROM derivation WHERE leg_id = ? ORDER BY parent_id")
      .all(legId)
      .map(({ id }) => id);
    return { ...row, axiom: row.axiom === 1, parentIds };
  }

  #publicIds(nodeIds: readonly number[]): string[] {
    return nodeIds.map((id) => this.parent(id)?.publicId ?? "").sort();
  }

  #parentsDigest(leg: NewLeg): Buffer {
    return sha256(leg.axiom ? "axiom" : this.#publicIds(leg.parentIds).join(" ")).subarray(0, 16);
  }
}
