/** `dormouse supersede`: one thought takes another's place, or gives it back. */
import { DormouseError } from "../../core/errors.ts";
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import { renderBeliefChange } from "../render.ts";

interface SupersedeFlags {
  readonly reason?: string;
  readonly undo?: boolean;
}

/** JSON: what changed. */
export async function runSupersede(
  invocation: Invocation,
  oldId: string,
  newId: string | undefined,
  flags: SupersedeFlags,
): Promise<ExitStatus> {
  const { undo = false, reason } = flags;
  if (undo && (newId !== undefined || reason !== undefined)) {
    throw new DormouseError("usage", "--undo takes one id and no reason", {
      hint: "Name the thought that was superseded.",
    });
  }
  const change = await withBrain(invocation, (brain) => {
    if (undo) return brain.undoSupersede(oldId);
    if (newId === undefined) {
      throw new DormouseError("usage", "the thought that takes its place is missing", {
        hint: "dormouse supersede OLD NEW, or dormouse supersede --undo OLD",
      });
    }
    return brain.supersede(oldId, newId, reason === undefined ? {} : { reason });
  });
  invocation.output.print(change, renderBeliefChange);
  return 0;
}
