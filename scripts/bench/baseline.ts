/**
 * The plainest thing that could answer: a full scan of the vectors by sqlite-vec and FTS5 with its own bm25, ten
 * best of each, nothing fused, no filter, no cells. What the search bench stands Dormouse beside.
 */
import Database from "better-sqlite3";
import * as sqliteVec from "sqlite-vec";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import { asIndexed } from "../../src/store/thoughts.ts";
import { generateTurns } from "./brain-files.ts";

const K = 10;
const BATCH = 1_000;
/** The same page cache as a brain's, in KiB. */
const CACHE_KIB = 32_768;

export interface Baseline {
  /** Ids that both searches found, words first. */
  search(query: string, vector: Int8Array): number[];
  close(): void;
}

/** Writes the first `nodes` generated texts and their vectors into a new file. */
export async function makeBaseline(path: string, nodes: number): Promise<void> {
  const embedder = createBuiltinEmbedder();
  const db = openFile(path);
  try {
    db.exec(`CREATE VIRTUAL TABLE words USING fts5(body);
      CREATE VIRTUAL TABLE vectors USING vec0(id INTEGER PRIMARY KEY, embedding int8[${embedder.model.dimensions}])`);
    const addWords = db.prepare("INSERT INTO words (rowid, body) VALUES (?, ?)");
    const addVector = db.prepare("INSERT INTO vectors (id, embedding) VALUES (?, vec_int8(?))");
    let texts: string[] = [];
    let id = 0;
    const flush = async () => {
      const vectors = await embedder.embedPassages(texts);
      const write = db.transaction(() => {
        for (const [index, text] of texts.entries()) {
          id++;
          addWords.run(id, text);
          addVector.run(BigInt(id), bytesOf(vectors[index] ?? new Int8Array(embedder.model.dimensions)));
        }
      });
      write();
      texts = [];
    };
    for (const { content, speaker } of generateTurns(nodes)) {
      texts.push(asIndexed({ speaker: speaker ?? null, heading: null }, content));
      if (texts.length === BATCH) await flush();
    }
    await flush();
  } finally {
    db.close();
  }
}

export function openBaseline(path: string): Baseline {
  const db = openFile(path);
  const byWords = db
    .prepare<[string], number>(`SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ${K}`)
    .pluck();
  const byVector = db
    .prepare<[Uint8Array], number>(`SELECT id FROM vectors WHERE embedding MATCH vec_int8(?) AND k = ${K}`)
    .pluck();
  return {
    search: (query, vector) => [...byWords.all(toPlainMatch(query)), ...byVector.all(bytesOf(vector))],
    close: () => db.close(),
  };
}

function openFile(path: string): Database.Database {
  const db = new Database(path);
  sqliteVec.load(db);
  db.pragma("journal_mode = WAL");
  db.pragma(`cache_size = -${CACHE_KIB}`);
  return db;
}

/** Any of the words, each as a string of FTS5. */
function toPlainMatch(query: string): string {
  return [...new Set(query.match(/[a-z0-9']+/gi) ?? [])].map((word) => `"${word}"`).join(" OR ");
}

function bytesOf(vector: Int8Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
