/**
 * What stands: the least fixpoint over the legs of every thought, kept up to date as sources and thoughts are pinned
 * down, set free, and given legs. Costs what a change touches, not what the brain holds. Pure; knows no words.
 *
 * Every standing thought has a rank, and a leg whose members stand and rank below it, so that no circle can hold
 * itself up. A thought that loses its last such leg is suspended; afterwards whatever suspended thought has a leg
 * that stands comes back above all others. A rank is the node's id unless it had to be another.
 */
import { ascending, type Leg, LegTable } from "./leg-table.ts";
import { createPlan, type RecallPlan } from "./recall-plan.ts";
import { decodeSnapshot, encodeSnapshot } from "./snapshot.ts";

export type { Leg };

/** A thought and the legs it has. */
export interface NodeLegs {
  readonly id: number;
  readonly legs: readonly Leg[];
}

const EXISTS = 1;
const SOURCE = 2;
const ALIVE = 4;
const PINNED = 8;
/** Marks of one operation, gone when it ends: a set of nodes without a hash for each. */
const REACHED = 16;
const FALLEN = 32;
const MARKS = REACHED | FALLEN;
/** Ranks given out begin here, above every id that ranks by itself. */
const FIRST_RANK = 0x4000_0000;
/** Legs of a thought, or parents of a leg, from which on it is kept how far a look at them came. */
const KEPT_FROM = 32;
/** Rough cost of an entry of a Map in V8. */
const MAP_ENTRY_BYTES = 40;

/** A change as it was before: what a preview takes back. */
interface Undo {
  readonly id: number;
  readonly flags: number;
  readonly rank: number | undefined;
}

export class AlivenessGraph {
  #legs: LegTable;
  #flags: Uint8Array;
  /** Ranks that are not the node's id. */
  #ranks: Map<number, number>;
  #nextRank = FIRST_RANK;
  #undo: Undo[] | null = null;

  private constructor(legs: LegTable, flags: Uint8Array, ranks: Map<number, number>) {
    this.#legs = legs;
    this.#flags = flags;
    this.#ranks = ranks;
    for (const rank of ranks.values()) this.#nextRank = Math.max(this.#nextRank, rank + 1);
  }

  /**
   * The graph of a whole brain.
   * @param input thoughts ascending by id; `pinned` may name anything
   */
  static build(input: {
    readonly highestId: number;
    readonly sources: Iterable<number>;
    readonly thoughts: Iterable<NodeLegs>;
    readonly pinned: Iterable<number>;
  }): AlivenessGraph {
    const legs = new LegTable(input.highestId);
    const graph = new AlivenessGraph(legs, new Uint8Array(input.highestId + 1), new Map());
    const flags = graph.#flags;
    for (const id of input.sources) flags[id] = EXISTS | SOURCE | ALIVE;
    for (const { id, legs: own } of input.thoughts) {
      legs.put(id, own);
      flags[id] = EXISTS;
    }
    legs.index();
    for (const id of input.pinned) flags[id] = ((flags[id] ?? 0) | PINNED) & ~ALIVE;
    const waiting: number[] = [];
    for (let id = 1; id <= input.highestId; id++) {
      if ((graph.#flagsOf(id) & (EXISTS | SOURCE | PINNED)) !== EXISTS) continue;
      if (graph.#isSupported(id)) flags[id] = EXISTS | ALIVE;
      else waiting.push(id);
    }
    graph.#raise(waiting);
    return graph;
  }

  /** @throws Error for bytes that `save` did not give */
  static load(bytes: Uint8Array): AlivenessGraph {
    const { sole, words, ranks, flags } = decodeSnapshot(bytes);
    const byNode = new Map<number, number>();
    for (let at = 0; at + 1 < ranks.length; at += 2) byNode.set(ranks[at] as number, ranks[at + 1] as number);
    return new AlivenessGraph(LegTable.restore(sole, words), flags, byNode);
  }

  /** The whole graph with its states. Lays its arrays anew. */
  save(): Uint8Array {
    const { sole, words } = this.#legs.compacted();
    const ranks = Int32Array.from([...this.#ranks].flat());
    return encodeSnapshot({ sole, words, ranks, flags: this.#flags });
  }

  get highestId(): number {
    return this.#legs.highestId;
  }

  /** Memory held: the arrays exactly, the maps by estimate. */
  get bytes(): number {
    return this.#legs.bytes + this.#flags.byteLength + this.#ranks.size * MAP_ENTRY_BYTES;
  }

  has(id: number): boolean {
    return (this.#flagsOf(id) & EXISTS) !== 0;
  }

  isAlive(id: number): boolean {
    return (this.#flagsOf(id) & ALIVE) !== 0;
  }

  isPinned(id: number): boolean {
    return (this.#flagsOf(id) & PINNED) !== 0;
  }

  /**
   * A source newer than every thought that is known: none names it yet.
   * @throws RangeError for an id that is no positive 32-bit integer
   */
  addSource(id: number): void {
    this.#reach(id);
    const isPinned = this.isPinned(id);
    this.#setFlags(id, EXISTS | SOURCE | (isPinned ? PINNED : ALIVE));
  }

  /**
   * A new thought, or a known one whose legs are these now.
   * @returns what fell and what stands again because of it, in no order
   * @throws RangeError for ids that are no positive 32-bit integers
   */
  setLegs(id: number, legs: readonly Leg[]): { readonly removed: number[]; readonly restored: number[] } {
    this.#reach(id);
    this.#legs.set(id, legs);
    this.#setFlags(id, this.#flagsOf(id) | EXISTS);
    if (this.isPinned(id)) return { removed: [], restored: [] };
    if (this.isAlive(id)) return { removed: this.#isSupported(id) ? [] : this.#drop([id]), restored: [] };
    return { removed: [], restored: this.#raise([id]) };
  }

  /** What `recall` would do. Changes nothing. */
  preview(roots: readonly number[], rule: "fair" | "strict"): RecallPlan {
    this.#undo = [];
    const nextRank = this.#nextRank;
    try {
      return this.recall(roots, rule);
    } finally {
      const undo = this.#undo;
      this.#undo = null;
      this.#nextRank = nextRank;
      for (const { id, flags, rank } of undo.reverse()) {
        this.#flags[id] = flags;
        if (rank === undefined) this.#ranks.delete(id);
        else this.#ranks.set(id, rank);
      }
    }
  }

  /**
   * Pins the roots (fair) or all that is reachable from them through any leg (strict), and lets fall what cannot
   * stand without them.
   */
  recall(roots: readonly number[], rule: "fair" | "strict"): RecallPlan {
    const known = ascending(roots.filter((id) => this.has(id)));
    // A closure leaves no child outside that could fall or lose a leg.
    const isClosed = rule === "strict";
    const pinned = isClosed ? this.#closure(known) : known;
    const fallen = isClosed ? this.#pinAll(pinned) : this.pin(pinned).removed;
    const weakened = isClosed ? [] : this.#weakenedBy(fallen);
    return createPlan(this.#legs, known, { pinned, fallen, weakened }, (id) => this.#rankOf(id));
  }

  /** Holds nodes down. @returns what stood and fell, these included, in no order */
  pin(ids: readonly number[]): { readonly removed: number[] } {
    const falling = this.#pinAll(ids);
    return { removed: falling.concat(this.#suspendBelow(falling)) };
  }

  /** @returns those that stood */
  #pinAll(ids: readonly number[]): number[] {
    const falling: number[] = [];
    for (const id of ids) {
      this.#reach(id);
      const flags = this.#flagsOf(id);
      this.#setFlags(id, (flags | PINNED) & ~ALIVE);
      if ((flags & ALIVE) !== 0) falling.push(id);
    }
    return falling;
  }

  /** Sets nodes free. @returns what stands again, in no order */
  unpin(ids: readonly number[]): { readonly restored: number[] } {
    const restored: number[] = [];
    const waiting: number[] = [];
    for (const id of ids) {
      const flags = this.#flagsOf(id);
      if ((flags & PINNED) === 0) continue;
      const isSource = (flags & SOURCE) !== 0;
      this.#setFlags(id, (flags & ~PINNED) | (isSource ? ALIVE : 0));
      if (isSource) {
        restored.push(id);
        this.#legs.eachChild(id, (child) => waiting.push(child));
      } else waiting.push(id);
    }
    return { restored: [...restored, ...this.#raise(waiting)] };
  }

  /** Takes standing thoughts down that lost their support. @returns what fell for good */
  #drop(ids: readonly number[]): number[] {
    for (const id of ids) this.#setFlags(id, this.#flagsOf(id) & ~ALIVE);
    return this.#settle([...ids, ...this.#suspendAll(ids)]);
  }

  #suspendBelow(fallen: readonly number[]): number[] {
    return this.#settle(this.#suspendAll(fallen));
  }

  /** Suspends what loses its last leg of lower rank, from the children of these on. Each is looked at once a round. */
  #suspendAll(fallen: readonly number[]): number[] {
    const suspended: number[] = [];
    // Nothing rises here, so a leg once broken stays so.
    const firstLegs = new Map<number, number>();
    let next: number[] = [];
    const enqueue = (child: number) => {
      const flags = this.#flagsOf(child);
      if ((flags & (ALIVE | REACHED)) !== ALIVE) return;
      this.#flags[child] = flags | REACHED;
      next.push(child);
    };
    for (const id of fallen) this.#legs.eachChild(id, enqueue);
    while (next.length > 0) {
      const round = next;
      next = [];
      for (const id of round) {
        this.#flags[id] = this.#flagsOf(id) & ~REACHED;
        if (!this.isAlive(id) || this.#isSupported(id, firstLegs)) continue;
        this.#setFlags(id, this.#flagsOf(id) & ~ALIVE);
        suspended.push(id);
        this.#legs.eachChild(id, enqueue);
      }
    }
    return suspended;
  }

  /** Brings back what a leg still holds. @returns what stays down */
  #settle(suspended: readonly number[]): number[] {
    if (suspended.length > 0) this.#raise(suspended);
    return suspended.filter((id) => !this.isAlive(id));
  }

  /**
   * Lets stand whatever of these, and above them, has a leg that stands. Each is looked at once a round.
   * @returns what stands now and did not
   */
  #raise(waiting: readonly number[]): number[] {
    const raised: number[] = [];
    // Nothing falls here, so what stands in a leg goes on standing.
    const firstPlaces = new Map<number, number>();
    let next: number[] = [];
    const enqueue = (id: number) => {
      const flags = this.#flagsOf(id);
      if ((flags & (EXISTS | ALIVE | PINNED | REACHED)) !== EXISTS) return;
      this.#flags[id] = flags | REACHED;
      next.push(id);
    };
    for (const id of waiting) enqueue(id);
    while (next.length > 0) {
      const round = next;
      next = [];
      for (const id of round) {
        this.#flags[id] = this.#flagsOf(id) & ~REACHED;
        const floor = this.#lowestFloor(id, firstPlaces);
        if (floor === null) continue;
        this.#setRank(id, floor < id ? undefined : this.#nextRank++);
        this.#setFlags(id, this.#flagsOf(id) | ALIVE);
        raised.push(id);
        this.#legs.eachChild(id, enqueue);
      }
    }
    return raised;
  }

  /** Of the legs that stand the lowest of their highest ranks; null when no leg stands. */
  #lowestFloor(id: number, firstPlaces: Map<number, number>): number | null {
    const sole = this.#legs.soleParent(id);
    if (sole > 0) return this.isAlive(sole) ? this.#rankOf(sole) : null;
    let lowest: number | null = null;
    const end = this.#legs.endOfLegs(id);
    for (let leg = this.#legs.firstLeg(id); leg < end; leg = this.#legs.nextLeg(leg)) {
      const floor = this.#floorOf(leg, firstPlaces);
      if (floor !== null && (lowest === null || floor < lowest)) lowest = floor;
      if (lowest === 0) return 0;
    }
    return lowest;
  }

  /**
   * The highest rank in a leg; null when it is broken.
   * @param firstPlaces by leg the place to begin at, kept where the leg was found broken
   */
  #floorOf(leg: number, firstPlaces?: Map<number, number>): number | null {
    const size = this.#legs.sizeOf(leg);
    const first = firstPlaces?.get(leg) ?? 0;
    let highest = 0;
    for (let step = 0; step < size; step++) {
      const place = first + step < size ? first + step : first + step - size;
      const parent = this.#legs.parentAt(leg, place);
      if (!this.isAlive(parent)) {
        if (place >= KEPT_FROM) firstPlaces?.set(leg, place);
        return null;
      }
      highest = Math.max(highest, this.#rankOf(parent));
    }
    return highest;
  }

  /**
   * Whether a leg stands whose members all rank below the node.
   * @param firstLegs by node the leg to begin at, kept where those before it do not hold
   */
  #isSupported(id: number, firstLegs?: Map<number, number>): boolean {
    const rank = this.#rankOf(id);
    const sole = this.#legs.soleParent(id);
    if (sole > 0) return this.isAlive(sole) && this.#rankOf(sole) < rank;
    const end = this.#legs.endOfLegs(id);
    let looked = 0;
    for (let leg = firstLegs?.get(id) ?? this.#legs.firstLeg(id); leg < end; leg = this.#legs.nextLeg(leg)) {
      const floor = this.#floorOf(leg);
      if (floor !== null && floor < rank) {
        if (looked >= KEPT_FROM) firstLegs?.set(id, leg);
        return true;
      }
      looked++;
    }
    return false;
  }

  /** Standing children of what fell with a leg that was whole until then, ascending. */
  #weakenedBy(fallen: readonly number[]): number[] {
    this.#mark(fallen, FALLEN);
    const looked = new Set<number>();
    const weakened: number[] = [];
    for (const id of fallen) {
      this.#legs.eachChild(id, (child) => {
        if (!this.isAlive(child) || looked.has(child)) return;
        looked.add(child);
        if (this.#lostLeg(child)) weakened.push(child);
      });
    }
    this.#unmark(fallen, FALLEN);
    return weakened.sort((a, b) => a - b);
  }

  #lostLeg(id: number): boolean {
    const end = this.#legs.endOfLegs(id);
    for (let leg = this.#legs.firstLeg(id); leg < end; leg = this.#legs.nextLeg(leg)) {
      let hasLost = false;
      let wasWhole = true;
      for (let place = 0; place < this.#legs.sizeOf(leg) && wasWhole; place++) {
        const parent = this.#legs.parentAt(leg, place);
        if ((this.#flagsOf(parent) & FALLEN) !== 0) hasLost = true;
        else if (!this.isAlive(parent)) wasWhole = false;
      }
      if (hasLost && wasWhole) return true;
    }
    return false;
  }

  /** Everything reachable through any leg, the roots included, ascending. */
  #closure(roots: readonly number[]): readonly number[] {
    const reached = this.#legs.reachableFrom(roots, this.#flags, REACHED);
    this.#unmark(reached, REACHED);
    return isAscending(reached) ? reached : Array.from(Int32Array.from(reached).sort());
  }

  #mark(ids: readonly number[], mark: number): void {
    for (const id of ids) this.#flags[id] = this.#flagsOf(id) | mark;
  }

  #unmark(ids: readonly number[], mark: number): void {
    for (const id of ids) this.#flags[id] = this.#flagsOf(id) & ~mark;
  }

  #flagsOf(id: number): number {
    return this.#flags[id] ?? 0;
  }

  #setFlags(id: number, flags: number): void {
    this.#note(id);
    this.#flags[id] = flags;
  }

  #setRank(id: number, rank: number | undefined): void {
    this.#note(id);
    if (rank === undefined) this.#ranks.delete(id);
    else this.#ranks.set(id, rank);
  }

  #note(id: number): void {
    this.#undo?.push({ id, flags: this.#flagsOf(id) & ~MARKS, rank: this.#ranks.get(id) });
  }

  /** 0 for sources, which rest on nothing. */
  #rankOf(id: number): number {
    if ((this.#flagsOf(id) & SOURCE) !== 0) return 0;
    return (this.#ranks.size === 0 ? undefined : this.#ranks.get(id)) ?? id;
  }

  #reach(id: number): void {
    this.#legs.reach(id);
    if (id < this.#flags.length) return;
    const flags = new Uint8Array(id + (id >> 3) + 1_024);
    flags.set(this.#flags);
    this.#flags = flags;
  }
}

function isAscending(ids: readonly number[]): boolean {
  for (let at = 1; at < ids.length; at++) if ((ids[at] as number) <= (ids[at - 1] as number)) return false;
  return true;
}
