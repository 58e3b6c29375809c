/**
 * The invariants of a brain file, one named check each. Every check can fail (tests break each on
 * purpose), names a few ids and never words. Checks of derived indexes say that a rebuild repairs them.
 */
import { formatId } from "../core/ids.ts";
import type { Store } from "./store.ts";
import { unhidden } from "./visibility.ts";

/** Ids shown per failed check. */
const SAMPLE = 5;

export interface CheckResult {
  readonly name: string;
  readonly violations: number;
  /** A few of the nodes concerned. */
  readonly sample: readonly string[];
  /** `doctor --rebuild` repairs it. */
  readonly rebuildable: boolean;
  /** What it means, for a person. */
  readonly meaning: string;
}

interface SqlCheck {
  readonly name: string;
  readonly meaning: string;
  readonly rebuildable?: true;
  /** Selects `id` of each violating node; null when it does not apply to this brain. */
  readonly sql: (store: Store) => string | null;
}

const CHECKS: readonly SqlCheck[] = [
  {
    name: "full_text_row_missing",
    meaning: "a thought is not in the full-text index",
    rebuildable: true,
    sql: () =>
      `SELECT n.id FROM node n WHERE n.role = 1 AND n.erased_by IS NULL
         AND NOT EXISTS (SELECT 1 FROM full_text_docsize d WHERE d.id = n.id)`,
  },
  {
    name: "full_text_row_stray",
    meaning: "the full-text index holds a row of no thought",
    rebuildable: true,
    sql: () =>
      `SELECT d.id FROM full_text_docsize d LEFT JOIN node n ON n.id = d.id AND n.role = 1 AND n.erased_by IS NULL
       WHERE n.id IS NULL`,
  },
  {
    name: "forward_index_row_missing",
    meaning: "a thought cannot be scored by words",
    rebuildable: true,
    sql: () =>
      `SELECT n.id FROM node n WHERE n.role = 1 AND n.erased_by IS NULL
         AND NOT EXISTS (SELECT 1 FROM forward_index f WHERE f.node_id = n.id)`,
  },
  {
    name: "vector_row_differs",
    meaning: "the vector index hides, shows or filters a thought against its state",
    rebuildable: true,
    sql: (store) =>
      overVectorTables(
        store,
        (table) =>
          // A row that a pending recall hides may say so already or not yet.
          `SELECT n.id FROM ${table} v JOIN node n ON n.id = v.node_id
           WHERE (v.hidden <> (NOT ${unhidden("n")}) AND n.id NOT IN (SELECT node_id FROM temp.pending_recall))
             OR v.kind <> n.kind_id OR v.scope <> n.scope_id OR v.domain <> coalesce(n.domain_id, 0)`,
      ),
  },
  {
    name: "vector_row_stray",
    meaning: "the vector index holds a row of no thought",
    rebuildable: true,
    sql: (store) =>
      overVectorTables(
        store,
        (table) =>
          `SELECT r.rowid AS id FROM ${table}_rowids r LEFT JOIN node n ON n.id = r.rowid AND n.role = 1
             AND n.erased_by IS NULL WHERE n.id IS NULL`,
      ),
  },
  {
    name: "vector_row_in_no_cell",
    meaning: "a vector stands in a cell that no search looks into",
    rebuildable: true,
    sql: (store) =>
      overVectorTables(
        store,
        (table) =>
          `SELECT r.rowid AS id FROM ${table}_rowids r JOIN ${table}_chunks c ON c.chunk_id = r.chunk_id
           WHERE c.partition00 <> 0 AND NOT EXISTS (SELECT 1 FROM vector_cell v JOIN embedding_model m
             ON m.id = v.model_id WHERE v.id = c.partition00 AND m.vec_table = '${table}')`,
      ),
  },
  {
    name: "vector_cell_misshapen",
    meaning: "the centre of a cell of vectors is not a vector of its model",
    rebuildable: true,
    sql: () =>
      `SELECT NULL AS id FROM vector_cell v JOIN embedding_model m ON m.id = v.model_id
       WHERE length(v.centroid) <> m.dimensions`,
  },
  {
    name: "permanent_but_decayed",
    meaning: "sleep decayed a permanent thought",
    sql: () => "SELECT id FROM node WHERE permanence > 0 AND decayed IN (1, 2)",
  },
  {
    name: "merge_chain",
    meaning: "a thought stands behind one that is itself merged away",
    sql: () =>
      `SELECT n.id FROM node n JOIN node survivor ON survivor.id = n.merged_into WHERE survivor.merged_into IS NOT NULL`,
  },
  {
    name: "merge_across_scopes",
    meaning: "a thought stands behind one of another scope",
    sql: () =>
      `SELECT n.id FROM node n JOIN node survivor ON survivor.id = n.merged_into WHERE survivor.scope_id <> n.scope_id`,
  },
  {
    name: "visible_without_leg",
    meaning: "a visible thought rests on nothing",
    sql: () =>
      `SELECT n.id FROM node n WHERE n.role = 1 AND ${unhidden("n")}
         AND NOT EXISTS (SELECT 1 FROM leg l WHERE l.node_id = n.id AND l.ended_seq IS NULL)`,
  },
  {
    name: "leg_without_parent",
    meaning: "a leg that is no axiom names no parent",
    sql: () =>
      `SELECT l.node_id AS id FROM leg l WHERE l.axiom = 0 AND NOT EXISTS (SELECT 1 FROM derivation d WHERE d.leg_id = l.id)`,
  },
  {
    name: "derivation_of_another_child",
    meaning: "a derivation edge disagrees with its leg",
    sql: () => "SELECT d.child_id AS id FROM derivation d JOIN leg l ON l.id = d.leg_id WHERE l.node_id <> d.child_id",
  },
  {
    name: "occurrence_of_another_node",
    meaning: "an occurrence belongs to a leg of another thought",
    sql: () => "SELECT o.node_id AS id FROM occurrence o JOIN leg l ON l.id = o.leg_id WHERE l.node_id <> o.node_id",
  },
  {
    name: "scope_looser_than_parents",
    meaning: "a derived thought is less restricted than what it rests on",
    sql: () =>
      `SELECT c.id FROM derivation d JOIN node c ON c.id = d.child_id JOIN node p ON p.id = d.parent_id
       JOIN scope cs ON cs.id = c.scope_id JOIN scope ps ON ps.id = p.scope_id
       WHERE p.role = 1 AND cs.rank < ps.rank`,
  },
  {
    name: "state_differs_from_ledger",
    meaning: "a state is not what its last transition says",
    sql: () =>
      `SELECT n.id FROM node n JOIN transition t ON t.node_id = n.id
       WHERE t.event_seq = (SELECT max(event_seq) FROM transition WHERE node_id = n.id AND axis = t.axis)
         AND t.new IS NOT CASE t.axis
           WHEN 1 THEN n.decayed WHEN 2 THEN n.belief WHEN 3 THEN n.permanence WHEN 4 THEN n.merged_into
           WHEN 6 THEN n.erased_by WHEN 7 THEN n.stale_by WHEN 8 THEN n.trust
           WHEN 9 THEN n.kind_id WHEN 10 THEN n.domain_id WHEN 11 THEN n.scope_id WHEN 12 THEN n.due_at
           WHEN 13 THEN n.valid_from WHEN 14 THEN n.valid_to WHEN 15 THEN n.confidence WHEN 16 THEN n.salience END`,
  },
  {
    name: "state_without_transition",
    meaning: "a state was changed past the audit helper",
    sql: () =>
      `SELECT n.id FROM node n WHERE
         (n.decayed <> 0 AND NOT EXISTS (SELECT 1 FROM transition WHERE node_id = n.id AND axis = 1))
         OR (n.belief NOT IN (0, 4) AND NOT EXISTS (SELECT 1 FROM transition WHERE node_id = n.id AND axis = 2))
         OR (n.permanence <> 0 AND NOT EXISTS (SELECT 1 FROM transition WHERE node_id = n.id AND axis = 3))
         OR (n.merged_into IS NOT NULL AND NOT EXISTS (SELECT 1 FROM transition WHERE node_id = n.id AND axis = 4))
         OR (n.erased_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM transition WHERE node_id = n.id AND axis = 6))`,
  },
  {
    name: "row_beyond_ledger",
    meaning: "a row names an event that the ledger does not hold",
    sql: () => {
      const head =
        "(SELECT coalesce(max(seq), 0) FROM event WHERE ledger_id = (SELECT id FROM ledger WHERE writing = 1))";
      return `SELECT id FROM node WHERE added_seq > ${head}
        UNION SELECT node_id FROM leg WHERE max(added_seq, coalesce(ended_seq, 0)) > ${head}
        UNION SELECT node_id FROM occurrence WHERE max(event_seq, coalesce(ended_seq, 0)) > ${head}
        UNION SELECT from_id FROM link WHERE max(added_seq, coalesce(ended_seq, 0)) > ${head}
        UNION SELECT node_id FROM transition WHERE event_seq > ${head}`;
    },
  },
  {
    name: "erased_with_text",
    meaning: "an erased thought still has its words or its value key",
    sql: () =>
      `SELECT n.id FROM node n LEFT JOIN content c ON c.id = n.content_id
       WHERE n.erased_by IS NOT NULL AND (n.value_key IS NOT NULL OR c.salt <> zeroblob(32))`,
  },
];

/** The check's SQL over the vectors of the active model and of the one being built; null when there is neither. */
function overVectorTables(store: Store, sqlFor: (table: string) => string): string | null {
  const models = [store.models.active(), store.models.building()].filter((model) => model !== null);
  return models.length === 0 ? null : models.map(({ vecTable }) => sqlFor(vecTable)).join(" UNION ALL ");
}

/** Runs every check. @returns one result each, failed or not, in a fixed order */
export function checkIntegrity(store: Store): CheckResult[] {
  return store.read(() => [
    checkFile(store),
    checkForeignKeys(store),
    checkChain(store),
    ...checkTotals(store),
    checkRecalled(store),
    checkSnapshot(store),
    ...CHECKS.map((check) => runCheck(store, check)),
  ]);
}

function runCheck(store: Store, check: SqlCheck): CheckResult {
  const base = { name: check.name, meaning: check.meaning, rebuildable: check.rebuildable === true };
  const sql = check.sql(store);
  if (sql === null) return { ...base, violations: 0, sample: [] };
  const count = store.connection.sql<{ n: number }>(`SELECT count(*) AS n FROM (${sql})`).get()?.n ?? 0;
  if (count === 0) return { ...base, violations: 0, sample: [] };
  const sample = store.connection
    .sql<{ publicId: Buffer | null; role: number | null }>(
      `SELECT n.public_id AS publicId, n.role FROM (${sql}) wrong LEFT JOIN node n ON n.id = wrong.id LIMIT ${SAMPLE}`,
    )
    .all()
    .flatMap(({ publicId, role }) =>
      publicId === null ? [] : [formatId(role === 0 ? "source" : "thought", publicId)],
    );
  return { ...base, violations: count, sample };
}

function checkFile(store: Store): CheckResult {
  const rows = store.connection.db.pragma("integrity_check(100)") as { integrity_check: string }[];
  const violations = rows.filter(({ integrity_check }) => integrity_check !== "ok").length;
  return { name: "sqlite_file", meaning: "SQLite finds the file damaged", rebuildable: false, violations, sample: [] };
}

function checkForeignKeys(store: Store): CheckResult {
  const rows = store.connection.db.pragma("foreign_key_check") as unknown[];
  const meaning = "a row points to one that is not there";
  return { name: "foreign_keys", meaning, rebuildable: false, violations: rows.length, sample: [] };
}

function checkChain(store: Store): CheckResult {
  const broken = store.ledger.firstBreak();
  return {
    name: "ledger_chain",
    meaning: "the ledger's chain does not fit from this event on",
    rebuildable: false,
    violations: broken === null ? 0 : 1,
    sample: broken === null ? [] : [`e_${broken}`],
  };
}

/** What the column says of recalls, against what their effects say. */
function checkRecalled(store: Store): CheckResult {
  const fallen = new Set(store.recalls.fallenAt(Number.POSITIVE_INFINITY).keys());
  const wrong: number[] = [];
  for (const id of store.recalls.mirrored()) {
    if (!fallen.delete(id)) wrong.push(id);
  }
  for (const id of fallen) {
    if (!store.recalls.pending.has(id)) wrong.push(id);
  }
  return {
    name: "recalled_differs_from_effects",
    meaning: "a node is recalled, or not, against what the recalls in force took",
    rebuildable: false,
    violations: wrong.length,
    sample: wrong.slice(0, SAMPLE).map((id) => store.thoughts.publicId(id)),
  };
}

function checkSnapshot(store: Store): CheckResult {
  return {
    name: "graph_snapshot_unreadable",
    meaning: "the kept graph of what rests on what cannot be read; recalls build it anew",
    rebuildable: true,
    violations: store.aliveness.isSnapshotSound() ? 0 : 1,
    sample: [],
  };
}

/** Totals that BM25 reads, against the rows they sum up. */
function checkTotals(store: Store): CheckResult[] {
  const row = store.connection
    .sql<{ documents: number; rows: number; terms: number; tokens: number }>(
      `SELECT coalesce((SELECT documents FROM full_text_state), 0) AS documents,
         (SELECT count(*) FROM forward_index) AS rows,
         coalesce((SELECT terms FROM full_text_state), 0) AS terms,
         (SELECT coalesce(sum(token_count), 0) FROM node WHERE role = 1 AND erased_by IS NULL) AS tokens`,
    )
    .get();
  const wrong = row === undefined ? 0 : Number(row.documents !== row.rows) + Number(row.terms !== row.tokens);
  return [
    {
      name: "full_text_totals",
      meaning: "the totals of the full-text index do not add up",
      rebuildable: true,
      violations: wrong,
      sample: [],
    },
    {
      name: "full_text_analyser",
      meaning: "the full-text index was made by another analyser or another ICU",
      rebuildable: true,
      violations: store.fullText.isOutdated() ? 1 : 0,
      sample: [],
    },
  ];
}
