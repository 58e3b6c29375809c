/**
 * Looks for real contradictions among similar thoughts. Two that cannot both be true become disputed, and a tension that
 * rests on both says how; nothing is settled for anybody. Where one side is untrusted nothing is disputed: the tension
 * alone waits for review, or any page could cast doubt on what the person said.
 */
import * as z from "zod";
import { disputeNodes } from "../remember/dispute.ts";
import type { Store } from "../store/store.ts";
import { highestLink, materialNode, pairsAbove, pairsBelow, type SimilarPair } from "../store/think-material.ts";
import { defineTask, numberSchema, textSchema } from "./answer.ts";
import { buildMaterial, cutText, type Material, showWhen } from "./material.ts";
import { Span } from "./span.ts";
import { type Place, refused, type Step, type Task, type ThinkContext, type Verdict } from "./task.ts";
import { NotTaken, resolveCited, writeThought } from "./write-thought.ts";

/** Pairs of one request. */
const PAIRS = 20;
/** Similarity from which on two thoughts are taken to be about the same thing, on the scale of links (0 to 1000). */
const LEAST_WEIGHT = 500;
const KIND = "tension";

const INSTRUCTIONS = `Each item of the material is a pair of thoughts, "a" and "b". Name the pairs of which both cannot be true of the same thing at the same time. Two that differ in detail, that speak of different things or people, that hold at different times ("when" tells when something was said), or of which one only adds to the other, do not contradict each other. When in doubt, leave the pair out.
Each answer names a pair and says in one full sentence what stands against what, without deciding who is right. Form of an answer: {"pair": 2, "text": "…"}.`;

const schema = z.strictObject({ pair: numberSchema, text: textSchema });
type Tension = z.infer<typeof schema>;

export function createTensionTask(): Task<Tension> {
  const span = new Span<SimilarPair>("sleep.tension", {
    above: (store, after, limit) => pairsAbove(store.connection, after, LEAST_WEIGHT, limit),
    below: (store, upTo, limit) => pairsBelow(store.connection, upTo, LEAST_WEIGHT, limit),
    idOf: ({ linkId }) => linkId,
    top: (store) => highestLink(store.connection),
  });
  return defineTask({
    name: "tension",
    instructions: INSTRUCTIONS,
    schema,
    maxAnswers: PAIRS,
    show: showPair,
    begin: (store) => span.begin(store),
    next: (store, place) => nextPairs(store, place, span),
    take,
  });
}

function nextPairs(store: Store, place: Place, span: Span<SimilarPair>): Step | null {
  const found = span.next(store, place, PAIRS);
  if (found === null) return null;
  const groups = new Map<string, SimilarPair[]>();
  for (const pair of found.rows) {
    const ends = [pair.fromId, pair.toId].map((id) => materialNode(store.connection, id));
    const isUntrusted = ends.some((end) => end?.trust === 0);
    const key = `${ends[0]?.scopeId ?? 0} ${isUntrusted}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [pair]);
    else known.push(pair);
  }
  const materials = [...groups.values()].flatMap((pairs) => {
    const sides = pairs.map(({ fromId, toId }) => [fromId, toId]);
    return buildMaterial(store, "tension", sides, showPair) ?? [];
  });
  return { materials, place: found.place };
}

function showPair(store: Store, nodeIds: readonly number[]): Record<string, string> | null {
  const [a, b] = nodeIds.map((id) => store.thoughts.detail(id));
  if (a === undefined || b === undefined) return null;
  const when = (name: string, { referent }: typeof a) => {
    const shown = showWhen(referent);
    return shown === null ? {} : { [name]: shown };
  };
  const who = (name: string, speaker: string | null) => (speaker === null ? {} : { [name]: speaker });
  return {
    ...who("a_who", a.speaker),
    ...when("a_when", a),
    a: cutText(a.content),
    ...who("b_who", b.speaker),
    ...when("b_when", b),
    b: cutText(b.content),
  };
}

async function take(context: ThinkContext, material: Material, { pair, text }: Tension): Promise<Verdict> {
  const { store } = context;
  const cited = store.read(() => resolveCited(store, material, [[pair]], { leastParents: 2, acrossSources: false }));
  if ("rule" in cited) return refused(cited.rule);
  const proposal = { text, kind: KIND, basis: "inferred", legs: cited.legs, mayReinforce: false } as const;
  if (material.untrusted) return writeThought(context, material, proposal);
  const [pairIds = []] = cited.legs;
  // Together, or a night that is killed in between would leave a dispute that nobody explains.
  const alongside = () => dispute(context, pairIds);
  const written = await writeThought(context, material, { ...proposal, alongside });
  if (written.accepted) return { ...written, status: "disputed" };
  // That it was said already, or in words that cannot be taken, does not make the two any more compatible.
  try {
    context.commit(alongside);
  } catch (error) {
    if (error instanceof NotTaken) return refused(error.rule);
    throw error;
  }
  return { accepted: true, id: store.thoughts.publicId(pairIds[0] ?? 0), status: "disputed" };
}

/** @throws NotTaken when one of the two cannot be disputed any more, or they dispute each other or did so before */
function dispute({ store, actor }: ThinkContext, [one, other]: readonly number[]): void {
  if (one === undefined || other === undefined) throw new NotTaken("stale");
  if (materialNode(store.connection, one) === null || materialNode(store.connection, other) === null) {
    throw new NotTaken("stale");
  }
  if (store.beliefs.hadDispute(one, other, 0)) throw new NotTaken("known");
  const seq = disputeNodes(store, [store.thoughts.state(one), store.thoughts.state(other)], actor);
  if (seq === null) throw new NotTaken("known");
}
