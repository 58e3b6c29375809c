/** `dormouse forget`: takes a thought out of search, for a reason. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderChange } from "../render.ts";

export async function runForget(
  invocation: Invocation,
  id: string,
  flags: { readonly reason: string },
): Promise<ExitStatus> {
  const change = await withBrain(invocation, (brain) => brain.forget(id, flags.reason));
  invocation.output.print(change, (done) => renderChange(done, "forgot"));
  return 0;
}
