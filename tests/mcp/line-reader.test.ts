import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Line, LineReader, MAX_LINE_BYTES } from "../../src/mcp/line-reader.ts";

function readAll(chunks: readonly Buffer[]): (string | null)[] {
  const reader = new LineReader();
  const lines: Line[] = [...chunks.flatMap((chunk) => [...reader.push(chunk)])];
  const last = reader.finish();
  if (last !== null) lines.push(last);
  return lines.map((line) => ("tooLong" in line ? null : line.bytes.toString("latin1")));
}

describe("the line reader", () => {
  it("gives the same lines however the bytes are cut", () => {
    const text = fc.array(fc.constantFrom("a", "é", "\r", "\n", "\r\n", "long line "), { maxLength: 40 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(60), { maxLength: 8 }), (parts, cuts) => {
        const bytes = Buffer.from(parts.join(""), "utf8");
        const at = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b);
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        const whole = bytes.toString("latin1");
        const expected = whole.split("\n").map((line) => line.replace(/\r$/, ""));
        if (whole.endsWith("\n") || whole === "") expected.pop();
        // A lone carriage return at the very end is what an unterminated empty line would be.
        expect(readAll(chunks)).toEqual(expected);
      }),
    );
  });

  it.each([
    ["as long as allowed", MAX_LINE_BYTES, "\n", false],
    ["as long as allowed, before a carriage return", MAX_LINE_BYTES, "\r\n", false],
    ["one byte longer", MAX_LINE_BYTES + 1, "\n", true],
    ["one byte longer, before a carriage return", MAX_LINE_BYTES + 1, "\r\n", true],
  ])("judges a line %s", (_, length, end, isTooLong) => {
    const bytes = Buffer.from(`${"x".repeat(length)}${end}next\n`);
    for (const size of [bytes.length, 65_536, MAX_LINE_BYTES + 1]) {
      const chunks: Buffer[] = [];
      for (let start = 0; start < bytes.length; start += size) chunks.push(bytes.subarray(start, start + size));
      expect(readAll(chunks).map((line) => line?.length ?? null)).toEqual([isTooLong ? null : length, 4]);
    }
  });

  it("reports a line that is too long while it still arrives, once, and holds none of it", () => {
    const reader = new LineReader();
    const piece = Buffer.alloc(65_536, "x");
    let reports = 0;
    for (let bytes = 0; bytes < 8 * MAX_LINE_BYTES; bytes += piece.length) reports += [...reader.push(piece)].length;
    expect(reports).toBe(1);
    expect(reader.finish()).toBeNull();
    expect([...reader.push(Buffer.from("\nafter\n"))]).toEqual([{ bytes: Buffer.from("after") }]);
  });
});
