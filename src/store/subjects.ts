/** Subjects: whom or what thoughts are about, as the reference a person gave them. */
import type { Actor } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import type { Labels } from "./labels.ts";
import type { Ledger } from "./ledger.ts";

export class Subjects {
  readonly #connection: Connection;
  readonly #labels: Labels;
  readonly #ledger: Ledger;

  constructor(connection: Connection, labels: Labels, ledger: Ledger) {
    this.#connection = connection;
    this.#labels = labels;
    this.#ledger = ledger;
  }

  intern(reference: string, actor: Actor): number {
    const labelId = this.#labels.intern("subject", reference, actor);
    const found = this.#connection.sql<{ id: number }>("SELECT id FROM subject WHERE label_id = ?").get(labelId);
    if (found !== undefined) return found.id;
    const seq = this.#ledger.record({
      kind: "subject.created",
      actor,
      payload: { subject: this.#labels.publicId(labelId) },
    });
    const { lastInsertRowid } = this.#connection
      .sql("INSERT INTO subject (label_id, added_seq) VALUES (?, ?)")
      .run(labelId, seq);
    return Number(lastInsertRowid);
  }
}
