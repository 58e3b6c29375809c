/** The words a person gave for an event, in the erasable text table. */
import type { Connection } from "./connection.ts";
import type { Contents } from "./contents.ts";

export class Reasons {
  readonly #connection: Connection;
  readonly #contents: Contents;

  constructor(connection: Connection, contents: Contents) {
    this.#connection = connection;
    this.#contents = contents;
  }

  add(eventSeq: number, contentId: number): void {
    this.#connection.sql("INSERT INTO reason (event_seq, content_id) VALUES (?, ?)").run(eventSeq, contentId);
  }

  /** The words, or null when none were given or they were erased. */
  of(eventSeq: number): string | null {
    const row = this.#connection
      .sql<{ contentId: number }>("SELECT content_id AS contentId FROM reason WHERE event_seq = ?")
      .get(eventSeq);
    return row === undefined ? null : this.#contents.text(row.contentId);
  }
}
