/** `dormouse how`: a path between two nodes. */
import type { PathStep } from "../../app.ts";
import { type ExitStatus, type Invocation, withReader } from "../invocation.ts";
import { fitLine, type Style } from "../output.ts";

/** JSON: {from, to, path}, the path null when the two are not connected, which is an answer and no failure. */
export async function runHow(
  invocation: Invocation,
  from: string,
  to: string,
  flags: { readonly asOf?: string },
): Promise<ExitStatus> {
  const path = await withReader(invocation, flags.asOf, (brain) => brain.how(from, to));
  invocation.output.print({ from, to, path }, (answer, style) =>
    answer.path === null ? `${from} and ${to} are not connected` : pathLines(answer.path, style).join("\n"),
  );
  return 0;
}

function pathLines(path: readonly PathStep[], style: Style): string[] {
  return path.flatMap(({ id, via, label }) => [
    ...(via === null ? [] : [style.dim(`  ${via}`)]),
    `${style.bold(id)}  ${fitLine(label, style.width - id.length - 2)}`,
  ]);
}
