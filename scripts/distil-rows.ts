/**
 * The starting rows of the table from what a teacher says of each token: alone, and on average where it stands in
 * texts. A word alone is read as its commonest form, a word in texts as what it is used for. Part of scripts/distil.ts.
 */

/** Largest share of the contextual vector, for tokens met often. */
const CONTEXT_SHARE = 0.5;
/** A token met as often as this has half of that share. */
const HALF_SHARE_COUNT = 10;

/** What the teacher says of tokens in texts. */
export interface TokenContexts {
  /** Row-major, tokens × hidden: mean last hidden state over the token's places; zeros where it never stood. */
  readonly means: Float32Array;
  /** Places of each token. */
  readonly counts: Float32Array;
}

/**
 * Both centred, the contextual ones brought to the length of the others, and mixed by how often the token was met.
 * @param alone row-major, tokens × hidden: last hidden state of the token in a text of its own
 * @param kept ids of the tokens that a text can hold; other rows become zero
 */
export function blendContexts(alone: Float32Array, contexts: TokenContexts, kept: readonly number[]): Float64Array {
  const hidden = alone.length / contexts.counts.length;
  const common = kept.filter((id) => (contexts.counts[id] as number) >= HALF_SHARE_COUNT);
  const aloneMean = meanOfRows(alone, hidden, kept);
  const contextMean = meanOfRows(contexts.means, hidden, common);
  const lengthen =
    meanLength(alone, hidden, common, aloneMean) / meanLength(contexts.means, hidden, common, contextMean);
  const blended = new Float64Array(alone.length);
  for (const id of kept) {
    const count = contexts.counts[id] as number;
    const share = (CONTEXT_SHARE * count) / (count + HALF_SHARE_COUNT);
    for (let at = 0; at < hidden; at++) {
      const own = (alone[id * hidden + at] as number) - (aloneMean[at] as number);
      const met = (contexts.means[id * hidden + at] as number) - (contextMean[at] as number);
      blended[id * hidden + at] = (1 - share) * own + share * lengthen * met;
    }
  }
  return blended;
}

function meanOfRows(rows: Float32Array, width: number, ids: readonly number[]): Float64Array {
  const mean = new Float64Array(width);
  for (const id of ids) {
    for (let at = 0; at < width; at++) mean[at] = (mean[at] as number) + (rows[id * width + at] as number) / ids.length;
  }
  return mean;
}

function meanLength(rows: Float32Array, width: number, ids: readonly number[], centre: Float64Array): number {
  let total = 0;
  for (const id of ids) {
    let square = 0;
    for (let at = 0; at < width; at++) square += ((rows[id * width + at] as number) - (centre[at] as number)) ** 2;
    total += Math.sqrt(square);
  }
  return total / ids.length;
}
