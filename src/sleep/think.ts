/**
 * Phase 4: what a language model does in a night, each task a phase of its own with its share of what the night may cost.
 * Without a model they are skipped and say so; once the model cannot be reached, the later ones leave it alone.
 */

import type { Store } from "../store/store.ts";
import { modelSource } from "../think/model-source.ts";
import type { Share } from "../think/run-task.ts";
import { TASK_NAMES, type TaskName } from "../think/task-names.ts";
import type { Phase, PhaseContext, Thinker } from "./phase.ts";
import { readThresholds } from "./thresholds.ts";

/** How the tasks share what is left of the night's budget; what one leaves goes to those after it. */
const WEIGHTS: Readonly<Record<TaskName, number>> = { distil: 4, think: 2, tension: 2, dream: 1, date: 1 };

/** The phase of a task. */
export function thinkPhase(name: TaskName): Phase {
  return async (context) => {
    const { store, dryRun, reports } = context;
    const hasFailed = reports.some(({ error }) => error !== undefined && /^(?:llm_|no_llm$)/.test(error.code));
    if (hasFailed) return { planned: 0, applied: 0, details: { skipped: 1, failed_before: 1 } };
    const thinker = await context.loadThinker();
    if (thinker === null) return { planned: 0, applied: 0, details: { skipped: 1 } };
    // Nothing that it says could stand.
    if (store.read(() => isRecalled(store, thinker))) {
      return { planned: 0, applied: 0, details: { skipped: 1, model_recalled: 1 } };
    }
    // Checking answers takes a library that a night without a model need not load.
    const [{ runTask }, { createTask }] = await Promise.all([
      import("../think/run-task.ts"),
      import("../think/tasks.ts"),
    ]);
    return runTask(await createTask(name), {
      store,
      dryRun,
      embedder: context.embedder,
      actor: context.actor,
      model: thinker.model,
      answeredBy: thinker.model.name,
      duplicateCosine: readThresholds(store).duplicate,
      share: shareOf(name, thinker, context),
      ...(context.signal === undefined ? {} : { signal: context.signal }),
      isTimeUp: () => context.isTimeUp(),
      commit: (fn) => context.commit(fn),
      breathe: (done, total) => context.breathe(done, total),
    });
  };
}

function isRecalled(store: Store, { model }: Thinker): boolean {
  const { type, key } = modelSource(model.name);
  const sourceId = store.sources.find(type, key);
  return sourceId !== null && store.legs.parent(sourceId)?.dead === true;
}

/** The part of what is left that this task may use, by the weights of those still to come tonight. */
function shareOf(name: TaskName, { model, budget }: Thinker, { wanted }: PhaseContext): Share {
  const coming = TASK_NAMES.slice(TASK_NAMES.indexOf(name)).filter((task) => wanted.has(task));
  const part = WEIGHTS[name] / coming.reduce((sum, task) => sum + WEIGHTS[task], 0);
  const used = model.usage();
  return {
    calls: Math.ceil((budget.calls - used.calls) * part),
    tokens: (budget.tokens - used.promptTokens - used.completionTokens) * part,
    minutes: (budget.minutes - used.minutes) * part,
  };
}
