/**
 * The one write path. Every thought, whoever brings it, is normalised, checked against size caps,
 * tombstones and what is known already, and written with its legs and event in one transaction.
 * Vectors are computed before that transaction opens.
 */
import { DormouseError } from "../core/errors.ts";
import type { Embedder } from "../core/ports.ts";
import {
  type Actor,
  BASES,
  type LegInput,
  type OccurrenceInput,
  type RefusalReason,
  type RememberInput,
  type RememberResult,
  type SourceInput,
  TRUST_LEVELS,
} from "../core/types.ts";
import type { Change } from "../store/ledger.ts";
import type { NewLeg, ParentState } from "../store/legs.ts";
import { LOOSE_THREAD, type NewOccurrence, type StoredReferent } from "../store/occurrences.ts";
import type { Store } from "../store/store.ts";
import { type NodeState, withSpeaker } from "../store/thoughts.ts";
import { analyse } from "../text/analyse.ts";
import { isBlank, normaliseText } from "../text/normalise.ts";

/** Longest content of one thought, in UTF-16 code units. Longer text is the extractors' to cut. */
export const MAX_CONTENT_LENGTH = 20_000;
/** Longest tag, domain, kind, facet, speaker, subject or source name. */
const MAX_LABEL_LENGTH = 400;
/** Most entries of one list attribute. */
const MAX_LIST_LENGTH = 100;

const DEFAULT_KIND = "fact";

/** Where a person's typed thought comes from: the statement itself. */
const PERSON: SourceInput = { type: "person", key: "person", name: "you", trust: "trusted" };

export interface RememberOptions {
  readonly actor: Actor;
  /** Runs in the same transaction before the thoughts; what it throws undoes everything. */
  readonly beforehand?: () => void;
  /** Runs in the same transaction after the thoughts, for instance to save how far a file was read. */
  readonly alongside?: (results: readonly RememberResult[]) => void;
}

interface Prepared {
  readonly input: RememberInput;
  readonly content: string;
  readonly terms: readonly string[];
  readonly valueKey: Buffer;
  readonly recordDigest: Buffer | null;
  readonly vector: Int8Array | null;
}

/**
 * Remembers the inputs in order, all in one transaction.
 * @returns one result each; a refusal is a result, a malformed input throws before anything is written.
 * @throws DormouseError `empty`, `too_long`, `invalid`, `unknown_scope`, `not_found`, and as the store does.
 */
export async function rememberAll(
  store: Store,
  embedder: Embedder,
  inputs: readonly RememberInput[],
  options: RememberOptions,
): Promise<RememberResult[]> {
  const prepared = await prepareAll(store, embedder, inputs);
  return store.write(() => {
    options.beforehand?.();
    if (prepared.some(({ vector }) => vector !== null)) store.vectors.use(embedder.model);
    const results = prepared.map((thought) => applyThought(store, thought, options.actor));
    options.alongside?.(results);
    return results;
  });
}

/**
 * Remembers one thought.
 * @throws DormouseError also for a refusal: `tombstone`, `forgotten`, `recalled`, `held`, `dead_source`.
 */
export async function rememberOne(
  store: Store,
  embedder: Embedder,
  input: RememberInput,
  options: RememberOptions,
): Promise<RememberResult> {
  const [result] = await rememberAll(store, embedder, [input], options);
  if (result === undefined) throw new RangeError("one input gives one result");
  if (result.status === "refused" && result.reason !== undefined) throw refusalError(result.reason, result.id);
  return result;
}

function refusalError(reason: RefusalReason, id: string | null): DormouseError {
  const messages: Record<RefusalReason, [string, string]> = {
    tombstone: ["this was rejected or erased before and must not come back", "A person can lift the tombstone."],
    forgotten: [`this was forgotten on purpose (${id})`, `\`dormouse revive ${id}\` brings it back.`],
    recalled: [`this was recalled together with its source (${id})`, "Undo the recall first."],
    held: [`this waits for review (${id})`, "Approve or reject it first."],
    dead_source: ["a leg cites a source that was recalled or erased", "Cite only what still stands."],
  };
  const [message, hint] = messages[reason];
  return new DormouseError(reason, message, { hint });
}

async function prepareAll(store: Store, embedder: Embedder, inputs: readonly RememberInput[]): Promise<Prepared[]> {
  const checked = inputs.map((input) => ({ ...checkInput(input), input }));
  const keyed = checked.map(({ input, content, normalised }) => ({
    input,
    content,
    valueKey: store.digest("value", input.speaker ?? "", normalised),
    recordDigest:
      input.occurrence?.recordKey === undefined ? null : store.digest("record", input.occurrence.recordKey, normalised),
  }));
  const indexed = keyed.map(({ input, content }) => withSpeaker(input.speaker ?? null, content));
  const wanted = new Map<string, number>();
  store.read(() => {
    for (const [index, { input, valueKey, recordDigest }] of keyed.entries()) {
      if (recordDigest !== null && store.occurrences.isKnown(recordDigest)) continue;
      if (store.thoughts.findByValue(store.scopes.idOf(input.scope), valueKey) !== null) continue;
      const key = valueKey.toString("hex");
      if (!wanted.has(key)) wanted.set(key, index);
    }
  });
  const vectors = await embedder.embedPassages([...wanted.values()].map((index) => indexed[index] ?? ""));
  const vectorsByKey = new Map([...wanted.keys()].map((key, at) => [key, vectors[at] ?? null]));
  return keyed.map((thought, index) => {
    const vector = vectorsByKey.get(thought.valueKey.toString("hex")) ?? null;
    return { ...thought, vector, terms: vector === null ? [] : analyse(indexed[index] ?? "") };
  });
}

function checkInput(input: RememberInput): { content: string; normalised: string } {
  const content = input.content.normalize("NFC").trim();
  if (isBlank(content)) throw new DormouseError("empty", "content: there is nothing to remember");
  if (content.length > MAX_CONTENT_LENGTH) {
    throw new DormouseError("too_long", `content: ${content.length} characters, ${MAX_CONTENT_LENGTH} at most`, {
      hint: "`dormouse extract` cuts long text into linked parts.",
    });
  }
  if (content.includes("\u0000")) throw new DormouseError("invalid", "content: holds a NUL character");
  checkNumber("confidence", input.confidence);
  checkNumber("salience", input.salience);
  if (input.basis !== undefined && !BASES.includes(input.basis)) {
    throw new DormouseError("usage", "basis: unknown", { hint: `One of ${BASES.join(", ")}.` });
  }
  const facets = input.facets ?? [];
  for (const [field, texts] of [
    ["kind", [input.kind, input.defaultKind].filter((kind) => kind !== undefined)],
    ["domain", input.domain === undefined ? [] : [input.domain]],
    ["speaker", input.speaker === undefined ? [] : [input.speaker]],
    ["tags", input.tags ?? []],
    ["aspects", input.aspects ?? []],
    ["subjects", input.subjects ?? []],
    ["facets", facets.flatMap(({ name, value }) => [name, value])],
  ] as const) {
    checkLabels(field, texts);
  }
  checkInterval("valid", input.valid?.from ?? null, input.valid?.to ?? null);
  checkInterval("referent", input.referent?.from ?? null, input.referent?.to ?? null);
  return { content, normalised: normaliseText(content) };
}

/** What the brain keeps of a value: who said it and the normalised text (`normaliseText`). */
export function digestValue(store: Store, speaker: string | undefined, normalised: string): Buffer {
  return store.digest("value", speaker ?? "", normalised);
}

/** What the brain keeps of a record: its key and the normalised text. */
export function digestRecord(store: Store, recordKey: string, normalised: string): Buffer {
  return store.digest("record", recordKey, normalised);
}

function checkLabels(field: string, texts: readonly string[]): void {
  if (texts.length > MAX_LIST_LENGTH) {
    throw new DormouseError("invalid", `${field}: ${texts.length} entries, ${MAX_LIST_LENGTH} at most`);
  }
  for (const text of texts) {
    if (isBlank(text)) throw new DormouseError("invalid", `${field}: an entry is empty`);
    if (text.length > MAX_LABEL_LENGTH) {
      throw new DormouseError(
        "invalid",
        `${field}: an entry has ${text.length} characters, ${MAX_LABEL_LENGTH} at most`,
      );
    }
  }
}

function checkNumber(field: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= 0 && value <= 100)) {
    throw new DormouseError("usage", `${field}: must be a whole number from 0 to 100`);
  }
}

function checkInterval(field: string, from: number | null, to: number | null): void {
  if (from !== null && to !== null && from > to) throw new DormouseError("bad_time", `${field}: ends before it begins`);
}

function applyThought(store: Store, thought: Prepared, actor: Actor): RememberResult {
  const { input, valueKey, recordDigest } = thought;
  if (recordDigest !== null) {
    const nodeId = store.occurrences.nodeOfRecord(recordDigest);
    if (nodeId !== null) return { id: survivorId(store, nodeId), status: "known" };
  }
  const ownScopeId = store.scopes.idOf(input.scope);
  const sourceId = store.sources.intern(input.occurrence?.source ?? PERSON, ownScopeId, actor);
  const legs = resolveLegs(store, input, sourceId, ownScopeId, actor);
  const parents = readParents(store, [sourceId, ...legs.flatMap(({ parentIds }) => parentIds)]);
  if (legs.some(({ parentIds }) => parentIds.some((id) => parents.get(id)?.dead ?? true))) {
    return { id: null, status: "refused", reason: "dead_source" };
  }
  const scopeId = store.scopes.strictest([ownScopeId, ...scopesOf(parents)]);
  const tombstoneId = store.tombstones.find(scopeId, valueKey);
  if (tombstoneId !== null) {
    store.tombstones.countRefusal(tombstoneId, sourceId, store.now());
    return { id: null, status: "refused", reason: "tombstone" };
  }
  const occurrence = placeOccurrence(store, thought, sourceId, actor);
  const trust = Math.max(...legs.map((leg) => legTrust(parents, leg, sourceId)));
  const known = store.thoughts.findByValue(scopeId, valueKey);
  if (known !== null) return meetKnown(store, known, thought, { legs, occurrence, trust, actor });
  const nodeId = createThought(store, thought, { scopeId, legs, occurrence, trust, actor });
  if (thought.vector !== null) store.vectors.insert(nodeId, thought.vector);
  return { id: store.thoughts.publicId(nodeId), status: "created" };
}

/** The legs as local ids: each given leg, or else the occurrence's source, or else the person's own word. */
function resolveLegs(store: Store, input: RememberInput, sourceId: number, scopeId: number, actor: Actor): NewLeg[] {
  const given = input.legs ?? [];
  if (given.length > 0) {
    return given.map((leg) => ({ axiom: false, parentIds: resolveParents(store, leg, scopeId, actor) }));
  }
  return [input.occurrence === undefined ? { axiom: true, parentIds: [] } : { axiom: false, parentIds: [sourceId] }];
}

function resolveParents(store: Store, leg: LegInput, scopeId: number, actor: Actor): number[] {
  if (leg.parents.length === 0) throw new DormouseError("invalid", "legs: a leg names no parent");
  const ids = leg.parents.map((parent) =>
    typeof parent === "string"
      ? store.thoughts.resolve(parent)
      : // A model is cited from every scope; met first in a strict one, it would pull all that follows into it.
        store.sources.intern(parent, parent.type === "model" ? store.scopes.loosest() : scopeId, actor),
  );
  return [...new Set(ids)];
}

function readParents(store: Store, nodeIds: readonly number[]): Map<number, ParentState> {
  const parents = new Map<number, ParentState>();
  for (const id of nodeIds) {
    if (parents.has(id)) continue;
    const parent = store.legs.parent(id);
    if (parent !== null) parents.set(id, parent);
  }
  return parents;
}

/** Scopes of the thoughts among the parents. Sources are shared between scopes (a model, a tool) and bind nobody. */
function scopesOf(parents: ReadonlyMap<number, ParentState>): number[] {
  return [...parents.values()].filter(({ role }) => role === 1).map(({ scopeId }) => scopeId);
}

/** The worst trust among the leg's parents; an axiom has the trust of the statement. */
function legTrust(parents: ReadonlyMap<number, ParentState>, leg: NewLeg, sourceId: number): number {
  const members = leg.axiom ? [sourceId] : leg.parentIds;
  return Math.min(TRUST_LEVELS.length - 1, ...members.map((id) => parents.get(id)?.trust ?? 0));
}

function placeOccurrence(store: Store, thought: Prepared, sourceId: number, actor: Actor): NewOccurrence {
  const { input, recordDigest } = thought;
  const occurrence: OccurrenceInput | undefined = input.occurrence;
  return {
    sourceId,
    thread: occurrence?.thread ?? (hasSequence(occurrence) ? 0 : LOOSE_THREAD),
    ordinal: occurrence?.ordinal ?? store.occurrences.nextOrdinal(sourceId),
    speakerId: input.speaker === undefined ? null : store.labels.intern("speaker", input.speaker, actor),
    referent: storeReferent(input),
    recordDigest,
  };
}

/** Turns and paragraphs follow each other; what a person says or takes from a named place stands alone. */
function hasSequence(occurrence: OccurrenceInput | undefined): boolean {
  return occurrence !== undefined && occurrence.source.type !== "named" && occurrence.source.type !== "person";
}

function storeReferent({ referent }: RememberInput): StoredReferent {
  if (referent === undefined || referent === null) return { from: null, to: null, kind: 0 };
  return { from: referent.from, to: referent.to, kind: referent.floating === true ? 2 : 1 };
}

interface Placement {
  readonly legs: readonly NewLeg[];
  readonly occurrence: NewOccurrence;
  readonly trust: number;
  readonly actor: Actor;
}

function meetKnown(store: Store, known: NodeState, thought: Prepared, placement: Placement): RememberResult {
  if (placement.legs.some(({ parentIds }) => parentIds.includes(known.id))) {
    throw new DormouseError("invalid", `legs: ${known.publicId} cannot rest on itself`);
  }
  const id = survivorId(store, known.id);
  if (known.recalledBy !== null) return { id: known.publicId, status: "refused", reason: "recalled" };
  if (known.belief === "rejected") return { id: known.publicId, status: "refused", reason: "tombstone" };
  if (known.decayed === "forgotten") return { id: known.publicId, status: "refused", reason: "forgotten" };
  const isNewSource =
    placement.occurrence.thread === LOOSE_THREAD ||
    !store.occurrences
      .of(known.id)
      .some(({ sourceId, ended }) => sourceId === placement.occurrence.sourceId && ended === 0);
  if (known.decayed !== "none" && !isNewSource) return { id, status: "known" };
  const revives = known.decayed !== "none" || known.belief === "superseded";
  store.thoughts.reinforce(
    known.id,
    {
      legs: placement.legs,
      occurrence: placement.occurrence,
      tagIds: (thought.input.tags ?? []).map((tag) => store.labels.intern("tag", tag, placement.actor)),
      changes: attributeChanges(store, known, thought.input, placement),
    },
    placement.actor,
  );
  return { id, status: revives ? "revived" : "reinforced" };
}

/** What a new meeting changes: it revives, asserts again, raises trust by its leg, and sets explicit attributes. */
function attributeChanges(store: Store, known: NodeState, input: RememberInput, placement: Placement): Change[] {
  const nodeId = known.id;
  const changes: Change[] = [];
  if (known.decayed !== "none") changes.push({ nodeId, axis: "decayed", to: 0 });
  if (known.belief === "superseded") changes.push({ nodeId, axis: "belief", to: 0 });
  if (placement.trust > known.trust) changes.push({ nodeId, axis: "trust", to: placement.trust });
  if (input.kind !== undefined) {
    changes.push({ nodeId, axis: "kind_id", to: store.labels.intern("kind", input.kind, placement.actor) });
  }
  if (input.due !== undefined) changes.push({ nodeId, axis: "due_at", to: input.due });
  if (input.valid !== undefined) {
    changes.push(
      { nodeId, axis: "valid_from", to: input.valid.from },
      { nodeId, axis: "valid_to", to: input.valid.to },
    );
  }
  return changes;
}

function createThought(store: Store, thought: Prepared, placement: Placement & { scopeId: number }): number {
  const { input } = thought;
  const { actor, occurrence } = placement;
  const { labels } = store;
  const unique = (texts: readonly string[] | undefined, type: "tag" | "aspect") => [
    ...new Set((texts ?? []).map((text) => labels.intern(type, text, actor))),
  ];
  return store.thoughts.create(
    {
      content: thought.content,
      terms: thought.terms.length > 0 ? thought.terms : analyse(withSpeaker(input.speaker ?? null, thought.content)),
      valueKey: thought.valueKey,
      scopeId: placement.scopeId,
      kindId: labels.intern("kind", input.kind ?? input.defaultKind ?? DEFAULT_KIND, actor),
      domainId: input.domain === undefined ? null : labels.intern("domain", input.domain, actor),
      speakerId: occurrence.speakerId,
      basis: input.basis ?? "told",
      confidence: input.confidence ?? null,
      salience: input.salience ?? null,
      trust: placement.trust,
      tagIds: unique(input.tags, "tag"),
      aspectIds: unique(input.aspects, "aspect"),
      facets: uniqueFacets(store, input, actor),
      subjectIds: [...new Set((input.subjects ?? []).map((subject) => store.subjects.intern(subject, actor)))],
      referent: occurrence.referent,
      validFrom: input.valid?.from ?? null,
      validTo: input.valid?.to ?? null,
      due: input.due ?? null,
      legs: placement.legs,
      occurrence,
    },
    actor,
  );
}

function uniqueFacets(store: Store, input: RememberInput, actor: Actor): { nameId: number; valueId: number }[] {
  const facets = new Map<string, { nameId: number; valueId: number }>();
  for (const { name, value } of input.facets ?? []) {
    const nameId = store.labels.intern("facet_name", name, actor);
    const valueId = store.labels.intern("facet_value", value, actor);
    facets.set(`${nameId} ${valueId}`, { nameId, valueId });
  }
  return [...facets.values()];
}

/** The node a reader sees for this one: itself, or what it was merged into. */
function survivorId(store: Store, nodeId: number): string {
  let state = store.thoughts.state(nodeId);
  while (state.mergedInto !== null) state = store.thoughts.state(state.mergedInto);
  return state.publicId;
}
