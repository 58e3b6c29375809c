/**
 * Questions for the search bench, made from thoughts spread evenly over a brain: words of a text, common words
 * only, a whole text as a question, and filters that pass much, little or next to nothing. The same brain gives
 * the same questions.
 */
import { systemClock } from "../../src/core/clock.ts";
import type { SearchFilters } from "../../src/core/types.ts";
import { Store } from "../../src/store/store.ts";
import { createTextSource } from "./texts.ts";

const SEED = 7;
const DAY_MS = 24 * 3_600_000;

export const QUESTION_SHAPES = ["words", "common words", "long", "wide filter", "narrow filter"] as const;
export type QuestionShape = (typeof QUESTION_SHAPES)[number];

export interface Question {
  readonly shape: QuestionShape;
  readonly query: string;
  readonly filters: SearchFilters;
}

/** `count` questions, the shapes taking turns. The brain must hold thoughts of the generator. */
export function makeQuestions(path: string, count: number): Question[] {
  const store = Store.open(path, systemClock);
  try {
    const last = store.thoughts.recent(1)[0] ?? 1;
    const source = createTextSource(SEED);
    return Array.from({ length: count }, (_, index) => {
      const shape = QUESTION_SHAPES[index % QUESTION_SHAPES.length] ?? "words";
      const from = Math.floor((last * index) / count);
      return makeQuestion(store, shape, store.thoughts.idsAfter(from, 2), source);
    });
  } finally {
    store.close();
  }
}

function makeQuestion(
  store: Store,
  shape: QuestionShape,
  nodeIds: readonly number[],
  source: ReturnType<typeof createTextSource>,
): Question {
  const [thought, other] = nodeIds.map((id) => store.thoughts.detail(id));
  if (thought === undefined) throw new RangeError("the brain holds no thought to ask about");
  const query = source.queryFor(thought.content);
  if (shape === "common words") return { shape, query: source.commonWords(), filters: {} };
  if (shape === "long") return { shape, query: `${thought.content} ${other?.content ?? ""}`, filters: {} };
  if (shape === "wide filter") {
    return {
      shape,
      query,
      filters: thought.domain === null ? { kinds: [thought.kind] } : { domains: [thought.domain] },
    };
  }
  if (shape === "narrow filter") {
    const day = thought.referent?.from === undefined ? null : Date.parse(thought.referent.from ?? "");
    const when = { from: day === null ? null : day - DAY_MS, to: day === null ? null : day + DAY_MS };
    return { shape, query, filters: thought.tags.length > 0 ? { tags: thought.tags } : { when } };
  }
  return { shape, query, filters: {} };
}
