/**
 * Typed links that justify nothing, and the wikilinks that wait for their target. One event covers a
 * batch and hashes its rows.
 */
import { formatId } from "../core/ids.ts";
import { type Actor, LINK_TYPES, type LinkType } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import type { Contents } from "./contents.ts";
import { sha256 } from "./digest.ts";
import type { Ledger } from "./ledger.ts";

export interface NewLink {
  readonly type: LinkType;
  readonly fromId: number;
  readonly toId: number;
  /** 0–1000. */
  readonly weight: number;
}

export interface LinkRow {
  readonly id: number;
  readonly type: LinkType;
  readonly fromId: number;
  readonly toId: number;
  readonly weight: number;
}

type StoredLink = Omit<LinkRow, "type"> & { readonly type: number };

export class Links {
  readonly #connection: Connection;
  readonly #ledger: Ledger;
  readonly #contents: Contents;

  constructor(connection: Connection, ledger: Ledger, contents: Contents) {
    this.#connection = connection;
    this.#ledger = ledger;
    this.#contents = contents;
  }

  has(type: LinkType, fromId: number, toId: number): boolean {
    return (
      this.#connection
        .sql("SELECT 1 FROM link WHERE from_id = ? AND to_id = ? AND type = ? AND ended_seq IS NULL")
        .get(fromId, toId, LINK_TYPES.indexOf(type)) !== undefined
    );
  }

  /** Adds the links that do not stand yet, under one event. @returns ids of the new rows in order */
  add(links: readonly NewLink[], actor: Actor): number[] {
    const fresh = links.filter(({ type, fromId, toId }) => fromId !== toId && !this.has(type, fromId, toId));
    const seen = new Set<string>();
    const unique = fresh.filter(({ type, fromId, toId }) => {
      const key = `${type} ${fromId} ${toId}`;
      return seen.has(key) ? false : seen.add(key);
    });
    if (unique.length === 0) return [];
    const seq = this.#ledger.record({
      kind: "link.added",
      actor,
      payload: { count: unique.length, rows: this.#rowsDigest(unique) },
    });
    const insert = this.#connection.sql(
      "INSERT INTO link (type, from_id, to_id, weight, added_seq) VALUES (?, ?, ?, ?, ?)",
    );
    return unique.map(({ type, fromId, toId, weight }) =>
      Number(insert.run(LINK_TYPES.indexOf(type), fromId, toId, weight, seq).lastInsertRowid),
    );
  }

  /** Ends links under one event. */
  end(links: readonly LinkRow[], actor: Actor): void {
    if (links.length === 0) return;
    // In the order of their rows, so that the digest can be made again from them.
    const ending = [...links].sort((a, b) => a.id - b.id);
    const seq = this.#ledger.record({
      kind: "link.ended",
      actor,
      payload: { count: ending.length, rows: this.#rowsDigest(ending) },
    });
    const update = this.#connection.sql("UPDATE link SET ended_seq = ? WHERE id = ? AND ended_seq IS NULL");
    for (const { id } of ending) update.run(seq, id);
  }

  /** Standing links from or to a node, strongest first, at most `limit` each way. */
  of(nodeId: number, limit: number): LinkRow[] {
    const columns = "SELECT id, type, from_id AS fromId, to_id AS toId, weight FROM link";
    const order = "AND ended_seq IS NULL ORDER BY weight DESC, id LIMIT ?";
    return [
      ...this.#connection.sql<StoredLink>(`${columns} WHERE from_id = ? ${order}`).all(nodeId, limit),
      ...this.#connection.sql<StoredLink>(`${columns} WHERE to_id = ? ${order}`).all(nodeId, limit),
    ].map((row) => ({ ...row, type: LINK_TYPES[row.type] ?? "similar" }));
  }

  /** Number of standing links from and to a node. */
  count(nodeId: number): number {
    return (
      this.#connection
        .values<number>(
          `SELECT (SELECT count(*) FROM link WHERE from_id = @nodeId AND ended_seq IS NULL)
             + (SELECT count(*) FROM link WHERE to_id = @nodeId AND ended_seq IS NULL)`,
        )
        .get({ nodeId }) ?? 0
    );
  }

  /**
   * Pairs of a node and one it has a standing link of the type with, either way, whatever their states;
   * the `limit` strongest each way.
   */
  neighbors(nodeIds: readonly number[], type: LinkType, limit: number): { nodeId: number; neighborId: number }[] {
    const wanted = JSON.stringify(nodeIds);
    const over = (own: "from_id" | "to_id", other: "from_id" | "to_id") => {
      const standing = `link WHERE ${own} = wanted.value AND type = ? AND ended_seq IS NULL`;
      // The index gives them in order, but a view of the past would be gone through whole for that.
      const ids = this.#connection.asOfSeq === null ? standing : `main.link WHERE id IN (SELECT id FROM ${standing})`;
      return this.#connection
        .sql<{ nodeId: number; neighborId: number }>(
          `SELECT wanted.value AS nodeId, l.${other} AS neighborId FROM json_each(?) wanted
           CROSS JOIN main.link l ON l.id IN (SELECT id FROM ${ids} ORDER BY weight DESC, ${other} LIMIT ?)`,
        )
        .all(wanted, LINK_TYPES.indexOf(type), limit);
    };
    return [...over("from_id", "to_id"), ...over("to_id", "from_id")];
  }

  /** Keeps wikilinks as written, so that a target met later can be joined. */
  addMentions(
    mentions: readonly { occurrenceId: number; nodeId: number; targetDigest: Buffer; target: string }[],
    actor: Actor,
  ): void {
    if (mentions.length === 0) return;
    const stored = mentions.map((mention) => ({ ...mention, content: this.#contents.add(mention.target) }));
    const seq = this.#ledger.record({
      kind: "mention.added",
      actor,
      payload: {
        count: stored.length,
        rows: sha256(
          stored
            .map(
              (row) =>
                `${this.#publicId(row.nodeId)} ${row.targetDigest.toString("hex")} ${row.content.commitment.toString("hex")}`,
            )
            .join("\n"),
        ).toString("hex"),
      },
    });
    const insert = this.#connection.sql(
      "INSERT INTO mention (occurrence_id, target_digest, target_id, event_seq) VALUES (?, ?, ?, ?)",
    );
    for (const row of stored) insert.run(row.occurrenceId, row.targetDigest, row.content.id, seq);
  }

  #rowsDigest(links: readonly NewLink[]): string {
    const lines = links.map(
      ({ type, fromId, toId, weight }) => `${type} ${this.#publicId(fromId)} ${this.#publicId(toId)} ${weight}`,
    );
    return sha256(lines.join("\n")).toString("hex");
  }

  #publicId(nodeId: number): string {
    const row = this.#connection
      .sql<{ role: number; publicId: Buffer }>("SELECT role, public_id AS publicId FROM node WHERE id = ?")
      .get(nodeId);
    if (row === undefined) throw new RangeError("no such node");
    return formatId(row.role === 0 ? "source" : "thought", row.publicId);
  }
}
