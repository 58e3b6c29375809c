/** The tasks by their names, each new: a task remembers what it showed during one run. */
import { createDateTask } from "./date.ts";
import { createDistilTask } from "./distil.ts";
import { createDreamTask } from "./dream.ts";
import type { Task } from "./task.ts";
import type { TaskName } from "./task-names.ts";
import { createTensionTask } from "./tension.ts";
import { createThinkTask } from "./think.ts";

/** @param session local id of the only session to distil */
export function createTask(name: TaskName, session: number | null = null): Task {
  switch (name) {
    case "distil":
      return asTask(createDistilTask(session));
    case "think":
      return asTask(createThinkTask());
    case "tension":
      return asTask(createTensionTask());
    case "dream":
      return asTask(createDreamTask());
    case "date":
      return asTask(createDateTask());
  }
}

/** The same task for who does not know the form of its answers: each is read by its schema first. */
function asTask<Answer>(task: Task<Answer>): Task {
  return {
    ...task,
    take: async (context, material, answer) => {
      const read = task.schema.safeParse(answer);
      return read.success ? task.take(context, material, read.data) : { accepted: false, rule: "shape" };
    },
  };
}
