/** `memory_forget`: takes one thought out of search. Destroys nothing; only the person brings it back. */
import * as z from "zod";
import { defineTool, idSchema } from "../tool.ts";

export const forgetTool = defineTool({
  name: "memory_forget",
  title: "Forget",
  description:
    "Take one thought out of search because the person asked for it. Nothing is destroyed: the answer says how the " +
    "person undoes it. Do not use it for a thought that was merely replaced: memory_remember with supersedes does that.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: {
    id: idSchema.describe("n_… of the thought."),
    reason: z.string().min(1).max(400).describe("Why, in a few words."),
  },
  output: { id: z.string(), changed: z.boolean(), event: z.string().nullable(), undo: z.string() },
  run({ id, reason }, { brain }) {
    const change = brain.forget(id, reason);
    const undo = `dormouse revive ${change.id}`;
    return {
      structured: { ...change, undo },
      text: `${change.changed ? "forgotten" : "forgotten already"} ${change.id}; undone by the person with \`${undo}\``,
    };
  },
});
