/**
 * Extracts one file of records or paragraphs as a stream. Each batch is one transaction that also saves how
 * far the file was read, so a crash or a later run goes on there; what is read twice is known by its digest.
 * Refuses to move its place past anything that is not understood without what came before.
 */
import { basename } from "node:path";
import type { RememberInput, SourceInput } from "../core/types.ts";
import type { Store } from "../store/store.ts";
import { createClaudeCodeReader } from "./claude-code.ts";
import { compareWithCursor, digestFile, digestTail, type FileFacts, makeCursor, ruleOf } from "./file-place.ts";
import type { Format, Item, RecordReader, Rewind, Turn } from "./format.ts";
import { createJsonlReader } from "./jsonl.ts";
import { type Line, readLines } from "./lines.ts";
import { createParagraphReader } from "./plain-text.ts";
import { isJsonObject } from "./record-fields.ts";
import type { RunContext } from "./run-context.ts";
import { isKeptOut, isWorthAnotherTry, recallsSeen } from "./waiting.ts";

export type RecordFormat = Exclude<Format, "markdown">;

/** Texts that may wait for a place to save before they are stored without one, in batches. */
const MAX_WAITING_BATCHES = 4;
/** Lines after which a settled reader's place is noted again. */
const PLACE_LINES = 256;
/** Bytes without a text after which the place is saved all the same. */
const PLACE_BYTES = 64 * 1024 * 1024;
/** Messages a rewind can reach back over; the reader remembers fewer. */
const MAX_REWIND_TARGETS = 2_000;

/** Extracts a file that was found readable and of this format. */
export async function extractRecordFile(file: FileFacts, format: RecordFormat, run: RunContext): Promise<void> {
  run.tally.files += 1;
  const place = await findPlace(file, format, run);
  if (place === "unchanged") {
    run.tally.skip("unchanged");
    return;
  }
  const reader = createReader(format, { path: file.path, fileKey: file.absolute, subagents: run.subagents }, place);
  const extraction = new RecordExtraction(file, format, reader, place, run);
  try {
    await extraction.run(readLinesOf(file.absolute, place));
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    run.tally.fail(file.path, null, error.rule);
  }
}

/** Extracts lines that come once and cannot be read again, such as those of standard input. */
export async function extractRecordStream(
  lines: AsyncIterable<Line>,
  stream: { readonly path: string; readonly key: string; readonly format: RecordFormat },
  run: RunContext,
): Promise<void> {
  run.tally.files += 1;
  const reader = createReader(
    stream.format,
    { path: stream.path, fileKey: stream.key, subagents: run.subagents },
    START,
  );
  await new RecordExtraction(null, stream.format, reader, START, run, stream.path).run(lines);
}

/** Where reading begins, and what the reader must know there. */
interface Place {
  readonly offset: number;
  readonly line: number;
  readonly state: unknown;
  /** Digests of record keys with the digests of their records: what a rewind may name. */
  readonly rewindTargets: readonly (readonly [string, string])[];
}

const START: Place = { offset: 0, line: 0, state: undefined, rewindTargets: [] };

/** Ours in a cursor: digests, ids and numbers. */
interface SavedState {
  readonly version: 1;
  readonly format: RecordFormat;
  readonly subagents: boolean;
  /** True when everything that could be read was. */
  readonly complete: boolean;
  readonly tail: string;
  readonly reader: unknown;
  readonly rewindTargets: readonly (readonly [string, string])[];
  /** Set when texts after this place were refused because of a recall; see `waiting.ts`. */
  readonly waiting?: number;
}

async function findPlace(file: FileFacts, format: RecordFormat, run: RunContext): Promise<Place | "unchanged"> {
  const cursor = run.store.operations.extractCursor(digestFile(run.store, file.absolute));
  const saved = cursor === null ? null : readSavedState(cursor.state);
  if (cursor === null || saved === null) return START;
  if (saved.format !== format || saved.subagents !== run.subagents) return START;
  const standing = compareWithCursor(run.store, file, cursor);
  if (standing === "fresh") return START;
  if (standing === "same" && saved.complete && !isWorthAnotherTry(run.store, saved.waiting)) return "unchanged";
  const tail = await digestTail(run.store, file.absolute, cursor.offset).catch(() => null);
  if (tail !== saved.tail) return START;
  return { offset: cursor.offset, line: cursor.line, state: saved.reader, rewindTargets: saved.rewindTargets };
}

function readSavedState(value: unknown): SavedState | null {
  if (!isJsonObject(value) || value.version !== 1 || typeof value.format !== "string") return null;
  if (typeof value.tail !== "string" || !Array.isArray(value.rewindTargets)) return null;
  return value as unknown as SavedState;
}

/** A reader of lines that may hold back a last item. */
interface LineReader extends RecordReader {
  finish(): Item[];
  /** False when a last line without a line break can still be a part of a record. */
  readonly takesAnyLine: boolean;
}

function createReader(
  format: RecordFormat,
  context: { readonly path: string; readonly fileKey: string; readonly subagents: boolean },
  place: Place,
): LineReader {
  if (format === "text") {
    const paragraphs = createParagraphReader(context);
    return {
      read: (line, number) => paragraphs.read(line, number),
      finish: () => paragraphs.finish(),
      // How many equal paragraphs stood before is known from the start only.
      isSettled: () => false,
      state: () => null,
      takesAnyLine: true,
    };
  }
  const reader: RecordReader =
    format === "jsonl"
      ? createJsonlReader(context)
      : createClaudeCodeReader({
          path: context.path,
          sessionFallback: basename(context.path).replace(/\.jsonl$/i, ""),
          subagents: context.subagents,
          state: place.state,
        });
  return {
    read: (line, number) => reader.read(line, number),
    isSettled: () => reader.isSettled(),
    state: () => reader.state(),
    finish: () => [],
    takesAnyLine: false,
  };
}

class UnreadableFile extends Error {
  readonly rule: string;
  constructor(rule: string, cause: unknown) {
    super("a file could not be read to its end", { cause });
    this.rule = rule;
  }
}

/** As `readLines`; its failures are told apart from the store's. */
async function* readLinesOf(absolute: string, place: Place): AsyncGenerator<Line> {
  try {
    yield* readLines(absolute, place.offset, { firstLine: place.line });
  } catch (error) {
    throw new UnreadableFile(ruleOf(error instanceof Error ? error.cause : error), error);
  }
}

class RecordExtraction {
  /** Null for a stream, which has no place to come back to. */
  readonly #file: FileFacts | null;
  readonly #path: string;
  readonly #format: RecordFormat;
  readonly #reader: LineReader;
  readonly #run: RunContext;
  readonly #rewindTargets: Map<string, string>;
  #pending: RememberInput[] = [];
  /** The last place from which reading could go on. */
  #place: Place;
  #savedOffset: number;
  /** The place before the first text that a recall keeps out; none after it is saved. */
  #heldPlace: Place | null = null;
  /** The place that was saved last. */
  #savedPlace: Place;

  constructor(
    file: FileFacts | null,
    format: RecordFormat,
    reader: LineReader,
    place: Place,
    run: RunContext,
    path = file?.path ?? "",
  ) {
    this.#file = file;
    this.#path = path;
    this.#format = format;
    this.#reader = reader;
    this.#place = place;
    this.#savedOffset = place.offset;
    this.#savedPlace = place;
    this.#run = run;
    this.#rewindTargets = new Map(place.rewindTargets);
  }

  async run(lines: AsyncIterable<Line>): Promise<void> {
    const { tally, progress, batchSize } = this.#run;
    for await (const line of lines) {
      progress.reach(line.end);
      // A last line may be read, but never passed, before it is finished.
      if (!line.terminated && this.#reader.isSettled()) this.#notePlace(line.start, line.number - 1);
      if (line.text === null) {
        if (line.terminated) tally.fail(this.#path, line.number, line.tooLong ? "line_too_long" : "invalid_utf8");
        else tally.skip("partial_line");
      } else if (!line.terminated && !this.#reader.takesAnyLine && !isJson(line.text)) {
        tally.skip("partial_line");
      } else {
        await this.#take(this.#reader.read(line.text, line.number));
      }
      if (!line.terminated) continue;
      if (this.#reader.isSettled()) {
        const isDue = this.#pending.length >= batchSize || line.end - this.#savedOffset >= PLACE_BYTES;
        if (isDue || line.number - this.#place.line >= PLACE_LINES) this.#notePlace(line.end, line.number);
        if (isDue) await this.#flush();
      }
      this.#lastEnd = { offset: line.end, line: line.number };
    }
    if (this.#lastEnd !== null && this.#reader.isSettled() && this.#place.offset < this.#lastEnd.offset) {
      this.#notePlace(this.#lastEnd.offset, this.#lastEnd.line);
    }
    await this.#take(this.#reader.finish());
    await this.#flush({ complete: true });
  }

  /** End of the last finished line. */
  #lastEnd: { offset: number; line: number } | null = null;

  async #take(items: readonly Item[]): Promise<void> {
    const { tally } = this.#run;
    for (const [index, item] of items.entries()) {
      if (item.type === "skip") tally.skip(item.reason);
      else if (item.type === "fault") tally.fail(this.#path, item.line, item.rule, item.hint);
      else if (item.type === "turn") await this.#takeTurn(item);
      else await this.#takeRewind(item, items.slice(index + 1));
    }
  }

  async #takeTurn(turn: Turn): Promise<void> {
    const { intake, tally, batchSize } = this.#run;
    const inputs = intake.toInputs(turn);
    const [first] = inputs;
    if (first === undefined) {
      tally.skip("empty");
      return;
    }
    tally.records += 1;
    if (turn.parentKey !== undefined && turn.basis === "told") {
      this.#noteRewindTarget(turn.recordKey, intake.identifyInput(first).recordDigest);
    }
    for (const input of inputs) {
      this.#pending.push(input);
      if (this.#pending.length >= batchSize * MAX_WAITING_BATCHES) await this.#flush();
    }
  }

  /** Parts what was stored since the abandoned turn from the main line, unless it was done when first read. */
  async #takeRewind(rewind: Rewind, rest: readonly Item[]): Promise<void> {
    const { store, intake, dryRun } = this.#run;
    if (dryRun) return;
    const record = this.#rewindTargets.get(this.#keyOf(rewind.abandonedFrom));
    const next = rest.find((item) => item.type === "turn");
    const [nextInput] = next === undefined ? [] : intake.toInputs(next);
    if (record === undefined) return;
    await this.#flush({
      alongside: () => {
        // The turn after a rewind is stored after it was applied, so a known one says that it was.
        const isApplied =
          nextInput !== undefined && store.occurrences.isKnown(intake.identifyInput(nextInput).recordDigest);
        if (!isApplied) splitThread(store, rewind.source, Buffer.from(record, "base64url"));
      },
    });
  }

  #notePlace(offset: number, line: number): void {
    this.#place = { offset, line, state: this.#reader.state(), rewindTargets: [...this.#rewindTargets] };
  }

  async #flush(options: { complete?: boolean; alongside?: () => void } = {}): Promise<void> {
    const inputs = this.#pending;
    this.#pending = [];
    const save = await this.#prepareSave(options.complete === true);
    await this.#run.intake.store(inputs, {
      alongside: (results) => {
        options.alongside?.();
        if (isKeptOut(results)) this.#heldPlace ??= this.#savedPlace;
        save();
      },
    });
    this.#savedPlace = this.#heldPlace ?? this.#place;
    this.#savedOffset = this.#place.offset;
  }

  async #prepareSave(complete: boolean): Promise<() => void> {
    const file = this.#file;
    if (file === null || this.#run.dryRun) return () => undefined;
    const { store, subagents } = this.#run;
    const tailOf = ({ offset }: Place) => digestTail(store, file.absolute, offset).catch(() => "");
    const place = this.#place;
    const [tail, savedTail] = await Promise.all([tailOf(place), tailOf(this.#savedPlace)]);
    return () => {
      const { offset, line, state, rewindTargets } = this.#heldPlace ?? place;
      const saved: SavedState = {
        version: 1,
        format: this.#format,
        subagents,
        complete,
        tail: this.#heldPlace === null ? tail : savedTail,
        reader: state ?? null,
        rewindTargets,
        ...(this.#heldPlace === null ? {} : { waiting: recallsSeen(store) }),
      };
      store.operations.saveExtractCursor(
        digestFile(store, file.absolute),
        makeCursor(store, file, { offset, line, state: saved }),
      );
    };
  }

  #noteRewindTarget(recordKey: string, record: Buffer): void {
    const key = this.#keyOf(recordKey);
    this.#rewindTargets.delete(key);
    this.#rewindTargets.set(key, record.toString("base64url"));
    if (this.#rewindTargets.size <= MAX_REWIND_TARGETS) return;
    for (const oldest of this.#rewindTargets.keys()) {
      this.#rewindTargets.delete(oldest);
      break;
    }
  }

  #keyOf(recordKey: string): string {
    return this.#run.store.digest("record", recordKey).toString("base64url");
  }
}

/** Gives the occurrences from the abandoned record on, in this source, a thread of their own. */
function splitThread(store: Store, source: SourceInput, abandonedRecord: Buffer): void {
  const abandoned = store.occurrences.byRecord(abandonedRecord);
  const sourceId = store.sources.find(source.type, source.key);
  if (abandoned === null || abandoned.sourceId !== sourceId || abandoned.thread !== 0) return;
  const thread = store.occurrences.nextThread(sourceId);
  store.ledger.record({
    kind: "thread.split",
    actor: "extractor",
    payload: { source: store.thoughts.publicId(sourceId), from: abandoned.ordinal, thread },
  });
  store.occurrences.splitThread(sourceId, abandoned.ordinal, thread);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
