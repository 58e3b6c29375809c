/**
 * A connection that sees the brain as it was after an event: temporary views of the canonical tables' names, which
 * SQLite resolves before the tables, so that every query of the store reads the past unchanged. Writes nothing.
 *
 * What is of today whenever one asks: scopes, words that were erased since, and the order of turns within a source.
 */
import { MS_PER_DAY } from "../core/clock.ts";
import type { Connection } from "./connection.ts";
import { AXES, type Axis } from "./ledger.ts";

/** State columns that cannot be null; for the others the older value may itself be null. */
const NEVER_NULL: ReadonlySet<Axis> = new Set(["decayed", "belief", "permanence", "trust", "kind_id"]);
/** Columns that say what holds today: what was erased stays erased, and scopes are those of now. */
const OF_TODAY: ReadonlySet<Axis> = new Set(["erased_by", "scope_id"]);
/** Filled from the effects of recalls instead (`RecallEffects.freezeAt`). */
const FROM_EFFECTS: Axis = "recalled_by";

/** Columns of `node` that never change. */
const FIXED = [
  "id",
  "public_id",
  "role",
  "speaker_id",
  "content_id",
  "value_key",
  "basis",
  "recorded_at",
  "token_count",
  "added_seq",
];

/** Tables whose rows begin with one event and may end with another. */
const LASTING: readonly { readonly table: string; readonly columns: string; readonly added: string }[] = [
  { table: "leg", columns: "id, node_id, axiom, parents_digest, added_seq", added: "added_seq" },
  {
    table: "occurrence",
    columns: `id, node_id, source_id, leg_id, thread, ordinal, speaker_id, referent_from, referent_to, referent_kind,
      record_digest, event_seq`,
    added: "event_seq",
  },
  { table: "node_tag", columns: "node_id, label_id, added_seq", added: "added_seq" },
  { table: "node_aspect", columns: "node_id, label_id, added_seq", added: "added_seq" },
  { table: "node_facet", columns: "node_id, name_id, value_id, added_seq", added: "added_seq" },
  { table: "node_subject", columns: "node_id, subject_id, added_seq", added: "added_seq" },
  { table: "subject_alias", columns: "subject_id, label_id, added_seq", added: "added_seq" },
];

/** Links have an index for those that stand and one for those that ended, so the view asks each part for itself. */
const LINK = "id, type, from_id, to_id, weight, added_seq";

/**
 * The newest event that was recorded at `at` or before it; 0 before the first. Of own ledgers, whose events ascend in
 * time; where a clock was set back, one of those that fit and are followed by a later one.
 */
export function seqAsOf(connection: Connection, at: number): number {
  const range = connection
    .sql<{ first: number | null; last: number | null }>(
      `SELECT min(seq) AS first, max(seq) AS last FROM main.event
       WHERE ledger_id IN (SELECT id FROM main.ledger WHERE own = 1)`,
    )
    .get();
  const timeOf = connection.values<number>(
    "SELECT at FROM main.event WHERE ledger_id IN (SELECT id FROM main.ledger WHERE own = 1) AND seq = ?",
  );
  let low = (range?.first ?? 1) - 1;
  let high = range?.last ?? 0;
  // Now is now, whatever the clock said before.
  if ((timeOf.get(high) ?? 0) <= at) return high;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((timeOf.get(middle) ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Lays the views over the tables. Statements prepared before see the present. */
export function viewAsOf(connection: Connection, seq: number, at: number): void {
  const lasting = LASTING.map(
    ({ table, columns, added }) =>
      `CREATE TEMP VIEW ${table} AS SELECT ${columns},
         CASE WHEN ended_seq > ${seq} THEN NULL ELSE ended_seq END AS ended_seq
       FROM main.${table} WHERE ${added} <= ${seq};`,
  );
  connection.db.exec(`
    CREATE TEMP VIEW node AS SELECT ${[...FIXED.map((column) => `n.${column}`), ...stateColumns(seq), ...timeColumns(seq)].join(",\n")}
      FROM main.node n WHERE n.added_seq <= ${seq};
    ${lasting.join("\n")}
    CREATE TEMP VIEW link AS SELECT ${LINK}, NULL AS ended_seq FROM main.link
        WHERE ended_seq IS NULL AND added_seq <= ${seq}
      UNION ALL SELECT ${LINK}, CASE WHEN ended_seq > ${seq} THEN NULL ELSE ended_seq END FROM main.link
        WHERE ended_seq IS NOT NULL AND added_seq <= ${seq};
    CREATE TEMP VIEW derivation AS SELECT d.leg_id, d.parent_id, d.child_id, d.parent_role FROM main.derivation d
      WHERE EXISTS (SELECT 1 FROM main.leg l WHERE l.id = d.leg_id AND l.added_seq <= ${seq});
    CREATE TEMP VIEW source AS SELECT s.* FROM main.source s
      WHERE EXISTS (SELECT 1 FROM main.node n WHERE n.id = s.node_id AND n.added_seq <= ${seq});
    CREATE TEMP VIEW mention AS SELECT id, occurrence_id, target_digest, target_id,
        CASE WHEN joined_seq > ${seq} THEN NULL ELSE link_id END AS link_id, event_seq, joined_seq
      FROM main.mention WHERE event_seq <= ${seq};
    CREATE TEMP VIEW transition AS SELECT * FROM main.transition WHERE event_seq <= ${seq};
    CREATE TEMP VIEW event AS SELECT * FROM main.event WHERE seq <= ${seq};
    CREATE TEMP VIEW reason AS SELECT * FROM main.reason WHERE event_seq <= ${seq};
    CREATE TEMP VIEW recall_effect AS SELECT event_seq, removed, restored,
        CASE WHEN undone_seq > ${seq} THEN NULL ELSE undone_seq END AS undone_seq, materialised, pinned, released
      FROM main.recall_effect WHERE event_seq <= ${seq};
    CREATE TEMP VIEW access_day AS SELECT * FROM main.access_day WHERE day <= ${Math.floor(at / MS_PER_DAY)};
  `);
}

/** Every state column with the value it had: what its first later transition calls the old one. */
function stateColumns(seq: number): string[] {
  return AXES.map((axis, index) => {
    if (axis === FROM_EFFECTS) return `NULL AS ${axis}`;
    if (OF_TODAY.has(axis)) return `n.${axis}`;
    const later = `FROM main.transition t WHERE t.node_id = n.id AND t.axis = ${index + 1} AND t.event_seq > ${seq}`;
    const then = `(SELECT t.old ${later} ORDER BY t.event_seq LIMIT 1)`;
    if (NEVER_NULL.has(axis)) return `coalesce(${then}, n.${axis}) AS ${axis}`;
    return `CASE WHEN EXISTS (SELECT 1 ${later}) THEN ${then} ELSE n.${axis} END AS ${axis}`;
  });
}

/**
 * When it happened, as it was known: by the latest occurrence that stood then, where one came or ended since; where
 * none stood, by those that were the last to end.
 */
function timeColumns(seq: number): string[] {
  const of = "FROM main.occurrence o WHERE o.node_id = n.id";
  const stood = `o.event_seq <= ${seq} AND (o.ended_seq IS NULL OR o.ended_seq > ${seq})`;
  const changed = `EXISTS (SELECT 1 ${of} AND (o.event_seq > ${seq} OR o.ended_seq > ${seq}))`;
  const first = "ORDER BY coalesce(o.referent_to, o.referent_from, 0) DESC, o.id DESC LIMIT 1";
  const latest = (column: string) => `CASE WHEN EXISTS (SELECT 1 ${of} AND ${stood})
    THEN (SELECT o.${column} ${of} AND ${stood} AND o.referent_kind > 0 ${first})
    ELSE (SELECT o.${column} ${of} AND o.referent_kind > 0
      AND o.ended_seq = (SELECT max(o.ended_seq) ${of} AND o.ended_seq <= ${seq}) ${first}) END`;
  return [
    `CASE WHEN ${changed} THEN ${latest("referent_from")} ELSE n.referent_from END AS referent_from`,
    `CASE WHEN ${changed} THEN ${latest("referent_to")} ELSE n.referent_to END AS referent_to`,
    `CASE WHEN ${changed} THEN coalesce(${latest("referent_kind")}, 0) ELSE n.referent_kind END AS referent_kind`,
  ];
}
