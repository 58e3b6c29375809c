/**
 * The host agent in place of a configured model: `prepare` gives it material, instructions and the form of an answer,
 * `ingest` takes its answers through the same rules. What was given is known by its ticket, so an answer can cite nothing
 * else; what fell meanwhile is refused. Preparing writes nothing.
 */
import * as z from "zod";
import { DormouseError } from "../core/errors.ts";
import { checkCount } from "../core/limits.ts";
import type { Store } from "../store/store.ts";
import { type AppliedAnswer, applyAnswers, type RefusedAnswer } from "./apply-answers.ts";
import { buildMaterial, type Material, PREAMBLE } from "./material.ts";
import { saveProgress } from "./run-task.ts";
import type { Place, Progress, Task, ThinkContext } from "./task.ts";
import type { TaskName } from "./task-names.ts";
import { createTask } from "./tasks.ts";
import { readTicket, type Ticket, writeTicket } from "./ticket.ts";

/** Steps without material that are passed over in search of some. */
const PASSED_OVER = 1_000;
/** Batches of one file, at most. */
const MAX_BATCHES = 50;
const LONGEST_NAME = 100;
const REPLY =
  'Answer each batch by its own material. Write a file {"batches": [{"ticket": "…", "answers": […]}, …]} with the ticket of each batch copied whole, and give it to the same command with --ingest.';

export interface PrepareOptions {
  /** `s_…` of the only session to distil. */
  readonly session?: string;
  /** Begin the session anew. */
  readonly again?: boolean;
  /** Default 1. */
  readonly batches?: number;
}

/** One request, as a host agent gets it. */
export interface PreparedBatch {
  /** To be given back with the answers. */
  readonly ticket: string;
  readonly material: readonly Readonly<Record<string, string | number>>[];
}

export interface Prepared {
  readonly task: TaskName;
  readonly instructions: string;
  /** How the answers are given back. */
  readonly reply: string;
  /** JSON Schema of the answers to one batch. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** None when there is nothing new to ask about. */
  readonly batches: readonly PreparedBatch[];
}

/** What a host agent gives back for one batch; each answer is judged for itself. */
const batchSchema = z.strictObject({ ticket: z.string(), answers: z.array(z.unknown()).max(1_000) });
const fileSchema = z.strictObject({ batches: z.array(batchSchema).max(MAX_BATCHES) });

export interface IngestedBatch {
  readonly task: TaskName;
  readonly accepted: readonly AppliedAnswer[];
  readonly refused: readonly RefusedAnswer[];
  /** The task goes on behind this batch; otherwise something else is next in turn, and stays so. */
  readonly advanced: boolean;
}

/** @throws DormouseError `not_found`, `usage` for an id that is no session's */
export async function prepare(store: Store, name: TaskName, options: PrepareOptions = {}): Promise<Prepared> {
  checkCount("the number of batches", options.batches ?? 1, MAX_BATCHES);
  const session = store.read(() => resolveSession(store, options.session));
  const task = await createTask(name, session);
  const { $schema: _, ...answer } = task.wholeAnswer.toJSONSchema({ io: "input" });
  return {
    task: name,
    instructions: `${PREAMBLE}\n\n${task.instructions}`,
    reply: REPLY,
    answer,
    batches: store.read(() => gatherBatches(store, task, options)),
  };
}

function gatherBatches(
  store: Store,
  task: Task,
  { session, again, batches: wanted = 1 }: PrepareOptions,
): PreparedBatch[] {
  const batches: PreparedBatch[] = [];
  let place = task.begin(store);
  if (again === true) place = Object.fromEntries(Object.keys(place).map((cursor) => [cursor, 0]));
  for (let passed = 0; batches.length < wanted && passed < PASSED_OVER; passed++) {
    const step = task.next(store, place);
    if (step === null) break;
    place = step.place;
    for (const material of step.materials) {
      batches.push({
        ticket: writeTicket(store, material, session ?? null),
        material: material.items.map(({ number, shown }) => ({ n: number, ...shown })),
      });
    }
  }
  return batches;
}

function resolveSession(store: Store, id: string | undefined): number | null {
  if (id === undefined) return null;
  const nodeId = store.thoughts.resolve(id);
  if (store.sources.get(nodeId)?.type !== "session") {
    throw new DormouseError("usage", `${id} is not a session`, {
      hint: "`dormouse source list --type session` lists them.",
    });
  }
  return nodeId;
}

/**
 * Takes answers batch by batch, in the order of the file.
 * @param file what the host agent wrote: `{ticket, answers}`, or `{batches: […]}` of these
 * @throws DormouseError `usage` for a bad name of who answers; `format` for another form; `invalid` for a ticket that is not this brain's, before anything is
 * written
 */
export async function ingest(context: ThinkContext, file: unknown): Promise<IngestedBatch[]> {
  const { store } = context;
  checkAnswerer(context.answeredBy);
  const batches = readFile(file);
  const tickets = store.read(() => batches.map(({ ticket }) => readTicket(store, ticket)));
  const turns = new Map<string, Turn>();
  for (const ticket of tickets) {
    if (!turns.has(keyOf(ticket))) turns.set(keyOf(ticket), await beginTurn(store, ticket));
  }
  // Before anything is applied: what an answer adds could change what would be next.
  const given = store.read(() => {
    return tickets.flatMap((ticket, index) => {
      const turn = turns.get(keyOf(ticket));
      if (turn === undefined) return [];
      const answers = batches[index]?.answers ?? [];
      const material = restoreMaterial(store, turn.task, ticket);
      return [{ task: turn.task, ticket, answers, next: advance(store, turn, material) }];
    });
  });
  const done: IngestedBatch[] = [];
  for (const { task, ticket, answers, next } of given) {
    const material = store.read(() => restoreMaterial(store, task, ticket));
    const { accepted, refused } = await applyAnswers(task, context, material, answers);
    if (next !== null) context.commit(() => saveProgress(store.operations, next));
    done.push({ task: ticket.task, accepted, refused, advanced: next !== null });
  }
  return done;
}

/** A source is named by it. */
function checkAnswerer(name: string): void {
  if (name.trim() === "" || name.length > LONGEST_NAME || /\p{Cc}/u.test(name)) {
    throw new DormouseError("usage", `the model's name must have 1 to ${LONGEST_NAME} visible characters`);
  }
}

function readFile(file: unknown): z.infer<typeof batchSchema>[] {
  const read = z.union([fileSchema, batchSchema.transform((batch) => ({ batches: [batch] }))]).safeParse(file);
  if (read.success) return read.data.batches;
  throw new DormouseError("format", "that is not a file of answers", {
    hint: 'It is {"ticket": "…", "answers": […]} for one batch, or {"batches": […]} with several of these.',
  });
}

/** How far a task is while a file is taken. */
interface Turn {
  readonly task: Task;
  place: Place;
  /** Materials of the step that is due, those that are not answered yet. */
  due: Material[];
  /** What is to be kept once they are: also of the steps without material before it. */
  pending: Required<Progress>;
}

function keyOf({ task, session }: Ticket): string {
  return `${task} ${session ?? ""}`;
}

async function beginTurn(store: Store, ticket: Ticket): Promise<Turn> {
  const session = store.read(() => resolveSession(store, ticket.session ?? undefined));
  const task = await createTask(ticket.task, session);
  const place = store.read(() => task.begin(store));
  return { task, place, due: [], pending: { place, marked: [], unmarked: [] } };
}

/** What is to be kept if the material is due and the last of its step; null otherwise. */
function advance(store: Store, turn: Turn, material: Material): Progress | null {
  for (let passed = 0; turn.due.length === 0 && passed < PASSED_OVER; passed++) {
    const step = turn.task.next(store, turn.place);
    if (step === null) return null;
    turn.place = step.place;
    turn.due = [...step.materials];
    turn.pending = {
      place: step.place,
      marked: [...turn.pending.marked, ...(step.marked ?? [])],
      unmarked: [...turn.pending.unmarked, ...(step.unmarked ?? [])],
    };
  }
  const left = turn.due.filter((due) => !isSame(due, material));
  const isLast = turn.due.length > 0 && left.length === 0;
  turn.due = left;
  if (!isLast) return null;
  const done = turn.pending;
  turn.pending = { place: turn.place, marked: [], unmarked: [] };
  return done;
}

function isSame(a: Material, b: Material): boolean {
  const nodesOf = ({ items }: Material) => JSON.stringify(items.map(({ number, nodeIds }) => [number, nodeIds]));
  return nodesOf(a) === nodesOf(b);
}

/** The material as it stands now: what fell since, or cannot be shown any more, is gone. */
function restoreMaterial(store: Store, task: Task, { items }: Ticket): Material {
  const groups = items.map((ids) => ids.map((id) => store.thoughts.resolve(id)));
  const material = buildMaterial(store, task.name, groups, task.show);
  const nothing = { task: task.name, scopeId: 0, items: [], gone: new Set(items.map((_, index) => index + 1)) };
  return material ?? { ...nothing, untrusted: false };
}
