/** What `--leg` means, for the commands that take it: ids by commas, all of which must stand. */
import { DormouseError } from "../core/errors.ts";
import type { LegInput } from "../core/types.ts";

/** @throws DormouseError `usage` when it names no id */
export function readLeg(text: string): LegInput & { readonly parents: readonly string[] } {
  const parents = text
    .split(",")
    .map((id) => id.trim())
    .filter((id) => id !== "");
  if (parents.length === 0) throw new DormouseError("usage", "--leg names no id");
  return { parents };
}
