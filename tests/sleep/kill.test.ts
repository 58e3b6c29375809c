/** Sleep that is killed at random points, again and again, ends where an undisturbed sleep ends. */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { checkpoint } from "../../src/store/sleep-upkeep.ts";
import { Store } from "../../src/store/store.ts";
import { createTestStore } from "../support/brain.ts";
import { SMALL_CELLS, searchEverything } from "../support/cells.ts";
import { createTestClock } from "../support/clock.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";
import { readSleepState, type SleepState } from "../support/sleep-state.ts";

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
  const brain = createTestStore({ path });
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
  checkpoint(store.connection);
  const now = clock.now();
  brain.close();
  return now;
}

function stateOf(path: string, now: number): SleepState {
  const store = Store.open(path, createTestClock(now));
  const state = readSleepState(store);
  expect(store.ledger.firstBreak()).toBeNull();
  expect(checkIntegrity(store).filter(({ violations }) => violations > 0)).toEqual([]);
  // More than there are: whatever was being moved, every visible row is found, and once.
  const query = Int8Array.from({ length: 64 }, (_, at) => (at % 3) * 9 - 9);
  const filter = { scopeIds: store.scopes.readableIds() };
  const { neighbors, exact } = store.vectors.nearest(query, 5_000, filter);
  expect(exact).toBe(true);
  expect(neighbors).toEqual(searchEverything(store, query, 5_000, filter));
  store.close();
  return state;
}

/** When to kill a child: once it has said so often that it is in the phase, and then after so many milliseconds. */
interface KillPoint {
  readonly phase: string;
  readonly times: number;
  readonly delayMs: number;
}

/** One run of the child. @returns the phase in which it was killed, or null when it finished */
async function runChild(path: string, now: number, kill: KillPoint | null): Promise<string | null> {
  const script = join(import.meta.dirname, "../support/sleep-child.ts");
  const pause = kill === null ? "0" : "15";
  const child = spawn(process.execPath, ["--import", "tsx", script, path, String(now), pause], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  let phases: string[] = [];
  let isDying = false;
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stdout.on("data", (chunk: Buffer) => {
    phases = phases.concat(chunk.toString().trim().split("\n"));
    if (kill === null || isDying || phases.filter((phase) => phase === kill.phase).length < kill.times) return;
    isDying = true;
    setTimeout(() => child.kill("SIGKILL"), kill.delayMs);
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.once("close", (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
  });
  if (code !== 0 && signal === null) throw new Error(`the child failed: ${errors}`);
  return signal === null ? null : (phases.at(-1) ?? "none");
}

test("killed at random points, it goes on and ends as if nothing had happened", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dormouse-kill-"));
  const original = join(folder, "brain.db");
  const now = await makeBrain(original);
  const calm = join(folder, "calm.db");
  copyFileSync(original, calm);
  const store = Store.open(calm, createTestClock(now));
  const report = await runSleep(store, createHashEmbedder(), { config: SMALL_CELLS });
  store.close();
  for (const { name, planned, details } of report.phases)
    if (name !== "metrics" && details?.skipped !== 1) expect([name, planned > 0]).toEqual([name, true]);
  const expected = stateOf(calm, now);
  expect(expected.merges).toHaveLength(1260);
  expect(expected.decays.length).toBeGreaterThan(600);

  const disturbed = join(folder, "disturbed.db");
  copyFileSync(original, disturbed);
  const killedIn: string[] = [];
  for (const phase of ["embed", "consolidate", "link", "link", "decay", "shelve", "shelve"]) {
    const times = phase === "link" ? 1 + Math.floor(Math.random() * 3) : 1;
    const killed = await runChild(disturbed, now, { phase, times, delayMs: Math.floor(Math.random() * 40) });
    if (killed !== null) killedIn.push(killed);
    stateOf(disturbed, now);
  }
  expect(new Set(killedIn).size, killedIn.join(" ")).toBeGreaterThan(1);
  await runChild(disturbed, now, null);
  expect(stateOf(disturbed, now)).toEqual(expected);
  const woken = Store.open(disturbed, createTestClock(now));
  const [fresh, ...cells] = woken.vectors.cells.sizes();
  expect(fresh?.rows).toBe(0);
  expect(cells.length).toBeGreaterThan(20);
  expect(cells.every(({ isOpen }) => isOpen)).toBe(true);
  woken.close();
  rmSync(folder, { recursive: true, force: true });
}, 240_000);
