/**
 * Which thoughts a search may return: visible ones that pass every filter. One SQL condition serves both
 * channels, so that filters apply before the cut to k.
 */
import type { Interval } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { unrecalled, visible } from "./visibility.ts";

/** Open ends of an interval, beyond every date. */
const BEGINNING = -9_000_000_000_000_000;
const END = 9_000_000_000_000_000;

/** Intervals longer than this stand in an index of their own, `occurrence_long`: 32 days. */
const LONG_MS = 2_764_800_000;
/** Nodes that the filter's index names for one that passes, at most, for all of them to be looked at. */
const NODES_PER_PASSING = 4;
/** Entries of an index of times for one such node, at most: a value met often has as many. */
const MEETINGS_PER_NODE = 3;
/** Most thoughts that are counted under a filter, and index entries that are read for it. */
const MAX_COUNTED = 1_000;
const MAX_COUNT_READS = 20_000;
/** Ids tested before a filter's index is read whole, and the share of them that passes from which on it is not. */
const TESTED_FIRST = 3_000;
const WORTH_TESTING = 0.25;

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

/** An index that a filter can start from. */
interface Narrow {
  /** Ids that may pass. */
  readonly sql: string;
  readonly params: readonly number[];
  /** Whether one id can stand there often. */
  readonly repeats: boolean;
}

export class Eligible {
  readonly #connection: Connection;
  readonly #condition: string;
  readonly #params: readonly number[];
  readonly #narrow: Narrow | null;
  /** What a node that `#narrow` names has to pass besides. */
  readonly #rest: { readonly condition: string; readonly params: readonly number[] };
  /** What `few` found, so that `count` need not ask again. */
  #found: readonly number[] | null = null;
  readonly #known = new Map<number, boolean>();
  #tested = 0;
  #passed = 0;
  /** A bit for each id that `#narrow` names, once that pays. */
  #named: Uint8Array | null = null;

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
    // Indexes know today's states; a past moment is asked row by row.
    this.#narrow = connection.asOfSeq === null ? narrowest(filter) : null;
    const untimed = { condition: conditions.join(" AND "), params: [...params] };
    if (filter.when !== undefined) {
      const { condition, params: span } = happenedWithin("n", filter.when);
      conditions.push(condition);
      params.push(...span);
    }
    this.#condition = conditions.join(" AND ");
    this.#params = params;
    // Asked of each entry of the index of times, the condition on times would walk all meetings of a value for each.
    this.#rest = this.#narrow?.repeats === true ? untimed : { condition: this.#condition, params };
  }

  /** The ids that pass, each once, as a subquery for another index. */
  subquery(): { readonly sql: string; readonly params: readonly number[] } {
    return this.#subquery(-1);
  }

  /** The same from so many entries of the filter's index; negative: from all. */
  #subquery(entries: number): { readonly sql: string; readonly params: readonly number[] } {
    if (this.#narrow === null) return { sql: `SELECT n.id FROM node n WHERE ${this.#condition}`, params: this.#params };
    const { sql, params } = this.#narrow;
    return {
      sql: `SELECT n.id FROM (SELECT DISTINCT id FROM (SELECT id FROM (${sql}) LIMIT ?)) narrow
            CROSS JOIN node n ON n.id = narrow.id WHERE ${this.#rest.condition}`,
      params: [...params, entries, ...this.#rest.params],
    };
  }

  /**
   * The first `wanted` of the ids that pass, in the order given. Where few of many pass, the filter's index is read
   * once, and then only the ids that it names are tested.
   */
  passing(nodeIds: readonly number[], wanted: number): number[] {
    if (this.#narrow !== null && this.#tested >= TESTED_FIRST && this.#passed < this.#tested * WORTH_TESTING) {
      this.#named ??= readBits(this.#connection, this.#narrow);
    }
    const named = this.#named;
    const likely = named === null ? nodeIds : nodeIds.filter((id) => ((named[id >>> 3] ?? 0) & (1 << (id & 7))) !== 0);
    if (likely.length === 0) return [];
    const { condition, params } = named === null ? { condition: this.#condition, params: this.#params } : this.#rest;
    const passing = this.#connection
      .values<number>(
        `SELECT n.id FROM json_each(?) wanted CROSS JOIN node n ON n.id = wanted.value WHERE ${condition} LIMIT ?`,
      )
      .all(JSON.stringify(likely), ...params, wanted);
    this.#tested += passing.length < wanted ? likely.length : likely.indexOf(passing.at(-1) ?? 0) + 1;
    this.#passed += passing.length;
    return passing;
  }

  /** Whether this node passes; what was asked once is remembered as long as this object lives. */
  passes(nodeId: number): boolean {
    let passes = this.#known.get(nodeId);
    if (passes === undefined) {
      passes =
        this.#connection
          .values<number>(`SELECT 1 FROM node n WHERE n.id = ? AND ${this.#condition}`)
          .get(nodeId, ...this.#params) === 1;
      this.#known.set(nodeId, passes);
    }
    return passes;
  }

  /**
   * The ids that pass a filter when they are at most `limit` and found within a bounded number of entries of the
   * filter's index; null otherwise, or without a filter. Whether the index alone holds more is asked first, since
   * that reads no node.
   */
  few(limit: number): readonly number[] | null {
    if (this.#narrow === null) return null;
    const { sql: index, params: indexParams, repeats } = this.#narrow;
    const nodes = limit * NODES_PER_PASSING;
    const entries = repeats ? nodes * MEETINGS_PER_NODE : nodes;
    const countUpTo = (text: string, bound: number) =>
      this.#connection.values<number>(`SELECT count(*) FROM (${text} LIMIT ?)`).get(...indexParams, bound + 1) ?? 0;
    if (countUpTo(`SELECT 1 FROM (${index})`, entries) > entries) return null;
    if (repeats && countUpTo(`SELECT DISTINCT id FROM (${index})`, nodes) > nodes) return null;
    const { sql, params } = this.#subquery(-1);
    const ids = this.#connection.values<number>(`${sql} LIMIT ?`).all(...params, limit + 1);
    this.#found = ids.length > limit ? null : ids;
    return this.#found;
  }

  /**
   * How many thoughts pass, exactly without a filter (the hidden ones are subtracted instead of the rest being
   * counted, once an event); with one, `MAX_COUNTED` stands for that many or more, and where `MAX_COUNT_READS`
   * entries of its index do not tell, those that they name are counted: at least so many pass.
   */
  count(): number {
    if (this.#found !== null) return this.#found.length;
    const isNow = this.#connection.asOfSeq === null;
    if (isNow && this.isOpen && this.#readsEveryScope()) return countUnhidden(this.#connection);
    const { sql, params } = this.#subquery(MAX_COUNT_READS);
    const bound = this.isOpen ? -1 : MAX_COUNTED;
    return this.#connection.values<number>(`SELECT count(*) FROM (${sql} LIMIT ?)`).get(...params, bound) ?? 0;
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

  /**
   * Up to `limit` of the thoughts that pass, picked at random once and for all: in the order of their keyed digests,
   * so that neither age nor the order of insertion decides.
   */
  sample(limit: number): number[] {
    return this.#connection
      .values<number>(
        `SELECT n.id FROM temp.session_scope s CROSS JOIN node n ON n.id IN (
           SELECT n.id FROM main.node keyed INDEXED BY node_by_value CROSS JOIN node n ON n.id = keyed.id
           WHERE keyed.scope_id = s.id AND keyed.value_key IS NOT NULL AND ${this.#condition}
           ORDER BY keyed.value_key LIMIT ?)
         ORDER BY n.value_key LIMIT ?`,
      )
      .all(...this.#params, limit, limit);
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

/** SQL condition: a standing occurrence of the node may have happened within the interval. */
export function happenedWithin(
  alias: string,
  { from, to }: Interval,
): { readonly condition: string; readonly params: readonly number[] } {
  return {
    condition: `EXISTS (SELECT 1 FROM occurrence o WHERE o.node_id = ${alias}.id AND o.ended_seq IS NULL
      AND o.referent_kind > 0 AND coalesce(o.referent_from, ${BEGINNING}) <= ? AND coalesce(o.referent_to, ${END}) >= ?)`,
    params: [to ?? END, from ?? BEGINNING],
  };
}

/** A bit for each id that an index names. */
function readBits(connection: Connection, { sql, params }: Narrow): Uint8Array {
  const ids = connection.values<number>(sql).all(...params);
  const bits = new Uint8Array((ids.reduce((highest, id) => Math.max(highest, id), 0) >>> 3) + 1);
  for (const id of ids) bits[id >>> 3] = (bits[id >>> 3] ?? 0) | (1 << (id & 7));
  return bits;
}

/** What was counted last on a connection, and the chain value of the event it was counted after. */
const countedBy = new WeakMap<Connection, { readonly chain: Buffer; readonly count: number }>();

/**
 * Indexed thoughts that nothing hides. Each query leaves out what an earlier one counted, so that no set of ids
 * has to be kept; a state changes by an event only, so the sum holds until the next one.
 */
function countUnhidden(connection: Connection): number {
  const chain = connection
    .values<Buffer>(
      "SELECT chain FROM event WHERE ledger_id = (SELECT id FROM ledger WHERE writing = 1) ORDER BY seq DESC LIMIT 1",
    )
    .get();
  const known = countedBy.get(connection);
  if (chain !== undefined && known?.chain.equals(chain)) return known.count;
  const count =
    connection
      .values<number>(
        `SELECT coalesce((SELECT documents FROM full_text_state WHERE id = 1), 0)
           - (SELECT count(*) FROM node WHERE decayed > 0 AND role = 1)
           - (SELECT count(*) FROM node WHERE merged_into IS NOT NULL AND +role = 1 AND decayed = 0)
           - (SELECT count(*) FROM node WHERE recalled_by IS NOT NULL AND +role = 1 AND decayed = 0
                AND merged_into IS NULL)
           - (SELECT count(*) FROM temp.pending_recall p CROSS JOIN node n ON n.id = p.node_id WHERE n.role = 1
                AND n.decayed = 0 AND n.merged_into IS NULL AND n.recalled_by IS NULL)
           - (SELECT count(*) FROM node WHERE erased_by IS NOT NULL AND +role = 1 AND decayed = 0
                AND merged_into IS NULL AND ${unrecalled("node")})
           - (SELECT count(*) FROM node WHERE belief > 0 AND belief IN (3, 4, 5) AND +role = 1 AND decayed = 0
                AND merged_into IS NULL AND ${unrecalled("node")} AND erased_by IS NULL)`,
      )
      .get() ?? 0;
  if (chain !== undefined) countedBy.set(connection, { chain, count });
  return count;
}

/** The way in that is likely the rarest: a tag's nodes, the occurrences of the interval, those of domain or kind. */
function narrowest(filter: EligibleFilter): Narrow | null {
  const [tagId] = filter.tagIds ?? [];
  if (tagId !== undefined) {
    const sql = "SELECT node_id AS id FROM node_tag WHERE label_id = ? AND ended_seq IS NULL";
    return { sql, params: [tagId], repeats: false };
  }
  if (filter.when === undefined) {
    const marks = (ids: readonly number[]) => ids.map(() => "?").join(", ");
    if (filter.domainIds !== undefined) {
      const sql = `SELECT id FROM node INDEXED BY node_by_domain WHERE domain_id IN (${marks(filter.domainIds)})`;
      return { sql, params: filter.domainIds, repeats: false };
    }
    if (filter.kindIds === undefined) return null;
    const sql = `SELECT id FROM node INDEXED BY node_by_kind WHERE kind_id IN (${marks(filter.kindIds)})`;
    return { sql, params: filter.kindIds, repeats: false };
  }
  const { from, to } = filter.when;
  const [begin, end] = [from ?? BEGINNING, to ?? END];
  // Without the two indexes by name the planner walks every occurrence up to the end of the interval.
  return {
    sql: `SELECT node_id AS id FROM occurrence INDEXED BY occurrence_by_time
          WHERE referent_kind > 0 AND ended_seq IS NULL AND referent_from BETWEEN ? AND ? AND referent_to >= ?
          UNION ALL SELECT node_id FROM occurrence INDEXED BY occurrence_long
          WHERE referent_kind > 0 AND ended_seq IS NULL
            AND (referent_from IS NULL OR referent_to IS NULL OR referent_to - referent_from > ${LONG_MS})
            AND coalesce(referent_from, ${BEGINNING}) <= ? AND coalesce(referent_to, ${END}) >= ?`,
    params: [Math.max(BEGINNING, begin - LONG_MS), end, begin, end, begin],
    repeats: true,
  };
}
