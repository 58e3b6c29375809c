/**
 * What a language model may cost in one night: calls, tokens, minutes of waiting. Wraps a model, counts what each
 * request used and refuses the one that could exceed what is left, so that no reply can make a night dearer. Never
 * sees what a reply means.
 */
import { type Clock, MS_PER_MINUTE } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import type { Completion, CompletionRequest, LanguageModel } from "../core/ports.ts";

/** Limits of one night. */
export interface LlmBudget {
  readonly calls: number;
  /** Of prompts and answers together. */
  readonly tokens: number;
  /** Of waiting for answers, added up. */
  readonly minutes: number;
}

export const DEFAULT_LLM_BUDGET: LlmBudget = { calls: 40, tokens: 200_000, minutes: 20 };

/** What a night used so far. Holds no words. */
export interface LlmUsage {
  readonly calls: number;
  /** Calls that ended in an error. */
  readonly failed: number;
  /** Answers that were no valid ones, the repaired included. */
  readonly invalid: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Tokens among them that the server did not count, so that they were estimated. */
  readonly estimatedTokens: number;
  readonly minutes: number;
}

/** A model that counts what it costs and stops at its limits. */
export interface MeteredModel extends LanguageModel {
  /** Counts an answer that its reader refused. */
  noteInvalid(): void;
  usage(): LlmUsage;
  /** Whether a request of about so many tokens, prompt and answer together, would be let through now. */
  hasRoomFor(tokens: number): boolean;
}

/** Bytes to a token in the estimate: English has about four, Chinese three, so that it errs upwards. */
const BYTES_PER_TOKEN = 3;
/** Tokens that the roles and marks around two messages take. */
const TOKENS_OF_FRAME = 16;

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Tokens of a text when nobody counted them; rather too many than too few. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Tokens that a request takes at most by our estimate: its prompt and the longest answer it allows. */
export function estimateRequestTokens({ system, prompt, maxTokens }: CompletionRequest): number {
  return promptTokensOf({ system, prompt }) + maxTokens;
}

function promptTokensOf({ system, prompt }: Pick<CompletionRequest, "system" | "prompt">): number {
  return estimateTokens(system) + estimateTokens(prompt) + TOKENS_OF_FRAME;
}

/**
 * Puts a model under a budget of its own. What a request could use at most is set aside while it runs, so requests
 * side by side keep within the limits too. A request that failed counts as a call; its prompt counts unless the model
 * was never reached.
 * @returns a model whose `complete` throws `llm_budget` for the request that does not fit, and for one that runs past
 * the last minute
 */
export function meterModel(model: LanguageModel, limits: LlmBudget, clock: Clock): MeteredModel {
  return new BudgetedModel(model, limits, clock);
}

class BudgetedModel implements MeteredModel {
  readonly #model: LanguageModel;
  readonly #limits: LlmBudget;
  readonly #clock: Clock;
  #calls = 0;
  #failed = 0;
  #invalid = 0;
  #promptTokens = 0;
  #completionTokens = 0;
  #estimatedTokens = 0;
  #waitedMs = 0;
  /** Tokens set aside for requests that run. */
  #reserved = 0;

  constructor(model: LanguageModel, limits: LlmBudget, clock: Clock) {
    this.#model = model;
    this.#limits = limits;
    this.#clock = clock;
  }

  get name(): string {
    return this.#model.name;
  }

  noteInvalid(): void {
    this.#invalid += 1;
  }

  usage(): LlmUsage {
    return {
      calls: this.#calls,
      failed: this.#failed,
      invalid: this.#invalid,
      promptTokens: this.#promptTokens,
      completionTokens: this.#completionTokens,
      estimatedTokens: this.#estimatedTokens,
      minutes: this.#waitedMs / MS_PER_MINUTE,
    };
  }

  hasRoomFor(tokens: number): boolean {
    return this.#whatIsUsedUp(tokens) === null;
  }

  async complete(request: CompletionRequest): Promise<Completion> {
    request.signal?.throwIfAborted();
    const needed = estimateRequestTokens(request);
    const usedUp = this.#whatIsUsedUp(needed);
    if (usedUp !== null) throw budgetError(usedUp);
    this.#calls += 1;
    this.#reserved += needed;
    const startedAt = this.#clock.now();
    const timer = new AbortController();
    const alarm = setTimeout(() => timer.abort(budgetError("minutes")), Math.min(this.#msLeft(), LONGEST_TIMER_MS));
    const forward = () => timer.abort(request.signal?.reason);
    request.signal?.addEventListener("abort", forward, { once: true });
    try {
      const completion = await this.#model.complete({ ...request, signal: timer.signal });
      this.#count(request, completion);
      return completion;
    } catch (error) {
      this.#failed += 1;
      if (!(error instanceof DormouseError && error.code === "llm_unreachable")) this.#countPrompt(request, null);
      throw error;
    } finally {
      clearTimeout(alarm);
      request.signal?.removeEventListener("abort", forward);
      this.#reserved -= needed;
      this.#waitedMs += Math.max(0, this.#clock.now() - startedAt);
    }
  }

  #whatIsUsedUp(tokens: number): keyof LlmBudget | null {
    if (this.#calls >= this.#limits.calls) return "calls";
    const used = this.#promptTokens + this.#completionTokens + this.#reserved;
    if (used + tokens > this.#limits.tokens) return "tokens";
    return this.#msLeft() <= 0 ? "minutes" : null;
  }

  #msLeft(): number {
    return this.#limits.minutes * MS_PER_MINUTE - this.#waitedMs;
  }

  #count(request: CompletionRequest, { text, promptTokens, completionTokens }: Completion): void {
    this.#countPrompt(request, promptTokens);
    const estimate = estimateTokens(text);
    this.#completionTokens += completionTokens ?? estimate;
    this.#estimatedTokens += completionTokens === null ? estimate : 0;
  }

  #countPrompt(request: CompletionRequest, counted: number | null): void {
    const estimate = promptTokensOf(request);
    this.#promptTokens += counted ?? estimate;
    this.#estimatedTokens += counted === null ? estimate : 0;
  }
}

function budgetError(limit: keyof LlmBudget): DormouseError {
  return new DormouseError("llm_budget", `this night's ${limit} for the language model are used up`, {
    hint: `The next night goes on; \`dormouse config set llmBudget.${limit} NUMBER\` allows more.`,
  });
}
