/**
 * The arithmetic of ranking: BM25 over counted terms, normalisation of channels, fusion, and the share
 * that neighbours pass on. Pure; every constant says what it was measured on (DESIGN.md, Search).
 */

/** BM25 saturation of repeated terms; what people say repeats less than documents do. */
const K1 = 0.8;
/** BM25 length normalisation: short turns want 0.3, long messages 0.6. */
const B = 0.45;
/** Weights of words and vectors in the sum. */
const TEXT_WEIGHT = 1.15;
const VECTOR_WEIGHT = 1;
/**
 * Scores of words, once divided by the best, are raised to this: what holds most of the question stands out
 * from what holds a word or two of it (LoCoMo Hit@10 80.1 to 81.8).
 */
const TEXT_POWER = 1.5;
/** A text takes from its neighbours by e^(−terms / this): a short one much, a long one little. */
const RECEIVER_TERMS = 220;

/** How a neighbour stands to the receiver: `previous` is a turn before it. */
export type EdgeType = "previous" | "next" | "derivation" | "similar" | "mention";

/** Share of a neighbour's own score that a very short receiver takes, per channel. */
interface Share {
  readonly text: number;
  readonly vector: number;
}

/** What the turn next to the receiver passes on. */
const SEQUENCE_SHARES: Readonly<Record<"previous" | "next", Share>> = {
  previous: { text: 0.4, vector: 0.05 },
  next: { text: 0.4, vector: 0.25 },
};
/** Each turn farther away passes on this much of what the one before it did. */
const SEQUENCE_FALL: Share = { text: 0.6, vector: 0.5 };
/** Turns before and after a text that pass something on to it. */
export const SEQUENCE_REACH = 4;

const SHARES: Readonly<Record<"derivation" | "similar" | "mention", Share>> = {
  derivation: { text: 0.3, vector: 0.15 },
  similar: { text: 0.05, vector: 0 },
  mention: { text: 0.1, vector: 0.05 },
};
/** Most that a text takes from its neighbours together: what is said around it never outweighs what it says. */
const MAX_GRAPH = 0.4;
/** Of what a node took over a derivation edge, the part that it passes on over the next. */
const DERIVATION_RELAY = 0.5;

/**
 * BM25 of one text. `counts` run over the query's terms; terms of one word stand next to each other, and the one that
 * the text holds most often counts for all of them, since one word in a text can stand under several of its terms.
 */
export function bm25(counts: Uint8Array, terms: readonly BM25Term[], length: number, averageLength: number): number {
  const norm = K1 * (1 - B + (B * length) / averageLength);
  let score = 0;
  let count = 0;
  terms.forEach(({ word, idf }, index) => {
    count = Math.max(count, counts[index] ?? 0);
    if (terms[index + 1]?.word === word) return;
    if (count > 0) score += (idf * count * (K1 + 1)) / (count + norm);
    count = 0;
  });
  return score;
}

/** What scoring needs of a term. */
interface BM25Term {
  /** Which word of the query it stands for. */
  readonly word: number;
  readonly idf: number;
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
  /** Turns between the two; 1 for other types. */
  readonly distance: number;
}

/** What a neighbour passed on. */
interface Gain {
  readonly from: number;
  readonly type: EdgeType;
  readonly distance: number;
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
 * channel weights. Own scores are in [0, 1], what neighbours give in [0, 0.4].
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
  const textPart = (score: OwnScore) =>
    bestText === 0 ? 0 : (score.text / bestText) ** TEXT_POWER * (TEXT_WEIGHT / total);
  const vectorPart = (score: OwnScore) =>
    score.cosine === null || range <= 0
      ? 0
      : (Math.max(0, score.cosine - cosineFloor) / range) * (VECTOR_WEIGHT / total);

  const gainsByReceiver = new Map<number, Gain[]>();
  const addGain = (receiver: number, gain: Gain) => {
    if (gain.share <= 0) return;
    const gains = gainsByReceiver.get(receiver);
    if (gains === undefined) gainsByReceiver.set(receiver, [gain]);
    else gains.push(gain);
  };
  for (const { receiver, giver, type, distance } of edges) {
    const receiving = own.get(receiver);
    const giving = own.get(giver);
    if (receiving === undefined || giving === undefined) continue;
    const { text, vector } = shareOf(type, distance);
    const share = appetiteOf(receiving) * (text * textPart(giving) + vector * vectorPart(giving));
    addGain(receiver, { from: giver, type, distance, share });
  }
  for (const { receiver, gain } of relayedGains(own, edges, gainsByReceiver)) {
    addGain(receiver, { ...gain, share: gain.share * appetiteOf(own.get(receiver) as OwnScore) });
  }

  const fused = new Map<number, FusedScore>();
  for (const [nodeId, score] of own) {
    const gains = strongestOfEach(gainsByReceiver.get(nodeId) ?? []);
    const text = textPart(score);
    const vector = vectorPart(score);
    const graph = Math.min(
      MAX_GRAPH,
      gains.reduce((sum, { share }) => sum + share, 0),
    );
    fused.set(nodeId, { score: text + vector + graph, text, vector, graph, gains });
  }
  return fused;
}

/** How much of what others give a text takes, in (0, 1]: a short one much, a long one little. */
export function appetiteOf({ length }: OwnScore): number {
  return Math.exp(-length / RECEIVER_TERMS);
}

function shareOf(type: EdgeType, distance: number): Share {
  if (type !== "previous" && type !== "next") return SHARES[type];
  const { text, vector } = SEQUENCE_SHARES[type];
  return { text: text * SEQUENCE_FALL.text ** (distance - 1), vector: vector * SEQUENCE_FALL.vector ** (distance - 1) };
}

/** What reaches a receiver over two derivation edges: a part of what its neighbour took from a third node. */
function relayedGains(
  own: ReadonlyMap<number, OwnScore>,
  edges: readonly Edge[],
  direct: ReadonlyMap<number, readonly Gain[]>,
): { receiver: number; gain: Gain }[] {
  return edges.flatMap(({ receiver, giver, type }) => {
    if (type !== "derivation" || !own.has(receiver)) return [];
    const taken = (direct.get(giver) ?? []).filter((gain) => gain.type === "derivation" && gain.from !== receiver);
    return strongestOfEach(taken).map((gain) => ({
      receiver,
      gain: { ...gain, distance: 2, share: gain.share * DERIVATION_RELAY },
    }));
  });
}

/**
 * The strongest gain over each type of edge and distance: a turn has one turn before it, and a thought that is
 * like twelve others does not become twelve times as good an answer.
 */
function strongestOfEach(gains: readonly Gain[]): Gain[] {
  const strongest = new Map<string, Gain>();
  for (const gain of gains) {
    const key = `${gain.type} ${gain.type === "derivation" ? 1 : gain.distance}`;
    const known = strongest.get(key);
    const isStronger =
      known === undefined || gain.share > known.share || (gain.share === known.share && gain.from < known.from);
    if (isStronger) strongest.set(key, gain);
  }
  return [...strongest.values()];
}
