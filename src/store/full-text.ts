/**
 * Full text over terms that our analyser made: a contentless FTS5 table finds candidates, a forward index
 * per node scores them with all terms and our own k1 and b. A derived index.
 */
import { ANALYSER_VERSION, termHash, toIndexText, toMatchQuery } from "../text/analyse.ts";
import type { Connection } from "./connection.ts";

/** Terms are added to the candidate query, rarest first, until their document frequencies sum to this. */
const CANDIDATE_POSTINGS = 3_000;
/** Bytes of one entry of the forward index: 32-bit term id, count up to 255. */
const ENTRY_BYTES = 5;
const MAX_COUNT = 255;

export interface QueryTerm {
  readonly term: string;
  readonly id: number;
  readonly documentCount: number;
  /** BM25's inverse document frequency, never negative. */
  readonly idf: number;
}

/** Nodes that the postings name under the same terms, with the summed idf of these. */
export interface CandidateGroup {
  readonly sum: number;
  readonly ids: readonly number[];
}

/** A subquery that selects node ids, with its parameters. */
export interface IdQuery {
  readonly sql: string;
  readonly params: readonly number[];
}

export interface Totals {
  readonly documents: number;
  readonly averageLength: number;
}

export class FullText {
  readonly #connection: Connection;
  /** Changes of document frequency since the transaction began, written once at its end. */
  readonly #pending = new Map<number, number>();
  #documents = 0;
  #terms = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Indexes a node under its analysed terms (repeats kept). */
  add(nodeId: number, terms: readonly string[]): void {
    const counts = countTerms(terms);
    this.#connection
      .sql("INSERT INTO full_text (rowid, terms) VALUES (?, ?)")
      .run(nodeId, toIndexText([...new Set(terms)]));
    this.#connection.sql("INSERT INTO forward_index (node_id, terms) VALUES (?, ?)").run(nodeId, packCounts(counts));
    for (const id of counts.keys()) this.#pending.set(id, (this.#pending.get(id) ?? 0) + 1);
    this.#documents += 1;
    this.#terms += terms.length;
  }

  /** Writes what `add` gathered; the store calls it before every commit. */
  flush(): void {
    if (this.#documents === 0) return;
    const update = this.#connection.sql(
      `INSERT INTO term_frequency (term_id, document_count) VALUES (?, ?)
       ON CONFLICT (term_id) DO UPDATE SET document_count = document_count + excluded.document_count`,
    );
    for (const [id, delta] of this.#pending) update.run(id, delta);
    this.#connection
      .sql(
        `INSERT INTO full_text_state (id, analyser, documents, terms) VALUES (1, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET documents = documents + excluded.documents, terms = terms + excluded.terms`,
      )
      .run(ANALYSER_VERSION, this.#documents, this.#terms);
    this.discard();
  }

  /** Forgets what a rolled-back transaction gathered. */
  discard(): void {
    this.#pending.clear();
    this.#documents = 0;
    this.#terms = 0;
  }

  totals(): Totals {
    const row = this.#connection
      .sql<{ documents: number; terms: number }>("SELECT documents, terms FROM full_text_state WHERE id = 1")
      .get();
    if (row === undefined || row.documents === 0) return { documents: 0, averageLength: 1 };
    return { documents: row.documents, averageLength: Math.max(1, row.terms / row.documents) };
  }

  /** True when the index was made by another analyser and must be rebuilt before it can be trusted. */
  isOutdated(): boolean {
    const row = this.#connection.sql<{ analyser: string }>("SELECT analyser FROM full_text_state WHERE id = 1").get();
    return row !== undefined && row.analyser !== ANALYSER_VERSION;
  }

  /** The query's terms with their frequencies, rarest first; terms that no text holds are left out. */
  weigh(terms: readonly string[]): QueryTerm[] {
    const { documents } = this.totals();
    const select = this.#connection.sql<{ n: number }>(
      "SELECT document_count AS n FROM term_frequency WHERE term_id = ?",
    );
    return terms
      .map((term) => ({ term, id: termHash(term) }))
      .map(({ term, id }) => ({ term, id, documentCount: select.get(id)?.n ?? 0 }))
      .filter(({ documentCount }) => documentCount > 0)
      .map((entry) => ({ ...entry, idf: inverseDocumentFrequency(documents, entry.documentCount) }))
      .sort((a, b) => a.documentCount - b.documentCount || (a.term < b.term ? -1 : 1));
  }

  /**
   * Nodes holding at least one of the rarest terms, in groups that hold the same ones, best group first. At
   * least one term is followed; more until the postings read pass a bound, so that common words cost little.
   * Of a term beyond the bound only the newest postings are read; with `within`, a subquery of ids, those
   * outside it do not count.
   */
  candidates(terms: readonly QueryTerm[], within: IdQuery | null): CandidateGroup[] {
    const scores = new Map<number, number>();
    let postings = 0;
    for (const [index, { term, idf, documentCount }] of terms.entries()) {
      if (index > 0 && postings + documentCount > CANDIDATE_POSTINGS) break;
      postings += documentCount;
      const inside = within === null || documentCount <= CANDIDATE_POSTINGS ? "" : ` AND rowid IN (${within.sql})`;
      const ids = this.#connection
        .values<number>(`SELECT rowid FROM full_text WHERE full_text MATCH ?${inside} ORDER BY rowid DESC LIMIT ?`)
        .all(toMatchQuery([term]), ...(inside === "" ? [] : (within?.params ?? [])), CANDIDATE_POSTINGS);
      for (const id of ids) scores.set(id, (scores.get(id) ?? 0) + idf);
    }
    const groups = new Map<number, number[]>();
    for (const [id, sum] of scores) {
      const group = groups.get(sum);
      if (group === undefined) groups.set(sum, [id]);
      else group.push(id);
    }
    return [...groups].sort(([a], [b]) => b - a).map(([sum, ids]) => ({ sum, ids }));
  }

  /**
   * Counts of the given terms in each node: rows in the order of `nodeIds`, columns in the order of `terms`.
   * Nodes that are not indexed are absent.
   */
  counts(nodeIds: readonly number[], terms: readonly QueryTerm[]): Map<number, Uint8Array> {
    const found = new Map<number, Uint8Array>();
    const rows = this.#connection
      .tuples<[id: number, terms: Buffer]>(
        "SELECT f.node_id, f.terms FROM json_each(?) wanted CROSS JOIN forward_index f ON f.node_id = wanted.value",
      )
      .all(JSON.stringify(nodeIds));
    for (const [id, packed] of rows) found.set(id, readCounts(packed, terms));
    return found;
  }

  /** The packed terms of a node: equal bytes mean the same analysed words equally often. Null when not indexed. */
  packedTerms(nodeId: number): Buffer | null {
    return (
      this.#connection.sql<{ terms: Buffer }>("SELECT terms FROM forward_index WHERE node_id = ?").get(nodeId)?.terms ??
      null
    );
  }

  /** Empties the index; the caller adds every node again. */
  clear(): void {
    this.discard();
    this.#connection.db.exec(
      `INSERT INTO full_text (full_text) VALUES ('delete-all');
       DELETE FROM forward_index; DELETE FROM term_frequency; DELETE FROM full_text_state;`,
    );
  }

  /** Merges the segments of the index; cheap when there is nothing to merge. */
  optimize(): void {
    this.#connection.sql("INSERT INTO full_text (full_text) VALUES ('optimize')").run();
  }
}

/** ln(1 + (N − n + 0.5) / (n + 0.5)), Robertson and Spärck Jones with Lucene's shift above zero. */
function inverseDocumentFrequency(documents: number, documentCount: number): number {
  return Math.log(1 + Math.max(0, documents - documentCount + 0.5) / (documentCount + 0.5));
}

function countTerms(terms: readonly string[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const term of terms) {
    const id = termHash(term);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

function packCounts(counts: ReadonlyMap<number, number>): Buffer {
  const packed = Buffer.alloc(counts.size * ENTRY_BYTES);
  let at = 0;
  for (const [id, count] of [...counts].sort(([a], [b]) => a - b)) {
    packed.writeUInt32LE(id, at);
    packed[at + 4] = Math.min(count, MAX_COUNT);
    at += ENTRY_BYTES;
  }
  return packed;
}

/** Binary search of each term in the packed, ascending entries. */
function readCounts(packed: Buffer, terms: readonly QueryTerm[]): Uint8Array {
  const counts = new Uint8Array(terms.length);
  const last = packed.length / ENTRY_BYTES - 1;
  terms.forEach(({ id }, column) => {
    let low = 0;
    let high = last;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const at = middle * ENTRY_BYTES;
      const value = packed.readUInt32LE(at);
      if (value === id) {
        counts[column] = packed[at + 4] ?? 0;
        return;
      }
      if (value < id) low = middle + 1;
      else high = middle - 1;
    }
  });
  return counts;
}
