/**
 * Extracts the notes of a vault: what is new is stored, what was edited, renamed or deleted is followed, and
 * wikilinks are joined at the end. A note counts as deleted only when its vault was asked for and could be
 * read; an ignored one, or one behind a folder that cannot be read, is left alone.
 */
import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { detectFormat } from "./detect.ts";
import { compareWithCursor, digestFile, digestFolder, type FileFacts, readFacts } from "./file-place.ts";
import { parseNote } from "./markdown.ts";
import { type Arrivals, decayUnheld, endNote, findTarget, finishNote, prepareNote, StalePlan } from "./note-changes.ts";
import { readMention } from "./note-mention.ts";
import {
  findNoteState,
  type KnownNote,
  keyBlocks,
  type NoteFile,
  type NotePlan,
  planNote,
  readNoteState,
  readNoteText,
} from "./note-plan.ts";
import type { RunContext } from "./run-context.ts";
import { createLinkResolver } from "./vault-links.ts";

/** What a run asks of one vault. */
export interface VaultWork {
  /** Absolute, links resolved. */
  readonly root: string;
  /** As the caller named it. */
  readonly path: string;
  readonly notes: readonly (NoteFile & { readonly explicit: boolean })[];
  /** Paths of notes that links can mean, from the root; `notes` among them. */
  readonly linkable: readonly string[];
  /** True when the whole folder was walked: what is not among the notes is gone. */
  readonly whole: boolean;
  /** Absolute paths of files and folders that could not be read. */
  readonly unread: readonly string[];
  /** True for a folder with nothing in it at all: perhaps a disk that is not there. */
  readonly hollow: boolean;
}

/** Notes planned before they are stored together. */
const MAX_PLANS = 64;
/** Another process may change a note's rows this often before we give up. */
const MAX_ATTEMPTS = 5;
/** Mentions joined in one transaction. */
const JOIN_BATCH = 1_000;
/** Share of a vanished note's blocks that makes another note its new name. */
const RENAME_SHARE = 0.5;

/** Extracts a vault, or single notes of one. */
export async function extractVault(work: VaultWork, run: RunContext): Promise<void> {
  await new VaultExtraction(work, run).run();
}

class VaultExtraction {
  readonly #work: VaultWork;
  readonly #run: RunContext;
  /** Notes of this run that are still to be stored, by the values they will bring. */
  readonly #expected = new Map<string, number>();
  readonly #waiting = new Set<number>();
  readonly #renames = new Map<string, KnownNote>();
  readonly #arrivals: Arrivals = {
    isExpected: (valueKey) => (this.#expected.get(valueKey.toString("latin1")) ?? 0) > 0,
    wait: (nodeId) => this.#waiting.add(nodeId),
  };

  constructor(work: VaultWork, run: RunContext) {
    this.#work = work;
    this.#run = run;
  }

  async run(): Promise<void> {
    const vanished = await this.#findVanished();
    const changed = await this.#findChanged();
    await this.#survey(changed, vanished);
    await this.#storeNotes(changed);
    if (this.#run.dryRun) return;
    const renamed = new Set([...this.#renames.values()].map(({ key }) => key));
    this.#endVanished(vanished.filter(({ key }) => !renamed.has(key)));
    this.#decayWaiting();
    await this.#joinLinks();
  }

  // ---- what is there, and what was ----

  async #findVanished(): Promise<KnownNote[]> {
    const { root, whole, notes, unread, hollow, path } = this.#work;
    if (!whole) return [];
    const { store, tally } = this.#run;
    const present = new Set(notes.map(({ absolute }) => digestFile(store, absolute).toString("hex")));
    const unreadFiles = new Set(unread.map((file) => digestFile(store, file).toString("hex")));
    const unreadFolders = new Set(unread.map((folder) => digestFolder(store, folder)));
    const vanished: KnownNote[] = [];
    for (const { fileDigest, state } of this.#run.notes.cursorsUnder(digestFolder(store, root))) {
      const digest = fileDigest.toString("hex");
      const known = readNoteState(state);
      if (known === null || present.has(digest) || unreadFiles.has(digest)) continue;
      if (known.folders.some((folder) => unreadFolders.has(folder))) continue;
      if (await this.#isStillThere(known.key, digest)) continue;
      vanished.push({ fileDigest, key: known.key });
    }
    if (hollow && vanished.length > 1) {
      tally.fail(path, null, "empty_folder", "Is its disk mounted? What the brain knows of it was left as it is.");
      return [];
    }
    return vanished;
  }

  /** True for a note that is not walked any more, being ignored or a template now, but exists. */
  async #isStillThere(key: string, fileDigest: string): Promise<boolean> {
    const { store } = this.#run;
    const sourceId = store.sources.find("file", key);
    const reference = sourceId === null ? null : (store.sources.get(sourceId)?.reference ?? null);
    if (reference === null) return false;
    const absolute = join(this.#work.root, reference);
    if (digestFile(store, absolute).toString("hex") !== fileDigest) return false;
    return access(absolute).then(
      () => true,
      () => false,
    );
  }

  async #findChanged(): Promise<NoteFile[]> {
    const { store, tally, progress } = this.#run;
    const changed: NoteFile[] = [];
    for (const note of this.#work.notes) {
      await this.#run.breathe();
      const facts = await readFacts(note.path, note.absolute, (rule) => tally.fail(note.path, null, rule));
      if (facts === null) continue;
      const isKnown = findNoteState(this.#run, note.absolute) !== null;
      const refused = this.#refuse(facts, isKnown);
      if (refused !== null) {
        if (note.explicit) tally.fail(note.path, null, refused);
        else tally.skip(refused);
        progress.finish(facts.size);
        continue;
      }
      const cursor = isKnown ? store.operations.extractCursor(digestFile(store, note.absolute)) : null;
      if (cursor !== null && compareWithCursor(store, facts, cursor) === "same") {
        tally.files += 1;
        tally.skip("unchanged");
        progress.finish(facts.size);
        continue;
      }
      changed.push(note);
    }
    return changed;
  }

  /** A known note that was emptied is read: its blocks are gone. */
  #refuse(facts: FileFacts, isKnown: boolean): string | null {
    const detected = detectFormat("note.md", facts.head);
    if (typeof detected === "string" || (detected.refused === "empty" && isKnown)) return null;
    return detected.refused;
  }

  /**
   * Looks ahead over what will be stored, when something known may be gone: a paragraph that moves to another
   * note does not decay in between, and a vanished note whose blocks turn up elsewhere was renamed.
   */
  async #survey(changed: readonly NoteFile[], vanished: readonly KnownNote[]): Promise<void> {
    const { store, notes } = this.#run;
    const isNew = (note: NoteFile): boolean => findNoteState(this.#run, note.absolute) === null;
    if (vanished.length === 0 && changed.every(isNew)) return;
    const lost = vanished.map((known) => {
      const sourceId = store.sources.find("file", known.key);
      const blocks = sourceId === null ? [] : notes.standing(sourceId);
      return { known, values: new Set(blocks.flatMap(({ valueKey }) => valueKey?.toString("latin1") ?? [])) };
    });
    const lostByValue = new Map<string, number[]>();
    for (const [index, { values }] of lost.entries()) {
      for (const value of values) lostByValue.set(value, [...(lostByValue.get(value) ?? []), index]);
    }
    const matches: { note: NoteFile; index: number; share: number }[] = [];
    for (const note of changed) {
      const read = await readNoteText(note.absolute);
      if (!("text" in read)) continue;
      const values = this.#valuesOf(read.text);
      for (const value of values) this.#expected.set(value, (this.#expected.get(value) ?? 0) + 1);
      if (!isNew(note)) continue;
      const common = new Map<number, number>();
      for (const value of values) {
        for (const index of lostByValue.get(value) ?? []) common.set(index, (common.get(index) ?? 0) + 1);
      }
      for (const [index, count] of common) {
        const share = count / (lost[index]?.values.size ?? 1);
        if (share >= RENAME_SHARE) matches.push({ note, index, share });
      }
    }
    const taken = new Set<number>();
    for (const { note, index } of matches.sort((a, b) => b.share - a.share)) {
      const known = lost[index]?.known;
      if (known === undefined || taken.has(index) || this.#renames.has(note.absolute)) continue;
      taken.add(index);
      this.#renames.set(note.absolute, known);
    }
  }

  #valuesOf(text: string): Set<string> {
    const { blocks } = keyBlocks(this.#run, parseNote(text), "");
    return new Set(blocks.map(({ valueKey }) => valueKey.toString("latin1")));
  }

  // ---- storing ----

  async #storeNotes(changed: readonly NoteFile[]): Promise<void> {
    let plans: NotePlan[] = [];
    let texts = 0;
    for (const note of changed) {
      const plan = await this.#plan(note);
      if (plan === null) continue;
      plans.push(plan);
      texts += plan.inputs.length;
      if (plans.length < MAX_PLANS && texts < this.#run.batchSize) continue;
      await this.#apply(plans);
      plans = [];
      texts = 0;
    }
    await this.#apply(plans);
  }

  async #plan(note: NoteFile): Promise<NotePlan | null> {
    const { tally } = this.#run;
    const facts = await readFacts(note.path, note.absolute, (rule) => tally.fail(note.path, null, rule));
    if (facts === null) return null;
    const read = await readNoteText(note.absolute);
    if ("text" in read) return planNote(this.#run, note, facts, read.text, this.#renames.get(note.absolute) ?? null);
    tally.fail(note.path, null, read.rule);
    this.#run.progress.finish(facts.size);
    return null;
  }

  async #apply(plans: readonly NotePlan[]): Promise<void> {
    for (const plan of plans) this.#forgetExpected(plan);
    try {
      await this.#commit(plans);
    } catch (error) {
      if (!(error instanceof StalePlan)) throw error;
      for (const plan of plans) await this.#retry(plan.file);
    }
  }

  /** Plans one note again until its rows hold still. */
  async #retry(note: NoteFile): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const plan = await this.#plan(note);
      if (plan === null) return;
      try {
        await this.#commit([plan]);
        return;
      } catch (error) {
        if (!(error instanceof StalePlan)) throw error;
        if (attempt < MAX_ATTEMPTS) continue;
        this.#run.tally.fail(note.path, null, "busy", "Another process extracts the same note; run it again.");
        return;
      }
    }
  }

  async #commit(plans: readonly NotePlan[]): Promise<void> {
    const { intake, tally, progress } = this.#run;
    if (plans.length === 0) return;
    await intake.store(
      plans.flatMap(({ inputs }) => inputs),
      {
        beforehand: () => {
          for (const plan of plans) prepareNote(this.#run, plan);
        },
        alongside: () => {
          for (const plan of plans) finishNote(this.#run, plan, this.#arrivals);
        },
      },
    );
    for (const plan of plans) {
      tally.files += 1;
      tally.records += plan.blocks.length;
      tally.skip("known", plan.blocks.length - plan.inputs.length);
      tally.skip("own_output", plan.ownOutput);
      // A note of frontmatter or pictures alone says nothing that could be quoted; it is counted, not lost unseen.
      if (plan.blocks.length === 0 && plan.ownOutput === 0) tally.skip("no_text");
      if (plan.note.frontmatterFault !== null) tally.fail(plan.file.path, 1, plan.note.frontmatterFault);
      progress.finish(plan.facts.size);
    }
  }

  #forgetExpected(plan: NotePlan): void {
    for (const value of new Set(plan.blocks.map(({ valueKey }) => valueKey.toString("latin1")))) {
      const count = this.#expected.get(value);
      if (count !== undefined) this.#expected.set(value, count - 1);
    }
  }

  // ---- what is gone ----

  #endVanished(vanished: readonly KnownNote[]): void {
    const { store, notes } = this.#run;
    for (const { fileDigest, key } of vanished) {
      store.write(() => {
        // Another process may have found it under its new name.
        if (readNoteState(store.operations.extractCursor(fileDigest)?.state)?.key !== key) return;
        endNote(this.#run, key, this.#arrivals);
        notes.dropCursor(fileDigest);
      });
    }
  }

  #decayWaiting(): void {
    if (this.#waiting.size === 0) return;
    this.#run.store.write(() => {
      for (const nodeId of this.#waiting) decayUnheld(this.#run, nodeId);
    });
  }

  // ---- links ----

  /** Whatever waits for a target, of this run or of one that did not come to its end. */
  async #joinLinks(): Promise<void> {
    const { notes } = this.#run;
    if (notes.unjoinedMentions(0, 1).length === 0) return;
    const pathsBySource = this.#findSources();
    const resolver = createLinkResolver(this.#work.linkable);
    const wanted = new Map<string, { mentionId: number; fromId: number; target: string }[]>();
    for (let after = 0; ; ) {
      const mentions = notes.unjoinedMentions(after, JOIN_BATCH);
      for (const mention of mentions) {
        after = mention.id;
        const fromPath = pathsBySource.get(mention.sourceId);
        const link = fromPath === undefined ? null : readMention(mention.target);
        const to = fromPath === undefined || link === null ? null : resolver.resolve(fromPath, link);
        if (to === null) continue;
        const entry = { mentionId: mention.id, fromId: mention.nodeId, target: mention.target };
        const group = wanted.get(to);
        if (group === undefined) wanted.set(to, [entry]);
        else group.push(entry);
      }
      if (mentions.length < JOIN_BATCH) break;
    }
    let joins: { mentionId: number; fromId: number; toId: number }[] = [];
    for (const [relative, group] of wanted) {
      joins.push(...(await this.#findTargets(relative, group)));
      if (joins.length < JOIN_BATCH) continue;
      this.#join(joins);
      joins = [];
    }
    this.#join(joins);
  }

  #join(joins: readonly { mentionId: number; fromId: number; toId: number }[]): void {
    if (joins.length > 0) this.#run.store.write(() => this.#run.notes.joinMentions(joins, "extractor"));
  }

  /** The paths of the vault's notes by their sources' ids. */
  #findSources(): Map<number, string> {
    const paths = new Map<number, string>();
    for (const relative of this.#work.linkable) {
      const sourceId = this.#sourceAt(relative)?.sourceId;
      if (sourceId !== undefined) paths.set(sourceId, relative);
    }
    return paths;
  }

  #sourceAt(relative: string): { sourceId: number; key: string } | null {
    const key = findNoteState(this.#run, join(this.#work.root, relative))?.key;
    const sourceId = key === undefined ? null : this.#run.store.sources.find("file", key);
    return key === undefined || sourceId === null ? null : { sourceId, key };
  }

  async #findTargets(
    relative: string,
    group: readonly { mentionId: number; fromId: number; target: string }[],
  ): Promise<{ mentionId: number; fromId: number; toId: number }[]> {
    const target = this.#sourceAt(relative);
    if (target === null || this.#run.notes.firstNodeOf(target.sourceId) === null) return [];
    const links = group.flatMap((one) => {
      const link = readMention(one.target);
      return link === null ? [] : [{ ...one, link }];
    });
    const needsBlocks = links.some(({ link }) => link.heading !== null || link.block !== null);
    const read = needsBlocks ? await readNoteText(join(this.#work.root, relative)) : null;
    const blocks = read !== null && "text" in read ? keyBlocks(this.#run, parseNote(read.text), target.key).blocks : [];
    return links.flatMap(({ mentionId, fromId, link }) => {
      const toId = findTarget(this.#run, blocks, target.sourceId, link);
      return toId === null ? [] : [{ mentionId, fromId, toId }];
    });
  }
}

/** The folder a note's links count from: the nearest one that an editor marked as a vault, else its own. */
export async function findVaultRoot(absolute: string): Promise<{ root: string; marked: boolean }> {
  for (let folder = dirname(absolute); ; folder = dirname(folder)) {
    for (const marker of [".obsidian", ".foam"]) {
      const found = await access(join(folder, marker)).then(
        () => true,
        () => false,
      );
      if (found) return { root: folder, marked: true };
    }
    if (folder === dirname(folder)) return { root: dirname(absolute), marked: false };
  }
}
