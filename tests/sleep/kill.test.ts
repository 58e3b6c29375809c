/**
 * Sleep that is killed in every phase, again and again, ends where an undisturbed sleep ends; two that sleep at once
 * do not. DORMOUSE_KILL_ROUNDS=N kills N times as often.
 */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import { PHASE_NAMES, runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { checkpoint } from "../../src/store/sleep-upkeep.ts";
import { Store } from "../../src/store/store.ts";
import { TASK_NAMES } from "../../src/think/task-names.ts";
import { createTestStore } from "../support/brain.ts";
import { SMALL_CELLS, searchEverything, WIDE } from "../support/cells.ts";
import { createTestClock } from "../support/clock.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";
import { readSleepState, type SleepState } from "../support/sleep-state.ts";

const folder = mkdtempSync(join(tmpdir(), "dormouse-kill-"));
const original = join(folder, "brain.db");
const rounds = Number(process.env.DORMOUSE_KILL_ROUNDS ?? 1);
let now = 0;
let expected: SleepState;
/** How many transactions each phase of the undisturbed night took. */
const writes = new Map<string, number>();

const NOTE = "the heating in our cellar gets serviced every autumn by that same firm from";
const alone = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");
/** A way of writing a text: the bits choose capitals. */
const spell = (text: string, bits: number) =>
  text
    .split(" ")
    .map((word, at) => ((bits >> at) & 1 ? word.toUpperCase().slice(0, 1) + word.slice(1) : word))
    .join(" ");

/** A brain with copies to merge, near texts to link, one to promote, a hub, many to decay, and gaps to embed. */
async function makeBrain(path: string): Promise<number> {
  const brain = createTestStore({ path, dimensions: WIDE });
  const { store, clock } = brain;
  const copies = Array.from({ length: 1400 }, (_, index) =>
    spell(`${NOTE} town${index % 140}`, Math.floor(index / 140)),
  );
  const near = Array.from({ length: 500 }, (_, index) => `${NOTE} place${index} street${index * 7}`);
  const lonely = Array.from({ length: 1200 }, (_, index) => alone(`lone${index}`));
  const results = await brain.remember(...copies, ...near, ...lonely);
  const hub = results[1500]?.id ?? "";
  await brain.remember(
    ...Array.from({ length: 12 }, (_, index) => ({ content: alone(`child${index}`), legs: [{ parents: [hub] }] })),
  );
  clock.advance(40 * MS_PER_DAY);
  await brain.remember(...Array.from({ length: 300 }, (_, index) => alone(`new${index}`)));
  store.write(() => {
    const reader = store.thoughts.resolve(results[1450]?.id ?? "");
    for (let back = 0; back < 9; back++) store.operations.noteAccess([reader], dayOf(clock.now()) - back);
  });
  const table = store.models.active()?.vecTable ?? "";
  store.connection.db.exec(`DELETE FROM ${table} WHERE node_id % 3 = 0`);
  store.connection.db.exec("UPDATE full_text_state SET analyser = 'older'");
  checkpoint(store.connection);
  const now = clock.now();
  brain.close();
  return now;
}

/** Whenever sleep is killed: the chain holds, the file is in order, and every visible thought is found, and once. */
function expectSound(path: string): void {
  const store = Store.open(path, createTestClock(now));
  expect(store.ledger.firstBreak()).toBeNull();
  const violated = checkIntegrity(store).filter(({ violations }) => violations > 0);
  // Until the night is over, words are of the analyser that made them.
  expect(violated.filter(({ name }) => name !== "full_text_analyser")).toEqual([]);
  // More than there are: whatever was being moved, every visible row is found, and once.
  const query = Int8Array.from({ length: WIDE }, (_, at) => (at % 3) * 9 - 9);
  const filter = { scopeIds: store.scopes.readableIds() };
  const { neighbors, exact } = store.vectors.nearest(query, 5_000, filter);
  expect(exact).toBe(true);
  expect(neighbors).toEqual(searchEverything(store, query, 5_000, filter));
  store.close();
}

function stateOf(path: string): SleepState {
  const store = Store.open(path, createTestClock(now));
  const state = readSleepState(store);
  store.close();
  return state;
}

interface Run {
  /** What the child said, line by line: its phase after each step, `write PHASE` at each transaction. */
  readonly said: readonly string[];
  readonly wasKilled: boolean;
}

/** One run of the child. @param onLine may kill it */
async function runChild(
  path: string,
  args: readonly string[],
  onLine: (line: string, kill: () => void) => void = () => {},
): Promise<Run> {
  const script = join(import.meta.dirname, "../support/sleep-child.ts");
  const child = spawn(process.execPath, ["--import", "tsx", script, path, String(now), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  const said: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stdout.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split("\n")) {
      said.push(line);
      onLine(line, () => child.kill("SIGKILL"));
    }
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once("close", (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
  });
  if (code !== 0 && signal === null) throw new Error(`the child failed: ${errors}`);
  return { said, wasKilled: signal !== null };
}

/** Kills it once it has said a phase so often, and then after so many milliseconds. @returns where it died, or null */
async function killInPhase(path: string, phase: string, times: number, delayMs: number) {
  let seen = 0;
  const { said, wasKilled } = await runChild(path, ["15"], (line, kill) => {
    if (line === phase) seen += 1;
    if (line === phase && seen === times) setTimeout(kill, delayMs);
  });
  return wasKilled ? (said.filter((line) => !line.startsWith("write")).at(-1) ?? "none") : null;
}

function copyBrain(name: string): string {
  const path = join(folder, name);
  copyFileSync(original, path);
  return path;
}

function expectAtRest(path: string): void {
  expectSound(path);
  expect(stateOf(path)).toEqual(expected);
  const woken = Store.open(path, createTestClock(now));
  const [fresh, ...cells] = woken.vectors.cells.sizes();
  expect(fresh?.rows).toBe(0);
  expect(cells.length).toBeGreaterThan(20);
  expect(cells.every(({ isOpen }) => isOpen)).toBe(true);
  expect(woken.fullText.isOutdated()).toBe(false);
  woken.close();
}

beforeAll(async () => {
  now = await makeBrain(original);
  const calm = copyBrain("calm.db");
  const store = Store.open(calm, createTestClock(now));
  const report = await runSleep(store, createHashEmbedder(WIDE), { config: SMALL_CELLS, dryRun: true });
  store.close();
  // Control: every phase that changes anything has something to do.
  const idle = report.phases.filter(({ planned }) => planned === 0).map(({ name }) => name);
  expect(idle.filter((name) => !["decay", "promote"].includes(name))).toEqual([...TASK_NAMES, "gc", "metrics"]);
  const { said } = await runChild(calm, []);
  for (const line of said) {
    const phase = /^write (.*)$/.exec(line)?.[1];
    if (phase !== undefined) writes.set(phase, (writes.get(phase) ?? 0) + 1);
  }
  expect([...writes.keys()].filter((phase) => phase !== "none")).toEqual(
    PHASE_NAMES.filter((name) => writes.has(name)),
  );
  expected = stateOf(calm);
  expect(expected.merges).toHaveLength(1260);
  expect(expected.decays.length).toBeGreaterThan(600);
  expectAtRest(calm);
}, 240_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("killed at random moments, it goes on and ends as if nothing had happened", async () => {
  for (let round = 0; round < rounds; round++) {
    const disturbed = copyBrain(`moments${round}.db`);
    const killedIn: string[] = [];
    for (const phase of ["embed", "consolidate", "link", "decay", "shelve", "upkeep"]) {
      const times = phase === "link" ? 1 + Math.floor(Math.random() * 3) : 1;
      const killed = await killInPhase(disturbed, phase, times, Math.floor(Math.random() * 40));
      if (killed !== null) killedIn.push(killed);
      expectSound(disturbed);
    }
    expect(new Set(killedIn).size, killedIn.join(" ")).toBeGreaterThan(1);
    await runChild(disturbed, []);
    expectAtRest(disturbed);
  }
}, 600_000);

test("killed in every phase before, inside or after a transaction, it ends as if nothing had happened", async () => {
  const styles = ["before", "inside", "after"];
  for (let round = 0; round < rounds; round++) {
    const disturbed = copyBrain(`writes${round}.db`);
    const first = Math.floor(Math.random() * styles.length);
    const phases = PHASE_NAMES.filter((name) => writes.has(name));
    expect(phases.length).toBeGreaterThanOrEqual(9);
    for (const [index, phase] of phases.entries()) {
      const nth = 1 + Math.floor(Math.random() * (writes.get(phase) ?? 1));
      const style = styles[(first + index) % styles.length] ?? "";
      const { wasKilled } = await runChild(disturbed, ["0", phase, String(nth), style]);
      expect([phase, nth, style, wasKilled]).toEqual([phase, nth, style, true]);
      expectSound(disturbed);
    }
    await runChild(disturbed, []);
    expectAtRest(disturbed);
  }
}, 600_000);

test("of two that sleep at once one runs, and the other says which process has it", async () => {
  const path = copyBrain("two.db");
  let refusal: unknown = null;
  let holder = 0;
  const store = Store.open(path, createTestClock(now));
  const { wasKilled } = await runChild(path, ["60"], (line) => {
    if (line !== "embed" || holder !== 0) return;
    holder = store.leases.runningHolder("sleep") ?? -1;
    runSleep(store, createHashEmbedder(WIDE), { config: SMALL_CELLS }).catch((error: unknown) => {
      refusal = error;
    });
  });
  expect(wasKilled).toBe(false);
  expect(holder).toBeGreaterThan(0);
  expect(refusal).toMatchObject({ code: "lease_held", message: expect.stringContaining(`process ${holder} `) });
  // Nothing of the second got in.
  expectAtRest(path);
  // Control: once the first is done, it sleeps.
  await expect(runSleep(store, createHashEmbedder(WIDE), { config: SMALL_CELLS })).resolves.toMatchObject({ cycle: 2 });
  store.close();
}, 120_000);
