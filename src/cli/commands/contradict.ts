/** `dormouse contradict`: two thoughts that cannot both be true are disputed from now on. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderBeliefChange } from "../render.ts";

/** JSON: what changed. */
export async function runContradict(
  invocation: Invocation,
  oneId: string,
  otherId: string,
  { reason }: { readonly reason?: string },
): Promise<ExitStatus> {
  const options = reason === undefined ? {} : { reason };
  const change = await withBrain(invocation, (brain) => brain.contradict(oneId, otherId, options));
  invocation.output.print(change, renderBeliefChange);
  return 0;
}
