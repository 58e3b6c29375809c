/** `dormouse checkpoint`: signs how far the ledger is, so that nobody can rewrite it unseen. */
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";

/** JSON: file, key file, fingerprint of the key, head and time. */
export async function runCheckpoint(
  invocation: Invocation,
  file: string,
  flags: { readonly key?: string },
): Promise<ExitStatus> {
  const checkpoint = await withBrain(invocation, (brain) => brain.checkpoint(file, flags.key));
  invocation.output.print(checkpoint, ({ keyFile, newKey, fingerprint, head }) =>
    [
      ...(newKey ? [`made a key in ${keyFile}; keep it away from the brain`] : []),
      `signed ${head}`,
      `by key ${fingerprint}, into ${file}`,
      "Keep the file where nobody who can write the brain can change it.",
    ].join("\n"),
  );
  return 0;
}
