/**
 * Operational rows that the ledger does not cover: access days, cursors of bounded passes, how far files
 * were read, computed gauges, metrics.
 */
import type { Connection } from "./connection.ts";

/** What sleep measures of the active model on this brain: gauges that another model's vectors make void. */
export const MODEL_GAUGES = {
  randomMean: "random_cosine_mean",
  randomP99: "random_cosine_p99",
  link: "link_cosine",
  /** The cosine below which a thought's nearest neighbour is none. */
  kin: "kin_cosine",
  /** The cosine above which two texts say the same. */
  duplicate: "duplicate_cosine",
  /** How many vectors the brain had, and which model, when it was calibrated last. */
  vectors: "calibrated_vectors",
  model: "calibrated_model",
} as const;

/** Begins the names of the cursors of linking, which goes by the active model's vectors. */
export const LINK_CURSOR = "sleep.link";

/** The cursor that says which cycle of sleep was the last to run whole, and when. */
export const WHOLE_CYCLE_CURSOR = "sleep.whole";

/** How far a file was read, and what it looked like then. */
export interface ExtractCursor {
  readonly size: number;
  readonly mtimeMs: number;
  readonly headBytes: number;
  readonly headDigest: Buffer;
  readonly offset: number;
  readonly line: number;
  readonly state: unknown;
}

export class Operations {
  readonly #connection: Connection;
  readonly #now: () => number;

  constructor(connection: Connection, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  /** Notes that nodes were read on a day; once a node a day. @returns for how many it was the first time that day */
  noteAccess(nodeIds: readonly number[], day: number): number {
    const insert = this.#connection.sql("INSERT INTO access_day (node_id, day) VALUES (?, ?) ON CONFLICT DO NOTHING");
    return nodeIds.reduce((fresh, nodeId) => fresh + insert.run(nodeId, day).changes, 0);
  }

  /** Distinct days on which the node was read. */
  accessDays(nodeId: number): number {
    return (
      this.#connection.sql<{ n: number }>("SELECT count(*) AS n FROM access_day WHERE node_id = ?").get(nodeId)?.n ?? 0
    );
  }

  cursor(name: string): number {
    return (
      this.#connection.sql<{ position: number }>("SELECT position FROM cursor WHERE name = ?").get(name)?.position ?? 0
    );
  }

  moveCursor(name: string, position: number): void {
    this.#connection
      .sql(
        `INSERT INTO cursor (name, position, updated_at) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET position = excluded.position, updated_at = excluded.updated_at`,
      )
      .run(name, position, this.#now());
  }

  /** When the cursor was moved last, null when it never was. */
  cursorMovedAt(name: string): number | null {
    return this.#connection.values<number>("SELECT updated_at FROM cursor WHERE name = ?").get(name) ?? null;
  }

  /** Forgets a cursor whose work is done. */
  dropCursor(name: string): void {
    this.#connection.sql("DELETE FROM cursor WHERE name = ?").run(name);
  }

  gauge(name: string): number | null {
    return this.#connection.sql<{ value: number }>("SELECT value FROM gauge WHERE name = ?").get(name)?.value ?? null;
  }

  setGauge(name: string, value: number): void {
    this.#connection
      .sql(
        `INSERT INTO gauge (name, value, updated_at) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
      )
      .run(name, value, this.#now());
  }

  /** Forgets what was measured and linked with another model, so that sleep measures and links anew. */
  forgetModelWork(): void {
    const gauges = Object.values(MODEL_GAUGES);
    this.#connection.sql(`DELETE FROM gauge WHERE name IN (${gauges.map(() => "?").join(", ")})`).run(...gauges);
    this.#connection.sql("DELETE FROM cursor WHERE name = ? OR name LIKE ?").run(LINK_CURSOR, `${LINK_CURSOR}.%`);
  }

  extractCursor(fileDigest: Buffer): ExtractCursor | null {
    const row = this.#connection
      .sql<ExtractCursor & { state: string }>(
        `SELECT size, mtime_ms AS mtimeMs, head_bytes AS headBytes, head_digest AS headDigest, offset, line, state
         FROM extract_cursor WHERE file_digest = ?`,
      )
      .get(fileDigest);
    return row === undefined ? null : { ...row, state: JSON.parse(row.state) as unknown };
  }

  saveExtractCursor(fileDigest: Buffer, cursor: ExtractCursor): void {
    this.#connection
      .sql(
        `INSERT INTO extract_cursor (file_digest, size, mtime_ms, head_bytes, head_digest, offset, line, state, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (file_digest) DO UPDATE SET size = excluded.size, mtime_ms = excluded.mtime_ms,
           head_bytes = excluded.head_bytes, head_digest = excluded.head_digest, offset = excluded.offset,
           line = excluded.line, state = excluded.state, updated_at = excluded.updated_at`,
      )
      .run(
        fileDigest,
        cursor.size,
        Math.trunc(cursor.mtimeMs),
        cursor.headBytes,
        cursor.headDigest,
        cursor.offset,
        cursor.line,
        JSON.stringify(cursor.state ?? null),
        this.#now(),
      );
  }

  /** Number of the next sleep cycle, from 1. */
  nextCycle(): number {
    // Rows are written in the order of cycles, so the last one names the newest.
    return (this.#connection.values<number>("SELECT cycle FROM metric ORDER BY id DESC LIMIT 1").get() ?? 0) + 1;
  }
}
