/** The library's surface: open a brain and use it. Everything exported here is stable and documented. */
import { Brain, type BrainOptions } from "./app.ts";

/**
 * Opens a brain file, for one process at a time or many: writers wait for one another. Close it when done.
 * @param options which file (default `DORMOUSE_BRAIN`, else `~/.dormouse/brain.db`), whether to make it, which scopes
 * to read, and who writes
 * @throws DormouseError `no_brain`, `not_a_brain`, `newer_brain`, `unknown_scope`, and as the disk does
 * @example
 * const brain = openBrain({ path: "brain.db", create: true });
 * await brain.remember({ content: "The kettle is descaled on the first of the month." });
 * brain.close();
 */
export function openBrain(options: BrainOptions = {}): Brain {
  return Brain.open(options);
}

export {
  type BeliefChange,
  type BeliefOptions,
  Brain,
  type BrainOptions,
  type Census,
  type Checkpoint,
  type DoctorReport,
  defaultBrainPath,
  type EventView,
  type ExtractOptions,
  type HistoryEntry,
  type HistoryOptions,
  type LedgerQuery,
  type LegChange,
  LISTABLE_STATES,
  type ListedModel,
  type ListFilter,
  type ModelStatus,
  type NewLegs,
  PastBrain,
  type PathStep,
  type RecallOptions,
  type RecallPreview,
  type RecallReport,
  type RecallResult,
  type RecallTarget,
  type ResolveOptions,
  type SleepOptions,
  type SleepReport,
  type SourceDetail,
  type SourceListing,
  type SourceListOptions,
  type StateChange,
  type ThoughtDetail,
  type ThoughtInspection,
  type TrustChange,
  type TrustTarget,
  type UnrecallResult,
  type UseModelOptions,
  type Verification,
  type VerifyProblem,
  type VerifyQuery,
  type WhyNode,
} from "./app.ts";
export { DormouseError, type ErrorCode } from "./core/errors.ts";
export type { Embedder, EmbeddingModel, Progress, ProgressListener } from "./core/ports.ts";
export { parseReferent } from "./core/referent.ts";
export type {
  ExtractReport,
  RememberInput,
  RememberResult,
  SearchAnswer,
  SearchOptions,
  SearchResult,
  ThoughtView,
} from "./core/types.ts";
