/**
 * Brings a brain file to the current schema: numbered files of the migrations folder, each applied in
 * one transaction together with its user_version. A landed migration is never edited.
 */
import { readFileSync } from "node:fs";
import type Database from "better-sqlite3";
import { packagePath } from "../core/package-path.ts";

/** Names of the migration files in order; entry i brings user_version i to i + 1. */
const MIGRATIONS = ["0001_brain.sql", "0002_search.sql", "0003_recall.sql"] as const;

/** The user_version this code reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Applies what is missing, up to `target` (tests stop earlier). Safe when two processes migrate at once. */
export function migrate(db: Database.Database, applicationId: number, target: number = SCHEMA_VERSION): void {
  for (;;) {
    const done = db
      .transaction(() => {
        const version = db.pragma("user_version", { simple: true }) as number;
        const file = MIGRATIONS[version];
        if (version >= target || file === undefined) return true;
        db.exec(readFileSync(packagePath(`migrations/${file}`), "utf8"));
        db.pragma(`application_id = ${applicationId}`);
        db.pragma(`user_version = ${version + 1}`);
        return false;
      })
      .immediate();
    if (done) return;
  }
}
