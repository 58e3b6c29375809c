/** `dormouse revive`: brings a forgotten or decayed thought back into search. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderChange } from "../render.ts";

export async function runRevive(invocation: Invocation, id: string): Promise<ExitStatus> {
  const change = await withBrain(invocation, (brain) => brain.revive(id));
  invocation.output.print(change, (done) => renderChange(done, "revived"));
  return 0;
}
