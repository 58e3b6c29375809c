/**
 * What a recall does, told in an order a reader can follow: parents before children, and for each node the shortest
 * way down to it. Reads legs only; which nodes fall was decided before.
 */
import type { LegTable } from "./leg-table.ts";

/** What a recall does, or would do. */
export interface RecallPlan {
  /** What it pins, ascending, whether or not another recall pins it too. */
  readonly pinned: readonly number[];
  /** What stood and falls, roots included; ascending under the strict rule, in no order under the fair one. */
  readonly fallen: readonly number[];
  /**
   * The same with parents before children, within a cycle first what held up the rest. Ordered when first asked, which
   * is to be before the graph changes again.
   */
  readonly removed: readonly number[];
  /** What stands but lost a leg that was whole before, ascending. */
  readonly weakened: readonly number[];
  /**
   * A shortest way from a root to a removed, pinned or weakened node, both ends included; each but the first has a
   * broken leg that names the one before it. Empty for any other node. Follows the legs as they are when first asked.
   */
  pathTo(id: number): number[];
}

/** @param rankOf ranks as they were while the nodes stood; 0 for sources */
export function createPlan(
  legs: LegTable,
  roots: readonly number[],
  lists: Pick<RecallPlan, "pinned" | "fallen" | "weakened">,
  rankOf: (id: number) => number,
): RecallPlan {
  let cameFrom: ReadonlyMap<number, number> | null = null;
  let removed: readonly number[] | null = null;
  return {
    ...lists,
    get removed() {
      removed ??= orderByParents(legs, lists.fallen, rankOf);
      return removed;
    },
    pathTo(id) {
      cameFrom ??= walkDown(legs, roots, lists);
      const path: number[] = [];
      for (let at = cameFrom.has(id) ? id : 0; at > 0; at = cameFrom.get(at) ?? 0) path.push(at);
      return path.reverse();
    },
  };
}

/** Breadth first from the roots: for every node reached the one before it, 0 for a root. */
function walkDown(
  legs: LegTable,
  roots: readonly number[],
  { pinned, fallen, weakened }: Pick<RecallPlan, "pinned" | "fallen" | "weakened">,
): Map<number, number> {
  const passable = new Set(pinned);
  for (const id of fallen) passable.add(id);
  const last = new Set(weakened);
  const cameFrom = new Map(roots.map((id) => [id, 0]));
  const queue = [...roots];
  for (const id of queue) {
    legs.eachChild(id, (child) => {
      if (cameFrom.has(child)) return;
      if (passable.has(child)) queue.push(child);
      else if (!last.has(child)) return;
      cameFrom.set(child, id);
    });
  }
  return cameFrom;
}

/** Nodes with parents before children. Within a cycle, where no such order exists, lower ranks come first. */
function orderByParents(legs: LegTable, ids: readonly number[], rankOf: (id: number) => number): number[] {
  const listed = new Set(ids);
  const isListed = (id: number) => listed.has(id);
  const byId = Int32Array.from(ids).sort();
  const sources = byId.filter((id) => rankOf(id) === 0);
  const thoughts = byId.filter((id) => rankOf(id) !== 0);
  // Nearly always a thought is younger than the thoughts it rests on, and ids are the order wanted.
  const isOrdered = thoughts.every((id) => {
    let ordered = true;
    legs.eachParent(id, (parent) => {
      if (parent >= id && rankOf(parent) !== 0 && isListed(parent)) ordered = false;
    });
    return ordered;
  });
  if (isOrdered) return [...sources, ...thoughts];
  return [...sources, ...orderComponents(legs, Array.from(thoughts), isListed, rankOf)];
}

/** Strongly connected components (Tarjan 1972, without recursion), those of the parents first. */
function orderComponents(
  legs: LegTable,
  ids: readonly number[],
  isListed: (id: number) => boolean,
  rankOf: (id: number) => number,
): number[] {
  const byRank = (a: number, b: number) => rankOf(a) - rankOf(b) || a - b;
  const parentsOf = (id: number): number[] => {
    const parents: number[] = [];
    legs.eachParent(id, (parent) => {
      if (rankOf(parent) !== 0 && isListed(parent)) parents.push(parent);
    });
    return parents;
  };
  const ordered: number[] = [];
  const placed = new Set<number>();
  const found = new Map<number, number>();
  const open: number[] = [];
  for (const start of [...ids].sort(byRank)) {
    if (found.has(start)) continue;
    const frames: Frame[] = [];
    const enter = (id: number) => {
      frames.push({ id, parents: parentsOf(id), next: 0, low: found.size });
      found.set(id, found.size);
      open.push(id);
    };
    enter(start);
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const parent = frame.parents[frame.next++];
      if (parent !== undefined) {
        const seen = found.get(parent);
        if (seen === undefined) enter(parent);
        else if (!placed.has(parent)) frame.low = Math.min(frame.low, seen);
        continue;
      }
      frames.pop();
      const below = frames.at(-1);
      if (below !== undefined) below.low = Math.min(below.low, frame.low);
      if (frame.low !== found.get(frame.id)) continue;
      const component = open.splice(open.lastIndexOf(frame.id)).sort(byRank);
      for (const id of component) {
        placed.add(id);
        ordered.push(id);
      }
    }
  }
  return ordered;
}

interface Frame {
  readonly id: number;
  readonly parents: readonly number[];
  next: number;
  /** The earliest found node that is reachable from here and in no finished component. */
  low: number;
}
