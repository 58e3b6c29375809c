/**
 * Recalls by the hundred thousand on small random graphs full of circles, each compared with the least fixpoint worked
 * out by rounds: what the tests do a few thousand times.
 */
import { AlivenessGraph, type Leg } from "../../src/graph/aliveness.ts";
import { createRandom } from "./texts.ts";

const SEED = 12_345;
/** Steps over one graph before the next is made. */
const STEPS = 12;

export interface SoakFigures {
  readonly recalls: number;
  readonly fell: number;
  readonly cameBack: number;
  readonly seconds: number;
}

interface World {
  readonly highestId: number;
  readonly sources: number;
  readonly legs: Map<number, readonly Leg[]>;
  readonly pinned: Set<number>;
}

/** @throws Error on the first recall, undo or new leg after which anything stands against the fixpoint */
export function soakRecalls(wanted: number): SoakFigures {
  const random = createRandom(SEED);
  const below = (limit: number) => Math.floor(random() * limit);
  const started = performance.now();
  let recalls = 0;
  let fell = 0;
  let cameBack = 0;
  while (recalls < wanted) {
    const world = makeWorld(below);
    const graph = build(world);
    const inForce: (readonly number[])[] = [];
    for (let step = 0; step < STEPS; step++) {
      const kind = below(5);
      if (kind < 3) {
        const roots = [1 + below(world.highestId), 1 + below(world.highestId)].slice(0, 1 + below(2));
        const { pinned, fallen } = graph.recall(roots, below(3) === 0 ? "strict" : "fair");
        for (const id of pinned) world.pinned.add(id);
        inForce.push(pinned);
        fell += fallen.length;
        recalls++;
      } else if (kind === 3 && inForce.length > 0) {
        const [undone = []] = inForce.splice(below(inForce.length), 1);
        const left = new Set(inForce.flat());
        const free = undone.filter((id) => !left.has(id));
        for (const id of free) world.pinned.delete(id);
        cameBack += graph.unpin(free).restored.length;
      } else {
        const id = world.sources + 1 + below(world.highestId - world.sources);
        world.legs.set(id, makeLegs(world.highestId, below));
        graph.setLegs(id, world.legs.get(id) ?? []);
      }
      compare(graph, world, recalls);
    }
  }
  return { recalls, fell, cameBack, seconds: (performance.now() - started) / 1000 };
}

function makeWorld(below: (limit: number) => number): World {
  const highestId = 12 + below(30);
  const sources = 2 + below(6);
  const legs = new Map<number, readonly Leg[]>();
  for (let id = sources + 1; id <= highestId; id++) {
    const own = makeLegs(highestId, below);
    legs.set(id, below(2) === 0 ? own : [...own, [1 + below(sources)]]);
  }
  return { highestId, sources, legs, pinned: new Set() };
}

function makeLegs(highestId: number, below: (limit: number) => number): Leg[] {
  const makeLeg = () => new Set(Array.from({ length: 1 + below(3) }, () => 1 + below(highestId)));
  return Array.from({ length: 1 + below(3) }, () => [...makeLeg()].sort((a, b) => a - b));
}

function build({ highestId, sources, legs }: World): AlivenessGraph {
  return AlivenessGraph.build({
    highestId,
    sources: Array.from({ length: sources }, (_, at) => at + 1),
    thoughts: [...legs].map(([id, own]) => ({ id, legs: own })),
    pinned: [],
  });
}

function compare(graph: AlivenessGraph, { highestId, sources, legs, pinned }: World, recalls: number): void {
  const alive = new Set<number>();
  for (let id = 1; id <= sources; id++) if (!pinned.has(id)) alive.add(id);
  for (let size = -1; size !== alive.size; ) {
    size = alive.size;
    for (const [id, own] of legs) {
      if (!pinned.has(id) && own.some((leg) => leg.every((parent) => alive.has(parent)))) alive.add(id);
    }
  }
  for (let id = 1; id <= highestId; id++) {
    if (graph.isAlive(id) !== alive.has(id)) throw new Error(`after ${recalls} recalls a node stands wrongly`);
  }
}
