/**
 * What a night of sleep leaves behind, in public ids and order of their own, so that two copies of a brain can be
 * compared whatever way they came there. And every row of every table, for showing that nothing was written.
 */
import { formatId } from "../../src/core/ids.ts";
import { DECAY_REASONS, LINK_TYPES, PERMANENCES } from "../../src/core/types.ts";
import type { Store } from "../../src/store/store.ts";

export interface SleepState {
  readonly merges: readonly string[];
  readonly decays: readonly string[];
  readonly permanence: readonly string[];
  readonly kinds: readonly string[];
  readonly links: readonly string[];
  readonly vectors: number;
}

export function readSleepState(store: Store): SleepState {
  const { connection } = store;
  const id = (bytes: Buffer) => formatId("thought", bytes);
  const lines = <R>(sql: string, toLine: (row: R) => string) => connection.sql<R>(sql).all().map(toLine).sort();
  return {
    merges: lines<{ a: Buffer; b: Buffer }>(
      "SELECT n.public_id AS a, s.public_id AS b FROM node n JOIN node s ON s.id = n.merged_into",
      ({ a, b }) => `${id(a)} behind ${id(b)}`,
    ),
    decays: lines<{ a: Buffer; reason: number }>(
      "SELECT public_id AS a, decayed AS reason FROM node WHERE decayed > 0",
      ({ a, reason }) => `${id(a)} ${DECAY_REASONS[reason]}`,
    ),
    permanence: lines<{ a: Buffer; level: number }>(
      "SELECT public_id AS a, permanence AS level FROM node WHERE permanence > 0",
      ({ a, level }) => `${id(a)} ${PERMANENCES[level]}`,
    ),
    kinds: lines<{ a: Buffer; kind: number }>(
      "SELECT public_id AS a, kind_id AS kind FROM node WHERE role = 1",
      ({ a, kind }) => `${id(a)} ${store.labels.text(kind)}`,
    ),
    links: lines<{ a: Buffer; b: Buffer; type: number; weight: number }>(
      `SELECT a.public_id AS a, b.public_id AS b, l.type, l.weight FROM link l
       JOIN node a ON a.id = l.from_id JOIN node b ON b.id = l.to_id WHERE l.ended_seq IS NULL`,
      ({ a, b, type, weight }) => `${LINK_TYPES[type]} ${id(a)} ${id(b)} ${weight}`,
    ),
    vectors: store.models.active() === null ? 0 : store.vectors.count(),
  };
}

/** All rows of all ordinary tables, by table. */
export function readAllTables(store: Store): Record<string, unknown[]> {
  const tables = store.connection
    .sql<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
    )
    .all();
  return Object.fromEntries(
    tables.map(({ name }) => [name, store.connection.db.prepare(`SELECT * FROM "${name}" ORDER BY 1, 2`).all()]),
  );
}
