/**
 * Phase 3: near-duplicates stand behind one survivor, undoably; those whose survivor fell come out again.
 * Grouping is by the words that tell something, which is an equivalence: there are no chains, and the work grows
 * with the text. The model must agree, and nothing is merged across scopes, kinds, domains, tags, speakers or
 * dates, nor what a person or an agent took apart.
 */
import type { Change } from "../store/ledger.ts";
import { highestThought } from "../store/sleep-links.ts";
import {
  contentOf,
  hasRegrouped,
  type MergeNode,
  mergeNode,
  type Release,
  releasableNodes,
  textNodes,
  wereParted,
} from "../store/sleep-merges.ts";
import type { Store } from "../store/store.ts";
import { termHash } from "../text/analyse.ts";
import type { PhaseContext, PhaseOutcome, SleepConfig } from "./phase.ts";
import { saysTheSame, tellingWords } from "./same-text.ts";
import { thresholdsOf } from "./thresholds.ts";

/** Highest thought when all texts were compared last, and the event up to which states were seen. */
const THOUGHT_CURSOR = "sleep.consolidate";
const EVENT_CURSOR = "sleep.consolidate.event";

/** Texts read between two breaths. */
const TEXT_BATCH = 2_000;
/** Changes of one transaction, unless one set of copies alone has more. */
const CHANGE_BATCH = 500;
const RELEASE_BATCH = 500;

/** A survivor and those that go behind it. */
export interface MergeGroup {
  readonly survivorId: number;
  /** Nodes newly behind it, each with those that stood behind them. */
  readonly absorbed: readonly { readonly nodeId: number; readonly behind: readonly number[] }[];
}

/** What grouping asks about nodes; the phase answers from the store, a test from a table. */
export interface MergeQuestions {
  /** Null when it is not visible. */
  node(nodeId: number): MergeNode | null;
  /** Telling words of a thought's text; null when it has none any more. */
  words(nodeId: number): readonly string[] | null;
  /** The model finds the two thoughts near enough. */
  isNear(a: number, b: number): boolean;
  wereParted(a: number, b: number): boolean;
}

/**
 * Who goes behind whom among thoughts suspected of saying the same. The best of those that are alike survives
 * and takes every other that fits; then the best of the rest. Pure, and independent of the order of the ids.
 */
export function planMerges(suspects: readonly number[], ask: MergeQuestions, config: SleepConfig): MergeGroup[] {
  const alike = new Map<string, MergeNode[]>();
  for (const nodeId of suspects) {
    const node = ask.node(nodeId);
    const words = ask.words(nodeId);
    if (node === null || words === null) continue;
    if (words.length < (node.speakerId === null ? 1 : config.mergeMinWords)) continue;
    const key = JSON.stringify([words, attributesOf(node)]);
    const known = alike.get(key);
    if (known === undefined) alike.set(key, [node]);
    else known.push(node);
  }
  return [...alike.values()].flatMap((nodes) => groupAlike(nodes.sort(compareStanding), ask, config));
}

/** Everything a reader may filter or act by. */
function attributesOf(node: MergeNode): unknown[] {
  const { scopeId, plainKindId, speakerId, domainId, dueAt, validFrom, validTo, tagIds } = node;
  return [scopeId, plainKindId, speakerId, domainId, dueAt, validFrom, validTo, ...tagIds];
}

/** Most permanent first, then most trusted, most legs, most read, oldest. */
function compareStanding(a: MergeNode, b: MergeNode): number {
  const standing = (node: MergeNode) => Math.max(node.permanence, node.kindId === node.plainKindId ? 0 : 1);
  return (
    standing(b) - standing(a) ||
    b.trust - a.trust ||
    b.legs - a.legs ||
    b.accessDays - a.accessDays ||
    a.recordedAt - b.recordedAt ||
    a.id - b.id
  );
}

function groupAlike(nodes: readonly MergeNode[], ask: MergeQuestions, config: SleepConfig): MergeGroup[] {
  const groups: MergeGroup[] = [];
  for (let left = nodes; left.length > 1; ) {
    const [survivor, ...others] = left;
    if (survivor === undefined) break;
    const absorbed: { nodeId: number; behind: readonly number[] }[] = [];
    const rest: MergeNode[] = [];
    let size = survivor.behind.length;
    for (const other of others) {
      const hasRoom = size + 1 + other.behind.length <= config.mergeClusterSize;
      if (hasRoom && ask.isNear(survivor.id, other.id) && fitsBehind(survivor, other, ask)) {
        absorbed.push({ nodeId: other.id, behind: other.behind });
        size += 1 + other.behind.length;
      } else {
        rest.push(other);
      }
    }
    if (absorbed.length > 0) groups.push({ survivorId: survivor.id, absorbed });
    left = rest;
  }
  return groups;
}

/** Nobody parted it or what stands behind it from the survivor, and all of them say the same. */
function fitsBehind(survivor: MergeNode, other: MergeNode, ask: MergeQuestions): boolean {
  const words = ask.words(survivor.id) ?? [];
  return [other.id, ...other.behind].every(
    (nodeId) => saysTheSame(words, ask.words(nodeId) ?? []) && !ask.wereParted(survivor.id, nodeId),
  );
}

export async function consolidate(context: PhaseContext): Promise<PhaseOutcome> {
  const tally: Tally = { planned: 0, applied: 0, released: 0, stopped: 0 };
  await releaseFallen(context, tally);
  if (context.store.models.active() !== null && tally.stopped === 0) await mergeCopies(context, tally);
  const { planned, applied, released, stopped } = tally;
  return { planned, applied, details: { merged: applied - released, released, stopped } };
}

interface Tally {
  planned: number;
  applied: number;
  released: number;
  stopped: number;
}

/** Lets come out what stands behind a fallen survivor: one event a survivor. */
async function releaseFallen(context: PhaseContext, tally: Tally): Promise<void> {
  const { store, dryRun } = context;
  for (;;) {
    const releases = store.read(() => releasableNodes(store.connection, dryRun ? -1 : RELEASE_BATCH));
    tally.planned += releases.length;
    if (dryRun || releases.length === 0) return;
    if (context.isTimeUp()) {
      tally.stopped = 1;
      return;
    }
    context.commit(() => {
      for (const [survivorId, group] of groupReleases(releases)) release(context, survivorId, group);
    });
    tally.applied += releases.length;
    tally.released += releases.length;
    await context.breathe(tally.applied, null);
  }
}

function groupReleases(releases: readonly Release[]): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const { survivorId, nodeId } of releases) {
    const group = groups.get(survivorId);
    if (group === undefined) groups.set(survivorId, [nodeId]);
    else group.push(nodeId);
  }
  return groups;
}

function release({ store, actor, cycle }: PhaseContext, survivorId: number, nodeIds: readonly number[]): void {
  store.ledger.record({
    kind: "unmerged",
    actor,
    payload: {
      cycle,
      survivor: store.thoughts.publicId(survivorId),
      count: nodeIds.length,
      reason: "survivor_fell",
    },
    changes: nodeIds.map((nodeId) => ({ nodeId, axis: "merged_into", to: null })),
  });
}

/** Compares all texts when any of them is new to the comparison; otherwise nothing can have become alike. */
async function mergeCopies(context: PhaseContext, tally: Tally): Promise<void> {
  const { store, config, dryRun } = context;
  const { operations, connection } = store;
  const highest = highestThought(connection);
  const head = store.ledger.head().seq;
  const isUnchanged =
    highest <= operations.cursor(THOUGHT_CURSOR) && !hasRegrouped(connection, operations.cursor(EVENT_CURSOR));
  if (isUnchanged) return;
  const suspects = await findSuspects(context);
  if (suspects === null) {
    tally.stopped = 1;
    return;
  }
  const questions = createQuestions(context);
  const sets = store.read(() => suspects.map((ids) => planMerges(ids, questions, config)));
  tally.planned += sets.flat().reduce((sum, { absorbed }) => sum + absorbed.length, 0);
  if (dryRun) {
    for (const { absorbed } of sets.flat()) for (const { nodeId } of absorbed) context.forecast.absorbed.add(nodeId);
    return;
  }
  if (!(await applySets(context, sets, tally))) return;
  context.commit(() => {
    operations.moveCursor(THOUGHT_CURSOR, highest);
    operations.moveCursor(EVENT_CURSOR, head);
  });
}

/**
 * Ids of visible thoughts whose telling words hash alike, in sets of two and more. Memory: some 50 bytes a
 * thought. @returns null when time ran out
 */
async function findSuspects(context: PhaseContext): Promise<number[][] | null> {
  const { store } = context;
  const firstByHash = new Map<number, number>();
  const sets = new Map<number, number[]>();
  for (let after = 0, seen = 0; ; ) {
    if (!context.dryRun && context.isTimeUp()) return null;
    const nodes = store.read(() => {
      const batch = textNodes(store.connection, after, TEXT_BATCH);
      return batch.map(({ id, contentId }) => ({ id, text: store.contents.text(contentId) }));
    });
    const last = nodes.at(-1);
    if (last === undefined) return [...sets.values()];
    for (const { id, text } of nodes) {
      if (text === null) continue;
      const hash = hashWords(tellingWords(text));
      const first = firstByHash.get(hash);
      if (first === undefined) firstByHash.set(hash, id);
      else if (sets.get(hash)?.push(id) === undefined) sets.set(hash, [first, id]);
    }
    after = last.id;
    seen += nodes.length;
    await context.breathe(seen, null);
  }
}

/** A whole number of up to 53 bits; equal words give equal numbers, and the words themselves decide later. */
function hashWords(words: readonly string[]): number {
  const joined = words.join("\u0000");
  return (termHash(joined) & 0x1fffff) * 0x1_0000_0000 + termHash(`${joined}\u0000`);
}

/**
 * Writes whole sets of copies only: a set cut in two by a crash could be grouped otherwise the next night.
 * @returns false when time ran out
 */
async function applySets(
  context: PhaseContext,
  sets: readonly (readonly MergeGroup[])[],
  tally: Tally,
): Promise<boolean> {
  const sizeOf = (groups: readonly MergeGroup[]) => groups.reduce((sum, { absorbed }) => sum + absorbed.length, 0);
  const waiting = sets.filter((groups) => groups.length > 0);
  for (let next = 0; next < waiting.length; ) {
    if (context.isTimeUp()) {
      tally.stopped = 1;
      return false;
    }
    let size = 0;
    const batch: MergeGroup[] = [];
    do {
      const groups = waiting[next++] ?? [];
      batch.push(...groups);
      size += sizeOf(groups);
    } while (next < waiting.length && size + sizeOf(waiting[next] ?? []) <= CHANGE_BATCH);
    tally.applied += context.commit(() => batch.reduce((sum, group) => sum + applyGroup(context, group), 0));
    await context.breathe(tally.applied, tally.planned);
  }
  return true;
}

/** One event a survivor. Nodes that lost their visibility since the plan are left alone. */
function applyGroup(context: PhaseContext, group: MergeGroup): number {
  const { store, actor, cycle } = context;
  const survivor = mergeNode(store.connection, group.survivorId);
  const absorbed = group.absorbed.filter(({ nodeId }) => mergeNode(store.connection, nodeId) !== null);
  if (survivor === null || absorbed.length === 0) return 0;
  const changes: Change[] = absorbed
    .flatMap(({ nodeId, behind }) => [nodeId, ...behind])
    .map((nodeId) => ({ nodeId, axis: "merged_into", to: survivor.id }));
  store.ledger.record({
    kind: "merged",
    actor,
    payload: {
      cycle,
      survivor: store.thoughts.publicId(survivor.id),
      count: absorbed.length,
      moved: changes.length - absorbed.length,
      cosinePermille: Math.round(thresholdsOf(context).merge * 1000),
      // What put the survivor first.
      permanence: survivor.permanence,
      trust: survivor.trust,
      legs: survivor.legs,
      accessDays: survivor.accessDays,
    },
    changes,
  });
  return absorbed.length;
}

function createQuestions(context: PhaseContext): MergeQuestions {
  const { store } = context;
  const thresholds = thresholdsOf(context);
  const words = new Map<number, readonly string[] | null>();
  let near: { readonly to: number; readonly vector: Int8Array | null } | undefined;
  return {
    node: (nodeId) => mergeNode(store.connection, nodeId),
    words: (nodeId) => {
      const known = words.get(nodeId);
      if (known !== undefined) return known;
      const read = readWords(store, nodeId);
      // Sets follow one another, so the words of earlier ones need not be kept.
      if (words.size >= TEXT_BATCH) words.clear();
      words.set(nodeId, read);
      return read;
    },
    isNear: (a, b) => {
      if (near?.to !== a) near = { to: a, vector: store.vectors.get(a) };
      if (near.vector === null) return false;
      return (store.vectors.cosines(near.vector, [b]).get(b) ?? -1) >= thresholds.merge;
    },
    wereParted: (a, b) => wereParted(store.connection, a, b),
  };
}

function readWords(store: Store, nodeId: number): string[] | null {
  const contentId = contentOf(store.connection, nodeId);
  const text = contentId === null ? null : store.contents.text(contentId);
  return text === null ? null : tellingWords(text);
}
