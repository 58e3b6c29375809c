/**
 * Walks a folder of files to extract, in a fixed order and one folder at a time. Hidden and ignored entries
 * are left out, links are followed but nothing is met twice, and no folder it cannot read stops it. It never
 * opens a file other than ignore files and the vault's own settings.
 */
import type { Dirent, Stats } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, join, relative as relativePath, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { DormouseError } from "../core/errors.ts";

export interface WalkOptions {
  /** Name of the files with gitignore rules, honoured in every folder. Default: ".dormouseignore". */
  readonly ignoreFile?: string;
  /** Rules: no_permission, unreadable, bad_name (no UTF-8), broken_link. */
  onFault(path: string, rule: string): void;
}

export interface WalkedFile {
  /** Below the root as it was given. */
  readonly path: string;
  /** From the root, with `/`, spelled as on the disk. */
  readonly relative: string;
}

/** Left out whatever an ignore file says. */
const NEVER = new Set([".git", ".obsidian", ".trash", "node_modules"]);
/** Left out unless an ignore file takes them back in. */
const HIDDEN = ".*";
const TEMPLATE_FOLDERS = new Set(["templates", "template", "_templates"]);

/**
 * Regular files below `root`, sorted by name in code-unit order, folders in place. A link to something the
 * walk meets anyway is left out, so each file comes once. A file named by `root` itself is the only one.
 * @throws DormouseError `not_found` when there is no `root`.
 */
export async function* walkFiles(root: string, options: WalkOptions): AsyncGenerator<WalkedFile> {
  const kind = await statOrFault(root, options);
  if (kind === "missing") {
    throw new DormouseError("not_found", `There is no file or folder ${root}`, { hint: "Check the path." });
  }
  if (kind === null) return;
  if (kind.isFile()) {
    yield { path: root, relative: basename(root) };
    return;
  }
  const realRoot = await realpath(root);
  const walk: Walk = {
    root,
    realRoot,
    ignoreFile: options.ignoreFile ?? ".dormouseignore",
    options,
    entered: new Set([realRoot]),
    linkedFiles: new Set(),
  };
  yield* walkFolder(walk, { relative: "", real: realRoot, rules: createRules() });
}

/** True for a folder with `.obsidian` or `.foam` in it, and for one with any Markdown file below it. */
export async function isVault(root: string): Promise<boolean> {
  for (const marker of [".obsidian", ".foam"]) {
    const kind = await stat(join(root, marker)).catch(() => null);
    if (kind?.isDirectory() === true) return true;
  }
  for await (const file of walkFiles(root, { onFault: () => undefined })) {
    if (/\.md$/i.test(file.relative)) return true;
  }
  return false;
}

/**
 * True for a file in a templates folder: text with holes, not somebody's words. `configured` is the folder
 * the vault names itself (`readTemplatesFolder`), from the vault's root.
 */
export function isTemplatePath(relative: string, configured: string | null = null): boolean {
  const folders = relative.normalize("NFC").toLowerCase().split("/").slice(0, -1);
  if (folders.some((folder) => TEMPLATE_FOLDERS.has(folder))) return true;
  return configured !== null && `${folders.join("/")}/`.startsWith(`${configured.normalize("NFC").toLowerCase()}/`);
}

/** The folder set in `.obsidian/templates.json`, from the vault's root, without slashes around; null when none is. */
export async function readTemplatesFolder(root: string): Promise<string | null> {
  try {
    const settings: unknown = JSON.parse(await readFile(join(root, ".obsidian", "templates.json"), "utf8"));
    if (typeof settings !== "object" || settings === null || !("folder" in settings)) return null;
    const folder = typeof settings.folder === "string" ? settings.folder.replace(/^[./]+|\/+$/g, "") : "";
    return folder === "" ? null : folder;
  } catch {
    return null;
  }
}

interface Walk {
  readonly root: string;
  readonly realRoot: string;
  readonly ignoreFile: string;
  readonly options: WalkOptions;
  /** Real paths of the root and of folders entered through links. */
  readonly entered: Set<string>;
  /** Real paths of files met through links. */
  readonly linkedFiles: Set<string>;
}

interface Folder {
  /** "" is the root. */
  readonly relative: string;
  readonly real: string;
  readonly rules: Ignore;
}

async function* walkFolder(walk: Walk, folder: Folder): AsyncGenerator<WalkedFile> {
  const entries = await readEntries(walk, folder);
  const rules = entries.some((entry) => entry.name === walk.ignoreFile)
    ? await addRules(walk, folder.rules, folder.relative, walk.options.onFault)
    : folder.rules;
  for (const { name, entry } of entries) {
    if (name === walk.ignoreFile) continue;
    const relative = joinRelative(folder.relative, name);
    const path = join(walk.root, relative);
    const real = join(folder.real, name);
    if (entry.isSymbolicLink()) {
      yield* followLink(walk, relative, rules);
    } else if (entry.isDirectory()) {
      if (isLeftOut(rules, relative, true) || walk.entered.has(real)) continue;
      yield* walkFolder(walk, { relative, real, rules });
    } else if (entry.isFile() && !isLeftOut(rules, relative, false) && !walk.linkedFiles.has(real)) {
      yield { path, relative };
    }
  }
}

async function* followLink(walk: Walk, relative: string, rules: Ignore): AsyncGenerator<WalkedFile> {
  const path = join(walk.root, relative);
  if (isLeftOut(rules, relative, false)) return;
  const kind = await statOrFault(path, walk.options);
  if (kind === "missing") walk.options.onFault(path, "broken_link");
  if (kind === null || kind === "missing" || !(kind.isFile() || kind.isDirectory())) return;
  const real = await realpath(path).catch(() => null);
  if (real === null || (await isMetAnyway(walk, real, kind.isDirectory()))) return;
  if (kind.isFile()) {
    if (walk.linkedFiles.has(real)) return;
    walk.linkedFiles.add(real);
    yield { path, relative };
    return;
  }
  // A link to a folder above the root would bring in everything around it.
  if (isLeftOut(rules, relative, true) || isInside(real, walk.realRoot)) return;
  walk.entered.add(real);
  yield* walkFolder(walk, { relative, real, rules });
}

/** Whether the walk comes, or came, by this real path without the link. */
async function isMetAnyway(walk: Walk, real: string, isFolder: boolean): Promise<boolean> {
  for (const entered of walk.entered) {
    // Rules of folders behind links are not asked again; to leave out is the side that cannot loop.
    if (entered !== walk.realRoot && isInside(entered, real)) return true;
  }
  if (!isInside(walk.realRoot, real)) return false;
  if (real === walk.realRoot) return true;
  const names = relativePath(walk.realRoot, real).split(sep);
  let rules = createRules();
  let reached = "";
  for (const [index, name] of names.entries()) {
    rules = await addRules(walk, rules, reached, () => undefined);
    reached = joinRelative(reached, name);
    if (isLeftOut(rules, reached, isFolder || index < names.length - 1)) return false;
  }
  return true;
}

async function readEntries(walk: Walk, folder: Folder): Promise<{ name: string; entry: Dirent<Buffer> }[]> {
  const path = join(walk.root, folder.relative);
  let raw: Dirent<Buffer>[];
  try {
    // As bytes: a name that is no UTF-8 would come back as another name.
    raw = await readdir(path, { withFileTypes: true, encoding: "buffer" });
  } catch (error) {
    // Gone since its parent was listed: as if it had never been.
    if (codeOf(error) !== "ENOENT") walk.options.onFault(path, faultOf(error));
    return [];
  }
  const entries = raw.flatMap((entry) => {
    const name = entry.name.toString("utf8");
    if (Buffer.from(name, "utf8").equals(entry.name)) return [{ name, entry }];
    walk.options.onFault(join(path, name), "bad_name");
    return [];
  });
  return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

// ---- ignore rules ----

function createRules(): Ignore {
  return ignore({ ignorecase: false }).add(HIDDEN);
}

function isLeftOut(rules: Ignore, relative: string, isFolder: boolean): boolean {
  if (NEVER.has(basename(relative))) return true;
  return rules.ignores(`${relative.normalize("NFC")}${isFolder ? "/" : ""}`);
}

/**
 * The rules with those of one folder's ignore file after them, rewritten to count from the root, so that
 * the last rule that matches decides, as in git.
 */
async function addRules(walk: Walk, rules: Ignore, folder: string, onFault: WalkOptions["onFault"]): Promise<Ignore> {
  const path = join(walk.root, folder, walk.ignoreFile);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") onFault(path, faultOf(error));
    return rules;
  }
  const added = ignore({ ignorecase: false }).add(rules);
  for (const line of text.replace(/^\ufeff/, "").split(/\r?\n/)) {
    const rule = anchorRule(line.normalize("NFC"), folder.normalize("NFC"));
    if (rule !== null) added.add(rule);
  }
  return added;
}

/** One gitignore line of `folder` as a line of the root; null for comments and blank lines. */
function anchorRule(line: string, folder: string): string | null {
  const negation = line.startsWith("!") ? "!" : "";
  const pattern = line.slice(negation.length);
  if (pattern.trim() === "" || line.startsWith("#")) return null;
  if (folder === "") return line;
  const prefix = folder.replace(/[\\*?[\]!# ]/g, "\\$&");
  const body = pattern.replace(/^\//, "");
  const isAnchored = pattern.startsWith("/") || /\/(?=\s*\S)/.test(pattern);
  return `${negation}/${prefix}/${isAnchored ? "" : "**/"}${body}`;
}

// ---- paths and faults ----

async function statOrFault(path: string, options: WalkOptions): Promise<Stats | "missing" | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "missing";
    options.onFault(path, faultOf(error));
    return null;
  }
}

function faultOf(error: unknown): string {
  const code = codeOf(error);
  return code === "EACCES" || code === "EPERM" ? "no_permission" : "unreadable";
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function joinRelative(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** Whether `path` is below `folder`, or the folder itself. */
function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
