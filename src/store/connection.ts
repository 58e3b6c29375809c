/**
 * One SQLite connection to a brain file: opening, permissions, pragmas, transactions, and the
 * translation of SQLite's failures into ours. Knows no table.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import * as sqliteVec from "sqlite-vec";
import { DormouseError } from "../core/errors.ts";
import { migrate, SCHEMA_VERSION } from "./migrate.ts";

/** "DMOU": marks the file as a brain for every SQLite tool. */
const APPLICATION_ID = 0x444d4f55;
/** How long a writer waits for another process, in milliseconds. */
export const BUSY_TIMEOUT_MS = 60_000;
/** Page cache in KiB; covers the hot part of a 100,000-node brain. */
const CACHE_KIB = 32_768;

export interface OpenOptions {
  /** Create the file when it is not there; otherwise a missing file is an error. */
  readonly create?: boolean;
}

/** A prepared statement whose rows have type R. */
export type Statement<R> = Database.Statement<unknown[], R>;

export class Connection {
  readonly path: string;
  readonly db: Database.Database;
  /** The event after which this connection sees the brain; null: now. */
  asOfSeq: number | null = null;
  readonly #statements = new Map<string, Database.Statement>();
  readonly #inode: number;

  constructor(path: string, db: Database.Database) {
    this.#inode = statSync(path).ino;
    this.path = path;
    this.db = db;
  }

  /** The statement for this text, prepared once per connection. */
  sql<R = unknown>(text: string): Statement<R> {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.db.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement as Statement<R>;
  }

  /** Like `sql`, for a statement of one column: rows are the bare values, which hot paths read twice as fast. */
  values<V>(text: string): Statement<V> {
    return this.#variant<V>("values", text);
  }

  /** Like `sql`, with rows as arrays in the order of the columns, for hot paths. */
  tuples<T extends readonly unknown[]>(text: string): Statement<T> {
    return this.#variant<T>("tuples", text);
  }

  #variant<R>(shape: "values" | "tuples", text: string): Statement<R> {
    const key = `${shape} ${text}`;
    let statement = this.#statements.get(key);
    if (statement === undefined) {
      const prepared = this.db.prepare(text);
      statement = shape === "values" ? prepared.pluck() : prepared.raw();
      this.#statements.set(key, statement);
    }
    return statement as Statement<R>;
  }

  /** What was prepared goes by the names of then; whoever lays other tables under them asks for it again. */
  forgetStatements(): void {
    this.#statements.clear();
  }

  /** Runs fn in one immediate transaction; nested calls join the outer one. All or nothing. */
  write<T>(fn: () => T): T {
    if (this.db.inTransaction) return fn();
    this.#assertSameFile();
    try {
      return this.db.transaction(fn).immediate();
    } catch (error) {
      throw translateError(error, this.path);
    }
  }

  /** Runs fn on one consistent snapshot. */
  read<T>(fn: () => T): T {
    if (this.db.inTransaction) return fn();
    try {
      return this.db.transaction(fn).deferred();
    } catch (error) {
      throw translateError(error, this.path);
    }
  }

  /** A file that was deleted or replaced would take our writes with it into nothing. */
  #assertSameFile(): void {
    let inode: number | undefined;
    try {
      inode = statSync(this.path, { throwIfNoEntry: false })?.ino;
    } catch {
      // A folder that may no longer be looked into says nothing about the file.
      return;
    }
    if (inode === this.#inode) return;
    throw new DormouseError("io", `${this.path} was deleted or replaced while it was open; nothing more was written`, {
      hint: "Put the file back, or start again with the one that is there now.",
    });
  }

  close(): void {
    this.#statements.clear();
    this.db.close();
  }
}

/**
 * Opens a brain file, migrating an older one.
 * @throws DormouseError `no_brain`, `not_a_brain`, `newer_brain`, `damaged`, `busy`, `disk_full`, `io`.
 */
export function openConnection(path: string, options: OpenOptions = {}): Connection {
  const existed = existsSync(path);
  if (!existed && options.create !== true) {
    throw new DormouseError("no_brain", `there is no brain at ${path}`, { hint: "`dormouse init` creates it." });
  }
  const isEmpty = existed && readHeader(path).length === 0;
  if (isEmpty && options.create !== true) {
    throw new DormouseError("no_brain", `${path} is empty`, { hint: "`dormouse init` makes a brain of it." });
  }
  if (!existed || isEmpty) createPrivateFile(path);
  try {
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      loadVectorExtension(db);
      prepareConnection(db, path);
      return new Connection(path, db);
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    throw translateError(error, path);
  }
}

/** sqlite-vec's binary comes in a package of its own for each platform, which an install may have left out. */
function loadVectorExtension(db: Database.Database): void {
  try {
    sqliteVec.load(db);
  } catch (error) {
    throw new DormouseError("io", `the vector extension for ${process.platform} ${process.arch} is not installed`, {
      hint: "Install again without --omit=optional; sqlite-vec ships its binaries as optional packages.",
      cause: error,
    });
  }
}

function prepareConnection(db: Database.Database, path: string): void {
  const { version, applicationId, isEmpty } = readIdentity(db);
  if (version > SCHEMA_VERSION && applicationId === APPLICATION_ID) {
    throw new DormouseError(
      "newer_brain",
      `${path} has format ${version}; this Dormouse knows up to ${SCHEMA_VERSION}`,
      {
        hint: "Update Dormouse (npm install -g dormouse-memory@latest). The file was not touched.",
      },
    );
  }
  if (applicationId !== APPLICATION_ID && (version !== 0 || applicationId !== 0 || !isEmpty)) {
    throw notABrain(path, "it is an SQLite file of another program");
  }
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma("foreign_keys = ON");
  db.pragma("recursive_triggers = ON");
  db.pragma("secure_delete = ON");
  db.pragma("temp_store = MEMORY");
  db.pragma(`cache_size = -${CACHE_KIB}`);
  if (process.platform === "darwin") db.pragma("fullfsync = ON");
  if (version < SCHEMA_VERSION) migrate(db, APPLICATION_ID);
}

/** Read on one snapshot: another process may be making a brain of the file right now. */
function readIdentity(db: Database.Database): { version: number; applicationId: number; isEmpty: boolean } {
  return db
    .transaction(() => ({
      version: db.pragma("user_version", { simple: true }) as number,
      applicationId: db.pragma("application_id", { simple: true }) as number,
      isEmpty: db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined,
    }))
    .deferred();
}

function createPrivateFile(path: string): void {
  const folder = dirname(path);
  try {
    if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
    closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600);
  } catch (error) {
    throw translatePathError(error, path);
  }
}

/** The first 16 bytes, none for an empty file. @throws DormouseError `not_a_brain`, `io` */
function readHeader(path: string): Buffer {
  try {
    if (statSync(path).isDirectory()) throw notABrain(path, "it is a folder");
    const head = Buffer.alloc(16);
    const file = openSync(path, "r");
    const length = readSync(file, head, 0, 16, 0);
    closeSync(file);
    if (length > 0 && head.toString("latin1") !== "SQLite format 3\0") {
      throw notABrain(path, "it is not an SQLite file");
    }
    return head.subarray(0, length);
  } catch (error) {
    throw translatePathError(error, path);
  }
}

/** What the file system says of a path that cannot hold a file. */
const PATH_FAULTS: Readonly<Record<string, string>> = {
  ENOTDIR: "a part of the path is a file",
  EISDIR: "it is a folder",
  ENOENT: "a part of the path is missing",
  ELOOP: "its links lead back to themselves",
  ENAMETOOLONG: "a name in it is too long",
  EROFS: "the disk cannot be written",
};

/** As `translateError`, for a path that cannot be made or read. */
function translatePathError(error: unknown, path: string): unknown {
  const fault = error instanceof Error && "code" in error ? PATH_FAULTS[String(error.code)] : undefined;
  if (fault === undefined || error instanceof DormouseError) return translateError(error, path);
  return new DormouseError("io", `${path} cannot be a brain: ${fault}`, {
    hint: "Choose another path with --brain or DORMOUSE_BRAIN.",
    cause: error,
  });
}

function notABrain(path: string, why: string): DormouseError {
  return new DormouseError("not_a_brain", `${path} is not a brain: ${why}`, {
    hint: "Choose another file with --brain or DORMOUSE_BRAIN. The file was not touched.",
  });
}

/** Our error for SQLite's or the file system's; ours pass through. Messages of theirs that may quote text are dropped. */
export function translateError(error: unknown, path: string): unknown {
  if (error instanceof DormouseError || !(error instanceof Error) || !("code" in error)) return error;
  const code = String(error.code);
  if (code.startsWith("SQLITE_FULL") || code === "ENOSPC") {
    return new DormouseError("disk_full", `the disk is full; nothing was written to ${path}`, {
      hint: "Free some space and run the same command again.",
      cause: error,
    });
  }
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return new DormouseError("busy", `another process has been writing to ${path} for over a minute`, {
      hint: "Try again; `dormouse doctor` shows who holds a lease.",
      cause: error,
    });
  }
  if (code.startsWith("SQLITE_NOTADB")) return notABrain(path, "it is not an SQLite file");
  if (code.startsWith("SQLITE_CORRUPT")) {
    return new DormouseError("damaged", `${path} is damaged`, {
      hint: "`dormouse doctor` says what is wrong; keep a copy of the file before you do anything else.",
      cause: error,
    });
  }
  if (
    code === "EACCES" ||
    code === "EPERM" ||
    code.startsWith("SQLITE_READONLY") ||
    code.startsWith("SQLITE_CANTOPEN")
  ) {
    return new DormouseError("io", `no permission to read and write ${path}`, {
      hint: "Check the owner and the rights of the file and its folder.",
      cause: error,
    });
  }
  if (code.startsWith("SQLITE_IOERR") || code === "EIO") {
    return new DormouseError("io", `reading or writing ${path} failed (${code})`, { cause: error });
  }
  return error;
}
