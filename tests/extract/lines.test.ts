import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Line, ReadLinesOptions } from "../../src/extract/lines.ts";
import { readLines } from "../../src/extract/lines.ts";

let folder: string;
let path: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-lines-"));
  path = join(folder, "file.jsonl");
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

async function linesOf(bytes: Buffer | string, from = 0, options: ReadLinesOptions = {}): Promise<Line[]> {
  writeFileSync(path, bytes);
  const lines: Line[] = [];
  for await (const line of readLines(path, from, options)) lines.push(line);
  return lines;
}

const texts = (lines: readonly Line[]): (string | null)[] => lines.map((line) => line.text);

/** Walks the bytes one by one: slow, simple, no chunks. */
function oracle(bytes: Buffer, maxBytes: number): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (let at = 0; at <= bytes.length; at++) {
    const isBreak = bytes[at] === 0x0a;
    if (!isBreak && (at < bytes.length || start === at)) continue;
    let content = bytes.subarray(start, at);
    const tooLong = content.length > maxBytes;
    if (start === 0 && content.toString("hex").startsWith("efbbbf")) content = content.subarray(3);
    if (content.at(-1) === 0x0d) content = content.subarray(0, -1);
    let text: string | null = null;
    try {
      if (!tooLong) text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    } catch {
      text = null;
    }
    const end = isBreak ? at + 1 : at;
    lines.push({
      text,
      number: lines.length + 1,
      start,
      end,
      terminated: isBreak,
      tooLong,
      invalidUtf8: !tooLong && text === null,
    });
    start = end;
  }
  return lines;
}

describe("readLines", () => {
  it("gives text, number and byte offsets of each line", async () => {
    expect(await linesOf("één\nzwei\n")).toEqual([
      { text: "één", number: 1, start: 0, end: 6, terminated: true, tooLong: false, invalidUtf8: false },
      { text: "zwei", number: 2, start: 6, end: 11, terminated: true, tooLong: false, invalidUtf8: false },
    ]);
  });

  it("reports a last line without a break as not terminated", async () => {
    const lines = await linesOf("a\nbc");
    expect(lines.map((line) => [line.text, line.terminated, line.end])).toEqual([
      ["a", true, 2],
      ["bc", false, 4],
    ]);
  });

  it("gives nothing for an empty file and for an offset at or behind the end", async () => {
    expect(await linesOf("")).toEqual([]);
    expect(await linesOf("a\n", 2)).toEqual([]);
    expect(await linesOf("a\n", 99)).toEqual([]);
  });

  it("goes on from an offset with numbers after firstLine", async () => {
    const lines = await linesOf("a\nb\nc\n", 2, { firstLine: 1 });
    expect(lines.map((line) => [line.text, line.number, line.start])).toEqual([
      ["b", 2, 2],
      ["c", 3, 4],
    ]);
  });

  it("takes CRLF and blank lines, keeps a lone CR, and drops the byte order mark at the file's start only", async () => {
    const lines = await linesOf("\uFEFFa\r\n\r\nb\rc\n\uFEFFd\n");
    expect(texts(lines)).toEqual(["a", "", "b\rc", "\uFEFFd"]);
    expect(lines[0]?.start).toBe(0);
    expect(lines.at(-1)?.end).toBe(17);
  });

  it("reports a line over the limit without its text and reads on", async () => {
    const lines = await linesOf(`${"x".repeat(50)}\n${"y".repeat(10)}\n${"z".repeat(11)}`, 0, {
      maxBytes: 10,
      chunkBytes: 8,
    });
    expect(lines.map((line) => [line.text, line.tooLong, line.start, line.end])).toEqual([
      [null, true, 0, 51],
      ["y".repeat(10), false, 51, 62],
      [null, true, 62, 73],
    ]);
  });

  it("reports bytes that are no UTF-8 and reads on", async () => {
    const lines = await linesOf(Buffer.concat([Buffer.from([0xc3, 0x28, 0x0a]), Buffer.from("ok\n")]));
    expect(lines.map((line) => [line.text, line.invalidUtf8])).toEqual([
      [null, true],
      ["ok", false],
    ]);
  });

  it("keeps a character whole that lies on a chunk's border", async () => {
    for (let chunkBytes = 1; chunkBytes <= 8; chunkBytes++) {
      expect(texts(await linesOf("a🎉b\nç\n", 0, { chunkBytes }))).toEqual(["a🎉b", "ç"]);
    }
  });

  it("reads a line of many chunks", async () => {
    const long = "0123456789".repeat(300_000);
    expect(texts(await linesOf(`${long}\nend\n`))).toEqual([long, "end"]);
  });

  it("agrees with a byte-by-byte reading, whole and from every line's start", async () => {
    const byte = fc.oneof(fc.constantFrom(0x0a, 0x0d, 0x61, 0xef, 0xbb, 0xbf, 0xc3, 0xa9), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(
        fc.array(byte, { maxLength: 40 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 12 }),
        async (values, chunkBytes, maxBytes) => {
          const bytes = Buffer.from(values);
          const expected = oracle(bytes, maxBytes);
          expect(await linesOf(bytes, 0, { chunkBytes, maxBytes })).toEqual(expected);
          for (const [index, line] of expected.entries()) {
            const rest = await linesOf(bytes, line.start, { chunkBytes, maxBytes, firstLine: index });
            expect(rest).toEqual(expected.slice(index));
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it("names a file that is missing or no file", async () => {
    await expect(readLines(join(folder, "none"), 0).next()).rejects.toMatchObject({ code: "not_found" });
    await expect(readLines(folder, 0).next()).rejects.toMatchObject({ code: "io" });
  });

  it("closes the file when the caller stops early", async () => {
    writeFileSync(path, "a\nb\n");
    for (let round = 0; round < 3; round++) {
      const lines = readLines(path, 0);
      expect((await lines.next()).value?.text).toBe("a");
      await lines.return(undefined);
      expect((await lines.next()).done).toBe(true);
    }
  });
});
