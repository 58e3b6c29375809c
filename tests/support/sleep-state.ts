/**
 * What a night of sleep leaves behind, in public ids and order of their own, so that two copies of a brain can be
 * compared whatever way they came there. And every row of every table, for showing that nothing was written.
 */
import { createHash } from "node:crypto";
import { formatId } from "../../src/core/ids.ts";
import { DECAY_REASONS, LINK_TYPES, PERMANENCES } from "../../src/core/types.ts";
import type { Store } from "../../src/store/store.ts";

export interface SleepState {
  readonly merges: readonly string[];
  readonly decays: readonly string[];
  readonly permanence: readonly string[];
  readonly kinds: readonly string[];
  readonly links: readonly string[];
  /** Legs that stand, each with its parents. */
  readonly legs: readonly string[];
  /** Digest of each vector, and of the terms that each thought is indexed under. */
  readonly vectors: readonly string[];
  readonly words: readonly string[];
  readonly termFrequencies: string;
  readonly gauges: readonly string[];
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
    legs: lines<{ a: Buffer; axiom: number; parents: string | null }>(
      `SELECT n.public_id AS a, l.axiom, (SELECT group_concat(hex(public_id)) FROM (
           SELECT p.public_id FROM derivation d JOIN node p ON p.id = d.parent_id WHERE d.leg_id = l.id ORDER BY 1)) AS parents
         FROM leg l JOIN node n ON n.id = l.node_id WHERE l.ended_seq IS NULL`,
      ({ a, axiom, parents }) => `${id(a)} ${axiom} ${parents}`,
    ),
    vectors:
      store.models.active() === null
        ? []
        : lines<{ a: Buffer; nodeId: number }>(
            "SELECT public_id AS a, id AS nodeId FROM node WHERE role = 1",
            (row) => {
              const vector = store.vectors.get(row.nodeId);
              return `${id(row.a)} ${vector === null ? "none" : digestOf(vector)}`;
            },
          ),
    words: lines<{ a: Buffer; terms: Buffer; tokens: number }>(
      "SELECT n.public_id AS a, f.terms, n.token_count AS tokens FROM forward_index f JOIN node n ON n.id = f.node_id",
      ({ a, terms, tokens }) => `${id(a)} ${tokens} ${digestOf(terms)}`,
    ),
    termFrequencies: digestOf(
      Buffer.from(
        JSON.stringify(connection.sql("SELECT term_id, document_count FROM term_frequency ORDER BY term_id").all()),
      ),
    ),
    gauges: lines<{ name: string; value: number }>(
      "SELECT name, value FROM gauge",
      (row) => `${row.name} ${row.value}`,
    ),
  };
}

function digestOf(bytes: NodeJS.ArrayBufferView): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
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
