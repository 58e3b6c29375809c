/** `dormouse verify`: proves that the history of the brain is what was recorded. */
import type { Verification, VerifyProblem } from "../../app.ts";
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import type { Style } from "../output.ts";
import { countOf } from "../render.ts";

export interface VerifyFlags {
  readonly since?: string;
  readonly head?: string;
  readonly checkpoint?: string;
  readonly key?: string;
}

/** JSON: head, counts and problems. Status 1 when something does not fit. */
export async function runVerify(invocation: Invocation, flags: VerifyFlags): Promise<ExitStatus> {
  const { output } = invocation;
  const { key, ...query } = flags;
  const started = performance.now();
  const report = await withBrain(invocation, (brain) =>
    brain.verify({ ...query, ...(key === undefined ? {} : { keyFingerprint: key }), onProgress: output.progress }),
  );
  const seconds = (performance.now() - started) / 1_000;
  output.print(report, (found, style) => renderVerification(found, seconds, style));
  return report.ok ? 0 : 1;
}

function renderVerification(report: Verification, seconds: number, style: Style): string {
  const { head, events, rows, nodes, relation, checkpoint, problems, problemCount, ok } = report;
  const rate = Math.round((events + rows) / Math.max(seconds, 0.001));
  const lines = problems.map((problem) => problemLine(problem, style));
  if (problemCount > problems.length) lines.push(`and ${problemCount - problems.length} more`);
  if (relation === "head") lines.push("the head asked about is today's");
  if (relation === "extends") lines.push("today's ledger extends the head asked about");
  if (checkpoint !== null) lines.push(`checkpoint of ${checkpoint.at}, signed by key ${checkpoint.fingerprint}`);
  lines.push(`${style.dim("head")}  ${head}`);
  const counted = `${countOf(events, "event")}, ${countOf(rows, "row")}, ${countOf(nodes, "node")}`;
  const pace = `${seconds.toFixed(1)} s, ${rate} records/s`;
  lines.push(ok ? `verified: ${counted} (${pace})` : `${countOf(problemCount, "problem")} in ${counted} (${pace})`);
  return lines.join("\n");
}

function problemLine({ name, event, node, message }: VerifyProblem, style: Style): string {
  const where = [event, node].filter((id) => id !== null).join(" ");
  return `${style.bold("WRONG")}  ${name}${where === "" ? "" : ` ${where}`}: ${message}`;
}
