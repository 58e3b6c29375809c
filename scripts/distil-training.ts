/**
 * Moves a static table a little towards a guide model: within a batch, the softmax over a text's cosines to the
 * others shall be the guide's, once the guide's vectors are centred (else their narrow range flattens the table's).
 * Large steps forget rare tokens, names above all, so the defaults are small on purpose. Part of scripts/distil.ts.
 */

const EPOCHS = 3;
/** Of rows whose mean length is 1 before weighting. */
const RATE = 0.001;
const TEMPERATURE = 0.1;
const BATCH = 512;
const SEED = 1;

interface Training {
  /** Row-major, tokens × dimensions; changed in place. */
  readonly rows: Float64Array;
  readonly dimensions: number;
  /** Token ids of each text. */
  readonly texts: readonly (readonly number[])[];
  /** The guide's unit vectors, row-major, texts × any width. */
  readonly guide: Float64Array;
}

/** Adagrad, one accumulator a row, on the Kullback-Leibler divergence between guide and table. */
export function trainOnGuide(training: Training, report: (line: string) => void): void {
  const { rows, dimensions, texts } = training;
  const centred = { ...training, guide: centreVectors(training.guide, training.guide.length / texts.length) };
  const accumulated = new Float64Array(rows.length / dimensions);
  const usable = texts.flatMap((ids, at) => (ids.length > 0 ? [at] : []));
  const random = createRandom(SEED);
  for (let epoch = 1; epoch <= EPOCHS; epoch++) {
    shuffle(usable, random);
    let loss = 0;
    let batches = 0;
    for (let from = 0; from + BATCH <= usable.length; from += BATCH) {
      loss += trainBatch(centred, usable.slice(from, from + BATCH), accumulated);
      batches++;
    }
    report(`training: epoch ${epoch} of ${EPOCHS}, mean divergence ${(loss / batches).toFixed(5)}`);
  }
}

/** One step; returns the mean divergence before it. */
function trainBatch(training: Training, batch: readonly number[], accumulated: Float64Array): number {
  const { rows, dimensions, texts, guide } = training;
  const width = guide.length / texts.length;
  const size = batch.length;
  const student = new Float64Array(size * dimensions);
  const lengths = new Float64Array(size);
  const target = new Float64Array(size * width);
  for (const [place, text] of batch.entries()) {
    target.set(guide.subarray(text * width, (text + 1) * width), place * width);
    const sum = student.subarray(place * dimensions, (place + 1) * dimensions);
    for (const id of texts[text] ?? []) {
      for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] as number) + (rows[id * dimensions + at] as number);
    }
    const length = Math.sqrt(sum.reduce((square, value) => square + value * value, 0)) || 1;
    lengths[place] = length;
    for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] as number) / length;
  }

  const wanted = softmaxOfCosines(target, width, size);
  const pull = softmaxOfCosines(student, dimensions, size);
  let loss = 0;
  for (let cell = 0; cell < pull.length; cell++) {
    const p = wanted[cell] as number;
    const q = pull[cell] as number;
    if (p > 0) loss += p * Math.log(p / q);
    pull[cell] = (q - p) / (TEMPERATURE * size);
  }

  const gradients = new Map<number, Float64Array>();
  const towards = new Float64Array(dimensions);
  for (const [i, text] of batch.entries()) {
    towards.fill(0);
    for (let j = 0; j < size; j++) {
      const factor = (pull[i * size + j] as number) + (pull[j * size + i] as number);
      for (let at = 0; at < dimensions; at++) {
        towards[at] = (towards[at] as number) + factor * (student[j * dimensions + at] as number);
      }
    }
    let along = 0;
    for (let at = 0; at < dimensions; at++) along += (towards[at] as number) * (student[i * dimensions + at] as number);
    for (const id of texts[text] ?? []) {
      const gradient = gradients.get(id) ?? new Float64Array(dimensions);
      gradients.set(id, gradient);
      for (let at = 0; at < dimensions; at++) {
        const across = (towards[at] as number) - along * (student[i * dimensions + at] as number);
        gradient[at] = (gradient[at] as number) + across / (lengths[i] as number);
      }
    }
  }
  for (const [id, gradient] of gradients) {
    const square = gradient.reduce((sum, value) => sum + value * value, 0) / dimensions;
    accumulated[id] = (accumulated[id] as number) + square;
    const step = RATE / (Math.sqrt(accumulated[id] as number) + 1e-12);
    for (let at = 0; at < dimensions; at++) {
      rows[id * dimensions + at] = (rows[id * dimensions + at] as number) - step * (gradient[at] as number);
    }
  }
  return loss / size;
}

/** Row-wise softmax of the cosines between unit vectors; a text is not compared with itself (0 there). */
function softmaxOfCosines(vectors: Float64Array, width: number, size: number): Float64Array {
  const result = new Float64Array(size * size);
  for (let i = 0; i < size; i++) {
    for (let j = i + 1; j < size; j++) {
      let cosine = 0;
      for (let at = 0; at < width; at++) {
        cosine += (vectors[i * width + at] as number) * (vectors[j * width + at] as number);
      }
      const value = Math.exp(cosine / TEMPERATURE);
      result[i * size + j] = value;
      result[j * size + i] = value;
    }
    const row = result.subarray(i * size, (i + 1) * size);
    const total = row.reduce((sum, value) => sum + value, 0);
    // Kept on the free diagonal: the rows below still copy from this one, so all are divided afterwards.
    result[i * size + i] = total;
  }
  for (let i = 0; i < size; i++) {
    const total = result[i * size + i] as number;
    result[i * size + i] = 0;
    for (let j = 0; j < size; j++) result[i * size + j] = (result[i * size + j] as number) / total;
  }
  return result;
}

/** Unit vectors around their mean. */
function centreVectors(vectors: Float64Array, width: number): Float64Array {
  const count = vectors.length / width;
  const mean = new Float64Array(width);
  for (const [at, value] of vectors.entries()) mean[at % width] = (mean[at % width] as number) + value / count;
  const centred = vectors.map((value, at) => value - (mean[at % width] as number));
  for (let from = 0; from < centred.length; from += width) {
    const vector = centred.subarray(from, from + width);
    const length = Math.sqrt(vector.reduce((square, value) => square + value * value, 0));
    for (let at = 0; at < width; at++) vector[at] = (vector[at] as number) / length;
  }
  return centred;
}

/** Fisher–Yates. */
function shuffle(values: number[], random: () => number): void {
  for (let at = values.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    const value = values[at] as number;
    values[at] = values[other] as number;
    values[other] = value;
  }
}

/** Marsaglia's xorshift32, in [0, 1), so that a training repeats. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 0x100000000;
  };
}
