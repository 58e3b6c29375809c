/**
 * Cranfield: abstracts, queries and graded judgements. A document is its title and its text; nothing joins
 * one to the next. The k-th query of the file has judgements under k, whatever number it carries.
 */
import { isBlank } from "../../src/text/normalise.ts";
import type { Corpus, EvalDocument, EvalQuestion } from "./corpus.ts";

/** Grades run from 1, a complete answer, to 4, of slight interest; −1 is not relevant. */
const WORST_GRADE = 4;

interface CranfieldFiles {
  readonly documents: string;
  readonly queries: string;
  readonly judgements: string;
}

/** The collection out of the text of its three files. */
export function parseCranfield(files: CranfieldFiles): Corpus {
  const documents = splitRecords(files.documents).flatMap((record): EvalDocument[] => {
    const text = [record.fields.get("T") ?? "", record.fields.get("W") ?? ""].join("\n").trim();
    if (isBlank(text)) return [];
    const source = { type: "file" as const, key: `cranfield/${record.id}`, name: `abstract ${record.id}` };
    return [{ key: record.id, speaker: null, text, source, referent: null }];
  });
  const gains = parseJudgements(files.judgements, new Set(documents.map(({ key }) => key)));
  const queries = splitRecords(files.queries);
  const questions = queries.flatMap(({ fields }, index): EvalQuestion[] => {
    const gold = gains.get(index + 1);
    if (gold === undefined) return [];
    return [{ text: fields.get("W") ?? "", category: "queries", gold, now: null }];
  });
  return { name: "pool", documents, questions, skipped: queries.length - questions.length };
}

interface CranfieldRecord {
  readonly id: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** Records open with `.I id`; a line of a dot and a letter opens a field. */
function splitRecords(text: string): CranfieldRecord[] {
  return text.split(/^\.I\s+/m).flatMap((record) => {
    const [head = "", ...parts] = record.split(/^\.([A-Z])[ \t]*$/m);
    const id = /^\d+/.exec(head)?.[0];
    if (id === undefined) return [];
    const fields = new Map<string, string>();
    for (let at = 0; at + 1 < parts.length; at += 2) {
      fields.set(parts[at] ?? "", (parts[at + 1] ?? "").replaceAll(/\s+/g, " ").trim());
    }
    return [{ id: String(Number(id)), fields }];
  });
}

/** Gains by document for each query number: 4 for grade 1 down to 1 for grade 4. */
function parseJudgements(text: string, keys: ReadonlySet<string>): Map<number, Map<string, number>> {
  const gains = new Map<number, Map<string, number>>();
  for (const line of text.split("\n")) {
    const [query, document, grade] = line.trim().split(/\s+/).map(Number);
    if (query === undefined || document === undefined || grade === undefined) continue;
    if (!(grade >= 1 && grade <= WORST_GRADE) || !keys.has(String(document))) continue;
    const ofQuery = gains.get(query) ?? new Map<string, number>();
    gains.set(query, ofQuery.set(String(document), WORST_GRADE + 1 - grade));
  }
  return gains;
}
