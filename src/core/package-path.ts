/**
 * Files that ship beside the code (migrations, the token table): found the same way from the source
 * tree and from the bundle.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DormouseError } from "./errors.ts";

let root: string | undefined;

/**
 * Absolute path of a file given relative to the package's root.
 * @throws DormouseError `io` when the package is incomplete.
 */
export function packagePath(relative: string): string {
  root ??= findRoot();
  return join(root, relative);
}

function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    if (existsSync(join(folder, "package.json"))) return folder;
    const parent = dirname(folder);
    if (parent === folder) {
      throw new DormouseError("io", "the Dormouse package is incomplete: its package.json is missing", {
        hint: "Install it again.",
      });
    }
    folder = parent;
  }
}
