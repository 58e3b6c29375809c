/** Tombstones: values that must not come back, as keyed digests without words, and the arrivals they refused. */
import type { Actor } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import type { Labels } from "./labels.ts";
import type { Ledger } from "./ledger.ts";

export class Tombstones {
  readonly #connection: Connection;
  readonly #ledger: Ledger;
  readonly #labels: Labels;

  constructor(connection: Connection, ledger: Ledger, labels: Labels) {
    this.#connection = connection;
    this.#ledger = ledger;
    this.#labels = labels;
  }

  /** The tombstone that forbids this value, or null. */
  find(scopeId: number, valueKey: Buffer): number | null {
    return (
      this.#connection
        .sql<{ id: number }>(
          "SELECT id FROM tombstone WHERE scope_id = ? AND value_key = ? AND secret_id IS NULL AND lifted_seq IS NULL",
        )
        .get(scopeId, valueKey)?.id ?? null
    );
  }

  add(scopeId: number, valueKey: Buffer, actor: Actor): void {
    if (this.find(scopeId, valueKey) !== null) return;
    const scope = this.#connection
      .sql<{ labelId: number }>("SELECT label_id AS labelId FROM scope WHERE id = ?")
      .get(scopeId);
    const seq = this.#ledger.record({
      kind: "tombstone.added",
      actor,
      payload: { scope: scope === undefined ? undefined : this.#labels.publicId(scope.labelId) },
    });
    this.#connection
      .sql("INSERT INTO tombstone (scope_id, value_key, added_seq) VALUES (?, ?, ?)")
      .run(scopeId, valueKey, seq);
  }

  /** Counts an arrival that was turned away, by the source it came from. */
  countRefusal(tombstoneId: number, sourceId: number, now: number): void {
    this.#connection
      .sql(
        `INSERT INTO refusal (tombstone_id, source_id, count, last_at) VALUES (?, ?, 1, ?)
         ON CONFLICT (tombstone_id, source_id) DO UPDATE SET count = count + 1, last_at = excluded.last_at`,
      )
      .run(tombstoneId, sourceId, now);
  }
}
