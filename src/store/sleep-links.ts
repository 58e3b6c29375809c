/**
 * What the link and calibrate phases of sleep read: visible thoughts in id order, how many links a node has,
 * and all visible vectors at once. Reads only; links are written through `Links`.
 */
import { LINK_TYPES } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { visible } from "./visibility.ts";

const SIMILAR = LINK_TYPES.indexOf("similar");

export interface ScopedNode {
  readonly id: number;
  readonly scopeId: number;
}

/** Visible thoughts with `after` < id ≤ `upTo`, in id order. */
export function thoughtsInOrder(connection: Connection, after: number, upTo: number, limit: number): ScopedNode[] {
  return connection
    .sql<ScopedNode>(
      `SELECT n.id, n.scope_id AS scopeId FROM node n
       WHERE n.id > ? AND n.id <= ? AND n.role = 1 AND ${visible("n")} ORDER BY n.id LIMIT ?`,
    )
    .all(after, upTo, limit);
}

/** Number of visible thoughts with `after` < id ≤ `upTo`. */
export function countThoughts(connection: Connection, after: number, upTo: number): number {
  return (
    connection
      .sql<{ n: number }>(
        `SELECT count(*) AS n FROM node n WHERE n.id > ? AND n.id <= ? AND n.role = 1 AND ${visible("n")}`,
      )
      .get(after, upTo)?.n ?? 0
  );
}

/** Highest id of any thought, 0 without one. */
export function highestThought(connection: Connection): number {
  return connection.sql<{ id: number }>("SELECT id FROM node WHERE role = 1 ORDER BY id DESC LIMIT 1").get()?.id ?? 0;
}

/** Every n-th visible thought in id order, so that at most `limit` come back. */
export function sampleThoughts(connection: Connection, limit: number): ScopedNode[] {
  const total = countThoughts(connection, 0, Number.MAX_SAFE_INTEGER);
  const step = Math.max(1, Math.ceil(total / limit));
  return connection
    .sql<ScopedNode>(
      `SELECT id, scopeId FROM (
         SELECT n.id, n.scope_id AS scopeId, row_number() OVER (ORDER BY n.id) - 1 AS place
         FROM node n WHERE n.role = 1 AND ${visible("n")}
       ) WHERE place % ? = 0 ORDER BY id LIMIT ?`,
    )
    .all(step, limit);
}

/** Number of a node's standing similar links to visible thoughts, counted up to `limit`. */
export function countSimilar(connection: Connection, nodeId: number, limit: number): number {
  return (
    connection
      .sql<{ n: number }>(
        `SELECT count(*) AS n FROM (
           SELECT 1 FROM link l JOIN node n ON n.id = l.to_id
             WHERE l.from_id = @nodeId AND l.type = ${SIMILAR} AND l.ended_seq IS NULL AND ${visible("n")}
           UNION ALL
           SELECT 1 FROM link l JOIN node n ON n.id = l.from_id
             WHERE l.to_id = @nodeId AND l.type = ${SIMILAR} AND l.ended_seq IS NULL AND ${visible("n")}
           LIMIT @limit)`,
      )
      .get({ nodeId, limit })?.n ?? 0
  );
}

/** Calls `take` for every visible thought that has a vector, in id order. The bytes are valid during the call only. */
export function eachVector(
  connection: Connection,
  vectorTable: string,
  take: (nodeId: number, scopeId: number, vector: Int8Array) => void,
): void {
  const rows = connection
    .sql<{ id: number; scopeId: number; embedding: Buffer }>(
      `SELECT n.id, n.scope_id AS scopeId, v.embedding FROM node n CROSS JOIN ${vectorTable} v ON v.node_id = n.id
       WHERE n.role = 1 AND ${visible("n")} ORDER BY n.id`,
    )
    .iterate();
  for (const { id, scopeId, embedding } of rows) {
    take(id, scopeId, new Int8Array(embedding.buffer, embedding.byteOffset, embedding.byteLength));
  }
}
