/**
 * The arithmetic of ranking: BM25 over counted terms, normalisation of channels, fusion, and the share
 * that neighbours pass on. Pure; every constant says what it was measured on (DESIGN.md, Search).
 */

/** BM25 saturation of repeated terms (Robertson and Zaragoza 2009: 1.2 to 2). */
const K1 = 1.2;
/** BM25 length normalisation: short turns want 0.3, long messages 0.6. */
const B = 0.4;
/** Weights of words and vectors in the sum. */
const TEXT_WEIGHT = 1.15;
const VECTOR_WEIGHT = 1;
/** A text takes from its neighbours by e^(−terms / this): a short one much, a long one little. */
const RECEIVER_TERMS = 220;

export const EDGE_TYPES = ["previous", "next", "derivation", "similar", "mention"] as const;
/** How a neighbour stands to the receiver: `previous` is the turn before it. */
export type EdgeType = (typeof EDGE_TYPES)[number];

/** Share of a neighbour's own score that a very short receiver takes, per channel. */
const SHARES: Record<EdgeType, { readonly text: number; readonly vector: number }> = {
  previous: { text: 0.4, vector: 0.15 },
  next: { text: 0.4, vector: 0.1 },
  derivation: { text: 0.3, vector: 0.15 },
  similar: { text: 0.05, vector: 0 },
  mention: { text: 0.1, vector: 0.05 },
};

/** BM25 of one text. `counts` and `idfs` run over the query's terms. */
export function bm25(counts: Uint8Array, idfs: readonly number[], length: number, averageLength: number): number {
  const norm = K1 * (1 - B + (B * length) / averageLength);
  let score = 0;
  counts.forEach((count, index) => {
    if (count > 0) score += ((idfs[index] ?? 0) * count * (K1 + 1)) / (count + norm);
  });
  return score;
}

/** One node's own scores before fusion. */
export interface OwnScore {
  readonly text: number;
  /** Cosine; null without a vector. */
  readonly cosine: number | null;
  /** Analysed terms of the text. */
  readonly length: number;
}

export interface Edge {
  readonly receiver: number;
  readonly giver: number;
  readonly type: EdgeType;
}

/** What a neighbour passed on. */
interface Gain {
  readonly from: number;
  readonly type: EdgeType;
  readonly share: number;
}

export interface FusedScore {
  readonly score: number;
  readonly text: number;
  readonly vector: number;
  readonly graph: number;
  readonly gains: readonly Gain[];
}

/**
 * Normalises each channel by its best candidate, lets neighbours pass on their share, and sums with the
 * channel weights. Own scores are in [0, 1], with what neighbours give in [0, 2).
 * @param cosineFloor cosine of unrelated texts under the model: what counts as no similarity at all
 */
export function fuseAndSpread(
  own: ReadonlyMap<number, OwnScore>,
  edges: readonly Edge[],
  cosineFloor: number,
): Map<number, FusedScore> {
  let bestText = 0;
  let bestCosine = cosineFloor;
  for (const { text, cosine } of own.values()) {
    bestText = Math.max(bestText, text);
    bestCosine = Math.max(bestCosine, cosine ?? cosineFloor);
  }
  const range = bestCosine - cosineFloor;
  const total = TEXT_WEIGHT + VECTOR_WEIGHT;
  const textPart = (score: OwnScore) => (bestText === 0 ? 0 : (score.text / bestText) * (TEXT_WEIGHT / total));
  const vectorPart = (score: OwnScore) =>
    score.cosine === null || range <= 0
      ? 0
      : (Math.max(0, score.cosine - cosineFloor) / range) * (VECTOR_WEIGHT / total);

  const gainsByReceiver = new Map<number, Gain[]>();
  for (const { receiver, giver, type } of edges) {
    const receiving = own.get(receiver);
    const giving = own.get(giver);
    if (receiving === undefined || giving === undefined) continue;
    const appetite = Math.exp(-receiving.length / RECEIVER_TERMS);
    const share = appetite * (SHARES[type].text * textPart(giving) + SHARES[type].vector * vectorPart(giving));
    if (share <= 0) continue;
    const gains = gainsByReceiver.get(receiver);
    if (gains === undefined) gainsByReceiver.set(receiver, [{ from: giver, type, share }]);
    else gains.push({ from: giver, type, share });
  }

  const fused = new Map<number, FusedScore>();
  for (const [nodeId, score] of own) {
    const gains = strongestByType(gainsByReceiver.get(nodeId) ?? []);
    const text = textPart(score);
    const vector = vectorPart(score);
    const graph = gains.reduce((sum, { share }) => sum + share, 0);
    fused.set(nodeId, { score: text + vector + graph, text, vector, graph, gains });
  }
  return fused;
}

/**
 * The strongest gain over each type of edge: a turn has one turn before it, and a thought that is like twelve
 * others does not become twelve times as good an answer.
 */
function strongestByType(gains: readonly Gain[]): Gain[] {
  const strongest = new Map<EdgeType, Gain>();
  for (const gain of gains) {
    const known = strongest.get(gain.type);
    const isStronger =
      known === undefined || gain.share > known.share || (gain.share === known.share && gain.from < known.from);
    if (isStronger) strongest.set(gain.type, gain);
  }
  return [...strongest.values()];
}
