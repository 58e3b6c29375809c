/**
 * One call of the command line: which brain, which output, and the opening and closing of the brain around
 * a command. Decides nothing about commands.
 */
import { existsSync } from "node:fs";
import type { Brain } from "../app.ts";
import { DormouseError } from "../core/errors.ts";
import type { Output } from "./output.ts";

/** What every command is given besides its own arguments. */
export interface Invocation {
  readonly output: Output;
  /** `--brain FILE`; undefined: DORMOUSE_BRAIN or the default place. */
  readonly brainPath: string | undefined;
  /** `--model-dir DIR`; undefined: DORMOUSE_MODEL_DIR or what this machine remembers. */
  readonly modelDirectory: string | undefined;
}

/** Exit status of a command: 0 worked, 1 failed. Usage errors are thrown and become 2. */
export type ExitStatus = 0 | 1;

/** What a shell reports for a program that SIGINT ended. */
const INTERRUPTED_STATUS = 130;

/** Opens the brain, runs the command and closes the brain again, whatever happens. */
export async function withBrain<T>(
  invocation: Invocation,
  run: (brain: Brain) => Promise<T> | T,
  options: { create?: boolean } = {},
): Promise<T> {
  const { Brain } = await import("../app.ts");
  const brain = Brain.open({
    ...(invocation.brainPath === undefined ? {} : { path: invocation.brainPath }),
    ...(invocation.modelDirectory === undefined ? {} : { modelDirectory: invocation.modelDirectory }),
    ...(options.create === true ? { create: true } : {}),
    onNotice: (notice) => invocation.output.note(notice),
  });
  try {
    return await run(brain);
  } finally {
    brain.close();
  }
}

/** The brain file's path, for commands that do not open it. @throws DormouseError `no_brain` when it must exist */
export async function brainPathOf(invocation: Invocation, options: { mustExist?: boolean } = {}): Promise<string> {
  const { defaultBrainPath } = await import("../app.ts");
  const path = invocation.brainPath ?? defaultBrainPath();
  if (options.mustExist === true && !existsSync(path)) {
    throw new DormouseError("no_brain", `there is no brain at ${path}`, { hint: "`dormouse init` creates it." });
  }
  return path;
}

/** What reads a brain, now or as of a past moment. */
export type ReadableBrain = Pick<Brain, "search" | "context" | "show" | "why" | "how" | "history" | "list" | "stats">;

/**
 * Runs a reading command, on the brain as it was when `asOf` says so.
 * @param asOf as typed; a bare date is the end of that day on this machine
 */
export async function withReader<T>(
  invocation: Invocation,
  asOf: string | undefined,
  run: (brain: ReadableBrain) => Promise<T> | T,
): Promise<T> {
  if (asOf === undefined) return withBrain(invocation, run);
  const { readAsOf } = await import("./times.ts");
  const at = await readAsOf(asOf, Date.now());
  return withBrain(invocation, async (brain) => {
    const past = brain.asOf(at);
    try {
      return await run(past);
    } finally {
      past.close();
    }
  });
}

/**
 * Lets Ctrl-C end the process between two batches, with status 130. For commands that return to the event
 * loop between batches; elsewhere the default kills at once, which a transaction survives just as well.
 */
export function endOnInterrupt(output: Output, cleanUp: () => void = () => {}): void {
  process.once("SIGINT", () => {
    output.note("interrupted; what was finished is kept, and the same command goes on from there");
    cleanUp();
    process.exit(INTERRUPTED_STATUS);
  });
}

/** An option's number. @throws DormouseError `usage` when the text is no whole number of at least `least`. */
export function readCount(option: string, text: string, least = 1): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(count) || count < least) {
    throw new DormouseError("usage", `${option} must be a whole number, ${least} or more`, {
      hint: `For instance ${option} ${Math.max(least, 20)}.`,
    });
  }
  return count;
}
