/**
 * Moves a static table a little towards its teacher: within a batch, the softmax over a text's cosines to the
 * others shall be the teacher's, once the teacher's vectors are centred (else their narrow range flattens the
 * table's). Rare tokens must not run: a step is divided by what a usual row has seen too. Part of scripts/distil.ts.
 */

const EPOCHS = 2;
/** Of rows whose mean length is 1 before weighting. */
const RATE = 0.01;
const TEMPERATURE = 0.1;
const BATCH = 512;
const SEED = 1;
/**
 * What every row is taken to have seen before the first step, in mean squared gradients of a first batch. Plain
 * Adagrad (0) moves a token met once as far as one met a thousand times, which destroys names.
 */
const PRIOR_STEPS = 10;

interface Training {
  /** Row-major, tokens × dimensions; changed in place. */
  readonly rows: Float64Array;
  readonly dimensions: number;
  /** Token ids of each text. */
  readonly texts: readonly (readonly number[])[];
  /** The teacher's unit vectors, row-major, texts × any width. */
  readonly teacher: Float32Array;
}

/** Adagrad, one accumulator a row, on the Kullback-Leibler divergence between teacher and table. */
export function trainOnTeacher(training: Training, report: (line: string) => void): void {
  const { rows, dimensions, texts } = training;
  const centred = { ...training, teacher: centreVectors(training.teacher, training.teacher.length / texts.length) };
  const state: AdagradState = { accumulated: new Float64Array(rows.length / dimensions), prior: null };
  const usable = texts.flatMap((ids, at) => (ids.length > 0 ? [at] : []));
  const random = createRandom(SEED);
  for (let epoch = 1; epoch <= EPOCHS; epoch++) {
    shuffle(usable, random);
    let loss = 0;
    let batches = 0;
    for (let from = 0; from + BATCH <= usable.length; from += BATCH) {
      loss += trainBatch(centred, usable.slice(from, from + BATCH), state);
      batches++;
    }
    report(`training: epoch ${epoch} of ${EPOCHS}, mean divergence ${(loss / batches).toFixed(5)}`);
  }
}

/**
 * Takes out of all rows the direction of the mean text, so that texts that have nothing in common have cosine 0
 * rather than that of any two texts.
 */
export function removeCommonDirection({ rows, dimensions, texts }: Training): void {
  const common = new Float64Array(dimensions);
  for (const ids of texts) {
    const sum = sumOfRows(rows, dimensions, ids);
    addScaled(common, 0, sum, 0, dimensions, 1 / (lengthOf(sum) || 1));
  }
  const length = lengthOf(common) || 1;
  const direction = common.map((value) => value / length);
  for (let from = 0; from < rows.length; from += dimensions) {
    let along = 0;
    for (let at = 0; at < dimensions; at++) along += (rows[from + at] as number) * (direction[at] as number);
    addScaled(rows, from, direction, 0, dimensions, -along);
  }
}

interface AdagradState {
  /** Summed mean squared gradients, one a row. */
  readonly accumulated: Float64Array;
  /** What is added to each; null before the first batch. */
  prior: number | null;
}

/** One step; returns the mean divergence before it. */
function trainBatch(training: Training, batch: readonly number[], state: AdagradState): number {
  const { rows, dimensions, texts, teacher } = training;
  const width = teacher.length / texts.length;
  const size = batch.length;
  const student = new Float32Array(size * dimensions);
  const lengths = new Float64Array(size);
  const target = new Float32Array(size * width);
  for (const [place, text] of batch.entries()) {
    target.set(teacher.subarray(text * width, (text + 1) * width), place * width);
    const sum = sumOfRows(rows, dimensions, texts[text] ?? []);
    const length = lengthOf(sum) || 1;
    lengths[place] = length;
    student.set(
      sum.map((value) => value / length),
      place * dimensions,
    );
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
      addScaled(towards, 0, student, j * dimensions, dimensions, factor);
    }
    // Only what turns the vector counts: its length is normalised away.
    let along = 0;
    for (let at = 0; at < dimensions; at++) along += (towards[at] as number) * (student[i * dimensions + at] as number);
    addScaled(towards, 0, student, i * dimensions, dimensions, -along);
    for (const id of texts[text] ?? []) {
      let gradient = gradients.get(id);
      if (gradient === undefined) {
        gradient = new Float64Array(dimensions);
        gradients.set(id, gradient);
      }
      addScaled(gradient, 0, towards, 0, dimensions, 1 / (lengths[i] as number));
    }
  }
  step(rows, dimensions, gradients, state);
  return loss / size;
}

function step(
  rows: Float64Array,
  dimensions: number,
  gradients: ReadonlyMap<number, Float64Array>,
  state: AdagradState,
): void {
  const squares = new Map([...gradients].map(([id, gradient]) => [id, lengthOf(gradient) ** 2 / dimensions]));
  if (state.prior === null) {
    let total = 0;
    for (const square of squares.values()) total += square;
    state.prior = (PRIOR_STEPS * total) / squares.size;
  }
  for (const [id, gradient] of gradients) {
    const seen = (state.accumulated[id] as number) + (squares.get(id) ?? 0);
    state.accumulated[id] = seen;
    addScaled(rows, id * dimensions, gradient, 0, dimensions, -RATE / Math.sqrt(seen + state.prior));
  }
}

/** Row-wise softmax of the cosines between unit vectors; a text is not compared with itself (0 there). */
function softmaxOfCosines(vectors: Float32Array, width: number, size: number): Float64Array {
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
  }
  for (let i = 0; i < size; i++) {
    const row = result.subarray(i * size, (i + 1) * size);
    const total = row.reduce((sum, value) => sum + value, 0);
    for (let j = 0; j < size; j++) row[j] = (row[j] as number) / total;
  }
  return result;
}

/** Unit vectors around their mean. */
function centreVectors(vectors: Float32Array, width: number): Float32Array {
  const count = vectors.length / width;
  const mean = new Float64Array(width);
  for (const [at, value] of vectors.entries()) mean[at % width] = (mean[at % width] as number) + value / count;
  const centred = vectors.map((value, at) => value - (mean[at % width] as number));
  for (let from = 0; from < centred.length; from += width) {
    const vector = centred.subarray(from, from + width);
    const length = lengthOf(vector);
    for (let at = 0; at < width; at++) vector[at] = (vector[at] as number) / length;
  }
  return centred;
}

function sumOfRows(rows: Float64Array, dimensions: number, ids: readonly number[]): Float64Array {
  const sum = new Float64Array(dimensions);
  for (const id of ids) addScaled(sum, 0, rows, id * dimensions, dimensions, 1);
  return sum;
}

/** Adds `factor` times a stretch of `from` to one of `to`. */
function addScaled(
  to: Float64Array,
  toStart: number,
  from: Float64Array | Float32Array,
  fromStart: number,
  count: number,
  factor: number,
): void {
  for (let at = 0; at < count; at++) {
    to[toStart + at] = (to[toStart + at] as number) + factor * (from[fromStart + at] as number);
  }
}

function lengthOf(vector: Float64Array | Float32Array): number {
  let square = 0;
  for (const value of vector) square += value * value;
  return Math.sqrt(square);
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
