/**
 * Which embedder serves one open brain: the one its active model names, found on this machine, or an error. Also
 * what a person asks about models and the change from one to another. Never falls back to another model.
 */
import { resolve } from "node:path";
import { DormouseError } from "../core/errors.ts";
import type { Embedder, EmbeddingModel, ProgressListener } from "../core/ports.ts";
import { createBuiltinEmbedder } from "../embed/builtin/builtin.ts";
import type { FoundModel } from "../embed/transformer/find-model.ts";
import type { GivenRules, ModelPlaces } from "../embed/transformer/model-places.ts";
import { isSameModel, VECTOR_LEASE } from "../store/models.ts";
import type { Store } from "../store/store.ts";
import type { ModelRow } from "../store/vector-table.ts";

/** The model every brain begins with. */
const BUILTIN = "builtin";
/** Thoughts whose vectors or words are made again at once when the built-in model or the analyser changed: a second or two. */
export const RENEW_AT_ONCE = 20_000;
/** Failures on which a search does without vectors that it meant to make again. */
const PASSING_FAILURES = new Set(["busy", "disk_full", "io", "lease_held"]);

export interface ModelStatus {
  readonly active: (EmbeddingModel & { readonly vectors: number }) | null;
  /** False when the package has another revision of the built-in model than the brain's vectors. */
  readonly current: boolean;
  readonly building:
    | (EmbeddingModel & {
        readonly done: number;
        readonly total: number;
        /** The process that makes its vectors now; null: none does. */
        readonly process: number | null;
      })
    | null;
}

export interface ListedModel {
  readonly name: string;
  readonly active: boolean;
  readonly building: boolean;
  /** Its folder on this machine; null for the built-in one and for what is not here. */
  readonly directory: string | null;
  /** False when a file is missing here; `missing` names them. */
  readonly present: boolean;
  readonly missing: readonly string[];
  /** Where `model use` would fetch it. */
  readonly repository: string | null;
}

export interface UseModelOptions {
  /** The model's folder; remembered for this person on this machine, in place of prefixes given before. */
  readonly directory?: string;
  /** Put before questions and stored texts; default: what was given before, else what the model's family wants. */
  readonly queryPrefix?: string;
  readonly passagePrefix?: string;
  readonly onProgress?: ProgressListener;
  /** Only find, fetch and check the model and register it; its vectors are made by a later call, or by sleep. */
  readonly prepareOnly?: boolean;
}

export interface BrainModelsOptions {
  /** The embedder that the caller brought; it is never exchanged for another. */
  readonly given: Embedder | undefined;
  /** Folder of the active model; overrides what this machine remembers. */
  readonly directory: string | undefined;
  readonly onNotice: (notice: string) => void;
  /** Thoughts up to which the vectors of an older built-in model are made again at once; default 20,000. */
  readonly renewAtOnce?: number;
}

export class BrainModels {
  readonly #store: Store;
  readonly #options: BrainModelsOptions;
  /** By name and revision: another process may make another revision of the same name the brain's. */
  readonly #loaded = new Map<string, Promise<Embedder>>();
  #hasNoticed = false;

  constructor(store: Store, options: BrainModelsOptions) {
    this.#store = store;
    this.#options = options;
  }

  /**
   * The embedder of the active model, loaded once; null while the vectors of an older built-in model wait to be
   * made again.
   * @throws DormouseError `model_missing` when the model is not on this machine, `model_mismatch` when its files
   * are not those that made the brain's vectors.
   */
  readonly current = async (): Promise<Embedder | null> => {
    if (this.#options.given !== undefined) return this.#options.given;
    const active = this.#store.read(() => this.#store.models.active());
    if (active !== null && active.name !== BUILTIN) return this.#loadExactly(active);
    const builtin = createBuiltinEmbedder();
    return active === null || isSameModel(active, builtin.model) ? builtin : this.#renew(builtin);
  };

  /** The embedder whose vectors are being made, or must be because the built-in model changed; null: none. */
  readonly building = async (): Promise<Embedder | null> => {
    if (this.#options.given !== undefined) return null;
    const { models } = this.#store;
    const { active, building } = this.#store.read(() => ({ active: models.active(), building: models.building() }));
    if (building === null) {
      if (active?.name !== BUILTIN) return null;
      const builtin = createBuiltinEmbedder();
      return isSameModel(active, builtin.model) ? null : builtin;
    }
    return building.name === BUILTIN ? createBuiltinEmbedder() : this.#loadExactly(building);
  };

  /**
   * The embedder that all vectors are to be made again with: that of the active model as it is on this machine.
   * @throws DormouseError `model_missing`
   */
  async forRebuild(): Promise<Embedder> {
    if (this.#options.given !== undefined) return this.#options.given;
    const active = this.#store.read(() => this.#store.models.active());
    if (active === null || active.name === BUILTIN) return createBuiltinEmbedder();
    return this.#load(await this.#find(active));
  }

  async status(): Promise<ModelStatus> {
    const store = this.#store;
    const builtin = createBuiltinEmbedder().model;
    return store.read(() => {
      const active = store.models.active();
      const building = store.models.building();
      return {
        active: active === null ? null : { ...identityOf(active), vectors: store.vectors.count() },
        current: active?.name !== BUILTIN || isSameModel(active, builtin),
        building:
          building === null
            ? null
            : {
                ...identityOf(building),
                ...store.models.buildProgress(),
                process: store.leases.runningHolder(VECTOR_LEASE),
              },
      };
    });
  }

  async list(): Promise<ListedModel[]> {
    const { active, building } = await this.status();
    const { knownModelNames, hubRepository } = await import("../embed/transformer/model-names.ts");
    const { missingModelFiles } = await import("../embed/transformer/model-folder.ts");
    const places = await openPlaces();
    const used = [active?.name, building?.name].filter((name) => name !== undefined);
    const others = new Set([...knownModelNames(), ...places.names(), ...used]);
    others.delete(BUILTIN);
    const describe = (name: string, directory: string | null, missing: readonly string[]): ListedModel => ({
      name,
      active: name === active?.name || (active === null && name === BUILTIN),
      building: name === building?.name,
      directory,
      present: name === BUILTIN || (directory !== null && missing.length === 0),
      missing,
      repository: hubRepository(name),
    });
    return [
      describe(BUILTIN, null, []),
      ...[...others].sort().map((name) => {
        const row = [active, building].find((model) => model?.name === name);
        const preferred = name === active?.name ? this.#options.directory : undefined;
        const directory = places.locate(name, preferred, row?.revision);
        return describe(name, directory, directory === null ? [] : missingModelFiles(directory));
      }),
    ];
  }

  /**
   * Makes the brain search with another model: finds or fetches it, makes its vectors beside the old ones, and
   * switches when the last is there. Called again after anything stopped it, it goes on.
   * @throws DormouseError `model_missing`, `damaged`, `lease_held` while another process makes vectors, `usage`
   */
  async use(name: string, options: UseModelOptions = {}): Promise<ModelStatus> {
    const { embedder, remember } = await this.#choose(name, options);
    const { beginReembedding, reembed } = await import("../remember/reembed.ts");
    beginReembedding(this.#store, embedder);
    remember();
    if (options.prepareOnly !== true) {
      await reembed(this.#store, embedder, options.onProgress === undefined ? {} : { onStep: options.onProgress });
    }
    return this.status();
  }

  async #choose(name: string, options: UseModelOptions): Promise<Choice> {
    const { directory, queryPrefix, passagePrefix } = options;
    const remember = () => {};
    if (this.#options.given?.model.name === name) return { embedder: this.#options.given, remember };
    const { isModelName } = await import("../embed/transformer/model-names.ts");
    if (!isModelName(name)) {
      throw new DormouseError("usage", "a model's name is NAME or OWNER/NAME, of letters, digits, dots and dashes");
    }
    if (name === BUILTIN) {
      if (directory === undefined) return { embedder: createBuiltinEmbedder(), remember };
      throw new DormouseError("usage", "the built-in model has no folder", { hint: "Leave --dir out." });
    }
    const given = {
      ...(queryPrefix === undefined ? {} : { queryPrefix }),
      ...(passagePrefix === undefined ? {} : { passagePrefix }),
    };
    const places = await openPlaces();
    const found = await this.#findChosen(places, name, given, options);
    const embedder = await this.#load(found);
    return { embedder, remember: () => this.#remember(places, found, directory !== undefined) };
  }

  /** The model in the folder and with the prefixes of the options; what they leave out as it was used before. */
  async #findChosen(
    places: ModelPlaces,
    name: string,
    given: GivenRules,
    { directory, onProgress }: UseModelOptions,
  ): Promise<FoundModel> {
    const { missingModelFiles, readModelFolder } = await import("../embed/transformer/model-folder.ts");
    const readPlace = async (folder: string, rules: GivenRules): Promise<FoundModel> => ({
      place: { directory: resolve(folder), rules },
      folder: await readModelFolder(folder, { name, given: rules, digests: places.digests() }),
    });
    if (directory !== undefined) return readPlace(directory, given);
    const { building, active } = this.#store.read(() => ({
      building: this.#store.models.building(),
      active: this.#store.models.active(),
    }));
    const revision = [building, active].find((row) => row?.name === name)?.revision;
    const { findModel } = await import("../embed/transformer/find-model.ts");
    const { hubRepository } = await import("../embed/transformer/model-names.ts");
    const wanted = { preferred: this.#options.directory, revision };
    const likeliest = places.locate(name, wanted.preferred, revision);
    const isBrokenDownload =
      likeliest === places.folderFor(name) && hubRepository(name) !== null && missingModelFiles(likeliest).length > 0;
    if (likeliest === null || isBrokenDownload) await fetchModel(name, places, onProgress);
    const found = await findModel(places, name, wanted);
    if (found === null) throw notHere(name);
    return Object.keys(given).length === 0
      ? found
      : readPlace(found.place.directory, { ...found.place.rules, ...given });
  }

  /** The usual folder with the family's own rules is found without that. */
  #remember(places: ModelPlaces, { place, folder }: FoundModel, isNamed: boolean): void {
    const { directory, rules } = place;
    const hasRules = Object.keys(rules).length > 0;
    if (!isNamed && !hasRules && !places.isRemembered(folder.name, directory)) return;
    const { name, revision } = folder;
    places.remember(name, { revision, directory, ...(hasRules ? { rules } : {}) });
  }

  /** Where the machine has the model of a row: with its revision if possible. @throws DormouseError `model_missing` */
  async #find({ name, revision }: ModelRow): Promise<FoundModel> {
    const { findModel } = await import("../embed/transformer/find-model.ts");
    const found = await findModel(await openPlaces(), name, { preferred: this.#options.directory, revision });
    if (found === null) throw notHere(name);
    return found;
  }

  /** The embedder of a row, loaded once. */
  async #loadExactly(row: ModelRow): Promise<Embedder> {
    const known = this.#loaded.get(keyOf(row));
    if (known !== undefined) return known;
    const found = await this.#find(row);
    if (found.folder.revision !== row.revision) throw otherFiles(row, found.folder);
    return this.#load(found);
  }

  /** Loads a model once; a failure is not kept, so that it can be put right while the brain is open. */
  #load({ folder }: FoundModel): Promise<Embedder> {
    const key = keyOf(folder);
    const known = this.#loaded.get(key);
    if (known !== undefined) return known;
    const loading = loadTransformer(folder);
    this.#forgetOthers();
    this.#loaded.set(key, loading);
    loading.catch(() => this.#loaded.delete(key));
    return loading;
  }

  /** Models that the brain has no use for any more are not held in memory. */
  #forgetOthers(): void {
    const { models } = this.#store;
    const rows = this.#store.read(() => [models.active(), models.building()]);
    const used = new Set(rows.flatMap((row) => (row === null ? [] : [keyOf(row)])));
    for (const key of this.#loaded.keys()) if (!used.has(key)) this.#loaded.delete(key);
  }

  /**
   * The built-in model of this package is newer than the brain's vectors, and old ones cannot be searched with it.
   * A small brain gets new ones at once; a large one is searched by words until sleep or a person made them.
   */
  async #renew(builtin: Embedder): Promise<Embedder | null> {
    const { models } = this.#store;
    const { thoughts, building } = this.#store.read(() => ({
      thoughts: models.countThoughts(),
      building: models.building(),
    }));
    // Another model is on its way; to make these vectors first would give up those that it has.
    const isLeftAlone = building !== null && building.name !== BUILTIN;
    if (thoughts > (this.#options.renewAtOnce ?? RENEW_AT_ONCE) || isLeftAlone) {
      const way = isLeftAlone ? `\`dormouse model use ${building.name}\`` : "`dormouse model use builtin` or a sleep";
      this.#notice(`the built-in model is newer than this brain's vectors: searching by words until ${way} is done`);
      return null;
    }
    try {
      const { reembed } = await import("../remember/reembed.ts");
      await reembed(this.#store, builtin);
      this.#notice("the built-in model was updated: the vectors of this brain were made again");
      return builtin;
    } catch (error) {
      if (!(error instanceof DormouseError) || !PASSING_FAILURES.has(error.code)) throw error;
      this.#notice(`the built-in model is newer than this brain's vectors, and ${error.message}: searching by words`);
      return null;
    }
  }

  /** Said once for an open brain. */
  #notice(notice: string): void {
    if (this.#hasNoticed) return;
    this.#hasNoticed = true;
    this.#options.onNotice(notice);
  }
}

/** What `use` goes on with. */
interface Choice {
  readonly embedder: Embedder;
  /** Keeps the model's place for later processes; not before the brain names the model. */
  readonly remember: () => void;
}

async function openPlaces(): Promise<ModelPlaces> {
  const { ModelPlaces } = await import("../embed/transformer/model-places.ts");
  return new ModelPlaces();
}

async function loadTransformer(folder: FoundModel["folder"]): Promise<Embedder> {
  const { createTransformerEmbedder } = await import("../embed/transformer/transformer.ts");
  return createTransformerEmbedder(folder);
}

/** Downloads the model. */
async function fetchModel(name: string, places: ModelPlaces, onProgress?: ProgressListener): Promise<void> {
  const { hubRepository, knownModelNames } = await import("../embed/transformer/model-names.ts");
  const repository = hubRepository(name);
  if (repository === null) {
    throw new DormouseError("model_missing", `the model ${name} is not on this machine`, {
      hint: `Name its folder with --dir, or take one of ${[BUILTIN, ...knownModelNames()].join(", ")}, or OWNER/NAME from the hub.`,
    });
  }
  const { downloadModel } = await import("../embed/transformer/hub.ts");
  const folder = places.folderFor(name);
  await downloadModel({ name, repository, folder, ...(onProgress === undefined ? {} : { onProgress }) });
}

function identityOf({ name, revision, dimensions, runtime }: EmbeddingModel): EmbeddingModel {
  return { name, revision, dimensions, runtime };
}

function keyOf({ name, revision }: { readonly name: string; readonly revision: string }): string {
  return `${name} ${revision}`;
}

function notHere(name: string): DormouseError {
  return new DormouseError("model_missing", `this brain's model ${name} is not on this machine`, {
    hint: `\`dormouse model use ${name}\` fetches it or, with --dir DIR, takes it from a folder; \`dormouse model use builtin\` does without.`,
  });
}

function otherFiles({ name, revision }: ModelRow, found: { readonly revision: string }): DormouseError {
  return new DormouseError(
    "model_mismatch",
    `the files of ${name} on this machine (revision ${found.revision}) are not those that made this brain's vectors (${revision})`,
    { hint: `\`dormouse model use ${name}\` makes the vectors again with the files that are here.` },
  );
}
