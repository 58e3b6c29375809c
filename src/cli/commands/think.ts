/** `dormouse think`: a host agent thinks, looks for contradictions, dreams or dates in place of a language model. */
import type { TaskName } from "../../app.ts";
import { type AnswerFlags, checkFlags, ingestFile, printPrepared } from "../host-answers.ts";
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";

interface ThinkFlags extends AnswerFlags {
  readonly task: Exclude<TaskName, "distil">;
}

/** Status 1 when there were answers and none of them was taken. */
export async function runThink(invocation: Invocation, flags: ThinkFlags): Promise<ExitStatus> {
  checkFlags(flags, "think");
  if (flags.ingest !== undefined) return ingestFile(invocation, flags.ingest, flags);
  const batches = readCount("--batches", flags.batches);
  const prepared = await withBrain(invocation, (brain) => brain.prepareThinking(flags.task, { batches }));
  return printPrepared(invocation, prepared);
}
