/**
 * The erasable text table: the only place where words are stored. Rows are written once; the salt makes
 * the commitment in the ledger useless for guessing once the row is zeroed.
 */
import { freshBytes } from "../core/random.ts";
import type { Connection } from "./connection.ts";
import { sha256 } from "./digest.ts";

const COMMITMENT_TAG = "dormouse.content.v1";
const SALT_BYTES = 32;

export interface StoredText {
  readonly id: number;
  readonly commitment: Buffer;
}

export class Contents {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  add(text: string): StoredText {
    const salt = freshBytes(SALT_BYTES);
    const body = Buffer.from(text, "utf8");
    const { lastInsertRowid } = this.#connection.sql("INSERT INTO content (salt, body) VALUES (?, ?)").run(salt, body);
    return { id: Number(lastInsertRowid), commitment: commitmentOf(salt, body) };
  }

  /** The text, or null when the row was erased or never was. */
  text(id: number): string | null {
    const row = this.#connection
      .sql<{ body: Buffer; erased: number }>("SELECT body, salt = zeroblob(32) AS erased FROM content WHERE id = ?")
      .get(id);
    return row === undefined || row.erased === 1 ? null : row.body.toString("utf8");
  }
}

/** SHA-256 over tag, salt, length as 64-bit big-endian, and body. */
export function commitmentOf(salt: Uint8Array, body: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(body.length));
  return sha256(COMMITMENT_TAG, salt, length, body);
}
