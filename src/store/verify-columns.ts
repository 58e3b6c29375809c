/**
 * Columns of which no event speaks, held against what they follow from: times, keyed digests, places of occurrences,
 * marks of recalls, and rows that nothing points to. What neither an event nor another row bears out (the key of a
 * source, of a record, of a tombstone) cannot be proven and is not looked at.
 */
import { parseEventId } from "../core/ids.ts";
import { LINK_TYPES, SOURCE_TYPES } from "../core/types.ts";
import { normaliseText } from "../text/normalise.ts";
import { sha256 } from "./digest.ts";
import { foldLabel, LABEL_TYPES } from "./labels.ts";
import { AXES } from "./ledger.ts";
import type { Store } from "./store.ts";
import { type PublicIds, readPayload } from "./verify-facts.ts";

const DIGEST_BYTES = 16;
const MERGED_AXIS = AXES.indexOf("merged_into") + 1;
const STALE_AXIS = AXES.indexOf("stale_by") + 1;
const SCOPE_AXIS = AXES.indexOf("scope_id") + 1;
const MENTION = LINK_TYPES.indexOf("mention");
const PERSON = SOURCE_TYPES.indexOf("person");

export interface ColumnFault {
  readonly nodeId: number | null;
  readonly seq: number | null;
  readonly message: string;
}

/** An event of this brain, as `e`. */
const event = (seq: string) =>
  `CROSS JOIN ledger own ON own.own = 1 CROSS JOIN event e ON e.ledger_id = own.id AND e.seq = ${seq}`;

/** Each selects nodes and events that are not as `message` says they would have to be. */
const CHECKS: readonly { readonly message: string; readonly sql: string }[] = [
  {
    message: "the time of the thought is that of none of its meetings, or not of the latest",
    sql: `SELECT n.id, n.added_seq FROM node n WHERE n.role = 1
      AND EXISTS (SELECT 1 FROM occurrence o WHERE o.node_id = n.id AND o.ended_seq IS NULL)
      AND (NOT EXISTS (SELECT 1 FROM occurrence o WHERE o.node_id = n.id AND o.ended_seq IS NULL
          AND o.referent_kind = n.referent_kind AND o.referent_from IS n.referent_from AND o.referent_to IS n.referent_to)
        OR EXISTS (SELECT 1 FROM occurrence o WHERE o.node_id = n.id AND o.ended_seq IS NULL AND o.referent_kind > 0
          AND (n.referent_kind = 0
            OR coalesce(o.referent_to, o.referent_from) > coalesce(n.referent_to, n.referent_from))))`,
  },
  {
    message: "it is flagged stale by no event",
    sql: `SELECT n.id, n.stale_by FROM node n WHERE n.stale_by IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM transition t WHERE t.node_id = n.id AND t.axis = ${STALE_AXIS})`,
  },
  {
    message: "an edge of one of its legs takes a source for a thought, or a thought for a source",
    sql: `SELECT d.child_id, NULL FROM derivation d CROSS JOIN node p ON p.id = d.parent_id WHERE d.parent_role <> p.role`,
  },
  {
    message: "a meeting hangs on another leg than its event gave it",
    sql: `SELECT o.node_id, o.event_seq FROM occurrence o CROSS JOIN leg l ON l.id = o.leg_id WHERE l.added_seq > o.event_seq
        OR (l.added_seq = o.event_seq AND EXISTS (SELECT 1 FROM leg f
          WHERE f.id = l.id - 1 AND f.node_id = l.node_id AND f.added_seq = l.added_seq))
        OR (NOT EXISTS (SELECT 1 FROM derivation d WHERE d.leg_id = l.id AND d.parent_id = o.source_id)
          AND (SELECT type FROM source WHERE node_id = o.source_id) IS NOT ${PERSON})`,
  },
  {
    message: "a meeting stands although the leg that it belongs to has ended",
    sql: `SELECT o.node_id, l.ended_seq FROM leg l CROSS JOIN occurrence o ON o.leg_id = l.id
      WHERE l.ended_seq IS NOT NULL AND o.ended_seq IS NULL`,
  },
  {
    message: "a mention goes by a link that is not its own",
    sql: `SELECT o.node_id, m.joined_seq FROM mention m CROSS JOIN occurrence o ON o.id = m.occurrence_id
      CROSS JOIN link l ON l.id = m.link_id WHERE l.type <> ${MENTION} OR l.from_id <> o.node_id`,
  },
  {
    message: "a tombstone is lifted by no event",
    sql: `SELECT NULL, t.lifted_seq FROM tombstone t WHERE t.lifted_seq IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM ledger own CROSS JOIN event e ON e.ledger_id = own.id AND e.seq = t.lifted_seq
      WHERE own.own = 1 AND e.kind = 'tombstone.lifted')`,
  },
  {
    message: "a subject got an alias or a scope of consent by no event",
    sql: `SELECT NULL, added_seq FROM subject_alias UNION ALL
      SELECT NULL, added_seq FROM subject WHERE consent_scope_id IS NOT NULL`,
  },
];

/** Everything of the kind that does not fit. Memory: an entry for each fallen node, a bit for each text. */
export function* findColumnFaults(store: Store, ids: PublicIds): Generator<ColumnFault> {
  for (const { message, sql } of CHECKS) {
    for (const [nodeId, seq] of store.connection.tuples<[number | null, number | null]>(sql).iterate()) {
      yield { nodeId, seq, message };
    }
  }
  yield* checkSources(store, ids);
  yield* checkValueKeys(store);
  yield* checkLabelDigests(store);
  yield* checkParentsDigests(store, ids);
  yield* checkMarks(store);
  yield* checkReleased(store);
  yield* checkContents(store);
}

/** Kind and scope of sources: the kind is always the same, the scope is in their events. */
function* checkSources(store: Store, ids: PublicIds): Generator<ColumnFault> {
  const kind = store.connection.sql<{ text: string | null }>(
    "SELECT c.text FROM label l JOIN readable_content c ON c.id = l.content_id WHERE l.id = ?",
  );
  const firstScope = store.connection.values<number>(
    `SELECT old FROM transition WHERE node_id = ? AND axis = ${SCOPE_AXIS} ORDER BY event_seq LIMIT 1`,
  );
  const labelOf = store.connection.values<number>("SELECT label_id FROM scope WHERE id = ?");
  const rows = store.connection.tuples<
    [id: number, kindId: number, scopeId: number, seq: number, payload: Buffer | null]
  >(`SELECT n.id, n.kind_id, n.scope_id, n.added_seq, e.payload FROM source s CROSS JOIN node n ON n.id = s.node_id
     ${event("n.added_seq")}`);
  const isSource = new Map<number, boolean>();
  for (const [nodeId, kindId, scopeId, seq, payload] of rows.iterate()) {
    if (!isSource.has(kindId)) isSource.set(kindId, kind.get(kindId)?.text === "source");
    if (isSource.get(kindId) === false) yield { nodeId, seq, message: "a source is said to be of a kind of thoughts" };
    const scope = payload === null ? undefined : readPayload(payload).scope;
    const label = labelOf.get(firstScope.get(nodeId) ?? scopeId);
    if (scope !== undefined && (label === undefined || ids.label(label) !== scope)) {
      yield { nodeId, seq, message: "the source is kept in another scope than its event says" };
    }
  }
}

/** By its value key a thought is met again, and refused once it has a tombstone. */
function* checkValueKeys(store: Store): Generator<ColumnFault> {
  const rows = store.connection.tuples<
    [nodeId: number, seq: number, valueKey: Buffer | null, speaker: string | null, text: string | null]
  >(
    `SELECT n.id, n.added_seq, n.value_key, (SELECT c.text FROM label l JOIN readable_content c ON c.id = l.content_id
        WHERE l.id = n.speaker_id), c.text
     FROM node n CROSS JOIN readable_content c ON c.id = n.content_id
     WHERE n.role = 1 AND n.erased_by IS NULL AND (n.value_key IS NOT NULL OR n.belief <> 5)`,
  );
  for (const [nodeId, seq, valueKey, speaker, text] of rows.iterate()) {
    if (text === null) continue;
    const wanted = store.digest("value", normaliseText(speaker ?? ""), normaliseText(text));
    if (valueKey?.equals(wanted) === true) continue;
    yield { nodeId, seq, message: "the key by which the thought would be met again is not that of its words" };
  }
}

function* checkLabelDigests(store: Store): Generator<ColumnFault> {
  const rows = store.connection.tuples<[type: number, digest: Buffer, text: string | null, seq: number]>(
    `SELECT l.type, l.digest, c.text, l.added_seq FROM label l JOIN readable_content c ON c.id = l.content_id
     WHERE l.digest IS NOT NULL`,
  );
  for (const [typeNumber, digest, text, seq] of rows.iterate()) {
    const type = LABEL_TYPES[typeNumber];
    if (type === undefined || text === null) continue;
    if (digest.equals(store.digest("label", type, foldLabel(type, text)))) continue;
    yield { nodeId: null, seq, message: "the digest by which a label is found is not that of its word" };
  }
}

function* checkParentsDigests(store: Store, ids: PublicIds): Generator<ColumnFault> {
  const rows = store.connection.tuples<
    [legId: number, nodeId: number, axiom: number, digest: Buffer, seq: number, parentId: number | null]
  >(
    `SELECT l.id, l.node_id, l.axiom, l.parents_digest, l.added_seq, d.parent_id FROM leg l
     LEFT JOIN derivation d ON d.leg_id = l.id ORDER BY l.id`,
  );
  let leg: { id: number; nodeId: number; axiom: number; digest: Buffer; seq: number; parents: string[] } | undefined;
  const fault = (done: NonNullable<typeof leg>): ColumnFault | null => {
    const told = done.axiom === 1 ? "axiom" : done.parents.sort().join(" ");
    if (sha256(told).subarray(0, DIGEST_BYTES).equals(done.digest)) return null;
    return { nodeId: done.nodeId, seq: done.seq, message: "the digest of a leg is not that of its parents" };
  };
  for (const [id, nodeId, axiom, digest, seq, parentId] of rows.iterate()) {
    if (leg?.id !== id) {
      const found = leg === undefined ? null : fault(leg);
      if (found !== null) yield found;
      leg = { id, nodeId, axiom, digest, seq, parents: [] };
    }
    if (parentId !== null) leg.parents.push(ids.node(parentId));
  }
  const found = leg === undefined ? null : fault(leg);
  if (found !== null) yield found;
}

/** Under which recall a node lies: the one that took it, or when that was undone, one that keeps it down. */
function* checkMarks(store: Store): Generator<ColumnFault> {
  const under = new Map<number, number>();
  const inForce = new Map<number, readonly number[]>();
  const keepers = (nodeIds: readonly number[]) => {
    const newest = [...inForce.keys()].at(-1);
    const found = new Map<number, number>(newest === undefined ? [] : nodeIds.map((id) => [id, newest]));
    for (const [seq, pinned] of [...inForce].reverse()) {
      for (const id of pinned) if (found.has(id)) found.set(id, seq);
    }
    return found;
  };
  const undoneBy = new Map<number, number>();
  const effects = store.recalls.after(0);
  for (const { eventSeq, undoneSeq } of effects) if (undoneSeq !== null) undoneBy.set(undoneSeq, eventSeq);
  for (const { eventSeq, removed, restored, pinned } of effects) {
    for (const id of removed) under.set(id, eventSeq);
    for (const id of restored) under.delete(id);
    if (pinned.length > 0) inForce.set(eventSeq, pinned);
    else for (const [id, seq] of keepers(removed)) under.set(id, seq);
    const undone = undoneBy.get(eventSeq);
    if (undone === undefined) continue;
    inForce.delete(undone);
    const left = [...under].flatMap(([id, seq]) => (seq === undone ? [id] : []));
    for (const [id, seq] of keepers(left)) under.set(id, seq);
  }
  const rows = store.connection.tuples<[nodeId: number, recalledBy: number]>(
    "SELECT id, recalled_by FROM node WHERE recalled_by IS NOT NULL",
  );
  for (const [nodeId, seq] of rows.iterate()) {
    const wanted = under.get(nodeId);
    // A node that nothing took is told by what stands.
    if (wanted === undefined || wanted === seq) continue;
    yield { nodeId, seq, message: `it is marked as taken by another recall than the one that keeps it down` };
  }
}

/** Copies that came out from behind a survivor that fell: by the events, and by the recall's own list. */
function* checkReleased(store: Store): Generator<ColumnFault> {
  const rows = store.connection.tuples<[nodeId: number, payload: Buffer]>(
    `SELECT t.node_id, e.payload FROM transition t ${event("t.event_seq")}
     WHERE t.axis = ${MERGED_AXIS} AND t.new IS NULL AND e.kind = 'recall.released'`,
  );
  const released = new Map<number, Set<number>>();
  for (const [nodeId, payload] of rows.iterate()) {
    const { recall } = readPayload(payload);
    if (typeof recall !== "string" || !/^e_\d{1,15}$/.test(recall)) continue;
    const seq = parseEventId(recall);
    released.set(seq, (released.get(seq) ?? new Set()).add(nodeId));
  }
  for (const effect of store.recalls.after(0)) {
    const wanted = released.get(effect.eventSeq) ?? new Set();
    if (effect.released.length === wanted.size && effect.released.every((id) => wanted.has(id))) continue;
    const message = "what the recall brought out from behind survivors is not what its events say";
    yield { nodeId: null, seq: effect.eventSeq, message };
  }
}

/** Every text belongs to one row, and no row shares it. */
function* checkContents(store: Store): Generator<ColumnFault> {
  const { connection } = store;
  const highest = connection.values<number>("SELECT coalesce(max(id), 0) FROM content").get() ?? 0;
  const owned = new Uint8Array((highest >> 3) + 1);
  const rows = connection.tuples<[contentId: number, nodeId: number | null, seq: number | null]>(
    `SELECT content_id, id, added_seq FROM node WHERE content_id IS NOT NULL
     UNION ALL SELECT reference_content_id, node_id, NULL FROM source WHERE reference_content_id IS NOT NULL
     UNION ALL SELECT content_id, NULL, added_seq FROM label
     UNION ALL SELECT content_id, NULL, event_seq FROM reason
     UNION ALL SELECT target_id, NULL, event_seq FROM mention`,
  );
  for (const [contentId, nodeId, seq] of rows.iterate()) {
    const bit = 1 << (contentId & 7);
    const byte = owned[contentId >> 3] ?? 0;
    if ((byte & bit) !== 0) yield { nodeId, seq, message: "its words belong to something else, too" };
    owned[contentId >> 3] = byte | bit;
  }
  for (const id of connection.values<number>("SELECT id FROM content").iterate()) {
    if (((owned[id >> 3] ?? 0) & (1 << (id & 7))) !== 0) continue;
    yield { nodeId: null, seq: null, message: "the file holds words that belong to nothing" };
  }
}
