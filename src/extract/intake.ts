/**
 * The one door between readers and the write path: every text that extraction stores passes `admitText`,
 * is cut into chunks and becomes an input with its source, order and identity. A dry run ends here: it
 * looks up what would become of a text and writes nothing.
 */
import type { EmbedderSource } from "../core/ports.ts";
import type { RememberInput, RememberResult } from "../core/types.ts";
import { digestRecord, digestValue, rememberAll } from "../remember/remember.ts";
import type { Store } from "../store/store.ts";
import { HEADING_FACET } from "../store/thoughts.ts";
import { chunkText } from "../text/chunk.ts";
import { isBlank, normaliseText } from "../text/normalise.ts";
import type { Turn } from "./format.ts";
import type { Tally } from "./tally.ts";

/** Kind of an extracted thought whose record names none. */
const EXTRACTED_KIND = "observation";

const MAX_LABEL_LENGTH = 400;
const MAX_TAGS = 100;

export interface IntakeOptions {
  readonly domain: string | undefined;
  readonly scope: string | undefined;
  readonly dryRun: boolean;
  /** After each stored batch: fails when the run was called off. */
  readonly breathe: () => Promise<void>;
}

/** Identity of one text as the store keeps it. */
export interface TextIdentity {
  readonly valueKey: Buffer;
  readonly recordDigest: Buffer;
}

export interface BatchHooks {
  /** First in the transaction. */
  readonly beforehand?: () => void;
  /** Last in the transaction, with one result per input. Not called in a dry run. */
  readonly alongside?: (results: readonly RememberResult[]) => void;
}

export class Intake {
  readonly #store: Store;
  readonly #embedder: EmbedderSource;
  readonly #options: IntakeOptions;
  readonly #tally: Tally;
  readonly #scopeId: number;
  /** Records and values a dry run has met, as digests. */
  readonly #met = new Set<string>();

  /** @throws DormouseError `unknown_scope` before anything is read. */
  constructor(store: Store, embedder: EmbedderSource, options: IntakeOptions, tally: Tally) {
    this.#store = store;
    this.#embedder = embedder;
    this.#options = options;
    this.#tally = tally;
    this.#scopeId = store.scopes.idOf(options.scope);
  }

  /** The chunks of one turn, in order; none when it holds no words. */
  toInputs(turn: Turn): RememberInput[] {
    const chunks = chunkText(admitText(turn.text));
    const speaker = turn.speaker === null ? undefined : cleanLabel(turn.speaker);
    const kind = turn.kind === undefined ? undefined : cleanLabel(turn.kind);
    const tags = cleanTags(turn.tags ?? []);
    const shared = {
      ...this.#placeIn(turn.domain),
      ...(kind === undefined ? { defaultKind: EXTRACTED_KIND } : { kind }),
      ...(speaker === undefined ? {} : { speaker }),
      ...(tags.length === 0 ? {} : { tags }),
      ...(turn.said === null ? {} : { referent: turn.said }),
      ...(turn.cites.length === 0 ? {} : { legs: [{ parents: [turn.source, ...turn.cites] }] }),
      basis: turn.basis,
    };
    return chunks.flatMap((chunk, index) => {
      const content = chunk.normalize("NFC").trim();
      if (isBlank(content)) return [];
      const recordKey = index === 0 ? turn.recordKey : `${turn.recordKey}#${index}`;
      return [{ ...shared, content, occurrence: { source: turn.source, recordKey } }];
    });
  }

  /** A note's block as an input; the caller places it in its note. */
  toBlockInput(
    content: string,
    place: Required<Pick<RememberInput, "occurrence">>,
    about: { domain: string | null; tags: readonly string[]; heading: string; when: RememberInput["referent"] },
  ): RememberInput {
    const tags = cleanTags(about.tags);
    const heading = cleanLabel(about.heading);
    return {
      content,
      defaultKind: EXTRACTED_KIND,
      basis: "imported",
      ...this.#placeIn(about.domain),
      ...(tags.length === 0 ? {} : { tags }),
      ...(heading === undefined ? {} : { facets: [{ name: HEADING_FACET, value: heading }] }),
      ...(about.when == null ? {} : { referent: about.when }),
      occurrence: place.occurrence,
    };
  }

  /** Digests of a content that `admitText` let through. */
  identify(content: string, recordKey: string, speaker?: string): TextIdentity {
    const normalised = normaliseText(content);
    return {
      valueKey: digestValue(this.#store, speaker, normalised),
      recordDigest: digestRecord(this.#store, recordKey, normalised),
    };
  }

  identifyInput(input: RememberInput): TextIdentity {
    return this.identify(input.content, input.occurrence?.recordKey ?? "", input.speaker);
  }

  /** Stores a batch in one transaction together with what the hooks do, and counts the outcome. */
  async store(inputs: readonly RememberInput[], hooks: BatchHooks): Promise<void> {
    if (this.#options.dryRun) {
      this.#store.read(() => {
        for (const input of inputs) this.#tally.count(this.#foresee(input));
      });
      return;
    }
    let results: readonly RememberResult[] = [];
    if (inputs.length === 0) {
      this.#store.write(() => {
        hooks.beforehand?.();
        hooks.alongside?.([]);
      });
    } else {
      results = await rememberAll(this.#store, this.#embedder, inputs, { actor: "extractor", ...hooks });
    }
    for (const result of results) this.#tally.count(result);
    await this.#options.breathe();
  }

  #placeIn(domain: string | null): Pick<RememberInput, "domain" | "scope"> {
    const name = cleanLabel(this.#options.domain ?? domain ?? "");
    const { scope } = this.#options;
    return { ...(name === undefined ? {} : { domain: name }), ...(scope === undefined ? {} : { scope }) };
  }

  /** What storing the input would come to, as far as it can be told without writing. */
  #foresee(input: RememberInput): Pick<RememberResult, "status" | "reason"> {
    const { valueKey, recordDigest } = this.identifyInput(input);
    const record = `r${recordDigest.toString("latin1")}`;
    const value = `v${valueKey.toString("latin1")}`;
    if (this.#met.has(record) || this.#store.occurrences.isKnown(recordDigest)) return { status: "known" };
    this.#met.add(record);
    if (this.#store.tombstones.find(this.#scopeId, valueKey) !== null)
      return { status: "refused", reason: "tombstone" };
    const known = this.#store.thoughts.findByValue(this.#scopeId, valueKey);
    if (known !== null && known.recalledBy !== null && this.#store.recalls.pinnedNow().has(known.id)) {
      return { status: "refused", reason: "recalled" };
    }
    if (known?.belief === "rejected") return { status: "refused", reason: "tombstone" };
    if (known?.decayed === "forgotten") return { status: "refused", reason: "forgotten" };
    if (known !== null || this.#met.has(value)) return { status: "reinforced" };
    this.#met.add(value);
    return { status: "created" };
  }
}

/**
 * Every text that extraction stores passes here before it is cut, identified and remembered. NUL, which no
 * text may hold, becomes the replacement character.
 */
export function admitText(text: string): string {
  return text.includes("\u0000") ? text.replaceAll("\u0000", "\uFFFD") : text;
}

/** The label cut to its longest length, or undefined when nothing in it can be seen. */
export function cleanLabel(text: string): string | undefined {
  const trimmed = admitText(text).trim();
  if (isBlank(trimmed)) return undefined;
  if (trimmed.length <= MAX_LABEL_LENGTH) return trimmed;
  const cut = trimmed.slice(0, MAX_LABEL_LENGTH);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

function cleanTags(tags: readonly string[]): string[] {
  return [...new Set(tags.flatMap((tag) => cleanLabel(tag) ?? []))].slice(0, MAX_TAGS);
}
