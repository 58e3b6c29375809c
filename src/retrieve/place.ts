/**
 * What a thought gains from where it was said: in the source of the best answer, or by somebody whom the question
 * names. Reads occurrences of the best candidates only.
 */
import type { QueryTerm } from "../store/full-text.ts";
import type { Store } from "../store/store.ts";
import { analyse } from "../text/analyse.ts";
import { appetiteOf, type FusedScore, type OwnScore } from "./score.ts";

/** Best candidates whose places are looked at, and occurrences of each. */
const PLACED = 120;
const PLACES_EACH = 4;
/** Share of the best score in a source that a very short text of the same source gains. */
const SOURCE_SHARE = 0.1;
/** Gained by what somebody said whom the question names. */
const SPEAKER_BONUS = 0.1;

export interface PlaceLift {
  readonly source: number;
  readonly speaker: number;
}

export const NO_LIFT: PlaceLift = { source: 0, speaker: 0 };

/** Lifts by node; nodes without one are absent. */
export function liftByPlace(
  store: Store,
  fused: ReadonlyMap<number, FusedScore>,
  own: ReadonlyMap<number, OwnScore>,
  terms: readonly QueryTerm[],
): Map<number, PlaceLift> {
  const best = [...fused].sort(([a, x], [b, y]) => y.score - x.score || a - b).slice(0, PLACED);
  const scores = new Map(best.map(([id, { score }]) => [id, score]));
  const places = store.occurrences.places([...scores.keys()], PLACES_EACH);
  const leaders = new Map<number, Leaders>();
  for (const { nodeId, sourceId } of places) {
    leaders.set(sourceId, admit(leaders.get(sourceId), nodeId, scores.get(nodeId) ?? 0));
  }
  const isNamed = createNameCheck(store, terms);
  const lifts = new Map<number, PlaceLift>();
  for (const { nodeId, sourceId, speakerId } of places) {
    const known = lifts.get(nodeId) ?? NO_LIFT;
    const text = own.get(nodeId);
    const leader = leaders.get(sourceId);
    const other = leader?.nodeId === nodeId ? leader.runnerUp : (leader?.score ?? 0);
    const share = text === undefined ? 0 : SOURCE_SHARE * appetiteOf(text) * other;
    lifts.set(nodeId, {
      source: Math.max(known.source, share),
      speaker: speakerId !== null && isNamed(speakerId) ? SPEAKER_BONUS : known.speaker,
    });
  }
  return lifts;
}

/** The best thought of a source, and the score of the next one: nothing lifts itself. */
interface Leaders {
  readonly nodeId: number;
  readonly score: number;
  readonly runnerUp: number;
}

function admit(known: Leaders | undefined, nodeId: number, score: number): Leaders {
  if (known === undefined) return { nodeId, score, runnerUp: 0 };
  if (known.nodeId === nodeId) return known;
  return score > known.score
    ? { nodeId, score, runnerUp: known.score }
    : { ...known, runnerUp: Math.max(known.runnerUp, score) };
}

/** Whether the question holds a word of a speaker's name. */
function createNameCheck(store: Store, terms: readonly QueryTerm[]): (speakerId: number) => boolean {
  const asked = new Set(terms.map(({ term }) => term));
  const known = new Map<number, boolean>();
  return (speakerId) => {
    let named = known.get(speakerId);
    if (named === undefined) {
      named = analyse(store.labels.text(speakerId) ?? "").some((term) => asked.has(term));
      known.set(speakerId, named);
    }
    return named;
  };
}
