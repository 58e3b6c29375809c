/** A brain in which every task of a language model has something to do, a model that answers each, and what came of it. */
import type { Store } from "../../src/store/store.ts";
import type { TestStore } from "./brain.ts";
import type { ScriptedRequest } from "./scripted-model.ts";
import { saySession } from "./sessions.ts";

const PLACES = ["well", "pump", "roses", "lawn", "hedge", "shed"];

/** Sessions, statements without a time, and two that contradict each other. */
export async function fillForThinking(brain: TestStore): Promise<void> {
  for (const key of ["one", "two", "three"]) {
    await saySession(
      brain,
      key,
      PLACES.map((place) => ({
        speaker: "Ana",
        text: `In session ${key} we talked about the ${place} in the old garden`,
      })),
    );
  }
  await brain.remember(
    "The cellar of the old house by the river is dry in winter",
    "The cellar of the old house by the river is wet in winter",
    "We moved into the old house by the river in May 2024",
    "The roof of the old house by the river was made new in 2019",
  );
}

/** Answers as a diligent model would: the same for the same material. */
export function answerEverything({ task, items }: ScriptedRequest): unknown[] {
  const [a = 0, b = 0] = items.map(({ n }) => n);
  const named = (n: number) =>
    String(items.find((item) => item.n === n)?.text ?? "").replaceAll(/[^\p{L}\p{N} ]/gu, "");
  switch (task) {
    case "distil":
      return [{ text: `Distilled from ${named(a)} and ${named(b)}`, kind: "fact", from: [[a, b]] }];
    case "think":
      return b === 0 ? [] : [{ text: `It follows from ${named(a)} and ${named(b)}`, kind: "insight", from: [[a, b]] }];
    case "dream":
      return [{ text: `Dreamt of all around ${named(a)}`, from: items.map(({ n }) => n) }];
    case "tension":
      return items.flatMap(({ n, a: one, b: other }) =>
        /is dry/.test(`${one}${other}`) && /is wet/.test(`${one}${other}`)
          ? [{ pair: n, text: "The cellar cannot be dry and wet at once." }]
          : [],
      );
    case "date":
      return items.flatMap(({ n, text }) => {
        if (String(text).includes("May 2024")) {
          return [{ number: n, words: "in May 2024", first: "2024-05-01", last: "2024-05-31" }];
        }
        return String(text).includes("in 2019")
          ? [{ number: n, words: "in 2019", first: "2019-01-01", last: "2019-12-31" }]
          : [];
      });
  }
}

export interface ThinkingState {
  /** Kind, belief, trust, words, and the words of all that it rests on, by leg. */
  readonly made: readonly string[];
  readonly disputes: readonly string[];
  readonly dated: readonly string[];
}

/** What a model's nights left behind, in words, so that brains with other ids can be compared. */
export function readThinking(store: Store): ThinkingState {
  const { connection } = store;
  const words = (id: number) => store.thoughts.detail(id).content;
  const ids = (sql: string) => connection.values<number>(sql).all();
  const madeIds = ids(
    `SELECT DISTINCT o.node_id FROM occurrence o JOIN source s ON s.node_id = o.source_id WHERE s.type = 4`,
  );
  return {
    made: madeIds
      .map((id) => {
        const { kind, belief, trust, content } = store.thoughts.detail(id);
        const legs = store.legs.sample(id, 50, 50).map(({ parentIds }) =>
          parentIds
            .filter((parent) => store.thoughts.state(parent).role === 1)
            .map(words)
            .sort()
            .join(" + "),
        );
        return `${kind} ${belief} ${trust} ${content} <= ${legs.sort().join(" | ")}`;
      })
      .sort(),
    disputes: connection
      .sql<{ a: number; b: number }>("SELECT from_id AS a, to_id AS b FROM link WHERE type = 2 AND ended_seq IS NULL")
      .all()
      .map(({ a, b }) => [words(a), words(b)].sort().join(" against "))
      .sort(),
    dated: ids("SELECT node_id FROM occurrence WHERE referent_kind = 2 AND ended_seq IS NULL")
      .map((id) => `${words(id)} ${store.thoughts.detail(id).referent?.from}`)
      .sort(),
  };
}
