/**
 * Source nodes: sessions, files, pages, tools, models, people. Found by a keyed digest of type and
 * stable key, so a path or an address never stands in an index.
 */
import { DormouseError } from "../core/errors.ts";
import { formatId, randomId } from "../core/ids.ts";
import { isBlankPattern, matchName } from "../core/name-pattern.ts";
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
import { readable } from "./visibility.ts";

export interface SourceRow {
  readonly nodeId: number;
  readonly publicId: string;
  readonly type: SourceType;
  readonly name: string;
  readonly reference: string | null;
  readonly trust: Trust;
}

/** Which sources to list. */
export interface SourceFilter {
  readonly type?: SourceType;
  readonly trust?: Trust;
  /** Most of them, at least 1. */
  readonly limit: number;
}

/** Thoughts of one source that a list counts; beyond it says "more". */
const COUNTED_THOUGHTS = 1_000;

export class Sources {
  readonly #connection: Connection;
  readonly #contents: Contents;
  readonly #labels: Labels;
  readonly #ledger: Ledger;
  readonly #digest: KeyedDigest;

  constructor(parts: {
    connection: Connection;
    contents: Contents;
    labels: Labels;
    ledger: Ledger;
    digest: KeyedDigest;
  }) {
    this.#connection = parts.connection;
    this.#contents = parts.contents;
    this.#labels = parts.labels;
    this.#ledger = parts.ledger;
    this.#digest = parts.digest;
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
        scope: this.#scopeLabel(scopeId),
      },
      ...(reference === null ? {} : { commitment: reference.commitment }),
    });
    const { lastInsertRowid } = this.#connection
      .sql(
        `INSERT INTO node (public_id, role, kind_id, scope_id, basis, trust, recorded_at, added_seq)
         VALUES (?, 0, ?, ?, 0, ?, ?, ?)`,
      )
      .run(publicId, kindId, scopeId, TRUST_LEVELS.indexOf(input.trust), this.#ledger.lastTime(), seq);
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

  #scopeLabel(scopeId: number): string {
    const labelId = this.#connection.values<number>("SELECT label_id FROM scope WHERE id = ?").get(scopeId);
    if (labelId === undefined) throw new RangeError("no such scope");
    return this.#labels.publicId(labelId);
  }

  /**
   * Readable sources whose name fits the pattern, in the order of their ids: `*` stands for any characters, `?` for
   * one, capital and small letters are the same. Each name is read once, however many sources bear it.
   * @throws DormouseError `usage` for an empty pattern
   */
  matching(pattern: string): { readonly nodeId: number; readonly name: string }[] {
    if (isBlankPattern(pattern)) {
      throw new DormouseError("usage", "the pattern for names of sources is empty", {
        hint: "`*` stands for anything, for instance 'web:*'.",
      });
    }
    const found: { nodeId: number; name: string }[] = [];
    const bearers = this.#connection.values<number>(
      `SELECT s.node_id FROM source s CROSS JOIN node n ON n.id = s.node_id
       WHERE s.name_id = ? AND n.erased_by IS NULL AND ${readable("n")}`,
    );
    for (const nameId of this.#connection.values<number>("SELECT DISTINCT name_id FROM source").iterate()) {
      const name = this.#labels.text(nameId);
      if (name === null || !matchName(pattern, name)) continue;
      for (const nodeId of bearers.all(nameId)) found.push({ nodeId, name });
    }
    return found.sort((a, b) => a.nodeId - b.nodeId);
  }

  /** Ids of readable sources, the newest first. */
  list({ type, trust, limit }: SourceFilter): number[] {
    return this.#connection
      .values<number>(
        `SELECT s.node_id FROM source s CROSS JOIN node n ON n.id = s.node_id
         WHERE n.erased_by IS NULL AND ${readable("n")} AND s.type = coalesce(@type, s.type)
           AND n.trust = coalesce(@trust, n.trust)
         ORDER BY s.node_id DESC LIMIT @limit`,
      )
      .all({
        type: type === undefined ? null : SOURCE_TYPES.indexOf(type),
        trust: trust === undefined ? null : TRUST_LEVELS.indexOf(trust),
        limit,
      });
  }

  /** How many sources `list` would name without its limit. */
  countReadable({ type, trust }: Omit<SourceFilter, "limit">): number {
    return (
      this.#connection
        .values<number>(
          `SELECT count(*) FROM source s CROSS JOIN node n ON n.id = s.node_id
           WHERE n.erased_by IS NULL AND ${readable("n")} AND s.type = coalesce(@type, s.type)
             AND n.trust = coalesce(@trust, n.trust)`,
        )
        .get({
          type: type === undefined ? null : SOURCE_TYPES.indexOf(type),
          trust: trust === undefined ? null : TRUST_LEVELS.indexOf(trust),
        }) ?? 0
    );
  }

  /**
   * How many readable thoughts were met in a source or cite it in a standing leg. Looks at `COUNTED_THOUGHTS` each way
   * and no more; `isMore` says that there are others.
   */
  countThoughts(nodeId: number): { readonly count: number; readonly isMore: boolean } {
    const limit = COUNTED_THOUGHTS + 1;
    const count =
      this.#connection
        .values<number>(
          `SELECT count(*) FROM (
             SELECT child_id AS id FROM (SELECT DISTINCT d.child_id FROM derivation d CROSS JOIN leg l ON l.id = d.leg_id
               WHERE d.parent_id = @nodeId AND l.ended_seq IS NULL LIMIT @limit)
             UNION SELECT node_id FROM (SELECT node_id FROM occurrence
               WHERE source_id = @nodeId AND ended_seq IS NULL ORDER BY ordinal LIMIT @limit)
           ) met CROSS JOIN node n ON n.id = met.id WHERE ${readable("n")}`,
        )
        .get({ nodeId, limit }) ?? 0;
    return { count: Math.min(count, COUNTED_THOUGHTS), isMore: count > COUNTED_THOUGHTS };
  }

  /** How many of the nodes are sources. */
  count(nodeIds: readonly number[]): number {
    return (
      this.#connection
        .values<number>("SELECT count(*) FROM json_each(?) wanted CROSS JOIN source s ON s.node_id = wanted.value")
        .get(JSON.stringify(nodeIds)) ?? 0
    );
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
