/**
 * Distils what was said in sessions: a window of consecutive turns of one session becomes a few thoughts, each resting on
 * those very turns. Windows come in the order in which turns were met, so that each turn is shown once. Turns that rest
 * on something untrusted are shown apart.
 */
import * as z from "zod";
import type { Store } from "../store/store.ts";
import {
  highestOccurrence,
  type SessionTurn,
  spanOf,
  turnsBefore,
  turnsMetAfter,
  turnsOfSession,
} from "../store/think-material.ts";
import { defineTask, legsSchema, textSchema } from "./answer.ts";
import { buildMaterial, type Material, showThought } from "./material.ts";
import { type Place, refused, type Step, type Task, type ThinkContext, type Verdict } from "./task.ts";
import { resolveCited, writeThought } from "./write-thought.ts";

const CURSOR = "sleep.distil";
/** Turns of one window, and characters beyond which no further turn is taken. */
const WINDOW_TURNS = 40;
const WINDOW_CHARS = 8_000;
/** Turns before the window that are shown with it, so that a reply keeps its question. */
const TURNS_BEFORE = 4;
/** Fewer characters than these say nothing worth distilling. */
const LEAST_CHARS = 80;
const MAX_ANSWERS = 12;
const KINDS = ["fact", "belief", "insight", "decision", "commitment", "observation"] as const;

const INSTRUCTIONS = `The material is a part of one conversation, in order. Distil from it what the person would want to be reminded of months later: facts about their life and work, what they decided, what they promised or were promised, what they believe and prefer, what they noticed.
Each answer is one thought that can be understood by itself: a full sentence with names instead of "he" or "there", and with dates instead of "yesterday" where the material has them. Leave out greetings, what is true of everybody, and whatever was only considered.
"kind" is one of ${KINDS.join(", ")}. "from" lists the reasons: each is a list of the numbers that together say so; give several lists only when each alone says so. Form of an answer: {"text": "…", "kind": "fact", "from": [[3, 4]]}.`;

const schema = z.strictObject({ text: textSchema, kind: z.enum(KINDS), from: legsSchema });
type Distilled = z.infer<typeof schema>;

/** @param session local id of the only session to distil; default all, as they come */
export function createDistilTask(session: number | null = null): Task<Distilled> {
  return defineTask({
    name: "distil",
    instructions: INSTRUCTIONS,
    schema,
    maxAnswers: MAX_ANSWERS,
    show: showThought,
    begin: (store) => beginDistil(store, session),
    next: (store, place) => nextWindow(store, place, session),
    take,
  });
}

/** Cursor of a session that was distilled by name. */
function cursorOf(session: number | null): string {
  return session === null ? CURSOR : `${CURSOR}.${session}`;
}

function beginDistil(store: Store, session: number | null): Place {
  const all = store.operations.cursor(CURSOR);
  const own = session === null ? all : store.operations.cursor(cursorOf(session));
  return { [cursorOf(session)]: Math.max(all, own) };
}

function nextWindow(store: Store, place: Place, session: number | null): Step | null {
  const { connection } = store;
  const after = place[cursorOf(session)] ?? 0;
  const found =
    session === null
      ? turnsMetAfter(connection, after, WINDOW_TURNS)
      : turnsOfSession(connection, session, after, WINDOW_TURNS);
  const [first] = found;
  const placeAt = (occurrenceId: number): Place => ({ ...place, [cursorOf(session)]: occurrenceId });
  if (first === undefined) {
    const highest = highestOccurrence(connection);
    return session !== null || highest <= after ? null : { materials: [], place: placeAt(highest) };
  }
  const run = takeRun(store, found, first);
  const done = session === null ? store.operations.cursor(cursorOf(first.sourceId)) : 0;
  const fresh = run.filter(({ occurrenceId }) => occurrenceId > done);
  return { materials: materialsOf(store, fresh), place: placeAt(run.at(-1)?.occurrenceId ?? after) };
}

/** The turns up to another session or scope, or to the length of a window. */
function takeRun(store: Store, found: readonly SessionTurn[], first: SessionTurn): SessionTurn[] {
  const run: SessionTurn[] = [];
  let chars = 0;
  for (const turn of found) {
    if (turn.sourceId !== first.sourceId || turn.scopeId !== first.scopeId) break;
    chars += lengthOf(store, turn);
    if (run.length > 0 && chars > WINDOW_CHARS) break;
    run.push(turn);
  }
  return run;
}

function lengthOf(store: Store, { nodeId }: SessionTurn): number {
  return showThought(store, [nodeId])?.text?.length ?? 0;
}

/** The window as it is asked about: trusted and unknown turns together, untrusted ones apart. */
function materialsOf(store: Store, window: readonly SessionTurn[]): Material[] {
  const ordered = [...window].sort((a, b) => a.thread - b.thread || a.ordinal - b.ordinal);
  const [first] = ordered;
  if (first === undefined) return [];
  const before = turnsBefore(store.connection, first, TURNS_BEFORE).filter(({ scopeId }) => scopeId === first.scopeId);
  return [false, true].flatMap((isUntrusted) => {
    const belongs = ({ trust }: SessionTurn) => (trust === 0) === isUntrusted;
    const fresh = ordered.filter(belongs);
    if (fresh.reduce((sum, turn) => sum + lengthOf(store, turn), 0) < LEAST_CHARS) return [];
    const nodeIds = new Set([...before.filter(belongs), ...fresh].map(({ nodeId }) => nodeId));
    const groups = [...nodeIds].map((id) => [id]);
    const material = buildMaterial(store, "distil", groups, showThought);
    return material === null ? [] : [material];
  });
}

async function take(context: ThinkContext, material: Material, { text, kind, from }: Distilled): Promise<Verdict> {
  const { store } = context;
  const cited = store.read(() => resolveCited(store, material, from, { leastParents: 1, acrossSources: false }));
  if ("rule" in cited) return refused(cited.rule);
  // It is as old as what it was distilled from, whatever night it is.
  const said = store.read(() => spanOf(store.connection, cited.legs[0] ?? []));
  return writeThought(context, material, {
    text,
    kind,
    basis: "inferred",
    legs: cited.legs,
    referent: said === null ? null : { from: said.from, to: said.to, ...(said.floating ? { floating: true } : {}) },
    mayReinforce: true,
  });
}
