/** The library's surface: open a brain and use it. Everything exported here is stable and documented. */
export {
  Brain,
  type BrainOptions,
  type Census,
  type DoctorReport,
  defaultBrainPath,
  type EventView,
  type ExtractOptions,
  type LedgerQuery,
  LISTABLE_STATES,
  type ListedModel,
  type ListFilter,
  type ModelStatus,
  type PathStep,
  type SleepOptions,
  type SleepReport,
  type SourceDetail,
  type StateChange,
  type ThoughtDetail,
  type ThoughtInspection,
  type UseModelOptions,
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
