/**
 * The registry of embedding models: the one a brain searches with, and beside it at most one whose vectors are
 * being made. Each has a table of its own; vectors of two models are never in one, nor compared.
 */
import { DormouseError } from "../core/errors.ts";
import type { EmbeddingModel } from "../core/ports.ts";
import type { Connection } from "./connection.ts";
import { createVectorTable, dropVectorTable, type ModelRow } from "./vector-table.ts";

const COLUMNS = "id, name, revision, dimensions, runtime, vec_table AS vecTable";

/** Lease of whoever makes vectors for a whole brain; a switch of models can only come from its holder. */
export const VECTOR_LEASE = "model";

interface Registered {
  readonly active: ModelRow | null;
  readonly building: ModelRow | null;
}

/** How far the vectors of a model are made. */
export interface BuildProgress {
  /** Thoughts that have a vector of the model, hidden ones included. */
  readonly done: number;
  /** Thoughts that are not erased. */
  readonly total: number;
}

export class EmbeddingModels {
  readonly #connection: Connection;
  readonly #now: () => number;
  #registered: Registered | undefined;

  constructor(connection: Connection, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  /** The model whose vectors this brain searches with, or null before the first. */
  active(): ModelRow | null {
    return this.#read().active;
  }

  /** @throws DormouseError `model_missing` before the first model. */
  required(): ModelRow {
    const active = this.active();
    if (active === null) throw new DormouseError("model_missing", "this brain has no embedding model yet");
    return active;
  }

  /** The model that shall take the active one's place once every thought has its vector; null when none shall. */
  building(): ModelRow | null {
    return this.#read().building;
  }

  /** @throws DormouseError `not_found` when no model is being built. */
  requiredBuilding(): ModelRow {
    const building = this.building();
    if (building === null) throw new DormouseError("not_found", "no model is being built for this brain any more");
    return building;
  }

  /**
   * Makes the model the active one of a brain that has none, or checks that it is the one.
   * @throws DormouseError `model_mismatch`: vectors of two models are never mixed.
   */
  use(model: EmbeddingModel): void {
    if (this.adopt(model)) return;
    const { name, revision } = this.required();
    throw new DormouseError(
      "model_mismatch",
      `this brain's vectors were made by ${name} (${revision}), not by ${model.name} (${model.revision})`,
      { hint: `\`dormouse model use ${model.name}\` makes all vectors again with that model.` },
    );
  }

  /** True when the brain's vectors are this model's. */
  isActive(model: EmbeddingModel): boolean {
    const active = this.active();
    return active !== null && isSameModel(active, model);
  }

  /** Makes the model the active one of a brain that has none. @returns whether it is the active one now */
  adopt(model: EmbeddingModel): boolean {
    if (this.active() === null) {
      this.#connection.write(() => {
        this.forgetCache();
        if (this.active() === null) this.#insert(model, true);
        this.forgetCache();
      });
    }
    return this.isActive(model);
  }

  /**
   * Registers the model as the one that is being built and gives it an empty table; one that was being built
   * before is given up, unless it is the same. Inside a transaction.
   */
  begin(model: EmbeddingModel): void {
    const building = this.building();
    if (building !== null && isSameModel(building, model)) return;
    this.abandon();
    this.#insert(model, false);
  }

  /** Gives up the model that is being built, with its vectors. Inside a transaction. */
  abandon(): void {
    const building = this.building();
    if (building !== null) this.#remove(building);
  }

  /** Puts the built model in the active one's place and drops the old vectors. Inside a transaction. */
  activate(): void {
    const { id } = this.requiredBuilding();
    const active = this.active();
    if (active !== null) this.#remove(active);
    this.#connection.sql("UPDATE embedding_model SET active = 1 WHERE id = ?").run(id);
    this.forgetCache();
  }

  /** Ids of thoughts above `after`, hidden ones too, that have no vector of the model being built; in id order. */
  unbuilt(after: number, limit: number): number[] {
    const { vecTable } = this.requiredBuilding();
    return this.#connection
      .values<number>(
        `SELECT n.id FROM node n WHERE n.id > ? AND n.role = 1 AND n.erased_by IS NULL
           AND NOT EXISTS (SELECT 1 FROM ${vecTable}_rowids r WHERE r.rowid = n.id)
         ORDER BY n.id LIMIT ?`,
      )
      .all(after, limit);
  }

  /** How far the model that is being built has come. */
  buildProgress(): BuildProgress {
    const { vecTable } = this.requiredBuilding();
    const count = (sql: string) => this.#connection.values<number>(sql).get() ?? 0;
    return { done: count(`SELECT count(*) FROM ${vecTable}_rowids`), total: this.countThoughts() };
  }

  /** Thoughts that a model must have vectors of: all that are not erased. */
  countThoughts(): number {
    const sql = "SELECT count(*) FROM node WHERE role = 1 AND erased_by IS NULL";
    return this.#connection.values<number>(sql).get() ?? 0;
  }

  /**
   * Drops the active model with all its vectors, so that the next `use` starts anew; one that is being built
   * starts anew too.
   */
  clear(): void {
    const { active, building } = this.#read();
    if (active !== null) this.#remove(active);
    if (building === null) return;
    this.#remove(building);
    this.#insert(building, false);
  }

  /** Another process may have made another model the active one: the store asks anew in each transaction. */
  forgetCache(): void {
    this.#registered = undefined;
  }

  #read(): Registered {
    if (this.#registered === undefined) {
      const rows = this.#connection
        .sql<ModelRow & { active: number }>(`SELECT ${COLUMNS}, active FROM embedding_model ORDER BY id DESC`)
        .all();
      const [active = null, building = null] = [1, 0].map((wanted) => rows.find((row) => row.active === wanted));
      this.#registered = { active, building };
    }
    return this.#registered;
  }

  #remove({ id, vecTable }: ModelRow): void {
    dropVectorTable(this.#connection, vecTable);
    this.#connection.sql("DELETE FROM embedding_model WHERE id = ?").run(id);
    this.forgetCache();
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
    this.forgetCache();
  }
}

/** The same vectors: name, revision and dimensions are equal; the runtime differs in last digits only. */
export function isSameModel(a: EmbeddingModel, b: EmbeddingModel): boolean {
  return a.name === b.name && a.revision === b.revision && a.dimensions === b.dimensions;
}
