/** `dormouse distil`: a host agent distils what was said in sessions in place of a language model. */
import { DormouseError } from "../../core/errors.ts";
import { type AnswerFlags, checkFlags, ingestFile, printPrepared } from "../host-answers.ts";
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";

interface DistilFlags extends AnswerFlags {
  readonly again?: boolean;
}

/** Status 1 when there were answers and none of them was taken. @param session `s_…` */
export async function runDistil(
  invocation: Invocation,
  session: string | undefined,
  flags: DistilFlags,
): Promise<ExitStatus> {
  checkFlags(flags, "distil");
  if (flags.ingest !== undefined) {
    if (session !== undefined || flags.again === true) {
      throw new DormouseError("usage", "--ingest takes no session: the answers' tickets name it");
    }
    return ingestFile(invocation, flags.ingest, flags);
  }
  if (flags.again === true && session === undefined) {
    throw new DormouseError("usage", "--again needs a session", { hint: "dormouse distil s_… --prepare --again" });
  }
  const options = {
    batches: readCount("--batches", flags.batches),
    ...(session === undefined ? {} : { session }),
    ...(flags.again === undefined ? {} : { again: flags.again }),
  };
  const prepared = await withBrain(invocation, (brain) => brain.prepareThinking("distil", options));
  return printPrepared(invocation, prepared);
}
