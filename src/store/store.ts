/**
 * The brain file as one object: the tables of one connection under one clock. Use-cases own the
 * transactions; everything they write inside `write` commits together or not at all.
 */
import { randomBytes } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import { formatId, randomId } from "../core/ids.ts";
import type { Actor } from "../core/types.ts";
import { Aliveness } from "./aliveness.ts";
import { seqAsOf, viewAsOf } from "./as-of.ts";
import { Beliefs } from "./beliefs.ts";
import { BUSY_TIMEOUT_MS, type Connection, type OpenOptions, openConnection, translateError } from "./connection.ts";
import { Contents } from "./contents.ts";
import { createKeyedDigest, type KeyedDigest } from "./digest.ts";
import { FullText } from "./full-text.ts";
import { Labels } from "./labels.ts";
import { Leases } from "./leases.ts";
import { Ledger } from "./ledger.ts";
import { Legs } from "./legs.ts";
import { Links } from "./links.ts";
import { EmbeddingModels } from "./models.ts";
import { Occurrences } from "./occurrences.ts";
import { Operations } from "./operations.ts";
import { Reasons } from "./reasons.ts";
import { RecallEffects } from "./recall-effects.ts";
import { Scopes } from "./scopes.ts";
import { Sources } from "./sources.ts";
import { Subjects } from "./subjects.ts";
import { Thoughts } from "./thoughts.ts";
import { Tombstones } from "./tombstones.ts";
import { Vectors } from "./vectors.ts";

export class Store {
  readonly connection: Connection;
  readonly digest: KeyedDigest;
  readonly contents: Contents;
  readonly ledger: Ledger;
  readonly labels: Labels;
  readonly scopes: Scopes;
  readonly sources: Sources;
  readonly subjects: Subjects;
  readonly legs: Legs;
  readonly occurrences: Occurrences;
  readonly thoughts: Thoughts;
  readonly links: Links;
  readonly beliefs: Beliefs;
  readonly recalls: RecallEffects;
  readonly aliveness: Aliveness;
  readonly reasons: Reasons;
  readonly tombstones: Tombstones;
  readonly fullText: FullText;
  readonly models: EmbeddingModels;
  /** The active model's. */
  readonly vectors: Vectors;
  /** Those of the model that is being built. */
  readonly buildingVectors: Vectors;
  readonly operations: Operations;
  readonly leases: Leases;
  readonly now: () => number;

  private constructor(connection: Connection, secret: Uint8Array, clock: Clock) {
    const now = () => clock.now();
    this.connection = connection;
    this.now = now;
    this.digest = createKeyedDigest(secret);
    this.contents = new Contents(connection);
    this.ledger = new Ledger(connection, now);
    this.labels = new Labels(connection, this.contents, this.ledger, this.digest);
    this.scopes = new Scopes(connection, this.labels, this.ledger);
    this.subjects = new Subjects(connection, this.labels, this.ledger);
    this.legs = new Legs(connection, this.ledger);
    this.occurrences = new Occurrences(connection);
    this.fullText = new FullText(connection);
    this.sources = new Sources(this);
    this.links = new Links(connection, this.ledger, this.contents);
    this.beliefs = new Beliefs(connection);
    this.recalls = new RecallEffects(connection);
    this.aliveness = new Aliveness(connection, this.ledger, this.recalls);
    this.reasons = new Reasons(connection, this.contents);
    this.thoughts = new Thoughts(this);
    this.tombstones = new Tombstones(connection, this.ledger, this.labels);
    this.models = new EmbeddingModels(connection, now);
    const pending = () => this.recalls.pending;
    this.vectors = new Vectors(connection, () => this.models.required(), pending);
    this.buildingVectors = new Vectors(connection, () => this.models.requiredBuilding(), pending);
    this.operations = new Operations(connection, now);
    this.leases = new Leases(connection, now);
    this.ledger.onMirroredChange((nodeId) => this.mirrorState(nodeId));
  }

  /**
   * Opens a brain. With `create`, an absent or empty file becomes a new brain.
   * @throws DormouseError as `openConnection` does.
   */
  static open(path: string, clock: Clock, options: OpenOptions = {}): Store {
    const connection = openConnection(path, options);
    try {
      const row = connection.sql<{ secret: Buffer }>("SELECT secret FROM brain WHERE id = 1").get();
      const store = row === undefined ? null : new Store(connection, row.secret, clock);
      const ready = store ?? Store.#create(connection, clock, options);
      ready.scopes.openAll();
      return ready;
    } catch (error) {
      connection.close();
      throw translateError(error, path);
    }
  }

  /**
   * Opens a brain for reading as it was at a moment: with all that was recorded at it or before. A moment before the
   * first event is an empty brain, one to come is now.
   * @param at milliseconds
   * @throws DormouseError as `openConnection` does.
   */
  static openAsOf(path: string, at: number): Store {
    const store = Store.open(path, { now: () => at });
    const { connection } = store;
    try {
      const seq = seqAsOf(connection, at);
      connection.asOfSeq = seq;
      store.recalls.freezeAt(seq);
      connection.forgetStatements();
      viewAsOf(connection, seq, at);
      connection.db.pragma("query_only = ON");
      return store;
    } catch (error) {
      connection.close();
      throw translateError(error, path);
    }
  }

  static #create(connection: Connection, clock: Clock, options: OpenOptions): Store {
    if (options.create !== true) {
      throw new DormouseError("no_brain", `${connection.path} is empty`, {
        hint: "`dormouse init` makes a brain of it.",
      });
    }
    return connection.write(() => {
      const row = connection.sql<{ secret: Buffer }>("SELECT secret FROM brain WHERE id = 1").get();
      if (row !== undefined) return new Store(connection, row.secret, clock);
      const actor: Actor = "person";
      const secret = randomBytes(32);
      const publicId = randomId();
      const now = clock.now();
      connection
        .sql("INSERT INTO brain (id, public_id, secret, created_at) VALUES (1, ?, ?, ?)")
        .run(publicId, secret, now);
      connection
        .sql(
          "INSERT INTO ledger (id, public_id, started_at, own, writing, first_seq, genesis) VALUES (1, ?, ?, 1, 1, 1, zeroblob(32))",
        )
        .run(randomId(), now);
      const store = new Store(connection, secret, clock);
      store.ledger.record({ kind: "brain.created", actor, payload: { brain: formatId("label", publicId) } });
      store.scopes.createFirst(actor);
      return store;
    });
  }

  /** One immediate transaction; nested calls join it. */
  write<T>(fn: () => T): T {
    if (this.connection.asOfSeq !== null) {
      throw new DormouseError("usage", "a brain as of a past moment is for reading only");
    }
    if (this.connection.db.inTransaction) return fn();
    try {
      return this.connection.write(() => {
        this.ledger.forgetTail();
        this.models.forgetCache();
        this.recalls.loadPending();
        const result = fn();
        this.fullText.flush();
        return result;
      });
    } catch (error) {
      this.fullText.discard();
      this.labels.forgetCache();
      this.ledger.forgetTail();
      this.thoughts.forgetCache();
      this.models.forgetCache();
      this.recalls.forgetPending();
      this.aliveness.forget();
      throw error;
    } finally {
      this.vectors.endTransaction();
      this.buildingVectors.endTransaction();
    }
  }

  /** One consistent snapshot. */
  read<T>(fn: () => T): T {
    if (this.connection.db.inTransaction) return fn();
    this.models.forgetCache();
    try {
      return this.connection.read(() => {
        this.recalls.loadPending();
        return fn();
      });
    } catch (error) {
      this.recalls.forgetPending();
      throw error;
    }
  }

  /** Ten bytes: which brain this is, the same in every copy of it. */
  publicId(): Buffer {
    const id = this.connection.values<Buffer>("SELECT public_id FROM brain WHERE id = 1").get();
    if (id === undefined) throw new RangeError("the file has no brain");
    return id;
  }

  /** When the brain was made. */
  createdAt(): number {
    return this.connection.values<number>("SELECT created_at FROM brain WHERE id = 1").get() ?? 0;
  }

  /** A number that changes whenever another connection has written; what this one writes does not change it. */
  dataVersion(): number {
    return this.connection.db.pragma("data_version", { simple: true }) as number;
  }

  /** Brings what the vector indexes say of a node's state in line with it. */
  mirrorState(nodeId: number): void {
    if (this.models.active() !== null) this.vectors.refresh(nodeId);
    if (this.models.building() !== null) this.buildingVectors.refresh(nodeId);
  }

  /**
   * Like `write`, for what may be left out: gives up at once, without a word, when another process is writing,
   * the disk is full or the file cannot be written. @returns whether it was written
   */
  tryWrite(fn: () => void): boolean {
    this.connection.db.pragma("busy_timeout = 0");
    try {
      this.write(fn);
      return true;
    } catch (error) {
      if (error instanceof DormouseError && ["busy", "disk_full", "io"].includes(error.code)) return false;
      throw error;
    } finally {
      this.connection.db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  close(): void {
    this.connection.close();
  }
}
