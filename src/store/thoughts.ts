/**
 * Thoughts: writing one with its event, finding one by value or id, and reading it the way a person
 * meets it. Decides nothing; what a known value meets is the write path's business (remember/).
 */

import { DormouseError } from "../core/errors.ts";
import { formatEventId, formatId, parseNodeId, randomId } from "../core/ids.ts";
import {
  type Actor,
  BASES,
  type Basis,
  BELIEFS,
  type Belief,
  DECAY_REASONS,
  type DecayReason,
  type Interval,
  PERMANENCES,
  type Permanence,
  type ThoughtView,
  TRUST_LEVELS,
} from "../core/types.ts";
import type { Connection } from "./connection.ts";
import type { Contents } from "./contents.ts";
import type { CanonicalValue } from "./digest.ts";
import { Eligible, happenedWithin } from "./eligible.ts";
import type { FullText } from "./full-text.ts";
import type { Labels } from "./labels.ts";
import type { Change, Ledger } from "./ledger.ts";
import type { Legs, NewLeg } from "./legs.ts";
import type { Links } from "./links.ts";
import type { NewOccurrence, Occurrences, StoredReferent } from "./occurrences.ts";
import type { Reasons } from "./reasons.ts";
import { isRecall } from "./recall-effects.ts";
import type { Sources } from "./sources.ts";
import { readable, recalledBy, unrecalled, visible } from "./visibility.ts";

/** A thought about to be written; every word already interned, every text already analysed. */
export interface NewThought {
  readonly content: string;
  /** Terms of the text as it is indexed (see `asIndexed`). */
  readonly terms: readonly string[];
  readonly valueKey: Buffer;
  readonly scopeId: number;
  readonly kindId: number;
  readonly domainId: number | null;
  readonly speakerId: number | null;
  readonly basis: Basis;
  readonly confidence: number | null;
  readonly salience: number | null;
  readonly trust: number;
  readonly tagIds: readonly number[];
  readonly aspectIds: readonly number[];
  readonly facets: readonly { readonly nameId: number; readonly valueId: number }[];
  readonly subjectIds: readonly number[];
  readonly referent: StoredReferent;
  readonly validFrom: number | null;
  readonly validTo: number | null;
  readonly due: number | null;
  readonly legs: readonly NewLeg[];
  readonly occurrence: NewOccurrence;
}

/** State of a node, as decisions need it. */
export interface NodeState {
  readonly id: number;
  readonly publicId: string;
  readonly role: number;
  readonly scopeId: number;
  readonly kindId: number;
  readonly domainId: number | null;
  readonly trust: number;
  readonly decayed: DecayReason;
  readonly belief: Belief;
  readonly permanence: Permanence;
  readonly mergedInto: number | null;
  readonly recalledBy: number | null;
  readonly erasedBy: number | null;
  readonly recordedAt: number;
}

/** Everything `show` prints beside the view of a thought. */
export interface ThoughtDetail extends ThoughtView {
  readonly basis: Basis;
  readonly confidence: number | null;
  readonly salience: number | null;
  readonly speaker: string | null;
  readonly aspects: readonly string[];
  readonly facets: readonly { readonly name: string; readonly value: string }[];
  readonly subjects: readonly string[];
  readonly valid: { readonly from: string | null; readonly to: string | null } | null;
  readonly due: string | null;
  readonly state: StateView;
}

export interface StateView {
  readonly visible: boolean;
  readonly decayed: DecayReason;
  readonly belief: Belief;
  readonly permanence: Permanence;
  readonly mergedInto: string | null;
  /** The recall that it lies under, to be undone by `unrecall`; null when none does. */
  readonly recalledBy: string | null;
  /** The event since which no leg holds it up, although no recall in force took it; null otherwise. */
  readonly unheldSince: string | null;
}

/** A connection of a node, named from both of its ends. */
export interface Step {
  readonly id: number;
  readonly via: string;
  readonly back: string;
}

export const LISTABLE_STATES = [
  "visible",
  "decayed",
  "forgotten",
  "permanent",
  "pinned",
  "merged",
  "recalled",
  "erased",
  "held",
  "superseded",
  "disputed",
  "stale",
  "all",
] as const;
export type ListableState = (typeof LISTABLE_STATES)[number];

export interface ListFilter {
  readonly kinds?: readonly string[];
  readonly domains?: readonly string[];
  readonly tags?: readonly string[];
  /** Overlap with this referent interval. */
  readonly when?: Interval;
  /** Default: visible. */
  readonly state?: ListableState;
  readonly limit: number;
}

const LIST_STATES: Record<ListableState, string> = {
  visible: visible("n"),
  decayed: "n.decayed > 0",
  forgotten: "n.decayed = 3",
  permanent: "n.permanence > 0",
  pinned: "n.permanence = 2",
  merged: "n.merged_into IS NOT NULL",
  recalled: `NOT ${unrecalled("n")}`,
  erased: "n.erased_by IS NOT NULL",
  held: "n.belief = 4",
  superseded: "n.belief = 3",
  disputed: "n.belief = 2",
  stale: "n.stale_by IS NOT NULL",
  all: "1",
};

interface NodeRow {
  readonly id: number;
  readonly publicId: Buffer;
  readonly role: number;
  readonly scopeId: number;
  readonly kindId: number;
  readonly domainId: number | null;
  readonly speakerId: number | null;
  readonly contentId: number | null;
  readonly basis: number;
  readonly confidence: number | null;
  readonly salience: number | null;
  readonly trust: number;
  readonly recordedAt: number;
  readonly referentFrom: number | null;
  readonly referentTo: number | null;
  readonly referentKind: number;
  readonly validFrom: number | null;
  readonly validTo: number | null;
  readonly due: number | null;
  readonly decayed: number;
  readonly belief: number;
  readonly permanence: number;
  readonly mergedInto: number | null;
  readonly recalledBy: number | null;
  readonly erasedBy: number | null;
  readonly staleBy: number | null;
  readonly shown: number;
}

const COLUMNS = `n.id, n.public_id AS publicId, n.role, n.scope_id AS scopeId, n.kind_id AS kindId,
  n.domain_id AS domainId, n.speaker_id AS speakerId, n.content_id AS contentId, n.basis, n.confidence, n.salience,
  n.trust, n.recorded_at AS recordedAt, n.referent_from AS referentFrom, n.referent_to AS referentTo,
  n.referent_kind AS referentKind, n.valid_from AS validFrom, n.valid_to AS validTo, n.due_at AS due, n.decayed,
  n.belief, n.permanence, n.merged_into AS mergedInto,
  ${recalledBy("n")} AS recalledBy, n.erased_by AS erasedBy,
  n.stale_by AS staleBy`;

/** Name of the facet that holds the path of headings a paragraph stands under, the note's title first. */
export const HEADING_FACET = "heading";
/** Public ids kept in memory. */
const PUBLIC_ID_CACHE = 10_000;

export interface ThoughtsParts {
  readonly connection: Connection;
  readonly contents: Contents;
  readonly labels: Labels;
  readonly ledger: Ledger;
  readonly legs: Legs;
  readonly occurrences: Occurrences;
  readonly sources: Sources;
  readonly links: Links;
  readonly reasons: Reasons;
  readonly fullText: FullText;
}

export class Thoughts {
  readonly #parts: ThoughtsParts;
  readonly #publicIds = new Map<number, string>();

  constructor(parts: ThoughtsParts) {
    this.#parts = parts;
  }

  /** Writes a new thought, its legs, occurrence, labels and full text, under one event. @returns its node id */
  create(thought: NewThought, actor: Actor): number {
    const { connection, contents, labels, ledger, legs, occurrences, fullText } = this.#parts;
    const publicId = randomId();
    const stored = contents.add(thought.content);
    const seq = ledger.record({
      kind: "thought.created",
      actor,
      payload: {
        node: formatId("thought", publicId),
        kind: labels.publicId(thought.kindId),
        scope: this.#scopeLabel(thought.scopeId),
        domain: this.#label(thought.domainId),
        speaker: this.#label(thought.speakerId),
        basis: thought.basis,
        confidence: thought.confidence ?? undefined,
        salience: thought.salience ?? undefined,
        trust: TRUST_LEVELS[thought.trust],
        tags: this.#labelList(thought.tagIds),
        aspects: this.#labelList(thought.aspectIds),
        facets:
          thought.facets.length === 0
            ? undefined
            : thought.facets.map(({ nameId, valueId }) => [labels.publicId(nameId), labels.publicId(valueId)]),
        subjects: thought.subjectIds.length === 0 ? undefined : thought.subjectIds.map((id) => this.#subjectLabel(id)),
        valid:
          thought.validFrom === null && thought.validTo === null ? undefined : [thought.validFrom, thought.validTo],
        due: thought.due ?? undefined,
        legs: thought.legs.map((leg) => legs.describe(leg)),
        occurrence: this.#describeOccurrence(thought.occurrence),
      },
      commitment: stored.commitment,
    });
    const { lastInsertRowid } = connection
      .sql(
        `INSERT INTO node (public_id, role, kind_id, scope_id, domain_id, speaker_id, content_id, value_key, basis,
           confidence, salience, trust, recorded_at, referent_from, referent_to, referent_kind, valid_from, valid_to,
           due_at, token_count, added_seq)
         VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        publicId,
        thought.kindId,
        thought.scopeId,
        thought.domainId,
        thought.speakerId,
        stored.id,
        thought.valueKey,
        BASES.indexOf(thought.basis),
        thought.confidence,
        thought.salience,
        thought.trust,
        ledger.lastTime(),
        thought.referent.from,
        thought.referent.to,
        thought.referent.kind,
        thought.validFrom,
        thought.validTo,
        thought.due,
        thought.terms.length,
        seq,
      );
    const nodeId = Number(lastInsertRowid);
    const legIds = thought.legs.map((leg) => legs.insert(nodeId, leg, seq));
    occurrences.insert(nodeId, legIds[0] ?? 0, thought.occurrence, seq);
    this.#insertLabels("node_tag", nodeId, thought.tagIds, seq);
    this.#insertLabels("node_aspect", nodeId, thought.aspectIds, seq);
    for (const { nameId, valueId } of thought.facets) {
      connection
        .sql("INSERT INTO node_facet (node_id, name_id, value_id, added_seq) VALUES (?, ?, ?, ?)")
        .run(nodeId, nameId, valueId, seq);
    }
    this.#insertSubjects(nodeId, thought.subjectIds, seq);
    fullText.add(nodeId, thought.terms);
    return nodeId;
  }

  /**
   * Gives a known thought further legs and an occurrence, with the state changes that follow, under one event.
   * @returns the event's sequence number
   */
  reinforce(
    nodeId: number,
    input: {
      readonly legs: readonly NewLeg[];
      readonly occurrence: NewOccurrence;
      readonly tagIds: readonly number[];
      readonly subjectIds: readonly number[];
      readonly changes: readonly Change[];
    },
    actor: Actor,
  ): number {
    const { ledger, legs, occurrences } = this.#parts;
    const known = input.legs.map((leg) => legs.find(nodeId, leg));
    const fresh = input.legs.filter((_, index) => known[index] === null);
    const freshTags = input.tagIds.filter((labelId) => !this.#hasTag(nodeId, labelId));
    const freshSubjects = input.subjectIds.filter((subjectId) => !this.#hasSubject(nodeId, subjectId));
    const seq = ledger.record({
      kind: "thought.reinforced",
      actor,
      payload: {
        node: this.publicId(nodeId),
        legs: fresh.length === 0 ? undefined : fresh.map((leg) => legs.describe(leg)),
        tags: this.#labelList(freshTags),
        subjects: freshSubjects.length === 0 ? undefined : freshSubjects.map((id) => this.#subjectLabel(id)),
        occurrence: this.#describeOccurrence(input.occurrence),
      },
      changes: input.changes,
    });
    const legIds = input.legs.map((leg, index) => known[index] ?? legs.insert(nodeId, leg, seq));
    occurrences.insert(nodeId, legIds[0] ?? 0, input.occurrence, seq);
    this.#insertLabels("node_tag", nodeId, freshTags, seq);
    this.#insertSubjects(nodeId, freshSubjects, seq);
    this.#advanceReferent(nodeId, input.occurrence.referent, seq);
    return seq;
  }

  /** The node with this value in this scope, whatever its state. */
  findByValue(scopeId: number, valueKey: Buffer): NodeState | null {
    const row = this.#parts.connection
      .sql<NodeRow>(`SELECT ${COLUMNS} FROM node n WHERE n.scope_id = ? AND n.value_key = ?`)
      .get(scopeId, valueKey);
    return row === undefined ? null : rowToState(row);
  }

  /**
   * The local id behind a public one, of a readable node.
   * @throws DormouseError `not_found`: absent and unreadable answer alike.
   */
  resolve(publicId: string): number {
    const bytes = parseNodeId(publicId);
    const row = this.#parts.connection
      .sql<{ id: number; role: number }>(`SELECT id, role FROM node n WHERE public_id = ? AND ${readable("n")}`)
      .get(bytes);
    const isSource = publicId.trim().toLowerCase().startsWith("s_");
    if (row === undefined || (row.role === 0) !== isSource) {
      throw new DormouseError("not_found", `there is no ${isSource ? "source" : "thought"} ${publicId}`, {
        hint: isSource
          ? "`dormouse source list` prints ids of sources."
          : "`dormouse search` and `dormouse list` print ids of thoughts.",
      });
    }
    this.#keepPublicId(row.id, formatId(row.role === 0 ? "source" : "thought", bytes));
    return row.id;
  }

  /** What a rolled-back transaction made must not be believed. */
  forgetCache(): void {
    this.#publicIds.clear();
  }

  state(nodeId: number): NodeState {
    const row = this.#parts.connection.sql<NodeRow>(`SELECT ${COLUMNS} FROM node n WHERE n.id = ?`).get(nodeId);
    if (row === undefined) throw new RangeError("no such node");
    return rowToState(row);
  }

  /** A node's public id never changes, so it is remembered. */
  publicId(nodeId: number): string {
    const cached = this.#publicIds.get(nodeId);
    if (cached !== undefined) return cached;
    const { publicId } = this.state(nodeId);
    this.#keepPublicId(nodeId, publicId);
    return publicId;
  }

  #keepPublicId(nodeId: number, publicId: string): void {
    if (this.#publicIds.size >= PUBLIC_ID_CACHE) this.#publicIds.clear();
    this.#publicIds.set(nodeId, publicId);
  }

  /** What search and context show, in the order of the ids. */
  views(nodeIds: readonly number[]): ThoughtView[] {
    return nodeIds.map((id) => this.#view(this.#row(id)));
  }

  /** Everything about one thought. */
  detail(nodeId: number): ThoughtDetail {
    const row = this.#row(nodeId);
    return {
      ...this.#view(row),
      basis: BASES[row.basis] ?? "observed",
      confidence: row.confidence,
      salience: row.salience,
      speaker: row.speakerId === null ? null : this.#parts.labels.text(row.speakerId),
      aspects: this.#labelsOf("node_aspect", nodeId),
      facets: this.#parts.connection
        .sql<{ nameId: number; valueId: number }>(
          `SELECT name_id AS nameId, value_id AS valueId FROM node_facet
           WHERE node_id = ? AND ended_seq IS NULL ORDER BY name_id, value_id`,
        )
        .all(nodeId)
        .map(({ nameId, valueId }) => ({
          name: this.#parts.labels.text(nameId) ?? "",
          value: this.#parts.labels.text(valueId) ?? "",
        })),
      subjects: this.#parts.connection
        .sql<{ labelId: number }>(
          `SELECT s.label_id AS labelId FROM node_subject ns JOIN subject s ON s.id = ns.subject_id
           WHERE ns.node_id = ? AND ns.ended_seq IS NULL ORDER BY s.id`,
        )
        .all(nodeId)
        .map(({ labelId }) => this.#parts.labels.text(labelId) ?? ""),
      valid: row.validFrom === null && row.validTo === null ? null : { from: iso(row.validFrom), to: iso(row.validTo) },
      due: iso(row.due),
      state: {
        visible: row.shown === 1,
        decayed: DECAY_REASONS[row.decayed] ?? "none",
        belief: BELIEFS[row.belief] ?? "asserted",
        permanence: PERMANENCES[row.permanence] ?? "none",
        mergedInto: row.mergedInto === null ? null : this.publicId(row.mergedInto),
        ...this.#downBy(row.recalledBy),
      },
    };
  }

  /** What keeps a node down: a recall, or an event after which it rested on itself alone. */
  #downBy(seq: number | null): Pick<StateView, "recalledBy" | "unheldSince"> {
    if (seq === null) return { recalledBy: null, unheldSince: null };
    const event = formatEventId(seq);
    return isRecall(this.#parts.connection, seq)
      ? { recalledBy: event, unheldSince: null }
      : { recalledBy: null, unheldSince: event };
  }

  /** What is indexed and embedded (see `asIndexed`). Null once erased. */
  indexedText(nodeId: number): string | null {
    const row = this.#row(nodeId);
    const text = row.contentId === null ? null : this.#parts.contents.text(row.contentId);
    if (text === null) return null;
    return asIndexed(
      {
        speaker: row.speakerId === null ? null : this.#parts.labels.text(row.speakerId),
        heading: this.#heading(nodeId),
      },
      text,
    );
  }

  /** Ids of thoughts that have text, above `after`, ascending. */
  idsAfter(after: number, limit: number): number[] {
    return this.#parts.connection
      .sql<{ id: number }>("SELECT id FROM node WHERE id > ? AND role = 1 AND erased_by IS NULL ORDER BY id LIMIT ?")
      .all(after, limit)
      .map(({ id }) => id);
  }

  /** Number of analysed terms, kept for BM25; derived from the text. */
  tokenCount(nodeId: number): number {
    return (
      this.#parts.connection.sql<{ n: number }>("SELECT token_count AS n FROM node WHERE id = ?").get(nodeId)?.n ?? 0
    );
  }

  setTokenCount(nodeId: number, tokens: number): void {
    this.#parts.connection.sql("UPDATE node SET token_count = ? WHERE id = ?").run(tokens, nodeId);
  }

  /** Ids of visible thoughts, latest recorded first. */
  recent(limit: number): number[] {
    return this.#parts.connection
      .sql<{ id: number }>(
        `SELECT n.id FROM node n WHERE n.role = 1 AND ${visible("n")} ORDER BY n.recorded_at DESC, n.id DESC LIMIT ?`,
      )
      .all(limit)
      .map(({ id }) => id);
  }

  /** Visible thoughts due before a moment, earliest first. */
  dueBefore(at: number, limit: number): { id: number; due: number }[] {
    return this.#parts.connection
      .sql<{ id: number; due: number }>(
        `SELECT n.id, n.due_at AS due FROM node n
         WHERE n.due_at IS NOT NULL AND n.due_at < ? AND n.role = 1 AND ${visible("n")} ORDER BY n.due_at, n.id LIMIT ?`,
      )
      .all(at, limit);
  }

  countVisible(): number {
    return new Eligible(this.#parts.connection, {}).count();
  }

  /** Ids of readable thoughts in any state that pass the filter, latest recorded first. */
  list(filter: ListFilter): number[] {
    const conditions = ["n.role = 1", readable("n")];
    const params: number[] = [];
    const byLabel = (column: string, type: "kind" | "domain", texts: readonly string[] | undefined) => {
      if (texts === undefined || texts.length === 0) return;
      const ids = texts.flatMap((text) => this.#parts.labels.find(type, text) ?? []);
      conditions.push(`${column} IN (${ids.map(() => "?").join(", ")})`);
      params.push(...ids);
    };
    byLabel("n.kind_id", "kind", filter.kinds);
    byLabel("n.domain_id", "domain", filter.domains);
    for (const tag of filter.tags ?? []) {
      conditions.push("n.id IN (SELECT node_id FROM node_tag WHERE label_id = ? AND ended_seq IS NULL)");
      params.push(this.#parts.labels.find("tag", tag) ?? -1);
    }
    if (filter.when !== undefined) {
      const { condition, params: span } = happenedWithin("n", filter.when);
      conditions.push(condition);
      params.push(...span);
    }
    conditions.push(filter.state === undefined ? visible("n") : LIST_STATES[filter.state]);
    return this.#parts.connection
      .sql<{ id: number }>(
        `SELECT n.id FROM node n WHERE ${conditions.join(" AND ")} ORDER BY n.recorded_at DESC, n.id DESC LIMIT ?`,
      )
      .all(...params, filter.limit)
      .map(({ id }) => id);
  }

  /**
   * Readable nodes one step away over standing legs, links and sequence, whatever their state. At most `limit` of
   * each kind each way, in the order of this list: the newest parents and children, the strongest links, the
   * neighbors of the newest occurrences. `via` names the step from this node, `back` the same step from the other.
   */
  connections(nodeId: number, limit: number): Step[] {
    const { connection, links, occurrences } = this.#parts;
    const over = (own: "child_id" | "parent_id", other: "child_id" | "parent_id") =>
      connection
        .values<number>(
          `SELECT DISTINCT d.${other} FROM derivation d JOIN leg l ON l.id = d.leg_id
           WHERE d.${own} = ? AND l.ended_seq IS NULL ORDER BY d.${other} DESC LIMIT ?`,
        )
        .all(nodeId, limit);
    return [
      ...over("child_id", "parent_id").map((id) => ({ id, via: "rests on", back: "supports" })),
      ...over("parent_id", "child_id").map((id) => ({ id, via: "supports", back: "rests on" })),
      ...links
        .of(nodeId, limit)
        .map(({ type, fromId, toId }) =>
          fromId === nodeId
            ? { id: toId, via: type, back: `${type} (from)` }
            : { id: fromId, via: `${type} (from)`, back: type },
        ),
      ...occurrences
        .sequenceNeighbors([nodeId], limit)
        .map(({ neighborId, step }) =>
          step === -1
            ? { id: neighborId, via: "after", back: "before" }
            : { id: neighborId, via: "before", back: "after" },
        ),
    ].filter(({ id }) => this.#isReadable(id));
  }

  /** The words a person gave for a state the thought is still in, such as forgotten; null when none. */
  lastReason(nodeId: number): string | null {
    const row = this.#parts.connection
      .sql<{ seq: number }>(
        `SELECT t.event_seq AS seq FROM transition t JOIN reason r ON r.event_seq = t.event_seq
         WHERE t.node_id = ? AND coalesce(t.new, 0) <> 0 AND t.event_seq = (
           SELECT max(event_seq) FROM transition WHERE node_id = t.node_id AND axis = t.axis)
         ORDER BY t.event_seq DESC LIMIT 1`,
      )
      .get(nodeId);
    return row === undefined ? null : this.#parts.reasons.of(row.seq);
  }

  #isReadable(nodeId: number): boolean {
    return (
      this.#parts.connection.sql(`SELECT 1 FROM node n WHERE n.id = ? AND ${readable("n")}`).get(nodeId) !== undefined
    );
  }

  /** Takes the referent time of the node from its latest standing occurrence. */
  refreshReferent(nodeId: number): void {
    this.#parts.connection
      .sql(
        `UPDATE node SET (referent_from, referent_to, referent_kind) = (
           SELECT referent_from, referent_to, referent_kind FROM occurrence
           WHERE node_id = @nodeId AND ended_seq IS NULL
           ORDER BY referent_kind = 0, coalesce(referent_to, referent_from) DESC, id DESC LIMIT 1)
         WHERE id = @nodeId AND EXISTS (SELECT 1 FROM occurrence WHERE node_id = @nodeId AND ended_seq IS NULL)`,
      )
      .run({ nodeId });
  }

  #row(nodeId: number): NodeRow {
    const row = this.#parts.connection
      .sql<NodeRow>(`SELECT ${COLUMNS}, ${visible("n")} AS shown FROM node n WHERE n.id = ?`)
      .get(nodeId);
    if (row === undefined) throw new RangeError("no such node");
    return row;
  }

  #view(row: NodeRow): ThoughtView {
    const { labels, contents } = this.#parts;
    return {
      id: formatId(row.role === 0 ? "source" : "thought", row.publicId),
      kind: labels.text(row.kindId) ?? "",
      content: (row.contentId === null ? null : contents.text(row.contentId)) ?? "",
      domain: row.domainId === null ? null : labels.text(row.domainId),
      scope: this.#scopeName(row.scopeId),
      tags: this.#labelsOf("node_tag", row.id),
      recordedAt: new Date(row.recordedAt).toISOString(),
      referent:
        row.referentKind === 0
          ? null
          : {
              from: iso(row.referentFrom),
              to: iso(row.referentTo),
              ...(row.referentKind === 2 ? { floating: true as const } : {}),
            },
      source: this.#sourceOf(row),
      trust: TRUST_LEVELS[row.trust] ?? "unknown",
      belief: BELIEFS[row.belief] ?? "asserted",
      stale: row.staleBy !== null,
    };
  }

  /** The source it was met in last, with that source's own trust. */
  #sourceOf(row: NodeRow): ThoughtView["source"] {
    const occurrence = this.#parts.connection
      .sql<{ sourceId: number }>(
        `SELECT source_id AS sourceId FROM occurrence WHERE node_id = ?
         ORDER BY id DESC LIMIT 1`,
      )
      .get(row.id);
    const source = this.#parts.sources.get(occurrence?.sourceId ?? row.id);
    return {
      id: source?.publicId ?? "",
      name: source?.name ?? "",
      trust: source?.trust ?? "unknown",
    };
  }

  #describeOccurrence(occurrence: NewOccurrence): CanonicalValue {
    return {
      source: this.publicId(occurrence.sourceId),
      ordinal: occurrence.ordinal,
      thread: occurrence.thread === 0 ? undefined : occurrence.thread,
      speaker: this.#label(occurrence.speakerId),
      referent:
        occurrence.referent.kind === 0
          ? undefined
          : [occurrence.referent.from, occurrence.referent.to, occurrence.referent.kind],
    };
  }

  #insertLabels(table: "node_tag" | "node_aspect", nodeId: number, labelIds: readonly number[], seq: number): void {
    const insert = this.#parts.connection.sql(`INSERT INTO ${table} (node_id, label_id, added_seq) VALUES (?, ?, ?)`);
    for (const labelId of labelIds) insert.run(nodeId, labelId, seq);
  }

  #heading(nodeId: number): string | null {
    const nameId = this.#parts.labels.find("facet_name", HEADING_FACET);
    if (nameId === null) return null;
    const row = this.#parts.connection
      .sql<{ id: number }>(
        "SELECT value_id AS id FROM node_facet WHERE node_id = ? AND name_id = ? AND ended_seq IS NULL LIMIT 1",
      )
      .get(nodeId, nameId);
    return row === undefined ? null : this.#parts.labels.text(row.id);
  }

  #insertSubjects(nodeId: number, subjectIds: readonly number[], seq: number): void {
    const insert = this.#parts.connection.sql(
      "INSERT INTO node_subject (node_id, subject_id, added_seq) VALUES (?, ?, ?)",
    );
    for (const subjectId of subjectIds) insert.run(nodeId, subjectId, seq);
  }

  #hasSubject(nodeId: number, subjectId: number): boolean {
    return (
      this.#parts.connection
        .sql("SELECT 1 FROM node_subject WHERE node_id = ? AND subject_id = ? AND ended_seq IS NULL")
        .get(nodeId, subjectId) !== undefined
    );
  }

  /** Takes over the referent time of a new occurrence when it is later than the node's, or nothing else stands. */
  #advanceReferent(nodeId: number, { from, to, kind }: StoredReferent, seq: number): void {
    this.#parts.connection
      .sql(
        `UPDATE node SET referent_from = @from, referent_to = @to, referent_kind = @kind
         WHERE id = @nodeId AND ((@kind > 0 AND (referent_kind = 0
             OR coalesce(@to, @from, 0) >= coalesce(referent_to, referent_from, 0)))
           OR NOT EXISTS (SELECT 1 FROM occurrence
             WHERE node_id = @nodeId AND ended_seq IS NULL AND event_seq < @seq))`,
      )
      .run({ nodeId, from, to, kind, seq });
  }

  #hasTag(nodeId: number, labelId: number): boolean {
    return (
      this.#parts.connection
        .sql("SELECT 1 FROM node_tag WHERE node_id = ? AND label_id = ? AND ended_seq IS NULL")
        .get(nodeId, labelId) !== undefined
    );
  }

  #labelsOf(table: "node_tag" | "node_aspect", nodeId: number): string[] {
    return this.#parts.connection
      .sql<{ id: number }>(
        `SELECT label_id AS id FROM ${table} WHERE node_id = ? AND ended_seq IS NULL ORDER BY label_id`,
      )
      .all(nodeId)
      .map(({ id }) => this.#parts.labels.text(id) ?? "");
  }

  #label(id: number | null): string | undefined {
    return id === null ? undefined : this.#parts.labels.publicId(id);
  }

  #labelList(ids: readonly number[]): string[] | undefined {
    return ids.length === 0 ? undefined : ids.map((id) => this.#parts.labels.publicId(id));
  }

  #scopeLabel(scopeId: number): string {
    return this.#parts.labels.publicId(this.#scopeLabelId(scopeId));
  }

  #scopeName(scopeId: number): string {
    return this.#parts.labels.text(this.#scopeLabelId(scopeId)) ?? "";
  }

  #scopeLabelId(scopeId: number): number {
    const row = this.#parts.connection
      .sql<{ id: number }>("SELECT label_id AS id FROM scope WHERE id = ?")
      .get(scopeId);
    if (row === undefined) throw new RangeError("no such scope");
    return row.id;
  }

  #subjectLabel(subjectId: number): string {
    const row = this.#parts.connection
      .sql<{ id: number }>("SELECT label_id AS id FROM subject WHERE id = ?")
      .get(subjectId);
    if (row === undefined) throw new RangeError("no such subject");
    return this.#parts.labels.publicId(row.id);
  }
}

/** The form in which a thought is indexed and embedded: a turn under its speaker, a paragraph under its heading. */
export function asIndexed(
  place: { readonly speaker: string | null; readonly heading: string | null },
  text: string,
): string {
  const before = [place.speaker, place.heading].filter((part) => part !== null && part !== "").join(", ");
  return before === "" ? text : `${before}: ${text}`;
}

function rowToState(row: NodeRow): NodeState {
  return {
    id: row.id,
    publicId: formatId(row.role === 0 ? "source" : "thought", row.publicId),
    role: row.role,
    scopeId: row.scopeId,
    kindId: row.kindId,
    domainId: row.domainId,
    trust: row.trust,
    decayed: DECAY_REASONS[row.decayed] ?? "none",
    belief: BELIEFS[row.belief] ?? "asserted",
    permanence: PERMANENCES[row.permanence] ?? "none",
    mergedInto: row.mergedInto,
    recalledBy: row.recalledBy,
    erasedBy: row.erasedBy,
    recordedAt: row.recordedAt,
  };
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
