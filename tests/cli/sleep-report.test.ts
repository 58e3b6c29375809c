import { expect, test } from "vitest";
import { renderSleepReport } from "../../src/cli/commands/sleep.ts";
import type { Style } from "../../src/cli/output.ts";

const plain: Style = { width: 80, isTerminal: false, bold: (text) => text, dim: (text) => text };

const report = (details: Readonly<Record<string, number>>) => ({
  cycle: 3,
  dryRun: false,
  tookMs: 12,
  phases: [
    { name: "decay" as const, planned: 2, applied: 2, tookMs: 5 },
    { name: "gc" as const, planned: 0, applied: 0, tookMs: 1, details },
  ],
});

test("what freeing would give back is told by reason, in a line of its own", () => {
  const details = { nodes: 12, bytes: 4_198, vacant: 0, "nodes.disuse": 3, "nodes.merged": 9, "bytes.disuse": 1_000 };
  const lines = renderSleepReport(report(details), plain).split("\n");
  expect(lines[1]).toContain("2 of 2 done");
  expect(lines[2]).toBe("  gc     12 out of search (disuse 3, merged 9), 4.1 KiB; nothing is freed");
});

test("a brain in which nothing is out of search says so", () => {
  expect(renderSleepReport(report({ nodes: 0, bytes: 0, vacant: 4096 }), plain)).toContain("nothing is out of search");
});
