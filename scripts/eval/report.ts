/**
 * What an evaluation found, by set and category, as objects and as tables. Scores of questions are pooled
 * over the set's corpora, so a long conversation weighs more than a short one.
 */
import { percentile } from "../statistics.ts";
import { formatTable } from "../text-table.ts";
import type { EvalSet } from "./corpus.ts";
import { meanScores, type Scores } from "./metrics.ts";

/** One question as it was answered. */
export interface Outcome {
  readonly category: string;
  readonly scores: Scores;
  /** Scores of BM25 alone, where it was asked too. */
  readonly baseline: Scores | null;
  readonly tookMs: number;
}

interface ScoreRow {
  readonly questions: number;
  /** Each in [0, 1]. */
  readonly scores: Scores;
  readonly baseline: Scores | null;
}

export interface SetReport {
  readonly name: string;
  readonly unit: string;
  readonly graded: boolean;
  readonly corpora: number;
  readonly documents: number;
  readonly skipped: number;
  readonly categories: Readonly<Record<string, ScoreRow>>;
  readonly total: ScoreRow;
  readonly searchMs: { readonly p50: number; readonly p95: number };
  /** Null when every brain came from the cache. */
  readonly buildSeconds: number | null;
}

/** @throws RangeError for a set without a question. */
export function reportSet(set: EvalSet, outcomes: readonly Outcome[], buildSeconds: number | null): SetReport {
  const names = [...new Set(outcomes.map(({ category }) => category))].sort();
  const times = outcomes.map(({ tookMs }) => tookMs);
  return {
    name: set.name,
    unit: set.unit,
    graded: set.graded,
    corpora: set.corpora.length,
    documents: set.corpora.reduce((sum, { documents }) => sum + documents.length, 0),
    skipped: set.corpora.reduce((sum, { skipped }) => sum + skipped, 0),
    categories: Object.fromEntries(
      names.map((name) => [name, scoreRow(outcomes.filter(({ category }) => category === name))]),
    ),
    total: scoreRow(outcomes),
    searchMs: { p50: percentile(times, 0.5), p95: percentile(times, 0.95) },
    buildSeconds,
  };
}

function scoreRow(outcomes: readonly Outcome[]): ScoreRow {
  const baselines = outcomes.flatMap(({ baseline }) => baseline ?? []);
  return {
    questions: outcomes.length,
    scores: meanScores(outcomes.map(({ scores }) => scores)),
    baseline: baselines.length === outcomes.length ? meanScores(baselines) : null,
  };
}

/** The report of one set as text. */
export function formatSetReport(report: SetReport): string {
  const { name, unit, corpora, documents, skipped, searchMs, buildSeconds, graded } = report;
  const categories = Object.entries(report.categories);
  const rows = [...(categories.length > 1 ? categories : []), ["all", report.total] as const].flatMap(
    ([title, row]) => [
      [title, String(row.questions), ...formatScores(row.scores, graded)],
      ...(row.baseline === null ? [] : [["  BM25 alone", "", ...formatScores(row.baseline, graded)]]),
    ],
  );
  const head = ["category", "n", "Hit@1", "Hit@5", "Hit@10", "Hit@50", "R@5", "R@10", "MRR"];
  const built = buildSeconds === null ? "brains from the cache" : `brains built in ${buildSeconds.toFixed(1)} s`;
  return [
    `${name}, ${unit} level: ${corpora} brains, ${documents} ${unit}s, ${skipped} questions without evidence skipped`,
    formatTable(graded ? [...head, "nDCG@10"] : head, rows),
    `search p50 ${searchMs.p50.toFixed(1)} ms, p95 ${searchMs.p95.toFixed(1)} ms; ${built}`,
  ].join("\n");
}

function formatScores(scores: Scores, graded: boolean): string[] {
  const { hit1, hit5, hit10, hit50, recall5, recall10, mrr, ndcg10 } = scores;
  const shown = [hit1, hit5, hit10, hit50, recall5, recall10, mrr, ...(graded ? [ndcg10] : [])];
  return shown.map((score) => (100 * score).toFixed(1));
}
