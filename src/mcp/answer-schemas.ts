/** Shapes of what the library answers, for the schemas of several tools. Types only the outside of an answer. */
import * as z from "zod";
import { BELIEFS, DECAY_REASONS, TRUST_LEVELS } from "../core/types.ts";

export const trustSchema = z.enum(TRUST_LEVELS);
export const beliefSchema = z.enum(BELIEFS);
export const decayedSchema = z.enum(DECAY_REASONS);
export const relationsShape = { replaces: z.array(z.string()), disputedWith: z.array(z.string()) };

export const thoughtShape = {
  id: z.string(),
  kind: z.string(),
  content: z.string(),
  domain: z.string().nullable(),
  scope: z.string(),
  tags: z.array(z.string()),
  recordedAt: z.string(),
  referent: z
    .object({ from: z.string().nullable(), to: z.string().nullable(), floating: z.literal(true).optional() })
    .nullable(),
  source: z.object({ id: z.string(), name: z.string(), trust: trustSchema }),
  trust: trustSchema,
  belief: beliefSchema,
  stale: z.boolean(),
  ...relationsShape,
};
