/**
 * Where the benches find their brain files: a temporary folder that goes at the end, in which a size asked for
 * twice is made once, and a cache folder that outlives the run when the caller names one.
 */
import { constants, copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import { makeBaseline } from "./baseline.ts";
import { makeBrain } from "./brain-files.ts";
import type { Progress } from "./figures.ts";

/** Part of the name of a kept file; raised whenever the generator makes other brains. */
const GENERATION = "brain-3";
/** Digits of the model's revision in that name: vectors of another table are of no use. */
const REVISION_DIGITS = 8;

export interface BrainShelf {
  /** Path of a file in the shelf's folder. */
  pathOf(name: string): string;
  /** Path of a brain of that size, made at the first call. Benches that change it must not use it. */
  brainOf(nodes: number): Promise<string>;
  /** Path of the plain baseline of that size, likewise. */
  baselineOf(nodes: number): Promise<string>;
  remove(): void;
}

/** @param cache keeps finished brains for later runs; null: nothing is kept. */
export function createBrainShelf(onProgress: Progress, cache: string | null = null): BrainShelf {
  const folder = mkdtempSync(join(tmpdir(), "dormouse-bench-"));
  const made = new Map<string, string>();
  const revision = createBuiltinEmbedder().model.revision.slice(0, REVISION_DIGITS);
  const take = async (name: string, make: (path: string) => Promise<void>) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const path = join(folder, name);
    const kept = cache === null ? null : join(cache, `${GENERATION}-${revision}-${name}`);
    if (kept !== null && existsSync(kept)) {
      copyFileSync(kept, path, constants.COPYFILE_FICLONE);
    } else {
      onProgress(`making ${name}`);
      await make(path);
      if (kept !== null) keepFile(path, kept);
    }
    made.set(name, path);
    return path;
  };
  return {
    pathOf: (name) => join(folder, name),
    brainOf: (nodes) => take(`${nodes}.db`, (path) => makeBrain(path, nodes, onProgress)),
    baselineOf: (nodes) => take(`baseline-${nodes}.db`, (path) => makeBaseline(path, nodes)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Copies under another name first, so that an interrupted copy is never taken for a brain. */
function keepFile(path: string, kept: string): void {
  mkdirSync(dirname(kept), { recursive: true });
  copyFileSync(path, `${kept}.part`, constants.COPYFILE_FICLONE);
  renameSync(`${kept}.part`, kept);
}
