/**
 * A thought that a model proposes, on its way into the brain: refused when somebody says it already or when what it
 * cites does not stand, written through the one write path with its legs, and held for review when anything that the
 * model was shown is untrusted. The model is a source of every leg, so that recalling it takes all that it made.
 */

import { DormouseError, isUsageError } from "../core/errors.ts";
import { isOwnOutput } from "../core/fence.ts";
import { currentEmbedder } from "../core/ports.ts";
import {
  type Actor,
  type Basis,
  BELIEFS,
  LOOSE_THREAD,
  type ReferentTime,
  type RememberResult,
} from "../core/types.ts";
import { digestValue, rememberAll } from "../remember/remember.ts";
import type { Store } from "../store/store.ts";
import { type MaterialNode, materialNode, originsOf } from "../store/think-material.ts";
import { asIndexed, type NodeState } from "../store/thoughts.ts";
import { isBlank, normaliseText } from "../text/normalise.ts";
import type { Material } from "./material.ts";
import { modelSource } from "./model-source.ts";
import { type Rule, refused, type ThinkContext, type Verdict } from "./task.ts";

const HELD = BELIEFS.indexOf("held");

/** A thought as an answer puts it, its numbers turned into thoughts. */
export interface Proposal {
  readonly text: string;
  readonly kind: string;
  readonly basis: Basis;
  /** Local ids, at least one leg. */
  readonly legs: readonly (readonly number[])[];
  readonly referent?: ReferentTime | null;
  /** A known value gets these legs, too; otherwise it is refused. */
  readonly mayReinforce: boolean;
  /** What belongs to the thought, in the same transaction, when it was taken; by `NotTaken` it undoes both. */
  readonly alongside?: () => void;
}

/** What parents of one leg must be. */
export interface LegRules {
  readonly leastParents: number;
  /** Told parents without a source that they have in common. */
  readonly acrossSources: boolean;
}

/**
 * Turns cited numbers into legs of local ids, or names the rule that they break. At least one parent of each leg is told
 * by somebody, so that nothing that a model made ever holds up the next.
 */
export function resolveCited(
  store: Store,
  material: Material,
  cited: readonly (readonly number[])[],
  rules: LegRules,
): { readonly legs: readonly (readonly number[])[] } | { readonly rule: Rule } {
  const byNumber = new Map(material.items.map(({ number, nodeIds }) => [number, nodeIds]));
  const legs: number[][] = [];
  for (const numbers of cited) {
    if (numbers.some((number) => material.gone.has(number))) return { rule: "stale" };
    if (numbers.some((number) => !byNumber.has(number))) return { rule: "unknown_number" };
    const leg = [...new Set(numbers.flatMap((number) => byNumber.get(number) ?? []))];
    const nodes = leg.map((id) => materialNode(store.connection, id));
    if (nodes.some((node) => node === null)) return { rule: "stale" };
    if (leg.length < rules.leastParents) return { rule: "one_parent" };
    const told = nodes.filter((node): node is MaterialNode => node?.made === false);
    if (told.length === 0) return { rule: "self_feeding" };
    if (rules.acrossSources && !comeFromSeveral(store, told)) return { rule: "one_source" };
    legs.push(leg);
  }
  return { legs };
}

/** True when no source holds all of the thoughts. */
function comeFromSeveral(store: Store, told: readonly MaterialNode[]): boolean {
  const [first = [], ...others] = told.map(({ id }) => originsOf(store.connection, id));
  return told.length > 1 && first.every((origin) => others.some((origins) => !origins.includes(origin)));
}

/** Writes what an answer proposes, or names the rule that it breaks. */
export async function writeThought(context: ThinkContext, material: Material, proposal: Proposal): Promise<Verdict> {
  const { store } = context;
  const text = proposal.text.normalize("NFC").trim();
  if (isBlank(text) || text.includes("\u0000")) return refused("shape");
  if (isOwnOutput(text)) return refused("own_output");
  const scope = store.scopes.nameOf(material.scopeId);
  const saidAlready = store.read(() => findSaid(context, material, proposal, text));
  if (typeof saidAlready === "string") return refused(saidAlready);
  if (saidAlready === null && (await isSimilarToAny(context, material.scopeId, text))) return refused("too_similar");
  const parents = new Set(proposal.legs.flat());
  try {
    const [result] = await rememberAll(
      store,
      context.embedder,
      [
        {
          content: text,
          defaultKind: proposal.kind,
          basis: proposal.basis,
          scope,
          ...domainOf(store, parents),
          ...(proposal.referent == null ? {} : { referent: proposal.referent }),
          legs: proposal.legs.map((leg) => ({ parents: leg.map((id) => store.thoughts.publicId(id)) })),
          occurrence: { source: modelSource(context.answeredBy), thread: LOOSE_THREAD },
        },
      ],
      {
        actor: context.actor,
        // Asking took its time: what was shown may have been recalled, superseded or told by then.
        beforehand: () => context.commit(() => requireStanding(context, material, proposal, text, parents)),
        alongside: (results) => {
          if (material.untrusted) for (const written of results) holdForReview(store, written, context.actor);
          if (verdictOf(results[0]).accepted) proposal.alongside?.();
        },
      },
    );
    return verdictOf(result);
  } catch (error) {
    if (error instanceof NotTaken) return refused(error.rule);
    // A limit or a guard of the write path; its message is about this answer and is not repeated.
    if (error instanceof DormouseError && isUsageError(error)) return refused(error.code);
    throw error;
  }
}

/** Undoes the transaction of an answer that must not be taken. */
export class NotTaken extends Error {
  readonly rule: Rule;

  constructor(rule: Rule) {
    super(rule);
    this.rule = rule;
  }
}

function requireStanding(
  context: ThinkContext,
  material: Material,
  proposal: Proposal,
  text: string,
  parents: ReadonlySet<number>,
): void {
  for (const id of parents) {
    if (materialNode(context.store.connection, id)?.scopeId !== material.scopeId) throw new NotTaken("stale");
  }
  const saidAlready = findSaid(context, material, proposal, text);
  if (typeof saidAlready === "string") throw new NotTaken(saidAlready);
}

/** Null for a value that nobody said; a known one that may get further legs; else the rule by which it may not. */
function findSaid(
  { store, answeredBy }: ThinkContext,
  material: Material,
  { legs, mayReinforce }: Proposal,
  text: string,
): Rule | NodeState | null {
  const known = store.thoughts.findByValue(material.scopeId, digestValue(store, undefined, normaliseText(text)));
  if (known === null) return null;
  if (known.belief === "held") return "held";
  // Untrusted words must not hold up what stands without them, and nothing can rest on itself.
  if (!mayReinforce || material.untrusted || legs.some((leg) => leg.includes(known.id))) return "known";
  // What fell, was superseded or stands behind another is not brought back by a model.
  if (materialNode(store.connection, known.id) === null) return "known";
  const { type, key } = modelSource(answeredBy);
  const sourceId = store.sources.find(type, key);
  const hasLeg = (leg: readonly number[]) =>
    sourceId !== null && store.legs.find(known.id, { axiom: false, parentIds: [...leg, sourceId] }) !== null;
  return legs.every(hasLeg) ? "known" : known;
}

async function isSimilarToAny(context: ThinkContext, scopeId: number, text: string): Promise<boolean> {
  const { store } = context;
  if (store.read(() => store.models.active()) === null) return false;
  const embedder = await currentEmbedder(context.embedder);
  if (embedder === null) return false;
  const [vector] = await embedder.embedPassages([asIndexed({ speaker: null, heading: null }, text)]);
  if (vector === undefined || vector.every((value) => value === 0)) return false;
  store.models.use(embedder.model);
  const [nearest] = store.read(() => store.vectors.nearest(vector, 1, { scopeIds: [scopeId] }).neighbors);
  return nearest !== undefined && nearest.cosine >= context.duplicateCosine;
}

/** The domain that all parents share. */
function domainOf(store: Store, parents: ReadonlySet<number>): { domain?: string } {
  const domains = new Set([...parents].map((id) => store.thoughts.state(id).domainId));
  const [domainId = null] = domains;
  const domain = domains.size === 1 && domainId !== null ? store.labels.text(domainId) : null;
  return domain === null ? {} : { domain };
}

function holdForReview(store: Store, { id, status }: RememberResult, actor: Actor): void {
  if (id === null || status !== "created") return;
  store.ledger.record({
    kind: "belief.changed",
    actor,
    payload: { node: id, reason: "review", rule: "untrusted_material" },
    changes: [{ nodeId: store.thoughts.resolve(id), axis: "belief", to: HELD }],
  });
}

function verdictOf(result: RememberResult | undefined): Verdict {
  if (result === undefined || result.id === null || result.status === "refused") {
    return refused(result?.reason ?? "known");
  }
  return { accepted: true, id: result.id, status: result.status };
}
