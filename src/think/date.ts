/**
 * Infers when something happened from the date words of a text that has no time. Only what somebody told, and only where
 * a parser reads the same days in the same words; a known time is never touched, and each inference is an event.
 */
import * as z from "zod";
import { floatingDay } from "../core/referent.ts";
import { dateOccurrence } from "../store/dating.ts";
import { highestThought } from "../store/sleep-links.ts";
import type { Store } from "../store/store.ts";
import { type UndatedThought, undatedAbove, undatedBelow, undatedThought } from "../store/think-material.ts";
import { defineTask, numberSchema } from "./answer.ts";
import { checkDateWords, type DaySpan, hintsAtTime, readDay } from "./date-words.ts";
import { buildMaterial, cutText, type Material } from "./material.ts";
import { modelSource } from "./model-source.ts";
import { Span } from "./span.ts";
import { type Place, refused, type Step, type Task, type ThinkContext, type Verdict } from "./task.ts";

/** Texts of one request, and texts looked at for date words in one step. */
const TEXTS = 20;
const LOOKED_AT = 500;
/** Referent kinds as stored: a date alone has no offset. */
const FLOATING = 2;

const INSTRUCTIONS = `Each item of the material is a text that has no date. Where its own words say when the thing that it tells happened, answer with those words, copied exactly, and with the days they mean. "said" is the day on which it was said, from which "yesterday" or "last week" count; where it is missing, use only words that name a year. Leave out texts whose dates belong to something else than what is told, and do not guess.
Form of an answer: {"number": 2, "words": "in May 2024", "first": "2024-05-01", "last": "2024-05-31"}. A day by itself is both first and last; a month or a year is all of its days.`;

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const schema = z.strictObject({ number: numberSchema, words: z.string().min(1).max(100), first: day, last: day });
type Inference = z.infer<typeof schema>;

export function createDateTask(): Task<Inference> {
  const span = new Span<UndatedThought>("sleep.date", {
    above: (store, after, limit) => undatedAbove(store.connection, after, limit),
    below: (store, upTo, limit) => undatedBelow(store.connection, upTo, limit),
    idOf: ({ id }) => id,
    top: (store) => highestThought(store.connection),
  });
  return defineTask({
    name: "date",
    instructions: INSTRUCTIONS,
    schema,
    maxAnswers: TEXTS,
    show: showUndated,
    begin: (store) => span.begin(store),
    next: (store, place) => nextTexts(store, place, span),
    take,
  });
}

function nextTexts(store: Store, from: Place, span: Span<UndatedThought>): Step | null {
  let place = from;
  const hinting: UndatedThought[] = [];
  for (let looked = 0; looked < LOOKED_AT && hinting.length < TEXTS; looked += TEXTS) {
    const found = span.next(store, place, TEXTS - hinting.length);
    if (found === null) {
      if (looked === 0) return null;
      break;
    }
    place = found.place;
    hinting.push(...found.rows.filter(({ contentId }) => hintsAtTime(store.contents.text(contentId) ?? "")));
  }
  const groups = new Map<string, number[]>();
  for (const { id, scopeId, trust } of hinting) {
    const key = `${scopeId} ${trust === 0}`;
    groups.set(key, [...(groups.get(key) ?? []), id]);
  }
  const materials = [...groups.values()].flatMap((ids) => {
    const single = ids.map((id) => [id]);
    return buildMaterial(store, "date", single, showUndated) ?? [];
  });
  return { materials, place };
}

function showUndated(store: Store, [nodeId = 0]: readonly number[]): Record<string, string> | null {
  const thought = undatedThought(store.connection, nodeId);
  const text = thought === null ? null : store.contents.text(thought.contentId);
  if (thought === null || text === null) return null;
  const said = thought.saidAt === null ? {} : { said: new Date(thought.saidAt).toISOString().slice(0, 10) };
  return { ...said, text: cutText(text) };
}

async function take(context: ThinkContext, material: Material, answer: Inference): Promise<Verdict> {
  const { store, actor } = context;
  if (material.gone.has(answer.number)) return refused("stale");
  const nodeId = material.items.find(({ number }) => number === answer.number)?.nodeIds[0];
  if (nodeId === undefined) return refused("unknown_number");
  const [first, last] = [readDay(answer.first), readDay(answer.last)];
  if (first === null || last === null || first > last) return refused("bad_time");
  const before = store.read(() => readUndated(store, nodeId));
  if (before === null) return refused("dated");
  const broken = await checkDateWords(before.text, answer.words, { first, last }, before.saidAt);
  if (broken !== null) return refused(broken);
  return context.commit(() => {
    const thought = undatedThought(store.connection, nodeId);
    if (thought === null) return refused("dated");
    const by = store.sources.intern(modelSource(context.answeredBy), store.scopes.loosest(), actor);
    dateOccurrence(store, { occurrenceId: thought.occurrenceId, referent: storedDays({ first, last }), by }, actor);
    return { accepted: true, id: store.thoughts.publicId(nodeId), status: "dated" };
  });
}

function readUndated(store: Store, nodeId: number): { text: string; saidAt: number | null } | null {
  const thought = undatedThought(store.connection, nodeId);
  const text = thought === null ? null : store.contents.text(thought.contentId);
  return thought === null || text === null ? null : { text, saidAt: thought.saidAt };
}

/** Calendar days whose offset nobody knows. */
function storedDays({ first, last }: DaySpan): { from: number | null; to: number | null; kind: number } {
  const [start, end] = [first, last].map((at) => {
    const date = new Date(at);
    return floatingDay(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate());
  });
  return { from: start?.from ?? null, to: end?.to ?? null, kind: FLOATING };
}
