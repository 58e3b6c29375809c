/** `dormouse context`: the evidence pack an agent is given, as it stands. */
import { type ExitStatus, type Invocation, readCount, withReader } from "../invocation.ts";

export async function runContext(
  invocation: Invocation,
  hints: readonly string[],
  flags: { readonly budget: string; readonly asOf?: string },
): Promise<ExitStatus> {
  const budget = readCount("--budget", flags.budget);
  const answer = await withReader(invocation, flags.asOf, (brain) => brain.context(hints, { budget }));
  invocation.output.print(answer, ({ text }) => text);
  return 0;
}
