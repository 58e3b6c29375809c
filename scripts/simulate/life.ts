/**
 * Lives through the days of a schedule: one brain that sleeps every night beside one that never does, both given the
 * same thoughts and questions, on a clock of their own. Says what each night did and what each question met; decides
 * nothing. The sleeping brain notes what its questions read, as a person's search does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Brain, type SleepOptions } from "../../src/app.ts";
import { MS_PER_DAY, MS_PER_HOUR } from "../../src/core/clock.ts";
import { DormouseError } from "../../src/core/errors.ts";
import type { Embedder } from "../../src/core/ports.ts";
import { MODEL_GAUGES } from "../../src/store/operations.ts";
import { Store } from "../../src/store/store.ts";
import type { EvalQuestion } from "../eval/corpus.ts";
import { scoreRanking } from "../eval/metrics.ts";
import type { ArrivalKind, Day } from "./schedule.ts";

/** Midnight before the first day. */
const FIRST_DAY = Date.UTC(2026, 0, 1);
const ARRIVE_AT = 9 * MS_PER_HOUR;
const ASK_AT = 18 * MS_PER_HOUR;
const SLEEP_AT = 27 * MS_PER_HOUR;
/** Thoughts of one transaction. */
const BATCH = 256;
const PLACES = 10;

export interface LifeOptions {
  readonly embedder: Embedder;
  readonly config: NonNullable<SleepOptions["config"]>;
  /** Days from one sleep to the next. */
  readonly sleepEvery: number;
  /** Leave the brain that never sleeps out. */
  readonly alone: boolean;
  readonly onDay: (day: number) => void;
}

/** What a question met, in both brains. */
export interface Answer {
  readonly day: number;
  readonly isFirst: boolean;
  /** Whether an answer was among ten; null when nobody asked, or there is no other brain. */
  readonly hit: boolean | null;
  readonly hitAwake: boolean | null;
}

export interface Night {
  readonly day: number;
  readonly tookMs: number;
  readonly decayed: number;
  readonly merged: number;
  /** Of the thoughts that came since the last night, those that another one is the same as, before and after it. */
  readonly copiesBefore: number;
  readonly copiesAfter: number;
}

/** What became of the thoughts of a kind. */
export interface Fate {
  readonly thoughts: number;
  readonly decayed: number;
  readonly merged: number;
}

export interface Life {
  readonly answers: readonly Answer[];
  readonly nights: readonly Night[];
  /** Thoughts that a question needed after they had come, and those of them that were decayed when one did. */
  readonly needed: number;
  readonly lost: number;
  readonly fates: Readonly<Record<ArrivalKind, Fate>>;
  /** Share of all questions with an answer among ten, asked at the end of both brains. */
  readonly endHits: { readonly asleep: number; readonly awake: number | null };
  readonly end: {
    readonly thoughts: number;
    readonly visible: number;
    readonly permanent: number;
    readonly core: number;
    readonly links: number;
    readonly fileBytes: number;
  };
}

/** A brain, what it was told, and a second connection that looks without noting a reading. */
class Subject {
  readonly brain: Brain;
  readonly #observer: Store;
  readonly #keysById = new Map<string, string[]>();
  readonly #idsByKey = new Map<string, string[]>();

  constructor(path: string, clock: { now: () => number }, embedder: Embedder) {
    this.brain = Brain.open({ path, create: true, embedder, clock, actor: "extractor" });
    this.#observer = Store.open(path, clock);
  }

  async learn({ arrivals }: Day): Promise<string[]> {
    const fresh: string[] = [];
    for (let start = 0; start < arrivals.length; start += BATCH) {
      const batch = arrivals.slice(start, start + BATCH);
      const results = await this.brain.rememberAll(batch.map(({ input }) => input));
      for (const [index, { id, status }] of results.entries()) {
        const key = batch[index]?.key;
        if (id === null || key === undefined) throw new Error(`a thought was ${status}`);
        this.#keysById.set(id, [...(this.#keysById.get(id) ?? []), key]);
        this.#idsByKey.set(key, [...(this.#idsByKey.get(key) ?? []), id]);
        if (status === "created") fresh.push(id);
      }
    }
    return fresh;
  }

  async isFound(question: EvalQuestion, gold: ReadonlyMap<string, number>): Promise<boolean> {
    const { results } = await this.brain.search(question.text, {
      k: PLACES,
      explain: true,
      ...(question.now === null ? {} : { now: question.now }),
    });
    const places = results.map(({ id, explain }) =>
      [id, ...(explain?.collapsed ?? [])].flatMap((standing) => this.#keysOf(standing)),
    );
    return scoreRanking(places, gold).hit10 === 1;
  }

  /** Keys of a thought and of what stands behind it. */
  #keysOf(id: string): string[] {
    const { connection, thoughts } = this.#observer;
    const behind = connection
      .values<number>("SELECT id FROM node WHERE merged_into = ? ORDER BY id")
      .all(thoughts.resolve(id))
      .map((nodeId) => thoughts.publicId(nodeId));
    return [id, ...behind].flatMap((standing) => this.#keysById.get(standing) ?? []);
  }

  /** Whether any piece of it, or what stands for the piece, is decayed. */
  isDecayed(key: string): boolean {
    return (this.#idsByKey.get(key) ?? []).some((id) => this.#stateOf(id).decayed);
  }

  stateOf(key: string): { decayed: boolean; merged: boolean } {
    const states = (this.#idsByKey.get(key) ?? []).map((id) => this.#stateOf(id));
    return { decayed: states.some(({ decayed }) => decayed), merged: states.some(({ merged }) => merged) };
  }

  #stateOf(id: string): { decayed: boolean; merged: boolean } {
    const { thoughts } = this.#observer;
    const state = thoughts.state(thoughts.resolve(id));
    if (state.mergedInto === null) return { decayed: state.decayed !== "none", merged: false };
    return { decayed: thoughts.state(state.mergedInto).decayed !== "none", merged: true };
  }

  /** For each of these that is visible, the cosine of the visible thought nearest to it. */
  nearestCosines(ids: readonly string[]): number[] {
    const { vectors, thoughts, scopes } = this.#observer;
    return this.#observer.read(() =>
      ids.flatMap((id) => {
        const nodeId = thoughts.resolve(id);
        const { decayed, mergedInto } = thoughts.state(nodeId);
        const vector = vectors.get(nodeId);
        if (decayed !== "none" || mergedInto !== null || vector?.some((value) => value !== 0) !== true) return [];
        const near = vectors.nearest(vector, 2, { scopeIds: scopes.readableIds(), exact: true }).neighbors;
        return near
          .filter((other) => other.nodeId !== nodeId)
          .slice(0, 1)
          .map(({ cosine }) => cosine);
      }),
    );
  }

  /** The cosine from which on two texts say the same, as the brain measured it; none before it did. */
  sameFrom(): number {
    return this.#observer.operations.gauge(MODEL_GAUGES.duplicate) ?? Number.POSITIVE_INFINITY;
  }

  close(): void {
    this.#observer.close();
    this.brain.close();
  }
}

/** @throws DormouseError `sleep_failed` when a phase failed, and as Brain does */
export async function live(days: readonly Day[], options: LifeOptions): Promise<Life> {
  const folder = mkdtempSync(join(tmpdir(), "dormouse-simulate-"));
  let now = FIRST_DAY;
  const clock = { now: () => now };
  const asleep = new Subject(join(folder, "asleep.db"), clock, options.embedder);
  const awake = options.alone ? null : new Subject(join(folder, "awake.db"), clock, options.embedder);
  try {
    const answers: Answer[] = [];
    const nights: Night[] = [];
    const needed = new Set<string>();
    const lost = new Set<string>();
    const fresh: string[] = [];
    for (const [index, day] of days.entries()) {
      now = FIRST_DAY + index * MS_PER_DAY + ARRIVE_AT;
      fresh.push(...(await asleep.learn(day)));
      await awake?.learn(day);
      now = FIRST_DAY + index * MS_PER_DAY + ASK_AT;
      for (const { question, gold, isFirst, isAsked } of day.askings) {
        for (const key of gold.keys()) {
          needed.add(key);
          if (asleep.isDecayed(key)) lost.add(key);
        }
        const hit = isAsked ? await asleep.isFound(question, gold) : null;
        const hitAwake = isAsked && awake !== null ? await awake.isFound(question, gold) : null;
        answers.push({ day: index, isFirst, hit, hitAwake });
      }
      now = FIRST_DAY + index * MS_PER_DAY + SLEEP_AT;
      if ((index + 1) % options.sleepEvery === 0) {
        nights.push(await passNight(asleep, index, fresh.splice(0), options.config));
      }
      options.onDay(index);
    }
    const askings = days.flatMap((day) => day.askings.filter(({ isFirst }) => isFirst));
    const fates = fatesOf(days, asleep);
    const { thoughts, visible, states, kinds, links, fileBytes } = asleep.brain.stats();
    return {
      answers,
      nights,
      needed: needed.size,
      lost: lost.size,
      fates,
      endHits: {
        asleep: await shareFound(asleep, askings),
        awake: awake === null ? null : await shareFound(awake, askings),
      },
      end: {
        thoughts,
        visible,
        permanent: states.earned + states.pinned,
        core: kinds["core memory"] ?? 0,
        links,
        fileBytes,
      },
    };
  } finally {
    asleep.close();
    awake?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function passNight(
  subject: Subject,
  day: number,
  fresh: readonly string[],
  config: LifeOptions["config"],
): Promise<Night> {
  const cosinesBefore = subject.nearestCosines(fresh);
  const { phases, tookMs } = await subject.brain.sleep({ config });
  const failed = phases.find(({ error }) => error !== undefined);
  if (failed !== undefined) {
    throw new DormouseError("sleep_failed", `the phase ${failed.name} failed: ${failed.error?.message ?? ""}`);
  }
  // Both by one measure, though the night may have calibrated anew.
  const sameFrom = subject.sameFrom();
  const countSame = (cosines: readonly number[]) => cosines.filter((cosine) => cosine >= sameFrom).length;
  const applied = (name: string) => phases.find((phase) => phase.name === name)?.applied ?? 0;
  return {
    day,
    tookMs,
    decayed: applied("decay"),
    merged: applied("consolidate"),
    copiesBefore: countSame(cosinesBefore),
    copiesAfter: countSame(subject.nearestCosines(fresh)),
  };
}

async function shareFound(subject: Subject, askings: Day["askings"]): Promise<number> {
  let found = 0;
  for (const { question, gold } of askings) if (await subject.isFound(question, gold)) found += 1;
  return askings.length === 0 ? 0 : found / askings.length;
}

function fatesOf(days: readonly Day[], subject: Subject): Record<ArrivalKind, Fate> {
  const fateOf = (kind: ArrivalKind): Fate => {
    const keys = new Set(
      days.flatMap(({ arrivals }) => arrivals.filter((arrival) => arrival.kind === kind).map(({ key }) => key)),
    );
    const states = [...keys].map((key) => subject.stateOf(key));
    return {
      thoughts: states.length,
      decayed: states.filter(({ decayed }) => decayed).length,
      merged: states.filter(({ merged }) => merged).length,
    };
  };
  return { said: fateOf("said"), isolated: fateOf("isolated"), copy: fateOf("copy") };
}
