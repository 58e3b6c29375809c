/**
 * Which thoughts a search may return: visible ones that pass every filter. One SQL condition serves both
 * channels, so that filters apply before the cut to k.
 */
import type { Interval } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { visible } from "./visibility.ts";

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
      conditions.push("n.id IN (SELECT node_id FROM node_tag WHERE label_id = ? AND ended_seq IS NULL)");
      params.push(tagId);
    }
    if (filter.when !== undefined) {
      const { from, to } = filter.when;
      conditions.push(
        "n.id IN (SELECT node_id FROM occurrence WHERE referent_kind > 0 AND ended_seq IS NULL" +
          " AND coalesce(referent_from, referent_to) <= ? AND coalesce(referent_to, referent_from) >= ?)",
      );
      params.push(to ?? Number.MAX_SAFE_INTEGER, from ?? Number.MIN_SAFE_INTEGER);
    }
    this.#condition = conditions.join(" AND ");
    this.#params = params;
  }

  /** The ids that pass, as a subquery for another index. */
  subquery(): { readonly sql: string; readonly params: readonly number[] } {
    return { sql: `SELECT n.id FROM node n WHERE ${this.#condition}`, params: this.#params };
  }

  /** How many thoughts pass. Without a filter the hidden ones are subtracted instead of the rest being counted. */
  count(): number {
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
    return (
      this.#connection
        .sql<{ n: number }>(`SELECT count(*) AS n FROM node n WHERE ${this.#condition}`)
        .get(...this.#params)?.n ?? 0
    );
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
