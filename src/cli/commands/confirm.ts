/** `dormouse confirm`: a person's word that a thought holds. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderBeliefChange } from "../render.ts";

/** JSON: what changed. */
export async function runConfirm(invocation: Invocation, id: string): Promise<ExitStatus> {
  const change = await withBrain(invocation, (brain) => brain.confirm(id));
  invocation.output.print(change, renderBeliefChange);
  return 0;
}
