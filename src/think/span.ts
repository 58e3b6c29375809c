/**
 * A pass over ascending ids that begins at the newest: what arrives later is taken in order, and in between the pass
 * goes down through what was there before, so that a large old brain keeps nobody waiting and everything has its turn.
 */
import type { Store } from "../store/store.ts";
import type { Place } from "./task.ts";

/** How rows are read on both sides: ascending above an id, descending from one down. */
export interface Sides<Row> {
  above(store: Store, after: number, limit: number): Row[];
  below(store: Store, upTo: number, limit: number): Row[];
  idOf(row: Row): number;
  /** The highest id there is, of whatever row. */
  top(store: Store): number;
}

export class Span<Row> {
  readonly #high: string;
  readonly #low: string;
  readonly #sides: Sides<Row>;
  #wasAbove = false;

  /** @param name begins the names of its two cursors */
  constructor(name: string, sides: Sides<Row>) {
    this.#high = `${name}.high`;
    this.#low = `${name}.low`;
    this.#sides = sides;
  }

  /** Where the pass stands; one that never began stands at the top. */
  begin(store: Store): Place {
    const top = this.#sides.top(store);
    // The low cursor is kept one higher, since a cursor that is not there reads 0.
    const low = store.operations.cursor(this.#low);
    return low === 0
      ? { [this.#high]: top, [this.#low]: top + 1 }
      : { [this.#high]: store.operations.cursor(this.#high), [this.#low]: low };
  }

  /** The next rows of one side, sides taking turns, and the place behind them; null when both sides are done. */
  next(store: Store, place: Place, limit: number): { readonly rows: readonly Row[]; readonly place: Place } | null {
    const first = this.#wasAbove ? "below" : "above";
    for (const side of [first, first === "above" ? "below" : "above"] as const) {
      const found = this.#read(store, side, place, limit);
      if (found === null) continue;
      this.#wasAbove = side === "above";
      return found;
    }
    return null;
  }

  /** Whether the pass has not come by this id yet. */
  isAhead(place: Place, id: number): boolean {
    return id > (place[this.#high] ?? 0) || id < (place[this.#low] ?? 1);
  }

  #read(store: Store, side: "above" | "below", place: Place, limit: number): { rows: Row[]; place: Place } | null {
    const { idOf } = this.#sides;
    if (side === "above") {
      const rows = this.#sides.above(store, place[this.#high] ?? 0, limit);
      const last = rows.at(-1);
      if (last !== undefined) return { rows, place: { ...place, [this.#high]: idOf(last) } };
      // What was passed over need not be passed over again.
      const top = this.#sides.top(store);
      return top <= (place[this.#high] ?? 0) ? null : { rows, place: { ...place, [this.#high]: top } };
    }
    const low = place[this.#low] ?? 1;
    if (low <= 1) return null;
    const rows = this.#sides.below(store, low - 1, limit);
    const last = rows.at(-1);
    // Nothing further down: the end is kept, so that nobody walks there again.
    if (last === undefined) return { rows, place: { ...place, [this.#low]: 1 } };
    return { rows, place: { ...place, [this.#low]: idOf(last) } };
  }
}
