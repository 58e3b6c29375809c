/**
 * What the consolidate phase of sleep reads: texts in order, what decides between thoughts that say the same, who
 * stands behind whom, and survivors that fell. Reads only; merges are written through the ledger.
 */
import { ACTORS, BELIEFS } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { AXES } from "./ledger.ts";
import { unhidden, visible } from "./visibility.ts";

const MERGED_AXIS = AXES.indexOf("merged_into") + 1;
const DECAYED_AXIS = AXES.indexOf("decayed") + 1;
const PERMANENCE_AXIS = AXES.indexOf("permanence") + 1;
const KIND_AXIS = AXES.indexOf("kind_id") + 1;
const SLEEP = ACTORS.indexOf("sleep");
const DISPUTED = BELIEFS.indexOf("disputed");

/** A thought as consolidation weighs it; legs and days are those of the whole group that it stands for. */
export interface MergeNode {
  readonly id: number;
  readonly scopeId: number;
  readonly kindId: number;
  /** The kind before sleep made it a core memory; otherwise `kindId`. */
  readonly plainKindId: number;
  readonly domainId: number | null;
  readonly speakerId: number | null;
  readonly contentId: number | null;
  readonly permanence: number;
  readonly trust: number;
  readonly recordedAt: number;
  readonly dueAt: number | null;
  readonly validFrom: number | null;
  readonly validTo: number | null;
  readonly legs: number;
  readonly accessDays: number;
  /** Ascending. */
  readonly tagIds: readonly number[];
  /** Nodes that stand behind it, ascending. */
  readonly behind: readonly number[];
}

/** A visible thought and where its text lies. */
export interface TextNode {
  readonly id: number;
  readonly contentId: number;
}

/** Visible thoughts with text above `after`, in id order. */
export function textNodes(connection: Connection, after: number, limit: number): TextNode[] {
  return connection
    .sql<TextNode>(
      `SELECT n.id, n.content_id AS contentId FROM node n
       WHERE n.id > ? AND n.role = 1 AND n.content_id IS NOT NULL AND ${visible("n")} ORDER BY n.id LIMIT ?`,
    )
    .all(after, limit);
}

/** True when, since an event, anything may have become visible or taken on other attributes. */
export function hasRegrouped(connection: Connection, eventSeq: number): boolean {
  return (
    connection
      .sql(
        `SELECT 1 FROM transition t WHERE event_seq > ? AND axis <> ${PERMANENCE_AXIS}
           AND NOT (axis = ${DECAYED_AXIS} AND new > 0)
           AND NOT (axis = ${MERGED_AXIS} AND (new IS NOT NULL OR EXISTS (
             SELECT 1 FROM transition d WHERE d.event_seq = t.event_seq AND d.node_id = t.node_id
               AND d.axis = ${DECAYED_AXIS} AND d.new > 0))) LIMIT 1`,
      )
      .get(eventSeq) !== undefined
  );
}

/**
 * What decides about merging a visible thought; null when it is not visible, or disputed: what stands behind another
 * would be out of a dispute that nobody resolved.
 */
export function mergeNode(connection: Connection, nodeId: number): MergeNode | null {
  const row = connection
    .sql<Omit<MergeNode, "legs" | "accessDays" | "tagIds" | "behind" | "plainKindId"> & { plainKindId: number | null }>(
      `SELECT n.id, n.scope_id AS scopeId, n.kind_id AS kindId, n.domain_id AS domainId, n.speaker_id AS speakerId,
         n.content_id AS contentId, n.permanence, n.trust, n.recorded_at AS recordedAt, n.due_at AS dueAt,
         n.valid_from AS validFrom, n.valid_to AS validTo,
         (SELECT t.old FROM transition t
            JOIN event e ON e.ledger_id IN (SELECT id FROM ledger WHERE own = 1) AND e.seq = t.event_seq
          WHERE t.node_id = n.id AND t.axis = ${KIND_AXIS} AND t.new = n.kind_id AND e.actor = ${SLEEP}
          ORDER BY t.event_seq DESC LIMIT 1) AS plainKindId
       FROM node n WHERE n.id = ? AND n.role = 1 AND n.belief <> ${DISPUTED} AND ${visible("n")}`,
    )
    .get(nodeId);
  if (row === undefined) return null;
  const behind = nodesBehind(connection, nodeId);
  const group = JSON.stringify([nodeId, ...behind]);
  const count = (sql: string) => connection.sql<{ n: number }>(sql).get(group)?.n ?? 0;
  return {
    ...row,
    plainKindId: row.plainKindId ?? row.kindId,
    behind,
    legs: count(
      `SELECT count(*) AS n FROM json_each(?) g CROSS JOIN leg l ON l.node_id = g.value WHERE l.ended_seq IS NULL`,
    ),
    accessDays: count(
      `SELECT count(DISTINCT a.day) AS n FROM json_each(?) g CROSS JOIN access_day a ON a.node_id = g.value`,
    ),
    tagIds: connection
      .sql<{ id: number }>(
        "SELECT label_id AS id FROM node_tag WHERE node_id = ? AND ended_seq IS NULL ORDER BY label_id",
      )
      .all(nodeId)
      .map(({ id }) => id),
  };
}

/** Content row of a thought, whatever its state. */
export function contentOf(connection: Connection, nodeId: number): number | null {
  return (
    connection.sql<{ contentId: number | null }>("SELECT content_id AS contentId FROM node WHERE id = ?").get(nodeId)
      ?.contentId ?? null
  );
}

/** Nodes that stand behind this one, ascending. */
export function nodesBehind(connection: Connection, nodeId: number): number[] {
  return connection
    .sql<{ id: number }>("SELECT id FROM node WHERE merged_into = ? ORDER BY id")
    .all(nodeId)
    .map(({ id }) => id);
}

/**
 * True when somebody took one of the two out from behind the other; sleep does not overrule that. A copy that came out
 * because its survivor was recalled was parted by nobody.
 */
export function wereParted(connection: Connection, a: number, b: number): boolean {
  return (
    connection
      .sql(
        `SELECT 1 FROM transition t JOIN event e ON e.ledger_id IN (SELECT id FROM ledger WHERE own = 1) AND e.seq = t.event_seq
         WHERE t.node_id IN (@a, @b) AND t.axis = ${MERGED_AXIS} AND t.new IS NULL AND t.old IN (@a, @b)
           AND e.actor <> ${SLEEP} AND e.kind <> 'recall.released' LIMIT 1`,
      )
      .get({ a, b }) !== undefined
  );
}

/** A node behind a fallen survivor that may come out again. */
export interface Release {
  readonly survivorId: number;
  readonly nodeId: number;
}

/**
 * Nodes whose survivor was recalled, erased, decayed or lost with its source, that are unfit for nothing else
 * and have a leg of which every parent stands. Behind what a person forgot, superseded, held back or rejected
 * they stay: they say the same, so the person's judgement covers them.
 */
export function releasableNodes(connection: Connection, limit: number): Release[] {
  return connection
    .sql<Release>(
      `SELECT s.id AS survivorId, n.id AS nodeId FROM node n JOIN node s ON s.id = n.merged_into
       WHERE n.merged_into IS NOT NULL AND NOT ${unhidden("s")} AND s.merged_into IS NULL
         AND (s.recalled_by IS NOT NULL OR s.erased_by IS NOT NULL OR s.decayed IN (1, 2, 4))
         AND s.decayed <> 3 AND s.belief NOT IN (3, 4, 5)
         AND n.decayed = 0 AND n.recalled_by IS NULL AND n.erased_by IS NULL AND n.belief NOT IN (3, 4, 5)
         AND EXISTS (
           SELECT 1 FROM leg l WHERE l.node_id = n.id AND l.ended_seq IS NULL AND NOT EXISTS (
             SELECT 1 FROM derivation d JOIN node p ON p.id = d.parent_id WHERE d.leg_id = l.id
               AND (p.recalled_by IS NOT NULL OR p.erased_by IS NOT NULL OR p.belief IN (4, 5))))
       ORDER BY s.id, n.id LIMIT ?`,
    )
    .all(limit);
}
