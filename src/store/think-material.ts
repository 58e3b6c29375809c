/**
 * What a language model may be shown: visible thoughts, in order and by neighbourhood, and where they come from.
 * Reads only and decides nothing about words. What nothing but a model's own words holds up is called made here.
 */
import { LINK_TYPES, SOURCE_TYPES } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { unrecalled, visible } from "./visibility.ts";

const MODEL = SOURCE_TYPES.indexOf("model");
const SESSION = SOURCE_TYPES.indexOf("session");
const PERSON = SOURCE_TYPES.indexOf("person");
const SIMILAR = LINK_TYPES.indexOf("similar");
const CONTRADICTS = LINK_TYPES.indexOf("contradicts");
/** Kind of a time whose offset nobody knows. */
const FLOATING = 2;
/** Meetings of one thought that are looked at for where it comes from. */
const PLACES_LOOKED_AT = 64;

/** A visible thought as the choice of material needs to know it. */
export interface MaterialNode {
  readonly id: number;
  readonly scopeId: number;
  readonly trust: number;
  readonly contentId: number;
  /** Nothing holds it up but what a model made. */
  readonly made: boolean;
}

/** A turn of a session, by the place where it was said. */
export interface SessionTurn {
  readonly occurrenceId: number;
  readonly nodeId: number;
  readonly sourceId: number;
  readonly scopeId: number;
  readonly thread: number;
  readonly ordinal: number;
  readonly trust: number;
}

/** Two thoughts of one scope with a standing similar link. */
export interface SimilarPair {
  readonly linkId: number;
  readonly fromId: number;
  readonly toId: number;
}

/** A thought that nobody knows the time of, and the meeting that a time would belong to. */
export interface UndatedThought {
  readonly id: number;
  readonly occurrenceId: number;
  readonly scopeId: number;
  readonly trust: number;
  readonly contentId: number;
  /** When its words were said; null when that is not known either: a text may be older than its remembering. */
  readonly saidAt: number | null;
}

/** SQL condition: somebody other than a model says so, in a source that stands. */
export function isTold(alias: string): string {
  return `(EXISTS (SELECT 1 FROM occurrence told CROSS JOIN source ts ON ts.node_id = told.source_id
      CROSS JOIN node tn ON tn.id = told.source_id
      WHERE told.node_id = ${alias}.id AND ts.type <> ${MODEL} AND ${unrecalled("tn")} AND tn.erased_by IS NULL)
    OR EXISTS (SELECT 1 FROM leg word WHERE word.node_id = ${alias}.id AND word.axiom = 1 AND word.ended_seq IS NULL))`;
}

const NODE_COLUMNS = `n.id, n.scope_id AS scopeId, n.trust, n.content_id AS contentId, NOT ${isTold("n")} AS made`;
/** A thought with words that any reader may see. */
const HAS_WORDS = `n.role = 1 AND n.content_id IS NOT NULL AND ${visible("n")}`;

type NodeRow = Omit<MaterialNode, "made"> & { readonly made: number };

function toNode(row: NodeRow): MaterialNode {
  return { ...row, made: row.made === 1 };
}

/** Null when the thought is not visible, or has no words. */
export function materialNode(connection: Connection, nodeId: number): MaterialNode | null {
  const row = connection.sql<NodeRow>(`SELECT ${NODE_COLUMNS} FROM node n WHERE n.id = ? AND ${HAS_WORDS}`).get(nodeId);
  return row === undefined ? null : toNode(row);
}

/** Visible thoughts that somebody told, the nearest ids above `after`, ascending. */
export function toldAbove(connection: Connection, after: number, limit: number): MaterialNode[] {
  return connection
    .sql<NodeRow>(
      `SELECT ${NODE_COLUMNS} FROM node n WHERE n.id > ? AND ${HAS_WORDS} AND ${isTold("n")} ORDER BY n.id LIMIT ?`,
    )
    .all(after, limit)
    .map(toNode);
}

/** Visible thoughts that somebody told, the nearest ids from `upTo` down, descending. */
export function toldBelow(connection: Connection, upTo: number, limit: number): MaterialNode[] {
  return connection
    .sql<NodeRow>(
      `SELECT ${NODE_COLUMNS} FROM node n WHERE n.id <= ? AND ${HAS_WORDS} AND ${isTold("n")} ORDER BY n.id DESC LIMIT ?`,
    )
    .all(upTo, limit)
    .map(toNode);
}

const TURN_COLUMNS = `o.id AS occurrenceId, o.node_id AS nodeId, o.source_id AS sourceId, n.scope_id AS scopeId,
  o.thread, o.ordinal, n.trust`;
const TURN = `o.ended_seq IS NULL AND n.content_id IS NOT NULL AND ${visible("n")}`;

/** Visible turns of standing sessions met after an occurrence, in the order of their meeting. */
export function turnsMetAfter(connection: Connection, occurrenceId: number, limit: number): SessionTurn[] {
  return connection
    .sql<SessionTurn>(
      `SELECT ${TURN_COLUMNS} FROM occurrence o CROSS JOIN source s ON s.node_id = o.source_id
       CROSS JOIN node sn ON sn.id = o.source_id CROSS JOIN node n ON n.id = o.node_id
       WHERE o.id > ? AND s.type = ${SESSION} AND ${unrecalled("sn")} AND sn.erased_by IS NULL AND ${TURN}
       ORDER BY o.id LIMIT ?`,
    )
    .all(occurrenceId, limit);
}

/** Visible turns of one session met after an occurrence, in the order of their meeting. */
export function turnsOfSession(
  connection: Connection,
  sourceId: number,
  occurrenceId: number,
  limit: number,
): SessionTurn[] {
  return connection
    .sql<SessionTurn>(
      `SELECT ${TURN_COLUMNS} FROM occurrence o CROSS JOIN node n ON n.id = o.node_id
       WHERE o.source_id = ? AND o.id > ? AND ${TURN} ORDER BY o.id LIMIT ?`,
    )
    .all(sourceId, occurrenceId, limit);
}

/** Visible turns just before a place of a session, in their order. */
export function turnsBefore(connection: Connection, turn: SessionTurn, limit: number): SessionTurn[] {
  return connection
    .sql<SessionTurn>(
      `SELECT ${TURN_COLUMNS} FROM occurrence o CROSS JOIN node n ON n.id = o.node_id
       WHERE o.source_id = @sourceId AND o.thread = @thread AND o.ordinal < @ordinal AND ${TURN}
       ORDER BY o.ordinal DESC LIMIT @limit`,
    )
    .all({ sourceId: turn.sourceId, thread: turn.thread, ordinal: turn.ordinal, limit })
    .reverse();
}

/** Highest id of any occurrence, 0 without one. */
export function highestOccurrence(connection: Connection): number {
  return connection.values<number>("SELECT coalesce(max(id), 0) FROM occurrence").get() ?? 0;
}

/** Highest id of any link, 0 without one. */
export function highestLink(connection: Connection): number {
  return connection.values<number>("SELECT coalesce(max(id), 0) FROM link").get() ?? 0;
}

const PAIR = `l.type = ${SIMILAR} AND l.ended_seq IS NULL AND l.weight >= @weight AND a.scope_id = b.scope_id
  AND a.content_id IS NOT NULL AND b.content_id IS NOT NULL AND ${visible("a")} AND ${visible("b")}
  AND (${isTold("a")} OR ${isTold("b")})
  AND NOT EXISTS (SELECT 1 FROM link c WHERE c.type = ${CONTRADICTS}
    AND ((c.from_id = a.id AND c.to_id = b.id) OR (c.from_id = b.id AND c.to_id = a.id)))`;
const PAIRS = `SELECT l.id AS linkId, l.from_id AS fromId, l.to_id AS toId FROM link l
  CROSS JOIN node a ON a.id = l.from_id CROSS JOIN node b ON b.id = l.to_id`;

/**
 * Pairs whose link has at least this weight and an id above `after`, ascending. Not what is or was disputed already: a
 * dispute that somebody settled is not opened again.
 */
export function pairsAbove(connection: Connection, after: number, weight: number, limit: number): SimilarPair[] {
  return connection
    .sql<SimilarPair>(`${PAIRS} WHERE l.id > @after AND ${PAIR} ORDER BY l.id LIMIT @limit`)
    .all({ after, weight, limit });
}

/** The same from `upTo` down, descending. */
export function pairsBelow(connection: Connection, upTo: number, weight: number, limit: number): SimilarPair[] {
  return connection
    .sql<SimilarPair>(`${PAIRS} WHERE l.id <= @upTo AND ${PAIR} ORDER BY l.id DESC LIMIT @limit`)
    .all({ upTo, weight, limit });
}

/** Visible thoughts that are similar to this one by a standing link, the nearest first. */
export function similarNodes(connection: Connection, nodeId: number, limit: number): number[] {
  const side = (own: string, other: string) =>
    `SELECT n.id AS id, l.weight AS weight FROM link l CROSS JOIN node n ON n.id = l.${other}
     WHERE l.${own} = @nodeId AND l.type = ${SIMILAR} AND l.ended_seq IS NULL AND ${HAS_WORDS}`;
  return connection
    .values<number>(
      `SELECT id FROM (${side("from_id", "to_id")} UNION ALL ${side("to_id", "from_id")})
       ORDER BY weight DESC, id LIMIT @limit`,
    )
    .all({ nodeId, limit });
}

/**
 * Where a thought comes from, besides models: ids of standing sources. A person's single statements are each an origin
 * of their own, named by the thought's negative id.
 */
export function originsOf(connection: Connection, nodeId: number): number[] {
  return connection
    .values<number>(
      `SELECT DISTINCT CASE WHEN s.type = ${PERSON} THEN -o.node_id ELSE o.source_id END FROM (
         SELECT node_id, source_id FROM occurrence WHERE node_id = ? AND ended_seq IS NULL
         ORDER BY id DESC LIMIT ${PLACES_LOOKED_AT}) o
       CROSS JOIN source s ON s.node_id = o.source_id CROSS JOIN node n ON n.id = o.source_id
       WHERE s.type <> ${MODEL} AND ${unrecalled("n")} AND n.erased_by IS NULL ORDER BY 1`,
    )
    .all(nodeId);
}

const UNDATED_COLUMNS = `n.id, n.scope_id AS scopeId, n.trust, n.content_id AS contentId, o.id AS occurrenceId,
  CASE WHEN s.type = ${PERSON} THEN n.recorded_at END AS saidAt`;
const UNDATED_FROM = `FROM node n CROSS JOIN occurrence o ON o.id = (
    SELECT max(id) FROM occurrence WHERE node_id = n.id AND ended_seq IS NULL)
  CROSS JOIN source s ON s.node_id = o.source_id`;
const UNDATED = `n.referent_kind = 0 AND ${HAS_WORDS} AND s.type <> ${MODEL}`;

/** Told thoughts of unknown time, the nearest ids above `after`, ascending. */
export function undatedAbove(connection: Connection, after: number, limit: number): UndatedThought[] {
  return connection
    .sql<UndatedThought>(
      `SELECT ${UNDATED_COLUMNS} ${UNDATED_FROM} WHERE n.id > ? AND ${UNDATED} ORDER BY n.id LIMIT ?`,
    )
    .all(after, limit);
}

/** The same from `upTo` down, descending. */
export function undatedBelow(connection: Connection, upTo: number, limit: number): UndatedThought[] {
  return connection
    .sql<UndatedThought>(
      `SELECT ${UNDATED_COLUMNS} ${UNDATED_FROM} WHERE n.id <= ? AND ${UNDATED} ORDER BY n.id DESC LIMIT ?`,
    )
    .all(upTo, limit);
}

/** One of them by its id; null when it is not visible or has a time by now. */
export function undatedThought(connection: Connection, nodeId: number): UndatedThought | null {
  return (
    connection
      .sql<UndatedThought>(`SELECT ${UNDATED_COLUMNS} ${UNDATED_FROM} WHERE n.id = ? AND ${UNDATED}`)
      .get(nodeId) ?? null
  );
}

/** Whole span in which thoughts were said or happened; null when one of them has no time. */
export function spanOf(
  connection: Connection,
  nodeIds: readonly number[],
): { readonly from: number; readonly to: number; readonly floating: boolean } | null {
  const row = connection
    .sql<{ from: number | null; to: number | null; least: number; most: number }>(
      `SELECT min(n.referent_from) AS "from", max(n.referent_to) AS "to", max(n.referent_kind) AS most,
         min(iif(n.referent_from IS NULL OR n.referent_to IS NULL, 0, n.referent_kind)) AS least
       FROM json_each(?) wanted CROSS JOIN node n ON n.id = wanted.value`,
    )
    .get(JSON.stringify(nodeIds));
  if (row === undefined || row.least === 0 || row.from === null || row.to === null) return null;
  return { from: row.from, to: row.to, floating: row.most === FLOATING };
}
