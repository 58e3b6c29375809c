/** What one run gives to everything that it extracts. */
import type { Notes } from "../store/notes.ts";
import type { Store } from "../store/store.ts";
import type { Intake } from "./intake.ts";
import type { ByteProgress } from "./progress.ts";
import type { Tally } from "./tally.ts";

export interface RunContext {
  readonly store: Store;
  readonly notes: Notes;
  readonly intake: Intake;
  readonly tally: Tally;
  readonly progress: ByteProgress;
  readonly dryRun: boolean;
  readonly subagents: boolean;
  /** Between files: fails when the run was called off, rests when it should. */
  readonly breathe: () => Promise<void>;
  /** Texts per transaction. */
  readonly batchSize: number;
}
