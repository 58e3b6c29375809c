/** Recalls that are killed at any moment, and processes that recall and write at once. */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { RememberInput, SourceInput } from "../../src/core/types.ts";
import { commitRecall } from "../../src/recall/recall.ts";
import { settleRecalls } from "../../src/remember/settle.ts";
import { list } from "../../src/retrieve/inspect.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { checkpoint } from "../../src/store/sleep-upkeep.ts";
import { Store } from "../../src/store/store.ts";
import { createTestStore } from "../support/brain.ts";
import { createTestClock } from "../support/clock.ts";

const SLOW = 240_000;
const BAD = 1_800;
const SOURCE: SourceInput = { type: "tool", key: "bad", name: "tool:bad", trust: "unknown" };
let folder: string;
let original: string;
let badId: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-recall-kill-"));
  original = join(folder, "original.db");
  const brain = createTestStore({ path: original });
  const bad = (index: number): RememberInput => ({ content: `bad fact ${index} told`, legs: [{ parents: [SOURCE] }] });
  await brain.remember(...Array.from({ length: BAD }, (_, index) => bad(index)));
  await brain.remember(...Array.from({ length: 200 }, (_, index) => `good fact ${index} known`));
  badId = brain.store.thoughts.publicId(brain.store.sources.find("tool", "bad") ?? 0);
  checkpoint(brain.store.connection);
  brain.close();
}, SLOW);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function copyBrain(name: string): string {
  const path = join(folder, `${name}.db`);
  copyFileSync(original, path);
  return path;
}

interface Child {
  readonly status: number | null;
  readonly lines: readonly string[];
  readonly errors: string;
}

/** @param killAfter so many lines; null: never */
function runChild(args: readonly string[], killAfter: number | null = null, delayMs = 0): Promise<Child> {
  const child = spawn(process.execPath, [
    "--import",
    "tsx",
    join(import.meta.dirname, "../support/recall-child.ts"),
    ...args,
  ]);
  let out = "";
  let errors = "";
  let isDoomed = false;
  child.stdout.on("data", (data: Buffer) => {
    out += data.toString();
    if (killAfter === null || isDoomed || out.split("\n").length - 1 < killAfter) return;
    isDoomed = true;
    setTimeout(() => child.kill("SIGKILL"), delayMs);
  });
  child.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  return new Promise((resolve) =>
    child.on("exit", (status) => resolve({ status, lines: out.split("\n").slice(0, -1), errors })),
  );
}

const failing = (store: Store) => checkIntegrity(store).filter(({ violations }) => violations > 0);
const visible = (store: Store) => list(store, { limit: 5_000 }).length;

it("is whole or not there after a kill at any point, and is finished by whoever comes next", {
  timeout: SLOW,
}, async () => {
  const seen = new Set<string>();
  for (const [turn, killAfter] of [1, 1, 2, 3, 4, 5].entries()) {
    const path = copyBrain(`killed-${turn}`);
    const { lines } = await runChild([path, "recall", badId], killAfter, turn === 1 ? 8 : 0);
    const store = Store.open(path, createTestClock());
    const isInForce = store.read(() => store.recalls.after(0)).length > 0;
    // Said before it is known to the parent, in force is in force.
    if (lines.includes("in force")) expect(isInForce).toBe(true);
    expect(visible(store)).toBe(isInForce ? 200 : 200 + BAD);
    expect(failing(store)).toEqual([]);
    const mirrored = store.recalls.mirrored().length;
    seen.add(!isInForce ? "not begun" : mirrored === 0 ? "unmirrored" : mirrored <= BAD ? "half" : "done");
    if (!isInForce) commitRecall(store, { ids: [badId] });
    settleRecalls(store, "person");
    expect(store.read(() => store.recalls.pendingSeqs())).toEqual([]);
    expect(store.recalls.mirrored()).toHaveLength(BAD + 1);
    expect(visible(store)).toBe(200);
    expect(failing(store)).toEqual([]);
    store.close();
  }
  // The kills landed on both sides of the commit, or this test would show nothing.
  expect(seen.has("half") || seen.has("unmirrored")).toBe(true);
});

it("loses no event when two processes recall and write at once", { timeout: SLOW }, async () => {
  const path = copyBrain("together");
  const before = Store.open(path, createTestClock());
  const { seq } = before.ledger.head();
  before.close();
  const children = await Promise.all([
    runChild([path, "swing", badId, "4"]),
    runChild([path, "write", "one", "60"]),
    runChild([path, "write", "two", "60"]),
  ]);
  expect(children.map(({ status, errors }) => [status, errors])).toEqual([
    [0, ""],
    [0, ""],
    [0, ""],
  ]);
  const store = Store.open(path, createTestClock());
  const kinds = store.ledger.list({ since: seq, limit: 1_000 }).map(({ kind }) => kind);
  const count = (kind: string) => kinds.filter((one) => one === kind).length;
  expect([count("recalled"), count("unrecalled"), count("thought.created")]).toEqual([4, 4, 120]);
  expect(visible(store)).toBe(200 + BAD + 120);
  expect(store.ledger.firstBreak()).toBeNull();
  expect(failing(store)).toEqual([]);
  store.close();
});
