/**
 * Runs one task of a night: asks the language model about one material after another within the task's share of the
 * night, applies the answers and notes how far it came. What a kill or a failure cut short is asked again, and what was
 * taken already is then known. Refuses to ask in a dry run.
 */
import { DormouseError } from "../core/errors.ts";
import type { MeteredModel } from "../llm/budget.ts";
import { askForValue } from "../llm/parse-reply.ts";
import type { Store } from "../store/store.ts";
import { applyAnswers } from "./apply-answers.ts";
import { type Material, PREAMBLE, renderPrompt } from "./material.ts";
import type { Place, Progress, Task, ThinkContext } from "./task.ts";

/** Tokens of one answer, at most: with the longest material it fits the 8,192 of a small local model. */
const MAX_TOKENS = 1_500;
/** Nights in which a model may fail at the same place before it is stepped over. */
const MAX_TRIES = 3;
/** Steps that a dry run looks ahead, at most. */
const FORESEEN_STEPS = 1_000;

/** What a task may use of the night. */
export interface Share {
  readonly calls: number;
  readonly tokens: number;
  readonly minutes: number;
}

export interface TaskRun extends ThinkContext {
  readonly model: MeteredModel;
  readonly share: Share;
  readonly dryRun: boolean;
  /** Ends a request that is waited for; the task stops before it. */
  readonly signal?: AbortSignal;
  isTimeUp(): boolean;
  breathe(done: number, total: number | null): Promise<void>;
}

export interface TaskOutcome {
  /** Answers given. */
  readonly planned: number;
  /** Answers taken. */
  readonly applied: number;
  /**
   * requests; tokens; refused.RULE; invalid: requests without a valid answer; for_review: answers that were held;
   * given_up: requests stepped over; stopped: 1 when the share or the time ran out.
   */
  readonly details: Readonly<Record<string, number>>;
}

/** @throws DormouseError as the model does, but for `llm_budget`, and for `llm_bad_reply`, which is counted */
export async function runTask(task: Task, run: TaskRun): Promise<TaskOutcome> {
  const { store } = run;
  const begun = store.read(() => task.begin(store));
  if (run.dryRun) return foresee(task, run, begun);
  return new TaskNight(task, run).run(begun);
}

/** Requests that there would be; nobody is asked. */
function foresee(task: Task, { store, share }: TaskRun, begun: Place): TaskOutcome {
  let requests = 0;
  let place = begun;
  for (let steps = 0; steps < FORESEEN_STEPS && requests < share.calls; steps++) {
    const step = store.read(() => task.next(store, place));
    if (step === null) break;
    requests += step.materials.length;
    place = step.place;
  }
  return { planned: 0, applied: 0, details: { requests: Math.min(requests, share.calls) } };
}

class TaskNight {
  readonly #task: Task;
  readonly #run: TaskRun;
  readonly #before: Share;
  readonly #counts = new Map<string, number>([["requests", 0]]);
  #planned = 0;
  #applied = 0;

  constructor(task: Task, run: TaskRun) {
    this.#task = task;
    this.#run = run;
    this.#before = usedOf(run.model);
  }

  async run(begun: Place): Promise<TaskOutcome> {
    const { store } = this.#run;
    let place = begun;
    for (;;) {
      const step = store.read(() => this.#task.next(store, place));
      if (step === null) break;
      if (!(await this.#askAll(step.materials))) {
        this.#count("stopped");
        break;
      }
      place = step.place;
      this.#run.commit(() => this.#save(step));
      await this.#run.breathe(this.#counts.get("requests") ?? 0, null);
    }
    this.#counts.set("tokens", usedOf(this.#run.model).tokens - this.#before.tokens);
    return { planned: this.#planned, applied: this.#applied, details: Object.fromEntries(this.#counts) };
  }

  /** @returns false when the share or the time ran out before the end */
  async #askAll(materials: readonly Material[]): Promise<boolean> {
    for (const material of materials) {
      if (this.#isOver()) return false;
      if (this.#triedTooOften()) {
        this.#count("given_up");
        continue;
      }
      try {
        await this.#ask(material);
      } catch (error) {
        if (this.#run.signal?.aborted === true) return false;
        if (!(error instanceof DormouseError)) throw error;
        if (error.code === "llm_budget") return false;
        if (error.code === "llm_bad_reply") this.#count("invalid");
        else {
          this.#noteFailure(error);
          throw error;
        }
      }
      await this.#run.breathe(this.#counts.get("requests") ?? 0, null);
    }
    return true;
  }

  async #ask(material: Material): Promise<void> {
    const { model, signal } = this.#run;
    this.#count("requests");
    // An answer may take minutes: whoever watches the lease should know that we are here.
    this.#run.commit(() => {});
    const { value } = await askForValue(model, {
      system: `${PREAMBLE}\n\n${this.#task.instructions}`,
      prompt: renderPrompt(material),
      maxTokens: MAX_TOKENS,
      answer: this.#task.wholeAnswer,
      ...(signal === undefined ? {} : { signal }),
    });
    const { accepted, refused } = await applyAnswers(this.#task, this.#run, material, value.answers);
    this.#planned += accepted.length + refused.length;
    this.#applied += accepted.length;
    if (material.untrusted && accepted.length > 0) this.#count("for_review", accepted.length);
    for (const { rule } of refused) this.#count(`refused.${rule}`);
  }

  #isOver(): boolean {
    const { model, share } = this.#run;
    const used = usedOf(model);
    return (
      this.#run.isTimeUp() ||
      used.calls - this.#before.calls >= share.calls ||
      used.tokens - this.#before.tokens >= share.tokens ||
      used.minutes - this.#before.minutes >= share.minutes
    );
  }

  get #triesCursor(): string {
    return `sleep.${this.#task.name}.tries`;
  }

  /** A model that cannot take a request must not be asked the same for ever. */
  #triedTooOften(): boolean {
    return this.#run.store.operations.cursor(this.#triesCursor) >= MAX_TRIES;
  }

  #noteFailure({ code }: DormouseError): void {
    if (code !== "llm_timeout" && code !== "llm_refused") return;
    const { operations } = this.#run.store;
    this.#run.commit(() => operations.moveCursor(this.#triesCursor, operations.cursor(this.#triesCursor) + 1));
  }

  #save(progress: Progress): void {
    const { operations } = this.#run.store;
    saveProgress(operations, progress);
    if (operations.cursor(this.#triesCursor) > 0) operations.dropCursor(this.#triesCursor);
  }

  #count(what: string, by = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + by);
  }
}

/** Inside a write transaction. */
export function saveProgress(operations: Store["operations"], { place, marked = [], unmarked = [] }: Progress): void {
  for (const [cursor, position] of Object.entries(place)) operations.moveCursor(cursor, position);
  for (const mark of marked) operations.moveCursor(mark, 1);
  for (const mark of unmarked) operations.dropCursor(mark);
}

function usedOf(model: MeteredModel): Share {
  const { calls, promptTokens, completionTokens, minutes } = model.usage();
  return { calls, tokens: promptTokens + completionTokens, minutes };
}
