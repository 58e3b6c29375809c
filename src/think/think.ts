/**
 * Thinks about one thought and what stands around it: what rests on it, what it rests on, what is similar, what was said
 * before and after. New thoughts rest on several of those at once. Everything that somebody told has its turn.
 */
import * as z from "zod";
import type { Store } from "../store/store.ts";
import { type MaterialNode, similarNodes } from "../store/think-material.ts";
import { AnchorWalk, fitsBeside } from "./anchors.ts";
import { defineTask, legsSchema, textSchema } from "./answer.ts";
import { buildMaterial, type Material, showThought } from "./material.ts";
import { refused, type Task, type ThinkContext, type Verdict } from "./task.ts";
import { resolveCited, writeThought } from "./write-thought.ts";

/** Thoughts shown at once, and the fewest worth asking about. */
const MOST_ITEMS = 12;
const LEAST_ITEMS = 3;
/** Neighbours looked at of each kind. */
const FAN_OUT = 8;
const MAX_ANSWERS = 4;
const KINDS = ["insight", "belief", "observation"] as const;

const INSTRUCTIONS = `The material is one thought, the first, and others around it. Think: what follows from several of them together that none of them says? A pattern, a cause, a consequence for the person. Say only what you would defend before them; one good thought is worth more than four.
Each answer is one full sentence that can be understood by itself. "kind" is one of ${KINDS.join(", ")}. "from" lists the reasons: each is a list of at least two numbers that together say so. Form of an answer: {"text": "…", "kind": "insight", "from": [[1, 4]]}.`;

const schema = z.strictObject({ text: textSchema, kind: z.enum(KINDS), from: legsSchema });
type NewThought = z.infer<typeof schema>;

export function createThinkTask(): Task<NewThought> {
  const walk = new AnchorWalk("sleep.think", surroundingsOf);
  return defineTask({
    name: "think",
    instructions: INSTRUCTIONS,
    schema,
    maxAnswers: MAX_ANSWERS,
    show: showThought,
    begin: (store) => walk.begin(store),
    next: (store, place) => walk.next(store, place),
    take,
  });
}

function surroundingsOf(store: Store, anchor: MaterialNode): Material | null {
  const around = new Set<number>();
  const add = (ids: readonly number[]) => {
    for (const id of ids) {
      if (around.size < MOST_ITEMS - 1 && fitsBeside(store, anchor, id) !== null) around.add(id);
    }
  };
  const others = (pairs: readonly { readonly neighborId: number }[]) => pairs.map(({ neighborId }) => neighborId);
  add(others(store.legs.neighbors([anchor.id], FAN_OUT)));
  add(others(store.links.neighbors([anchor.id], "mention", FAN_OUT)));
  add(similarNodes(store.connection, anchor.id, FAN_OUT));
  add(others(store.occurrences.sequenceNeighbors([anchor.id], 1)));
  if (around.size < LEAST_ITEMS - 1) return null;
  return buildMaterial(
    store,
    "think",
    [anchor.id, ...around].map((id) => [id]),
    showThought,
  );
}

async function take(context: ThinkContext, material: Material, { text, kind, from }: NewThought): Promise<Verdict> {
  const { store } = context;
  const cited = store.read(() => resolveCited(store, material, from, { leastParents: 2, acrossSources: false }));
  if ("rule" in cited) return refused(cited.rule);
  return writeThought(context, material, { text, kind, basis: "inferred", legs: cited.legs, mayReinforce: false });
}
