/**
 * The one write path. Every thought, whoever brings it, is normalised, checked against size caps,
 * tombstones and what is known already, and written with its legs and event in one transaction.
 * Vectors are computed before that transaction opens.
 */
import { DormouseError } from "../core/errors.ts";
import { currentEmbedder, type Embedder, type EmbedderSource } from "../core/ports.ts";
import {
  type Actor,
  BASES,
  BELIEFS,
  type LegInput,
  LOOSE_THREAD,
  type OccurrenceInput,
  type RefusalReason,
  type RememberInput,
  type RememberResult,
  type SourceInput,
  type SourceType,
  TRUST_LEVELS,
} from "../core/types.ts";
import type { Change } from "../store/ledger.ts";
import type { NewLeg, ParentState } from "../store/legs.ts";
import type { NewOccurrence, StoredReferent } from "../store/occurrences.ts";
import type { Store } from "../store/store.ts";
import { asIndexed, HEADING_FACET, type NodeState } from "../store/thoughts.ts";
import { analyse } from "../text/analyse.ts";
import { isBlank, normaliseText } from "../text/normalise.ts";
import { carryTrust } from "./carry-trust.ts";
import { matchStanding } from "./match-standing.ts";
import { deadSourceError, recalledError } from "./recalled.ts";
import { riseAgain } from "./rise.ts";
import { settleRecalls } from "./settle.ts";
import { checkSupersession, endSupersession, supersedeNode } from "./supersede.ts";

/** Longest content of one thought, in UTF-16 code units. Longer text is the extractors' to cut. */
export const MAX_CONTENT_LENGTH = 20_000;
/** Longest tag, domain, kind, facet, speaker or subject. */
const MAX_LABEL_LENGTH = 400;
/** Longest source name, key or reference. */
const MAX_SOURCE_LENGTH = 8_192;
/** Farthest moment a date can hold, in milliseconds from the epoch. */
const MAX_MILLIS = 8.64e15;
/** Most entries of one list attribute. */
const MAX_LIST_LENGTH = 100;

const DEFAULT_KIND = "fact";

/** Where a person's typed thought comes from: the statement itself. */
export const PERSON: SourceInput = { type: "person", key: "person", name: "you", trust: "trusted" };

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
  source: EmbedderSource,
  inputs: readonly RememberInput[],
  options: RememberOptions,
): Promise<RememberResult[]> {
  const embedder = await currentEmbedder(source);
  const prepared = await prepareAll(store, embedder, inputs);
  return store.write(() => {
    options.beforehand?.();
    // Another process may have changed the model meanwhile; sleep makes the vectors that are left out here.
    const hasVectors = prepared.some(({ vector }) => vector !== null);
    const isCurrent = hasVectors && embedder !== null && store.models.adopt(embedder.model);
    const results = prepared.map((thought) => {
      const result = applyThought(store, isCurrent ? thought : { ...thought, vector: null }, options.actor);
      takePlaces(store, result, thought.input.supersedes ?? [], options.actor);
      return result;
    });
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
  source: EmbedderSource,
  input: RememberInput,
  options: RememberOptions,
): Promise<RememberResult> {
  const [result] = await rememberAll(store, source, [input], options);
  if (result === undefined) throw new RangeError("one input gives one result");
  if (result.status !== "refused" || result.reason === undefined) return result;
  if (result.reason === "dead_source") throw store.read(() => deadSourceError(store, input));
  throw refusalError(store, result.reason, result.id);
}

function refusalError(store: Store, reason: Exclude<RefusalReason, "dead_source">, id: string | null): DormouseError {
  const recalledBy =
    reason !== "recalled" || id === null
      ? null
      : store.read(() => store.thoughts.state(store.thoughts.resolve(id)).recalledBy);
  if (id !== null && recalledBy !== null) return recalledError(store, id, recalledBy);
  const messages: Record<typeof reason, [string, string]> = {
    tombstone: ["this was rejected or erased before and must not come back", "A person can lift the tombstone."],
    forgotten: [`this was forgotten on purpose (${id})`, `\`dormouse revive ${id}\` brings it back.`],
    recalled: [`this was recalled together with its source (${id})`, "Undo the recall first."],
    held: [`this waits for review (${id})`, "Approve or reject it first."],
  };
  const [message, hint] = messages[reason];
  return new DormouseError(reason, message, { hint });
}

async function prepareAll(
  store: Store,
  embedder: Embedder | null,
  inputs: readonly RememberInput[],
): Promise<Prepared[]> {
  const checked = inputs.map((input) => ({ ...checkInput(input), input }));
  const keyed = checked.map(({ input, content, normalised }) => ({
    input,
    content,
    valueKey: digestValue(store, input.speaker, normalised),
    recordDigest:
      input.occurrence?.recordKey === undefined ? null : digestRecord(store, input.occurrence.recordKey, normalised),
  }));
  const indexed = keyed.map(({ input, content }) => indexedText(input, content));
  const wanted = new Map<string, number>();
  store.read(() => {
    for (const [index, { input, valueKey, recordDigest }] of keyed.entries()) {
      if (recordDigest !== null && store.occurrences.isKnown(recordDigest)) continue;
      if (store.thoughts.findByValue(store.scopes.idOf(input.scope), valueKey) !== null) continue;
      const key = valueKey.toString("hex");
      if (!wanted.has(key)) wanted.set(key, index);
    }
  });
  const texts = [...wanted.values()].map((index) => indexed[index] ?? "");
  const vectors = embedder === null || texts.length === 0 ? [] : await embedAll(store, embedder, texts);
  const vectorsByKey = new Map([...wanted.keys()].map((key, at) => [key, vectors[at] ?? null]));
  return keyed.map((thought, index) => {
    const vector = vectorsByKey.get(thought.valueKey.toString("hex"));
    return { ...thought, vector: vector ?? null, terms: vector === undefined ? [] : analyse(indexed[index] ?? "") };
  });
}

/** @throws DormouseError `model_mismatch` when the brain's vectors are another model's. */
async function embedAll(store: Store, embedder: Embedder, texts: readonly string[]): Promise<Int8Array[]> {
  if (store.read(() => store.models.active()) !== null) store.models.use(embedder.model);
  return embedder.embedPassages(texts);
}

function indexedText(input: RememberInput, content: string): string {
  const heading = input.facets?.find(({ name }) => name === HEADING_FACET)?.value ?? null;
  return asIndexed({ speaker: input.speaker ?? null, heading }, content);
}

function checkInput(input: RememberInput): { content: string; normalised: string } {
  // Composing takes quadratic time on heaps of combining marks, so the cap comes first.
  const { length } = input.content;
  if (length <= MAX_CONTENT_LENGTH && isBlank(input.content)) {
    throw new DormouseError("empty", "content: there is nothing to remember");
  }
  if (length > MAX_CONTENT_LENGTH) {
    throw new DormouseError("too_long", `content: ${length} characters, ${MAX_CONTENT_LENGTH} at most`, {
      hint: "`dormouse extract` cuts long text into linked parts.",
    });
  }
  const content = input.content.normalize("NFC").trim();
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
  checkLength("supersedes", input.supersedes ?? []);
  checkInterval("valid", input.valid?.from ?? null, input.valid?.to ?? null);
  checkInterval("referent", input.referent?.from ?? null, input.referent?.to ?? null);
  checkMoment("due", input.due ?? null);
  checkPlace("thread", input.occurrence?.thread);
  checkPlace("ordinal", input.occurrence?.ordinal);
  const sources = (input.legs ?? []).flatMap(({ parents }) => parents.filter((parent) => typeof parent !== "string"));
  for (const source of [...sources, ...(input.occurrence === undefined ? [] : [input.occurrence.source])]) {
    checkSource(source);
  }
  return { content, normalised: normaliseText(content) };
}

/** What the brain keeps of a value: who said it and the normalised text (`normaliseText`). */
export function digestValue(store: Store, speaker: string | undefined, normalised: string): Buffer {
  return store.digest("value", normaliseText(speaker ?? ""), normalised);
}

/** What the brain keeps of a record: its key and the normalised text. */
export function digestRecord(store: Store, recordKey: string, normalised: string): Buffer {
  return store.digest("record", recordKey, normalised);
}

function checkLength(field: string, list: readonly string[]): void {
  if (list.length <= MAX_LIST_LENGTH) return;
  throw new DormouseError("invalid", `${field}: ${list.length} entries, ${MAX_LIST_LENGTH} at most`);
}

function checkLabels(field: string, texts: readonly string[]): void {
  checkLength(field, texts);
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

function checkSource({ key, name, reference = "" }: SourceInput): void {
  if (isBlank(name)) throw new DormouseError("invalid", "source: its name is empty");
  if (key === "") throw new DormouseError("invalid", "source: its key is empty");
  if (Math.max(key.length, name.length, reference.length) > MAX_SOURCE_LENGTH) {
    throw new DormouseError("invalid", `source: name, key and reference have ${MAX_SOURCE_LENGTH} characters at most`);
  }
}

function checkMoment(field: string, at: number | null): void {
  if (at !== null && !(Number.isInteger(at) && Math.abs(at) <= MAX_MILLIS)) {
    throw new DormouseError("bad_time", `${field}: must be whole milliseconds within the range of dates`);
  }
}

function checkPlace(field: string, value: number | undefined): void {
  if (value !== undefined && !Number.isSafeInteger(value)) {
    throw new DormouseError("invalid", `${field}: must be a whole number`);
  }
}

function checkInterval(field: string, from: number | null, to: number | null): void {
  checkMoment(field, from);
  checkMoment(field, to);
  if (from !== null && to !== null && from > to) throw new DormouseError("bad_time", `${field}: ends before it begins`);
}

function applyThought(store: Store, thought: Prepared, actor: Actor): RememberResult {
  const { input, valueKey, recordDigest } = thought;
  if (recordDigest !== null) {
    const nodeId = store.occurrences.nodeOfRecord(recordDigest);
    if (nodeId !== null) return { id: survivorId(store, nodeId), status: "known" };
  }
  const ownScopeId = store.scopes.idOf(input.scope);
  const sourceId = internSource(store, input.occurrence?.source ?? PERSON, ownScopeId, actor);
  const legs = resolveLegs(store, input, sourceId, ownScopeId, actor);
  const parents = readParents(store, [sourceId, ...legs.flatMap(({ parentIds }) => parentIds)]);
  if (legs.some(({ parentIds }) => parentIds.some((id) => parents.get(id)?.dead ?? true))) {
    return { id: null, status: "refused", reason: "dead_source" };
  }
  const replaced = (input.supersedes ?? []).map((id) => store.thoughts.state(store.thoughts.resolve(id)));
  const scopeId = store.scopes.strictest([ownScopeId, ...scopesOf(parents), ...replaced.map((old) => old.scopeId)]);
  const tombstoneId = store.tombstones.find(scopeId, valueKey);
  if (tombstoneId !== null) {
    store.tombstones.countRefusal(tombstoneId, sourceId, store.now());
    return { id: null, status: "refused", reason: "tombstone" };
  }
  const occurrence = placeOccurrence(store, thought, sourceId, actor);
  const trust = Math.max(...legs.map((leg) => legTrust(parents, leg)));
  const known = store.thoughts.findByValue(scopeId, valueKey);
  if (known !== null) return meetKnown(store, known, thought, { legs, occurrence, trust, actor });
  const nodeId = createThought(store, thought, { scopeId, legs, occurrence, trust, actor });
  if (thought.vector !== null) store.vectors.insert(nodeId, thought.vector);
  return { id: store.thoughts.publicId(nodeId), status: "created" };
}

/** Puts what was remembered in the place of the thoughts that it supersedes; a refused one takes nobody's. */
function takePlaces(store: Store, result: RememberResult, oldIds: readonly string[], actor: Actor): void {
  if (result.status === "refused" || result.id === null) return;
  for (const oldId of oldIds) {
    const by = store.thoughts.state(store.thoughts.resolve(result.id));
    const old = store.thoughts.state(store.thoughts.resolve(oldId));
    if (!checkSupersession(store, old, by)) continue;
    supersedeNode(store, { oldId: old.id, newId: by.id, actor, reason: "superseded" });
  }
}

/**
 * The legs as local ids: each given leg together with the source it was met in, or else that source alone, or
 * else the person's own word. The same set given twice is one leg. The first is the one of the occurrence.
 */
function resolveLegs(store: Store, input: RememberInput, sourceId: number, scopeId: number, actor: Actor): NewLeg[] {
  const own = input.occurrence === undefined ? [] : [sourceId];
  const given = (input.legs ?? []).map((leg) =>
    [...new Set([...resolveParents(store, leg, scopeId, actor), ...own])].sort(ascending),
  );
  const sets = given.length === 0 && own.length > 0 ? [own] : given;
  const distinct = [...new Map(sets.map((parentIds) => [parentIds.join(" "), parentIds])).values()];
  const legs = distinct.map((parentIds): NewLeg => ({ axiom: false, parentIds }));
  if (legs.length > 0 && input.axiom !== true) return legs;
  const word: NewLeg = { axiom: true, parentIds: [] };
  return own.length === 0 ? [word, ...legs] : [...legs, word];
}

function ascending(a: number, b: number): number {
  return a - b;
}

function resolveParents(store: Store, leg: LegInput, scopeId: number, actor: Actor): number[] {
  if (leg.parents.length === 0) throw new DormouseError("invalid", "legs: a leg names no parent");
  const ids = leg.parents.map((parent) =>
    typeof parent === "string" ? store.thoughts.resolve(parent) : internSource(store, parent, scopeId, actor),
  );
  return ids;
}

/** A person and a model speak in every scope, so their nodes stand in the loosest. */
function internSource(store: Store, source: SourceInput, scopeId: number, actor: Actor): number {
  const isShared = source.type === "model" || source.type === "person";
  return store.sources.intern(source, isShared ? store.scopes.loosest() : scopeId, actor);
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

/** The worst trust among the leg's parents; an axiom is a person's word, and that is trusted. */
function legTrust(parents: ReadonlyMap<number, ParentState>, leg: NewLeg): number {
  return Math.min(TRUST_LEVELS.length - 1, ...leg.parentIds.map((id) => parents.get(id)?.trust ?? 0));
}

function placeOccurrence(store: Store, thought: Prepared, sourceId: number, actor: Actor): NewOccurrence {
  const { input, recordDigest } = thought;
  const occurrence: OccurrenceInput | undefined = input.occurrence;
  if (occurrence?.ordinal !== undefined && store.occurrences.isTaken(sourceId, occurrence.ordinal)) {
    throw new DormouseError("invalid", `ordinal: the place ${occurrence.ordinal} of its source is taken`);
  }
  return {
    sourceId,
    thread: occurrence?.thread ?? (hasSequence(occurrence) ? 0 : LOOSE_THREAD),
    ordinal: occurrence?.ordinal ?? store.occurrences.nextOrdinal(sourceId),
    speakerId: input.speaker === undefined ? null : store.labels.intern("speaker", input.speaker, actor),
    referent: storeReferent(input),
    recordDigest,
  };
}

/** Sources in which one thing follows another; what a person says or takes from any other place stands alone. */
const SEQUENCES: ReadonlySet<SourceType> = new Set(["session", "file", "page", "import"]);

function hasSequence(occurrence: OccurrenceInput | undefined): boolean {
  return occurrence !== undefined && SEQUENCES.has(occurrence.source.type);
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
  // What a reader sees of a merged thought is its survivor, so both must stand for the meeting to be seen.
  const states = chainOf(store, known, placement.actor);
  const survivor = states.at(-1) ?? known;
  const hadFallen = known.recalledBy !== null;
  if (hadFallen && store.recalls.pinnedNow().has(known.id)) {
    return { id: known.publicId, status: "refused", reason: "recalled" };
  }
  if (states.some(({ belief }) => belief === "rejected")) {
    return { id: known.publicId, status: "refused", reason: "tombstone" };
  }
  if (states.some(({ decayed }) => decayed === "forgotten")) {
    return { id: survivor.publicId, status: "refused", reason: "forgotten" };
  }
  const hasFallen = states.some(({ decayed }) => decayed !== "none");
  const { sourceId, thread } = placement.occurrence;
  if (hasFallen && thread !== LOOSE_THREAD && store.occurrences.isMetIn(known.id, sourceId)) {
    return { id: survivor.publicId, status: "known" };
  }
  const { actor } = placement;
  const superseded = states
    .filter(({ belief }) => belief === "superseded")
    .map(({ id }) => ({ id, seq: store.beliefs.supersededBySeq(id) ?? 0 }));
  const { tags = [], subjects = [] } = thought.input;
  const wasGone = !store.legs.hasStanding(known.id);
  const seq = store.thoughts.reinforce(
    known.id,
    {
      legs: placement.legs,
      occurrence: placement.occurrence,
      tagIds: [...new Set(tags.map((tag) => store.labels.intern("tag", tag, actor)))],
      subjectIds: [...new Set(subjects.map((subject) => store.subjects.intern(subject, actor)))],
      changes: [
        ...states.flatMap((state) => standAgain(store, state)),
        ...attributeChanges(store, known, thought.input, placement),
      ],
    },
    actor,
  );
  for (const { id, seq: replacedSeq } of superseded) endSupersession(store, id, replacedSeq, actor);
  const risen = hadFallen ? riseAgain(store, known.id, seq, actor).length : 0;
  if (!hadFallen) {
    if (wasGone && store.legs.standsOnThoughtsAlone(known.id)) matchStanding(store, [known.id], actor);
    // What it was trusted by may have left its file long ago: then the new leg alone says how far it is trusted.
    if (wasGone || placement.trust > known.trust) carryTrust(store, [known.id], actor);
  }
  const revives = hasFallen || hadFallen || superseded.length > 0;
  return { id: survivor.publicId, status: revives ? "revived" : "reinforced", ...(risen === 0 ? {} : { risen }) };
}

/**
 * The states that meeting a known value bears on. Where the thought or one that it stands behind was recalled, what
 * recalls left unfinished is finished first; what a survivor fell with is no matter of its copy's.
 */
function chainOf(store: Store, known: NodeState, actor: Actor): NodeState[] {
  const states = standingChain(store, known);
  if (states.every(({ recalledBy }) => recalledBy === null)) return states;
  settleRecalls(store, actor);
  return standingChain(store, store.thoughts.state(known.id)).filter(
    ({ id, recalledBy }) => id === known.id || recalledBy === null,
  );
}

/** The node and, if it was merged, those it stands behind, the survivor last. */
function standingChain(store: Store, known: NodeState): NodeState[] {
  const states = [known];
  for (let next = known.mergedInto; next !== null; ) {
    const state = store.thoughts.state(next);
    states.push(state);
    next = state.mergedInto;
  }
  return states;
}

/** A superseded thought that is met again is asserted again, not confirmed; what disputed it still does. */
function standAgain(store: Store, { id, decayed, belief }: NodeState): Change[] {
  const changes: Change[] = decayed === "none" ? [] : [{ nodeId: id, axis: "decayed", to: 0 }];
  if (belief !== "superseded") return changes;
  const to = BELIEFS.indexOf(store.beliefs.disputes(id).length > 0 ? "disputed" : "asserted");
  return [...changes, { nodeId: id, axis: "belief", to }];
}

/** Explicit attributes that a new meeting sets; those not named stay as they were. */
function attributeChanges(store: Store, known: NodeState, input: RememberInput, placement: Placement): Change[] {
  const nodeId = known.id;
  const changes: Change[] = [];
  if (input.kind !== undefined) {
    changes.push({ nodeId, axis: "kind_id", to: store.labels.intern("kind", input.kind, placement.actor) });
  }
  if (input.due !== undefined) changes.push({ nodeId, axis: "due_at", to: input.due });
  if (input.confidence !== undefined) changes.push({ nodeId, axis: "confidence", to: input.confidence });
  if (input.salience !== undefined) changes.push({ nodeId, axis: "salience", to: input.salience });
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
      terms: thought.terms.length > 0 ? thought.terms : analyse(indexedText(input, thought.content)),
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
  return standingChain(store, store.thoughts.state(nodeId)).at(-1)?.publicId ?? "";
}
