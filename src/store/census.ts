/** Counts of what a brain holds, for `stats` and metrics. Readable rows only; numbers and label words. */
import { statSync } from "node:fs";
import { formatHead } from "./ledger.ts";
import type { Store } from "./store.ts";
import { readable, unrecalled, visible } from "./visibility.ts";

export interface Census {
  readonly thoughts: number;
  readonly visible: number;
  readonly sources: number;
  /** A thought is counted in each state it is in. */
  readonly states: {
    /** For whatever reason: forgotten ones among them. */
    readonly decayed: number;
    readonly forgotten: number;
    readonly merged: number;
    readonly recalled: number;
    readonly erased: number;
    readonly held: number;
    readonly superseded: number;
    readonly disputed: number;
    readonly earned: number;
    readonly pinned: number;
  };
  readonly kinds: Readonly<Record<string, number>>;
  readonly domains: Readonly<Record<string, number>>;
  readonly legs: number;
  readonly links: number;
  readonly occurrences: number;
  readonly vectors: {
    readonly model: string | null;
    readonly dimensions: number | null;
    readonly count: number;
    /** The model that shall take its place, and how many vectors of it are made. */
    readonly building: { readonly model: string; readonly done: number; readonly total: number } | null;
  };
  /** head: its fingerprint, for `verify --head`. */
  readonly ledger: { readonly events: number; readonly head: string };
  readonly fileBytes: number;
}

/** Domains listed; the rest is in the totals only. */
const MAX_DOMAINS = 50;

export function takeCensus(store: Store): Census {
  return store.read(() => {
    const one = (sql: string) => store.connection.sql<{ n: number }>(sql).get()?.n ?? 0;
    const thoughts = (condition: string) =>
      one(`SELECT count(*) AS n FROM node n WHERE n.role = 1 AND ${readable("n")} AND ${condition}`);
    const byLabel = (column: string, limit: number) =>
      Object.fromEntries(
        store.connection
          .sql<{ id: number; n: number }>(
            `SELECT ${column} AS id, count(*) AS n FROM node n WHERE n.role = 1 AND ${column} IS NOT NULL
               AND ${visible("n")} GROUP BY ${column} ORDER BY n DESC, id LIMIT ${limit}`,
          )
          .all()
          .map(({ id, n }) => [store.labels.text(id) ?? "", n]),
      );
    const active = store.models.active();
    const building = store.models.building();
    const head = store.ledger.head();
    return {
      thoughts: thoughts("1"),
      visible: thoughts(visible("n")),
      sources: one(`SELECT count(*) AS n FROM node n WHERE n.role = 0 AND ${readable("n")}`),
      states: {
        decayed: thoughts("n.decayed > 0"),
        forgotten: thoughts("n.decayed = 3"),
        merged: thoughts("n.merged_into IS NOT NULL"),
        recalled: thoughts(`NOT ${unrecalled("n")}`),
        erased: thoughts("n.erased_by IS NOT NULL"),
        held: thoughts("n.belief = 4"),
        superseded: thoughts("n.belief = 3"),
        disputed: thoughts("n.belief = 2"),
        earned: thoughts("n.permanence = 1"),
        pinned: thoughts("n.permanence = 2"),
      },
      kinds: byLabel("n.kind_id", MAX_DOMAINS),
      domains: byLabel("n.domain_id", MAX_DOMAINS),
      legs: one("SELECT count(*) AS n FROM leg WHERE ended_seq IS NULL"),
      links: one("SELECT count(*) AS n FROM link WHERE ended_seq IS NULL"),
      occurrences: one("SELECT count(*) AS n FROM occurrence WHERE ended_seq IS NULL"),
      vectors: {
        model: active?.name ?? null,
        dimensions: active?.dimensions ?? null,
        count: active === null ? 0 : store.vectors.count(),
        building: building === null ? null : { model: building.name, ...store.models.buildProgress() },
      },
      ledger: { events: head.seq, head: formatHead(head) },
      fileBytes: statSync(store.connection.path).size,
    };
  });
}
