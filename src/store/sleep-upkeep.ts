/**
 * What keeps the brain file in order during sleep, and the counts that only sleep's metrics need. Never runs
 * ANALYZE or PRAGMA optimize: both copy indexed keys into statistics that no erasure reaches.
 */
import { DECAY_REASONS, LINK_TYPES } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { visible } from "./visibility.ts";

/**
 * Moves the write-ahead log into the brain file and empties it. Outside a transaction.
 * @returns false when a reader kept the log from being emptied; the next sleep tries again
 */
export function checkpoint(connection: Connection): boolean {
  const [row] = connection.db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
  return row?.busy === 0;
}

/** Begins the metrics that count the thoughts of a kind; the id of the kind's label follows. */
export const KIND_METRIC = "kind.";

/** Counts by name, for the metrics of one cycle. */
export function countForMetrics(connection: Connection): Record<string, number> {
  const one = (sql: string) => connection.sql<{ n: number }>(sql).get()?.n ?? 0;
  const counts: Record<string, number> = {
    "thoughts.orphans": one(
      `SELECT count(*) AS n FROM node n WHERE n.role = 1 AND ${visible("n")}
         AND NOT EXISTS (SELECT 1 FROM link l WHERE l.from_id = n.id AND l.ended_seq IS NULL)
         AND NOT EXISTS (SELECT 1 FROM link l WHERE l.to_id = n.id AND l.ended_seq IS NULL)
         AND NOT EXISTS (SELECT 1 FROM derivation d JOIN node p ON p.id = d.parent_id WHERE d.child_id = n.id AND p.role = 1)
         AND NOT EXISTS (SELECT 1 FROM derivation d WHERE d.parent_id = n.id)`,
    ),
  };
  for (const [index, reason] of DECAY_REASONS.entries()) {
    if (index > 0)
      counts[`decayed.${reason}`] = one(`SELECT count(*) AS n FROM node WHERE decayed = ${index} AND role = 1`);
  }
  for (const [index, type] of LINK_TYPES.entries()) {
    counts[`links.${type}`] = one(`SELECT count(*) AS n FROM link WHERE type = ${index} AND ended_seq IS NULL`);
  }
  for (const { id, n } of connection
    .sql<{ id: number; n: number }>(
      `SELECT n.kind_id AS id, count(*) AS n FROM node n WHERE n.role = 1 AND ${visible("n")} GROUP BY n.kind_id`,
    )
    .all()) {
    counts[`${KIND_METRIC}${id}`] = n;
  }
  return counts;
}
