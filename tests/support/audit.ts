/**
 * The completeness check of the ledger: snapshots every canonical table around a use-case and demands an
 * event for each row that came or changed.
 */
import { expect } from "vitest";
import { AXES } from "../../src/store/ledger.ts";
import type { Store } from "../../src/store/store.ts";
import { verifyHistory } from "../../src/store/verify.ts";

/** Canonical tables with the columns that name the events of a row. */
const CANONICAL: Readonly<Record<string, readonly string[]>> = {
  node: ["added_seq"],
  leg: ["added_seq", "ended_seq"],
  derivation: [],
  occurrence: ["event_seq", "ended_seq"],
  link: ["added_seq", "ended_seq"],
  mention: ["event_seq", "joined_seq"],
  label: ["added_seq"],
  scope: ["added_seq"],
  subject: ["added_seq"],
  subject_alias: ["added_seq", "ended_seq"],
  node_subject: ["added_seq", "ended_seq"],
  node_tag: ["added_seq", "ended_seq"],
  node_aspect: ["added_seq", "ended_seq"],
  node_facet: ["added_seq", "ended_seq"],
  reason: ["event_seq"],
  tombstone: ["added_seq", "lifted_seq"],
  transition: ["event_seq"],
  recall_effect: ["event_seq", "undone_seq"],
  source: [],
  content: [],
};

/** Operational and derived tables, exempt by design (DESIGN.md, Ledger). */
const EXEMPT = new Set([
  "brain",
  "ledger",
  "event",
  "refusal",
  "foreign_secret",
  "erase_pending",
  "foreign_secret",
  "access_day",
  "extract_cursor",
  "cursor",
  "gauge",
  "lease",
  "metric",
  "embedding_model",
  "vector_cell",
  "forward_index",
  "term_frequency",
  "full_text_state",
  "graph_snapshot",
]);

const AXIS_NUMBERS: ReadonlyMap<string, number> = new Map(AXES.map((axis, index) => [axis, index + 1]));

/** Columns of `node` computed from other rows. */
const DERIVED_NODE_COLUMNS = new Set(["referent_from", "referent_to", "referent_kind", "token_count"]);

type Row = Record<string, unknown>;
type Snapshot = Map<string, Map<string, Row>>;

export interface AuditResult {
  readonly events: number;
  readonly changedRows: number;
}

/** Runs the use-case and fails on the first row without its event. */
export async function expectAudited(store: Store, useCase: () => unknown): Promise<AuditResult> {
  const before = takeSnapshot(store);
  const head = store.ledger.head().seq;
  await useCase();
  const after = takeSnapshot(store);
  const unexplained: string[] = [];
  let changedRows = 0;
  for (const [table, rows] of after) {
    for (const [key, row] of rows) {
      const old = before.get(table)?.get(key);
      if (old !== undefined && JSON.stringify(old) === JSON.stringify(row)) continue;
      changedRows += 1;
      if (!isExplained(store, table, row, old, head)) unexplained.push(`${table} ${key}`);
    }
    for (const key of before.get(table)?.keys() ?? []) {
      if (!rows.has(key)) unexplained.push(`${table} ${key} vanished`);
    }
  }
  expect(unexplained).toEqual([]);
  expect(verifyHistory(store).problems).toEqual([]);
  return { events: store.ledger.head().seq - head, changedRows };
}

function takeSnapshot(store: Store): Snapshot {
  const { db } = store.connection;
  const tables = db
    .prepare(
      `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
         AND name NOT LIKE 'full_text_%' AND name NOT LIKE 'vectors_%'`,
    )
    .pluck()
    .all() as string[];
  const unknown = tables.filter((table) => !(table in CANONICAL) && !EXEMPT.has(table));
  expect(unknown, "every table is either audited or exempt").toEqual([]);
  return new Map(
    Object.keys(CANONICAL).map((table) => {
      const keys = db
        .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0 ORDER BY pk`)
        .pluck()
        .all() as string[];
      const rows = db.prepare(`SELECT * FROM ${table}`).all() as Row[];
      return [table, new Map(rows.map((row) => [keys.map((key) => String(row[key])).join(" "), row]))];
    }),
  );
}

function isExplained(store: Store, table: string, row: Row, old: Row | undefined, head: number): boolean {
  const fresh = (CANONICAL[table] ?? []).some(
    (column) => Number(row[column] ?? 0) > head && row[column] !== old?.[column],
  );
  if (fresh) return true;
  const has = (sql: string, ...params: unknown[]) => store.connection.db.prepare(sql).get(...params) !== undefined;
  switch (table) {
    case "content":
      return isReferenced(store, Number(row.id), head);
    case "derivation":
      return has("SELECT 1 FROM leg WHERE id = ? AND added_seq > ?", row.leg_id, head);
    case "source":
      return has("SELECT 1 FROM node WHERE id = ? AND added_seq > ?", row.node_id, head);
    case "node":
      return Object.keys(row).every(
        (column) =>
          isSame(row[column], old?.[column]) ||
          DERIVED_NODE_COLUMNS.has(column) ||
          (column === "recalled_by" && isEffect(store, Number(row.id), row.recalled_by)) ||
          has(
            "SELECT 1 FROM transition WHERE node_id = ? AND axis = ? AND event_seq > ? AND new IS ?",
            row.id,
            AXIS_NUMBERS.get(column) ?? 0,
            head,
            row[column],
          ),
      );
    case "recall_effect":
      // Mirroring an effect is no new fact: the event said it all.
      return Object.keys(row).every(
        (column) => isSame(row[column], old?.[column]) || column === "materialised" || column === "released",
      );
    case "mention":
      // It follows its meeting to the row that has the time.
      return Object.keys(row).every(
        (column) =>
          isSame(row[column], old?.[column]) ||
          (column === "occurrence_id" &&
            has("SELECT 1 FROM occurrence WHERE id = ? AND event_seq > ?", row[column], head)),
      );
    case "occurrence":
      return Object.keys(row).every(
        (column) => isSame(row[column], old?.[column]) || isMoved(store, row, column, head),
      );
    default:
      return false;
  }
}

function isSame(value: unknown, old: unknown): boolean {
  return value === old || (Buffer.isBuffer(value) && Buffer.isBuffer(old) && value.equals(old));
}

/** True when the effects of recalls say of the node what the column does. */
function isEffect(store: Store, nodeId: number, recalledBy: unknown): boolean {
  let hasFallen = false;
  for (const { removed, restored } of store.recalls.after(0)) {
    hasFallen = restored.includes(nodeId) ? false : hasFallen || removed.includes(nodeId);
  }
  return hasFallen === (recalledBy !== null);
}

/** True when a fresh event moved occurrences of this one's source in the way that changes this column. */
function isMoved(store: Store, occurrence: Row, column: string, head: number): boolean {
  const kind = new Map([
    ["thread", "thread.split"],
    ["ordinal", "occurrence.moved"],
  ]).get(column);
  if (kind === undefined) return false;
  return (
    store.connection.db
      .prepare("SELECT 1 FROM event WHERE kind = ? AND seq > ? AND json_extract(CAST(payload AS TEXT), '$.source') = ?")
      .get(kind, head, store.thoughts.publicId(Number(occurrence.source_id))) !== undefined
  );
}

/** True when a row with a fresh event points to the content row. */
function isReferenced(store: Store, id: number, head: number): boolean {
  return (
    store.connection.db
      .prepare(
        `SELECT 1 FROM node WHERE content_id = @id AND added_seq > @head
         UNION SELECT 1 FROM label WHERE content_id = @id AND added_seq > @head
         UNION SELECT 1 FROM source s JOIN node n ON n.id = s.node_id WHERE s.reference_content_id = @id AND n.added_seq > @head
         UNION SELECT 1 FROM mention WHERE target_id = @id AND event_seq > @head
         UNION SELECT 1 FROM reason WHERE content_id = @id AND event_seq > @head`,
      )
      .get({ id, head }) !== undefined
  );
}
