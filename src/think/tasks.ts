/** The tasks by their names, each new: a task remembers what it showed during one run. Loads what the one needs. */
import type { Task } from "./task.ts";
import type { TaskName } from "./task-names.ts";

/** @param session local id of the only session to distil */
export async function createTask(name: TaskName, session: number | null = null): Promise<Task> {
  switch (name) {
    case "distil":
      return asTask((await import("./distil.ts")).createDistilTask(session));
    case "think":
      return asTask((await import("./think.ts")).createThinkTask());
    case "tension":
      return asTask((await import("./tension.ts")).createTensionTask());
    case "dream":
      return asTask((await import("./dream.ts")).createDreamTask());
    case "date":
      return asTask((await import("./date.ts")).createDateTask());
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
