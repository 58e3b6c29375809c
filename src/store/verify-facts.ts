/**
 * What events say of rows, and what rows say of their events, in one language: short facts of public ids, names and
 * numbers. A fact on one side alone is a row that was changed, dropped or slipped in. Reads in the order of events.
 */
import { formatEventId, formatId } from "../core/ids.ts";
import { BASES, LINK_TYPES, SOURCE_TYPES, TRUST_LEVELS } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { commitmentOf } from "./contents.ts";
import { type CanonicalValue, canonicalJson, sha256 } from "./digest.ts";
import { decodeIds } from "./id-list.ts";
import { LABEL_TYPES } from "./labels.ts";
import { AXES, type Axis, type Ledger } from "./ledger.ts";

const ID_BYTES = 10;
/** Rows that an event covers by one digest. */
type Digested = "links" | "links ended" | "mentions";

/** Something that a row says of the event it names. */
export interface RowFact {
  readonly seq: number;
  /** Begins with what it is about, in a word or two. */
  readonly fact: string;
  readonly nodeId: number | null;
  /** The content row whose words the event vouches for. */
  readonly contentId?: number;
  /** The erasure of the node that owns those words. */
  readonly erasedBy?: number | null;
  /** When the row says that it was recorded, in milliseconds. */
  readonly recordedAt?: number;
  /** A line of a digest over several rows; null when it cannot be made any more. */
  readonly line?: { readonly of: Digested; readonly text: string | null };
}

/** Public ids by local ids, ten bytes each. */
export class PublicIds {
  readonly #bytes: Buffer;
  readonly #roles: Uint8Array;
  readonly #labels = new Map<number, string>();
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
    const highest = connection.values<number>("SELECT coalesce(max(id), 0) FROM node").get() ?? 0;
    this.#bytes = Buffer.alloc((highest + 1) * ID_BYTES);
    // 0: no such node; else its role and one.
    this.#roles = new Uint8Array(highest + 1);
    const rows = connection.tuples<[id: number, role: number, publicId: Buffer]>(
      "SELECT id, role, public_id FROM node",
    );
    for (const [id, role, publicId] of rows.iterate()) {
      publicId.copy(this.#bytes, id * ID_BYTES);
      this.#roles[id] = role + 1;
    }
  }

  get highest(): number {
    return this.#roles.length - 1;
  }

  /** `?` for a node that is not there. */
  node(id: number): string {
    const role = this.#roles[id] ?? 0;
    if (role === 0) return "?";
    return formatId(role === 1 ? "source" : "thought", this.#bytes.subarray(id * ID_BYTES, (id + 1) * ID_BYTES));
  }

  label(id: number): string {
    const known = this.#labels.get(id);
    if (known !== undefined) return known;
    const bytes = this.#connection.values<Buffer>("SELECT public_id FROM label WHERE id = ?").get(id);
    const text = bytes === undefined ? "?" : formatId("label", bytes);
    if (this.#labels.size < 100_000) this.#labels.set(id, text);
    return text;
  }
}

interface Payload {
  readonly [key: string]: CanonicalValue | undefined;
}

/** Facts that rows must bear out, one row each. @param payload as the event has it */
export function factsOfEvent(kind: string, payload: Payload): string[] {
  const facts = list(payload.states).map((state) => `state ${canonicalJson(state)}`);
  const node = String(payload.node);
  switch (kind) {
    case "brain.created":
      facts.push(`brain ${String(payload.brain)}`);
      break;
    case "label.created":
      facts.push(`label ${pick(payload, ["label", "type"])}`);
      break;
    case "scope.created":
      facts.push(`scope ${pick(payload, ["scope", "rank"])}`);
      break;
    case "subject.created":
      facts.push(`subject ${String(payload.subject)}`);
      break;
    case "source.created":
      facts.push(`source ${pick(payload, ["source", "type", "name", "trust"])}`);
      break;
    case "thought.created":
      facts.push(`thought ${pick(payload, THOUGHT_FIELDS)}`, ...labelFacts(node, payload), ...legFacts("leg", payload));
      facts.push(`occurrence ${node} ${canonicalJson(payload.occurrence ?? null)}`);
      break;
    case "thought.reinforced":
      facts.push(...labelFacts(node, payload), ...legFacts("leg", payload));
      facts.push(`occurrence ${node} ${canonicalJson(payload.occurrence ?? null)}`);
      break;
    case "leg.added":
      facts.push(...legFacts("leg", payload));
      break;
    case "leg.ended":
      facts.push(...legFacts("end of leg", payload));
      break;
    case "occurrence.ended":
      for (const ordinal of list(payload.ordinals)) {
        facts.push(`end of occurrence ${node} ${String(payload.source)} ${String(ordinal)}`);
      }
      break;
    case "occurrence.dated":
      facts.push(`end of occurrence ${node} ${String(payload.source)} ${String(payload.ordinal)}`);
      facts.push(`occurrence ${node} ${canonicalJson(payload.occurrence ?? null)}`);
      break;
    case "link.added":
      facts.push(digestFact("links", Number(payload.count), String(payload.rows)));
      break;
    case "link.ended":
      facts.push(digestFact("links ended", Number(payload.count), String(payload.rows)));
      break;
    case "mention.added":
      facts.push(digestFact("mentions", Number(payload.count), String(payload.rows)));
      break;
    case "tombstone.added":
      facts.push(`tombstone ${String(payload.scope)}`);
      break;
    case "recalled":
      facts.push(`recall ${String(payload.pinned)} pinned, ${String(payload.removed)} fell`);
      facts.push(...list(payload.roots).map((root) => `pin ${String(root)}`));
      break;
    case "unrecalled":
      facts.push(`undoing ${String(payload.recall)} ${String(payload.restored)} rose`);
      break;
    case "standing.changed":
      facts.push(`standing ${String(payload.removed)} fell, ${String(payload.restored)} rose`);
      break;
  }
  return facts;
}

const THOUGHT_FIELDS = [
  "node",
  "kind",
  "scope",
  "domain",
  "speaker",
  "basis",
  "confidence",
  "salience",
  "trust",
  "valid",
  "due",
] as const;

/** How the rows that one digest covers are told. */
export function digestFact(of: Digested, count: number, digest: string): string {
  return `${of} ${count} ${digest}`;
}

export function digestOfLines(lines: readonly string[]): string {
  return sha256(lines.join("\n")).toString("hex");
}

function pick(payload: Payload, fields: readonly string[]): string {
  return canonicalJson(Object.fromEntries(fields.map((field) => [field, payload[field]])));
}

function list(value: CanonicalValue | undefined): readonly CanonicalValue[] {
  return Array.isArray(value) ? (value as readonly CanonicalValue[]) : [];
}

function legFacts(what: string, payload: Payload): string[] {
  return list(payload.legs).map((leg) => `${what} ${String(payload.node)} ${canonicalJson(leg)}`);
}

function labelFacts(node: string, payload: Payload): string[] {
  return [
    ...list(payload.tags).map((id) => `tag ${node} ${String(id)}`),
    ...list(payload.aspects).map((id) => `aspect ${node} ${String(id)}`),
    ...list(payload.subjects).map((id) => `about ${node} ${String(id)}`),
    ...list(payload.facets).map((facet) => `facet ${node} ${canonicalJson(facet)}`),
  ];
}

/** What the rows of a brain say, table by table, each in the order of the events they name. */
export class RowFacts {
  readonly #connection: Connection;
  readonly #ledger: Ledger;
  readonly #ids: PublicIds;
  readonly #since: number;
  readonly #moves: PlaceMoves;

  /** @param since leaves out what rows say of this event and earlier ones */
  constructor(connection: Connection, ledger: Ledger, ids: PublicIds, since: number) {
    this.#connection = connection;
    this.#ledger = ledger;
    this.#ids = ids;
    this.#since = since;
    this.#moves = new PlaceMoves(connection);
  }

  streams(): Iterator<RowFact>[] {
    return [
      this.#brain(),
      this.#labels(),
      this.#scopes(),
      this.#subjects(),
      this.#nodes(),
      this.#legs("added_seq", "leg"),
      this.#legs("ended_seq", "end of leg"),
      this.#occurrences(),
      this.#endedOccurrences(),
      this.#links("added_seq", "links"),
      this.#links("ended_seq", "links ended"),
      this.#mentions(),
      this.#joins(),
      ...this.#attachments(),
      this.#transitions(),
      this.#reasons(),
      this.#tombstones(),
      this.#effects(),
    ];
  }

  *#rows<R>(sql: string, column: string): Generator<R> {
    yield* this.#connection.sql<R>(`${sql} WHERE ${column} > ? ORDER BY ${column}`).iterate(this.#since);
  }

  *#brain(): Generator<RowFact> {
    if (this.#since > 0) return;
    const id = this.#connection.values<Buffer>("SELECT public_id FROM brain WHERE id = 1").get();
    if (id !== undefined) yield { seq: 1, fact: `brain ${formatId("label", id)}`, nodeId: null };
  }

  *#labels(): Generator<RowFact> {
    const sql = "SELECT id, type, content_id AS contentId, added_seq AS seq FROM label";
    for (const row of this.#rows<{ id: number; type: number; contentId: number; seq: number }>(sql, "added_seq")) {
      const fact = `label ${canonicalJson({ label: this.#ids.label(row.id), type: LABEL_TYPES[row.type] ?? row.type })}`;
      yield { seq: row.seq, fact, nodeId: null, contentId: row.contentId };
    }
  }

  *#scopes(): Generator<RowFact> {
    const sql = "SELECT label_id AS labelId, rank, added_seq AS seq FROM scope";
    for (const row of this.#rows<{ labelId: number; rank: number; seq: number }>(sql, "added_seq")) {
      const fact = `scope ${canonicalJson({ scope: this.#ids.label(row.labelId), rank: row.rank })}`;
      yield { seq: row.seq, fact, nodeId: null };
    }
  }

  *#subjects(): Generator<RowFact> {
    const sql = "SELECT label_id AS labelId, added_seq AS seq FROM subject";
    for (const row of this.#rows<{ labelId: number; seq: number }>(sql, "added_seq")) {
      yield { seq: row.seq, fact: `subject ${this.#ids.label(row.labelId)}`, nodeId: null };
    }
  }

  *#nodes(): Generator<RowFact> {
    const firstOld = this.#connection.tuples<[axis: number, old: number | null]>(
      "SELECT axis, old FROM transition WHERE node_id = ? ORDER BY event_seq DESC",
    );
    const sql = `SELECT n.id, n.role, n.kind_id, n.scope_id, n.domain_id, n.speaker_id AS speakerId, n.basis,
        n.confidence, n.salience, n.trust, n.valid_from, n.valid_to, n.due_at, n.decayed, n.belief, n.permanence,
        n.merged_into, n.stale_by, n.erased_by, n.recalled_by, n.recorded_at AS recordedAt, n.added_seq AS seq, s.type, s.name_id AS nameId,
        coalesce(n.content_id, s.reference_content_id) AS contentId
      FROM node n LEFT JOIN source s ON s.node_id = n.id`;
    for (const row of this.#rows<NodeRow>(sql, "n.added_seq")) {
      const first: Record<Axis, number | null> = { ...row };
      for (const [axis, old] of firstOld.all(row.id)) {
        const name = AXES[axis - 1];
        if (name !== undefined) first[name] = old;
      }
      const fact = row.role === 0 ? this.#sourceFact(row, first) : this.#thoughtFact(row, first);
      yield {
        seq: row.seq,
        fact,
        nodeId: row.id,
        erasedBy: row.erased_by,
        recordedAt: row.recordedAt,
        ...(row.contentId === null ? {} : { contentId: row.contentId }),
      };
    }
  }

  #sourceFact(row: NodeRow, first: Record<Axis, number | null>): string {
    return `source ${canonicalJson({
      source: this.#ids.node(row.id),
      type: row.type === null ? null : (SOURCE_TYPES[row.type] ?? row.type),
      name: row.nameId === null ? null : this.#ids.label(row.nameId),
      trust: TRUST_LEVELS[first.trust ?? -1] ?? first.trust,
    })}`;
  }

  #thoughtFact(row: NodeRow, first: Record<Axis, number | null>): string {
    const label = (id: number | null) => (id === null ? undefined : this.#ids.label(id));
    const scopeLabel = this.#connection
      .values<number>("SELECT label_id FROM scope WHERE id = ?")
      .get(first.scope_id ?? 0);
    return `thought ${canonicalJson({
      node: this.#ids.node(row.id),
      kind: label(first.kind_id),
      scope: scopeLabel === undefined ? "?" : this.#ids.label(scopeLabel),
      domain: label(first.domain_id),
      speaker: label(row.speakerId),
      basis: BASES[row.basis] ?? row.basis,
      confidence: first.confidence ?? undefined,
      salience: first.salience ?? undefined,
      trust: TRUST_LEVELS[first.trust ?? -1] ?? first.trust,
      valid: first.valid_from === null && first.valid_to === null ? undefined : [first.valid_from, first.valid_to],
      due: first.due_at ?? undefined,
    })}`;
  }

  *#legs(column: "added_seq" | "ended_seq", what: string): Generator<RowFact> {
    const sql = `SELECT node_id AS nodeId, axiom, ${column} AS seq,
        (SELECT group_concat(parent_id) FROM derivation WHERE leg_id = leg.id) AS parents FROM leg`;
    for (const row of this.#rows<{ nodeId: number; axiom: number; seq: number; parents: string | null }>(sql, column)) {
      const parents = (row.parents ?? "").split(",").filter((id) => id !== "");
      const leg = row.axiom === 1 && parents.length === 0 ? "axiom" : parents.map((id) => this.#ids.node(Number(id)));
      const told = canonicalJson(typeof leg === "string" ? leg : leg.sort());
      yield { seq: row.seq, fact: `${what} ${this.#ids.node(row.nodeId)} ${told}`, nodeId: row.nodeId };
    }
  }

  *#occurrences(): Generator<RowFact> {
    const sql = `SELECT node_id AS nodeId, source_id AS sourceId, thread, ordinal, speaker_id AS speakerId,
        referent_from AS referentFrom, referent_to AS referentTo, referent_kind AS referentKind, event_seq AS seq,
        ended_seq AS endedSeq FROM occurrence`;
    for (const row of this.#rows<OccurrencePlace>(sql, "event_seq")) {
      const source = this.#ids.node(row.sourceId);
      const { ordinal, thread } = this.#moves.firstPlace(source, row);
      const told = canonicalJson({
        source,
        ordinal,
        thread: thread === 0 ? undefined : thread,
        speaker: row.speakerId === null ? undefined : this.#ids.label(row.speakerId),
        referent: row.referentKind === 0 ? undefined : [row.referentFrom, row.referentTo, row.referentKind],
      });
      yield { seq: row.seq, fact: `occurrence ${this.#ids.node(row.nodeId)} ${told}`, nodeId: row.nodeId };
    }
  }

  /** Those that ended alone; one that ended together with its leg goes by the leg. */
  *#endedOccurrences(): Generator<RowFact> {
    const sql = `SELECT * FROM (SELECT o.node_id AS nodeId, o.source_id AS sourceId, o.ordinal, o.ended_seq AS seq
      FROM occurrence o JOIN leg l ON l.id = o.leg_id WHERE o.ended_seq IS NOT l.ended_seq)`;
    for (const row of this.#rows<{ nodeId: number; sourceId: number; ordinal: number; seq: number }>(sql, "seq")) {
      const fact = `end of occurrence ${this.#ids.node(row.nodeId)} ${this.#ids.node(row.sourceId)} ${row.ordinal}`;
      yield { seq: row.seq, fact, nodeId: row.nodeId };
    }
  }

  *#links(column: "added_seq" | "ended_seq", of: Digested): Generator<RowFact> {
    const rows = this.#connection
      .sql<{ type: number; fromId: number; toId: number; weight: number; seq: number }>(
        `SELECT type, from_id AS fromId, to_id AS toId, weight, ${column} AS seq FROM link
         WHERE ${column} > ? ORDER BY ${column}, id`,
      )
      .iterate(this.#since);
    for (const { type, fromId, toId, weight, seq } of rows) {
      const text = `${LINK_TYPES[type] ?? type} ${this.#ids.node(fromId)} ${this.#ids.node(toId)} ${weight}`;
      yield { seq, fact: of, nodeId: fromId, line: { of, text } };
    }
  }

  *#mentions(): Generator<RowFact> {
    const rows = this.#connection
      .sql<{ nodeId: number; digest: Buffer | null; salt: Buffer | null; body: Buffer | null; seq: number }>(
        `SELECT o.node_id AS nodeId, m.target_digest AS digest, c.salt, c.body, m.event_seq AS seq
         FROM mention m LEFT JOIN occurrence o ON o.id = m.occurrence_id LEFT JOIN content c ON c.id = m.target_id
         WHERE m.event_seq > ? ORDER BY m.event_seq, m.id`,
      )
      .iterate(this.#since);
    for (const { nodeId, digest, salt, body, seq } of rows) {
      const isErased = digest === null || salt === null || body === null;
      const text = isErased
        ? null
        : `${this.#ids.node(nodeId)} ${digest.toString("hex")} ${commitmentOf(salt, body).toString("hex")}`;
      yield { seq, fact: "mentions", nodeId, line: { of: "mentions", text } };
    }
  }

  /** The event of a mention's last joining must be of that kind; which one it joined, its link says. */
  *#joins(): Generator<RowFact> {
    const sql = `SELECT * FROM (SELECT o.node_id AS nodeId, m.link_id IS NOT NULL AS isJoined, m.joined_seq AS seq
      FROM mention m JOIN occurrence o ON o.id = m.occurrence_id)`;
    for (const row of this.#rows<{ nodeId: number; isJoined: number; seq: number }>(sql, "seq")) {
      yield { seq: row.seq, fact: row.isJoined === 1 ? "mention joined" : "mention parted", nodeId: row.nodeId };
    }
  }

  #attachments(): Iterator<RowFact>[] {
    return ATTACHMENTS.flatMap((attachment) => [
      this.#attached(attachment, "added_seq", ""),
      this.#attached(attachment, "ended_seq", "end of "),
    ]);
  }

  *#attached({ what, sql }: (typeof ATTACHMENTS)[number], column: string, prefix: string): Generator<RowFact> {
    const rows = `SELECT * FROM (${sql})`;
    for (const row of this.#rows<AttachedRow>(rows, column)) {
      const seq = column === "added_seq" ? row.added_seq : (row.ended_seq ?? 0);
      const value =
        row.valueId === undefined
          ? this.#ids.label(row.labelId)
          : canonicalJson([this.#ids.label(row.labelId), this.#ids.label(row.valueId)]);
      yield { seq, fact: `${prefix}${what} ${this.#ids.node(row.nodeId)} ${value}`, nodeId: row.nodeId };
    }
  }

  *#transitions(): Generator<RowFact> {
    const sql = "SELECT node_id AS nodeId, axis, old, new, event_seq AS seq FROM transition";
    type Row = { nodeId: number; axis: number; old: number | null; new: number | null; seq: number };
    for (const row of this.#rows<Row>(sql, "event_seq")) {
      yield { seq: row.seq, fact: `state ${this.#describeState(row)}`, nodeId: row.nodeId };
    }
  }

  #describeState(row: { nodeId: number; axis: number; old: number | null; new: number | null }): string {
    try {
      return canonicalJson(this.#ledger.describeTransition(row.nodeId, row.axis, row.old, row.new));
    } catch {
      // What it names is not there: no event says so.
      return `?${row.axis}`;
    }
  }

  *#reasons(): Generator<RowFact> {
    const sql = "SELECT event_seq AS seq, content_id AS contentId FROM reason";
    for (const { seq, contentId } of this.#rows<{ seq: number; contentId: number }>(sql, "event_seq")) {
      yield { seq, fact: "reason", nodeId: null, contentId };
    }
  }

  *#tombstones(): Generator<RowFact> {
    const sql = "SELECT t.added_seq AS seq, s.label_id AS labelId FROM tombstone t JOIN scope s ON s.id = t.scope_id";
    for (const { seq, labelId } of this.#rows<{ seq: number; labelId: number }>(sql, "t.added_seq")) {
      yield { seq, fact: `tombstone ${this.#ids.label(labelId)}`, nodeId: null };
    }
  }

  *#effects(): Generator<RowFact> {
    const sql = `SELECT e.event_seq AS seq, e.pinned, e.removed, e.restored,
        (SELECT u.event_seq FROM recall_effect u WHERE u.undone_seq = e.event_seq) AS undoes FROM recall_effect e`;
    type Row = { seq: number; pinned: Buffer; removed: Buffer; restored: Buffer; undoes: number | null };
    for (const { seq, undoes, ...row } of this.#rows<Row>(sql, "e.event_seq")) {
      const [pinned, removed, restored] = [row.pinned, row.removed, row.restored].map(readIds);
      if (pinned === undefined || removed === undefined || restored === undefined) continue;
      if (pinned === null || removed === null || restored === null) {
        yield { seq, fact: "recall ? that cannot be read", nodeId: null };
      } else if (pinned.length > 0) {
        yield { seq, fact: `recall ${pinned.length} pinned, ${removed.length} fell`, nodeId: null };
        for (const nodeId of pinned) yield { seq, fact: `pin ${this.#ids.node(nodeId)}`, nodeId };
      } else if (undoes !== null) {
        yield { seq, fact: `undoing ${formatEventId(undoes)} ${restored.length} rose`, nodeId: null };
      } else {
        yield { seq, fact: `standing ${removed.length} fell, ${restored.length} rose`, nodeId: null };
      }
    }
  }
}

/** Null for a list that cannot be read. */
function readIds(bytes: Buffer): number[] | null {
  try {
    return decodeIds(bytes);
  } catch {
    return null;
  }
}

const ATTACHMENTS = [
  { what: "tag", sql: "SELECT node_id AS nodeId, label_id AS labelId, added_seq, ended_seq FROM node_tag" },
  { what: "aspect", sql: "SELECT node_id AS nodeId, label_id AS labelId, added_seq, ended_seq FROM node_aspect" },
  {
    what: "facet",
    sql: "SELECT node_id AS nodeId, name_id AS labelId, value_id AS valueId, added_seq, ended_seq FROM node_facet",
  },
  {
    what: "about",
    sql: `SELECT ns.node_id AS nodeId, s.label_id AS labelId, ns.added_seq, ns.ended_seq
      FROM node_subject ns JOIN subject s ON s.id = ns.subject_id`,
  },
] as const;

interface AttachedRow {
  readonly nodeId: number;
  readonly labelId: number;
  readonly valueId?: number;
  readonly added_seq: number;
  readonly ended_seq: number | null;
}

interface NodeRow extends Readonly<Record<Axis, number | null>> {
  readonly id: number;
  readonly role: number;
  readonly speakerId: number | null;
  readonly basis: number;
  readonly recordedAt: number;
  readonly seq: number;
  readonly type: number | null;
  readonly nameId: number | null;
  readonly contentId: number | null;
}

interface OccurrencePlace {
  readonly nodeId: number;
  readonly sourceId: number;
  readonly thread: number;
  readonly ordinal: number;
  readonly speakerId: number | null;
  readonly referentFrom: number | null;
  readonly referentTo: number | null;
  readonly referentKind: number;
  readonly seq: number;
  readonly endedSeq: number | null;
}

/** Events that gave occurrences other places, by source, the newest first: what they did is taken back. */
class PlaceMoves {
  readonly #bySource = new Map<string, { seq: number; back: Map<number, number>; thread: number | null }[]>();

  constructor(connection: Connection) {
    const rows = connection
      .tuples<[seq: number, payload: Buffer]>(
        "SELECT seq, payload FROM event WHERE kind IN ('occurrence.moved', 'thread.split') ORDER BY seq DESC",
      )
      .iterate();
    for (const [seq, bytes] of rows) {
      const payload = readPayload(bytes);
      const pairs = list(payload.moves).map((pair): [number, number] => {
        const [from, to] = list(pair);
        return [Number(to), Number(from)];
      });
      const move = { seq, back: new Map(pairs), thread: payload.thread === undefined ? null : Number(payload.thread) };
      const known = this.#bySource.get(String(payload.source));
      if (known === undefined) this.#bySource.set(String(payload.source), [move]);
      else known.push(move);
    }
  }

  firstPlace(source: string, row: OccurrencePlace): { ordinal: number; thread: number } {
    let { ordinal, thread } = row;
    for (const move of this.#bySource.get(source) ?? []) {
      if (move.seq <= row.seq) break;
      // What had ended by then stayed where it was.
      if (row.endedSeq === null || row.endedSeq > move.seq) ordinal = move.back.get(ordinal) ?? ordinal;
      if (move.thread === thread) thread = 0;
    }
    return { ordinal, thread };
  }
}

/** An event's payload; empty when it cannot be read, which the chain tells. */
export function readPayload(bytes: Buffer): Payload {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Payload) : {};
  } catch {
    return {};
  }
}
