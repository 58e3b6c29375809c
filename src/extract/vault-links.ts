/**
 * Which note of a vault a link means. Follows what Obsidian does with ambiguous names; Foam's folder links
 * and plain relative Markdown links are understood too. Works on paths alone and never opens a file.
 */
import type { NoteLink } from "./markdown.ts";

export interface LinkResolver {
  /**
   * The path of the note, spelled as it was given to `createLinkResolver`, or null for a note that is not
   * there and for attachments. `fromPath` is the note the link stands in.
   */
  resolve(fromPath: string, link: NoteLink): string | null;
}

interface Candidate {
  path: string;
  /** Folded path without extension. */
  key: string;
  folder: string;
}

const NOTE_EXTENSION = /\.(?:md|markdown)$/i;
/** Notes that stand for their folder. */
const FOLDER_NOTES = ["index", "readme"];

/**
 * Builds the index once per vault. `paths` are relative to the vault's root, with `/`; anything but
 * Markdown is ignored. Names are compared without case and Unicode form. Order of preference: the exact path from
 * the root; the path from the linking note's folder; among notes whose path ends like the target, the one in the
 * linking note's own folder, then the shortest path, the fewest folders, the first in code-unit order.
 * A target that begins with `.` or `/` is a path and nothing else.
 */
export function createLinkResolver(paths: readonly string[]): LinkResolver {
  const byKey = new Map<string, Candidate[]>();
  const byName = new Map<string, Candidate[]>();
  for (const path of paths) {
    if (!NOTE_EXTENSION.test(path)) continue;
    const key = foldTarget(path);
    const candidate = { path, key, folder: folderOf(key) };
    append(byKey, key, candidate);
    append(byName, nameOf(key), candidate);
  }

  /** Of notes whose names differ only in case, the one spelled like the link. */
  const exact = (key: string | null, spelling: string): string | null =>
    key === null ? null : best(byKey.get(key) ?? [], "", spelling);

  const folderNote = (key: string | null): string | null => {
    if (key === null) return null;
    return best(
      FOLDER_NOTES.flatMap((name) => byKey.get(key === "" ? name : `${key}/${name}`) ?? []),
      key,
      "",
    );
  };

  const bySuffix = (key: string, folder: string, spelling: string): string | null => {
    const named = byName.get(nameOf(key)) ?? [];
    return best(
      named.filter((one) => one.key === key || one.key.endsWith(`/${key}`)),
      folder,
      spelling,
    );
  };

  const folderNoteBySuffix = (key: string, folder: string): string | null => {
    const notes = FOLDER_NOTES.flatMap((name) => byName.get(name) ?? []);
    return best(
      notes.filter((one) => one.folder.endsWith(`/${key}`)),
      folder,
      "",
    );
  };

  return {
    resolve(fromPath, link) {
      const from = foldTarget(fromPath);
      if (link.target === "") return best(byKey.get(from) ?? [], "", fromPath);
      const target = (link.style === "markdown" ? decode(link.target) : link.target).replaceAll("\\", "/");
      const spelling = target.replace(/^(?:\.{0,2}\/)+/, "");
      const key = foldTarget(target);
      const folder = folderOf(from);
      const fromRoot = joinPath("", key);
      const fromFolder = joinPath(folder, key);
      if (target.startsWith("/")) return exact(fromRoot, spelling) ?? folderNote(fromRoot);
      if (/^\.{1,2}(?:\/|$)/.test(target)) return exact(fromFolder, spelling) ?? folderNote(fromFolder);
      if (fromRoot === null || fromRoot === "") return null;
      if (link.style === "markdown") {
        const beside = exact(fromFolder, spelling) ?? folderNote(fromFolder);
        if (beside !== null) return beside;
      }
      return (
        exact(fromRoot, spelling) ??
        // A bare name beside the link is found below, after the rules for bare names.
        (fromRoot.includes("/") ? exact(fromFolder, spelling) : null) ??
        bySuffix(fromRoot, folder, spelling) ??
        folderNote(fromRoot) ??
        folderNote(fromFolder) ??
        folderNoteBySuffix(fromRoot, folder)
      );
    },
  };
}

/**
 * Form of a heading for comparing: letters and digits only, without case. `What's new?`, `whats new` and the
 * anchor `whats-new` are equal; a heading without letters or digits stays as it is.
 */
export function headingKey(text: string): string {
  const folded = text.normalize("NFC").toLowerCase().trim();
  const key = folded.replace(/[^\p{L}\p{M}\p{N}]+/gu, "");
  return key === "" ? folded.replace(/\s+/g, " ") : key;
}

function best(candidates: readonly Candidate[], folder: string, spelling: string): string | null {
  const wanted = spelling.normalize("NFC").replace(NOTE_EXTENSION, "");
  const rank = (one: Candidate): (number | string)[] => [
    one.folder === folder ? 0 : 1,
    one.key.length,
    one.key.split("/").length,
    one.path.normalize("NFC").replace(NOTE_EXTENSION, "").endsWith(wanted) ? 0 : 1,
    one.path,
  ];
  let winner: Candidate | undefined;
  for (const one of candidates) if (winner === undefined || isBefore(rank(one), rank(winner))) winner = one;
  return winner?.path ?? null;
}

function isBefore(a: readonly (number | string)[], b: readonly (number | string)[]): boolean {
  for (let index = 0; index < a.length; index += 1) {
    const left = a[index] ?? 0;
    const right = b[index] ?? 0;
    if (left !== right) return left < right;
  }
  return false;
}

/** NFC, lower case, ordinary blanks, no extension, no slash at the end. */
function foldTarget(path: string): string {
  return path
    .normalize("NFC")
    .toLowerCase()
    .normalize("NFC")
    .replace(/[\u00a0\u202f]/g, " ")
    .trim()
    .replace(/\/+$/, "")
    .replace(NOTE_EXTENSION, "");
}

/** Resolves `.` and `..`; null when the path leaves the vault. */
function joinPath(folder: string, path: string): string | null {
  const parts = folder === "" ? [] : folder.split("/");
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join("/");
}

function folderOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/")));
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

function append(map: Map<string, Candidate[]>, key: string, candidate: Candidate): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [candidate]);
  else list.push(candidate);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
