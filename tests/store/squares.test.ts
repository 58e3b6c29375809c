import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Squares } from "../../src/store/squares.ts";

const numbers = (count: number) =>
  fc.array(fc.integer({ min: -128, max: 127 }), { minLength: count, maxLength: count });

const assembly = Reflect.get(globalThis, "WebAssembly") as { Memory: unknown };
const Memory = assembly.Memory;
afterEach(() => {
  assembly.Memory = Memory;
});
/** As in a process whose address space is limited. */
const refuseMemory = () => {
  assembly.Memory = class {
    constructor() {
      throw new RangeError("could not allocate memory");
    }
  };
};

describe.each([
  ["in WebAssembly", () => {}],
  ["without room for it", refuseMemory],
])("squared distances %s", (_, prepare) => {
  beforeEach(prepare);

  it("are those of plain arithmetic, for any dimensions and any bytes", () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 70 })
          .chain((dimensions) =>
            fc.tuple(fc.constant(dimensions), numbers(dimensions), fc.array(numbers(dimensions), { maxLength: 20 })),
          ),
        ([dimensions, query, rows]) => {
          const squares = new Squares(dimensions);
          squares.load(Int8Array.from(rows.flat()));
          const wanted = rows.map((row) => row.reduce((sum, value, at) => sum + (value - (query[at] ?? 0)) ** 2, 0));
          expect([...squares.from(Int8Array.from(query))]).toEqual(wanted);
        },
      ),
    );
  });

  it("follow the rows loaded last, more or fewer than before", () => {
    const squares = new Squares(16);
    squares.load(new Int8Array(16 * 20_000).fill(3));
    expect(squares.from(new Int8Array(16))).toHaveLength(20_000);
    expect(squares.from(new Int8Array(16))[19_999]).toBe(16 * 9);
    squares.load(new Int8Array(16).fill(2));
    expect([...squares.from(new Int8Array(16).fill(1))]).toEqual([16]);
    squares.load(new Int8Array(0));
    expect([...squares.from(new Int8Array(16))]).toEqual([]);
  });

  it("refuse more dimensions than fit", () => {
    expect(() => new Squares(40_000)).toThrow(RangeError);
  });
});
