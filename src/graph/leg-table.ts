/**
 * The legs of every thought and, the other way round, the children of every node, in typed arrays. Knows no
 * states. Node ids are dense and ascend from 1, so an id is its own index. A thought with one leg of one parent,
 * which most are, takes one word for it. Refuses ids that are no positive 32-bit integers.
 */

/** Ids of the parents of one leg, which must all stand; none: an axiom. */
export type Leg = readonly number[];

const LARGEST_ID = 0x7fff_ffff;
/** The record all thoughts share whose only leg is an axiom: one word follows, a leg of no parents. */
const AXIOM_RECORD = 1;
const FIRST_WORDS: readonly number[] = [0, 1, 0];
/** Changed edges, or abandoned words, up to which it is not worth laying the arrays anew. */
const CHANGES_KEPT = 65_536;
/** Rough cost of an entry of a Map or Set in V8, table and value together. */
const MAP_ENTRY_BYTES = 40;

export class LegTable {
  #highestId: number;
  /** By node: its only parent; 0 where it has no leg; else the record of its legs, negative. */
  #sole: Int32Array;
  /** Records: the number of words that follow, then for each leg the number of parents and the parents, ascending. */
  #words: Int32Array;
  #wordsUsed = FIRST_WORDS.length;
  #wordsAbandoned = 0;
  /** Children of node p as last indexed: `#children` from `#starts[p]` to `#starts[p + 1]`, ascending. */
  #starts: Uint32Array = new Uint32Array(2);
  #children: Uint32Array = new Uint32Array(0);
  /** What changed since: children by parent, and parents by child that its legs name no more. */
  readonly #added = new Map<number, number[]>();
  readonly #ended = new Map<number, Set<number>>();
  #changes = 0;

  constructor(highestId: number) {
    this.#highestId = highestId;
    this.#sole = new Int32Array(highestId + 1);
    this.#words = Int32Array.from(FIRST_WORDS);
  }

  /**
   * A table from what `compacted` gave.
   * @throws Error where a record does not lie within the words or does not end where it says
   */
  static restore(sole: Int32Array, words: Int32Array): LegTable {
    const table = new LegTable(0);
    table.#highestId = sole.length - 1;
    table.#sole = sole;
    table.#words = words;
    table.#wordsUsed = words.length;
    table.#check();
    table.index();
    return table;
  }

  get highestId(): number {
    return this.#highestId;
  }

  /** Memory held: the arrays exactly, the maps by estimate. */
  get bytes(): number {
    const arrays = [this.#sole, this.#words, this.#starts, this.#children];
    return (
      arrays.reduce((sum, { byteLength }) => sum + byteLength, 0) +
      (this.#added.size + this.#ended.size) * 2 * MAP_ENTRY_BYTES +
      this.#changes * MAP_ENTRY_BYTES
    );
  }

  /** Makes room for nodes up to this id. */
  reach(id: number): void {
    checkId(id);
    if (id <= this.#highestId) return;
    this.#sole = withRoom(this.#sole, id + 1);
    this.#highestId = id;
  }

  /** The parent of a thought with one leg of one parent; 0 for every other node. */
  soleParent(id: number): number {
    const sole = this.#sole[id] ?? 0;
    return Math.max(sole, 0);
  }

  /** The first leg of a thought that has a record; `endOfLegs` where it has none. A leg is a position. */
  firstLeg(id: number): number {
    const sole = this.#sole[id] ?? 0;
    return sole < 0 ? 1 - sole : 0;
  }

  /** Where `nextLeg` arrives after the last leg. */
  endOfLegs(id: number): number {
    const sole = this.#sole[id] ?? 0;
    return sole < 0 ? 1 - sole + this.#word(-sole) : 0;
  }

  nextLeg(leg: number): number {
    return leg + 1 + this.#word(leg);
  }

  /** Number of parents in a leg. */
  sizeOf(leg: number): number {
    return this.#word(leg);
  }

  /** A parent of a leg by its place; parents ascend. */
  parentAt(leg: number, place: number): number {
    return this.#word(leg + 1 + place);
  }

  /** Every parent in every leg of a thought; one that stands in several legs comes once for each. */
  eachParent(id: number, visit: (parent: number) => void): void {
    const sole = this.soleParent(id);
    if (sole > 0) visit(sole);
    const end = this.endOfLegs(id);
    for (let leg = this.firstLeg(id); leg < end; leg = this.nextLeg(leg)) {
      for (let place = 0; place < this.#word(leg); place++) visit(this.#word(leg + 1 + place));
    }
  }

  /** Every thought with a leg that names this node, each once. */
  eachChild(id: number, visit: (child: number) => void): void {
    if (id + 1 < this.#starts.length) {
      const end = this.#starts[id + 1] as number;
      for (let at = this.#starts[id] as number; at < end; at++) {
        const child = this.#children[at] as number;
        if (this.#ended.size === 0 || this.#ended.get(child)?.has(id) !== true) visit(child);
      }
    }
    for (const child of this.#added.get(id) ?? []) visit(child);
  }

  /**
   * Everything that is reachable downwards from these nodes, they included, each once, in no order.
   * @param marks by node; those reached bear `bit` afterwards, and none does before
   */
  reachableFrom(roots: readonly number[], marks: Uint8Array, bit: number): number[] {
    const reached: number[] = [];
    const take = (id: number) => {
      const mark = marks[id] ?? 0;
      if ((mark & bit) !== 0) return;
      marks[id] = mark | bit;
      reached.push(id);
    };
    for (const id of roots) take(id);
    const hasChanges = this.#changes > 0;
    const starts = this.#starts;
    const children = this.#children;
    for (let at = 0; at < reached.length; at++) {
      const id = reached[at] as number;
      if (hasChanges || id + 1 >= starts.length) {
        this.eachChild(id, take);
        continue;
      }
      const end = starts[id + 1] as number;
      for (let place = starts[id] as number; place < end; place++) take(children[place] as number);
    }
    return reached;
  }

  /** Writes the legs of a thought without telling its parents: only before `index`. */
  put(id: number, legs: readonly Leg[]): void {
    const [first] = legs;
    if (first === undefined) {
      this.#sole[id] = 0;
    } else if (legs.length === 1 && first.length < 2) {
      const [parent] = first;
      if (parent !== undefined) checkId(parent);
      this.#sole[id] = parent ?? -AXIOM_RECORD;
    } else {
      this.#sole[id] = -this.#append(legs.map(ascending));
    }
  }

  /** Changes the legs of a thought, its parents' children with them. */
  set(id: number, legs: readonly Leg[]): void {
    for (const leg of legs) leg.forEach(checkId);
    const before = new Set(this.#parentsOf(id));
    this.#abandon(id);
    this.put(id, legs);
    for (const parent of this.#parentsOf(id)) {
      if (!before.delete(parent)) this.#connect(parent, id);
    }
    for (const parent of before) this.#disconnect(parent, id);
    if (this.#changes > Math.max(CHANGES_KEPT, this.#highestId >> 2)) this.index();
  }

  /** Lays the children anew, drops what was abandoned and gives back spare room. */
  index(): void {
    this.#squeeze();
    this.#sole = this.#sole.slice(0, this.#highestId + 1);
    this.#added.clear();
    this.#ended.clear();
    this.#changes = 0;
    const starts = new Uint32Array(this.#highestId + 2);
    let edges = 0;
    for (let id = 1; id <= this.#highestId; id++) {
      this.#eachDistinctParent(id, (parent) => {
        if (parent > this.#highestId) return;
        starts[parent] = (starts[parent] as number) + 1;
        edges++;
      });
    }
    for (let id = 1; id < starts.length; id++) starts[id] = (starts[id] as number) + (starts[id - 1] as number);
    const children = new Uint32Array(edges);
    // From above, so that filling a list from its end leaves the children ascending and `starts` at its beginning.
    for (let id = this.#highestId; id > 0; id--) {
      this.#eachDistinctParent(id, (parent) => {
        if (parent > this.#highestId) return this.#connect(parent, id);
        const at = (starts[parent] as number) - 1;
        starts[parent] = at;
        children[at] = id;
      });
    }
    this.#starts = starts;
    this.#children = children;
  }

  /** The arrays that `restore` takes, after laying them anew. Shared, not copied. */
  compacted(): { readonly sole: Int32Array; readonly words: Int32Array } {
    if (this.#changes > 0 || this.#wordsAbandoned > 0 || this.#starts.length !== this.#highestId + 2) this.index();
    return { sole: this.#sole, words: this.#words };
  }

  #word(at: number): number {
    return this.#words[at] as number;
  }

  #append(legs: readonly Leg[]): number {
    const record = this.#wordsUsed;
    const size = legs.reduce((sum, leg) => sum + 1 + leg.length, 0);
    this.#words = withRoom(this.#words, record + 1 + size);
    this.#words[record] = size;
    let at = record + 1;
    for (const leg of legs) {
      this.#words[at] = leg.length;
      this.#words.set(leg, at + 1);
      at += 1 + leg.length;
    }
    this.#wordsUsed = at;
    return record;
  }

  #abandon(id: number): void {
    const record = -(this.#sole[id] ?? 0);
    if (record > AXIOM_RECORD) this.#wordsAbandoned += 1 + this.#word(record);
    if (this.#wordsAbandoned > Math.max(CHANGES_KEPT, this.#wordsUsed >> 1)) {
      this.#sole[id] = 0;
      this.#squeeze();
    }
  }

  /** Moves every record that still has its thought together. */
  #squeeze(): void {
    const before = this.#words;
    const kept = this.#wordsUsed - this.#wordsAbandoned;
    if (this.#wordsAbandoned === 0) {
      this.#words = before.slice(0, this.#wordsUsed);
      return;
    }
    this.#words = new Int32Array(kept);
    this.#words.set(FIRST_WORDS);
    let at = FIRST_WORDS.length;
    for (let id = 1; id <= this.#highestId; id++) {
      const record = -(this.#sole[id] as number);
      if (record <= AXIOM_RECORD) continue;
      const end = record + 1 + (before[record] as number);
      this.#words.set(before.subarray(record, end), at);
      this.#sole[id] = -at;
      at += end - record;
    }
    this.#wordsUsed = at;
    this.#wordsAbandoned = 0;
  }

  #parentsOf(id: number): number[] {
    const parents: number[] = [];
    this.eachParent(id, (parent) => parents.push(parent));
    return [...ascending(parents)];
  }

  #eachDistinctParent(id: number, visit: (parent: number) => void): void {
    const sole = this.#sole[id] as number;
    if (sole > 0) visit(sole);
    else if (sole < 0) for (const parent of this.#parentsOf(id)) visit(parent);
  }

  #connect(parent: number, child: number): void {
    const ended = this.#ended.get(child);
    if (ended?.delete(parent)) {
      this.#changes--;
      if (ended.size === 0) this.#ended.delete(child);
      return;
    }
    const added = this.#added.get(parent);
    if (added === undefined) this.#added.set(parent, [child]);
    else added.push(child);
    this.#changes++;
  }

  #disconnect(parent: number, child: number): void {
    const added = this.#added.get(parent);
    const place = added?.lastIndexOf(child) ?? -1;
    if (added !== undefined && place >= 0) {
      added.splice(place, 1);
      if (added.length === 0) this.#added.delete(parent);
      this.#changes--;
      return;
    }
    const ended = this.#ended.get(child);
    if (ended === undefined) this.#ended.set(child, new Set([parent]));
    else ended.add(parent);
    this.#changes++;
  }

  #check(): void {
    const { length } = this.#words;
    if (FIRST_WORDS.some((word, at) => this.#words[at] !== word))
      throw new Error("the words of the legs are malformed");
    for (const sole of this.#sole) {
      if (sole >= 0 || sole === -AXIOM_RECORD) continue;
      const record = -sole;
      const end = record < length ? record + 1 + this.#word(record) : Number.NaN;
      let at = record + 1;
      while (at < end && end <= length) {
        const size = this.#word(at);
        for (let place = at + 1; place <= at + size && place < end; place++) {
          if (this.#word(place) < 1) throw new Error("a leg names no node");
        }
        if (size < 0) break;
        at += 1 + size;
      }
      if (at !== end) throw new Error("the legs of a thought are malformed");
    }
  }
}

/** @throws RangeError for anything but a positive 32-bit integer */
function checkId(id: number): void {
  if (!Number.isInteger(id) || id < 1 || id > LARGEST_ID)
    throw new RangeError("a node id is a positive 32-bit integer");
}

/** Ids ascending, each once. */
export function ascending(ids: readonly number[]): readonly number[] {
  for (let at = 0; at < ids.length; at++) {
    checkId(ids[at] as number);
    if (at > 0 && (ids[at] as number) <= (ids[at - 1] as number)) {
      const sorted = Int32Array.from(ids).sort();
      return Array.from(sorted.filter((id, place) => place === 0 || id !== sorted[place - 1]));
    }
  }
  return ids;
}

/** The array, or a longer copy with an eighth to spare. */
function withRoom(array: Int32Array, length: number): Int32Array {
  if (length <= array.length) return array;
  const longer = new Int32Array(length + (length >> 3) + 1_024);
  longer.set(array);
  return longer;
}
