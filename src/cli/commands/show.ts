/** `dormouse show`: everything about one thought or source. */
import { type ExitStatus, type Invocation, withReader } from "../invocation.ts";
import { renderInspection } from "../render.ts";

export async function runShow(
  invocation: Invocation,
  id: string,
  flags: { readonly asOf?: string },
): Promise<ExitStatus> {
  const node = await withReader(invocation, flags.asOf, (brain) => brain.show(id));
  invocation.output.print(node, renderInspection);
  return 0;
}
