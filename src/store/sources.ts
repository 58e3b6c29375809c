/**
 * Source nodes: sessions, files, pages, tools, models, people. Found by a keyed digest of type and
 * stable key, so a path or an address never stands in an index.
 */
import { formatId, randomId } from "../core/ids.ts";
import {
  type Actor,
  SOURCE_TYPES,
  type SourceInput,
  type SourceType,
  TRUST_LEVELS,
  type Trust,
} from "../core/types.ts";
import type { Connection } from "./connection.ts";
import type { Contents } from "./contents.ts";
import type { KeyedDigest } from "./digest.ts";
import type { Labels } from "./labels.ts";
import type { Ledger } from "./ledger.ts";

export interface SourceRow {
  readonly nodeId: number;
  readonly publicId: string;
  readonly type: SourceType;
  readonly name: string;
  readonly reference: string | null;
  readonly trust: Trust;
}

export class Sources {
  readonly #connection: Connection;
  readonly #contents: Contents;
  readonly #labels: Labels;
  readonly #ledger: Ledger;
  readonly #digest: KeyedDigest;
  readonly #now: () => number;

  constructor(parts: {
    connection: Connection;
    contents: Contents;
    labels: Labels;
    ledger: Ledger;
    digest: KeyedDigest;
    now: () => number;
  }) {
    this.#connection = parts.connection;
    this.#contents = parts.contents;
    this.#labels = parts.labels;
    this.#ledger = parts.ledger;
    this.#digest = parts.digest;
    this.#now = parts.now;
  }

  find(type: SourceType, key: string): number | null {
    return (
      this.#connection
        .sql<{ id: number }>("SELECT node_id AS id FROM source WHERE key_digest = ?")
        .get(this.#digest("source", type, key))?.id ?? null
    );
  }

  /** The source's node id, made with its event when it is new; an existing one keeps its trust and name. */
  intern(input: SourceInput, scopeId: number, actor: Actor): number {
    const found = this.find(input.type, input.key);
    if (found !== null) return found;
    const publicId = randomId();
    const kindId = this.#labels.intern("kind", "source", actor);
    const nameId = this.#labels.intern("source_name", input.name, actor);
    const reference = input.reference === undefined ? null : this.#contents.add(input.reference);
    const seq = this.#ledger.record({
      kind: "source.created",
      actor,
      payload: {
        source: formatId("source", publicId),
        type: input.type,
        name: this.#labels.publicId(nameId),
        trust: input.trust,
      },
      ...(reference === null ? {} : { commitment: reference.commitment }),
    });
    const { lastInsertRowid } = this.#connection
      .sql(
        `INSERT INTO node (public_id, role, kind_id, scope_id, basis, trust, recorded_at, added_seq)
         VALUES (?, 0, ?, ?, 0, ?, ?, ?)`,
      )
      .run(publicId, kindId, scopeId, TRUST_LEVELS.indexOf(input.trust), this.#now(), seq);
    const nodeId = Number(lastInsertRowid);
    this.#connection
      .sql("INSERT INTO source (node_id, type, key_digest, name_id, reference_content_id) VALUES (?, ?, ?, ?, ?)")
      .run(
        nodeId,
        SOURCE_TYPES.indexOf(input.type),
        this.#digest("source", input.type, input.key),
        nameId,
        reference?.id ?? null,
      );
    return nodeId;
  }

  get(nodeId: number): SourceRow | null {
    const row = this.#connection
      .sql<{ publicId: Buffer; type: number; nameId: number; referenceId: number | null; trust: number }>(
        `SELECT n.public_id AS publicId, s.type, s.name_id AS nameId, s.reference_content_id AS referenceId, n.trust
         FROM source s JOIN node n ON n.id = s.node_id WHERE s.node_id = ?`,
      )
      .get(nodeId);
    if (row === undefined) return null;
    return {
      nodeId,
      publicId: formatId("source", row.publicId),
      type: SOURCE_TYPES[row.type] ?? "named",
      name: this.#labels.text(row.nameId) ?? "",
      reference: row.referenceId === null ? null : this.#contents.text(row.referenceId),
      trust: TRUST_LEVELS[row.trust] ?? "unknown",
    };
  }
}
