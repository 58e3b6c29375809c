/** `dormouse unrecall`: undoes a recall. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { countOf } from "../render.ts";

/** JSON: how many stand again, and how many another recall keeps down. */
export async function runUnrecall(invocation: Invocation, event: string): Promise<ExitStatus> {
  const result = await withBrain(invocation, (brain) => brain.unrecall(event));
  invocation.output.print(result, ({ recall, restored, stillFallen, event: undoing }) =>
    [
      `undid ${recall} (${undoing}): ${countOf(restored, "node")} ${restored === 1 ? "stands" : "stand"} again`,
      ...(stillFallen === 0
        ? []
        : [`${countOf(stillFallen, "node")} ${stillFallen === 1 ? "stays" : "stay"} down under another recall`]),
    ].join("\n"),
  );
  return 0;
}
