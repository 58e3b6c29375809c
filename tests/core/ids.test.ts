import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatId, parseEventId, parseNodeId } from "../../src/core/ids.ts";

const failureOf = (fn: () => unknown): { code?: unknown; hint?: unknown; message: string } => {
  try {
    fn();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("it was taken for an id");
};

describe("node ids", () => {
  it("read back to the bytes they were made of, in capitals and with look-alikes too", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 10, maxLength: 10 }), (bytes) => {
        const id = formatId("thought", bytes);
        const typed = ` N_${id.slice(2).toUpperCase().replaceAll("0", "O").replaceAll("1", "I")} `;
        expect(Uint8Array.from(parseNodeId(id))).toEqual(bytes);
        expect(Uint8Array.from(parseNodeId(typed))).toEqual(bytes);
      }),
    );
  });

  it.each(["my landlord's number is 555", "n_uuuuuuuuuuuuuuuu", "n_0123", ""])(
    "refuse %j without repeating it",
    (text) => {
      const failure = failureOf(() => parseNodeId(text));
      expect(failure).toMatchObject({ code: "usage", message: "that is not a node id", hint: expect.any(String) });
    },
  );
});

describe("event ids", () => {
  it("are read with and without their prefix", () => {
    expect([parseEventId("e_12"), parseEventId(" 12 ")]).toEqual([12, 12]);
  });

  it("refuse other text without repeating it", () => {
    const failure = failureOf(() => parseEventId("since we moved"));
    expect(failure).toMatchObject({ code: "usage", message: "that is not an event id" });
  });
});
