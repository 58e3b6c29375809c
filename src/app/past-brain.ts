/**
 * A brain as it was at a moment: what it held, believed and could see then, read by the same use-cases. Writes
 * nothing, not even that something was read.
 */
import type { EmbedderSource } from "../core/ports.ts";
import type { SearchAnswer, SearchOptions } from "../core/types.ts";
import { buildContext, type ContextAnswer, type ContextOptions } from "../retrieve/context.ts";
import { type HistoryEntry, type HistoryOptions, history } from "../retrieve/history.ts";
import { how, list, type PathStep, type SourceDetail, show, type ThoughtInspection } from "../retrieve/inspect.ts";
import { search } from "../retrieve/search.ts";
import { type WhyNode, why } from "../retrieve/why.ts";
import { type Census, takeCensus } from "../store/census.ts";
import { Store } from "../store/store.ts";
import type { ListFilter, ThoughtDetail } from "../store/thoughts.ts";

/** Close it when done; every method throws DormouseError on failure. */
export class PastBrain {
  readonly #store: Store;
  readonly #embedder: EmbedderSource;

  /** @param at milliseconds; also the clock of its queries */
  constructor(path: string, at: number, embedder: EmbedderSource) {
    this.#store = Store.openAsOf(path, at);
    this.#embedder = embedder;
  }

  search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    return search(this.#store, this.#embedder, query, options);
  }

  context(hints: readonly string[] = [], options: ContextOptions = {}): Promise<ContextAnswer> {
    return buildContext(this.#store, this.#embedder, hints, options);
  }

  show(id: string): ThoughtInspection | SourceDetail {
    return show(this.#store, id);
  }

  why(id: string, depth?: number): WhyNode {
    return why(this.#store, id, depth);
  }

  how(fromId: string, toId: string): PathStep[] | null {
    return how(this.#store, fromId, toId);
  }

  history(id: string, options: HistoryOptions = {}): HistoryEntry[] {
    return history(this.#store, id, options);
  }

  list(filter: ListFilter): ThoughtDetail[] {
    return list(this.#store, filter);
  }

  stats(): Census {
    return takeCensus(this.#store);
  }

  close(): void {
    this.#store.close();
  }
}
