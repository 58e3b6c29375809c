/**
 * Where this machine keeps models: a folder of models and `models.json` beside it, in Dormouse's home. A brain
 * names its model and nothing else, so that the file can be carried to another machine.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { DormouseError } from "../../core/errors.ts";
import { type DigestCache, type EmbeddingRules, missingModelFiles } from "./model-folder.ts";
import { hubRepository, isModelName } from "./model-names.ts";

/** Rules that a person can give for a model. */
export type GivenRules = Partial<Pick<EmbeddingRules, "queryPrefix" | "passagePrefix">>;

/** What is remembered of a model: its folder and the rules that a person gave for it. */
export interface ModelEntry {
  /** What folder and rules made when they were remembered; none in an entry that was written by hand. */
  readonly revision?: string;
  readonly directory?: string;
  readonly rules?: GivenRules;
}

/** A folder where a model may lie and the rules that may go with it. */
export interface ModelPlace {
  readonly directory: string;
  readonly rules: GivenRules;
}

/** By name; of one name any number, the latest first, since brains may differ in the files or rules they want. */
type Entries = Readonly<Record<string, ModelEntry | readonly ModelEntry[]>>;

/** Digests kept at most; each is of one file of one model. */
const MAX_DIGESTS = 100;

export class ModelPlaces {
  readonly #home: string;

  /** @param home Dormouse's folder of this person; default `~/.dormouse` */
  constructor(home: string = join(homedir(), ".dormouse")) {
    this.#home = home;
  }

  /**
   * Where a model may lie and with which rules, the likeliest first; empty when the machine knows no place, and
   * for what cannot be a model's name.
   * @param wanted.revision what the place shall make; what is remembered of it comes before anything else that is
   * remembered, and the family's own rules in the model's usual folder come last
   * @param wanted.preferred comes before what is remembered: the model's own folder, or one that holds it under its
   * name. The folder of another known model, and one that holds only other models, are passed over.
   * @throws DormouseError `damaged` when models.json cannot be read
   */
  candidates(name: string, wanted: { preferred?: string | undefined; revision?: string | undefined }): ModelPlace[] {
    if (!isModelName(name)) return [];
    const entries = this.#entries(name);
    const isWanted = ({ revision }: ModelEntry) => revision !== undefined && revision === wanted.revision;
    const remembered = [...entries.filter(isWanted), ...entries.filter((entry) => !isWanted(entry))];
    const preferred = wanted.preferred === undefined ? null : folderWithin(wanted.preferred, name);
    const downloaded = this.folderFor(name);
    const usual = existsSync(downloaded) ? downloaded : null;
    const rules = [...remembered.map((entry) => entry.rules ?? {}), {}];
    const places: { directory: string | null; rules: GivenRules }[] = [
      ...rules.map((given) => ({ directory: preferred, rules: given })),
      ...remembered.map((entry) => ({ directory: entry.directory ?? usual, rules: entry.rules ?? {} })),
      { directory: usual, rules: {} },
    ];
    return places.flatMap((place) =>
      place.directory === null ? [] : [{ directory: place.directory, rules: place.rules }],
    );
  }

  /** The first folder of `candidates`, or null. */
  locate(name: string, preferred?: string, revision?: string): string | null {
    return this.candidates(name, { preferred, revision })[0]?.directory ?? null;
  }

  /** Where a downloaded model goes. @throws DormouseError `usage` for what cannot be a model's name */
  folderFor(name: string): string {
    if (!isModelName(name)) throw new DormouseError("usage", "this cannot be the name of a model");
    return join(this.#home, "models", ...name.split("/"));
  }

  /** True when a person named this folder for the model. */
  isRemembered(name: string, directory: string): boolean {
    return this.#entries(name).some((entry) => entry.directory === directory);
  }

  /** Names of models that this machine has or remembers, sorted. */
  names(): string[] {
    return [...new Set([...Object.keys(this.#read()), ...this.#downloaded()])].sort();
  }

  /**
   * Remembers where a revision of a model is, as the latest of its name; what is known of others stays.
   * @throws DormouseError `io`, `damaged`
   */
  remember(name: string, entry: ModelEntry & { readonly revision: string }): void {
    const others = this.#entries(name).filter(({ revision }) => revision !== entry.revision);
    this.#write("models.json", { ...this.#read(), [name]: [entry, ...others] });
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

  #entries(name: string): readonly ModelEntry[] {
    const entries = this.#read();
    const known = Object.hasOwn(entries, name) ? entries[name] : undefined;
    if (known === undefined) return [];
    return isList(known) ? known : [known];
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
    if (parsed === null || !Object.values(parsed).every((value) => [value].flat().every(isEntry))) {
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

/** The folder that a person named, or the model's in it; null when it holds only other models. */
function folderWithin(preferred: string, name: string): string | null {
  const inside = join(preferred, ...name.split("/"));
  if (existsSync(inside)) return resolve(inside);
  const isAnothers = hubRepository(basename(preferred)) !== null && basename(preferred) !== name;
  return isAnothers || holdsModels(preferred) ? null : resolve(preferred);
}

function isList(known: ModelEntry | readonly ModelEntry[]): known is readonly ModelEntry[] {
  return Array.isArray(known);
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
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { revision, directory, rules } = value as Record<string, unknown>;
  const isText = (text: unknown) => text === undefined || typeof text === "string";
  if (!isText(revision) || !isText(directory)) return false;
  if (rules === undefined) return true;
  if (typeof rules !== "object" || rules === null) return false;
  const { queryPrefix, passagePrefix } = rules as Record<string, unknown>;
  return isText(queryPrefix) && isText(passagePrefix);
}
