/**
 * The composition root: joins store, embedder and use-cases into one Brain. Every face (CLI, library,
 * MCP, dashboard) calls this and nothing below it. Extraction and sleep load when asked for: their parsers
 * would otherwise be paid at every start.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import {
  BrainModels,
  type ListedModel,
  type ModelStatus,
  RENEW_AT_ONCE,
  type UseModelOptions,
} from "./app/brain-models.ts";
import type { Checkpoint, ReadCheckpoint } from "./app/checkpoint.ts";
import { type MetricSeries, type MetricsQuery, type MetricsReport, readMetrics } from "./app/metrics.ts";
import { PastBrain } from "./app/past-brain.ts";
import { type Clock, dayOf, systemClock } from "./core/clock.ts";
import { DormouseError } from "./core/errors.ts";
import { parseEventId } from "./core/ids.ts";
import type { Embedder, LanguageModel, ProgressListener } from "./core/ports.ts";
import type {
  Actor,
  ExtractReport,
  RememberInput,
  RememberResult,
  SearchAnswer,
  SearchOptions,
  Trust,
} from "./core/types.ts";
import type { ExtractOptions } from "./extract/run.ts";
import type { MeteredModel } from "./llm/budget.ts";
import {
  type BeliefChange,
  type BeliefOptions,
  confirm,
  contradict,
  type ResolveOptions,
  resolve,
  supersede,
  undoSupersede,
} from "./recall/belief.ts";
import { addLegs, type LegChange, type NewLegs } from "./recall/legs.ts";
import {
  previewRecall,
  type RecallOptions,
  type RecallPreview,
  type RecallReport,
  type RecallResult,
  type RecallTarget,
  recall,
  type UnrecallResult,
  unrecall,
} from "./recall/recall.ts";
import { forget, pin, revive, type StateChange, unpin } from "./recall/states.ts";
import {
  countSources,
  listSources,
  type SourceListing,
  type SourceListOptions,
  setTrust,
  type TrustChange,
  type TrustTarget,
} from "./recall/trust.ts";
import { type RebuildReport, rebuildDerived, rebuildFullText } from "./remember/rebuild.ts";
import { rememberAll, rememberOne } from "./remember/remember.ts";
import { buildContext, type ContextAnswer, type ContextOptions } from "./retrieve/context.ts";
import { type HistoryEntry, type HistoryOptions, history } from "./retrieve/history.ts";
import { how, list, type PathStep, type SourceDetail, show, type ThoughtInspection } from "./retrieve/inspect.ts";
import { estimateTokens, pack } from "./retrieve/pack.ts";
import { search } from "./retrieve/search.ts";
import { type WhyNode, why } from "./retrieve/why.ts";
import type { SleepOptions, SleepReport } from "./sleep/cycle.ts";
import { type Census, takeCensus } from "./store/census.ts";
import { type CheckResult, checkIntegrity } from "./store/integrity.ts";
import type { EventView } from "./store/ledger.ts";
import { noteLatency, type Timed } from "./store/metrics.ts";
import { WHOLE_CYCLE_CURSOR } from "./store/operations.ts";
import { Store } from "./store/store.ts";
import { LISTABLE_STATES, type ListFilter, type ThoughtDetail } from "./store/thoughts.ts";
import type { VerifyOptions, VerifyProblem, VerifyReport } from "./store/verify.ts";
import type { IngestedBatch, Prepared, PrepareOptions } from "./think/host-agent.ts";
import type { TaskName } from "./think/task-names.ts";

export type {
  BeliefChange,
  BeliefOptions,
  Census,
  Checkpoint,
  EventView,
  ExtractOptions,
  HistoryEntry,
  HistoryOptions,
  IngestedBatch,
  LegChange,
  ListedModel,
  ListFilter,
  MetricSeries,
  MetricsQuery,
  MetricsReport,
  ModelStatus,
  NewLegs,
  PathStep,
  Prepared,
  PrepareOptions,
  RecallOptions,
  RecallPreview,
  RecallReport,
  RecallResult,
  RecallTarget,
  ResolveOptions,
  SleepOptions,
  SleepReport,
  SourceDetail,
  SourceListing,
  SourceListOptions,
  StateChange,
  TaskName,
  ThoughtDetail,
  ThoughtInspection,
  TrustChange,
  TrustTarget,
  UnrecallResult,
  UseModelOptions,
  VerifyProblem,
  WhyNode,
};
export { estimateTokens, LISTABLE_STATES, PastBrain, pack };

export interface BrainOptions {
  /** The brain file; default: `defaultBrainPath()`. */
  readonly path?: string;
  /** Make the file when it is not there. */
  readonly create?: boolean;
  /** Who writes through this object; default a person. */
  readonly actor?: Actor;
  readonly clock?: Clock;
  /** Default: that of the brain's model, loaded at first use. */
  readonly embedder?: Embedder;
  /** Folder of the brain's model, or of models, when it is not the built-in one; default `DORMOUSE_MODEL_DIR`. */
  readonly modelDirectory?: string;
  /** Default: as configured beside the brain, if it is; null: none. */
  readonly languageModel?: LanguageModel | null;
  /** Scopes that may be read; default all. The first is the one written into unless a thought names another. */
  readonly scopes?: readonly string[];
  /** Told what a person should know beside an answer, in a sentence without words of a memory. */
  readonly onNotice?: (notice: string) => void;
}

export interface DoctorReport {
  readonly healthy: boolean;
  readonly checks: readonly CheckResult[];
  readonly rebuilt: RebuildReport | null;
}

export interface VerifyQuery extends VerifyOptions {
  /** A checkpoint file: its head must be in today's chain, too. */
  readonly checkpoint?: string;
  /** Fingerprint of the key that must have signed it. */
  readonly keyFingerprint?: string;
}

export interface Verification extends VerifyReport {
  /** The checkpoint that was asked about; null without one. */
  readonly checkpoint: ReadCheckpoint | null;
}

export interface LedgerQuery {
  readonly node?: string;
  /** Exclusive: events after this one, `e_12` or `12`. */
  readonly since?: string;
  readonly limit?: number;
}

const DEFAULT_LEDGER_LIMIT = 20;
/** Timings that wait for a write of another purpose before they are written for their own sake. */
const TIMINGS_HELD = 16;
/** How long something exclusive holds up others at most, when its process hangs. */
const EXCLUSIVE_MS = 30_000;
/** Who answers through `ingestThinking` when no name is given. */
const HOST_AGENT = "host agent";

/**
 * Analyses all words again after the analyser changed, while that takes a second or two. A larger brain is searched
 * by the terms it has, which miss what only the newer analyser knows, until sleep has made them anew.
 */
function renewFullText(store: Store, onNotice: (notice: string) => void = () => {}): void {
  if (store.fullText.totals().documents > RENEW_AT_ONCE) {
    onNotice("the words of this brain were analysed by an older version: some may be missed until the next sleep");
    return;
  }
  store.write(() => {
    if (store.fullText.isOutdated()) rebuildFullText(store);
  });
}

/** `DORMOUSE_BRAIN`, else `~/.dormouse/brain.db`. */
export function defaultBrainPath(environment: NodeJS.ProcessEnv = process.env): string {
  return environment.DORMOUSE_BRAIN || join(homedir(), ".dormouse", "brain.db");
}

/** One open brain. Close it when done; every method throws DormouseError on failure. */
export class Brain {
  readonly #store: Store;
  /** How long searches and recalls took, until a write takes them along. */
  readonly #timings: { readonly timed: Timed; readonly ms: number }[] = [];
  readonly #actor: Actor;
  readonly #models: BrainModels;
  readonly #givenModel: LanguageModel | null | undefined;
  /** What a thought that names no scope is written into; undefined for the store's default. */
  readonly #scope: string | undefined;

  private constructor(store: Store, options: BrainOptions) {
    this.#store = store;
    this.#actor = options.actor ?? "person";
    this.#givenModel = options.languageModel;
    this.#scope = options.scopes?.[0];
    this.#models = new BrainModels(store, {
      given: options.embedder,
      directory: options.modelDirectory ?? (process.env.DORMOUSE_MODEL_DIR || undefined),
      onNotice: options.onNotice ?? (() => {}),
    });
  }

  static open(options: BrainOptions = {}): Brain {
    const path = options.path ?? defaultBrainPath();
    const store = Store.open(path, options.clock ?? systemClock, { create: options.create === true });
    if (store.fullText.isOutdated()) renewFullText(store, options.onNotice);
    try {
      if (options.scopes !== undefined) store.scopes.openOnly(options.scopes);
    } catch (error) {
      store.close();
      throw error;
    }
    return new Brain(store, options);
  }

  get path(): string {
    return this.#store.connection.path;
  }

  /** Remembers one thought; a refusal throws. */
  remember(input: RememberInput): Promise<RememberResult> {
    return rememberOne(this.#store, this.#models.current, this.#inScope(input), { actor: this.#actor });
  }

  /** Remembers many in one transaction; refusals are results. */
  rememberAll(inputs: readonly RememberInput[]): Promise<RememberResult[]> {
    const scoped = inputs.map((input) => this.#inScope(input));
    return rememberAll(this.#store, this.#models.current, scoped, { actor: this.#actor });
  }

  /** Reads transcripts, vaults and text files into the brain; only what is new is written. */
  async extract(paths: readonly string[], options: ExtractOptions = {}): Promise<ExtractReport> {
    const { runExtract } = await import("./extract/run.ts");
    // A model that is missing is told before anything is read.
    if (options.dryRun !== true) await this.#models.current();
    return runExtract(this.#store, this.#models.current, paths, options);
  }

  /** Finds thoughts. What it returns counts as read today, noted after the answer is made. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    const started = performance.now();
    const answer = await search(this.#store, this.#models.current, query, options);
    this.#timings.push({ timed: "search", ms: performance.now() - started });
    this.#noteAccess(answer.results.map(({ id }) => id));
    return answer;
  }

  /** A pack of evidence for an agent under a token budget. Never counts as an access. */
  context(hints: readonly string[] = [], options: ContextOptions = {}): Promise<ContextAnswer> {
    return buildContext(this.#store, this.#models.current, hints, options);
  }

  /** Everything about one thought or source. */
  show(id: string): ThoughtInspection | SourceDetail {
    return show(this.#store, id);
  }

  /** What a thought rests on, to a depth. */
  why(id: string, depth?: number): WhyNode {
    return why(this.#store, id, depth);
  }

  /** Shortest path between two nodes; null when there is none. */
  how(fromId: string, toId: string): PathStep[] | null {
    return how(this.#store, fromId, toId);
  }

  list(filter: ListFilter): ThoughtDetail[] {
    return list(this.#store, filter);
  }

  /** Takes a thought out of search until it is revived; nothing is deleted. */
  forget(id: string, reason: string): StateChange {
    return forget(this.#store, id, reason, this.#actor);
  }

  revive(id: string): StateChange {
    return revive(this.#store, id, this.#actor);
  }

  pin(id: string): StateChange {
    return pin(this.#store, id, this.#actor);
  }

  unpin(id: string): StateChange {
    return unpin(this.#store, id, this.#actor);
  }

  /** Puts one thought in another's place: the old one leaves search, and what rests on it is flagged stale. */
  supersede(oldId: string, newId: string, options?: BeliefOptions): BeliefChange {
    return supersede(this.#store, oldId, newId, this.#actor, options);
  }

  /** Believes a superseded thought as before. */
  undoSupersede(id: string): BeliefChange {
    return undoSupersede(this.#store, id, this.#actor);
  }

  /** Says that two thoughts cannot both be true: both are disputed until it is resolved. */
  contradict(oneId: string, otherId: string, options?: BeliefOptions): BeliefChange {
    return contradict(this.#store, oneId, otherId, this.#actor, options);
  }

  /** Settles a dispute in favour of a thought, or of both. */
  resolve(id: string, options?: ResolveOptions): BeliefChange {
    return resolve(this.#store, id, this.#actor, options);
  }

  /** Says that a thought holds, also when what it rests on was replaced. */
  confirm(id: string): BeliefChange {
    return confirm(this.#store, id, this.#actor);
  }

  /** What happened to one thought or source, the newest last. */
  history(id: string, options?: HistoryOptions): HistoryEntry[] {
    return history(this.#store, id, options);
  }

  /** What pulling sources or thoughts back would take with them. Changes nothing. */
  previewRecall(target: RecallTarget, options: RecallOptions = {}): RecallPreview {
    return previewRecall(this.#store, target, options);
  }

  /** Pulls sources or thoughts back with everything that rested on them; `unrecall` undoes it. */
  recall(target: RecallTarget, options: RecallOptions = {}): RecallResult {
    const started = performance.now();
    const result = recall(this.#store, target, options, this.#actor);
    this.#timings.push({ timed: "recall", ms: performance.now() - started });
    this.#store.tryWrite(() => this.#noteTimings());
    return result;
  }

  /** Undoes a recall, named by its event. */
  unrecall(event: string): UnrecallResult {
    return unrecall(this.#store, event, this.#actor);
  }

  /** Sources with their trust, the newest first. */
  sources(options?: SourceListOptions): SourceListing[] {
    return listSources(this.#store, options);
  }

  /** How many sources `sources` would name without a limit. */
  countSources(options?: Omit<SourceListOptions, "limit">): number {
    return countSources(this.#store, options);
  }

  /** Sets how far sources are trusted; what rests on them follows. */
  setTrust(target: TrustTarget, trust: Trust): TrustChange {
    return setTrust(this.#store, target, trust, this.#actor);
  }

  /** Gives a known thought further legs: what else justifies it. */
  addLegs(id: string, legs: NewLegs): LegChange {
    return addLegs(this.#store, id, legs, this.#actor);
  }

  /** Runs one cycle of sleep, by the numbers configured beside the brain where `options` have none. */
  async sleep(options: SleepOptions = {}): Promise<SleepReport> {
    const [{ runSleep }, { readConfig }] = await Promise.all([import("./sleep/cycle.ts"), import("./app/config.ts")]);
    const { sleep, llmBudget } = await readConfig(this.path);
    const loadThinker = async () => {
      const model = await this.languageModel();
      return model === null ? null : { model, budget: llmBudget };
    };
    const config = { ...sleep, ...options.config };
    return runSleep(this.#store, this.#models.current, { loadThinker, ...options, config }, this.#models.building);
  }

  /**
   * The language model under the budget of a night that begins now; null when there is none.
   * @throws DormouseError `bad_config`; `no_llm` when the key of the configured one is not in the environment
   */
  async languageModel(): Promise<MeteredModel | null> {
    const [{ openLanguageModel }, { readConfig }] = await Promise.all([
      import("./app/language-model.ts"),
      import("./app/config.ts"),
    ]);
    return openLanguageModel(await readConfig(this.path), { now: () => this.#store.now() }, this.#givenModel);
  }

  /** When the last whole cycle of sleep ended, in milliseconds; when the brain was made, if it never slept. */
  restedAt(): number {
    return this.#store.read(() => this.#store.operations.cursorMovedAt(WHOLE_CYCLE_CURSOR) ?? this.#store.createdAt());
  }

  /** The time of the newest event, in milliseconds, and a number that changes whenever another process writes. */
  activity(): { readonly lastEventAt: number | null; readonly dataVersion: number } {
    const store = this.#store;
    return store.read(() => {
      const [newest] = store.ledger.list({ limit: 1 });
      return { lastEventAt: newest === undefined ? null : Date.parse(newest.at), dataVersion: store.dataVersion() };
    });
  }

  /**
   * Runs something that only one process at a time may do, such as to look whether another is there.
   * @throws DormouseError `lease_held` while another process is at it
   */
  exclusively<T>(name: string, run: () => T): T {
    const lease = this.#store.leases.hold(name, EXCLUSIVE_MS);
    try {
      return run();
    } finally {
      lease.release();
    }
  }

  /** What a host agent is to distil or think about, with a ticket for each batch. Changes nothing. */
  async prepareThinking(task: TaskName, options: PrepareOptions = {}): Promise<Prepared> {
    const { prepare } = await import("./think/host-agent.ts");
    return prepare(this.#store, task, options);
  }

  /**
   * Takes a host agent's answers through the rules that a configured model's go through.
   * @param file `{ticket, answers}`, or `{batches: […]}` of these
   * @param answeredBy the source of what is taken; recalling it takes all of that back
   */
  async ingestThinking(file: unknown, answeredBy: string = HOST_AGENT): Promise<IngestedBatch[]> {
    const [{ ingest }, { readThresholds }] = await Promise.all([
      import("./think/host-agent.ts"),
      import("./sleep/thresholds.ts"),
    ]);
    const store = this.#store;
    const duplicateCosine = store.read(() => readThresholds(store).duplicate);
    const commit = <T>(fn: () => T) => store.write(fn);
    return ingest({ store, embedder: this.#models.current, actor: "agent", answeredBy, duplicateCosine, commit }, file);
  }

  /**
   * The brain as it was at a moment (milliseconds): what was recorded at it or before, and believed and visible then.
   * Words erased since stay erased, and scopes are today's. A handle of its own, to be closed.
   */
  asOf(at: number): PastBrain {
    return new PastBrain(this.path, at, this.#models.current);
  }

  /** The models this machine knows of, the built-in one first, and which of them the brain uses. */
  listModels(): Promise<ListedModel[]> {
    return this.#models.list();
  }

  /** The model whose vectors are searched, and how far another one is. */
  modelStatus(): Promise<ModelStatus> {
    return this.#models.status();
  }

  /** Makes the vectors again with another model and switches to it; what was stopped goes on when called again. */
  useModel(name: string, options: UseModelOptions = {}): Promise<ModelStatus> {
    return this.#models.use(name, options);
  }

  stats(): Census {
    return takeCensus(this.#store);
  }

  /** Checks every invariant; with `rebuild`, remakes the derived indexes first. */
  async doctor(options: { rebuild?: boolean; onProgress?: ProgressListener } = {}): Promise<DoctorReport> {
    const rebuilt =
      options.rebuild === true
        ? await rebuildDerived(this.#store, await this.#models.forRebuild(), options.onProgress)
        : null;
    const checks = checkIntegrity(this.#store);
    return { healthy: checks.every(({ violations }) => violations === 0), checks, rebuilt };
  }

  /**
   * Proves the history: the chain of events, every row and word against its event, and what stands against legs and
   * recalls. Changes nothing.
   * @throws DormouseError `usage` for a fingerprint that is none; `invalid` for a checkpoint that is not this brain's
   */
  async verify(query: VerifyQuery = {}): Promise<Verification> {
    const { verifyHistory } = await import("./store/verify.ts");
    const { checkpoint: file, keyFingerprint, ...options } = query;
    if (file === undefined && keyFingerprint !== undefined) {
      throw new DormouseError("usage", "a key signs a checkpoint, and no checkpoint is named", {
        hint: "`dormouse verify --checkpoint FILE --key FINGERPRINT` checks that it was signed by that key.",
      });
    }
    if (file === undefined) return { ...verifyHistory(this.#store, options), checkpoint: null };
    if (options.head !== undefined) {
      throw new DormouseError("usage", "a checkpoint names a head already", { hint: "Ask for one of the two." });
    }
    const { readCheckpoint } = await import("./app/checkpoint.ts");
    const checkpoint = readCheckpoint(this.#store, file, keyFingerprint);
    return { ...verifyHistory(this.#store, { ...options, head: checkpoint.head }), checkpoint };
  }

  /**
   * Writes a signed file that says how far the ledger is.
   * @param keyFile its private key, made when it is not there; default `BRAIN.key`
   */
  async checkpoint(file: string, keyFile?: string): Promise<Checkpoint> {
    const { defaultKeyFile, writeCheckpoint } = await import("./app/checkpoint.ts");
    return writeCheckpoint(this.#store, file, keyFile ?? defaultKeyFile(this.path));
  }

  /** Events of the ledger, newest first. */
  ledger(query: LedgerQuery = {}): EventView[] {
    return this.#store.read(() =>
      this.#store.ledger.list({
        limit: query.limit ?? DEFAULT_LEDGER_LIMIT,
        ...(query.node === undefined ? {} : { nodeId: this.#store.thoughts.resolve(query.node) }),
        ...(query.since === undefined ? {} : { since: parseEventId(query.since) }),
      }),
    );
  }

  /** The numbers that each night's sleep left. */
  metrics(query: MetricsQuery = {}): MetricsReport {
    return readMetrics(this.#store, query);
  }

  close(): void {
    this.#store.close();
  }

  #inScope(input: RememberInput): RememberInput {
    return this.#scope === undefined || input.scope !== undefined ? input : { ...input, scope: this.#scope };
  }

  #noteAccess(ids: readonly string[]): void {
    if (ids.length === 0) return;
    const store = this.#store;
    store.tryWrite(() => {
      const fresh = store.operations.noteAccess(
        ids.map((id) => store.thoughts.resolve(id)),
        dayOf(store.now()),
      );
      // A transaction that writes nothing costs no flush, so a timing alone waits for company.
      if (fresh > 0 || this.#timings.length >= TIMINGS_HELD) this.#noteTimings();
    });
  }

  #noteTimings(): void {
    const store = this.#store;
    for (const { timed, ms } of this.#timings.splice(0)) noteLatency(store.connection, timed, ms, store.now());
  }
}

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
