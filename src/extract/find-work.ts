/**
 * Finds out what the given paths hold: files of records, text, vaults. Reads folders and sizes only; what a
 * file is, is told when its turn comes. A path that is not there or cannot be read is reported and left.
 */
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve, sep } from "node:path";
import { ruleOf } from "./file-place.ts";
import type { Format } from "./format.ts";
import type { Tally } from "./tally.ts";
import { findVaultRoot, type VaultWork } from "./vault.ts";
import { isTemplatePath, readTemplatesFolder, type WalkedFile, walkFiles } from "./walk.ts";

/** A file that is no note; what is in it is told from its first bytes. */
export interface FileWork {
  readonly path: string;
  readonly absolute: string;
  readonly size: number;
  /** True for a file that the caller named: then nothing about it is passed over in silence. */
  readonly explicit: boolean;
}

export interface Work {
  readonly files: readonly FileWork[];
  readonly vaults: readonly VaultWork[];
  readonly hasStdin: boolean;
  /** Of files and notes together. */
  readonly bytes: number;
}

/** Stands for standard input among the paths. */
export const STDIN_PATH = "-";

const NOTE_NAME = /\.(?:md|markdown)$/i;
/** Files of a folder that may hold something to extract; the rest are counted by name only. */
const CANDIDATES: ReadonlyMap<string, readonly Format[]> = new Map([
  [".jsonl", ["claude-code", "jsonl"]],
  [".ndjson", ["claude-code", "jsonl"]],
  [".json", ["claude-code", "jsonl"]],
  [".txt", ["text"]],
  [".text", ["text"]],
]);

type Note = VaultWork["notes"][number];

/** Works through the paths in order; a file that two of them lead to comes once. */
export async function findWork(paths: readonly string[], format: Format | "auto", tally: Tally): Promise<Work> {
  return new WorkFinder(format, tally).find(paths);
}

class WorkFinder {
  readonly #format: Format | "auto";
  readonly #tally: Tally;
  readonly #met = new Set<string>();
  readonly #files: FileWork[] = [];
  readonly #vaults: VaultWork[] = [];
  /** Notes named one by one, by their vault's root. */
  readonly #singles = new Map<string, { marked: boolean; notes: Note[] }>();
  #hasStdin = false;
  #bytes = 0;

  constructor(format: Format | "auto", tally: Tally) {
    this.#format = format;
    this.#tally = tally;
  }

  async find(paths: readonly string[]): Promise<Work> {
    for (const path of paths) {
      if (path === STDIN_PATH) this.#hasStdin = true;
      else await this.#add(path);
    }
    for (const [root, { marked, notes }] of this.#singles) {
      const others = marked ? await listNotes(root) : [];
      const linkable = [...new Set([...notes.map((note) => note.relative), ...others])];
      this.#vaults.push({ root, path: root, notes, linkable, whole: false, unread: [], hollow: false });
    }
    return { files: this.#files, vaults: this.#vaults, hasStdin: this.#hasStdin, bytes: this.#bytes };
  }

  async #add(path: string): Promise<void> {
    try {
      const absolute = await realpath(resolve(path));
      const kind = await stat(absolute);
      if (kind.isDirectory()) await this.#addFolder(path, absolute);
      else if (!kind.isFile()) this.#tally.fail(path, null, "not_a_file");
      else if (this.#isNote(path)) await this.#addNote(path, absolute, kind.size);
      else this.#addFile({ path, absolute, size: kind.size, explicit: true });
    } catch (error) {
      const rule = ruleOf(error);
      this.#tally.fail(path, null, rule, rule === "not_found" ? "Check the path." : undefined);
    }
  }

  #isNote(path: string): boolean {
    return this.#format === "markdown" || (this.#format === "auto" && NOTE_NAME.test(path));
  }

  #addFile(file: FileWork): void {
    if (!this.#meet(file.absolute)) return;
    this.#files.push(file);
    this.#bytes += file.size;
  }

  async #addNote(path: string, absolute: string, size: number): Promise<void> {
    if (!this.#meet(absolute)) return;
    const { root, marked } = await findVaultRoot(absolute);
    const vault = this.#singles.get(root) ?? { marked, notes: [] };
    vault.notes.push({ path, absolute, relative: toRelative(root, absolute), explicit: true });
    this.#singles.set(root, vault);
    this.#bytes += size;
  }

  async #addFolder(path: string, root: string): Promise<void> {
    const unread: string[] = [];
    const notes: Note[] = [];
    let isHollow = true;
    const templates = await readTemplatesFolder(root);
    const onFault = (at: string, rule: string): void => {
      isHollow = false;
      const absolute = join(root, relative(path, at));
      unread.push(absolute);
      if (rule === "broken_link") this.#tally.skip(rule);
      else this.#tally.fail(at, null, rule);
    };
    for await (const file of walkFiles(path, { onFault })) {
      isHollow = false;
      const absolute = join(root, file.relative);
      const size = await this.#sizeOf(file, absolute, unread);
      if (size === null) continue;
      if (NOTE_NAME.test(file.relative)) {
        if (this.#format !== "auto" && this.#format !== "markdown") this.#tally.skip("other_format");
        else if (isTemplatePath(file.relative, templates)) this.#tally.skip("template");
        else if (this.#meet(absolute)) {
          notes.push({ path: file.path, absolute, relative: file.relative, explicit: false });
          this.#bytes += size;
        }
      } else if (this.#isCandidate(file.relative)) {
        this.#addFile({ path: file.path, absolute, size, explicit: false });
      }
    }
    if (this.#format !== "auto" && this.#format !== "markdown") return;
    this.#vaults.push({
      root,
      path,
      notes,
      linkable: notes.map((note) => note.relative),
      whole: true,
      unread,
      hollow: isHollow,
    });
  }

  async #sizeOf(file: WalkedFile, absolute: string, unread: string[]): Promise<number | null> {
    try {
      return (await stat(absolute)).size;
    } catch (error) {
      const rule = ruleOf(error);
      unread.push(absolute);
      // Gone since its folder was listed: as if it had never been.
      if (rule !== "not_found") this.#tally.fail(file.path, null, rule);
      return null;
    }
  }

  #isCandidate(name: string): boolean {
    const formats = CANDIDATES.get(extname(name).toLowerCase());
    const isWanted = formats !== undefined && (this.#format === "auto" || formats.includes(this.#format));
    if (!isWanted) this.#tally.skip(formats === undefined ? "other_file" : "other_format");
    return isWanted;
  }

  /** False for a file that another path led to. */
  #meet(absolute: string): boolean {
    if (this.#met.has(absolute)) return false;
    this.#met.add(absolute);
    return true;
  }
}

async function listNotes(root: string): Promise<string[]> {
  const notes: string[] = [];
  for await (const file of walkFiles(root, { onFault: () => undefined })) {
    if (NOTE_NAME.test(file.relative)) notes.push(file.relative);
  }
  return notes;
}

function toRelative(root: string, absolute: string): string {
  const path = relative(root, absolute);
  return dirname(path) === "." ? basename(path) : path.split(sep).join("/");
}
