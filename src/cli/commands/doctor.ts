/** `dormouse doctor`: checks every invariant of the brain file. */
import type { DoctorReport } from "../../app.ts";
import { type ExitStatus, type Invocation, withBrain } from "../invocation.ts";
import type { Style } from "../output.ts";

/** Status 1 when a check fails. */
export async function runDoctor(invocation: Invocation, flags: { readonly rebuild?: boolean }): Promise<ExitStatus> {
  const { output } = invocation;
  const report = await withBrain(invocation, (brain) =>
    brain.doctor({ rebuild: flags.rebuild === true, onProgress: output.progress }),
  );
  output.print(report, renderReport);
  return report.healthy ? 0 : 1;
}

function renderReport(report: DoctorReport, style: Style): string {
  const { checks, rebuilt } = report;
  const lines = rebuilt === null ? [] : [`rebuilt: ${rebuilt.fullText} texts, ${rebuilt.vectors} vectors`];
  for (const { name, violations, sample, rebuildable, meaning } of checks) {
    if (violations === 0) {
      lines.push(`ok      ${name}`);
      continue;
    }
    lines.push(`${style.bold("FAILED")}  ${name}: ${violations}. ${meaning}`);
    if (sample.length > 0) lines.push(`        for instance ${sample.join(", ")}`);
    if (rebuildable) lines.push("        `dormouse doctor --rebuild` repairs it");
  }
  const failed = checks.filter(({ violations }) => violations > 0).length;
  lines.push(failed === 0 ? `healthy: ${checks.length} checks passed` : `${failed} of ${checks.length} checks failed`);
  return lines.join("\n");
}
