/**
 * A host agent's side of `think` and `distil`: material goes out as JSON, answers come in from a file; which of them were
 * taken, and why others were not, is told one by one.
 */
import { readFile } from "node:fs/promises";
import type { IngestedBatch, Prepared } from "../app.ts";
import { DormouseError } from "../core/errors.ts";
import { type ExitStatus, type Invocation, withBrain } from "./invocation.ts";
import { printable } from "./output.ts";
import { countOf } from "./render.ts";
import { explainRule } from "./think-words.ts";

/** Options of both commands. */
export interface AnswerFlags {
  readonly prepare?: boolean;
  readonly ingest?: string;
  readonly batches: string;
  readonly model?: string;
}

/** A file of answers is read to this size. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** @throws DormouseError `usage` unless one of --prepare and --ingest is given */
export function checkFlags({ prepare = false, ingest, model }: AnswerFlags, command: "think" | "distil"): void {
  if (prepare !== (ingest !== undefined)) {
    if (model !== undefined && prepare) throw new DormouseError("usage", "--model belongs to --ingest");
    return;
  }
  throw new DormouseError("usage", prepare ? "--prepare or --ingest, not both" : "--prepare or --ingest is missing", {
    hint: `A configured language model is asked by \`dormouse sleep\`, this alone by \`dormouse sleep --phase ${command}\`.`,
  });
}

/** The material as JSON, laid out for reading without --json. */
export function printPrepared({ output }: Invocation, prepared: Prepared): ExitStatus {
  // JSON either way: it is for an agent. Only the layout differs.
  output.print(prepared, (value) => JSON.stringify(value, null, 2));
  if (prepared.batches.length === 0) output.note("nothing new to ask about");
  return 0;
}

/** Takes the answers of a file. Status 1 when there were some and none of them was taken. */
export async function ingestFile(invocation: Invocation, file: string, { model }: AnswerFlags): Promise<ExitStatus> {
  const answers = await readAnswers(file);
  const batches = await withBrain(invocation, (brain) => brain.ingestThinking(answers, model));
  invocation.output.print({ batches }, ({ batches: done }) => renderIngested(done));
  const accepted = batches.reduce((sum, batch) => sum + batch.accepted.length, 0);
  const refused = batches.reduce((sum, batch) => sum + batch.refused.length, 0);
  return accepted === 0 && refused > 0 ? 1 : 0;
}

/** @throws DormouseError `io`, `too_long`, `format` */
async function readAnswers(file: string): Promise<unknown> {
  const bytes = file === "-" ? await readStandardInput() : await readNamed(file);
  if (bytes.length > MAX_FILE_BYTES) {
    throw new DormouseError("too_long", `answers: ${MAX_FILE_BYTES / 1024 / 1024} MiB at most`);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new DormouseError("format", "the answers are not JSON", {
      hint: 'They are {"ticket": "…", "answers": […]}, as --prepare says.',
    });
  }
}

async function readNamed(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new DormouseError("io", `the file of answers cannot be read${code}`, { cause: error });
  }
}

async function readStandardInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (size > MAX_FILE_BYTES) break;
  }
  return Buffer.concat(chunks);
}

function renderIngested(batches: readonly IngestedBatch[]): string {
  if (batches.length === 0) return "no batch in the file";
  return batches
    .flatMap(({ task, accepted, refused, advanced }, index) => [
      `batch ${index + 1} (${task}): ${countOf(accepted.length, "answer")} taken, ${refused.length} refused` +
        `${advanced ? "" : "; it was not the next in turn, which is still to be asked"}`,
      ...accepted.map(({ item, id, status }) => `  ${item}  ${status} ${id}`),
      ...refused.map(({ item, rule }) => `  ${item}  refused: ${printable(rule)}${explainRule(rule)}`),
    ])
    .join("\n");
}
