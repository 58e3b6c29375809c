import { describe, expect, test } from "vitest";
import { dayOf, MS_PER_DAY, MS_PER_MINUTE } from "../../src/core/clock.ts";
import type { Embedder } from "../../src/core/ports.ts";
import { PHASE_NAMES, runSleep } from "../../src/sleep/cycle.ts";
import { Store } from "../../src/store/store.ts";
import { TASK_NAMES } from "../../src/think/task-names.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { SMALL_CELLS, WIDE } from "../support/cells.ts";
import { readAllTables, readSleepState } from "../support/sleep-state.ts";

const NOTE = "the heating in our cellar gets serviced every autumn by that same firm";
const alone = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");
/** Phases that change nothing. */
const ONLY_REPORTS: ReadonlySet<string> = new Set(["gc", "metrics"]);
const sleep = (brain: TestStore, options = {}) =>
  runSleep(brain.store, brain.embedder, { config: SMALL_CELLS, ...options });

/** A brain in which every phase has something to do. */
async function busyBrain(): Promise<TestStore> {
  const brain = createTestStore({ dimensions: WIDE });
  const results = await brain.remember(
    NOTE,
    `${NOTE}.`,
    ...Array.from({ length: 60 }, (_, index) => `${NOTE.replace("autumn", `autumn${index % 20}`)} ${index}`),
    ...Array.from({ length: 10 }, (_, index) => alone(`alone${index}`)),
  );
  const hub = results[0]?.id ?? "";
  await brain.remember(
    ...Array.from({ length: 8 }, (_, index) => ({ content: alone(`child${index}`), legs: [{ parents: [hub] }] })),
  );
  brain.clock.advance(20 * MS_PER_DAY);
  const reader = brain.store.thoughts.resolve(results[5]?.id ?? "");
  const today = dayOf(brain.clock.now());
  brain.store.write(() => {
    for (let back = 0; back < 6; back++) brain.store.operations.noteAccess([reader], today - back);
  });
  await brain.remember(alone("unembedded"));
  const table = brain.store.models.active()?.vecTable ?? "";
  brain.store.connection.db.exec(`DELETE FROM ${table} WHERE node_id = (SELECT max(node_id) FROM ${table})`);
  return brain;
}

describe("a night", () => {
  test("reports every phase in order, and each of them found something to do", async () => {
    const brain = await busyBrain();
    const report = await sleep(brain);
    expect(report).toMatchObject({ cycle: 1, dryRun: false });
    expect(report.phases.map(({ name }) => name)).toEqual([...PHASE_NAMES]);
    for (const { name, planned, applied, tookMs, error, details } of report.phases) {
      expect(error).toBeUndefined();
      expect(applied).toBe(planned);
      expect(tookMs).toBeGreaterThanOrEqual(0);
      if (TASK_NAMES.some((task) => task === name)) expect(details).toEqual({ skipped: 1 });
      else if (!ONLY_REPORTS.has(name)) expect([name, planned > 0]).toEqual([name, true]);
    }
    expect(brain.store.ledger.firstBreak()).toBeNull();
    expect(brain.store.leases.get("sleep")).toBeNull();
    brain.close();
  });

  test("the second on an unchanged brain plans nothing and writes no event", async () => {
    const brain = await busyBrain();
    await sleep(brain);
    const head = brain.store.ledger.head().seq;
    const again = await sleep(brain);
    expect(again.phases.map(({ planned }) => planned)).toEqual(PHASE_NAMES.map(() => 0));
    expect(again.cycle).toBe(2);
    expect(brain.store.ledger.head().seq).toBe(head);
    brain.close();
  });

  test("an empty brain sleeps soundly", async () => {
    const brain = createTestStore();
    const report = await sleep(brain);
    expect(report.phases.every(({ planned, error }) => planned <= 1 && error === undefined)).toBe(true);
    expect((await sleep(brain)).phases.every(({ planned }) => planned === 0)).toBe(true);
    brain.close();
  });

  test("runs only the phases asked for, in their own order", async () => {
    const brain = createTestStore();
    const report = await sleep(brain, { phases: ["decay", "embed"] });
    expect(report.phases.map(({ name }) => name)).toEqual(["embed", "decay"]);
    await expect(sleep(brain, { phases: ["daydream"] })).rejects.toMatchObject({ code: "usage" });
    await expect(sleep(brain, { maxMinutes: 0 })).rejects.toMatchObject({ code: "usage" });
    brain.close();
  });

  test("metrics tell the night without a word of any memory", async () => {
    const brain = await busyBrain();
    await sleep(brain);
    const rows = brain.store.connection.sql<{ name: string; value: number }>("SELECT name, value FROM metric").all();
    const value = (name: string) => rows.find((row) => row.name === name)?.value;
    expect(value("state.merged")).toBe(1);
    expect(value("decayed.disuse")).toBeGreaterThanOrEqual(10);
    expect(value("vectors.coverage")).toBe(1);
    expect(value("links.similar")).toBeGreaterThan(0);
    expect(value("file.bytes")).toBeGreaterThan(10_000);
    expect(rows.every(({ name }) => /^[a-z_.]+\d*$/i.test(name))).toBe(true);
    brain.close();
  });
});

describe("a dry run", () => {
  test("writes nothing at all, says what each phase would do, and takes no lease", async () => {
    const brain = await busyBrain();
    brain.store.leases.acquire("sleep", "somebody", MS_PER_MINUTE);
    const before = readAllTables(brain.store);
    expect(Object.keys(before).length).toBeGreaterThan(25);
    const report = await sleep(brain, { dryRun: true });
    expect(readAllTables(brain.store)).toEqual(before);
    expect(report.dryRun).toBe(true);
    const planned = Object.fromEntries(report.phases.map((phase) => [phase.name, phase.planned]));
    expect(planned).toMatchObject({ embed: 1, calibrate: 1, consolidate: 1, upkeep: 1 });
    expect(report.phases.every(({ applied, error }) => applied === 0 && error === undefined)).toBe(true);
    brain.close();
  });

  test("plans for each phase what that phase then does", async () => {
    const brain = await busyBrain();
    for (const name of PHASE_NAMES) {
      const dry = await sleep(brain, { dryRun: true, phases: [name] });
      const real = await sleep(brain, { phases: [name] });
      expect([name, real.phases[0]?.planned]).toEqual([name, dry.phases[0]?.planned]);
      expect([name, real.phases[0]?.applied]).toEqual([name, dry.phases[0]?.planned]);
    }
    brain.close();
  });

  test("of a brain without a model registers none", async () => {
    const brain = createTestStore();
    await brain.remember(alone("one"));
    brain.store.write(() => brain.store.models.clear());
    const report = await sleep(brain, { dryRun: true });
    expect(report.phases[0]).toMatchObject({ name: "embed", planned: 1 });
    expect(brain.store.models.active()).toBeNull();
    brain.close();
  });
});

describe("failures", () => {
  test("another model is an error of its phase, and the others still run", async () => {
    const brain = await busyBrain();
    const other: Embedder = { ...brain.embedder, model: { ...brain.embedder.model, revision: "2" } };
    const report = await runSleep(brain.store, other);
    expect(report.phases[0]).toMatchObject({ name: "embed", applied: 0, error: { code: "model_mismatch" } });
    expect(report.phases.slice(1).every(({ error }) => error === undefined)).toBe(true);
    expect(report.phases.find(({ name }) => name === "consolidate")?.applied).toBe(1);
    brain.close();
  });

  test("a foreign failure is reported without its message, which may quote a memory", async () => {
    const brain = await busyBrain();
    const broken: Embedder = {
      ...brain.embedder,
      embedPassages: async (texts) => {
        throw new Error(`cannot embed ${texts[0]}`);
      },
    };
    const [embed] = (await runSleep(brain.store, broken)).phases;
    expect(embed?.error?.code).toBe("sleep_failed");
    expect(JSON.stringify(embed)).not.toContain("unembedded");
    brain.close();
  });

  test("two do not sleep at once on one brain", async () => {
    const brain = await busyBrain();
    const other = Store.open(brain.path, brain.clock);
    other.leases.acquire("sleep", "other", MS_PER_MINUTE);
    await expect(sleep(brain)).rejects.toMatchObject({ code: "lease_held" });
    other.leases.release("sleep", "other");
    await expect(sleep(brain)).resolves.toMatchObject({ cycle: 1 });
    other.close();
    brain.close();
  });

  test("a sleeper whose lease was taken over writes no more", async () => {
    const brain = await busyBrain();
    const other = Store.open(brain.path, brain.clock);
    const onProgress = ({ stage }: { stage: string }) => {
      if (stage !== "consolidate" || other.leases.get("sleep")?.holder === "other") return;
      other.connection.db.exec("UPDATE lease SET holder = 'other' WHERE name = 'sleep'");
    };
    await expect(sleep(brain, { onProgress })).rejects.toMatchObject({ code: "lease_held" });
    expect(readSleepState(brain.store).decays).toEqual([]);
    expect(other.leases.get("sleep")?.holder).toBe("other");
    other.close();
    brain.close();
  });

  test("renews its lease while it works", async () => {
    const brain = await busyBrain();
    const other = Store.open(brain.path, brain.clock);
    const expiries: number[] = [];
    await sleep(brain, {
      onProgress: () => {
        expiries.push(other.leases.get("sleep")?.expiresAt ?? 0);
        brain.clock.advance(8 * MS_PER_MINUTE);
      },
    });
    expect(new Set(expiries).size).toBeGreaterThan(1);
    other.close();
    brain.close();
  });
});

describe("the time limit", () => {
  test("lets no batch begin once it is over, and the next night does the rest", async () => {
    const brain = await busyBrain();
    const onProgress = () => brain.clock.advance(3 * MS_PER_MINUTE);
    const cut = await sleep(brain, { maxMinutes: 1, onProgress });
    expect(cut.phases.find(({ name }) => name === "embed")?.applied).toBe(1);
    expect(cut.phases.find(({ name }) => name === "link")).toMatchObject({ applied: 0, details: { stopped: 1 } });
    expect(cut.phases.find(({ name }) => name === "decay")?.applied).toBe(0);
    const rest = await sleep(brain);
    expect(rest.phases.find(({ name }) => name === "link")?.applied).toBeGreaterThan(0);
    expect(rest.phases.find(({ name }) => name === "decay")?.applied).toBeGreaterThan(0);
    brain.close();
  });
});
