/**
 * The one place that imports transformers.js: optional, heavy, and therefore only on demand. Says what is
 * missing when it cannot be loaded.
 */
import { createRequire } from "node:module";
import { DormouseError } from "../../core/errors.ts";

export type Transformers = typeof import("@xenova/transformers");

/** Its level for errors only. */
const ERRORS_ONLY = 40;

const PACKAGE = "@xenova/transformers";

/**
 * Loads the package, once a process. By require: the command line's compiled form cannot import.
 * @throws DormouseError `model_missing` when it or its native half is not installed.
 */
export function loadTransformers(): Transformers {
  const requirePackage = createRequire(import.meta.url);
  try {
    return requirePackage(PACKAGE) as Transformers;
  } catch (error) {
    const isAbsent = !canResolve(requirePackage);
    throw new DormouseError(
      "model_missing",
      isAbsent
        ? "models other than the built-in one need the package @xenova/transformers, which is not installed"
        : `the package @xenova/transformers cannot be loaded on ${process.platform} ${process.arch}`,
      {
        hint: "Install Dormouse again without --omit=optional, or go back with `dormouse model use builtin`.",
        cause: error,
      },
    );
  }
}

function canResolve(requirePackage: NodeJS.Require): boolean {
  try {
    requirePackage.resolve(PACKAGE);
    return true;
  } catch {
    return false;
  }
}

/** Runs `fn` without the package's warnings about optional files, which would stand between a command's lines. */
export async function quietly<T>({ env }: Transformers, fn: () => Promise<T>): Promise<T> {
  const level = env.logLevel;
  env.logLevel = ERRORS_ONLY;
  try {
    return await fn();
  } finally {
    env.logLevel = level;
  }
}
