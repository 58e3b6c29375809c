/**
 * Dreams across sources: one thought and such as are near it in meaning but come from elsewhere. A dream rests on all of
 * its parents at once, and no source holds them all. What a model made takes part only beside what somebody told.
 */
import * as z from "zod";
import type { Store } from "../store/store.ts";
import { type MaterialNode, originsOf, similarNodes } from "../store/think-material.ts";
import { AnchorWalk, fitsBeside } from "./anchors.ts";
import { defineTask, legSchema, textSchema } from "./answer.ts";
import { buildMaterial, type Material, showThought } from "./material.ts";
import { refused, type Task, type ThinkContext, type Verdict } from "./task.ts";
import { resolveCited, writeThought } from "./write-thought.ts";

/** Thoughts shown at once; of one origin, at most so many. */
const MOST_ITEMS = 10;
const MOST_PER_ORIGIN = 3;
const LEAST_ITEMS = 3;
/** Similar thoughts looked at, and neighbours by vector, among which other origins are sought. */
const FAN_OUT = 12;
const NEAREST = 60;
const MAX_ANSWERS = 2;
const KIND = "dream";

const INSTRUCTIONS = `The material comes from several places: items with the same letter "place" are from the same one. Dream: connect what was never told together. What does one place say about another, which thread runs through them, which question do they raise for the person? Say what is worth waking up with, and nothing else.
Each answer is one full sentence that can be understood by itself. "from" lists the numbers of all items that it rests on, from at least two places. Form of an answer: {"text": "…", "from": [1, 3, 4]}.`;

const schema = z.strictObject({ text: textSchema, from: legSchema });
type Dream = z.infer<typeof schema>;

export function createDreamTask(): Task<Dream> {
  const walk = new AnchorWalk("sleep.dream", gatherAcross);
  return defineTask({
    name: "dream",
    instructions: INSTRUCTIONS,
    schema,
    maxAnswers: MAX_ANSWERS,
    show: showThought,
    begin: (store) => walk.begin(store),
    next: (store, place) => walk.next(store, place),
    take,
  });
}

/** The anchor and thoughts near it, a few of each origin; null when all of them are from one. */
function gatherAcross(store: Store, anchor: MaterialNode): Material | null {
  const perOrigin = new Map<number, number>();
  const places = new Map<number, string>();
  const chosen: number[] = [];
  const choose = (nodeId: number) => {
    const origin = originsOf(store.connection, nodeId)[0] ?? nodeId;
    const held = perOrigin.get(origin) ?? 0;
    if (held >= MOST_PER_ORIGIN || chosen.length >= MOST_ITEMS) return;
    perOrigin.set(origin, held + 1);
    chosen.push(nodeId);
    places.set(nodeId, letterOf([...perOrigin.keys()].indexOf(origin)));
  };
  choose(anchor.id);
  for (const id of new Set([...similarNodes(store.connection, anchor.id, FAN_OUT), ...nearestOf(store, anchor)])) {
    if (fitsBeside(store, anchor, id) !== null) choose(id);
  }
  if (chosen.length < LEAST_ITEMS || perOrigin.size < 2) return null;
  return buildMaterial(
    store,
    "dream",
    chosen.map((id) => [id]),
    (from, nodeIds) => {
      const shown = showThought(from, nodeIds);
      return shown === null ? null : { place: places.get(nodeIds[0] ?? 0) ?? "", ...shown };
    },
  );
}

/** A, B, …: there are fewer origins than letters. */
function letterOf(index: number): string {
  return String.fromCharCode("A".charCodeAt(0) + index);
}

function nearestOf(store: Store, anchor: MaterialNode): number[] {
  const vector = store.models.active() === null ? null : store.vectors.get(anchor.id);
  if (vector === null || vector.every((value) => value === 0)) return [];
  return store.vectors.nearest(vector, NEAREST, { scopeIds: [anchor.scopeId] }).neighbors.map(({ nodeId }) => nodeId);
}

async function take(context: ThinkContext, material: Material, { text, from }: Dream): Promise<Verdict> {
  const { store } = context;
  const cited = store.read(() => resolveCited(store, material, [from], { leastParents: 2, acrossSources: true }));
  if ("rule" in cited) return refused(cited.rule);
  return writeThought(context, material, {
    text,
    kind: KIND,
    basis: "generated",
    legs: cited.legs,
    mayReinforce: false,
  });
}
