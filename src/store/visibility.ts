/**
 * The two definitions every read stands on. `readable`: inside the session's scopes. `visible`: readable
 * and not decayed, merged away, recalled, erased, superseded, held or rejected. Written nowhere else.
 */

/** SQL condition on a node alias. The session's scopes are a temporary table of the connection. */
export function readable(alias: string): string {
  return `${alias}.scope_id IN (SELECT id FROM temp.session_scope)`;
}

/**
 * SQL condition: nothing that it rests on was pulled back. What the newest recalls took and the column does not say
 * yet stands in a temporary table of the connection (recall-effects.ts keeps it).
 */
export function unrecalled(alias: string): string {
  return `(${alias}.recalled_by IS NULL AND ${alias}.id NOT IN (SELECT node_id FROM temp.pending_recall))`;
}

/** SQL value: the event that pulled the node back, also one that the column does not say yet; NULL for none. */
export function recalledBy(alias: string): string {
  return `coalesce(${alias}.recalled_by, (SELECT event_seq FROM temp.pending_recall WHERE node_id = ${alias}.id))`;
}

/** SQL condition: in no hidden state, whoever reads. */
export function unhidden(alias: string): string {
  return (
    `(${alias}.decayed = 0 AND ${alias}.merged_into IS NULL AND ${unrecalled(alias)}` +
    ` AND ${alias}.erased_by IS NULL AND ${alias}.belief NOT IN (3, 4, 5))`
  );
}

/** SQL condition: what ranks, counts and feeds sleep. */
export function visible(alias: string): string {
  return `(${unhidden(alias)} AND ${readable(alias)})`;
}
