/**
 * What one bench reports: rows for a person, the same numbers for a program. Each bench makes its own;
 * the front only prints them.
 */

export interface BenchReport {
  readonly name: string;
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What the numbers rest on, a sentence each. */
  readonly notes: readonly string[];
  /** The same measurements, units in the names. */
  readonly figures: unknown;
}

/** Says how far a bench is; goes to the terminal's error stream. */
export type Progress = (text: string) => void;

/** A value measured at a size. */
interface SizedValue {
  readonly nodes: number;
  readonly value: number;
}

/**
 * The factor by which the value grew for each `step`-fold of the size since the entry before, such as "×2.10";
 * blank for the first. Linear growth is ×step.
 */
export function formatGrowth(entries: readonly SizedValue[], index: number, step = 2): string {
  const before = entries[index - 1];
  const entry = entries[index];
  if (before === undefined || entry === undefined || before.value <= 0 || entry.nodes <= before.nodes) return "";
  const steps = Math.log(entry.nodes / before.nodes) / Math.log(step);
  return `×${((entry.value / before.value) ** (1 / steps)).toFixed(2)}`;
}
