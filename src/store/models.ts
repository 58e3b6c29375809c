/**
 * The registry of embedding models: which one a brain searches with, and the vector table of each. Refuses to
 * mix vectors of two models.
 */
import { DormouseError } from "../core/errors.ts";
import type { EmbeddingModel } from "../core/ports.ts";
import type { Connection } from "./connection.ts";
import { createVectorTable, dropVectorTable, type ModelRow } from "./vectors.ts";

const COLUMNS = "id, name, revision, dimensions, runtime, vec_table AS vecTable";

export class EmbeddingModels {
  readonly #connection: Connection;
  readonly #now: () => number;
  #active: ModelRow | null | undefined;

  constructor(connection: Connection, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  /** The model whose vectors this brain searches with, or null before the first. */
  active(): ModelRow | null {
    this.#active ??=
      this.#connection.sql<ModelRow>(`SELECT ${COLUMNS} FROM embedding_model WHERE active = 1`).get() ?? null;
    return this.#active;
  }

  /** @throws DormouseError `model_missing` before the first model. */
  required(): ModelRow {
    const active = this.active();
    if (active === null) throw new DormouseError("model_missing", "this brain has no embedding model yet");
    return active;
  }

  /**
   * Makes the model the active one of a brain that has none, or checks that it is the one.
   * @throws DormouseError `model_mismatch`: vectors of two models are never mixed.
   */
  use(model: EmbeddingModel): void {
    const active = this.active();
    if (active === null) {
      this.#connection.write(() => {
        const isTaken = this.#connection.sql("SELECT 1 FROM embedding_model WHERE active = 1").get() !== undefined;
        if (!isTaken) this.#insert(model, true);
        this.#active = undefined;
      });
      return;
    }
    if (!isSameModel(active, model)) {
      throw new DormouseError(
        "model_mismatch",
        `this brain's vectors were made by ${active.name} (${active.revision}), not by ${model.name} (${model.revision})`,
        { hint: "`dormouse doctor --rebuild` makes all vectors again with the model in use." },
      );
    }
  }

  /** Drops the active model with all its vectors, so that the next `use` starts anew. */
  clear(): void {
    const active = this.active();
    if (active === null) return;
    dropVectorTable(this.#connection, active.vecTable);
    this.#connection.sql("DELETE FROM embedding_model WHERE id = ?").run(active.id);
    this.#active = undefined;
  }

  /** Another process may have made another model the active one: the store asks anew in each transaction. */
  forgetCache(): void {
    this.#active = undefined;
  }

  #insert(model: EmbeddingModel, isActive: boolean): void {
    if (!Number.isInteger(model.dimensions) || model.dimensions < 1)
      throw new RangeError("dimensions must be positive");
    const { lastInsertRowid } = this.#connection
      .sql(
        `INSERT INTO embedding_model (name, revision, dimensions, distance, runtime, vec_table, active, created_at)
         VALUES (?, ?, ?, 'l2', ?, 'pending', ?, ?)`,
      )
      .run(model.name, model.revision, model.dimensions, model.runtime, Number(isActive), this.#now());
    const table = `vectors_${lastInsertRowid}`;
    this.#connection.sql("UPDATE embedding_model SET vec_table = ? WHERE id = ?").run(table, lastInsertRowid);
    createVectorTable(this.#connection, table, model.dimensions);
  }
}

/** The same vectors: name, revision and dimensions are equal; the runtime differs in last digits only. */
function isSameModel(a: EmbeddingModel, b: EmbeddingModel): boolean {
  return a.name === b.name && a.revision === b.revision && a.dimensions === b.dimensions;
}
