import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cli } from "./run-cli.ts";

const SLOW = 60_000;
let cli: Cli;
beforeAll(() => {
  cli = Cli.build();
}, SLOW);
afterAll(() => {
  cli.removeHome();
  cli.removeBuild();
});

interface Found {
  readonly content: string;
}

interface Report {
  readonly merged: number;
  readonly before: readonly Found[];
  readonly recall: {
    readonly counts: { readonly thoughts: number; readonly sources: number; readonly weakened: number };
  };
  readonly after: readonly Found[];
  readonly deletingLeaves: readonly string[];
  readonly deletingLoses: readonly string[];
  readonly undone: { readonly restored: number };
  readonly again: readonly Found[];
}

describe("demo recall", { timeout: SLOW }, () => {
  it("takes the umbrella with the weather tool, leaves where you live, and gives all of it back", async () => {
    const report = await cli.json<Report>(["demo", "recall"]);
    const contents = (found: readonly Found[]) => found.map(({ content }) => content);
    expect(report.merged).toBe(1);
    expect(contents(report.before)).toContain("Take the umbrella on Thursday");
    expect(report.recall.counts).toEqual({ roots: 1, thoughts: 4, sources: 1, weakened: 1, released: 0 });
    expect(contents(report.after).sort()).toEqual(["Thursday's lunch with Ravi is in the garden", "You live in Pune"]);
    expect(report.deletingLeaves).toEqual(["Take the umbrella on Thursday", "Move Thursday's lunch with Ravi indoors"]);
    expect(report.deletingLoses).toEqual(["You live in Pune"]);
    expect(report.undone.restored).toBe(5);
    expect(report.again).toEqual(report.before);
  });

  it("is told in lines of eighty columns", async () => {
    const { stdout, status } = await cli.run(["demo", "recall"], { env: { COLUMNS: "80" } });
    expect(status).toBe(0);
    expect(stdout).toContain("dormouse unrecall e_");
    expect(stdout.split("\n").filter((line) => line.length > 88)).toEqual([]);
  });
});
