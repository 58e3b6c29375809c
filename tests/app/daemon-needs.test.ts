/** What a daemon asks of a brain: when it slept, whether others are at it, and to be alone for a moment. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Brain } from "../../src/app.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";

let folder: string;
let clock: TestClock;
let brain: Brain;
const open = (create = false) =>
  Brain.open({ path: join(folder, "brain.db"), create, clock, embedder: createHashEmbedder() });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-needs-"));
  clock = createTestClock();
  brain = open(true);
});
afterEach(() => {
  brain.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("when a brain slept", () => {
  it("is when it was made until a cycle ran whole, and then the end of that", async () => {
    const made = clock.now();
    clock.advance(5_000);
    expect(brain.restedAt()).toBe(made);
    await brain.sleep({ phases: ["metrics"] });
    await brain.sleep({ signal: AbortSignal.abort() });
    expect(brain.restedAt()).toBe(made);
    await brain.sleep();
    expect(brain.restedAt()).toBe(made + 5_000);
  });
});

describe("what others do", () => {
  it("shows in a number that our own writing leaves alone", async () => {
    const before = brain.activity();
    await brain.remember({ content: "ours" });
    expect(brain.activity().dataVersion).toBe(before.dataVersion);
    const other = open();
    await other.remember({ content: "theirs" });
    other.close();
    expect(brain.activity().dataVersion).not.toBe(before.dataVersion);
  });

  it("tells when the newest event was", async () => {
    clock.advance(60_000);
    await brain.remember({ content: "something" });
    clock.advance(60_000);
    expect(brain.activity().lastEventAt).toBe(clock.now() - 60_000);
  });
});

describe("being alone", () => {
  it("keeps others out meanwhile, and lets them in afterwards, also after a failure", () => {
    const other = open();
    const run = () => other.exclusively("test", () => "in");
    expect(run()).toBe("in");
    brain.exclusively("test", () => {
      expect(run).toThrow(expect.objectContaining({ code: "lease_held" }));
      expect(other.exclusively("another", () => "in")).toBe("in");
    });
    expect(() =>
      brain.exclusively("test", () => {
        throw new Error("it failed");
      }),
    ).toThrow("it failed");
    expect(run()).toBe("in");
    other.close();
  });
});
