/**
 * Full text over terms that our analyser made: a contentless FTS5 table finds candidates, a forward index
 * per node scores them with all terms and our own k1 and b. A derived index.
 */
import {
  ANALYSER_VERSION,
  languageTerm,
  type QueryWord,
  termHash,
  toIndexText,
  toMatchQuery,
} from "../text/analyse.ts";
import { LANGUAGES, type Language } from "../text/detect-language.ts";
import type { Connection } from "./connection.ts";

/** Terms are added to the candidate query, rarest first, until their document frequencies sum to this. */
const CANDIDATE_POSTINGS = 3_000;
/** Which of the common terms, rarest first, are asked for together, one after another. */
const CONJUNCTIONS: readonly (readonly number[])[] = [
  [0, 1, 2, 3],
  [0, 1, 2],
  [0, 1],
  [0, 2],
  [1, 2],
];
/** Nodes with several common terms that are enough, and the newest that one such question reads. */
const ENOUGH_TOGETHER = 200;
const TOGETHER_POSTINGS = 1_000;
/** So many postings of common words are read for all that pass; beyond them, until so many pass. */
const READ_FOR_ALL = 10_000;
const ENOUGH_PASSING = 600;
/** Postings read at once when those read before did not hold enough that pass. */
const SMALLEST_PAGE = 200;
const LARGEST_PAGE = 50_000;
/** Bytes of one entry of the forward index: 32-bit term id, count up to 255. */
const ENTRY_BYTES = 5;
const MAX_COUNT = 255;
/** Above every id. */
const NO_ROWID = Number.MAX_SAFE_INTEGER;

export interface QueryTerm {
  readonly term: string;
  readonly id: number;
  readonly documentCount: number;
  /** Which word of the query it stands for, counted from the rarest. */
  readonly word: number;
  /** Texts that hold the word under any of its terms. */
  readonly wordCount: number;
  /** BM25's inverse document frequency of the word, above 0. */
  readonly idf: number;
}

/** A word of the query as texts hold it. */
interface HeldWord {
  readonly terms: readonly string[];
  readonly count: number;
  readonly idf: number;
}

/** Nodes that the postings name under the same words, with the summed idf of these. */
export interface CandidateGroup {
  readonly sum: number;
  readonly ids: readonly number[];
}

/** What the nodes of interest pass. */
export interface IdTest {
  /** The first `wanted` of the ids that pass, in the order given. */
  passing(nodeIds: readonly number[], wanted: number): number[];
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

  /**
   * Indexes a node anew under other terms; one that is not indexed yet is added.
   * @param tokens how many terms it was indexed under before, repeats counted
   */
  replace(nodeId: number, terms: readonly string[], tokens: number): void {
    const packed = this.packedTerms(nodeId);
    if (packed !== null) {
      for (let at = 0; at < packed.length; at += ENTRY_BYTES) {
        const id = packed.readUInt32LE(at);
        this.#pending.set(id, (this.#pending.get(id) ?? 0) - 1);
      }
      this.#documents -= 1;
      this.#terms -= tokens;
      this.#connection.sql("DELETE FROM full_text WHERE rowid = ?").run(nodeId);
      this.#connection.sql("DELETE FROM forward_index WHERE node_id = ?").run(nodeId);
    }
    this.add(nodeId, terms);
  }

  /** Says that the whole index is of this analyser from now on, and counts its totals anew. Nothing may be pending. */
  declareCurrent(): void {
    this.#connection
      .sql(
        `UPDATE full_text_state SET analyser = ?, documents = (SELECT count(*) FROM forward_index),
           terms = (SELECT coalesce(sum(n.token_count), 0) FROM forward_index f JOIN node n ON n.id = f.node_id)
         WHERE id = 1`,
      )
      .run(ANALYSER_VERSION);
  }

  /** Writes what `add` and `replace` gathered; the store calls it before every commit. */
  flush(): void {
    if (this.#documents === 0 && this.#pending.size === 0) return;
    const update = this.#connection.sql(
      `INSERT INTO term_frequency (term_id, document_count) VALUES (?, ?)
       ON CONFLICT (term_id) DO UPDATE SET document_count = document_count + excluded.document_count`,
    );
    const drop = this.#connection.sql("DELETE FROM term_frequency WHERE term_id = ? AND document_count = 0");
    for (const [id, delta] of this.#pending) {
      if (delta !== 0) update.run(id, delta);
      if (delta < 0) drop.run(id);
    }
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

  /** Languages that at least one indexed text is in, as the analyser detects them. */
  languages(): Language[] {
    return LANGUAGES.filter((language) => this.#documentCount(termHash(languageTerm(language))) > 0);
  }

  /**
   * The query's terms with their frequencies, by word, rarest word first; terms that no text holds are left out.
   * The alternatives of one word weigh the same, by the texts that hold any of them, so that a word does not count
   * for more in a language that few texts are in.
   */
  weigh(words: readonly QueryWord[]): QueryTerm[] {
    const { documents } = this.totals();
    return words
      .map((word) => this.#holdings(word))
      .filter(({ terms }) => terms.length > 0)
      .sort((a, b) => a.documentCount - b.documentCount || (a.name < b.name ? -1 : 1))
      .flatMap(({ documentCount: wordCount, terms }, word) => {
        // A text that holds two alternatives was counted twice.
        const count = Math.min(documents, wordCount);
        const idf = inverseDocumentFrequency(documents, count);
        return terms.map((entry) => ({ ...entry, word, wordCount: count, idf }));
      });
  }

  /** The alternatives of a word that texts hold, and how many texts hold one, counted once for each. */
  #holdings(word: QueryWord) {
    const terms = word
      .map((term) => ({ term, id: termHash(term) }))
      .map(({ term, id }) => ({ term, id, documentCount: this.#documentCount(id) }))
      .filter(({ documentCount }) => documentCount > 0);
    const documentCount = terms.reduce((sum, entry) => sum + entry.documentCount, 0);
    return { terms, documentCount, name: terms[0]?.term ?? "" };
  }

  #documentCount(termId: number): number {
    return (
      this.#connection
        .sql<{ n: number }>("SELECT document_count AS n FROM term_frequency WHERE term_id = ?")
        .get(termId)?.n ?? 0
    );
  }

  /**
   * Nodes by the words they are known to hold, in groups that hold the same ones, best group first. A word stands
   * for all its terms. Words are followed whole, rarest first, until the postings read pass a bound, so that common
   * words cost little. What is beyond it is asked for together: nodes that hold several of the common words, from
   * all of them to pairs, until there are enough. Where no word that was followed whole is in a text that passes, the
   * newest postings of the rarest other one are read as well. What fails the test uses up no bound.
   */
  candidates(terms: readonly QueryTerm[], within: IdTest): CandidateGroup[] {
    const words = groupByWord(terms);
    const sums = new Map<number, number>();
    let postings = 0;
    let whole = 0;
    for (const word of words) {
      if (postings + word.count > CANDIDATE_POSTINGS) break;
      for (const id of this.#newest(matchAll([word]), NO_ROWID, -1)) sums.set(id, (sums.get(id) ?? 0) + word.idf);
      postings += word.count;
      whole++;
    }
    const common = words.slice(whole);
    const [rarest] = common;
    const isRarestRead = rarest !== undefined && within.passing([...sums.keys()], 1).length === 0;
    for (const [id, places] of this.#commonTogether(common, within)) {
      const sum = [...places].sort((a, b) => a - b).reduce((total, place) => total + (common[place]?.idf ?? 0), 0);
      sums.set(id, (sums.get(id) ?? 0) + sum);
    }
    if (isRarestRead) {
      for (const id of this.#postings([rarest], within, CANDIDATE_POSTINGS)) {
        if (!sums.has(id)) sums.set(id, rarest.idf);
      }
    }
    const groups = new Map<number, number[]>();
    for (const [id, sum] of sums) {
      const group = groups.get(sum);
      if (group === undefined) groups.set(sum, [id]);
      else group.push(id);
    }
    return [...groups].sort(([a], [b]) => b - a).map(([sum, ids]) => ({ sum, ids }));
  }

  /** Nodes that hold several of the common words, with the places of those they are known to hold. */
  #commonTogether(common: readonly HeldWord[], within: IdTest): Map<number, Set<number>> {
    const held = new Map<number, Set<number>>();
    for (const places of CONJUNCTIONS) {
      if (held.size >= ENOUGH_TOGETHER) break;
      const wanted = places.flatMap((place) => common[place] ?? []);
      if (wanted.length < places.length) continue;
      for (const id of this.#postings(wanted, within, TOGETHER_POSTINGS)) {
        const known = held.get(id);
        if (known === undefined) held.set(id, new Set(places));
        else for (const place of places) known.add(place);
      }
    }
    return held;
  }

  /**
   * The newest nodes that hold all the words, each under any of its terms, and pass. Postings are tested page by page
   * until `limit` pass (after `READ_FOR_ALL` postings: `ENOUGH_PASSING`) or there are no more: a list of ids that pass
   * would be as long as the filter is wide, and FTS5 starts anew for each id of such a list.
   */
  #postings(words: readonly HeldWord[], within: IdTest, limit: number): number[] {
    const match = matchAll(words);
    const passing: number[] = [];
    let below = NO_ROWID;
    let read = 0;
    for (let size = limit; ; ) {
      const page = this.#newest(match, below, size);
      passing.push(...within.passing(page, limit - passing.length));
      below = page.at(-1) ?? below;
      read += page.length;
      const enough = read < READ_FOR_ALL ? limit : Math.min(limit, ENOUGH_PASSING);
      if (page.length < size || passing.length >= enough) return passing;
      const expected = Math.ceil((1.25 * (enough - passing.length) * read) / (passing.length + 1));
      size = Math.min(LARGEST_PAGE, 4 * read, Math.max(SMALLEST_PAGE, expected));
    }
  }

  /** At most `limit` nodes below an id that match, newest first; a negative limit: all. */
  #newest(match: string, below: number, limit: number): number[] {
    // As an integer, which a bound number is not: FTS5 would read from the newest on to where the page begins.
    return this.#connection
      .values<number>(
        `SELECT rowid FROM full_text WHERE full_text MATCH ? AND rowid < CAST(? AS INTEGER)
         ORDER BY rowid DESC LIMIT ?`,
      )
      .all(match, below, limit);
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
    const byId = terms.map(({ id }, column) => ({ id, column })).sort((a, b) => a.id - b.id);
    for (const [id, packed] of rows) found.set(id, readCounts(packed, byId));
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

/** ln(1 + (N − n + 0.5) / (n + 0.5)), Robertson and Spärck Jones with Lucene's shift above zero; n is at most N. */
function inverseDocumentFrequency(documents: number, documentCount: number): number {
  return Math.log(1 + (documents - documentCount + 0.5) / (documentCount + 0.5));
}

/** An FTS5 expression for texts that hold all the words, each under any of its terms. */
function matchAll(words: readonly HeldWord[]): string {
  return words.map(({ terms }) => `(${toMatchQuery(terms)})`).join(" AND ");
}

/** Terms of one word stand next to each other, as `weigh` gives them. */
function groupByWord(terms: readonly QueryTerm[]): HeldWord[] {
  const words = new Map<number, { terms: string[]; count: number; idf: number }>();
  for (const { term, word, wordCount, idf } of terms) {
    const known = words.get(word);
    if (known === undefined) words.set(word, { terms: [term], count: wordCount, idf });
    else known.terms.push(term);
  }
  return [...words.values()];
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

/** Walks the packed entries and the terms together, both ascending by id. `byId`: terms with their columns. */
function readCounts(packed: Buffer, byId: readonly { readonly id: number; readonly column: number }[]): Uint8Array {
  const counts = new Uint8Array(byId.length);
  let next = 0;
  for (let at = 0; at < packed.length && next < byId.length; at += ENTRY_BYTES) {
    // Without readUInt32LE, whose checks cost as much as everything else here.
    const high = packed[at + 3] as number;
    const id =
      high * 0x1000000 +
      (((packed[at + 2] as number) << 16) | ((packed[at + 1] as number) << 8) | (packed[at] as number));
    while (next < byId.length && (byId[next] as { id: number }).id < id) next++;
    for (; next < byId.length && (byId[next] as { id: number }).id === id; next++) {
      counts[(byId[next] as { column: number }).column] = packed[at + 4] as number;
    }
  }
  return counts;
}
