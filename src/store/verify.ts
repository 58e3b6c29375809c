/**
 * The proof of history: every event against its chain, every row against its event, every word against what its event
 * vouches for, and what stands against the legs and the recalls. Reads only; names what does not fit and repairs
 * nothing. (Derived indexes and invariants of the moment: integrity.ts.)
 */
import { DormouseError } from "../core/errors.ts";
import { formatEventId, parseEventId } from "../core/ids.ts";
import type { ProgressListener } from "../core/ports.ts";
import type { Connection } from "./connection.ts";
import { commitmentOf } from "./contents.ts";
import { checkIntegrity } from "./integrity.ts";
import { type ChainedEvent, EVENT_VERSION, formatHead, type LedgerRow } from "./ledger.ts";
import type { Store } from "./store.ts";
import { findAlivenessFaults } from "./verify-aliveness.ts";
import { findColumnFaults } from "./verify-columns.ts";
import {
  digestFact,
  digestOfLines,
  factsOfEvent,
  PublicIds,
  type RowFact,
  RowFacts,
  readPayload,
} from "./verify-facts.ts";

/** Problems that are told one by one; the rest is counted. */
const TOLD = 100;
/** Events between two reports of progress. */
const PROGRESS_STEP = 2_000;
/** Rows of older brains took their time from the clock just after their event; in milliseconds. */
const TIME_SLACK = 1_000;
/** Hex digits that a fingerprint without its event must have. */
const LEAST_DIGITS = 16;

export interface VerifyOptions {
  /** Only events after this one and what they made, `e_12` or `12`; its own chain value is taken as it stands. */
  readonly since?: string;
  /** A fingerprint printed earlier, `e_12:…` or its hex digits, 16 at least: today's chain must contain it. */
  readonly head?: string;
  readonly onProgress?: ProgressListener;
}

export interface VerifyProblem {
  /** The kind of fault: a stable word. */
  readonly name:
    | "event_altered"
    | "event_missing"
    | "ledger_misjoined"
    | "row_without_event"
    | "row_differs"
    | "row_missing"
    | "words_differ"
    | "words_missing"
    | "words_resurrected"
    | "aliveness_differs"
    | "state_differs"
    | "index_differs"
    | "head_unknown"
    | "unreadable";
  readonly event: string | null;
  readonly node: string | null;
  /** In a sentence, without words of a memory. */
  readonly message: string;
}

/** head: it is today's; extends: today's chain contains it; fork: it stood in another line before a restore. */
export type HeadRelation = "head" | "extends" | "fork" | "unknown";

export interface VerifyReport {
  readonly ok: boolean;
  /** Fingerprint of the newest event, `e_N:` and 64 hex digits. */
  readonly head: string;
  readonly events: number;
  readonly rows: number;
  readonly nodes: number;
  /** What the fingerprint asked about is to today's chain; null when none was. */
  readonly relation: HeadRelation | null;
  readonly problemCount: number;
  /** At most 100. */
  readonly problems: readonly VerifyProblem[];
}

/**
 * Verifies the history of a brain on one snapshot. Memory: some bytes a node, whatever the length of the ledger.
 * @throws DormouseError `usage` for a fingerprint or event id that is none, and for an event there is not
 */
export function verifyHistory(store: Store, options: VerifyOptions = {}): VerifyReport {
  const since = options.since === undefined ? 0 : parseEventId(options.since);
  const wanted = options.head === undefined ? null : parseHead(options.head);
  return store.read(() => {
    const newest = store.ledger.head().seq;
    if (since > newest) {
      throw new DormouseError("usage", `there is no event ${formatEventId(since)}`, {
        hint: `The newest is ${formatEventId(newest)}. If there was one once, the ledger was cut: verify with --head.`,
      });
    }
    return new Verification(store, since, options.onProgress ?? (() => {})).run(wanted);
  });
}

interface WantedHead {
  readonly seq: number | null;
  /** Lower case, from the start of the chain value. */
  readonly digits: string;
}

/** @throws DormouseError `usage` */
function parseHead(text: string): WantedHead {
  const match = /^(?:e_(\d{1,15}):)?([0-9a-f]{1,64})$/i.exec(text.trim());
  const digits = match?.[2]?.toLowerCase() ?? "";
  if (match === null || digits.length < LEAST_DIGITS) {
    throw new DormouseError("usage", "that is not a fingerprint of a ledger", {
      hint: `It looks like e_12:9f86d081884c7d65…, ${LEAST_DIGITS} hex digits or more; \`dormouse stats\` prints today's.`,
    });
  }
  return { seq: match[1] === undefined ? null : Number(match[1]), digits };
}

class Verification {
  readonly #store: Store;
  readonly #connection: Connection;
  readonly #since: number;
  readonly #onProgress: ProgressListener;
  readonly #problems: VerifyProblem[] = [];
  #problemCount = 0;
  #events = 0;
  #rows = 0;
  #ids: PublicIds;
  #hasErasures: boolean;

  constructor(store: Store, since: number, onProgress: ProgressListener) {
    this.#store = store;
    this.#connection = store.connection;
    this.#since = since;
    this.#onProgress = onProgress;
    this.#ids = new PublicIds(store.connection);
    this.#hasErasures =
      store.connection.sql("SELECT 1 FROM node WHERE erased_by IS NOT NULL LIMIT 1").get() !== undefined;
  }

  run(wanted: WantedHead | null): VerifyReport {
    const ledgers = this.#store.ledger.ledgers();
    this.#checkJoints(ledgers);
    this.#checkOwn(ledgers.filter(({ own }) => own));
    for (const ledger of ledgers.filter(({ own }) => !own)) {
      for (const event of this.#store.ledger.walk(ledger)) this.#checkEvent(event);
    }
    if (this.#since === 0) this.#checkNow();
    const relation = wanted === null ? null : this.#relationOf(wanted, ledgers);
    return {
      ok: this.#problemCount === 0,
      head: formatHead(this.#store.ledger.head()),
      events: this.#events,
      rows: this.#rows,
      nodes: this.#ids.highest,
      relation,
      problemCount: this.#problemCount,
      problems: this.#problems,
    };
  }

  #tell(name: VerifyProblem["name"], message: string, at: { seq?: number | null; nodeId?: number | null } = {}): void {
    this.#problemCount += 1;
    if (this.#problems.length >= TOLD) return;
    const event = at.seq === undefined || at.seq === null ? null : formatEventId(at.seq);
    const node = at.nodeId === undefined || at.nodeId === null ? null : this.#ids.node(at.nodeId);
    this.#problems.push({ name, event, node, message });
  }

  /** A ledger goes on from where it says: its genesis is the chain value of the event before its first. */
  #checkJoints(ledgers: readonly LedgerRow[]): void {
    for (const ledger of ledgers) {
      const before =
        ledger.continuesId === null
          ? Buffer.alloc(ledger.genesis.length)
          : this.#connection
              .values<Buffer>("SELECT chain FROM event WHERE ledger_id = ? AND seq = ?")
              .get(ledger.continuesId, ledger.firstSeq - 1);
      if (before === undefined || !ledger.genesis.equals(before)) {
        this.#tell("ledger_misjoined", "a ledger does not begin where it says", { seq: ledger.firstSeq });
      }
    }
  }

  #checkEvent(event: ChainedEvent): void {
    this.#events += 1;
    if (event.fit === "altered") {
      this.#tell("event_altered", "the event, or its place, is not what was chained", { seq: event.seq });
    }
    if (event.fit === "gap") {
      const upTo = event.seq - 1 > event.due ? ` to ${formatEventId(event.seq - 1)}` : "";
      this.#tell("event_missing", `events are missing: ${formatEventId(event.due)}${upTo}`, { seq: event.due });
    }
    if (event.version > EVENT_VERSION) {
      this.#tell("unreadable", "the event was written by a newer version", { seq: event.seq });
    }
  }

  /** Own events beside the rows that name them, both in order. */
  #checkOwn(ledgers: readonly LedgerRow[]): void {
    const rows = new RowsInOrder(new RowFacts(this.#connection, this.#store.ledger, this.#ids, this.#since).streams());
    const total = this.#connection.values<number>("SELECT count(*) FROM event").get() ?? 0;
    try {
      for (const [index, ledger] of ledgers.entries()) {
        const end = ledgers[index + 1]?.firstSeq ?? Number.MAX_SAFE_INTEGER;
        const after = Math.max(this.#since, ledger.firstSeq - 1);
        if (after >= end) continue;
        for (const event of this.#store.ledger.walk(ledger, after)) {
          this.#checkEvent(event);
          this.#tellStray(rows.before(event.seq));
          this.#compare(event, rows.of(event.seq));
          if (this.#events % PROGRESS_STEP === 0) {
            this.#onProgress({ stage: "verifying", done: this.#events, total });
          }
        }
      }
      this.#tellStray(rows.before(Number.MAX_SAFE_INTEGER));
    } finally {
      rows.close();
    }
  }

  /** Rows of events that are not there: each event once. */
  #tellStray(rows: Iterable<RowFact>): void {
    let last: number | null = null;
    for (const { seq, fact, nodeId } of rows) {
      this.#rows += 1;
      if (seq === last) continue;
      last = seq;
      this.#tell("row_without_event", `a row (${topicOf(fact)}) names an event that is not in the ledger`, {
        seq,
        nodeId,
      });
    }
  }

  #compare(event: ChainedEvent, rows: readonly RowFact[]): void {
    const { seq } = event;
    const wanted = new Map<string, number>();
    for (const fact of factsOfEvent(event.kind, readPayload(event.payload))) {
      wanted.set(fact, (wanted.get(fact) ?? 0) + 1);
    }
    const lines = new Map<string, (string | null)[]>();
    const differing = new Set<string>();
    for (const row of rows) {
      this.#rows += 1;
      if (row.line !== undefined) {
        const known = lines.get(row.line.of);
        if (known === undefined) lines.set(row.line.of, [row.line.text]);
        else known.push(row.line.text);
        continue;
      }
      if (row.recordedAt !== undefined && Math.abs(row.recordedAt - event.at) > TIME_SLACK) {
        this.#tell("row_differs", "it was recorded at another time than its row says", { seq, nodeId: row.nodeId });
      }
      const left = wanted.get(row.fact) ?? 0;
      if (left > 0) {
        wanted.set(row.fact, left - 1);
        continue;
      }
      if (isBorneOutByKind(event, row.fact)) continue;
      differing.add(topicOf(row.fact));
      this.#tell("row_differs", `a row (${topicOf(row.fact)}) says what its event does not`, {
        seq,
        nodeId: row.nodeId,
      });
    }
    this.#compareDigests(event, lines, wanted);
    for (const [fact, count] of wanted) {
      const topic = topicOf(fact);
      // One that differs was told already.
      if (count === 0 || differing.has(topic)) continue;
      const node = /\b[ns]_[0-9a-z]{16}\b/.exec(fact)?.[0];
      const whose = node === undefined ? "" : ` of ${node}`;
      this.#tell("row_missing", `no row (${topic}${whose}) bears out what the event says`, { seq });
    }
    this.#compareWords(event, rows);
  }

  #compareDigests(
    { seq }: ChainedEvent,
    lines: ReadonlyMap<string, readonly (string | null)[]>,
    wanted: Map<string, number>,
  ): void {
    for (const [of, told] of lines) {
      const given = [...wanted.keys()].find((fact) => topicOf(fact) === of);
      const texts = told.filter((text) => text !== null);
      const isErased = texts.length < told.length;
      const matches =
        given !== undefined &&
        (isErased
          ? given.startsWith(`${of} ${told.length} `)
          : given === digestFact(of as "links", texts.length, digestOfLines(texts)));
      if (given !== undefined) wanted.delete(given);
      if (!matches) this.#tell("row_differs", `its ${of} are not those that the event was recorded with`, { seq });
    }
  }

  #compareWords({ seq, commitment }: ChainedEvent, rows: readonly RowFact[]): void {
    const owners = rows.filter(({ contentId }) => contentId !== undefined);
    if (commitment === null && owners.length > 0) {
      this.#tell("words_differ", "words hang on an event that brought none", {
        seq,
        nodeId: owners[0]?.nodeId ?? null,
      });
    }
    if (commitment === null) return;
    const owner = owners[0];
    if (owner?.contentId === undefined) {
      this.#tell("words_missing", "the words that the event brought belong to nothing", { seq });
      return;
    }
    const at = { seq, nodeId: owner.nodeId };
    const words = this.#connection
      .sql<{ salt: Buffer; body: Buffer }>("SELECT salt, body FROM content WHERE id = ?")
      .get(owner.contentId);
    const isErasureCovered =
      owner.erasedBy === undefined ? this.#hasErasures : owner.erasedBy !== null && this.#hasEvent(owner.erasedBy);
    if (words === undefined || words.salt.every((byte) => byte === 0)) {
      if (!isErasureCovered) this.#tell("words_missing", "words are gone, and no erasure took them", at);
    } else if (owner.erasedBy !== undefined && owner.erasedBy !== null) {
      this.#tell("words_resurrected", "words that were erased are back", at);
    } else if (!commitmentOf(words.salt, words.body).equals(commitment)) {
      this.#tell("words_differ", "the words are not those that were recorded", at);
    }
  }

  #hasEvent(seq: number): boolean {
    return this.#connection.sql("SELECT 1 FROM event WHERE seq = ? LIMIT 1").get(seq) !== undefined;
  }

  /** What holds at the moment: what stands, states, and the indexes made of it all. */
  #checkNow(): void {
    this.#onProgress({ stage: "working out what stands", done: 0, total: null });
    try {
      const effects = this.#store.recalls.after(0);
      for (const fault of findAlivenessFaults(this.#connection, effects, this.#ids.highest)) {
        this.#tell("aliveness_differs", fault.message, {
          seq: fault.event === null ? null : parseEventId(fault.event),
          nodeId: fault.nodeId,
        });
      }
    } catch (error) {
      if (!(error instanceof DormouseError)) throw error;
      this.#tell("unreadable", error.message);
      return;
    }
    this.#onProgress({ stage: "checking columns", done: 0, total: null });
    for (const { message, ...at } of findColumnFaults(this.#store, this.#ids)) this.#tell("row_differs", message, at);
    this.#onProgress({ stage: "checking states and indexes", done: 0, total: null });
    for (const { name, violations, sample, rebuildable, meaning } of checkIntegrity(this.#store)) {
      if (violations === 0 || name === "ledger_chain") continue;
      const some = sample.length === 0 ? "" : `, for instance ${sample.join(", ")}`;
      const message = `${meaning} (${violations}${some})`;
      this.#tell(rebuildable ? "index_differs" : "state_differs", message);
    }
  }

  #relationOf(wanted: WantedHead, ledgers: readonly LedgerRow[]): HeadRelation {
    const head = this.#store.ledger.head();
    const writing = ledgers.find((ledger) => ledger.writing);
    const found = this.#findHead(wanted);
    if (found !== null && writing !== undefined && isOnLine(found, writing, ledgers)) {
      return found.seq === head.seq ? "head" : "extends";
    }
    const wasRestored = writing !== undefined && writing.continuesId !== null;
    const isFork = found !== null || (wasRestored && (wanted.seq === null || wanted.seq >= writing.firstSeq));
    if (isFork) {
      this.#tell("head_unknown", "the fingerprint is of another line: the brain was restored from a backup since");
      return "fork";
    }
    const message = "the fingerprint is not part of this ledger: it was cut, rewritten, or is another brain's";
    this.#tell("head_unknown", message, { seq: wanted.seq });
    return "unknown";
  }

  #findHead({ seq, digits }: WantedHead): { seq: number; ledgerId: number } | null {
    const rows =
      seq === null
        ? this.#connection
            .sql<{ seq: number; ledgerId: number }>(
              `SELECT seq, ledger_id AS ledgerId FROM event WHERE hex(chain) LIKE ? ORDER BY seq DESC LIMIT 1`,
            )
            .all(`${digits}%`)
        : this.#connection
            .sql<{ seq: number; ledgerId: number }>(
              `SELECT seq, ledger_id AS ledgerId FROM event WHERE seq = ? AND hex(chain) LIKE ? LIMIT 1`,
            )
            .all(seq, `${digits}%`);
    return rows[0] ?? null;
  }
}

/** Whether an event is one that the ledger being written goes on from, over however many restores. */
function isOnLine(
  event: { readonly seq: number; readonly ledgerId: number },
  writing: LedgerRow,
  ledgers: readonly LedgerRow[],
): boolean {
  let end = Number.MAX_SAFE_INTEGER;
  for (let ledger: LedgerRow | undefined = writing; ledger !== undefined; ) {
    if (ledger.id === event.ledgerId) return event.seq < end;
    end = ledger.firstSeq;
    const before: number | null = ledger.continuesId;
    ledger = ledgers.find(({ id }) => id === before);
  }
  return false;
}

/** Facts that any number of rows may state under an event of the kind. */
function isBorneOutByKind(event: ChainedEvent, fact: string): boolean {
  switch (topicOf(fact)) {
    case "mention joined":
      return event.kind === "mention.joined";
    case "mention parted":
      return event.kind === "mention.parted";
    case "reason":
      return event.commitment !== null;
    case "pin":
      // The strict rule pins all that the roots reach; the roots alone are in the event.
      return event.kind === "recalled" && readPayload(event.payload).rule === "strict";
    case "standing":
      return RAISING_KINDS.has(event.kind) && fact.startsWith("standing 0 fell");
    default:
      return false;
  }
}

/** Events of a new leg, on which something that fell may stand again. */
const RAISING_KINDS: ReadonlySet<string> = new Set(["leg.added", "thought.reinforced"]);

/** What a fact is about, without whose it is: its first words. */
function topicOf(fact: string): string {
  return /^[a-z]+(?: (?:of|leg|occurrence|ended|joined|parted|tag|aspect|facet|about)\b)*/.exec(fact)?.[0] ?? fact;
}

/** The streams of all tables as one, in the order of events. */
class RowsInOrder {
  readonly #streams: { readonly iterator: Iterator<RowFact>; next: RowFact }[] = [];

  constructor(iterators: readonly Iterator<RowFact>[]) {
    for (const iterator of iterators) {
      const first = iterator.next();
      if (first.done !== true) this.#streams.push({ iterator, next: first.value });
    }
  }

  /** Rows of earlier events that nobody asked for. */
  *before(seq: number): Generator<RowFact> {
    for (;;) {
      let least: number | null = null;
      for (const { next } of this.#streams)
        if (next.seq < seq && (least === null || next.seq < least)) least = next.seq;
      if (least === null) return;
      yield* this.of(least);
    }
  }

  of(seq: number): RowFact[] {
    const rows: RowFact[] = [];
    for (let index = this.#streams.length - 1; index >= 0; index--) {
      const stream = this.#streams[index];
      while (stream !== undefined && stream.next.seq === seq) {
        rows.push(stream.next);
        const following = stream.iterator.next();
        if (following.done === true) {
          this.#streams.splice(index, 1);
          break;
        }
        stream.next = following.value;
      }
    }
    return rows;
  }

  close(): void {
    for (const { iterator } of this.#streams) iterator.return?.();
  }
}
