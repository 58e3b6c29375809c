/** `dormouse resolve`: settles a dispute in favour of one thought, or of both. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderBeliefChange } from "../render.ts";

interface ResolveFlags {
  readonly over?: string;
  readonly both?: boolean;
  readonly reason?: string;
}

/** JSON: what changed. */
export async function runResolve(invocation: Invocation, id: string, flags: ResolveFlags): Promise<ExitStatus> {
  const { over, both = false, reason } = flags;
  const options = { both, ...(over === undefined ? {} : { over }), ...(reason === undefined ? {} : { reason }) };
  const change = await withBrain(invocation, (brain) => brain.resolve(id, options));
  invocation.output.print(change, renderBeliefChange);
  return 0;
}
