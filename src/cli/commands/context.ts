/** `dormouse context`: the evidence pack an agent is given, as it stands. */
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";

export async function runContext(
  invocation: Invocation,
  hints: readonly string[],
  flags: { readonly budget: string },
): Promise<ExitStatus> {
  const budget = readCount("--budget", flags.budget);
  const answer = await withBrain(invocation, (brain) => brain.context(hints, { budget }));
  invocation.output.print(answer, ({ text }) => text);
  return 0;
}
