/**
 * What an evaluation set is: documents to remember in order, questions with the documents that answer
 * them. The loaders beside this file make corpora out of parsed files and know nothing of brains.
 */
import type { ReferentTime, RememberInput, SourceType } from "../../src/core/types.ts";
import { MAX_CONTENT_LENGTH } from "../../src/remember/remember.ts";
import { chunkText } from "../../src/text/chunk.ts";

/** What a hit is counted in. */
export type Unit = "turn" | "message" | "document";

/** Where documents follow one another: a session, or a file of its own. */
interface DocumentSource {
  readonly type: SourceType;
  readonly key: string;
  readonly name: string;
}

export interface EvalDocument {
  /** Names the document within its corpus. */
  readonly key: string;
  readonly speaker: string | null;
  readonly text: string;
  readonly source: DocumentSource;
  readonly referent: ReferentTime | null;
}

export interface EvalQuestion {
  readonly text: string;
  readonly category: string;
  /** Keys of the documents that answer, with the gain of each; 1 where the set does not grade. */
  readonly gold: ReadonlyMap<string, number>;
  /** When it is asked; null: at the time of the run. */
  readonly now: number | null;
}

/** What goes into one brain. */
export interface Corpus {
  readonly name: string;
  readonly documents: readonly EvalDocument[];
  readonly questions: readonly EvalQuestion[];
  /** Questions left out because they name no document that is there. */
  readonly skipped: number;
}

export interface EvalSet {
  readonly name: string;
  readonly unit: Unit;
  /** True when gains differ, so that nDCG says more than recall. */
  readonly graded: boolean;
  readonly corpora: readonly Corpus[];
}

/** The thoughts a document becomes: one, or its pieces in order when it is longer than a thought may be. */
export function toInputs(corpusName: string, document: EvalDocument): RememberInput[] {
  const pieces = document.text.length <= MAX_CONTENT_LENGTH ? [document.text] : chunkText(document.text);
  return pieces.map((content, index) => ({
    content,
    ...(document.speaker === null ? {} : { speaker: document.speaker }),
    referent: document.referent,
    occurrence: {
      source: { ...document.source, trust: "trusted" },
      recordKey: `${corpusName} ${document.key} ${index}`,
    },
  }));
}

/** `count` questions spread evenly over the list, in order; all when there are no more. */
export function sampleEvenly<T>(items: readonly T[], count: number): T[] {
  if (count >= items.length) return [...items];
  return items.filter(
    (_, index) => Math.floor((index * count) / items.length) !== Math.floor(((index - 1) * count) / items.length),
  );
}
