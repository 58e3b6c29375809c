/**
 * Where this machine keeps models: a folder of models and `models.json` beside it, in Dormouse's home. A brain
 * names its model and nothing else, so that the file can be carried to another machine.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { DormouseError } from "../../core/errors.ts";
import { type DigestCache, type EmbeddingRules, missingModelFiles } from "./model-folder.ts";
import { hubRepository } from "./model-names.ts";

/** What is remembered of a model: its folder and the rules that a person gave for it. */
export interface ModelEntry {
  readonly directory?: string;
  readonly rules?: Partial<Pick<EmbeddingRules, "queryPrefix" | "passagePrefix">>;
}

type Entries = Readonly<Record<string, ModelEntry>>;

/** Digests kept at most; each is of one file of one model. */
const MAX_DIGESTS = 100;

export class ModelPlaces {
  readonly #home: string;

  /** @param home Dormouse's folder of this person; default `~/.dormouse` */
  constructor(home: string = join(homedir(), ".dormouse")) {
    this.#home = home;
  }

  /**
   * The folder of a model on this machine, or null when none is known.
   * @param preferred comes before what is remembered: the model's own folder, or one that holds it under its name.
   * The folder of another known model, and one that holds only other models, are passed over.
   */
  locate(name: string, preferred?: string): string | null {
    if (preferred !== undefined) {
      const inside = join(preferred, ...name.split("/"));
      if (existsSync(inside)) return resolve(inside);
      const isAnothers = hubRepository(basename(preferred)) !== null && basename(preferred) !== name;
      if (!isAnothers && !holdsModels(preferred)) return resolve(preferred);
    }
    const { directory } = this.entry(name);
    if (directory !== undefined) return directory;
    const folder = this.folderFor(name);
    return existsSync(folder) ? folder : null;
  }

  /** Where a downloaded model goes. */
  folderFor(name: string): string {
    return join(this.#home, "models", ...name.split("/"));
  }

  /** @throws DormouseError `damaged` when models.json cannot be read */
  entry(name: string): ModelEntry {
    return this.#read()[name] ?? {};
  }

  /** Names of models that this machine has or remembers, sorted. */
  names(): string[] {
    return [...new Set([...Object.keys(this.#read()), ...this.#downloaded()])].sort();
  }

  /** Remembers where a model is. @throws DormouseError `io`, `damaged` */
  remember(name: string, entry: ModelEntry): void {
    this.#write("models.json", { ...this.#read(), [name]: entry });
  }

  /** Digests of files that were read before; kept in the home, and done without where that cannot be written. */
  digests(): DigestCache {
    const file = "model-digests.json";
    const known = new Map(Object.entries(this.#readStrings(file)));
    return {
      get: (key) => known.get(key),
      set: (key, digest) => {
        known.set(key, digest);
        try {
          this.#write(file, Object.fromEntries([...known].slice(-MAX_DIGESTS)));
        } catch (error) {
          if (!(error instanceof DormouseError)) throw error;
        }
      },
    };
  }

  #downloaded(): string[] {
    const root = join(this.#home, "models");
    return foldersIn(root).flatMap((folder) => {
      if (missingModelFiles(join(root, folder)).length === 0) return [folder];
      return foldersIn(join(root, folder))
        .filter((inner) => missingModelFiles(join(root, folder, inner)).length === 0)
        .map((inner) => `${folder}/${inner}`);
    });
  }

  #read(): Entries {
    const path = join(this.#home, "models.json");
    if (!existsSync(path)) return {};
    const parsed = parseObject(readFileSync(path, "utf8"));
    if (parsed === null || !Object.values(parsed).every(isEntry)) {
      throw new DormouseError("damaged", `${path} cannot be understood`, {
        hint: "Remove it and name the models' folders again: `dormouse model use NAME --dir DIR`.",
      });
    }
    return parsed as Entries;
  }

  /** The strings in a JSON object; none when the file is not there or is something else. */
  #readStrings(file: string): Record<string, string> {
    const path = join(this.#home, file);
    const parsed = existsSync(path) ? parseObject(readFileSync(path, "utf8")) : null;
    return Object.fromEntries(Object.entries(parsed ?? {}).filter((entry) => typeof entry[1] === "string")) as Record<
      string,
      string
    >;
  }

  /** Another process sees the old file or the new one, never half of it. */
  #write(file: string, value: unknown): void {
    const path = join(this.#home, file);
    const part = `${path}.${process.pid}.part`;
    try {
      mkdirSync(this.#home, { recursive: true, mode: 0o700 });
      writeFileSync(part, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
      renameSync(part, path);
    } catch (error) {
      throw new DormouseError("io", `${path} cannot be written`, { cause: error });
    }
  }
}

function foldersIn(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name);
}

function holdsModels(folder: string): boolean {
  return foldersIn(folder).some((inner) => missingModelFiles(join(folder, inner)).length === 0);
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function isEntry(value: unknown): value is ModelEntry {
  if (typeof value !== "object" || value === null) return false;
  const { directory, rules } = value as Record<string, unknown>;
  const isText = (text: unknown) => text === undefined || typeof text === "string";
  if (!isText(directory)) return false;
  if (rules === undefined) return true;
  if (typeof rules !== "object" || rules === null) return false;
  const { queryPrefix, passagePrefix } = rules as Record<string, unknown>;
  return isText(queryPrefix) && isText(passagePrefix);
}
