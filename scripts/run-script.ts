/**
 * How a script ends: its own and the caller's mistakes as a line and a hint, with the exit codes of the
 * CLI (1 failure, 2 usage); anything else keeps its stack, since it is a fault of the script.
 */
import { DormouseError, isUsageError } from "../src/core/errors.ts";

/** Runs the script's main function and sets the exit code. */
export async function runScript(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    const isBadOption =
      error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
    if (!(error instanceof DormouseError) && !isBadOption) throw error;
    console.error(error.message);
    if (error instanceof DormouseError && error.hint !== undefined) console.error(error.hint);
    process.exitCode = isBadOption || isUsageError(error) ? 2 : 1;
  }
}
