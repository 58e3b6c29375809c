/**
 * Fetches a model's files from the hub through transformers.js. Whatever stops it, the model's folder is whole or
 * not there: files go into a folder beside it, are loaded once, and only then get the name.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { MS_PER_DAY, systemClock } from "../../core/clock.ts";
import { DormouseError } from "../../core/errors.ts";
import type { ProgressListener } from "../../core/ports.ts";
import { loadTransformers, quietly, type Transformers } from "./library.ts";
import { missingModelFiles } from "./model-folder.ts";

const DEFAULT_HUB = "https://huggingface.co/";

/** Files that say how vectors are made and that the package does not ask for; a model may have none of them. */
const RULE_FILES = ["1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"];

/** The hub that `HF_ENDPOINT` names, as its own tools read it, else the public one. Ends in a slash. */
export function hubAddress(environment: NodeJS.ProcessEnv = process.env): string {
  const address = environment.HF_ENDPOINT || DEFAULT_HUB;
  return address.endsWith("/") ? address : `${address}/`;
}

export interface Download {
  readonly name: string;
  /** OWNER/NAME on the hub. */
  readonly repository: string;
  /** Where the model shall be. */
  readonly folder: string;
  /** Default: `hubAddress()`. */
  readonly hub?: string;
  /** Told in bytes, of the files that are known so far. */
  readonly onProgress?: ProgressListener;
}

/**
 * Downloads a model unless its folder is there and whole; one that lacks a file gives way once all is fetched.
 * @throws DormouseError `model_missing` when the hub cannot be reached or has no such model, or the package is not
 * installed; `io` when the files cannot be written.
 */
export async function downloadModel(download: Download): Promise<void> {
  const { folder } = download;
  if (isWhole(folder)) return;
  const library = loadTransformers();
  const parent = dirname(folder);
  let part: string | undefined;
  try {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    removeRemains(parent, basename(folder));
    // Hidden, so that no one takes it for a model, and on the same disk, so that it can be renamed.
    part = mkdtempSync(join(parent, `.${basename(folder)}-`));
    await fetchInto(library, part, download);
    if (!isWhole(folder)) rmSync(folder, { recursive: true, force: true });
    renameSync(join(part, ...download.repository.split("/")), folder);
  } catch (error) {
    // Another process may have finished the same download first.
    if (!isWhole(folder)) throw describeFailure(error, download);
  } finally {
    if (part !== undefined) rmSync(part, { recursive: true, force: true });
  }
}

function isWhole(folder: string): boolean {
  return existsSync(folder) && missingModelFiles(folder).length === 0;
}

/** Removes what a killed download left, once no download can be that slow any more. */
function removeRemains(parent: string, name: string): void {
  for (const entry of readdirSync(parent)) {
    const path = join(parent, entry);
    if (!entry.startsWith(`.${name}-`) || systemClock.now() - statSync(path).mtimeMs < MS_PER_DAY) continue;
    rmSync(path, { recursive: true, force: true });
  }
}

/** Loading is what fetches, and what proves that the files are whole. */
async function fetchInto(
  library: Transformers,
  part: string,
  { repository, hub, onProgress = () => {} }: Download,
): Promise<void> {
  const { env, AutoConfig, AutoModel, AutoTokenizer } = library;
  const bytes = new Map<string, { loaded: number; total: number }>();
  const options = {
    cache_dir: part,
    progress_callback: (event: { status: string; file?: string; loaded?: number; total?: number }) => {
      const { status, file, loaded = 0, total = 0 } = event;
      if (status !== "progress" || file === undefined) return;
      bytes.set(file, { loaded, total });
      const sum = (pick: "loaded" | "total") => [...bytes.values()].reduce((all, one) => all + one[pick], 0);
      onProgress({ stage: "download", done: sum("loaded"), total: sum("total") });
    },
  };
  const before = {
    remoteHost: env.remoteHost,
    allowLocalModels: env.allowLocalModels,
    allowRemoteModels: env.allowRemoteModels,
  };
  Object.assign(env, { remoteHost: hub ?? hubAddress(), allowLocalModels: false, allowRemoteModels: true });
  try {
    await quietly(library, async () => {
      // First, since only here the package says that the hub has no such model.
      await AutoConfig.from_pretrained(repository, options);
      await AutoTokenizer.from_pretrained(repository, options);
      const model = await AutoModel.from_pretrained(repository, { ...options, dtype: "q8", device: "cpu" });
      await model.dispose();
    });
    for (const file of RULE_FILES) await fetchRuleFile(library, part, repository, file);
  } finally {
    Object.assign(env, before);
  }
}

/** Fetches a small file that the repository may not have. */
async function fetchRuleFile({ env }: Transformers, part: string, repository: string, file: string): Promise<void> {
  const url = new URL(`${repository}/resolve/main/${file}`, env.remoteHost);
  // The package sends the token of the hub's own tools to the hub itself and to no mirror.
  const isHub = url.origin === new URL(DEFAULT_HUB).origin;
  const token = isHub ? (process.env.HF_TOKEN ?? process.env.HF_ACCESS_TOKEN) : undefined;
  const response: Response = await env.fetch(url, token ? { headers: { authorization: `Bearer ${token}` } } : {});
  if (response.status === 404) return;
  if (!response.ok) throw new Error(`${file} could not be read (${response.status})`);
  const path = join(part, ...repository.split("/"), ...file.split("/"));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, await response.text());
}

function describeFailure(error: unknown, { name, repository, folder, hub }: Download): DormouseError {
  if (error instanceof DormouseError) return error;
  const host = new URL(hub ?? hubAddress()).host;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (["EACCES", "EPERM", "ENOSPC", "EROFS", "ENOTDIR"].includes(code)) {
    return new DormouseError("io", `the model ${name} cannot be written to ${folder} (${code})`, { cause: error });
  }
  const isAbsent = error instanceof Error && "status" in error && error.status === 404;
  const why = isAbsent ? `${host} has no ${repository} with ONNX weights` : `${host} could not be read`;
  return new DormouseError("model_missing", `the model ${name} is not on this machine, and ${why}`, {
    hint: "With a network the same command fetches it; without one, copy its folder here and name it with --dir.",
    cause: error,
  });
}
