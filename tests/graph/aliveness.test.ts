import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AlivenessGraph, type Leg } from "../../src/graph/aliveness.ts";

type Rule = "fair" | "strict";

/** Everything that decides what stands, in the plainest form. */
interface World {
  readonly sources: Set<number>;
  readonly legs: Map<number, readonly Leg[]>;
  readonly pinned: Set<number>;
}

/** The least fixpoint by rounds over every thought. */
function standing({ sources, legs, pinned }: World): Set<number> {
  const alive = new Set([...sources].filter((id) => !pinned.has(id)));
  for (let size = -1; size !== alive.size; ) {
    size = alive.size;
    for (const [id, own] of legs) {
      if (!pinned.has(id) && own.some((leg) => leg.every((parent) => alive.has(parent)))) alive.add(id);
    }
  }
  return alive;
}

/** Everything reachable from the roots through any leg. */
function closure({ legs }: World, roots: readonly number[]): Set<number> {
  const reached = new Set(roots);
  for (let size = -1; size !== reached.size; ) {
    size = reached.size;
    for (const [id, own] of legs) {
      if (own.some((leg) => leg.some((parent) => reached.has(parent)))) reached.add(id);
    }
  }
  return reached;
}

function build({ sources, legs, pinned }: World): AlivenessGraph {
  return AlivenessGraph.build({
    highestId: [...sources, ...legs.keys()].reduce((highest, id) => Math.max(highest, id), 0),
    sources,
    thoughts: [...legs].map(([id, own]) => ({ id, legs: own })).sort((a, b) => a.id - b.id),
    pinned,
  });
}

function aliveIn(graph: AlivenessGraph): Set<number> {
  return new Set(Array.from({ length: graph.highestId }, (_, at) => at + 1).filter((id) => graph.isAlive(id)));
}

/** Steps of a shortest way from a root to each node, through these nodes only. */
function depths({ legs }: World, roots: readonly number[], through: ReadonlySet<number>): Map<number, number> {
  const depthOf = new Map(roots.map((id) => [id, 1]));
  for (let depth = 1, size = -1; size !== depthOf.size; depth++) {
    size = depthOf.size;
    const last = new Set([...depthOf].filter(([id, at]) => at === depth && through.has(id)).map(([id]) => id));
    for (const [id, own] of legs) {
      if (!depthOf.has(id) && own.flat().some((parent) => last.has(parent))) depthOf.set(id, depth + 1);
    }
  }
  return depthOf;
}

const ascending = (ids: Iterable<number>) => [...ids].sort((a, b) => a - b);

const SOURCES = 4;
const NODES = 14;
/** Sources 1 to 4, thoughts 5 to 14; legs may name any node, so circles are common. */
const leg = fc.uniqueArray(fc.integer({ min: 1, max: NODES }), { maxLength: 3 });
const world = fc
  .array(fc.array(leg, { minLength: 1, maxLength: 3 }), { minLength: NODES - SOURCES, maxLength: NODES - SOURCES })
  .map(
    (legsOf): World => ({
      sources: new Set(Array.from({ length: SOURCES }, (_, at) => at + 1)),
      // An axiom is rare, or nothing would ever fall.
      legs: new Map(
        legsOf.map((own, at) => [SOURCES + 1 + at, own.map((one) => (one.length === 0 ? [1 + (at % 4)] : one))]),
      ),
      pinned: new Set(),
    }),
  );
const roots = fc.uniqueArray(fc.integer({ min: 1, max: NODES }), { minLength: 1, maxLength: 3 });
const rule = fc.constantFrom<Rule>("fair", "strict");
const step = fc.oneof(
  fc.record({ roots, rule }),
  fc.record({ undo: fc.nat({ max: 20 }) }),
  fc.record({
    id: fc.integer({ min: SOURCES + 1, max: NODES + 3 }),
    legs: fc.array(leg, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ source: fc.integer({ min: SOURCES + 1, max: NODES }) }),
  fc.record({ reload: fc.constant(true) }),
  fc.record({ rebuild: fc.constant(true) }),
);

describe("the worked examples of the design", () => {
  const [A, B, C, M1, M2, M3] = [1, 2, 3, 4, 5, 6];
  const example = () =>
    build({
      sources: new Set([A, B, C]),
      legs: new Map<number, readonly Leg[]>([
        [M1, [[A], [B]]],
        [M2, [[C]]],
        [M3, [[M1, M2]]],
      ]),
      pinned: new Set(),
    });

  it("recall of C takes M2 and M3 under both rules", () => {
    for (const one of ["fair", "strict"] as const) expect(example().recall([C], one).removed).toEqual([C, M2, M3]);
  });

  it("recall of A weakens M1 under the fair rule, takes M1 and M3 under the strict one", () => {
    const fair = example().recall([A], "fair");
    expect([fair.removed, fair.weakened]).toEqual([[A], [M1]]);
    expect(example().recall([A], "strict").removed).toEqual([A, M1, M3]);
  });

  it("recall of A and then of B takes M1 and M3", () => {
    const graph = example();
    graph.recall([A], "fair");
    const second = graph.recall([B], "fair");
    expect(second.removed).toEqual([B, M1, M3]);
    expect(second.pathTo(M3)).toEqual([B, M1, M3]);
  });

  it("a circle cannot hold itself up; with another leg both stand", () => {
    const circle = (...more: Leg[]) =>
      build({
        sources: new Set([1, 2]),
        legs: new Map([
          [3, [[2], [4]]],
          [4, [[3], ...more]],
        ]),
        pinned: new Set(),
      });
    expect(ascending(circle().recall([2], "fair").removed)).toEqual([2, 3, 4]);
    expect(circle([1]).recall([2], "fair").removed).toEqual([2]);
  });
});

describe("a circle", () => {
  it("cannot hold itself up through a leg of many parents that rose one after the other", () => {
    const [first, last, dream, held] = [4, 79, 80, 90];
    const stair = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    const legs = new Map<number, readonly Leg[]>([
      [3, [[held], [dream]]],
      ...stair.map((id) => [id, [[id === first ? 1 : id - 1]]] as const),
      [dream, [[3, ...stair]]],
      [held, [[2]]],
    ]);
    const graph = build({ sources: new Set([1, 2]), legs, pinned: new Set([1, 2]) });
    expect(ascending(graph.unpin([2]).restored)).toEqual([2, 3, held]);
    expect(ascending(graph.unpin([1]).restored)).toEqual([1, ...stair, dream]);
    expect(ascending(graph.recall([2], "fair").removed)).toEqual([2, 3, dream, held]);
  });
});

describe("random brains with circles", () => {
  it("stand as the fixpoint says through recalls, undoing in any order, new legs and reloading", () => {
    fc.assert(
      fc.property(world, fc.array(step, { minLength: 1, maxLength: 12 }), (given, steps) => {
        const now: World = { sources: new Set(given.sources), legs: new Map(given.legs), pinned: new Set() };
        let graph = build(now);
        expect(aliveIn(graph)).toEqual(standing(now));
        const inForce: (readonly number[])[] = [];
        for (const one of steps) {
          const before = standing(now);
          if ("roots" in one) {
            const preview = graph.preview(one.roots, one.rule);
            expect(aliveIn(graph)).toEqual(before);
            const known = one.roots.filter((id) => now.sources.has(id) || now.legs.has(id));
            const pinned = one.rule === "fair" ? new Set(known) : closure(now, known);
            const plan = graph.recall(one.roots, one.rule);
            for (const id of pinned) now.pinned.add(id);
            inForce.push([...pinned]);
            const after = standing(now);
            expect(ascending(plan.pinned)).toEqual(ascending(pinned));
            expect(ascending(plan.removed)).toEqual(ascending([...before].filter((id) => !after.has(id))));
            expect([preview.removed, preview.weakened]).toEqual([plan.removed, plan.weakened]);
            const fell = new Set(plan.removed);
            const lost = [...now.legs].filter(
              ([id, own]) =>
                after.has(id) &&
                own.some((l) => l.some((p) => fell.has(p)) && l.every((p) => fell.has(p) || after.has(p))),
            );
            expect(plan.weakened).toEqual(ascending(lost.map(([id]) => id)));
            const lengths = depths(now, known, new Set([...plan.pinned, ...plan.removed]));
            const told = new Set([...plan.pinned, ...plan.removed, ...plan.weakened]);
            for (let id = 1; id <= NODES + 4; id++) {
              const path = plan.pathTo(id);
              if (!told.has(id)) {
                expect(path).toEqual([]);
                continue;
              }
              expect([known.includes(path[0] ?? 0), path.at(-1), path.length]).toEqual([true, id, lengths.get(id)]);
              for (let at = 1; at < path.length; at++) {
                expect(now.legs.get(path[at] ?? 0)?.some((l) => l.includes(path[at - 1] ?? 0))).toBe(true);
              }
            }
          } else if ("undo" in one && inForce.length > 0) {
            const [undone = []] = inForce.splice(one.undo % inForce.length, 1);
            const left = new Set(inForce.flat());
            now.pinned.clear();
            for (const id of left) now.pinned.add(id);
            const { restored } = graph.unpin(undone.filter((id) => !left.has(id)));
            expect(ascending(restored)).toEqual(ascending([...standing(now)].filter((id) => !before.has(id))));
          } else if ("id" in one && !now.sources.has(one.id)) {
            const own = one.legs.map((l) => l.filter((id) => id !== one.id)).filter((l) => l.length > 0);
            if (own.length === 0) continue;
            now.legs.set(one.id, own);
            const { removed, restored } = graph.setLegs(one.id, own);
            const after = standing(now);
            expect(ascending(removed)).toEqual(ascending([...before].filter((id) => !after.has(id))));
            expect(ascending(restored)).toEqual(ascending([...after].filter((id) => !before.has(id))));
          } else if ("source" in one) {
            const id = Math.max(graph.highestId, SOURCES) + 1;
            graph.addSource(id);
            now.sources.add(id);
            const cited: readonly Leg[] = [...(now.legs.get(one.source) ?? []), [id]];
            now.legs.set(one.source, cited);
            graph.setLegs(one.source, cited);
          } else if ("rebuild" in one) graph = build(now);
          else if ("reload" in one) graph = AlivenessGraph.load(graph.save());
          expect(aliveIn(graph)).toEqual(standing(now));
        }
      }),
      { numRuns: 1_500 },
    );
  });

  it("lose under the fair rule only what the strict one takes, and get all of it back", () => {
    fc.assert(
      fc.property(world, roots, (given, from) => {
        const graph = build(given);
        const before = aliveIn(graph);
        const strict = new Set(graph.preview(from, "strict").removed);
        const fair = graph.recall(from, "fair");
        for (const id of fair.removed) expect(strict.has(id)).toBe(true);
        graph.unpin(fair.pinned);
        expect(aliveIn(graph)).toEqual(before);
      }),
      { numRuns: 500 },
    );
  });

  it("are not changed by a preview, not by a byte", () => {
    fc.assert(
      fc.property(world, roots, roots, rule, (given, earlier, from, by) => {
        const graph = build(given);
        graph.recall(earlier, "fair");
        const before = graph.save();
        const preview = graph.preview(from, by);
        expect(Buffer.compare(before, graph.save())).toBe(0);
        expect(graph.recall(from, by).fallen).toEqual(preview.fallen);
      }),
      { numRuns: 300 },
    );
  });

  it("stand as the fixpoint says where values have a hundred legs and dreams a hundred parents", () => {
    const count = 120;
    const values = [count + 1, count + 2, count + 3, count + 4];
    const link = fc.record({ id: fc.integer({ min: 3, max: count }), back: fc.integer({ min: 1, max: 12 }) });
    fc.assert(
      fc.property(
        fc.array(link, { maxLength: 40 }),
        fc.uniqueArray(fc.integer({ min: 1, max: count }), { minLength: 70, maxLength: 100 }),
        fc.array(fc.uniqueArray(fc.integer({ min: 1, max: count + 4 }), { minLength: 1, maxLength: 4 }), {
          minLength: 1,
          maxLength: 5,
        }),
        (links, named, pulled) => {
          // A stair of thoughts from one source, so that what rests on it falls and rises step by step.
          const legs = new Map<number, readonly Leg[]>();
          for (let id = 2; id <= count; id++) legs.set(id, [[id - 1]]);
          for (const { id, back } of links) legs.set(id, [[id - 1], [Math.max(1, id - back)]]);
          legs.set(count + 1, [...named.map((id) => [id]), [count + 2]]);
          legs.set(count + 2, [ascending(named), [count + 1]]);
          legs.set(count + 3, [...named.map((id) => ascending(new Set([id, count + 1]))), [count + 4]]);
          legs.set(count + 4, [[count + 3], ascending([...named, count + 2])]);
          const now: World = { sources: new Set([1]), legs, pinned: new Set() };
          const graph = build(now);
          for (const id of values) expect(graph.isAlive(id)).toBe(true);
          for (const ids of [...pulled, [2]]) {
            graph.recall(ids, "fair");
            for (const id of ids) now.pinned.add(id);
            expect(aliveIn(graph)).toEqual(standing(now));
          }
          for (const ids of [...pulled, [2]]) {
            graph.unpin(ids);
            for (const id of ids) now.pinned.delete(id);
            expect(aliveIn(graph)).toEqual(standing(now));
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("are told with parents before children wherever there is no circle", () => {
    fc.assert(
      fc.property(world, roots, rule, (given, from, by) => {
        const plan = build(given).preview(from, by);
        const place = new Map(plan.removed.map((id, at) => [id, at]));
        const below = (id: number) => closure(given, [id]);
        for (const [child, own] of given.legs) {
          for (const parent of own.flat()) {
            if (!place.has(child) || !place.has(parent) || below(child).has(parent)) continue;
            expect(place.get(parent) ?? 0).toBeLessThan(place.get(child) ?? 0);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("at size", () => {
  it("takes at most sixteen bytes a node of a typical brain", () => {
    const nodes = 200_000;
    const sources = Array.from({ length: nodes / 20 }, (_, at) => at * 20 + 1);
    const isSource = new Set(sources);
    function* thoughts() {
      for (let id = 2; id <= nodes; id++) {
        if (isSource.has(id)) continue;
        const own = id - ((id - 1) % 20);
        yield { id, legs: id % 15 === 0 ? [[own, id - 3].sort((a, b) => a - b)] : [[own]] };
      }
    }
    const graph = AlivenessGraph.build({ highestId: nodes, sources, thoughts: thoughts(), pinned: [] });
    expect(graph.isAlive(nodes)).toBe(true);
    expect(graph.bytes / nodes).toBeLessThanOrEqual(16);
  });

  it("looks once at a value with eight thousand legs whose sources all fall together", () => {
    const count = 8_000;
    const ids = Array.from({ length: count }, (_, at) => at + 1);
    const value = count + 1;
    const graph = build({ sources: new Set(ids), legs: new Map([[value, ids.map((id) => [id])]]), pinned: new Set() });
    expect(graph.preview(ids.slice(1), "fair").removed).toHaveLength(count - 1);
    expect(graph.recall(ids, "fair").removed).toHaveLength(count + 1);
    expect(graph.unpin([count / 2]).restored.sort((a, b) => a - b)).toEqual([count / 2, value]);
  });

  it("takes a hub of a hundred thousand thoughts under both rules, each once", () => {
    const count = 100_000;
    const legs = new Map(Array.from({ length: count }, (_, at) => [at + 2, [[1]]] as const));
    const graph = build({ sources: new Set([1]), legs, pinned: new Set() });
    const all = Array.from({ length: count + 1 }, (_, at) => at + 1);
    for (const by of ["fair", "strict"] as const) {
      const plan = graph.preview([1], by);
      expect(plan.removed).toEqual(all);
      expect(plan.pinned).toEqual(by === "fair" ? [1] : all);
      expect(plan.pathTo(count)).toEqual([1, count]);
    }
    expect(graph.isAlive(count)).toBe(true);
  });

  it("is the graph built anew after more changes than it keeps apart", () => {
    const [count, from] = [40_000, 3];
    const thoughts = Array.from({ length: count }, (_, at) => at + from + 1);
    const legs = new Map<number, readonly Leg[]>(thoughts.map((id) => [id, [[1]]]));
    const graph = build({ sources: new Set([1, 2, 3]), legs, pinned: new Set() });
    // Every record is left behind twice, and every edge to the first source ends.
    for (const [round, own] of (
      [
        [[1], [2]],
        [[2], [2, 3]],
        [[3], [1, 2]],
      ] as const
    ).entries()) {
      for (const id of thoughts) {
        const next: readonly Leg[] = round === 2 && id % 2 === 0 ? [[3]] : own;
        legs.set(id, next);
        graph.setLegs(id, next);
      }
    }
    const anew = build({ sources: new Set([1, 2, 3]), legs, pinned: new Set() });
    // What it keeps apart is at most 65,536 edges, an entry of a map each.
    expect(graph.bytes).toBeLessThan(anew.bytes + 65_536 * 40);
    const [kept, fresh] = [graph, anew].map((one) => {
      const plan = one.recall([3], "fair");
      const reached = [1, 2].map((id) => one.preview([id], "strict").pinned);
      return { removed: plan.removed, weakened: plan.weakened, reached };
    });
    expect(fresh?.removed).toHaveLength(count / 2 + 1);
    expect(kept).toEqual(fresh);
    expect(Buffer.compare(graph.save(), AlivenessGraph.load(graph.save()).save())).toBe(0);
  });

  it("walks a chain longer than any stack", () => {
    const length = 200_000;
    const legs = new Map(Array.from({ length }, (_, at) => [at + 2, [[at + 1]]] as const));
    const graph = build({ sources: new Set([1]), legs, pinned: new Set() });
    for (const by of ["fair", "strict"] as const) {
      const plan = graph.preview([1], by);
      expect(plan.removed).toHaveLength(length + 1);
      expect(plan.removed.at(-1)).toBe(length + 1);
    }
  });
});

describe("at the edges", () => {
  it("a node nobody knows holds nothing up until it is there, and cannot be pulled back", () => {
    const graph = build({ sources: new Set([1]), legs: new Map([[2, [[1, 9]]]]), pinned: new Set() });
    expect([graph.isAlive(1), graph.isAlive(2), graph.has(9)]).toEqual([true, false, false]);
    const plan = graph.recall([9], "strict");
    expect([plan.pinned, plan.removed]).toEqual([[], []]);
    expect(graph.setLegs(9, [[1]])).toEqual({ removed: [], restored: [9, 2] });
    expect(graph.recall([9], "fair").removed).toEqual([9, 2]);
  });

  it("an axiom stands by itself and falls only when it is named", () => {
    const legs = new Map<number, readonly Leg[]>([
      [2, [[]]],
      [3, [[1], []]],
      [4, []],
    ]);
    const graph = build({ sources: new Set([1]), legs, pinned: new Set() });
    expect([2, 3, 4].map((id) => graph.isAlive(id))).toEqual([true, true, false]);
    expect(graph.preview([1], "fair").weakened).toEqual([3]);
    expect(graph.recall([2], "fair").removed).toEqual([2]);
  });

  it("what is pinned from the start stays down until set free", () => {
    const legs = new Map([[2, [[1]]]]);
    const graph = build({ sources: new Set([1]), legs, pinned: new Set([1]) });
    expect([graph.isPinned(1), graph.isAlive(1), graph.isAlive(2)]).toEqual([true, false, false]);
    expect(graph.setLegs(2, [[1], [1]])).toEqual({ removed: [], restored: [] });
    expect(graph.recall([1], "fair").removed).toEqual([]);
    expect(graph.unpin([1]).restored).toEqual([1, 2]);
  });

  it("what was pinned before it was known is known as pinned", () => {
    const graph = build({ sources: new Set([1]), legs: new Map(), pinned: new Set() });
    graph.pin([2]);
    graph.addSource(2);
    expect([graph.has(2), graph.isAlive(2)]).toEqual([true, false]);
    expect(graph.setLegs(3, [[2]]).restored).toEqual([]);
    expect(graph.unpin([2]).restored).toEqual([2, 3]);
  });

  it("ids that are none are refused", () => {
    const graph = build({ sources: new Set([1]), legs: new Map([[2, [[1]]]]), pinned: new Set() });
    for (const id of [0, -1, 1.5, 2 ** 31]) {
      expect(() => graph.addSource(id)).toThrow(RangeError);
      expect(() => graph.setLegs(2, [[id]])).toThrow(RangeError);
    }
    expect(graph.isAlive(2)).toBe(true);
  });
});

describe("a kept graph", () => {
  it("is refused when a byte of it changed, or its end is missing", () => {
    const graph = build({ sources: new Set([1]), legs: new Map([[2, [[1]]]]), pinned: new Set() });
    const bytes = graph.save();
    expect(aliveIn(AlivenessGraph.load(bytes))).toEqual(new Set([1, 2]));
    for (let at = 0; at < bytes.length; at += 7) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => AlivenessGraph.load(changed)).toThrow();
    }
    expect(() => AlivenessGraph.load(bytes.subarray(0, -1))).toThrow();
    expect(() => AlivenessGraph.load(new Uint8Array(0))).toThrow();
  });
});
