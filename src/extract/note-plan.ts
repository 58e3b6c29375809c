/**
 * Reads one note and works out what storing it will change: which blocks are new and at which ordinals, which
 * ones moved and which are gone. Writes nothing; a plan made on rows that changed since is refused when applied.
 */
import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { FENCE_OPEN_MARK, isOwnOutput, MATERIAL_OPEN_MARK } from "../core/fence.ts";
import type { ReferentTime, RememberInput, SourceInput } from "../core/types.ts";
import type { StandingBlock } from "../store/notes.ts";
import { HEADING_FACET } from "../store/thoughts.ts";
import { isBlank, normaliseText } from "../text/normalise.ts";
import { digestFile, type FileFacts, ruleOf } from "./file-place.ts";
import { admitText, cleanLabel } from "./intake.ts";
import { type Block, type Note, type NoteLink, parseNote, whenFromName } from "./markdown.ts";
import { diffNote, type NoteDiff, pairReplacements } from "./note-diff.ts";
import { isJsonObject } from "./record-fields.ts";
import type { RunContext } from "./run-context.ts";

/** A note's file as the walk met it. */
export interface NoteFile {
  /** As shown to the caller. */
  readonly path: string;
  readonly absolute: string;
  /** From the vault's root, with `/`. */
  readonly relative: string;
}

/** A block with its identity in its note. */
export interface KeyedBlock {
  readonly block: Block;
  readonly content: string;
  readonly recordKey: string;
  readonly valueKey: Buffer;
  readonly recordDigest: Buffer;
}

/** What a cursor holds for a note: digests only. */
export interface NoteState {
  readonly version: 1;
  readonly format: "markdown";
  /** Key of the note's source; it survives renaming. */
  readonly key: string;
  /** Digests of the folders the file lies in, for finding the notes of a vault. */
  readonly folders: readonly string[];
  /** Set when blocks were refused because of a recall; see `waiting.ts`. */
  readonly waiting?: number;
}

export interface NotePlan {
  readonly file: NoteFile;
  readonly facts: FileFacts;
  readonly note: Note;
  readonly source: SourceInput;
  readonly blocks: readonly KeyedBlock[];
  readonly stored: readonly StandingBlock[];
  readonly diff: NoteDiff;
  /** Per gone block (index among the stored) the new block that takes its place. */
  readonly replacements: ReadonlyMap<number, KeyedBlock>;
  readonly inputs: readonly RememberInput[];
  readonly ownOutput: number;
  /** Rows the plan was made on. */
  readonly basis: string;
  /** The cursor of the path the note had before. */
  readonly renamedFrom: Buffer | null;
}

/** A note longer than this is no note, and parsing it would not end soon. */
const MAX_NOTE_BYTES = 16 * 1024 * 1024;
const MAX_SOURCE_NAME_CHARS = 200;
const OWN_MARKS = [FENCE_OPEN_MARK, MATERIAL_OPEN_MARK];

/** A note's text, or the rule it breaks. */
export async function readNoteText(absolute: string): Promise<{ text: string } | { rule: string }> {
  try {
    const bytes = await readFile(absolute);
    if (bytes.length > MAX_NOTE_BYTES) return { rule: "too_long" };
    return isUtf8(bytes) ? { text: bytes.toString("utf8") } : { rule: "invalid_utf8" };
  } catch (error) {
    return { rule: ruleOf(error) };
  }
}

/** The blocks that hold a person's words, with their identities under the note's key. */
export function keyBlocks(run: RunContext, note: Note, key: string): { blocks: KeyedBlock[]; ownOutput: number } {
  const counts = new Map<string, number>();
  const blocks: KeyedBlock[] = [];
  let ownOutput = 0;
  let ownMark: string | null = null;
  for (const block of note.blocks) {
    const opened: string | null = ownMark ?? OWN_MARKS.find((mark) => block.text.includes(`<${mark}`)) ?? null;
    if (opened !== null || isOwnOutput(block.text)) {
      ownMark = opened !== null && block.text.includes(`</${opened}>`) ? null : opened;
      ownOutput += 1;
      continue;
    }
    const content = admitText(block.text).normalize("NFC").trim();
    if (isBlank(content)) continue;
    const normalised = normaliseText(content);
    const count = (counts.get(normalised) ?? 0) + 1;
    counts.set(normalised, count);
    const recordKey = `${key}:${count}`;
    blocks.push({ block, content, recordKey, ...run.intake.identify(content, recordKey) });
  }
  return { blocks, ownOutput };
}

export function readNoteState(state: unknown): NoteState | null {
  if (!isJsonObject(state) || state.version !== 1 || state.format !== "markdown") return null;
  if (typeof state.key !== "string" || !Array.isArray(state.folders)) return null;
  return state as unknown as NoteState;
}

/** The state of the note at this path, when it is known. */
export function findNoteState(run: RunContext, absolute: string): NoteState | null {
  return readNoteState(run.store.operations.extractCursor(digestFile(run.store, absolute))?.state);
}

/** Where a rename says that this file was known before. */
export interface KnownNote {
  readonly fileDigest: Buffer;
  readonly key: string;
}

/** Plans one note from its text. */
export function planNote(
  run: RunContext,
  file: NoteFile,
  facts: FileFacts,
  text: string,
  renamed: KnownNote | null,
): NotePlan {
  const { store, notes } = run;
  const known = findNoteState(run, file.absolute);
  const moved = known === null && renamed !== null && notes.isKeyTaken(renamed.key) ? renamed : null;
  const key = known?.key ?? moved?.key ?? makeNoteKey(run, file.absolute);
  const note = parseNote(text);
  const { blocks, ownOutput } = keyBlocks(run, note, key);
  const sourceId = store.sources.find("file", key);
  const stored = sourceId === null ? [] : notes.standing(sourceId);
  const used = sourceId === null ? new Set<number>() : notes.usedOrdinals(sourceId);
  const diff = diffNote(
    stored.map(({ id, recordDigest, ordinal }) => ({ key: recordDigest?.toString("hex") ?? `#${id}`, ordinal })),
    blocks.map(({ recordDigest }) => recordDigest.toString("hex")),
    used,
  );
  const source: SourceInput = {
    type: "file",
    key,
    name: (note.title ?? basename(file.relative).replace(/\.(?:md|markdown)$/i, "")).slice(0, MAX_SOURCE_NAME_CHARS),
    reference: file.relative,
    trust: "trusted",
  };
  const when = note.when ?? whenFromName(file.relative);
  return {
    file,
    facts,
    note,
    source,
    blocks,
    stored,
    diff,
    replacements: findReplacements(run, source.name, stored, blocks, diff),
    inputs: blocks.flatMap((block, index) =>
      diff.storedIndex[index] === null ? [toInput(run, file, note, source, when, block, diff.ordinals[index])] : [],
    ),
    ownOutput,
    basis: describeBasis(run, file, key),
    renamedFrom: moved?.fileDigest ?? null,
  };
}

/** The rows a plan for this file rests on, as one comparable text. */
export function describeBasis(run: RunContext, file: NoteFile, key: string): string {
  const sourceId = run.store.sources.find("file", key);
  const rows = sourceId === null ? [] : run.notes.standing(sourceId).map(({ id, ordinal }) => `${id}@${ordinal}`);
  return [findNoteState(run, file.absolute)?.key ?? "-", String(sourceId), ...rows].join(" ");
}

/** A key without words; a path that was left by a renamed note gets another one. */
function makeNoteKey(run: RunContext, absolute: string): string {
  const first = `note:${digestFile(run.store, absolute).toString("hex")}`;
  for (let count = 1; ; count++) {
    const key = count === 1 ? first : `${first}:${count}`;
    if (run.store.sources.find("file", key) === null || !run.notes.isKeyTaken(key)) return key;
  }
}

function toInput(
  run: RunContext,
  file: NoteFile,
  note: Note,
  source: SourceInput,
  when: ReferentTime | null,
  keyed: KeyedBlock,
  ordinal: number | undefined,
): RememberInput {
  return run.intake.toBlockInput(
    keyed.content,
    { occurrence: { source, recordKey: keyed.recordKey, ...(ordinal === undefined ? {} : { ordinal }) } },
    {
      domain: file.relative.includes("/") ? (file.relative.split("/")[0] ?? null) : null,
      tags: [...note.tags, ...keyed.block.tags],
      heading: headingOf(source.name, keyed.block),
      when,
    },
  );
}

/** Title of the note, then the headings above the block: what a reader knows when reading it. */
function headingOf(title: string, block: Block): string {
  const [first] = block.headings;
  return (first === title ? block.headings : [title, ...block.headings]).join(" > ");
}

/** The headings without the title, which changes when a note is renamed. */
function belowTitle(heading: string): string {
  return heading.split(" > ").slice(1).join(" > ");
}

/** Gone and new blocks at the same place under the same heading, paired. */
function findReplacements(
  run: RunContext,
  title: string,
  stored: readonly StandingBlock[],
  blocks: readonly KeyedBlock[],
  diff: NoteDiff,
): Map<number, KeyedBlock> {
  const replacements = new Map<number, KeyedBlock>();
  if (diff.gone.length === 0) return replacements;
  const came = groupBy(
    blocks.flatMap((keyed, index) => (diff.storedIndex[index] === null ? [{ keyed, index }] : [])),
    ({ keyed, index }) => `${diff.placeOfNew[index]}\n${belowTitle(cleanLabel(headingOf(title, keyed.block)) ?? "")}`,
  );
  if (came.size === 0) return replacements;
  const gone = groupBy(
    diff.gone.map((index) => ({ index, ...readStored(run, stored[index]) })),
    ({ index, heading }) => `${diff.placeOfGone.get(index)}\n${belowTitle(heading)}`,
  );
  for (const [place, group] of gone) {
    const candidates = came.get(place) ?? [];
    const pairs = pairReplacements(
      group.map(({ text }) => text),
      candidates.map(({ keyed }) => keyed.content),
    );
    for (const [at, to] of pairs.entries()) {
      const index = group[at]?.index;
      const keyed = to === null ? undefined : candidates[to]?.keyed;
      if (index !== undefined && keyed !== undefined) replacements.set(index, keyed);
    }
  }
  return replacements;
}

function readStored(run: RunContext, block: StandingBlock | undefined): { text: string; heading: string } {
  if (block === undefined) return { text: "", heading: "" };
  const { content: text, facets } = run.store.thoughts.detail(block.nodeId);
  const heading = facets.find(({ name }) => name === HEADING_FACET)?.value ?? "";
  return { text, heading };
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Links of a block, with those of the frontmatter on the first one. */
export function linksOf(plan: Pick<NotePlan, "note">, keyed: KeyedBlock, index: number): NoteLink[] {
  return [...(index === 0 ? plan.note.links : []), ...keyed.block.links];
}
