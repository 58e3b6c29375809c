/** `dormouse pin`: keeps a thought for good. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderChange } from "../render.ts";

export async function runPin(invocation: Invocation, id: string): Promise<ExitStatus> {
  const change = await withBrain(invocation, (brain) => brain.pin(id));
  invocation.output.print(change, (done) => renderChange(done, "pinned"));
  return 0;
}
