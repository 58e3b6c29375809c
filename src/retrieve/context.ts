/**
 * Context for an agent: what is due, a few recent thoughts, then hits for the hints until the budget is
 * spent. Evidence, never instruction; never counts as an access.
 */
import { MS_PER_DAY } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import type { EmbedderSource } from "../core/ports.ts";
import type { Store } from "../store/store.ts";
import { isBlank } from "../text/normalise.ts";
import { type Pack, type PackItem, pack } from "./pack.ts";
import { withRelations } from "./relations.ts";
import { search } from "./search.ts";

const DEFAULT_BUDGET = 2_000;
const MIN_BUDGET = 100;
const MAX_BUDGET = 100_000;
/** Recent thoughts shown before the hits; more when there is no hint. */
const RECENT_WITH_HINT = 3;
const RECENT_ALONE = 20;
/** Due thoughts shown: overdue, or due within this many days. */
const DUE_SOON_DAYS = 7;
const MAX_DUE = 10;
/** Hits asked for; the budget cuts them. */
const MAX_HITS = 40;

export interface ContextOptions {
  /** Tokens at most, default 2,000. */
  readonly budget?: number;
  readonly now?: number;
}

export interface ContextAnswer extends Pack {
  readonly hints: readonly string[];
  readonly counts: { readonly thoughts: number; readonly due: number; readonly recent: number; readonly hits: number };
  readonly tookMs: number;
  /** What the hits lack and why, as `search` says it. */
  readonly notice?: string;
}

/** @throws DormouseError `usage` for a bad budget, and as `search` does. */
export async function buildContext(
  store: Store,
  embedder: EmbedderSource,
  hints: readonly string[],
  options: ContextOptions = {},
): Promise<ContextAnswer> {
  const started = performance.now();
  const budget = options.budget ?? DEFAULT_BUDGET;
  if (!Number.isInteger(budget) || budget < MIN_BUDGET || budget > MAX_BUDGET) {
    throw new DormouseError("usage", `the budget must be a whole number of tokens from ${MIN_BUDGET} to ${MAX_BUDGET}`);
  }
  const now = options.now ?? store.now();
  const query = hints.join(" ");
  const answer = isBlank(query) ? null : await search(store, embedder, query, { k: MAX_HITS, now });
  return store.read(() => {
    const due = store.thoughts.dueBefore(now + DUE_SOON_DAYS * MS_PER_DAY, MAX_DUE);
    const recent = store.thoughts.recent(answer === null ? RECENT_ALONE : RECENT_WITH_HINT);
    const shown = new Set<string>();
    const items: PackItem[] = [];
    const take = (item: PackItem) => {
      if (shown.has(item.view.id)) return;
      shown.add(item.view.id);
      items.push(item);
    };
    const dueViews = relatedViews(
      store,
      due.map(({ id }) => id),
    );
    for (const [index, view] of dueViews.entries()) {
      take({ section: "due", view, due: new Date(due[index]?.due ?? now).toISOString() });
    }
    for (const view of relatedViews(store, recent)) take({ section: "recent", view });
    for (const view of answer?.results ?? []) take({ section: "hits", view });
    const thoughts = answer?.scanned.eligible ?? store.thoughts.countVisible();
    const lacking = answer?.notice === undefined ? "" : ` The hits were ${answer.notice}.`;
    const header = `${thoughts} thoughts in memory; ${due.length} due, ${recent.length} recent, ${answer?.results.length ?? 0} found.${lacking}`;
    return {
      ...pack(items, header, budget),
      hints,
      counts: { thoughts, due: due.length, recent: recent.length, hits: answer?.results.length ?? 0 },
      tookMs: Math.round((performance.now() - started) * 100) / 100,
      ...(answer?.notice === undefined ? {} : { notice: answer.notice }),
    };
  });
}

function relatedViews(store: Store, nodeIds: readonly number[]): PackItem["view"][] {
  return withRelations(
    store,
    nodeIds.flatMap((nodeId) => store.thoughts.views([nodeId]).map((view) => ({ nodeId, view }))),
  );
}
