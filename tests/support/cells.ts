/**
 * Cells of a size for tests, and a table of vectors to search in: rows with random words, scopes, kinds, domains
 * and states, and a search over all of them that knows no index.
 */
import { cosineFromL2 } from "../../src/core/ports.ts";
import type { Store } from "../../src/store/store.ts";
import type { Neighbor, NodeTest, VectorFilter } from "../../src/store/vectors.ts";

/** Dimensions of an embedder that keeps unrelated words apart, so that what is isolated can decay. */
export const WIDE = 256;

/** Cells are made already of the few vectors that a test has. */
export const SMALL_CELLS = { shelveMinVectors: 40, cellRows: 16 };

/** The k nearest visible thoughts with a vector, by reading each of them from the canonical rows. */
export function searchEverything(store: Store, query: Int8Array, k: number, filter: VectorFilter): Neighbor[] {
  const { db } = store.connection;
  const nodes = db
    .prepare(
      `SELECT id, scope_id AS scope, kind_id AS kind, domain_id AS domain FROM node
       WHERE role = 1 AND decayed = 0 AND merged_into IS NULL AND recalled_by IS NULL AND erased_by IS NULL
         AND belief NOT IN (3, 4, 5)`,
    )
    .all() as { id: number; scope: number; kind: number; domain: number | null }[];
  return nodes
    .filter(({ id, scope, kind, domain }) => {
      const isKind = filter.kindIds?.includes(kind) ?? true;
      const isDomain = filter.domainIds?.includes(domain ?? 0) ?? true;
      return filter.scopeIds.includes(scope) && isKind && isDomain && filter.eligible?.passes(id) !== false;
    })
    .flatMap(({ id }) => {
      const vector = store.vectors.get(id);
      return vector === null ? [] : [{ nodeId: id, square: squareBetween(query, vector) }];
    })
    .sort((a, b) => a.square - b.square || a.nodeId - b.nodeId)
    .slice(0, k)
    .map(({ nodeId, square }) => ({ nodeId, cosine: cosineFromL2(Math.sqrt(square)) }));
}

/** A filter on ids; both of its forms say the same. */
export function idTest(sql: string, params: readonly number[], passes: (nodeId: number) => boolean): NodeTest {
  return { subquery: () => ({ sql, params }), passes };
}

function squareBetween(a: Int8Array, b: Int8Array): number {
  return a.reduce((sum, value, at) => sum + (value - (b[at] ?? 0)) ** 2, 0);
}
