import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runSleep } from "../../src/sleep/cycle.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

const WORDS = ["garden", "harbour", "violin", "ladder", "kettle", "orchard", "tunnel", "lantern", "saddle", "compass"];

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

/** More thoughts than one batch of links takes, in three words of ten each, so that many are near. */
async function fill(): Promise<void> {
  const texts: string[] = [];
  for (const a of WORDS) for (const b of WORDS) for (const c of WORDS) if (a < b && b < c) texts.push(`${a} ${b} ${c}`);
  await brain.remember(...texts, ...texts.map((text) => `${text} once more`));
}

describe("a dry run of sleep", () => {
  test("foretells the links of the first night, whose calibration has still to come", async () => {
    await fill();
    const link = async (dryRun: boolean) => {
      const { phases } = await runSleep(brain.store, brain.embedder, { dryRun });
      return phases.find(({ name }) => name === "link");
    };
    const foretold = await link(true);
    expect(foretold).toMatchObject({ applied: 0 });
    // It changed nothing, so it foretells the same again.
    expect(await link(true)).toMatchObject({ planned: foretold?.planned });
    const done = await link(false);
    expect(done?.applied).toBeGreaterThan(200);
    expect(foretold?.planned).toBe(done?.applied);
  });
});
