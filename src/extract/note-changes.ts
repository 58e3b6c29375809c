/**
 * Applies what an edit of a note changed, inside the transaction that stores its new blocks: occurrences
 * that are gone end, a thought that lost its last leg is superseded by what stands in its place or decays,
 * wikilinks are kept and those into the note follow its first thoughts. A thought that stands elsewhere stays.
 */
import { type Actor, type Belief, DECAY_REASONS, type RememberResult } from "../core/types.ts";
import { carryTrust } from "../remember/carry-trust.ts";
import { matchStanding } from "../remember/match-standing.ts";
import { supersedeNode } from "../remember/supersede.ts";
import type { JoinedMention, StandingBlock } from "../store/notes.ts";
import { digestFile, digestFoldersOf, makeCursor } from "./file-place.ts";
import type { NoteLink } from "./markdown.ts";
import { digestBaseName, isNoteLink, readMention, writeMention } from "./note-mention.ts";
import { describeBasis, type KeyedBlock, linksOf, type NotePlan, type NoteState } from "./note-plan.ts";
import type { RunContext } from "./run-context.ts";
import { headingKey } from "./vault-links.ts";
import { isKeptOut, recallsSeen } from "./waiting.ts";

const ACTOR: Actor = "extractor";
const SOURCE_GONE = DECAY_REASONS.indexOf("source_gone");
/** Beliefs that losing a source does not change. */
const SETTLED_BELIEFS: ReadonlySet<Belief> = new Set(["superseded", "held", "rejected"]);

/** Thoughts whose words another note of this run is about to bring. */
export interface Arrivals {
  isExpected(valueKey: Buffer): boolean;
  /** Keeps a thought that stands on nothing until the run's end. */
  wait(nodeId: number): void;
}

/** The rows a plan was made on are no longer the same: another process wrote them. */
export class StalePlan extends Error {}

/** Before the new blocks are stored. @throws StalePlan when the plan must be made again. */
export function prepareNote(run: RunContext, plan: NotePlan): void {
  if (describeBasis(run, plan.file, plan.source.key) !== plan.basis) throw new StalePlan();
  const sourceId = run.store.sources.find("file", plan.source.key);
  if (sourceId === null) return;
  const moves = plan.blocks.flatMap((_, index) => {
    const block = plan.stored[plan.diff.storedIndex[index] ?? -1];
    const to = plan.diff.ordinals[index];
    return block === undefined || to === undefined || block.ordinal === to ? [] : [{ id: block.id, to }];
  });
  run.notes.moveOccurrences(sourceId, moves, ACTOR);
}

/**
 * After the new blocks were stored: ends what is gone, keeps links, and saves the note's place.
 * @param results of the plan's inputs, in order
 */
export function finishNote(
  run: RunContext,
  plan: NotePlan,
  results: readonly RememberResult[],
  arrivals: Arrivals,
): void {
  const { store, notes } = run;
  const sourceId = store.sources.find("file", plan.source.key);
  if (sourceId !== null) {
    const gone = plan.diff.gone.flatMap((index) => {
      const block = plan.stored[index];
      return block === undefined ? [] : [{ block, replacement: plan.replacements.get(index) ?? null }];
    });
    endBlocks(run, sourceId, gone, arrivals);
    keepMentions(run, plan);
    redirectMentions(run, plan, sourceId);
  }
  if (plan.renamedFrom !== null) notes.dropCursor(plan.renamedFrom);
  const state: NoteState = {
    version: 1,
    format: "markdown",
    key: plan.source.key,
    folders: digestFoldersOf(store, plan.file.absolute),
    ...(isKeptOut(results) ? { waiting: recallsSeen(store) } : {}),
  };
  store.operations.saveExtractCursor(
    digestFile(store, plan.file.absolute),
    makeCursor(store, plan.facts, { offset: plan.facts.size, line: 0, state }),
  );
}

/** Ends everything a deleted note held. */
export function endNote(run: RunContext, key: string, arrivals: Arrivals): void {
  const sourceId = run.store.sources.find("file", key);
  if (sourceId === null) return;
  endBlocks(
    run,
    sourceId,
    run.notes.standing(sourceId).map((block) => ({ block, replacement: null })),
    arrivals,
  );
}

/** Lets a thought decay that nothing holds any more. */
export function decayUnheld(run: RunContext, nodeId: number): void {
  if (!run.store.legs.hasStanding(nodeId) && isOpen(run, nodeId)) decay(run, nodeId);
}

interface GoneBlock {
  readonly block: StandingBlock;
  readonly replacement: KeyedBlock | null;
}

function endBlocks(run: RunContext, sourceId: number, gone: readonly GoneBlock[], arrivals: Arrivals): void {
  const byNode = new Map<number, GoneBlock[]>();
  for (const one of gone) byNode.set(one.block.nodeId, [...(byNode.get(one.block.nodeId) ?? []), one]);
  for (const [nodeId, group] of byNode) {
    const blocks = group.map(({ block }) => block);
    if (!run.notes.endOccurrences(sourceId, nodeId, blocks, ACTOR) || !isOpen(run, nodeId)) continue;
    const valueKey = blocks[0]?.valueKey ?? null;
    if (valueKey !== null && arrivals.isExpected(valueKey)) {
      arrivals.wait(nodeId);
      continue;
    }
    const replacement = group.map((one) => nodeOf(run, one.replacement)).find((id) => id !== null && id !== nodeId);
    if (replacement == null) decay(run, nodeId);
    else supersedeNode(run.store, { oldId: nodeId, newId: replacement, actor: ACTOR, reason: "replaced" });
  }
  // What stands on other legs may have lost the one it was trusted by.
  matchStanding(run.store, [...byNode.keys()], ACTOR);
  carryTrust(run.store, [...byNode.keys()], ACTOR);
}

/** The thought a new block became; null when it was refused. */
function nodeOf(run: RunContext, block: KeyedBlock | null): number | null {
  return block === null ? null : run.store.occurrences.nodeOfRecord(block.recordDigest);
}

/** False for a thought that is out of search already, or that a person decided on. */
function isOpen(run: RunContext, nodeId: number): boolean {
  const state = run.store.thoughts.state(nodeId);
  return (
    state.decayed === "none" &&
    state.recalledBy === null &&
    state.erasedBy === null &&
    !SETTLED_BELIEFS.has(state.belief)
  );
}

function decay(run: RunContext, nodeId: number): void {
  run.store.ledger.record({
    kind: "decayed",
    actor: ACTOR,
    payload: { node: run.store.thoughts.publicId(nodeId), reason: "source_gone" },
    changes: [{ nodeId, axis: "decayed", to: SOURCE_GONE }],
  });
}

/** Keeps the wikilinks of new blocks, and those of the frontmatter on whatever block is the first. */
function keepMentions(run: RunContext, plan: NotePlan): void {
  const { store, notes } = run;
  const mentions = plan.blocks.flatMap((keyed, index) => {
    if (plan.diff.storedIndex[index] !== null && index > 0) return [];
    const links = linksOf(plan, keyed, index).filter(isNoteLink);
    const occurrence = links.length === 0 ? null : store.occurrences.byRecord(keyed.recordDigest);
    if (occurrence === null) return [];
    const known = new Set(notes.mentionTargets(occurrence.id));
    return uniqueMentions(links)
      .filter(({ text }) => !known.has(text))
      .map(({ link, text }) => ({
        occurrenceId: occurrence.id,
        nodeId: occurrence.nodeId,
        targetDigest: digestBaseName(store, link),
        target: text,
      }));
  });
  store.links.addMentions(mentions, ACTOR);
}

function uniqueMentions(links: readonly NoteLink[]): { link: NoteLink; text: string }[] {
  const byText = new Map<string, NoteLink>();
  for (const link of links) {
    const text = writeMention(link);
    if (text !== null && !byText.has(text)) byText.set(text, link);
  }
  return [...byText].map(([text, link]) => ({ link, text }));
}

/** Links from elsewhere follow the first thought of the note, or of the heading they name. */
function redirectMentions(run: RunContext, plan: NotePlan, sourceId: number): void {
  const { notes } = run;
  const moved = notes.mentionsInto(sourceId).flatMap((mention): { mention: JoinedMention; toId: number }[] => {
    const link = readMention(mention.target);
    const toId = link === null ? null : findTarget(run, plan.blocks, sourceId, link);
    return toId === null || toId === mention.toId ? [] : [{ mention, toId }];
  });
  notes.partMentions(
    moved.map(({ mention }) => mention),
    ACTOR,
  );
  notes.joinMentions(
    moved.map(({ mention, toId }) => ({ mentionId: mention.id, fromId: mention.nodeId, toId })),
    ACTOR,
  );
}

/** The thought a link into this note means: its block's, its heading's first, or else the note's first. */
export function findTarget(
  run: RunContext,
  blocks: readonly KeyedBlock[],
  sourceId: number,
  link: Pick<NoteLink, "heading" | "block">,
): number | null {
  const wanted = link.heading === null ? null : headingKey(link.heading);
  const found =
    link.block !== null
      ? blocks.find(({ block }) => block.blockId === link.block)
      : wanted === null
        ? undefined
        : blocks.find(({ block }) => block.headings.some((heading) => headingKey(heading) === wanted));
  return nodeOf(run, found ?? null) ?? run.notes.firstNodeOf(sourceId);
}
