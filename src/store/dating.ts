/**
 * Gives a meeting a time that nobody knew when it was recorded. The row ends and another one with the time takes its
 * place, under one event, so that the past is still answered as it was known then. Refuses to change a known time.
 */
import { DormouseError } from "../core/errors.ts";
import type { Actor } from "../core/types.ts";
import type { StoredReferent } from "./occurrences.ts";
import type { Store } from "./store.ts";

export interface Dating {
  readonly occurrenceId: number;
  readonly referent: StoredReferent;
  /** Local id of the source that says so. */
  readonly by: number;
}

interface OccurrenceRow {
  readonly nodeId: number;
  readonly sourceId: number;
  readonly thread: number;
  readonly ordinal: number;
  readonly speakerId: number | null;
  readonly recordDigest: Buffer | null;
}

/**
 * Inside a write transaction. @returns the new occurrence's id
 * @throws DormouseError `invalid` when the meeting ended or has a time
 */
export function dateOccurrence(store: Store, { occurrenceId, referent, by }: Dating, actor: Actor): number {
  const { connection, ledger, thoughts } = store;
  const row = connection
    .sql<OccurrenceRow>(
      `SELECT node_id AS nodeId, source_id AS sourceId, thread, ordinal, speaker_id AS speakerId,
         record_digest AS recordDigest FROM occurrence WHERE id = ? AND ended_seq IS NULL AND referent_kind = 0`,
    )
    .get(occurrenceId);
  if (row === undefined || referent.kind === 0) {
    throw new DormouseError("invalid", "only a standing meeting of unknown time can be given one");
  }
  const source = thoughts.publicId(row.sourceId);
  const seq = ledger.record({
    kind: "occurrence.dated",
    actor,
    payload: {
      node: thoughts.publicId(row.nodeId),
      source,
      ordinal: row.ordinal,
      by: thoughts.publicId(by),
      occurrence: {
        source,
        ordinal: row.ordinal,
        thread: row.thread === 0 ? undefined : row.thread,
        speaker: row.speakerId === null ? undefined : store.labels.publicId(row.speakerId),
        referent: [referent.from, referent.to, referent.kind],
      },
    },
  });
  connection.sql("UPDATE occurrence SET ended_seq = ?, record_digest = NULL WHERE id = ?").run(seq, occurrenceId);
  const { lastInsertRowid } = connection
    .sql(
      `INSERT INTO occurrence (node_id, source_id, leg_id, thread, ordinal, speaker_id,
         referent_from, referent_to, referent_kind, record_digest, event_seq)
       SELECT node_id, source_id, leg_id, thread, ordinal, speaker_id, ?, ?, ?, ?, ? FROM occurrence WHERE id = ?`,
    )
    .run(referent.from, referent.to, referent.kind, row.recordDigest, seq, occurrenceId);
  const datedId = Number(lastInsertRowid);
  connection.sql("UPDATE mention SET occurrence_id = ? WHERE occurrence_id = ?").run(datedId, occurrenceId);
  thoughts.refreshReferent(row.nodeId);
  return datedId;
}
