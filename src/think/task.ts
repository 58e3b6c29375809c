/**
 * The contract of everything a language model is asked in sleep: what comes next in turn, how an answer is read, and
 * what is made of it. A task looks without writing; each answer is checked by rules and applied in a transaction.
 */
import type { z } from "zod";
import type { EmbedderSource } from "../core/ports.ts";
import type { Actor, RememberStatus } from "../core/types.ts";
import type { Store } from "../store/store.ts";
import type { Material, Show } from "./material.ts";
import type { TaskName } from "./task-names.ts";

/** Where a task stands: positions by the names of their cursors. */
export type Place = Readonly<Record<string, number>>;

/** Where a task stands once a step is answered, as it is kept. */
export interface Progress {
  readonly place: Place;
  /** Names of marks that are to be set, and of those that have done their service. */
  readonly marked?: readonly string[];
  readonly unmarked?: readonly string[];
}

/** What is asked next, perhaps nothing, and where the task stands once it is answered. */
export interface Step extends Progress {
  readonly materials: readonly Material[];
}

/** What answers are applied with. */
export interface ThinkContext {
  readonly store: Store;
  readonly embedder: EmbedderSource;
  readonly actor: Actor;
  /** Who answers: a model's name, as sources and events tell it. */
  readonly answeredBy: string;
  /** The cosine from which on two texts say the same. */
  readonly duplicateCosine: number;
  /** One transaction; may refuse, as when a lease was lost. */
  commit<T>(fn: () => T): T;
}

/**
 * Why an answer was not taken: a word of its own for each rule, or the write path's reason or error code.
 * shape: not of the form asked for. unknown_number, stale: cites what was not given, or cannot be cited any more.
 * one_parent: a leg of one thought, where several are wanted. self_feeding: nothing but made thoughts behind it.
 * one_source: its parents have a source in common. known, too_similar: said already. own_output: repeats our marks.
 * nothing_said, unread_words, not_in_text, bad_time, dated: of times, see date-words.ts.
 */
export type Rule = string;

export type Verdict =
  | { readonly accepted: true; readonly id: string; readonly status: RememberStatus | "disputed" | "dated" }
  | { readonly accepted: false; readonly rule: Rule };

export interface Task<Answer = unknown> {
  readonly name: TaskName;
  /** Told before the material. */
  readonly instructions: string;
  /** Of one answer. */
  readonly schema: z.ZodType<Answer>;
  /** Answers to one request, at most. */
  readonly maxAnswers: number;
  /** Of the whole answer to one request; see `defineTask`. */
  readonly wholeAnswer: z.ZodType<{ answers: Answer[] }>;
  readonly show: Show;
  /** Where the task stands. */
  begin(store: Store): Place;
  /** The next request from a place on; null when everything was reached. Inside a read. */
  next(store: Store, place: Place): Step | null;
  /** Checks one answer and applies it. */
  take(context: ThinkContext, material: Material, answer: Answer): Promise<Verdict>;
}

export function refused(rule: Rule): Verdict {
  return { accepted: false, rule };
}
