/**
 * Which thoughts a search may return: visible ones that pass every filter. One SQL condition serves both
 * channels, so that filters apply before the cut to k.
 */
import type { Interval } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { visible } from "./visibility.ts";

/** Open ends of an interval, beyond every date. */
const BEGINNING = -9_000_000_000_000_000;
const END = 9_000_000_000_000_000;

export interface EligibleFilter {
  readonly kindIds?: readonly number[];
  readonly domainIds?: readonly number[];
  /** All of these. */
  readonly tagIds?: readonly number[];
  readonly when?: Interval;
}

/** What scoring needs of a candidate. */
export interface CandidateRow {
  readonly id: number;
  /** Analysed terms. */
  readonly length: number;
  /** Latest moment of the referent time, else when it was recorded. */
  readonly happenedAt: number | null;
}

export class Eligible {
  readonly #connection: Connection;
  readonly #condition: string;
  readonly #params: readonly number[];
  /** Where a tag or time filter can start from an index: ids that may pass. */
  readonly #narrow: { readonly sql: string; readonly params: readonly number[] } | null;
  /** What `few` found, so that `count` need not ask again. */
  #found: readonly number[] | null = null;

  constructor(connection: Connection, filter: EligibleFilter) {
    this.#connection = connection;
    const conditions = ["n.role = 1", visible("n")];
    const params: number[] = [];
    const among = (column: string, ids: readonly number[] | undefined) => {
      if (ids === undefined) return;
      conditions.push(`${column} IN (${ids.map(() => "?").join(", ")})`);
      params.push(...ids);
    };
    among("n.kind_id", filter.kindIds);
    among("n.domain_id", filter.domainIds);
    for (const tagId of filter.tagIds ?? []) {
      conditions.push(
        "EXISTS (SELECT 1 FROM node_tag t WHERE t.node_id = n.id AND t.label_id = ? AND t.ended_seq IS NULL)",
      );
      params.push(tagId);
    }
    if (filter.when !== undefined) {
      const { from, to } = filter.when;
      conditions.push(
        `EXISTS (SELECT 1 FROM occurrence o WHERE o.node_id = n.id AND o.ended_seq IS NULL AND o.referent_kind > 0
           AND coalesce(o.referent_from, ${BEGINNING}) <= ? AND coalesce(o.referent_to, ${END}) >= ?)`,
      );
      params.push(to ?? END, from ?? BEGINNING);
    }
    this.#narrow = narrowest(filter);
    this.#condition = conditions.join(" AND ");
    this.#params = params;
  }

  /** The ids that pass, as a subquery for another index. */
  subquery(): { readonly sql: string; readonly params: readonly number[] } {
    if (this.#narrow === null) return { sql: `SELECT n.id FROM node n WHERE ${this.#condition}`, params: this.#params };
    return {
      sql: `SELECT n.id FROM (${this.#narrow.sql}) narrow CROSS JOIN node n ON n.id = narrow.id WHERE ${this.#condition}`,
      params: [...this.#narrow.params, ...this.#params],
    };
  }

  /** The ids that pass a tag or time filter when they are at most `limit`; null otherwise, or without such a filter. */
  few(limit: number): readonly number[] | null {
    if (this.#narrow === null) return null;
    const { sql, params } = this.subquery();
    const ids = this.#connection.values<number>(`SELECT DISTINCT id FROM (${sql}) LIMIT ?`).all(...params, limit + 1);
    this.#found = ids.length > limit ? null : ids;
    return this.#found;
  }

  /** How many thoughts pass. Without a filter the hidden ones are subtracted instead of the rest being counted. */
  count(): number {
    if (this.#found !== null) return this.#found.length;
    if (this.isOpen && this.#readsEveryScope()) {
      const row = this.#connection
        .sql<{ n: number }>(
          `SELECT coalesce((SELECT documents FROM full_text_state WHERE id = 1), 0) - (
             SELECT count(DISTINCT id) FROM (
               SELECT id FROM node WHERE decayed > 0 AND +role = 1
               UNION ALL SELECT id FROM node WHERE merged_into IS NOT NULL AND +role = 1
               UNION ALL SELECT id FROM node WHERE recalled_by IS NOT NULL AND +role = 1
               UNION ALL SELECT id FROM node WHERE erased_by IS NOT NULL AND +role = 1
               UNION ALL SELECT id FROM node WHERE belief > 0 AND belief IN (3, 4, 5) AND +role = 1)) AS n`,
        )
        .get();
      return row?.n ?? 0;
    }
    const { sql, params } = this.subquery();
    return this.#connection.values<number>(`SELECT count(DISTINCT id) FROM (${sql})`).get(...params) ?? 0;
  }

  #readsEveryScope(): boolean {
    return (
      this.#connection
        .sql<{ all: number }>(
          'SELECT (SELECT count(*) FROM temp.session_scope) = (SELECT count(*) FROM main.scope) AS "all"',
        )
        .get()?.all === 1
    );
  }

  /** Those of the ids that are eligible, with what scoring needs. */
  among(nodeIds: readonly number[]): CandidateRow[] {
    return this.#connection
      .tuples<[id: number, length: number, happenedAt: number | null]>(
        `SELECT n.id, n.token_count,
           CASE n.referent_kind WHEN 0 THEN n.recorded_at ELSE coalesce(n.referent_to, n.referent_from) END
         FROM json_each(?) wanted CROSS JOIN node n ON n.id = wanted.value WHERE ${this.#condition}`,
      )
      .all(JSON.stringify(nodeIds), ...this.#params)
      .map(([id, length, happenedAt]) => ({ id, length, happenedAt }));
  }

  /** True when nothing but visibility is asked for. */
  get isOpen(): boolean {
    return this.#params.length === 0;
  }
}

/** The rarest way in: a tag's nodes, else the occurrences of the interval. */
function narrowest(filter: EligibleFilter): { sql: string; params: readonly number[] } | null {
  const [tagId] = filter.tagIds ?? [];
  if (tagId !== undefined) {
    return { sql: "SELECT node_id AS id FROM node_tag WHERE label_id = ? AND ended_seq IS NULL", params: [tagId] };
  }
  if (filter.when === undefined) return null;
  const { from, to } = filter.when;
  return {
    sql: `SELECT DISTINCT node_id AS id FROM occurrence INDEXED BY occurrence_by_time
          WHERE referent_kind > 0 AND ended_seq IS NULL
            AND (referent_from IS NULL OR referent_from <= ?) AND (referent_to IS NULL OR referent_to >= ?)`,
    params: [to ?? END, from ?? BEGINNING],
  };
}
