/**
 * The ledger and the one audit helper. Everything that changes a canonical row goes through `record`,
 * in the caller's transaction: it writes the transitions, changes the node's axes, and chains the event.
 * Events hold public ids, numbers and digests, never words.
 */
import { formatEventId, formatId } from "../core/ids.ts";
import { ACTORS, type Actor, BELIEFS, DECAY_REASONS, PERMANENCES, TRUST_LEVELS } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { type CanonicalValue, canonicalJson, sha256 } from "./digest.ts";

/** Version of the payloads and leaves that are written. */
export const EVENT_VERSION = 1;
/** Events read at a time. */
const WALK_BATCH = 500;

/** Audited columns of `node`; the position is the axis number in `transition`, counted from 1. */
export const AXES = [
  "decayed",
  "belief",
  "permanence",
  "merged_into",
  "recalled_by",
  "erased_by",
  "stale_by",
  "trust",
  "kind_id",
  "domain_id",
  "scope_id",
  "due_at",
  "valid_from",
  "valid_to",
  "confidence",
  "salience",
] as const;
export type Axis = (typeof AXES)[number];
/** Axes whose values are positions in a list of words. */
export const AXIS_WORDS: Readonly<Partial<Record<Axis, readonly string[]>>> = {
  decayed: DECAY_REASONS,
  belief: BELIEFS,
  permanence: PERMANENCES,
  trust: TRUST_LEVELS,
};
/** Changes that one event holds at most where a step touches many nodes: what it locks and what a reader unpacks stays small. */
export const CHANGES_PER_EVENT = 500;

/** Axes that the vector index mirrors: those that decide whether a node is visible, and those that filter. */
const MIRRORED_AXES: ReadonlySet<Axis> = new Set([
  "decayed",
  "belief",
  "merged_into",
  "recalled_by",
  "erased_by",
  "kind_id",
  "domain_id",
  "scope_id",
]);

export const EVENT_KINDS = [
  "brain.created",
  "label.created",
  "scope.created",
  "subject.created",
  "source.created",
  "thought.created",
  "thought.reinforced",
  "attributes.set",
  "leg.added",
  "leg.ended",
  "link.added",
  "link.ended",
  "mention.added",
  "mention.joined",
  "mention.parted",
  "thread.split",
  "occurrence.ended",
  "occurrence.moved",
  "occurrence.dated",
  "decayed",
  "revived",
  "merged",
  "unmerged",
  "permanence.changed",
  "belief.changed",
  "stale.changed",
  "trust.set",
  "trust.carried",
  "recalled",
  "unrecalled",
  "recall.released",
  "recall.rejoined",
  "standing.changed",
  "tombstone.added",
  "tombstone.lifted",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** One change of one axis of one node; `to` is the stored number. */
export interface Change {
  readonly nodeId: number;
  readonly axis: Axis;
  readonly to: number | null;
}

/** A change with what the ledger says about it. */
interface Shift extends Change {
  readonly publicId: Buffer;
  readonly role: number;
  readonly was: number | null;
}

export interface EventInput {
  readonly kind: EventKind;
  readonly actor: Actor;
  readonly payload: { readonly [key: string]: CanonicalValue | undefined };
  readonly commitment?: Buffer;
  /** Changes whose target already has the wanted value are dropped. */
  readonly changes?: readonly Change[];
}

export interface EventRow {
  readonly seq: number;
  readonly kind: string;
  readonly actor: number;
  readonly at: number;
  readonly payload: Buffer;
  readonly chain: Buffer;
}

/** One event as the faces show it. */
export interface EventView {
  readonly id: string;
  readonly at: string;
  readonly actor: Actor;
  readonly kind: string;
  readonly payload: unknown;
  readonly chain: string;
}

/** A chain of events in this file. */
export interface LedgerRow {
  readonly id: number;
  readonly publicId: Buffer;
  readonly firstSeq: number;
  /** Chain value before the first event. */
  readonly genesis: Buffer;
  /** The ledger that it goes on from; null for a first one. */
  readonly continuesId: number | null;
  readonly writing: boolean;
  /** False for one of another brain, kept for verification. */
  readonly own: boolean;
}

/** An event as it lies in the file, and whether the chain bears it out. */
export interface ChainedEvent extends EventRow {
  readonly commitment: Buffer | null;
  readonly version: number;
  /** altered: it, or its place, is not what was chained. gap: the events before it are missing, so nobody can say. */
  readonly fit: "fits" | "altered" | "gap";
  /** The number that the event before it calls for; its own unless events are missing. */
  readonly due: number;
}

/** An event with its chain value, `e_N:` and 64 hex digits, as people and checkpoints keep it. */
export function formatHead({ seq, chain }: { readonly seq: number; readonly chain: Uint8Array }): string {
  return `${formatEventId(seq)}:${Buffer.from(chain).toString("hex")}`;
}

type MirrorListener = (nodeId: number) => void;

export class Ledger {
  readonly #connection: Connection;
  readonly #now: () => number;
  #ledger: { id: number; publicId: Buffer; firstSeq: number } | undefined;
  /** The newest event as this transaction knows it; nobody else can add one while it runs. */
  #tail: { seq: number; chain: Buffer; at: number } | undefined;
  #onMirrored: MirrorListener = () => {};

  constructor(connection: Connection, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  /** The derived indexes ask to be told when a column that they mirror has changed. */
  onMirroredChange(listener: MirrorListener): void {
    this.#onMirrored = listener;
  }

  /** The store calls it when a write transaction begins or fails: other processes may have added events. */
  forgetTail(): void {
    this.#tail = undefined;
  }

  /** Sequence number the next event will get, inside the write transaction that will write it. */
  nextSeq(): number {
    return this.head().seq + 1;
  }

  head(): { seq: number; chain: Buffer } {
    const row = this.#connection
      .sql<{ seq: number; chain: Buffer }>("SELECT seq, chain FROM event WHERE ledger_id = ? ORDER BY seq DESC LIMIT 1")
      .get(this.#current().id);
    return row ?? { seq: this.#current().firstSeq - 1, chain: this.#genesis() };
  }

  /**
   * Writes one event with its transitions and applies them. Must run inside a write transaction.
   * @returns the event's sequence number
   */
  record(input: EventInput): number {
    const ledger = this.#current();
    const head = this.#tail ?? this.head();
    const seq = head.seq + 1;
    const at = this.#now();
    const shifts = this.#shiftsOf(input.changes ?? []);
    const states = shifts.map((shift) => this.#describeShift(shift));
    const payload = canonicalJson(states.length === 0 ? input.payload : { ...input.payload, states });
    const commitment = input.commitment ?? null;
    const actor = ACTORS.indexOf(input.actor);
    const leaf = leafOf({
      ledger: ledger.publicId,
      seq,
      version: EVENT_VERSION,
      kind: input.kind,
      actor,
      at,
      payload,
      commitment,
    });
    const chain = sha256(head.chain, leaf);
    this.#connection
      .sql(
        "INSERT INTO event (ledger_id, seq, version, kind, actor, at, payload, commitment, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      )
      .run(ledger.id, seq, EVENT_VERSION, input.kind, actor, at, Buffer.from(payload, "utf8"), commitment, chain);
    this.#applyShifts(seq, shifts);
    this.#tail = { seq, chain, at };
    return seq;
  }

  /** When the event happened that this transaction recorded last: rows that it makes bear the same time. */
  lastTime(): number {
    return this.#tail?.at ?? this.#now();
  }

  /** One event of the ledger that is written to; null when there is none with this number. */
  get(seq: number): EventView | null {
    const row = this.#connection
      .sql<EventRow>("SELECT seq, kind, actor, at, payload, chain FROM event WHERE ledger_id = ? AND seq = ?")
      .get(this.#current().id, seq);
    return row === undefined ? null : rowToEventView(row);
  }

  /** Newest first; `since` is exclusive; `nodeId` keeps the events that touched the node, found through indexes. */
  list(options: { nodeId?: number; since?: number; limit: number }): EventView[] {
    const columns = "SELECT seq, kind, actor, at, payload, chain FROM event";
    const ledgerId = this.#current().id;
    const since = options.since ?? 0;
    const rows =
      options.nodeId === undefined
        ? this.#connection
            .sql<EventRow>(`${columns} WHERE ledger_id = ? AND seq > ? ORDER BY seq DESC LIMIT ?`)
            .all(ledgerId, since, options.limit)
        : this.#connection
            .sql<EventRow>(
              `${columns} WHERE ledger_id = @ledgerId AND seq > @since AND seq IN (
                 SELECT added_seq FROM node WHERE id = @nodeId
                 UNION SELECT event_seq FROM transition WHERE node_id = @nodeId
                 UNION SELECT added_seq FROM leg WHERE node_id = @nodeId
                 UNION SELECT ended_seq FROM leg WHERE node_id = @nodeId
                 UNION SELECT event_seq FROM occurrence WHERE node_id = @nodeId
                 UNION SELECT ended_seq FROM occurrence WHERE node_id = @nodeId
                 UNION SELECT m.event_seq FROM mention m JOIN occurrence o ON o.id = m.occurrence_id WHERE o.node_id = @nodeId
                 UNION SELECT m.joined_seq FROM mention m JOIN occurrence o ON o.id = m.occurrence_id WHERE o.node_id = @nodeId
                 UNION SELECT added_seq FROM link WHERE from_id = @nodeId
                 UNION SELECT added_seq FROM link WHERE to_id = @nodeId
                 UNION SELECT ended_seq FROM link WHERE from_id = @nodeId
                 UNION SELECT ended_seq FROM link WHERE to_id = @nodeId
                 UNION SELECT added_seq FROM node_tag WHERE node_id = @nodeId
                 UNION SELECT ended_seq FROM node_tag WHERE node_id = @nodeId
                 UNION SELECT added_seq FROM node_subject WHERE node_id = @nodeId
               ) ORDER BY seq DESC LIMIT @limit`,
            )
            .all({ ledgerId, since, nodeId: options.nodeId, limit: options.limit });
    return rows.map(rowToEventView);
  }

  /**
   * Recomputes the chain from the genesis.
   * @returns the first sequence number that does not fit, or null
   */
  firstBreak(): number | null {
    const { id } = this.#current();
    const ledger = this.ledgers().find((row) => row.id === id);
    if (ledger === undefined) return null;
    for (const event of this.walk(ledger)) if (event.fit !== "fits") return event.due;
    return null;
  }

  /** The chains in this file, own ones first, each before those that go on from it. */
  ledgers(): LedgerRow[] {
    return this.#connection
      .sql<Omit<LedgerRow, "own" | "writing"> & { own: number; writing: number | null }>(
        `SELECT id, public_id AS publicId, first_seq AS firstSeq, genesis, continues_id AS continuesId, writing, own
         FROM ledger ORDER BY own DESC, first_seq, id`,
      )
      .all()
      .map((row) => ({ ...row, own: row.own === 1, writing: row.writing === 1 }));
  }

  /**
   * Recomputes the chain of a ledger event by event, each from what the file says of the one before it, so that one
   * that was tampered with is named alone. Reads in batches, whatever the length.
   * @param after begins with the next event, from the stored chain value of this one; default the beginning
   */
  *walk(ledger: LedgerRow, after: number = ledger.firstSeq - 1): Generator<ChainedEvent> {
    const batch = this.#connection.sql<Omit<ChainedEvent, "fit" | "due">>(
      `SELECT seq, version, kind, actor, at, payload, commitment, chain FROM event
       WHERE ledger_id = ? AND seq > ? ORDER BY seq LIMIT ${WALK_BATCH}`,
    );
    let last = after;
    let before = after < ledger.firstSeq ? ledger.genesis : this.#storedChain(ledger.id, after);
    for (let rows = batch.all(ledger.id, last); rows.length > 0; rows = batch.all(ledger.id, last)) {
      for (const row of rows) {
        const leaf = leafOf({ ...row, ledger: ledger.publicId, payload: row.payload.toString("utf8") });
        const isChained = before !== null && sha256(before, leaf).equals(row.chain);
        const due = last + 1;
        yield { ...row, due, fit: row.seq !== due ? "gap" : isChained ? "fits" : "altered" };
        last = row.seq;
        before = row.chain;
      }
    }
  }

  #storedChain(ledgerId: number, seq: number): Buffer | null {
    return (
      this.#connection.values<Buffer>("SELECT chain FROM event WHERE ledger_id = ? AND seq = ?").get(ledgerId, seq) ??
      null
    );
  }

  /**
   * A change as its event tells it: id of the node, axis, value before and after, in public ids and names.
   * @throws RangeError when a row that it names does not exist
   */
  describeTransition(nodeId: number, axisNumber: number, was: number | null, to: number | null): CanonicalValue {
    const axis = AXES[axisNumber - 1];
    const node = this.#connection
      .sql<{ publicId: Buffer; role: number }>("SELECT public_id AS publicId, role FROM node WHERE id = ?")
      .get(nodeId);
    if (axis === undefined || node === undefined) throw new RangeError("a transition names a row that does not exist");
    return this.#describeShift({ ...node, nodeId, axis, was, to });
  }

  /** The changes that change something, with the value before. */
  #shiftsOf(changes: readonly Change[]): Shift[] {
    const lastByTarget = new Map(changes.map((change) => [`${change.nodeId} ${change.axis}`, change]));
    return [...lastByTarget.values()].flatMap((change) => {
      const row = this.#connection
        .sql<{ publicId: Buffer; role: number; was: number | null }>(
          `SELECT public_id AS publicId, role, ${change.axis} AS was FROM node WHERE id = ?`,
        )
        .get(change.nodeId);
      return row === undefined || row.was === change.to ? [] : [{ ...change, ...row }];
    });
  }

  #describeShift({ publicId, role, axis, was, to }: Shift): CanonicalValue {
    const id = formatId(role === 0 ? "source" : "thought", publicId);
    return [id, axis, this.#publicValue(axis, was), this.#publicValue(axis, to)];
  }

  #applyShifts(seq: number, shifts: readonly Shift[]): void {
    const insert = this.#connection.sql(
      "INSERT INTO transition (event_seq, node_id, axis, old, new) VALUES (?, ?, ?, ?, ?)",
    );
    const mirrored = new Set<number>();
    for (const { nodeId, axis, was, to } of shifts) {
      insert.run(seq, nodeId, AXES.indexOf(axis) + 1, was, to);
      this.#connection.sql(`UPDATE node SET ${axis} = ? WHERE id = ?`).run(to, nodeId);
      if (MIRRORED_AXES.has(axis)) mirrored.add(nodeId);
    }
    for (const nodeId of mirrored) this.#onMirrored(nodeId);
  }

  /** Numbers stay; local ids become public ones; states get their names. */
  #publicValue(axis: Axis, value: number | null): CanonicalValue {
    if (value === null) return null;
    const words = AXIS_WORDS[axis];
    if (words !== undefined) return words[value] ?? value;
    switch (axis) {
      case "merged_into":
        return formatId("thought", this.#publicIdOf("SELECT public_id AS id FROM node WHERE id = ?", value));
      case "kind_id":
      case "domain_id":
        return formatId("label", this.#publicIdOf("SELECT public_id AS id FROM label WHERE id = ?", value));
      case "scope_id":
        return formatId(
          "label",
          this.#publicIdOf(
            "SELECT l.public_id AS id FROM scope s JOIN label l ON l.id = s.label_id WHERE s.id = ?",
            value,
          ),
        );
      case "recalled_by":
      case "erased_by":
      case "stale_by":
        return formatEventId(value);
      default:
        return value;
    }
  }

  #publicIdOf(sql: string, id: number): Buffer {
    const row = this.#connection.sql<{ id: Buffer }>(sql).get(id);
    if (row === undefined) throw new RangeError("a transition names a row that does not exist");
    return row.id;
  }

  #current(): { id: number; publicId: Buffer; firstSeq: number } {
    this.#ledger ??= this.#connection
      .sql<{ id: number; publicId: Buffer; firstSeq: number }>(
        "SELECT id, public_id AS publicId, first_seq AS firstSeq FROM ledger WHERE writing = 1",
      )
      .get();
    if (this.#ledger === undefined) throw new RangeError("the brain has no ledger");
    return this.#ledger;
  }

  #genesis(): Buffer {
    return (
      this.#connection.sql<{ genesis: Buffer }>("SELECT genesis FROM ledger WHERE id = ?").get(this.#current().id)
        ?.genesis ?? Buffer.alloc(32)
    );
  }
}

function leafOf(event: {
  ledger: Uint8Array;
  seq: number;
  version: number;
  kind: string;
  actor: number;
  at: number;
  payload: string;
  commitment: Uint8Array | null;
}): Buffer {
  const head = canonicalJson([
    "dormouse.event",
    event.version,
    Buffer.from(event.ledger).toString("hex"),
    event.seq,
    event.kind,
    event.actor,
    event.at,
    event.commitment === null ? null : Buffer.from(event.commitment).toString("hex"),
  ]);
  return sha256(head, "\n", event.payload);
}

function rowToEventView(row: EventRow): EventView {
  return {
    id: formatEventId(row.seq),
    at: new Date(row.at).toISOString(),
    actor: ACTORS[row.actor] ?? "person",
    kind: row.kind,
    payload: JSON.parse(row.payload.toString("utf8")),
    chain: row.chain.toString("hex"),
  };
}
