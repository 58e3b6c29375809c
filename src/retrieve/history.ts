/**
 * The history of one thought or source as a person reads it: what changed from what to what, when and by whom, where
 * it was met, which legs came and went, what recalls took and gave back, and why, where somebody said why.
 */
import { formatEventId } from "../core/ids.ts";
import { checkCount } from "../core/limits.ts";
import type { Actor, LinkType } from "../core/types.ts";
import { type AxisChange, type LegPassing, type RecallPart, readPast, readRecalls } from "../store/histories.ts";
import { AXIS_WORDS, type Axis } from "../store/ledger.ts";
import type { Store } from "../store/store.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 10_000;
/** Parents named of one leg; the rest is counted. */
const MAX_PARENTS = 10;

export interface HistoryOptions {
  /** The newest events at most, default 50. */
  readonly limit?: number;
}

export interface HistoryLeg {
  readonly axiom: boolean;
  readonly parents: readonly string[];
  /** Parents not listed, for there are too many. */
  readonly omitted: number;
}

/** What one event did to the node. */
export interface HistoryEntry {
  readonly event: string;
  readonly at: string;
  readonly actor: Actor;
  /** The kind of the event as the ledger has it. */
  readonly kind: string;
  /** Values in words, ids or ISO times; null where there was or is none. */
  readonly changes: readonly {
    readonly what: string;
    readonly from: string | number | null;
    readonly to: string | number | null;
  }[];
  /** A recall named it, took it with what it rested on, gave it back, or brought it out from behind a survivor that fell. */
  readonly recall: RecallPart | null;
  readonly metIn: readonly { readonly id: string; readonly name: string }[];
  readonly goneFrom: readonly { readonly id: string; readonly name: string }[];
  readonly legsAdded: readonly HistoryLeg[];
  readonly legsEnded: readonly HistoryLeg[];
  /** Supersessions and contradictions: `to` another thought, or `from` it. */
  readonly links: readonly {
    readonly type: LinkType;
    readonly direction: "to" | "from";
    readonly id: string;
    readonly ended: boolean;
  }[];
  /** Why, in a person's words; null when none were given or they were erased. */
  readonly reason: string | null;
}

/** The newest events of a node, the latest last. @throws DormouseError `not_found`, `usage` for a bad limit */
export function history(store: Store, id: string, options: HistoryOptions = {}): HistoryEntry[] {
  const limit = options.limit ?? DEFAULT_LIMIT;
  checkCount("the limit", limit, MAX_LIMIT);
  return store.read(() => {
    const nodeId = store.thoughts.resolve(id);
    const recalls = readRecalls(store.connection, nodeId, store.thoughts.publicId(nodeId));
    const past = readPast(store.connection, nodeId, limit, [...recalls.keys()]);
    const [changes, meetings] = [bySeq(past.changes), bySeq(past.meetings)];
    const [legs, links] = [bySeq(past.legs), bySeq(past.links)];
    return past.events
      .map(({ seq, at, actor, kind }): HistoryEntry => {
        const met = meetings.get(seq) ?? [];
        const legsOf = (ended: boolean) =>
          (legs.get(seq) ?? []).filter((leg) => leg.ended === ended).map((leg) => legOf(store, leg));
        return {
          event: formatEventId(seq),
          at: new Date(at).toISOString(),
          actor,
          kind,
          changes: (changes.get(seq) ?? []).map((change) => changeInWords(store, change)),
          recall: recalls.get(seq) ?? null,
          metIn: met.filter(({ ended }) => !ended).map(({ sourceId }) => sourceOf(store, sourceId)),
          goneFrom: met.filter(({ ended }) => ended).map(({ sourceId }) => sourceOf(store, sourceId)),
          legsAdded: legsOf(false),
          legsEnded: legsOf(true),
          links: (links.get(seq) ?? []).map(({ type, fromId, toId, ended }) => ({
            type,
            direction: fromId === nodeId ? "to" : "from",
            id: store.thoughts.publicId(fromId === nodeId ? toId : fromId),
            ended,
          })),
          reason: store.reasons.of(seq),
        };
      })
      .reverse();
  });
}

function bySeq<Row extends { readonly seq: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.seq);
    if (group === undefined) groups.set(row.seq, [row]);
    else group.push(row);
  }
  return groups;
}

/** What a person calls an axis. */
const NAMES: Record<Axis, string> = {
  decayed: "decayed",
  belief: "belief",
  permanence: "permanence",
  merged_into: "behind",
  recalled_by: "recalled by",
  erased_by: "erased by",
  stale_by: "stale by",
  trust: "trust",
  kind_id: "kind",
  domain_id: "domain",
  scope_id: "scope",
  due_at: "due",
  valid_from: "valid from",
  valid_to: "valid to",
  confidence: "confidence",
  salience: "salience",
};

function changeInWords(store: Store, { axis, from, to }: AxisChange): HistoryEntry["changes"][number] {
  return { what: NAMES[axis], from: valueInWords(store, axis, from), to: valueInWords(store, axis, to) };
}

function valueInWords(store: Store, axis: Axis, value: number | null): string | number | null {
  if (value === null) return null;
  const words = AXIS_WORDS[axis];
  if (words !== undefined) return words[value] ?? value;
  switch (axis) {
    case "merged_into":
      return store.thoughts.publicId(value);
    case "recalled_by":
    case "erased_by":
    case "stale_by":
      return formatEventId(value);
    case "kind_id":
    case "domain_id":
      return store.labels.text(value);
    case "scope_id":
      return store.scopes.nameOf(value);
    case "due_at":
    case "valid_from":
    case "valid_to":
      return new Date(value).toISOString();
    default:
      return value;
  }
}

function legOf(store: Store, { legId, axiom }: LegPassing): HistoryLeg {
  const { ids, count } = store.legs.parentsOf(legId, MAX_PARENTS);
  return { axiom, parents: ids.map((id) => store.thoughts.publicId(id)), omitted: count - ids.length };
}

function sourceOf(store: Store, sourceId: number): HistoryEntry["metIn"][number] {
  const source = store.sources.get(sourceId);
  return { id: source?.publicId ?? "", name: source?.name ?? "" };
}
