/** `dormouse init`: makes an empty brain. One that is there already is left as it is. */
import { existsSync, statSync } from "node:fs";
import { defaultBrainPath } from "../../app.ts";
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";

/** @throws DormouseError `not_a_brain` when another file stands in the place. */
export async function runInit(invocation: Invocation): Promise<ExitStatus> {
  const path = invocation.brainPath ?? defaultBrainPath();
  const existed = existsSync(path) && statSync(path).size > 0;
  const answer = await withBrain(invocation, (brain) => ({ path: brain.path, created: !existed }), { create: true });
  invocation.output.print(answer, ({ path: made, created }) =>
    created
      ? `created ${made}\n\nnext:\n  dormouse extract PATH…   read transcripts, notes and text\n  dormouse remember TEXT   remember one thought\n  dormouse search QUERY    find it again`
      : `${made} is a brain already; nothing changed`,
  );
  return 0;
}
