/** `dormouse metrics` as a process, and its sparklines. */
import { describe, expect, it } from "vitest";
import type { MetricsReport } from "../../src/app.ts";
import { drawSpark } from "../../src/cli/commands/metrics.ts";
import { useCli } from "./run-cli.ts";

const SLOW = 120_000;
const cli = useCli();

describe("metrics", { timeout: SLOW }, () => {
  it("tells night by night what sleep counted, and how long searches took", async () => {
    expect((await cli.run(["metrics"])).stdout).toContain("no night was measured yet");
    await cli.remember("The gate opens at seven", "--kind", "fact");
    await cli.run(["search", "gate"]);
    await cli.run(["sleep"]);
    await cli.remember("The gate closes at nine");
    await cli.run(["sleep"]);
    const report = await cli.json<MetricsReport>(["metrics"]);
    expect(report.cycles.map(({ cycle }) => cycle)).toEqual([1, 2]);
    const valuesOf = (name: string) => report.series.find((one) => one.name === name)?.values;
    expect(valuesOf("thoughts.visible")).toEqual([1, 2]);
    expect(valuesOf("kind.fact")).toEqual([1, 2]);
    expect(valuesOf("search.count")).toEqual([1, null]);
    const { stdout } = await cli.run(["metrics"]);
    expect(stdout).toMatch(/^2 nights, \d{4}-\d\d-\d\d to /);
    expect(stdout).toMatch(/thoughts\.visible\s+1\s+2 _#/);
    expect(stdout).not.toMatch(/[▁-█]/);
    const phases = await cli.json<MetricsReport>(["metrics", "--names", "phase.*.ms"]);
    expect(phases.series.length).toBeGreaterThan(5);
    expect(phases.series.every(({ name }) => /^phase\.\w+\.ms$/.test(name))).toBe(true);
    expect((await cli.json<MetricsReport>(["metrics", "--since", "tomorrow"])).cycles).toEqual([]);
  });

  it("exits 2 for what it cannot read", async () => {
    expect((await cli.run(["metrics", "--per", "hour"])).status).toBe(2);
    expect((await cli.run(["metrics", "--since", "whenever it was"])).status).toBe(2);
  });
});

describe("a sparkline", () => {
  it("spans the least to the greatest, leaves gaps, and narrows to its columns", () => {
    expect(drawSpark([0, 1, 2, 3], 10, "0123")).toBe("0123");
    expect(drawSpark([5, 5, null, 5], 10, "0123")).toBe("00 0");
    expect(drawSpark([0, 0, 10, 10, 20, 20], 3, "012")).toBe("012");
    expect(drawSpark([null], 3, "012")).toBe(" ");
  });
});
