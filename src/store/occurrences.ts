/**
 * Occurrences: where, when and by whom a value was met. Their order within a source is the `next` link;
 * ordinals are gapped so that an insertion moves nothing.
 */
import type { Connection } from "./connection.ts";

/** Distance between ordinals of consecutive occurrences. */
const ORDINAL_GAP = 1024;

/** Occurrences that a neighbourhood read looks at: of one node, and each way from one of them. */
const PLACES_LOOKED_AT = 64;

/** A referent time as stored: kind 0 unknown, 1 known, 2 offset unknown. */
export interface StoredReferent {
  readonly from: number | null;
  readonly to: number | null;
  readonly kind: number;
}

export interface NewOccurrence {
  readonly sourceId: number;
  readonly thread: number;
  readonly ordinal: number;
  readonly speakerId: number | null;
  readonly referent: StoredReferent;
  readonly recordDigest: Buffer | null;
}

export interface OccurrenceRow {
  readonly id: number;
  readonly nodeId: number;
  readonly sourceId: number;
  readonly legId: number;
  readonly thread: number;
  readonly ordinal: number;
  readonly referentFrom: number | null;
  readonly referentTo: number | null;
  readonly referentKind: number;
  readonly ended: number;
}

const COLUMNS = `o.id, o.node_id AS nodeId, o.source_id AS sourceId, o.leg_id AS legId, o.thread, o.ordinal,
  o.referent_from AS referentFrom, o.referent_to AS referentTo, o.referent_kind AS referentKind,
  o.ended_seq IS NOT NULL AS ended`;

/** A neighbour in the order of a source. `step` −1: the one before, +1: the one after. */
export interface SequenceNeighbor {
  readonly nodeId: number;
  readonly neighborId: number;
  readonly step: -1 | 1;
}

/** The nodes before and after one occurrence of a node, nearest first. */
export interface Surroundings {
  readonly nodeId: number;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

export class Occurrences {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** True when this very record was read before, from whatever file. */
  isKnown(recordDigest: Buffer): boolean {
    return this.nodeOfRecord(recordDigest) !== null;
  }

  nodeOfRecord(recordDigest: Buffer): number | null {
    return (
      this.#connection
        .sql<{ id: number }>("SELECT node_id AS id FROM occurrence WHERE record_digest = ?")
        .get(recordDigest)?.id ?? null
    );
  }

  /** True when the node stands in this source. Looks at the node's occurrences one after another: for rare questions. */
  isMetIn(nodeId: number, sourceId: number): boolean {
    return (
      this.#connection
        .sql("SELECT 1 FROM occurrence WHERE node_id = ? AND source_id = ? AND ended_seq IS NULL LIMIT 1")
        .get(nodeId, sourceId) !== undefined
    );
  }

  /** True when something stands at this place of the source. */
  isTaken(sourceId: number, ordinal: number): boolean {
    return (
      this.#connection
        .sql("SELECT 1 FROM occurrence WHERE source_id = ? AND ordinal = ? AND ended_seq IS NULL")
        .get(sourceId, ordinal) !== undefined
    );
  }

  /** The ordinal after everything that stands in the source. */
  nextOrdinal(sourceId: number): number {
    const row = this.#connection
      .sql<{ last: number | null }>(
        "SELECT max(ordinal) AS last FROM occurrence WHERE source_id = ? AND ended_seq IS NULL",
      )
      .get(sourceId);
    return (row?.last ?? 0) + ORDINAL_GAP;
  }

  /** Writes the row under an event that already names it. */
  insert(nodeId: number, legId: number, occurrence: NewOccurrence, seq: number): number {
    const { referent } = occurrence;
    const { lastInsertRowid } = this.#connection
      .sql(
        `INSERT INTO occurrence (node_id, source_id, leg_id, thread, ordinal, speaker_id,
           referent_from, referent_to, referent_kind, record_digest, event_seq)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        nodeId,
        occurrence.sourceId,
        legId,
        occurrence.thread,
        occurrence.ordinal,
        occurrence.speakerId,
        referent.from,
        referent.to,
        referent.kind,
        occurrence.recordDigest,
        seq,
      );
    return Number(lastInsertRowid);
  }

  /** At most `limit` occurrences of a node: standing ones before ended ones, newer before older; the oldest first. */
  sample(nodeId: number, limit: number): OccurrenceRow[] {
    return this.#connection
      .sql<OccurrenceRow>(
        `SELECT ${COLUMNS} FROM occurrence o WHERE o.id IN (
           SELECT id FROM occurrence WHERE node_id = ? ORDER BY ended_seq IS NOT NULL, id DESC LIMIT ?) ORDER BY o.id`,
      )
      .all(nodeId, limit);
  }

  /** Number of occurrences of a node, ended ones included. */
  count(nodeId: number): number {
    return this.#connection.values<number>("SELECT count(*) FROM occurrence WHERE node_id = ?").get(nodeId) ?? 0;
  }

  countInSource(sourceId: number): number {
    return (
      this.#connection
        .sql<{ n: number }>(
          "SELECT count(DISTINCT node_id) AS n FROM occurrence WHERE source_id = ? AND ended_seq IS NULL",
        )
        .get(sourceId)?.n ?? 0
    );
  }

  /** The node before (−1) or after (1) an occurrence in its thread, whatever its state; null at the end. */
  neighborOf(occurrence: OccurrenceRow, step: -1 | 1): number | null {
    if (occurrence.thread < 0) return null;
    const [compare, order] = step === -1 ? ["<", "DESC"] : [">", "ASC"];
    const row = this.#connection
      .sql<{ id: number }>(
        `SELECT o.node_id AS id FROM occurrence o
         WHERE o.source_id = ? AND o.thread = ? AND o.ordinal ${compare} ? AND o.ended_seq IS NULL
         ORDER BY o.ordinal ${order} LIMIT 1`,
      )
      .get(occurrence.sourceId, occurrence.thread, occurrence.ordinal);
    return row?.id ?? null;
  }

  /** Moves the standing occurrences from one ordinal on to a thread of their own, under an event that says so. */
  splitThread(sourceId: number, fromOrdinal: number, thread: number): void {
    this.#connection
      .sql("UPDATE occurrence SET thread = ? WHERE source_id = ? AND thread = 0 AND ordinal >= ?")
      .run(thread, sourceId, fromOrdinal);
  }

  nextThread(sourceId: number): number {
    const row = this.#connection
      .sql<{ last: number | null }>("SELECT max(thread) AS last FROM occurrence WHERE source_id = ?")
      .get(sourceId);
    return Math.max(0, row?.last ?? 0) + 1;
  }

  byRecord(recordDigest: Buffer): OccurrenceRow | null {
    return (
      this.#connection
        .sql<OccurrenceRow>(`SELECT ${COLUMNS} FROM occurrence o WHERE o.record_digest = ?`)
        .get(recordDigest) ?? null
    );
  }

  /**
   * What stands around each node in the order of its sources, whatever the states: an entry for each occurrence,
   * of the newest `perNode` of a node, with up to `reach` nodes before and after it, nearest first. Looks at
   * `PLACES_LOOKED_AT` occurrences of a node and each way and no more, ended and loose ones included.
   */
  surroundings(nodeIds: readonly number[], perNode: number, reach: number): Surroundings[] {
    const side = (compare: "<" | ">", order: "DESC" | "ASC") =>
      `(SELECT json_group_array(s.node_id) FROM (
          SELECT near.node_id FROM (SELECT b.node_id, b.ended_seq FROM occurrence b
            WHERE b.source_id = o.source_id AND b.thread = o.thread AND b.ordinal ${compare} o.ordinal
            ORDER BY b.ordinal ${order} LIMIT ${PLACES_LOOKED_AT}) near
          WHERE near.ended_seq IS NULL LIMIT @reach) s)`;
    return this.#connection
      .tuples<[nodeId: number, before: string, after: string]>(
        `SELECT o.node_id, ${side("<", "DESC")}, ${side(">", "ASC")}
         FROM json_each(@wanted) wanted CROSS JOIN occurrence o ON o.id IN (
           SELECT met.id FROM (SELECT id, thread, ended_seq FROM occurrence WHERE node_id = wanted.value
             ORDER BY id DESC LIMIT ${PLACES_LOOKED_AT}) met
           WHERE met.thread >= 0 AND met.ended_seq IS NULL LIMIT @perNode)`,
      )
      .all({ wanted: JSON.stringify(nodeIds), perNode, reach })
      .map(([nodeId, before, after]) => ({
        nodeId,
        before: JSON.parse(before) as number[],
        after: JSON.parse(after) as number[],
      }));
  }

  /**
   * Source and speaker of the newest `perNode` occurrences of each node that stand in an order, whatever the states.
   * Looks at `PLACES_LOOKED_AT` occurrences of a node and no more, ended and loose ones included.
   */
  places(
    nodeIds: readonly number[],
    perNode: number,
  ): { readonly nodeId: number; readonly sourceId: number; readonly speakerId: number | null }[] {
    return this.#connection
      .tuples<[nodeId: number, sourceId: number, speakerId: number | null]>(
        `SELECT o.node_id, o.source_id, o.speaker_id
         FROM json_each(?) wanted CROSS JOIN occurrence o ON o.id IN (
           SELECT met.id FROM (SELECT id, thread, ended_seq FROM occurrence WHERE node_id = wanted.value
             ORDER BY id DESC LIMIT ${PLACES_LOOKED_AT}) met
           WHERE met.thread >= 0 AND met.ended_seq IS NULL LIMIT ?)`,
      )
      .all(JSON.stringify(nodeIds), perNode)
      .map(([nodeId, sourceId, speakerId]) => ({ nodeId, sourceId, speakerId }));
  }

  /**
   * Neighbours in sequence of each node whatever their state, at most `perNode` occurrences of it followed.
   * The caller drops hidden ones; they are not stepped over: what lies behind a hidden one is no neighbour.
   */
  sequenceNeighbors(nodeIds: readonly number[], perNode: number): SequenceNeighbor[] {
    return this.surroundings(nodeIds, perNode, 1)
      .flatMap(({ nodeId, before, after }) => [
        ...before.map((neighborId) => ({ nodeId, neighborId, step: -1 as const })),
        ...after.map((neighborId) => ({ nodeId, neighborId, step: 1 as const })),
      ])
      .filter(({ nodeId, neighborId }) => nodeId !== neighborId);
  }
}
