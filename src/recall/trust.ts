/**
 * How far sources are trusted, as a person decides it, and what follows for the thoughts that rest on them. Trust
 * hides nothing: it labels. What must not be used is recalled.
 */
import { batchesOf } from "../core/batches.ts";
import { DormouseError } from "../core/errors.ts";
import { formatEventId } from "../core/ids.ts";
import { checkCount } from "../core/limits.ts";
import { type Actor, SOURCE_TYPES, type SourceType, TRUST_LEVELS, type Trust } from "../core/types.ts";
import { carryTrust } from "../remember/carry-trust.ts";
import { PERSON } from "../remember/remember.ts";
import { CHANGES_PER_EVENT } from "../store/ledger.ts";
import type { SourceFilter } from "../store/sources.ts";
import type { Store } from "../store/store.ts";
import { matchSources } from "./match-sources.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 10_000;
/** Changed sources that are named; all are counted. */
const SHOWN = 50;

export interface SourceListing {
  readonly id: string;
  readonly type: SourceType;
  readonly name: string;
  readonly trust: Trust;
  readonly recalled: boolean;
  /** Thoughts met there or citing it, counted up to 1,000. */
  readonly thoughts: number;
  /** There are more thoughts than were counted. */
  readonly more: boolean;
}

export interface SourceListOptions extends Partial<SourceFilter> {
  /** Only sources of such a name, `*` and `?` as in `recall`. */
  readonly names?: string;
}

/** Sources to set the trust of: by id, by a pattern over their names (`*` and `?`), or both. */
export interface TrustTarget {
  readonly ids?: readonly string[];
  readonly sources?: string;
}

export interface TrustChange {
  readonly trust: Trust;
  /** The event that set it, the last of several; null when every source had that level already. */
  readonly event: string | null;
  /** Sources whose level changed; `changed` names at most 50 of them, with the level that each had. */
  readonly sources: number;
  /** Thoughts whose trust changed with them. */
  readonly thoughts: number;
  readonly changed: readonly { readonly id: string; readonly name: string; readonly from: Trust }[];
}

/** Readable sources, the newest first. @throws DormouseError `usage` */
export function listSources(store: Store, options: SourceListOptions = {}): SourceListing[] {
  const { names, type, trust, limit = DEFAULT_LIMIT } = options;
  checkCount("the limit", limit, MAX_LIMIT);
  checkWord("type", type, SOURCE_TYPES);
  checkWord("trust", trust, TRUST_LEVELS);
  return store.read(() => {
    const filter = { ...(type === undefined ? {} : { type }), ...(trust === undefined ? {} : { trust }) };
    if (names === undefined) return store.sources.list({ ...filter, limit }).map((id) => listingOf(store, id));
    const listings: SourceListing[] = [];
    for (const nodeId of namedSources(store, names, filter)) {
      listings.push(listingOf(store, nodeId));
      if (listings.length === limit) break;
    }
    return listings;
  });
}

/** How many sources there are to list, beyond any limit. @throws DormouseError `usage` */
export function countSources(store: Store, options: Omit<SourceListOptions, "limit"> = {}): number {
  const { names, type, trust } = options;
  checkWord("type", type, SOURCE_TYPES);
  checkWord("trust", trust, TRUST_LEVELS);
  return store.read(() => {
    const filter = { ...(type === undefined ? {} : { type }), ...(trust === undefined ? {} : { trust }) };
    if (names === undefined) return store.sources.countReadable(filter);
    return [...namedSources(store, names, filter)].length;
  });
}

/** Ids of readable sources of such a name, the newest first. */
function* namedSources(
  store: Store,
  names: string,
  { type, trust }: Omit<SourceFilter, "limit">,
): Generator<number, void> {
  for (const { nodeId } of store.sources.matching(names).reverse()) {
    const source = store.sources.get(nodeId);
    if (type !== undefined && source?.type !== type) continue;
    if (trust !== undefined && source?.trust !== trust) continue;
    yield nodeId;
  }
}

/**
 * Sets how far sources are trusted and carries it on to what rests on them. The person's own word cannot be set: it is
 * what trust means here. @throws DormouseError `usage`, `not_found`, `erased`
 */
export function setTrust(store: Store, target: TrustTarget, trust: Trust, actor: Actor): TrustChange {
  checkWord("trust", trust, TRUST_LEVELS);
  return store.write(() => {
    const level = TRUST_LEVELS.indexOf(trust);
    const changed = resolveSources(store, target)
      .map((nodeId) => store.sources.get(nodeId))
      .filter((source) => source !== null)
      .filter((source) => source.trust !== trust);
    let seq: number | null = null;
    for (const batch of batchesOf(changed, CHANGES_PER_EVENT)) {
      seq = store.ledger.record({
        kind: "trust.set",
        actor,
        payload: { trust },
        changes: batch.map(({ nodeId }) => ({ nodeId, axis: "trust", to: level })),
      });
    }
    return {
      trust,
      event: seq === null ? null : formatEventId(seq),
      sources: changed.length,
      thoughts: carryTrust(
        store,
        changed.map(({ nodeId }) => nodeId),
        actor,
      ),
      changed: changed.slice(0, SHOWN).map(({ publicId, name, trust: from }) => ({ id: publicId, name, from })),
    };
  });
}

function listingOf(store: Store, nodeId: number): SourceListing {
  const source = store.sources.get(nodeId);
  if (source === null) throw new RangeError("a source node has a source row");
  const { count, isMore } = store.sources.countThoughts(nodeId);
  return {
    id: source.publicId,
    type: source.type,
    name: source.name,
    trust: source.trust,
    recalled: store.thoughts.state(nodeId).recalledBy !== null,
    thoughts: count,
    more: isMore,
  };
}

function resolveSources(store: Store, { ids = [], sources }: TrustTarget): number[] {
  const person = store.sources.find(PERSON.type, PERSON.key);
  const named = ids.map((id) => {
    const { id: nodeId, role, erasedBy } = store.thoughts.state(store.thoughts.resolve(id));
    if (role !== 0) {
      throw new DormouseError("usage", `${id} is a thought; trust is given to sources and follows from them`, {
        hint: `\`dormouse why ${id}\` names the sources that it rests on.`,
      });
    }
    if (erasedBy !== null) throw new DormouseError("erased", `${id} was erased`);
    if (nodeId === person) {
      throw new DormouseError("usage", `${id} is your own word, and that is what trusted means`, {
        hint: "Forget or recall single thoughts that you no longer stand by.",
      });
    }
    return nodeId;
  });
  if (named.length === 0 && sources === undefined) {
    throw new DormouseError("usage", "no source is named", { hint: "Name ids, or sources by --sources PATTERN." });
  }
  const found = new Set([...named, ...(sources === undefined ? [] : matchSources(store, sources))]);
  return [...found].sort((a, b) => a - b);
}

function checkWord(what: string, word: string | undefined, known: readonly string[]): void {
  if (word === undefined || known.includes(word)) return;
  throw new DormouseError("usage", `that ${what} does not exist`, { hint: `One of ${known.join(", ")}.` });
}
