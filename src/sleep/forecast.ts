/**
 * What a dry run expects of the phases that it has planned already: later ones plan with it instead of with what
 * the brain says, so that a plan comes near to the night. Holds nothing in a real night, and never words.
 */

/** Cosines that steer linking and merging. */
export interface Thresholds {
  readonly randomMean: number;
  /** Two thoughts are joined from here on. */
  readonly link: number;
  /** A thought that nothing else is joined to is joined to its nearest from here on; below, it is isolated. */
  readonly kin: number;
  readonly duplicate: number;
  /** Thoughts in the same words are merged from here on. */
  readonly merge: number;
}

export interface Forecast {
  /** As calibration would measure them; null while it has nothing to measure. */
  thresholds: Thresholds | null;
  /** Thoughts that would stand behind another. */
  readonly absorbed: Set<number>;
}

export function createForecast(): Forecast {
  return { thresholds: null, absorbed: new Set() };
}
