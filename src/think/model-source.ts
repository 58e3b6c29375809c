/** Where a model's thoughts are met: a source for each model, so that all that it made can be recalled at once. */
import type { SourceInput } from "../core/types.ts";

/** It speaks in every scope and is trusted no more than that. @param name of the model */
export function modelSource(name: string): SourceInput {
  return { type: "model", key: `sleep:${name}`, name: `sleep:${name}`, trust: "unknown" };
}
