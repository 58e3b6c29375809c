/**
 * What freeing would give back: thoughts that no search finds any more, by what took them out, with the bytes of
 * their words and of what was derived from them. Reads only; nothing in this project frees a thought by itself.
 */
import { BELIEFS, DECAY_REASONS, type DecayReason } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { recalledBy } from "./visibility.ts";

const SUPERSEDED = BELIEFS.indexOf("superseded");
const REJECTED = BELIEFS.indexOf("rejected");

export interface Garbage {
  /** Of several reasons the first in this order counts; then come those of decay, then copies behind another. */
  readonly reason: "recalled" | "rejected" | "superseded" | Exclude<DecayReason, "none"> | "merged";
  readonly nodes: number;
  /** Bytes of words, of the forward index and of vectors; rows around them and pages are left out. */
  readonly bytes: number;
}

const DECAYS = DECAY_REASONS.map((reason, index) => (index === 0 ? "" : `WHEN ${index} THEN '${reason}'`)).join(" ");

/** Thoughts out of search and not erased, by reason; reasons without any are left out. @param vectorBytes of one vector */
export function findGarbage(connection: Connection, vectorBytes: number): Garbage[] {
  return connection
    .sql<Garbage>(
      `SELECT reason, count(*) AS nodes, sum(words + terms + @vectorBytes) AS bytes FROM (
         SELECT coalesce(length(c.body), 0) AS words, coalesce(length(f.terms), 0) AS terms, CASE
             WHEN ${recalledBy("n")} IS NOT NULL THEN 'recalled' WHEN n.belief = ${REJECTED} THEN 'rejected'
             WHEN n.belief = ${SUPERSEDED} THEN 'superseded'
             WHEN n.decayed > 0 THEN CASE n.decayed ${DECAYS} END ELSE 'merged' END AS reason
         FROM (
           SELECT id FROM node WHERE decayed > 0 UNION SELECT id FROM node WHERE merged_into IS NOT NULL
           UNION SELECT id FROM node WHERE recalled_by IS NOT NULL UNION SELECT node_id FROM temp.pending_recall
           UNION SELECT id FROM node WHERE belief > 0 AND belief IN (${SUPERSEDED}, ${REJECTED})
         ) hidden CROSS JOIN node n ON n.id = hidden.id
         LEFT JOIN content c ON c.id = n.content_id LEFT JOIN forward_index f ON f.node_id = n.id
         WHERE n.role = 1 AND n.erased_by IS NULL
       ) GROUP BY reason`,
    )
    .all({ vectorBytes });
}

/** Bytes of the file's pages that hold nothing. */
export function vacantBytes(connection: Connection): number {
  const pragma = (name: string) => connection.db.pragma(name, { simple: true }) as number;
  return pragma("freelist_count") * pragma("page_size");
}
