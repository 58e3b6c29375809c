/**
 * Reads a file line by line with exact byte offsets, so that a run can stop anywhere and go on from there.
 * Memory stays bounded by one chunk and one line; a line over the limit is measured but never loaded, and
 * bytes that are no UTF-8 are reported, not repaired.
 */
import { isUtf8 } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";
import { DormouseError } from "../core/errors.ts";

export interface Line {
  /** Without its line break and byte order mark; null when `tooLong` or `invalidUtf8`. */
  readonly text: string | null;
  /** 1-based. */
  readonly number: number;
  /** Offset of the line's first byte. */
  readonly start: number;
  /** Offset after the line break: where the next line starts. */
  readonly end: number;
  /** False for a last line that has no line break yet. */
  readonly terminated: boolean;
  readonly tooLong: boolean;
  readonly invalidUtf8: boolean;
}

export interface ReadLinesOptions {
  /** Longest line that is loaded, in bytes. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Bytes per read. Default 1 MiB. */
  readonly chunkBytes?: number;
  /** Lines that lie before `from`. Default 0. */
  readonly firstLine?: number;
}

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
const DEFAULT_CHUNK_BYTES = 1024 * 1024;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * The lines of a file from byte `from` (a line's start) to the end. LF and CRLF end a line, a lone CR does
 * not. The last line comes with `terminated: false` when its break is missing; an empty rest is no line.
 * @throws DormouseError `not_found` or `io` when the file cannot be read.
 */
export async function* readLines(path: string, from: number, options: ReadLinesOptions = {}): AsyncGenerator<Line> {
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const chunk = Buffer.allocUnsafe(Math.max(1, options.chunkBytes ?? DEFAULT_CHUNK_BYTES));
  const file = await openFile(path);
  try {
    let number = options.firstLine ?? 0;
    let lineStart = from;
    let chunkStart = from;
    for (;;) {
      const size = await readAt(file, path, chunk, chunkStart);
      if (size === 0) break;
      const filled = chunk.subarray(0, size);
      let at = filled.indexOf(LINE_FEED);
      while (at >= 0) {
        const bytes =
          lineStart >= chunkStart
            ? limit(filled.subarray(lineStart - chunkStart, at), maxBytes)
            : await readSpan(file, path, lineStart, chunkStart + at, maxBytes);
        const end = chunkStart + at + 1;
        number += 1;
        yield makeLine(bytes, { number, start: lineStart, end, terminated: true });
        lineStart = end;
        at = filled.indexOf(LINE_FEED, at + 1);
      }
      chunkStart += size;
    }
    if (lineStart < chunkStart) {
      const bytes = await readSpan(file, path, lineStart, chunkStart, maxBytes);
      yield makeLine(bytes, { number: number + 1, start: lineStart, end: chunkStart, terminated: false });
    }
  } finally {
    await file.close();
  }
}

function limit(bytes: Buffer, maxBytes: number): Buffer | null {
  return bytes.length > maxBytes ? null : bytes;
}

/** A line that crossed a chunk's border is read again as one piece: one allocation of its exact size. */
async function readSpan(
  file: FileHandle,
  path: string,
  start: number,
  end: number,
  maxBytes: number,
): Promise<Buffer | null> {
  if (end - start > maxBytes) return null;
  const bytes = Buffer.allocUnsafe(end - start);
  let filled = 0;
  while (filled < bytes.length) {
    const size = await readAt(file, path, bytes.subarray(filled), start + filled);
    if (size === 0) throw new DormouseError("io", `${path} shrank while it was read`, { hint: "Run it again." });
    filled += size;
  }
  return bytes;
}

function makeLine(
  bytes: Buffer | null,
  place: { readonly number: number; readonly start: number; readonly end: number; readonly terminated: boolean },
): Line {
  if (bytes === null) return { text: null, ...place, tooLong: true, invalidUtf8: false };
  const hasMark = place.start === 0 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
  const hasReturn = bytes.length > 0 && bytes[bytes.length - 1] === CARRIAGE_RETURN;
  const content = bytes.subarray(hasMark ? 3 : 0, bytes.length - (hasReturn ? 1 : 0));
  if (!isUtf8(content)) return { text: null, ...place, tooLong: false, invalidUtf8: true };
  return { text: content.toString("utf8"), ...place, tooLong: false, invalidUtf8: false };
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (cause) {
    const missing = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
    throw new DormouseError(missing ? "not_found" : "io", missing ? `${path} does not exist` : `cannot open ${path}`, {
      cause,
    });
  }
}

async function readAt(file: FileHandle, path: string, target: Buffer, position: number): Promise<number> {
  try {
    return (await file.read(target, 0, target.length, position)).bytesRead;
  } catch (cause) {
    throw new DormouseError("io", `cannot read ${path}`, { cause });
  }
}
