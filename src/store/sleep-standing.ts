/**
 * What the promote phase of sleep reads: on how many days thoughts were read, how central they stand in the
 * graph, and what sleep itself made permanent or core before. Aggregates in SQL; writes nothing.
 */
import { ACTORS, LINK_TYPES, PERMANENCES } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { AXES } from "./ledger.ts";
import { isTold } from "./think-material.ts";
import { visible } from "./visibility.ts";

const EARNED = PERMANENCES.indexOf("earned");
const SIMILAR = LINK_TYPES.indexOf("similar");
const KIND_AXIS = AXES.indexOf("kind_id") + 1;
const SLEEP = ACTORS.indexOf("sleep");

/** Score of one derivation edge, one link of another type than similar, and one similar link. */
const DERIVATION_SCORE = 2;
const LINK_SCORE = 1;
const SIMILAR_SCORE = 0.5;
/** Similar links that count; generic sentences have many. */
const SIMILAR_COUNTED = 6;

/** Distinct days of reading of each visible thought that was read; what stands behind one counts for it. */
const READING_DAYS = `SELECT n.id, n.permanence, count(DISTINCT r.day) AS days FROM (
    SELECT coalesce(m.merged_into, m.id) AS root, a.day FROM access_day a JOIN node m ON m.id = a.node_id
  ) r JOIN node n ON n.id = r.root WHERE n.role = 1 AND ${visible("n")} GROUP BY n.id`;

/** When the brain was made, in milliseconds. */
export function brainCreatedAt(connection: Connection): number {
  return connection.sql<{ at: number }>("SELECT created_at AS at FROM brain WHERE id = 1").get()?.at ?? 0;
}

/** How many visible thoughts were read on how many days, days ascending; those never read are left out. */
export function readingHistogram(connection: Connection): { days: number; thoughts: number }[] {
  return connection
    .sql<{ days: number; thoughts: number }>(
      `SELECT days, count(*) AS thoughts FROM (${READING_DAYS}) GROUP BY days ORDER BY days`,
    )
    .all();
}

export interface ReadThought {
  readonly id: number;
  readonly days: number;
}

/** Visible thoughts without permanence that were read on at least so many days, in id order. */
export function readOften(connection: Connection, minDays: number): ReadThought[] {
  return connection
    .sql<ReadThought>(`SELECT id, days FROM (${READING_DAYS}) WHERE permanence = 0 AND days >= ? ORDER BY id`)
    .all(minDays);
}

/** Visible thoughts with earned permanence that were read on fewer days, in id order. */
export function readSeldom(connection: Connection, minDays: number): ReadThought[] {
  return connection
    .sql<ReadThought>(
      `SELECT n.id, coalesce(d.days, 0) AS days FROM node n LEFT JOIN (${READING_DAYS}) d ON d.id = n.id
       WHERE n.permanence = ${EARNED} AND n.role = 1 AND ${visible("n")} AND coalesce(d.days, 0) < ? ORDER BY n.id`,
    )
    .all(minDays);
}

export interface CentralThought {
  readonly id: number;
  readonly kindId: number;
  /** Doubled, so that it is whole. */
  readonly score: number;
}

/** Sleep itself made the thought. */
const madeBySleep = (alias: string) =>
  `EXISTS (SELECT 1 FROM event e WHERE e.ledger_id IN (SELECT id FROM ledger WHERE own = 1) AND e.seq = ${alias}.added_seq
     AND e.actor = ${SLEEP})`;

/**
 * Visible told thoughts with at least this structural score (doubled), best first, ties by id. Only edges between
 * visible thoughts count, and a thought without any derivation, mention or other typed link has no score. What a
 * thought that sleep made rests on counts for neither of the two: sleep would choose what it dreams of by its dreams.
 */
export function centralThoughts(connection: Connection, minScore: number, limit: number): CentralThought[] {
  const visibleEnds = (a: string, b: string) => `${a}.role = 1 AND ${b}.role = 1 AND ${visible(a)} AND ${visible(b)}`;
  return connection
    .sql<CentralThought>(
      `WITH edge AS (
         SELECT DISTINCT d.parent_id AS a, d.child_id AS b, ${2 * DERIVATION_SCORE} AS score
           FROM derivation d JOIN node p ON p.id = d.parent_id AND p.role = 1 JOIN node c ON c.id = d.child_id
           JOIN leg l ON l.id = d.leg_id
           WHERE l.ended_seq IS NULL AND ${visibleEnds("p", "c")} AND NOT ${madeBySleep("c")}
         UNION ALL
         SELECT l.from_id, l.to_id, ${2 * LINK_SCORE}
           FROM link l JOIN node p ON p.id = l.from_id JOIN node c ON c.id = l.to_id
           WHERE l.type <> ${SIMILAR} AND l.ended_seq IS NULL AND ${visibleEnds("p", "c")}
       ), structural AS (
         SELECT id, sum(score) AS score FROM (SELECT a AS id, score FROM edge UNION ALL SELECT b, score FROM edge)
         GROUP BY id
       )
       SELECT id, kindId, score FROM (
         SELECT s.id, n.kind_id AS kindId, s.score + ${2 * SIMILAR_SCORE} * min(${SIMILAR_COUNTED},
           (SELECT count(*) FROM link l JOIN node o ON o.id = l.to_id
             WHERE l.from_id = s.id AND l.type = ${SIMILAR} AND l.ended_seq IS NULL AND ${visible("o")}) +
           (SELECT count(*) FROM link l JOIN node o ON o.id = l.from_id
             WHERE l.to_id = s.id AND l.type = ${SIMILAR} AND l.ended_seq IS NULL AND ${visible("o")})) AS score
         FROM structural s JOIN node n ON n.id = s.id WHERE s.score + ${2 * SIMILAR_SCORE * SIMILAR_COUNTED} >= @minScore
           AND ${isTold("n")}
       ) WHERE score >= @minScore ORDER BY score DESC, id LIMIT @limit`,
    )
    .all({ minScore, limit });
}

export interface CoreMemory {
  readonly id: number;
  /** The kind it had before. */
  readonly formerKindId: number;
}

/** Visible thoughts whose kind sleep changed to this one, in id order; those a person made are left out. */
export function coreMemories(connection: Connection, coreKindId: number): CoreMemory[] {
  return connection
    .sql<CoreMemory>(
      `SELECT n.id, t.old AS formerKindId FROM node n JOIN transition t ON t.node_id = n.id AND t.axis = ${KIND_AXIS}
         AND t.event_seq = (SELECT max(event_seq) FROM transition WHERE node_id = n.id AND axis = ${KIND_AXIS})
       JOIN event e ON e.ledger_id IN (SELECT id FROM ledger WHERE own = 1) AND e.seq = t.event_seq
       WHERE n.kind_id = ? AND n.role = 1 AND t.new = n.kind_id AND t.old IS NOT NULL AND e.actor = ${SLEEP}
         AND ${visible("n")} ORDER BY n.id`,
    )
    .all(coreKindId);
}

/** True when the thought is visible and has this kind and permanence still. */
export function stillIs(
  connection: Connection,
  nodeId: number,
  state: { kindId?: number; permanence?: number },
): boolean {
  const row = connection
    .sql<{ kindId: number; permanence: number }>(
      `SELECT n.kind_id AS kindId, n.permanence FROM node n WHERE n.id = ? AND n.role = 1 AND ${visible("n")}`,
    )
    .get(nodeId);
  return (
    row !== undefined &&
    (state.kindId === undefined || row.kindId === state.kindId) &&
    (state.permanence === undefined || row.permanence === state.permanence)
  );
}
