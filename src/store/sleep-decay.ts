/**
 * What the decay phase of sleep asks: which thoughts nothing holds. Works on the recorded clock only. A set of
 * thoughts about to decay is kept in a temporary table of the connection, so that a plan counts them as gone
 * without writing anything into the brain.
 */
import { BELIEFS, DECAY_REASONS } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { AXES } from "./ledger.ts";
import { unhidden, visible } from "./visibility.ts";

const ASSERTED = BELIEFS.indexOf("asserted");
const FORGOTTEN = DECAY_REASONS.indexOf("forgotten");
const DECAYED_AXIS = AXES.indexOf("decayed") + 1;
const MERGED_AXIS = AXES.indexOf("merged_into") + 1;

/** What the gates compare with. */
export interface DecayGates {
  /** Recorded, met, revived or come out later than this: too young. */
  readonly cutoff: number;
  readonly now: number;
  /** Kind of core memories, 0 when the brain has none. */
  readonly coreKindId: number;
  /** Thoughts above this id were not looked at for links yet. */
  readonly linkedUpTo: number;
}

export interface DueThought {
  readonly id: number;
  readonly recordedAt: number;
}

/** Visible, and not in the set that is about to go. */
const stands = (alias: string) =>
  `(${alias}.role = 1 AND ${unhidden(alias)} AND ${alias}.id NOT IN (SELECT id FROM temp.going))`;

/** The thought that a node stands for: itself, or its survivor. */
const standIn = (id: string, alias: string) =>
  `JOIN node ${alias}_ ON ${alias}_.id = ${id}
   JOIN node ${alias} ON ${alias}.id = coalesce(${alias}_.merged_into, ${alias}_.id)`;

/** Old, read by nobody, not awaited and not permanent: on `node m`, the thought or one behind it. */
const UNREAD = `m.permanence = 0 AND m.recorded_at <= @cutoff AND (m.due_at IS NULL OR m.due_at <= @now)
  AND NOT EXISTS (SELECT 1 FROM access_day a WHERE a.node_id = m.id)`;

/** Neither met again, nor revived, nor come out from behind a survivor since the cutoff: each makes it young anew. */
const UNRENEWED = `NOT EXISTS (SELECT 1 FROM occurrence o JOIN event e
    ON e.ledger_id IN (SELECT id FROM ledger WHERE own = 1) AND e.seq = o.event_seq WHERE o.node_id = m.id AND e.at > @cutoff)
  AND NOT EXISTS (SELECT 1 FROM transition t JOIN event e
    ON e.ledger_id IN (SELECT id FROM ledger WHERE own = 1) AND e.seq = t.event_seq
    WHERE t.node_id = m.id AND t.axis IN (${DECAYED_AXIS}, ${MERGED_AXIS}) AND t.new IS NOT t.old
      AND coalesce(t.new, 0) = 0 AND e.at > @cutoff)`;

/** A standing thought other than `n` itself, over derivation or a link of `m`. */
const SUPPORTED = `EXISTS (SELECT 1 FROM derivation d JOIN leg l ON l.id = d.leg_id ${standIn("d.parent_id", "x")}
    WHERE d.child_id = m.id AND l.ended_seq IS NULL AND x.id <> n.id AND ${stands("x")})
  OR EXISTS (SELECT 1 FROM derivation d JOIN leg l ON l.id = d.leg_id ${standIn("d.child_id", "x")}
    WHERE d.parent_id = m.id AND l.ended_seq IS NULL AND x.id <> n.id AND ${stands("x")})
  OR EXISTS (SELECT 1 FROM link k ${standIn("k.to_id", "x")}
    WHERE k.from_id = m.id AND k.ended_seq IS NULL AND x.id <> n.id AND ${stands("x")})
  OR EXISTS (SELECT 1 FROM link k ${standIn("k.from_id", "x")}
    WHERE k.to_id = m.id AND k.ended_seq IS NULL AND x.id <> n.id AND ${stands("x")})`;

/** A standing parent thought of `m`, and one that decayed or is about to; what a person forgot pulls nothing down. */
const PARENT = (condition: string) =>
  `EXISTS (SELECT 1 FROM derivation d JOIN leg l ON l.id = d.leg_id ${standIn("d.parent_id", "x")}
    WHERE d.child_id = m.id AND l.ended_seq IS NULL AND x.role = 1 AND x.id <> n.id AND ${condition})`;
const DECAYED_PARENT = PARENT(`((x.decayed > 0 AND x.decayed <> ${FORGOTTEN}) OR x.id IN (SELECT id FROM temp.going))`);

/** A visible thought that may decay at all, on `node n`. */
const OPEN = `n.role = 1 AND ${visible("n")} AND n.id NOT IN (SELECT id FROM temp.going)
  AND n.permanence = 0 AND n.kind_id <> @coreKindId AND n.belief = ${ASSERTED} AND n.id <= @linkedUpTo`;

/** The condition for `n` and for everything behind it. */
const forGroup = (condition: (alias: string) => string) =>
  `${condition("n")} AND NOT EXISTS (SELECT 1 FROM node m WHERE m.merged_into = n.id AND NOT (${condition("m")}))`;
const on = (sql: string) => (alias: string) => (alias === "m" ? sql : sql.replaceAll(/\bm\./g, `${alias}.`));

const UNSUPPORTED = forGroup(on(`NOT (${SUPPORTED})`));
const ORPHANED = `${on(DECAYED_PARENT)("n")} AND ${forGroup(on(`NOT ${PARENT(stands("x"))}`))}`;
const DISUSE = `${OPEN} AND ${forGroup(on(UNREAD))} AND ${UNSUPPORTED} AND ${forGroup(on(UNRENEWED))}`;
const CASCADE = `${OPEN} AND ${forGroup(on(UNREAD))} AND ${ORPHANED} AND ${forGroup(on(UNRENEWED))}`;

/** Forgets the set that is about to go. */
export function clearGoing(connection: Connection): void {
  connection.db.exec("CREATE TEMP TABLE IF NOT EXISTS going (id INTEGER PRIMARY KEY); DELETE FROM temp.going;");
}

/** Counts these, and what stands behind them, as gone from now on. */
export function markGoing(connection: Connection, nodeIds: readonly number[]): void {
  connection
    .sql(
      `INSERT OR IGNORE INTO temp.going (id) SELECT w.value FROM json_each(@nodeIds) w
       UNION SELECT m.id FROM json_each(@nodeIds) w CROSS JOIN node m ON m.merged_into = w.value`,
    )
    .run({ nodeIds: JSON.stringify(nodeIds) });
}

/** Thoughts that disuse takes: old, unread, and joined to no standing thought. In id order. */
export function disusedThoughts(connection: Connection, gates: DecayGates, limit: number): DueThought[] {
  return connection
    .sql<DueThought>(
      `SELECT n.id, n.recorded_at AS recordedAt FROM node n NOT INDEXED WHERE ${DISUSE} ORDER BY n.id LIMIT @limit`,
    )
    .all({ ...gates, limit });
}

/** Thoughts that follow a decayed parent: old, unread, and without another standing parent thought. In id order. */
export function orphanedThoughts(connection: Connection, gates: DecayGates, limit: number): DueThought[] {
  return connection
    .sql<DueThought>(
      `SELECT n.id, n.recorded_at AS recordedAt FROM node n NOT INDEXED WHERE n.id IN (
         SELECT d.child_id FROM node p CROSS JOIN derivation d ON d.parent_id = p.id WHERE p.decayed > 0
         UNION SELECT d.child_id FROM temp.going g CROSS JOIN derivation d ON d.parent_id = g.id
       ) AND ${CASCADE} ORDER BY n.id LIMIT @limit`,
    )
    .all({ ...gates, limit });
}

/** A thought about to decay, as its event tells it. */
export interface LeavingThought extends DueThought {
  readonly followsParent: boolean;
  /** Nodes behind it, ascending; they decay with it, each for itself. */
  readonly behind: readonly number[];
}

/** Those of the ids that still have to go, now that the writer holds the lock. */
export function stillLeaving(connection: Connection, gates: DecayGates, nodeIds: readonly number[]): LeavingThought[] {
  const open = OPEN.replace("AND n.id NOT IN (SELECT id FROM temp.going)", "");
  return connection
    .sql<{ id: number; recordedAt: number; followsParent: number; behind: string }>(
      `SELECT n.id, n.recorded_at AS recordedAt, ${on(DECAYED_PARENT)("n")} AS followsParent,
         (SELECT json_group_array(m.id) FROM (SELECT id FROM node WHERE merged_into = n.id ORDER BY id) m) AS behind
       FROM json_each(@nodeIds) wanted CROSS JOIN node n ON n.id = wanted.value
       WHERE ${open} AND ${forGroup(on(UNREAD))} AND (${UNSUPPORTED} OR (${ORPHANED})) ORDER BY n.id`,
    )
    .all({ ...gates, nodeIds: JSON.stringify(nodeIds) })
    .map((row) => ({ ...row, followsParent: row.followsParent === 1, behind: JSON.parse(row.behind) as number[] }));
}
