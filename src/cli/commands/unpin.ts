/** `dormouse unpin`: takes a person's pin away again. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderChange } from "../render.ts";

export async function runUnpin(invocation: Invocation, id: string): Promise<ExitStatus> {
  const change = await withBrain(invocation, (brain) => brain.unpin(id));
  invocation.output.print(change, (done) => renderChange(done, "unpinned"));
  return 0;
}
