/**
 * What recalls took and gave back: one row an event, replayable. A recall is in force from its commit on; the ids that
 * `node.recalled_by` does not say yet stand in a temporary table that every read of this connection leaves out.
 */
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import { BELIEFS, DECAY_REASONS } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { decodeIds, encodeIds } from "./id-list.ts";
import { AXES } from "./ledger.ts";
import { isLegInUse } from "./legs.ts";
import { unhidden, unrecalled } from "./visibility.ts";

const MERGED_AXIS = AXES.indexOf("merged_into") + 1;
const FORGOTTEN = DECAY_REASONS.indexOf("forgotten");
const DISPUTED = BELIEFS.indexOf("disputed");

export interface RecallEffect {
  readonly eventSeq: number;
  /** What stood and fell, ascending. */
  readonly removed: readonly number[];
  /** What had fallen and stands again, ascending. */
  readonly restored: readonly number[];
  /** What cannot stand while this is in force, ascending. */
  readonly pinned: readonly number[];
  /** Copies that came out from behind a survivor that fell, ascending. */
  readonly released: readonly number[];
  /** The event that undid it; null while it is in force. */
  readonly undoneSeq: number | null;
  readonly materialised: boolean;
}

interface EffectRow {
  readonly eventSeq: number;
  readonly removed: Buffer;
  readonly restored: Buffer;
  readonly pinned: Buffer;
  readonly released: Buffer;
  readonly undoneSeq: number | null;
  readonly materialised: number;
}

/** A thought that stands behind a node that fell. */
export interface StandingCopy {
  readonly id: number;
  /** The recall that the survivor lies under, as its row says it; null while that is pending. */
  readonly recalledBy: number | null;
}

/** A copy that came out when its survivor fell. */
interface PartedCopy {
  readonly id: number;
  readonly survivorId: number;
}

const FALLEN_SURVIVOR = `EXISTS (SELECT 1 FROM node f WHERE f.id = n.merged_into AND NOT ${unrecalled("f")})`;

const COLUMNS = `event_seq AS eventSeq, removed, restored, pinned, released, undone_seq AS undoneSeq, materialised`;

export class RecallEffects {
  readonly #connection: Connection;
  /** Events whose ids the temporary table holds. */
  #pendingSeqs: readonly number[] = [];
  #pending: ReadonlySet<number> = new Set();
  /** What recalls in force pinned when this was the newest effect. */
  #pinned: { readonly newestSeq: number; readonly ids: ReadonlySet<number> } | null = null;
  /** This connection reads a past moment: what is loaded stays. */
  #isFrozen = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Writes the effect of an event that was just recorded; it is pending until `markMaterialised`, and obeyed by every
   * transaction that begins later. One that restores is written only when no other is pending, and mirrored in the
   * same transaction.
   */
  insert(effect: Pick<RecallEffect, "eventSeq" | "removed" | "restored" | "pinned">): void {
    const pinned = effect.pinned.length === 0 && this.#pinned?.newestSeq === this.newestSeq() ? this.#pinned : null;
    this.#pinned = pinned === null ? null : { newestSeq: effect.eventSeq, ids: pinned.ids };
    this.#connection
      .sql("INSERT INTO recall_effect (event_seq, removed, restored, pinned) VALUES (?, ?, ?, ?)")
      .run(effect.eventSeq, encodeIds(effect.removed), encodeIds(effect.restored), encodeIds(effect.pinned));
  }

  get(eventSeq: number): RecallEffect | null {
    const row = this.#connection
      .sql<EffectRow>(`SELECT ${COLUMNS} FROM recall_effect WHERE event_seq = ?`)
      .get(eventSeq);
    return row === undefined ? null : rowToEffect(row);
  }

  /** Effects of events after this one, in order. */
  after(eventSeq: number): RecallEffect[] {
    return this.#connection
      .sql<EffectRow>(`SELECT ${COLUMNS} FROM recall_effect WHERE event_seq > ? ORDER BY event_seq`)
      .all(eventSeq)
      .map(rowToEffect);
  }

  /** Effects that were undone by an event after this one, in order. */
  undoneAfter(eventSeq: number): RecallEffect[] {
    return this.#connection
      .sql<EffectRow>(`SELECT ${COLUMNS} FROM recall_effect WHERE undone_seq > ? ORDER BY event_seq`)
      .all(eventSeq)
      .map(rowToEffect);
  }

  /** Recalls that nobody undid, in order, with what they pin. */
  inForce(): { readonly eventSeq: number; readonly pinned: readonly number[] }[] {
    return this.#connection
      .sql<{ eventSeq: number; pinned: Buffer }>(
        `SELECT event_seq AS eventSeq, pinned FROM recall_effect
         WHERE undone_seq IS NULL AND length(pinned) > 0 ORDER BY event_seq`,
      )
      .all()
      .map(({ eventSeq, pinned }) => ({ eventSeq, pinned: readIds(eventSeq, pinned) }));
  }

  /** Everything that a recall in force pins. Asked for every known value that is met, so it is kept. */
  pinnedNow(): ReadonlySet<number> {
    const newestSeq = this.newestSeq();
    // Whatever changes the pins, in whichever process, writes an effect.
    if (this.#pinned?.newestSeq !== newestSeq) {
      this.#pinned = { newestSeq, ids: new Set(this.inForce().flatMap(({ pinned }) => pinned)) };
    }
    return this.#pinned.ids;
  }

  /** Everything that a recall in force pins, but for those of one event. */
  pinnedBesides(eventSeq: number): Set<number> {
    return new Set(this.inForce().flatMap((recall) => (recall.eventSeq === eventSeq ? [] : recall.pinned)));
  }

  /** The event that changed last what stands; 0 before the first. */
  newestSeq(): number {
    return this.#connection.values<number>("SELECT coalesce(max(event_seq), 0) FROM recall_effect").get() ?? 0;
  }

  markUndone(eventSeq: number, undoneSeq: number): void {
    this.#pinned = null;
    this.#connection.sql("UPDATE recall_effect SET undone_seq = ? WHERE event_seq = ?").run(undoneSeq, eventSeq);
  }

  noteRestored(eventSeq: number, restored: readonly number[]): void {
    this.#connection
      .sql("UPDATE recall_effect SET restored = ? WHERE event_seq = ?")
      .run(encodeIds(restored), eventSeq);
  }

  /** Adds copies to those that a recall brought out. */
  noteReleased(eventSeq: number, copyIds: readonly number[]): void {
    const released = new Set([...(this.get(eventSeq)?.released ?? []), ...copyIds]);
    this.#connection
      .sql("UPDATE recall_effect SET released = ? WHERE event_seq = ?")
      .run(encodeIds([...released].sort((a, b) => a - b)), eventSeq);
  }

  markMaterialised(eventSeq: number): void {
    this.#connection.sql("UPDATE recall_effect SET materialised = 1 WHERE event_seq = ?").run(eventSeq);
    this.loadPending();
  }

  /** Events whose effect `node.recalled_by` does not say yet, in order. */
  pendingSeqs(): number[] {
    return this.#connection
      .values<number>("SELECT event_seq FROM recall_effect WHERE materialised = 0 ORDER BY event_seq")
      .all();
  }

  /** Whether `node.recalled_by` does not say yet what the event took. */
  isPending(eventSeq: number): boolean {
    return (
      this.#connection
        .values<number>("SELECT 1 FROM recall_effect WHERE event_seq = ? AND materialised = 0")
        .get(eventSeq) === 1
    );
  }

  /** Ids that are recalled although the column does not say so, as last loaded. */
  get pending(): ReadonlySet<number> {
    return this.#pending;
  }

  /** Makes this connection's reads obey every effect. Called at the start of each transaction. */
  loadPending(): void {
    if (this.#isFrozen) return;
    const seqs = this.pendingSeqs();
    if (seqs.length === this.#pendingSeqs.length && seqs.every((seq, index) => seq === this.#pendingSeqs[index]))
      return;
    this.#connection.sql("DELETE FROM temp.pending_recall").run();
    const insert = this.#connection.sql(
      "INSERT OR REPLACE INTO temp.pending_recall (node_id, event_seq) VALUES (?, ?)",
    );
    const pending = new Set<number>();
    for (const seq of seqs) {
      for (const id of this.get(seq)?.removed ?? []) {
        insert.run(id, seq);
        pending.add(id);
      }
    }
    this.#pending = pending;
    this.#pendingSeqs = seqs;
  }

  /** What had fallen by this event and not risen again, with the recall that each lay under: the effects replayed. */
  fallenAt(seq: number): Map<number, number> {
    const fallen = new Map<number, number>();
    const known = this.after(0).filter(({ eventSeq }) => eventSeq <= seq);
    const undoneBy = new Map(known.map((effect) => [effect.undoneSeq, effect.eventSeq]));
    const inForce: { readonly eventSeq: number; readonly pinned: readonly number[] }[] = [];
    for (const { eventSeq, removed, restored, pinned } of known) {
      for (const id of removed) fallen.set(id, eventSeq);
      for (const id of restored) fallen.delete(id);
      if (pinned.length > 0) inForce.push({ eventSeq, pinned });
      else for (const [id, under] of attribute(removed, inForce, eventSeq)) fallen.set(id, under);
      const undone = undoneBy.get(eventSeq);
      if (undone === undefined) continue;
      inForce.splice(
        inForce.findIndex((recall) => recall.eventSeq === undone),
        1,
      );
      const left = [...fallen].flatMap(([id, under]) => (under === undone ? [id] : []));
      for (const [id, under] of attribute(left, inForce, eventSeq)) fallen.set(id, under);
    }
    return fallen;
  }

  /** Leaves out from now on exactly what had fallen by this event and not risen again. */
  freezeAt(seq: number): void {
    const fallen = this.fallenAt(seq);
    this.#connection.sql("DELETE FROM temp.pending_recall").run();
    const insert = this.#connection.sql("INSERT INTO temp.pending_recall (node_id, event_seq) VALUES (?, ?)");
    for (const [id, eventSeq] of fallen) insert.run(id, eventSeq);
    this.#pending = new Set(fallen.keys());
    this.#isFrozen = true;
  }

  /** A rolled-back transaction took what it loaded with it. */
  forgetPending(): void {
    if (this.#isFrozen) return;
    this.#pinned = null;
    this.#pending = new Set();
    // No event has this number: whatever is pending is loaded again.
    this.#pendingSeqs = [-1];
  }

  /** Says in the column that these nodes fell with an event, unless it says of an earlier one. */
  mirrorRemoved(eventSeq: number, nodeIds: readonly number[]): void {
    this.#connection
      .sql("UPDATE node SET recalled_by = ? WHERE recalled_by IS NULL AND id IN (SELECT value FROM json_each(?))")
      .run(eventSeq, JSON.stringify(nodeIds));
  }

  mirrorRestored(nodeIds: readonly number[]): void {
    this.#connection
      .sql("UPDATE node SET recalled_by = NULL WHERE id IN (SELECT value FROM json_each(?))")
      .run(JSON.stringify(nodeIds));
  }

  /** Nodes of which the column says that they are recalled, ascending. */
  mirrored(): number[] {
    return this.#connection.values<number>("SELECT id FROM node WHERE recalled_by IS NOT NULL ORDER BY id").all();
  }

  /** Nodes of which the column says that they fell with this event. */
  fallenBy(eventSeq: number): number[] {
    return this.#connection.values<number>("SELECT id FROM node WHERE recalled_by = ? ORDER BY id").all(eventSeq);
  }

  /**
   * Says under which recall in force nodes lie that another kept down until now, or none of their legs holds any more.
   * @param otherwiseSeq the event to name where no recall is in force: they rest on each other in a circle
   */
  attributeAnew(nodeIds: readonly number[], otherwiseSeq: number): void {
    const update = this.#connection.sql("UPDATE node SET recalled_by = ? WHERE id = ?");
    for (const [id, eventSeq] of attribute(nodeIds, this.inForce(), otherwiseSeq)) update.run(eventSeq, id);
  }

  /**
   * Thoughts that stand and are kept behind a node that fell, ascending: all behind these, or those of these. Behind
   * what a person forgot, superseded, held back or rejected they stay: they say the same.
   */
  standingCopies(nodeIds: readonly number[], are: "survivors" | "copies"): StandingCopy[] {
    const own = are === "survivors" ? "n.merged_into = given.value" : `n.id = given.value AND ${FALLEN_SURVIVOR}`;
    return this.#connection
      .sql<StandingCopy>(
        `SELECT n.id, s.recalled_by AS recalledBy FROM json_each(?) given CROSS JOIN node n ON ${own}
         CROSS JOIN node s ON s.id = n.merged_into
         WHERE n.merged_into IS NOT NULL AND ${unrecalled("n")} AND n.erased_by IS NULL
           AND s.decayed <> ${FORGOTTEN} AND s.belief <= ${DISPUTED} ORDER BY n.id`,
      )
      .all(JSON.stringify(nodeIds));
  }

  /**
   * Copies that recalls brought out from behind these survivors, which stand now: those of which nothing else changed
   * since, recalled themselves or not.
   */
  partedFrom(survivorIds: readonly number[]): PartedCopy[] {
    const survivors = new Set(survivorIds);
    const released = this.#connection
      .tuples<[seq: number, released: Buffer]>(
        "SELECT event_seq, released FROM recall_effect WHERE length(released) > 0",
      )
      .all()
      .flatMap(([seq, ids]) => readIds(seq, ids));
    return this.#connection
      .sql<PartedCopy>(
        `SELECT n.id, s.id AS survivorId FROM json_each(?) copy CROSS JOIN node n ON n.id = copy.value
         CROSS JOIN transition t ON t.node_id = n.id AND t.axis = ${MERGED_AXIS} AND t.new IS NULL
           AND t.event_seq = (SELECT max(event_seq) FROM transition WHERE node_id = n.id AND axis = ${MERGED_AXIS})
         CROSS JOIN event e ON e.ledger_id IN (SELECT id FROM ledger WHERE own = 1) AND e.seq = t.event_seq
           AND e.kind = 'recall.released'
         CROSS JOIN node s ON s.id = t.old
         WHERE n.merged_into IS NULL AND n.decayed = 0 AND n.erased_by IS NULL AND n.belief <= ${DISPUTED}
           AND ${unhidden("s")} AND s.scope_id = n.scope_id ORDER BY n.id`,
      )
      .all(JSON.stringify([...new Set(released)]))
      .filter(({ survivorId }) => survivors.has(survivorId));
  }

  hasFallen(nodeId: number): boolean {
    return (
      this.#connection.values<number>(`SELECT 1 FROM node n WHERE n.id = ? AND NOT ${unrecalled("n")}`).get(nodeId) ===
      1
    );
  }

  /** Of the nodes, those that were erased. */
  erasedAmong(nodeIds: readonly number[]): number[] {
    return this.#connection
      .values<number>(
        `SELECT n.id FROM json_each(?) wanted CROSS JOIN node n ON n.id = wanted.value WHERE n.erased_by IS NOT NULL`,
      )
      .all(JSON.stringify(nodeIds));
  }

  /** Thoughts that stand and have a leg with one of these nodes, ascending. */
  standingChildren(nodeIds: readonly number[]): number[] {
    return this.#connection
      .values<number>(
        `SELECT DISTINCT n.id FROM json_each(?) p CROSS JOIN derivation d ON d.parent_id = p.value
         CROSS JOIN node n ON n.id = d.child_id WHERE ${unrecalled("n")} ORDER BY n.id`,
      )
      .all(JSON.stringify(nodeIds));
  }

  /** Recalled thoughts next below a node that have a leg of which nothing is recalled, ascending. */
  risingChildren(nodeId: number): number[] {
    return this.#connection
      .values<number>(
        `SELECT DISTINCT n.id FROM derivation e CROSS JOIN node n ON n.id = e.child_id
         WHERE e.parent_id = ? AND NOT ${unrecalled("n")} AND EXISTS (
           SELECT 1 FROM leg l WHERE l.node_id = n.id AND ${isLegInUse("l")} AND NOT EXISTS (
             SELECT 1 FROM derivation d CROSS JOIN node p ON p.id = d.parent_id
             WHERE d.leg_id = l.id AND NOT ${unrecalled("p")}))
         ORDER BY n.id`,
      )
      .all(nodeId);
  }
}

/** Whether the event is a recall, undone or not; other events take and give back what follows from legs. */
export function isRecall(connection: Connection, eventSeq: number): boolean {
  return (
    connection
      .values<number>("SELECT 1 FROM recall_effect WHERE event_seq = ? AND length(pinned) > 0")
      .get(eventSeq) === 1
  );
}

/** Nodes lie under the first recall in force that pins them, else under the newest, else under this event. */
function attribute(
  nodeIds: readonly number[],
  inForce: readonly { readonly eventSeq: number; readonly pinned: readonly number[] }[],
  otherwiseSeq: number,
): Map<number, number> {
  const newestSeq = inForce.at(-1)?.eventSeq ?? otherwiseSeq;
  const under = new Map(nodeIds.map((id) => [id, newestSeq]));
  for (const { eventSeq, pinned } of [...inForce].reverse()) {
    for (const id of pinned) if (under.has(id)) under.set(id, eventSeq);
  }
  return under;
}

/** @throws DormouseError `damaged` */
function readIds(eventSeq: number, bytes: Buffer): number[] {
  try {
    return decodeIds(bytes);
  } catch (error) {
    throw new DormouseError("damaged", `what ${formatEventId(eventSeq)} recalled or gave back cannot be read`, {
      hint: "Keep a copy of the file, and restore a backup.",
      cause: error,
    });
  }
}

function rowToEffect(row: EffectRow): RecallEffect {
  const read = (bytes: Buffer) => readIds(row.eventSeq, bytes);
  return {
    eventSeq: row.eventSeq,
    removed: read(row.removed),
    restored: read(row.restored),
    pinned: read(row.pinned),
    released: read(row.released),
    undoneSeq: row.undoneSeq,
    materialised: row.materialised === 1,
  };
}
