/**
 * What the extraction of notes needs of the tables: which notes are known, where their blocks stand, and the
 * changes an edited note brings to occurrences and wikilinks, each under its event. Decides nothing.
 */
import { type Actor, LINK_TYPES } from "../core/types.ts";
import { sha256 } from "./digest.ts";
import type { Store } from "./store.ts";

/** The row of a note's file among the extract cursors. */
export interface NoteCursor {
  readonly fileDigest: Buffer;
  readonly state: unknown;
}

/** A standing occurrence of a source, with what identifies its text. */
export interface StandingBlock {
  readonly id: number;
  readonly nodeId: number;
  readonly legId: number;
  readonly thread: number;
  readonly ordinal: number;
  /** Null once its words were erased. */
  readonly valueKey: Buffer | null;
  readonly recordDigest: Buffer | null;
}

/** A wikilink of a standing occurrence. */
export interface StoredMention {
  readonly id: number;
  readonly nodeId: number;
  readonly sourceId: number;
  readonly target: string;
}

export interface JoinedMention extends StoredMention {
  readonly linkId: number;
  readonly toId: number;
}

export interface MentionJoin {
  readonly mentionId: number;
  readonly fromId: number;
  readonly toId: number;
}

const MENTION = LINK_TYPES.indexOf("mention");
const MENTION_WEIGHT = 1000;

export class Notes {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Notes whose state lists this folder digest among `folders`. */
  cursorsUnder(folderDigest: string): NoteCursor[] {
    return this.#store.connection
      .sql<{ fileDigest: Buffer; state: string }>(
        `SELECT file_digest AS fileDigest, state FROM extract_cursor
         WHERE state LIKE '%"folders"%' AND EXISTS (SELECT 1 FROM json_each(state, '$.folders') WHERE value = ?)`,
      )
      .all(folderDigest)
      .map(({ fileDigest, state }) => ({ fileDigest, state: JSON.parse(state) as unknown }));
  }

  /** True when some file's state names this source key. */
  isKeyTaken(key: string): boolean {
    return (
      this.#store.connection
        .sql("SELECT 1 FROM extract_cursor WHERE json_extract(state, '$.key') = ? LIMIT 1")
        .get(key) !== undefined
    );
  }

  dropCursor(fileDigest: Buffer): void {
    this.#store.connection.sql("DELETE FROM extract_cursor WHERE file_digest = ?").run(fileDigest);
  }

  /** Standing occurrences of a source, in order. */
  standing(sourceId: number): StandingBlock[] {
    return this.#store.connection
      .sql<StandingBlock>(
        `SELECT o.id, o.node_id AS nodeId, o.leg_id AS legId, o.thread, o.ordinal, n.value_key AS valueKey,
           o.record_digest AS recordDigest
         FROM occurrence o JOIN node n ON n.id = o.node_id
         WHERE o.source_id = ? AND o.ended_seq IS NULL ORDER BY o.ordinal`,
      )
      .all(sourceId);
  }

  /** Ordinals of a source that cannot be given again, those of ended occurrences included. */
  usedOrdinals(sourceId: number): Set<number> {
    const rows = this.#store.connection
      .sql<{ ordinal: number }>("SELECT ordinal FROM occurrence WHERE source_id = ?")
      .all(sourceId);
    return new Set(rows.map(({ ordinal }) => ordinal));
  }

  /** Gives occurrences of a source other places in its order, to ordinals that nothing holds. */
  moveOccurrences(
    sourceId: number,
    moves: readonly { readonly id: number; readonly to: number }[],
    actor: Actor,
  ): void {
    if (moves.length === 0) return;
    const { connection, ledger, thoughts } = this.#store;
    const ordinal = connection.sql<{ ordinal: number }>("SELECT ordinal FROM occurrence WHERE id = ?");
    ledger.record({
      kind: "occurrence.moved",
      actor,
      payload: {
        source: thoughts.publicId(sourceId),
        moves: moves.map(({ id, to }) => [ordinal.get(id)?.ordinal ?? 0, to]),
      },
    });
    const update = connection.sql("UPDATE occurrence SET ordinal = ? WHERE id = ?");
    for (const { id, to } of moves) update.run(to, id);
  }

  /**
   * Ends occurrences of one node in one source; a leg that loses its last one ends with it. The node's referent
   * time and trust follow what still stands.
   * @returns true when the node has no leg left
   */
  endOccurrences(sourceId: number, nodeId: number, blocks: readonly StandingBlock[], actor: Actor): boolean {
    const { connection, legs, ledger, thoughts } = this.#store;
    const ids = new Set(blocks.map(({ id }) => id));
    const legIds = [...new Set(blocks.map(({ legId }) => legId))];
    const inLeg = connection.sql<{ id: number }>("SELECT id FROM occurrence WHERE leg_id = ? AND ended_seq IS NULL");
    const emptied = legIds.filter((legId) => inLeg.all(legId).every(({ id }) => ids.has(id)));
    const single = blocks.filter(({ legId }) => !emptied.includes(legId));
    if (single.length > 0) {
      const seq = ledger.record({
        kind: "occurrence.ended",
        actor,
        payload: {
          node: thoughts.publicId(nodeId),
          source: thoughts.publicId(sourceId),
          ordinals: single.map(({ ordinal }) => ordinal),
          reason: "source_gone",
        },
      });
      const update = connection.sql("UPDATE occurrence SET ended_seq = ?, record_digest = NULL WHERE id = ?");
      for (const { id } of single) update.run(seq, id);
    }
    if (emptied.length > 0) legs.end(nodeId, emptied, actor, "source_gone");
    thoughts.refreshReferent(nodeId);
    return !legs.hasStanding(nodeId);
  }

  /** The first occurrence in the order of a source, or null. */
  firstNodeOf(sourceId: number): number | null {
    return (
      this.#store.connection
        .sql<{ id: number }>(
          `SELECT node_id AS id FROM occurrence WHERE source_id = ? AND ended_seq IS NULL ORDER BY ordinal LIMIT 1`,
        )
        .get(sourceId)?.id ?? null
    );
  }

  /** What an occurrence mentions, as written. */
  mentionTargets(occurrenceId: number): string[] {
    return this.#store.connection
      .sql<{ targetId: number }>("SELECT target_id AS targetId FROM mention WHERE occurrence_id = ?")
      .all(occurrenceId)
      .flatMap(({ targetId }) => this.#store.contents.text(targetId) ?? []);
  }

  /** Mentions without a link, oldest first, from the one after `after` on. */
  unjoinedMentions(after: number, limit: number): StoredMention[] {
    return this.#withTargets(
      this.#store.connection
        .sql<{ id: number; nodeId: number; sourceId: number; targetId: number }>(
          `SELECT m.id, o.node_id AS nodeId, o.source_id AS sourceId, m.target_id AS targetId
           FROM mention m JOIN occurrence o ON o.id = m.occurrence_id
           WHERE m.id > ? AND m.link_id IS NULL AND o.ended_seq IS NULL ORDER BY m.id LIMIT ?`,
        )
        .all(after, limit),
    );
  }

  /** Mentions whose link goes to a thought that stands, or stood, in this source. */
  mentionsInto(sourceId: number): JoinedMention[] {
    return this.#withTargets(
      this.#store.connection
        .sql<{ id: number; nodeId: number; sourceId: number; targetId: number; linkId: number; toId: number }>(
          `SELECT DISTINCT m.id, o.node_id AS nodeId, o.source_id AS sourceId, m.target_id AS targetId,
             l.id AS linkId, l.to_id AS toId
           FROM occurrence t JOIN link l ON l.to_id = t.node_id AND l.type = ${MENTION} AND l.ended_seq IS NULL
           JOIN occurrence o ON o.node_id = l.from_id AND o.ended_seq IS NULL
           JOIN mention m ON m.occurrence_id = o.id AND m.link_id = l.id
           WHERE t.source_id = ? ORDER BY m.id`,
        )
        .all(sourceId),
    );
  }

  /** Joins mentions to links, made where they do not stand yet, under one event for each of the two. */
  joinMentions(joins: readonly MentionJoin[], actor: Actor): void {
    const { connection, links } = this.#store;
    const wanted = joins.filter(({ fromId, toId }) => fromId !== toId);
    if (wanted.length === 0) return;
    links.add(
      wanted.map(({ fromId, toId }) => ({ type: "mention", fromId, toId, weight: MENTION_WEIGHT })),
      actor,
    );
    const seq = this.#recordMentions("mention.joined", wanted, actor);
    const update = connection.sql(
      `UPDATE mention SET joined_seq = ?, link_id = (
         SELECT id FROM link WHERE from_id = ? AND to_id = ? AND type = ${MENTION} AND ended_seq IS NULL)
       WHERE id = ?`,
    );
    for (const { mentionId, fromId, toId } of wanted) update.run(seq, fromId, toId, mentionId);
  }

  /**
   * Takes mentions off their links under one event, and ends under another each link that no standing mention
   * holds any more.
   */
  partMentions(mentions: readonly JoinedMention[], actor: Actor): void {
    if (mentions.length === 0) return;
    const { connection, links } = this.#store;
    const seq = this.#recordMentions(
      "mention.parted",
      mentions.map(({ nodeId, toId }) => ({ fromId: nodeId, toId })),
      actor,
    );
    const part = connection.sql("UPDATE mention SET link_id = NULL, joined_seq = ? WHERE id = ?");
    for (const { id } of mentions) part.run(seq, id);
    const held = connection.sql(
      `SELECT 1 FROM occurrence o JOIN mention m ON m.occurrence_id = o.id
       WHERE o.node_id = ? AND o.ended_seq IS NULL AND m.link_id = ? LIMIT 1`,
    );
    const loose = new Map(
      mentions
        .filter(({ nodeId, linkId }) => held.get(nodeId, linkId) === undefined)
        .map(({ linkId, nodeId, toId }) => [
          linkId,
          { id: linkId, type: "mention", fromId: nodeId, toId, weight: MENTION_WEIGHT } as const,
        ]),
    );
    links.end([...loose.values()], actor);
  }

  /** One event for mentions that were joined or parted, with the digest of who mentions whom. */
  #recordMentions(
    kind: "mention.joined" | "mention.parted",
    mentions: readonly { readonly fromId: number; readonly toId: number }[],
    actor: Actor,
  ): number {
    const { ledger, thoughts } = this.#store;
    const rows = mentions.map(({ fromId, toId }) => `${thoughts.publicId(fromId)} ${thoughts.publicId(toId)}`);
    return ledger.record({
      kind,
      actor,
      payload: { count: rows.length, rows: sha256(rows.join("\n")).toString("hex") },
    });
  }

  #withTargets<R extends { readonly targetId: number }>(rows: readonly R[]): (R & { readonly target: string })[] {
    return rows.flatMap((row) => {
      const target = this.#store.contents.text(row.targetId);
      return target === null ? [] : [{ ...row, target }];
    });
  }
}
