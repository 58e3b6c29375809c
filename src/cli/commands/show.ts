/** `dormouse show`: everything about one thought or source. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderInspection } from "../render.ts";

export async function runShow(invocation: Invocation, id: string): Promise<ExitStatus> {
  const node = await withBrain(invocation, (brain) => brain.show(id));
  invocation.output.print(node, renderInspection);
  return 0;
}
