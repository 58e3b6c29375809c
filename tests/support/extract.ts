/** Folders of transcripts and notes for extraction tests, and what a brain holds after reading them. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ExtractReport } from "../../src/core/types.ts";
import { type ExtractOptions, runExtract } from "../../src/extract/run.ts";
import type { Store } from "../../src/store/store.ts";
import type { TestStore } from "./brain.ts";

export interface TestFolder {
  readonly path: string;
  /** Writes a file below the folder. @returns its path */
  write(name: string, content: string | Uint8Array): string;
  append(name: string, content: string): void;
  remove(name: string): void;
  close(): void;
}

export function createTestFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), "dormouse-files-"));
  return {
    path,
    write: (name, content) => {
      const file = join(path, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    append: (name, content) => appendFileSync(join(path, name), content),
    remove: (name) => rmSync(join(path, name), { recursive: true }),
    close: () => rmSync(path, { recursive: true, force: true }),
  };
}

export function extract(brain: TestStore, path: string, options: ExtractOptions = {}): Promise<ExtractReport> {
  return runExtract(brain.store, brain.embedder, [path], options);
}

export interface StandingText {
  readonly text: string;
  readonly speaker: string | null;
  readonly thread: number;
  readonly source: string;
  readonly node: string;
  readonly visible: boolean;
}

/** Everything that stands in a source's order, sources in order of their names. */
export function standingTexts(store: Store, sourceName?: RegExp): StandingText[] {
  return store.connection.db
    .prepare<[], { node: number; source: number; thread: number }>(
      `SELECT node_id AS node, source_id AS source, thread FROM occurrence WHERE ended_seq IS NULL
       ORDER BY source_id, thread, ordinal`,
    )
    .all()
    .map(({ node, source, thread }) => {
      const detail = store.thoughts.detail(node);
      return {
        text: detail.content,
        speaker: detail.speaker,
        thread,
        source: store.sources.get(source)?.name ?? "",
        node: detail.id,
        visible: detail.state.visible,
      };
    })
    .filter(({ source }) => sourceName === undefined || sourceName.test(source));
}

/** All rows of all tables, for asking whether anything changed. */
export function dumpTables(store: Store): string {
  const tables = store.connection.db
    .prepare<[], { name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
    )
    .all();
  return JSON.stringify(
    tables.map(({ name }) => [name, store.connection.db.prepare(`SELECT * FROM "${name}"`).all()]),
    (_, value: unknown) => (typeof value === "bigint" ? String(value) : value),
  );
}

/** The node of a text, whatever its state. */
export function nodeOfText(store: Store, text: string): number {
  const row = store.connection.db
    .prepare<[string], { id: number }>(
      "SELECT n.id FROM node n JOIN readable_content c ON c.id = n.content_id WHERE c.text = ?",
    )
    .get(text);
  if (row === undefined) throw new Error(`no thought says ${text}`);
  return row.id;
}

/** Texts of the thoughts that a thought's standing links of a type lead to. */
export function linkedTexts(store: Store, fromText: string, type: "mention" | "supersedes"): string[] {
  const from = nodeOfText(store, fromText);
  return store.links
    .of(from, 100)
    .filter((link) => link.type === type && link.fromId === from)
    .map((link) => store.thoughts.detail(link.toId).content)
    .sort();
}
