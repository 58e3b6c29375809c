/**
 * Scopes and the session's view of them. What the connection may read is a temporary table that every
 * read joins; what it writes into is one scope.
 */
import { DormouseError } from "../core/errors.ts";
import type { Actor } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import type { Labels } from "./labels.ts";
import type { Ledger } from "./ledger.ts";

/** Scopes of a new brain, least restrictive first. */
const FIRST_SCOPES = ["public", "work", "personal", "secret"] as const;
const DEFAULT_SCOPE = "personal";
/** Ranks leave room for scopes in between. */
const RANK_GAP = 1000;

export class Scopes {
  readonly #connection: Connection;
  readonly #labels: Labels;
  readonly #ledger: Ledger;

  constructor(connection: Connection, labels: Labels, ledger: Ledger) {
    this.#connection = connection;
    this.#labels = labels;
    this.#ledger = ledger;
  }

  /** Inside the transaction that creates the brain. */
  createFirst(actor: Actor): void {
    FIRST_SCOPES.forEach((name, index) => {
      const labelId = this.#labels.intern("scope", name, actor);
      const rank = (index + 1) * RANK_GAP;
      const seq = this.#ledger.record({
        kind: "scope.created",
        actor,
        payload: { scope: this.#labels.publicId(labelId), rank },
      });
      this.#connection.sql("INSERT INTO scope (label_id, rank, added_seq) VALUES (?, ?, ?)").run(labelId, rank, seq);
    });
  }

  /** Opens every scope to this connection's reads. */
  openAll(): void {
    this.#connection.db.exec(
      `CREATE TEMP TABLE IF NOT EXISTS session_scope (id INTEGER PRIMARY KEY);
       CREATE TEMP TABLE IF NOT EXISTS pending_recall (node_id INTEGER PRIMARY KEY, event_seq INTEGER NOT NULL);
       INSERT OR IGNORE INTO session_scope SELECT id FROM main.scope;`,
    );
  }

  /**
   * Opens these scopes alone to this connection's reads.
   * @throws DormouseError `unknown_scope`
   */
  openOnly(names: readonly string[]): void {
    const ids = names.map((name) => this.idOf(name));
    this.#connection.db.exec("DELETE FROM temp.session_scope");
    for (const id of ids) this.#connection.sql("INSERT OR IGNORE INTO temp.session_scope (id) VALUES (?)").run(id);
  }

  /** Ids the session may read, ascending. */
  readableIds(): number[] {
    return this.#connection
      .sql<{ id: number }>("SELECT id FROM temp.session_scope ORDER BY id")
      .all()
      .map(({ id }) => id);
  }

  /** @throws DormouseError `unknown_scope`, listing those that exist. */
  idOf(name: string = DEFAULT_SCOPE): number {
    const labelId = this.#labels.find("scope", name);
    const row =
      labelId === null
        ? undefined
        : this.#connection.sql<{ id: number }>("SELECT id FROM scope WHERE label_id = ?").get(labelId);
    if (row === undefined) {
      throw new DormouseError("unknown_scope", "that scope does not exist", {
        hint: `Scopes, least restrictive first: ${this.names().join(", ")}.`,
      });
    }
    return row.id;
  }

  /** The scope's word. */
  nameOf(scopeId: number): string {
    const row = this.#connection
      .sql<{ labelId: number }>("SELECT label_id AS labelId FROM scope WHERE id = ?")
      .get(scopeId);
    return row === undefined ? "" : (this.#labels.text(row.labelId) ?? "");
  }

  names(): string[] {
    return this.#connection
      .sql<{ labelId: number }>("SELECT label_id AS labelId FROM scope ORDER BY rank")
      .all()
      .map(({ labelId }) => this.#labels.text(labelId) ?? "");
  }

  /** The least restrictive scope of all: for what is nobody's secret. */
  loosest(): number {
    const row = this.#connection.sql<{ id: number }>("SELECT id FROM scope ORDER BY rank LIMIT 1").get();
    if (row === undefined) throw new RangeError("the brain has no scope");
    return row.id;
  }

  /** The most restrictive of the given scopes. */
  strictest(scopeIds: readonly number[]): number {
    const rank = this.#connection.sql<{ rank: number }>("SELECT rank FROM scope WHERE id = ?");
    return scopeIds.reduce((strictest, id) =>
      (rank.get(id)?.rank ?? 0) > (rank.get(strictest)?.rank ?? 0) ? id : strictest,
    );
  }
}
