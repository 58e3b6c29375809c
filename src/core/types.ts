/**
 * The vocabulary of the brain as TypeScript types: what goes in, what comes out. Times are UTC
 * milliseconds inside, ISO 8601 at the faces. Nothing here knows SQL.
 */

export const BASES = ["observed", "told", "inferred", "generated", "imported"] as const;
/** How a thought came to be known. */
export type Basis = (typeof BASES)[number];

export const TRUST_LEVELS = ["untrusted", "unknown", "trusted"] as const;
/** Ordered worst to best; the index is the stored number. */
export type Trust = (typeof TRUST_LEVELS)[number];

export const BELIEFS = ["asserted", "confirmed", "disputed", "superseded", "held", "rejected"] as const;
export type Belief = (typeof BELIEFS)[number];

export const PERMANENCES = ["none", "earned", "pinned"] as const;
export type Permanence = (typeof PERMANENCES)[number];

export const DECAY_REASONS = ["none", "disuse", "cascade", "forgotten", "source_gone"] as const;
/** Why a node is out of search; `none` means it is not decayed. A forgotten node only a person revives. */
export type DecayReason = (typeof DECAY_REASONS)[number];

export const LINK_TYPES = ["mention", "similar", "contradicts", "supersedes", "about"] as const;
/** Typed edges that justify nothing. `next` is not stored: it is the order of occurrences in a source. */
export type LinkType = (typeof LINK_TYPES)[number];

export const SOURCE_TYPES = ["session", "file", "page", "tool", "model", "person", "named", "import"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

export const ACTORS = ["person", "extractor", "sleep", "agent", "import"] as const;
/** Who brought an event about. */
export type Actor = (typeof ACTORS)[number];

export const THOUGHT_KINDS = [
  "belief",
  "insight",
  "decision",
  "commitment",
  "observation",
  "fact",
  "dream",
  "tension",
  "core memory",
] as const;

/** Closed interval in UTC milliseconds; null is an open end. */
export interface Interval {
  readonly from: number | null;
  readonly to: number | null;
}

/** When something happened. `floating`: the offset was not given, so the interval covers every offset it could mean. */
export interface ReferentTime extends Interval {
  readonly floating?: boolean;
}

/** Where something came from. Two inputs with the same type and key are the same source. */
export interface SourceInput {
  readonly type: SourceType;
  /** Stable identity (session id, absolute path, tool-use id). Stored only as a keyed digest. */
  readonly key: string;
  /** What a person sees, e.g. `tool:WebFetch` or a session's file name. */
  readonly name: string;
  /** Address, path or call id, when there is one. */
  readonly reference?: string;
  readonly trust: Trust;
}

/** Thread of occurrences that follow nothing: a person's single statements. */
export const LOOSE_THREAD = -1;

/** Where and when a value was met in its source. */
export interface OccurrenceInput {
  readonly source: SourceInput;
  /** Identity of the record (format, record id or time); met again, in whatever file, it is skipped. */
  readonly recordKey?: string;
  /**
   * 0 is the main line; an abandoned branch has its own number and its own `next` order; in `LOOSE_THREAD` nothing
   * follows anything.
   */
  readonly thread?: number;
  /** Place in the source's order; default: after everything the source holds. */
  readonly ordinal?: number;
}

/** One justification: all parents must stand. Parents are node ids or sources to be made on the way. */
export interface LegInput {
  readonly parents: readonly (string | SourceInput)[];
}

export interface Facet {
  readonly name: string;
  readonly value: string;
}

/** Everything `remember` takes for one thought. */
export interface RememberInput {
  readonly content: string;
  /** Set on a known thought too, by an event. */
  readonly kind?: string;
  /** Kind of a thought that is new; a known one keeps its own. Default "fact". */
  readonly defaultKind?: string;
  readonly domain?: string;
  readonly scope?: string;
  readonly tags?: readonly string[];
  readonly basis?: Basis;
  /** 0–100. */
  readonly confidence?: number;
  /** 0–100. */
  readonly salience?: number;
  readonly aspects?: readonly string[];
  readonly facets?: readonly Facet[];
  /** Subjects the thought is about (pseudonyms of people or things). */
  readonly subjects?: readonly string[];
  readonly referent?: ReferentTime | null;
  readonly valid?: Interval;
  readonly due?: number;
  /** Who said it; part of the value, and indexed as "Speaker: text". */
  readonly speaker?: string;
  /** Justifications besides the occurrence's own source; empty and no occurrence: an axiom of the person. */
  readonly legs?: readonly LegInput[];
  /** A person says so besides, whatever becomes of the legs and the source; without either it is so anyway. */
  readonly axiom?: boolean;
  readonly occurrence?: OccurrenceInput;
  /** Ids of thoughts whose place it takes; it is kept in a scope at least as strict as theirs. */
  readonly supersedes?: readonly string[];
}

export const REMEMBER_STATUSES = ["created", "reinforced", "revived", "known", "refused"] as const;
/**
 * created: a new node. reinforced: the value stood, it got this occurrence or leg. revived: a decayed node
 * came back. known: this very record was met before, nothing changed. refused: see `reason`.
 */
export type RememberStatus = (typeof REMEMBER_STATUSES)[number];

export type RefusalReason = "tombstone" | "recalled" | "forgotten" | "held" | "dead_source";

export interface RememberResult {
  /** Absent only when refused before any node was met. */
  readonly id: string | null;
  readonly status: RememberStatus;
  readonly reason?: RefusalReason;
  /** Thoughts that had fallen in a recall and stand again by this, the thought itself among them; absent for none. */
  readonly risen?: number;
}

/** The source that a thought was met in last, with its own trust; the thought has another when it rests on more. */
export interface SourceView {
  readonly id: string;
  readonly name: string;
  readonly trust: Trust;
}

/** A thought as a reader meets it. Times in ISO 8601 UTC. */
export interface ThoughtView {
  readonly id: string;
  readonly kind: string;
  readonly content: string;
  readonly domain: string | null;
  readonly scope: string;
  readonly tags: readonly string[];
  readonly recordedAt: string;
  readonly referent: { from: string | null; to: string | null; floating?: true } | null;
  readonly source: SourceView;
  /** Of the thought itself: the best, over its standing legs, of the worst trust within the leg. */
  readonly trust: Trust;
  readonly belief: Belief;
  /** Something that it rests on was superseded, and nobody confirmed it since. */
  readonly stale: boolean;
}

/** How a thought stands to others that say otherwise; ids, the newest first, at most 10 each. */
export interface BeliefRelations {
  /** Superseded thoughts whose place it took. */
  readonly replaces: readonly string[];
  readonly disputedWith: readonly string[];
}

export interface SearchFilters {
  readonly kinds?: readonly string[];
  readonly domains?: readonly string[];
  /** All of these tags. */
  readonly tags?: readonly string[];
  /** Overlap with this referent interval. */
  readonly when?: Interval;
}

export interface SearchOptions extends SearchFilters {
  /** Default 10. */
  readonly k?: number;
  readonly explain?: boolean;
  /** Fixes the clock of the query; default: the brain's clock. */
  readonly now?: number;
}

export interface SearchResult extends ThoughtView, BeliefRelations {
  readonly score: number;
  /** Normalised channel scores that made up the score. */
  readonly channels: { readonly text: number; readonly vector: number; readonly graph: number };
  readonly explain?: Explanation;
}

/** Why a result is where it is. */
export interface Explanation {
  /** Query terms found, as analysed. */
  readonly terms: readonly string[];
  /** Cosine with the query before normalisation. */
  readonly cosine: number | null;
  /** Recency factor as applied, in [0.84, 1]. */
  readonly recency: number;
  /** The question names a time, and this happened then. */
  readonly inTime: boolean;
  /** The question names somebody, and this was said by them. */
  readonly bySpeakerNamed: boolean;
  /** Neighbours that passed score on: id, how they are connected, share. */
  readonly paths: readonly { readonly from: string; readonly via: string; readonly share: number }[];
  /** Near-duplicates standing behind this result. */
  readonly collapsed: readonly string[];
}

export interface SearchAnswer {
  readonly query: string;
  readonly results: readonly SearchResult[];
  readonly scanned: { readonly eligible: number; readonly scored: number; readonly exact: boolean };
  readonly tookMs: number;
  /** What the answer lacks and why, for a person. */
  readonly notice?: string;
}

/** What a face gets from `extract`. Paths in errors are the caller's own. */
export interface ExtractReport {
  readonly files: number;
  readonly records: number;
  readonly thoughts: number;
  readonly reinforced: number;
  /** Thoughts that had fallen in a recall and stand again by what was read; in a dry run without what rests on them. */
  readonly risen: number;
  readonly skipped: Readonly<Record<string, number>>;
  readonly errors: readonly ExtractError[];
}

export interface ExtractError {
  readonly file: string;
  readonly line: number | null;
  readonly rule: string;
  readonly hint?: string;
}
