/**
 * What happened to one node: its events, and the rows that each of them brought, changed or ended. Reads only. A value
 * met in very many places costs one pass over its own rows, never over the ledger.
 */
import { ACTORS, type Actor, LINK_TYPES, type LinkType } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { includesId } from "./id-list.ts";
import { AXES, type Axis } from "./ledger.ts";
import { readable } from "./visibility.ts";

const CONTRADICTS = LINK_TYPES.indexOf("contradicts");
const SUPERSEDES = LINK_TYPES.indexOf("supersedes");

/** An event that touched a node. */
export interface TouchingEvent {
  readonly seq: number;
  readonly kind: string;
  readonly actor: Actor;
  readonly at: number;
}

export interface AxisChange {
  readonly seq: number;
  readonly axis: Axis;
  readonly from: number | null;
  readonly to: number | null;
}

/** A row that an event brought, or ended. */
interface Passing {
  readonly seq: number;
  readonly ended: boolean;
}

export interface MeetingRow extends Passing {
  readonly sourceId: number;
}

export interface LegPassing extends Passing {
  readonly legId: number;
  readonly axiom: boolean;
}

export interface LinkPassing extends Passing {
  readonly type: LinkType;
  readonly fromId: number;
  readonly toId: number;
}

/**
 * What a recall did to a node: named it (it may have lain under another already), took it with what it rested on, gave
 * it back, or brought it out from behind a survivor that fell.
 */
export type RecallPart = "recalled" | "taken" | "given back" | "brought out";

export interface NodePast {
  /** The newest first. */
  readonly events: readonly TouchingEvent[];
  readonly changes: readonly AxisChange[];
  readonly meetings: readonly MeetingRow[];
  readonly legs: readonly LegPassing[];
  /** Supersessions and contradictions with readable thoughts. */
  readonly links: readonly LinkPassing[];
}

/** What the recalls and their undoing did to a node, by event. */
export function readRecalls(connection: Connection, nodeId: number, publicId: string): Map<number, RecallPart> {
  const parts = new Map<number, RecallPart>();
  const payloadOf = connection.values<Buffer>(
    "SELECT e.payload FROM ledger own CROSS JOIN event e ON e.ledger_id = own.id AND e.seq = ? WHERE own.own = 1",
  );
  const isRoot = (seq: number): boolean => {
    const { roots }: { roots?: unknown } = JSON.parse(payloadOf.get(seq)?.toString("utf8") ?? "{}");
    return Array.isArray(roots) && roots.includes(publicId);
  };
  const effects = connection
    .sql<{ seq: number; removed: Buffer; restored: Buffer; released: Buffer; pinned: Buffer }>(
      "SELECT event_seq AS seq, removed, restored, released, pinned FROM recall_effect ORDER BY event_seq",
    )
    .iterate();
  for (const { seq, removed, restored, released, pinned } of effects) {
    if (includesId(pinned, nodeId) && isRoot(seq)) parts.set(seq, "recalled");
    else if (includesId(removed, nodeId)) parts.set(seq, "taken");
    else if (includesId(restored, nodeId)) parts.set(seq, "given back");
    else if (includesId(released, nodeId)) parts.set(seq, "brought out");
  }
  return parts;
}

/**
 * The newest events of a node, at most `limit`, with everything of the node that they touched.
 * @param besides events that touched it although no row of its own says so
 */
export function readPast(connection: Connection, nodeId: number, limit: number, besides: readonly number[]): NodePast {
  const events = connection
    .sql<{ seq: number; kind: string; actor: number; at: number }>(
      `WITH touching (seq) AS (
         SELECT added_seq FROM node WHERE id = @nodeId
         UNION SELECT value FROM json_each(@besides)
         UNION SELECT event_seq FROM transition WHERE node_id = @nodeId
         UNION SELECT * FROM (SELECT event_seq FROM occurrence WHERE node_id = @nodeId ORDER BY id DESC LIMIT @limit)
         UNION SELECT ended_seq FROM occurrence WHERE node_id = @nodeId AND ended_seq IS NOT NULL
         UNION SELECT * FROM (SELECT DISTINCT added_seq FROM leg WHERE node_id = @nodeId ORDER BY 1 DESC LIMIT @limit)
         UNION SELECT ended_seq FROM leg WHERE node_id = @nodeId AND ended_seq IS NOT NULL
         UNION SELECT seq FROM (${linkPassings()}))
       SELECT e.seq, e.kind, e.actor, e.at FROM (SELECT seq FROM touching ORDER BY seq DESC LIMIT @limit) newest
       CROSS JOIN ledger own ON own.own = 1 CROSS JOIN event e ON e.ledger_id = own.id AND e.seq = newest.seq
       ORDER BY e.seq DESC LIMIT @limit`,
    )
    .all({ nodeId, limit, besides: JSON.stringify(besides), since: 0 });
  const since = events.at(-1)?.seq ?? 0;
  const range = { nodeId, since };
  return {
    events: events.map((event) => ({ ...event, actor: ACTORS[event.actor] ?? "person" })),
    changes: connection
      .sql<{ seq: number; axis: number; from: number | null; to: number | null }>(
        `SELECT event_seq AS seq, axis, old AS "from", new AS "to" FROM transition
         WHERE node_id = @nodeId AND event_seq >= @since ORDER BY event_seq, axis`,
      )
      .all(range)
      .flatMap(({ axis, ...change }) => {
        const name = AXES[axis - 1];
        return name === undefined ? [] : [{ ...change, axis: name }];
      }),
    meetings: connection
      .sql<{ seq: number; ended: number; sourceId: number }>(
        `SELECT event_seq AS seq, 0 AS ended, source_id AS sourceId FROM occurrence
           WHERE node_id = @nodeId AND event_seq >= @since
         UNION ALL SELECT ended_seq, 1, source_id FROM occurrence WHERE node_id = @nodeId AND ended_seq >= @since
         ORDER BY 1, 2`,
      )
      .all(range)
      .map((row) => ({ ...row, ended: row.ended === 1 })),
    legs: connection
      .sql<{ seq: number; ended: number; legId: number; axiom: number }>(
        `SELECT added_seq AS seq, 0 AS ended, id AS legId, axiom FROM leg WHERE node_id = @nodeId AND added_seq >= @since
         UNION ALL SELECT ended_seq, 1, id, axiom FROM leg WHERE node_id = @nodeId AND ended_seq >= @since
         ORDER BY 1, 2, 3`,
      )
      .all(range)
      .map((row) => ({ ...row, ended: row.ended === 1, axiom: row.axiom === 1 })),
    links: connection
      .sql<{ seq: number; ended: number; type: number; fromId: number; toId: number }>(
        `SELECT p.* FROM (${linkPassings()}) p
         CROSS JOIN node n ON n.id = CASE WHEN p.fromId = @nodeId THEN p.toId ELSE p.fromId END
         WHERE ${readable("n")} ORDER BY p.seq, p.type, p.fromId, p.toId`,
      )
      .all(range)
      .map((row) => ({ ...row, ended: row.ended === 1, type: LINK_TYPES[row.type] ?? "about" })),
  };
}

/** Supersessions and contradictions of @nodeId that began or ended since @since, through the indexes of links. */
function linkPassings(): string {
  const columns = (seq: "added_seq" | "ended_seq") =>
    `SELECT ${seq} AS seq, ${seq === "ended_seq" ? 1 : 0} AS ended, type, from_id AS fromId, to_id AS toId FROM link`;
  const over = (end: "from_id" | "to_id") => {
    const own = `WHERE ${end} = @nodeId AND type IN (${CONTRADICTS}, ${SUPERSEDES})`;
    return [
      `${columns("added_seq")} ${own} AND ended_seq IS NULL AND added_seq >= @since`,
      `${columns("added_seq")} ${own} AND ended_seq IS NOT NULL AND added_seq >= @since`,
      `${columns("ended_seq")} ${own} AND ended_seq IS NOT NULL AND ended_seq >= @since`,
    ];
  };
  return [...over("from_id"), ...over("to_id")].join(" UNION ALL ");
}
