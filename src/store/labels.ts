/**
 * Short recurring words (kinds, domains, tags, speakers, source names …): one row each, found by keyed
 * digest, so that no index and no event holds them.
 */
import { formatId, randomId } from "../core/ids.ts";
import type { Actor } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import type { Contents } from "./contents.ts";
import type { KeyedDigest } from "./digest.ts";
import type { Ledger } from "./ledger.ts";

/** The position is the stored type number. */
export const LABEL_TYPES = [
  "kind",
  "domain",
  "tag",
  "aspect",
  "facet_name",
  "facet_value",
  "speaker",
  "source_name",
  "scope",
  "subject",
  "alias",
] as const;
export type LabelType = (typeof LABEL_TYPES)[number];

/** Types in which capital and small letters mean the same; the first spelling is kept for display. */
const CASE_FOLDED: ReadonlySet<LabelType> = new Set(["kind", "domain", "tag", "aspect", "scope"]);

/** Labels kept in memory at most; the rest are looked up again. */
const CACHE_LIMIT = 20_000;

export class Labels {
  readonly #connection: Connection;
  readonly #contents: Contents;
  readonly #ledger: Ledger;
  readonly #digest: KeyedDigest;
  readonly #ids = new Map<string, number>();
  readonly #texts = new Map<number, string | null>();
  readonly #publicIds = new Map<number, string>();

  constructor(connection: Connection, contents: Contents, ledger: Ledger, digest: KeyedDigest) {
    this.#connection = connection;
    this.#contents = contents;
    this.#ledger = ledger;
    this.#digest = digest;
  }

  /** The label's id, or null when the word was never used. */
  find(type: LabelType, text: string): number | null {
    const key = foldLabel(type, text);
    const cacheKey = `${type}\u0000${key}`;
    const cached = this.#ids.get(cacheKey);
    if (cached !== undefined) return cached;
    const row = this.#connection
      .sql<{ id: number }>("SELECT id FROM label WHERE type = ? AND digest = ?")
      .get(LABEL_TYPES.indexOf(type), this.#digest("label", type, key));
    if (row === undefined) return null;
    this.#remember(cacheKey, row.id);
    return row.id;
  }

  /** The label's id, made with its event when it is new. Inside a write transaction. */
  intern(type: LabelType, text: string, actor: Actor): number {
    const found = this.find(type, text);
    if (found !== null) return found;
    const publicId = randomId();
    const stored = this.#contents.add(text.normalize("NFC").trim());
    const seq = this.#ledger.record({
      kind: "label.created",
      actor,
      payload: { label: formatId("label", publicId), type },
      commitment: stored.commitment,
    });
    const { lastInsertRowid } = this.#connection
      .sql("INSERT INTO label (public_id, type, digest, content_id, added_seq) VALUES (?, ?, ?, ?, ?)")
      .run(publicId, LABEL_TYPES.indexOf(type), this.#digest("label", type, foldLabel(type, text)), stored.id, seq);
    return Number(lastInsertRowid);
  }

  /** The word as first written; null once erased. */
  text(id: number): string | null {
    const cached = this.#texts.get(id);
    if (cached !== undefined) return cached;
    const row = this.#connection
      .sql<{ contentId: number }>("SELECT content_id AS contentId FROM label WHERE id = ?")
      .get(id);
    const text = row === undefined ? null : this.#contents.text(row.contentId);
    if (this.#texts.size >= CACHE_LIMIT) this.#texts.clear();
    this.#texts.set(id, text);
    return text;
  }

  publicId(id: number): string {
    const cached = this.#publicIds.get(id);
    if (cached !== undefined) return cached;
    const row = this.#connection
      .sql<{ publicId: Buffer }>("SELECT public_id AS publicId FROM label WHERE id = ?")
      .get(id);
    if (row === undefined) throw new RangeError("no such label");
    const publicId = formatId("label", row.publicId);
    if (this.#publicIds.size >= CACHE_LIMIT) this.#publicIds.clear();
    this.#publicIds.set(id, publicId);
    return publicId;
  }

  /** What a rolled-back transaction interned must not be believed. */
  forgetCache(): void {
    this.#ids.clear();
    this.#texts.clear();
    this.#publicIds.clear();
  }

  #remember(cacheKey: string, id: number): void {
    if (this.#ids.size >= CACHE_LIMIT) this.#ids.clear();
    this.#ids.set(cacheKey, id);
  }
}

/** The spelling on which a label's digest is computed. */
export function foldLabel(type: LabelType, text: string): string {
  const trimmed = text.normalize("NFC").trim();
  return CASE_FOLDED.has(type) ? trimmed.toLowerCase() : trimmed;
}
