/**
 * How far a file was read: recognises a file that grew, was replaced or stayed what it was, and makes the
 * cursor that says so. Keeps digests of paths and first bytes, never the bytes.
 */
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { ExtractCursor } from "../store/operations.ts";
import type { Store } from "../store/store.ts";
import { DETECT_HEAD_BYTES } from "./detect.ts";

/** Bytes from the start that tell a grown file from a replaced one. */
const HEAD_BYTES = 16 * 1024;
/** Bytes before a cursor that must still be there for the reading to go on. */
const TAIL_BYTES = 4 * 1024;

/** A file as it stands now. */
export interface FileFacts {
  /** As the caller named it, or below what the caller named. */
  readonly path: string;
  /** Identity: absolute, links above it resolved. */
  readonly absolute: string;
  readonly size: number;
  readonly mtimeMs: number;
  /** The first bytes, enough to tell the format. */
  readonly head: Buffer;
}

/** `fresh`: not read before, or another file now. `grown`: goes on where the cursor says. */
export type Standing = "fresh" | "grown" | "same";

/**
 * Reads the facts of a file.
 * @returns null with the rule told to `onFault` when it cannot be read.
 */
export async function readFacts(
  path: string,
  absolute: string,
  onFault: (rule: string) => void,
): Promise<FileFacts | null> {
  let file: FileHandle | undefined;
  try {
    file = await open(absolute, "r");
    const { size, mtimeMs } = await file.stat();
    const head = Buffer.alloc(Math.min(size, DETECT_HEAD_BYTES));
    let filled = 0;
    while (filled < head.length) {
      const { bytesRead } = await file.read(head, filled, head.length - filled, filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return { path, absolute, size, mtimeMs: Math.trunc(mtimeMs), head: head.subarray(0, filled) };
  } catch (error) {
    onFault(ruleOf(error));
    return null;
  } finally {
    await file?.close();
  }
}

/** The stable word for a failure of the file system. */
export function ruleOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return "not_found";
  return code === "EACCES" || code === "EPERM" ? "no_permission" : "unreadable";
}

export function digestFile(store: Store, absolute: string): Buffer {
  return store.digest("file", absolute);
}

/** Digests, as text, of every folder the file lies in. */
export function digestFoldersOf(store: Store, absolute: string): string[] {
  const digests: string[] = [];
  for (let folder = dirname(absolute); ; folder = dirname(folder)) {
    digests.push(digestFolder(store, folder));
    if (folder === dirname(folder)) return digests;
  }
}

export function digestFolder(store: Store, absolute: string): string {
  return store.digest("file", "folder", absolute).toString("base64url");
}

/** What the file is to what a cursor says it was. */
export function compareWithCursor(store: Store, facts: FileFacts, cursor: ExtractCursor): Standing {
  if (facts.size < cursor.size || facts.size < cursor.offset || facts.head.length < cursor.headBytes) return "fresh";
  if (!digestHead(store, facts.head.subarray(0, cursor.headBytes)).equals(cursor.headDigest)) return "fresh";
  if (facts.size > cursor.size) return "grown";
  // Written again at the same length: nothing was appended, so anything may have changed.
  return facts.mtimeMs === cursor.mtimeMs ? "same" : "fresh";
}

export function makeCursor(
  store: Store,
  facts: FileFacts,
  place: Pick<ExtractCursor, "offset" | "line" | "state">,
): ExtractCursor {
  const head = facts.head.subarray(0, HEAD_BYTES);
  return {
    size: facts.size,
    mtimeMs: facts.mtimeMs,
    headBytes: head.length,
    headDigest: digestHead(store, head),
    ...place,
  };
}

/**
 * Digest of the bytes before an offset: shows, later, that what was read still lies where it lay.
 * @throws as the file system does.
 */
export async function digestTail(store: Store, absolute: string, offset: number): Promise<string> {
  const tail = Buffer.alloc(Math.min(offset, TAIL_BYTES));
  const file = await open(absolute, "r");
  try {
    const { bytesRead } = await file.read(tail, 0, tail.length, offset - tail.length);
    return store.digest("file", "tail", tail.toString("latin1", 0, bytesRead)).toString("base64url");
  } finally {
    await file.close();
  }
}

function digestHead(store: Store, head: Buffer): Buffer {
  return store.digest("file", "head", head.toString("latin1"));
}
