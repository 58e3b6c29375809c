/** A change of the embedding model: undisturbed, killed, with writers beside it, from two processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DormouseError } from "../../src/core/errors.ts";
import type { Embedder } from "../../src/core/ports.ts";
import { forget } from "../../src/recall/states.ts";
import { rebuildDerived } from "../../src/remember/rebuild.ts";
import { beginReembedding, reembed } from "../../src/remember/reembed.ts";
import { search } from "../../src/retrieve/search.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { readThresholds } from "../../src/sleep/thresholds.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { LINK_CURSOR, MODEL_GAUGES } from "../../src/store/operations.ts";
import { checkpoint } from "../../src/store/sleep-upkeep.ts";
import type { Store } from "../../src/store/store.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";

const PLACES = ["Lisbon", "Porto", "Graça", "Coimbra", "Sintra", "Évora", "Faro"];
const THINGS = ["tram", "violin", "tax return", "boat", "garden fence", "lock file", "concert"];
const note = (index: number) =>
  `Note ${index}: the ${THINGS[index % THINGS.length]} in ${PLACES[(index * 3) % PLACES.length]}, part ${index % 11}, day ${index * 7}`;
const QUERIES = ["tram in Lisbon", "garden fence Faro", "concert part 3", "violin Coimbra day", "tax return"];

const second = () => createHashEmbedder(64, "second");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-reembed-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A brain of `count` notes in a file of its own, at rest. */
async function makeBrain(name: string, count: number): Promise<string> {
  const path = join(folder, name);
  const brain = createTestStore({ path });
  await brain.remember(...Array.from({ length: count }, (_, index) => note(index)));
  checkpoint(brain.store.connection);
  brain.close();
  return path;
}

function openCopy(original: string, name: string): TestStore {
  const path = join(folder, name);
  copyFileSync(original, path);
  return createTestStore({ path });
}

/** Every vector with what it filters by, by node. */
function vectorRows(store: Store): unknown[] {
  const { vecTable } = store.models.required();
  return store.connection.db
    .prepare(`SELECT node_id, scope, kind, domain, hidden, hex(embedding) AS vector FROM ${vecTable} ORDER BY node_id`)
    .all();
}

async function orders(store: Store, embedder: Embedder): Promise<string[][]> {
  const answers: string[][] = [];
  for (const query of QUERIES) {
    const { results } = await search(store, embedder, query, { k: 30, now: 1_780_000_000_000 });
    answers.push(results.map(({ content, score }) => `${score} ${content}`));
  }
  return answers;
}

const failures = (store: Store) => checkIntegrity(store).filter(({ violations }) => violations > 0);

describe("a change of the model", () => {
  it("ends where a brain ends that had the model from the start", async () => {
    const original = await makeBrain("start.db", 300);
    const changed = openCopy(original, "changed.db");
    const before = await orders(changed.store, changed.embedder);
    const report = await reembed(changed.store, second());
    expect(report).toEqual({ model: "second", embedded: 300, left: 0 });

    const born = createTestStore({ path: join(folder, "born.db") });
    const { rememberAll } = await import("../../src/remember/remember.ts");
    await rememberAll(
      born.store,
      second(),
      Array.from({ length: 300 }, (_, index) => ({ content: note(index) })),
      { actor: "person" },
    );
    expect(vectorRows(changed.store)).toEqual(vectorRows(born.store));
    // Search takes a sample in the order of keyed digests, whose key is random; this brain has the same.
    const rebuilt = openCopy(original, "rebuilt.db");
    await rebuildDerived(rebuilt.store, second());
    expect(vectorRows(rebuilt.store)).toEqual(vectorRows(born.store));
    const after = await orders(changed.store, second());
    expect(after).toEqual(await orders(rebuilt.store, second()));
    // Otherwise the two models would be one, and the comparison would prove nothing.
    expect(after).not.toEqual(before);
    expect(failures(changed.store)).toEqual([]);
    for (const brain of [changed, born, rebuilt]) brain.close();
  });

  it("writes no event and changes no canonical row", async () => {
    const brain = openCopy(await makeBrain("audit.db", 200), "audited.db");
    const { events, changedRows } = await expectAudited(brain.store, () => reembed(brain.store, second()));
    expect({ events, changedRows }).toEqual({ events: 0, changedRows: 0 });
    expect(brain.store.models.required().name).toBe("second");
    brain.close();
  });

  it("embeds hidden thoughts too, so that they are found by meaning once they come back", async () => {
    const brain = createTestStore();
    const [kept, gone] = await brain.remember("the tram to Graça", "the violin of Anna");
    forget(brain.store, gone?.id ?? "", "old", "person");
    await reembed(brain.store, second());
    const rows = vectorRows(brain.store) as { node_id: number; hidden: number }[];
    expect(rows.map(({ node_id, hidden }) => [node_id, hidden])).toEqual([
      [brain.store.thoughts.resolve(kept?.id ?? ""), 0],
      [brain.store.thoughts.resolve(gone?.id ?? ""), 1],
    ]);
    brain.close();
  });

  it("follows what is written and forgotten while it runs, and the old vectors serve until the end", async () => {
    const brain = openCopy(await makeBrain("busy.db", 500), "busy-copy.db");
    const { store, embedder } = brain;
    const [early = ""] = (await search(store, embedder, "tram in Lisbon")).results.map(({ id }) => id);
    let steps = 0;
    let late = "";
    await reembed(store, second(), {
      onStep: async () => {
        steps += 1;
        // Of 500, the first of these comes with its vector made, the last without.
        if (steps === 1) forget(store, early, "old", "person");
        if (steps === 2) {
          const [result] = await brain.remember("a harpsichord bought while the model changed");
          late = result?.id ?? "";
          const [last] = store.thoughts.recent(1);
          expect(store.vectors.get(last ?? 0)).not.toBeNull();
          expect(store.buildingVectors.get(last ?? 0)).toBeNull();
        }
        expect(store.read(() => store.models.active())?.name).toBe("test-hash");
        expect((await search(store, embedder, "violin")).results.length).toBeGreaterThan(0);
        expect(failures(store)).toEqual([]);
      },
    });
    expect(steps).toBeGreaterThanOrEqual(4);
    const found = async (query: string) =>
      (await search(store, second(), query, { k: 500 })).results.map(({ id }) => id);
    expect(await found("harpsichord bought")).toContain(late);
    expect(store.vectors.get(store.thoughts.resolve(early))).not.toBeNull();
    expect(await found("tram in Lisbon")).not.toContain(early);
    expect(failures(store)).toEqual([]);
    brain.close();
  });

  it("keeps a thought whose vector came from the old model while the switch happened; sleep embeds it", async () => {
    const brain = createTestStore();
    await brain.remember("the first");
    const { rememberAll } = await import("../../src/remember/remember.ts");
    const slow: Embedder = {
      ...brain.embedder,
      embedPassages: async (texts) => {
        const vectors = await brain.embedder.embedPassages(texts);
        await reembed(brain.store, second());
        return vectors;
      },
    };
    const [result] = await rememberAll(brain.store, slow, [{ content: "caught in between" }], { actor: "person" });
    expect(result?.status).toBe("created");
    const id = brain.store.thoughts.resolve(result?.id ?? "");
    expect(brain.store.vectors.get(id)).toBeNull();
    await runSleep(brain.store, second(), { phases: ["embed"] });
    expect(brain.store.vectors.get(id)).toEqual((await second().embedPassages(["caught in between"]))[0]);
    brain.close();
  });

  it("lets a search that began before the switch answer with the new model", async () => {
    const brain = createTestStore();
    await brain.remember(...Array.from({ length: 20 }, (_, index) => note(index)));
    let switched = false;
    const slow: Embedder = {
      ...brain.embedder,
      embedQuery: async (text) => {
        const vector = await brain.embedder.embedQuery(text);
        if (!switched) await reembed(brain.store, second());
        switched = true;
        return vector;
      },
    };
    const source = async () =>
      brain.store.read(() => brain.store.models.active())?.name === "second" ? second() : slow;
    const answer = await search(brain.store, source, "tram in Lisbon", { now: 1_780_000_000_000 });
    expect(switched).toBe(true);
    const again = await search(brain.store, second(), "tram in Lisbon", { now: 1_780_000_000_000 });
    expect(answer.results).toEqual(again.results);
    brain.close();
  });

  it("makes sleep measure and link anew", async () => {
    const brain = createTestStore();
    await brain.remember(...Array.from({ length: 120 }, (_, index) => note(index)));
    await runSleep(brain.store, brain.embedder);
    const measured = readThresholds(brain.store);
    expect(brain.store.operations.cursor(LINK_CURSOR)).toBeGreaterThan(0);
    await reembed(brain.store, second());
    expect(readThresholds(brain.store)).not.toEqual(measured);
    expect(brain.store.operations.cursor(LINK_CURSOR)).toBe(0);
    const { phases } = await runSleep(brain.store, second());
    expect(phases.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(phases.find(({ name }) => name === "calibrate")?.applied).toBe(1);
    expect(brain.store.operations.cursor(LINK_CURSOR)).toBeGreaterThan(0);
    brain.close();
  });

  it("has its result although its lease cannot be given back, which runs out", async () => {
    const brain = createTestStore();
    await brain.remember("one", "two");
    const held = brain.store.leases.hold.bind(brain.store.leases);
    const busy = () => {
      throw new DormouseError("busy", "another process writes");
    };
    brain.store.leases.release = busy;
    expect(await reembed(brain.store, second())).toEqual({ model: "second", embedded: 2, left: 0 });
    const broken: Embedder = {
      ...createHashEmbedder(64, "third"),
      embedPassages: () => Promise.reject(new Error("!")),
    };
    brain.clock.advance(3_600_000);
    await expect(reembed(brain.store, broken)).rejects.toThrow("!");
    expect((await runSleep(brain.store, second(), { phases: ["embed"] })).phases[0]?.error).toBeUndefined();
    brain.clock.advance(3_600_000);
    expect(() => held("model", 1)).not.toThrow();
    brain.close();
  });

  it("stops when time is up and goes on with what is left", async () => {
    const brain = openCopy(await makeBrain("time.db", 400), "time-copy.db");
    const made = second();
    let asked = 0;
    const first = await reembed(brain.store, made, { isTimeUp: () => ++asked > 2 });
    expect(first.left).toBe(400 - first.embedded);
    expect(first.embedded).toBeGreaterThan(0);
    expect(brain.store.models.required().name).toBe("test-hash");
    expect(brain.store.leases.runningHolder("model")).toBeNull();
    const rest = await reembed(brain.store, second());
    expect(first.embedded + rest.embedded).toBe(400);
    expect(brain.store.models.required().name).toBe("second");
    brain.close();
  });

  it("to the model in use gives up what was being built, and nothing else", async () => {
    const brain = createTestStore();
    await brain.remember("a thought");
    beginReembedding(brain.store, second());
    expect(brain.store.models.building()?.name).toBe("second");
    const rows = vectorRows(brain.store);
    expect(await reembed(brain.store, brain.embedder)).toEqual({ model: "test-hash", embedded: 0, left: 0 });
    expect(brain.store.models.building()).toBeNull();
    expect(vectorRows(brain.store)).toEqual(rows);
    brain.close();
  });

  it("of an empty brain is a change at once", async () => {
    const brain = createTestStore();
    expect(await reembed(brain.store, second())).toEqual({ model: "second", embedded: 0, left: 0 });
    expect(brain.store.models.required().name).toBe("second");
    brain.close();
  });

  it("survives a rebuild of the indexes: the active model's are made again, and the other begins again", async () => {
    const brain = createTestStore();
    await brain.remember("one", "two", "three");
    await reembed(brain.store, second(), { isTimeUp: () => true });
    const before = vectorRows(brain.store);
    await rebuildDerived(brain.store, brain.embedder);
    expect(vectorRows(brain.store)).toEqual(before);
    expect(brain.store.models.building()?.name).toBe("second");
    expect(brain.store.models.buildProgress()).toEqual({ done: 0, total: 3 });
    brain.close();
  });
});

describe("a rebuild of the indexes", () => {
  it("with the model that is being built puts it in the active one's place", async () => {
    const brain = createTestStore();
    await brain.remember("one", "two", "three");
    await reembed(brain.store, second(), { isTimeUp: () => true });
    expect(brain.store.models.building()?.name).toBe("second");
    await rebuildDerived(brain.store, second());
    expect(brain.store.models.required().name).toBe("second");
    expect(brain.store.models.building()).toBeNull();
    expect(vectorRows(brain.store)).toHaveLength(3);
    expect(failures(brain.store)).toEqual([]);
    brain.close();
  });

  it("with another model makes sleep measure and link anew, with the same one only measure", async () => {
    const brain = createTestStore();
    await brain.remember(...Array.from({ length: 120 }, (_, index) => note(index)));
    const untouched = readThresholds(brain.store);
    await runSleep(brain.store, brain.embedder);
    const linked = brain.store.operations.cursor(LINK_CURSOR);
    expect(linked).toBeGreaterThan(0);
    expect(readThresholds(brain.store)).not.toEqual(untouched);
    await rebuildDerived(brain.store, brain.embedder);
    expect(brain.store.operations.cursor(LINK_CURSOR)).toBe(linked);
    await rebuildDerived(brain.store, second());
    expect(brain.store.operations.cursor(LINK_CURSOR)).toBe(0);
    expect(brain.store.operations.gauge(MODEL_GAUGES.link)).toBeNull();
    brain.close();
  });
});

describe("sleep", () => {
  const building = (embedder: Embedder) => async () => embedder;

  it("goes on with a model that was begun, and switches", async () => {
    const brain = createTestStore();
    await brain.remember(...Array.from({ length: 60 }, (_, index) => note(index)));
    beginReembedding(brain.store, second());
    const source = async () =>
      brain.store.read(() => brain.store.models.active())?.name === "second" ? second() : brain.embedder;
    const dry = await runSleep(brain.store, source, { dryRun: true, phases: ["embed"] }, building(second()));
    expect(dry.phases[0]).toMatchObject({ planned: 60, applied: 0 });
    const { phases } = await runSleep(brain.store, source, {}, building(second()));
    expect(phases.find(({ name }) => name === "embed")).toMatchObject({ planned: 60, applied: 60 });
    expect(phases.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(brain.store.models.required().name).toBe("second");
    brain.close();
  });

  it("leaves it to a process that is at it, and keeps its own lease", async () => {
    const brain = createTestStore();
    await brain.remember(...Array.from({ length: 60 }, (_, index) => note(index)));
    beginReembedding(brain.store, second());
    brain.store.leases.acquire("model", "another", 60_000);
    const { phases } = await runSleep(brain.store, brain.embedder, {}, building(second()));
    expect(phases.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(brain.store.models.required().name).toBe("test-hash");
    brain.close();
  });

  it("applies nothing that it planned by the vectors of a model that was replaced meanwhile", async () => {
    const brain = createTestStore();
    await brain.remember(...Array.from({ length: 500 }, (_, index) => note(index)));
    const { store } = brain;
    let links = 0;
    const { phases } = await runSleep(store, brain.embedder, {
      phases: ["link"],
      onProgress: () => {
        if (store.read(() => store.models.required()).name === "second") return;
        links = store.connection.values<number>("SELECT count(*) FROM link").get() ?? 0;
        store.write(() => {
          store.models.begin(second().model);
          store.models.activate();
        });
      },
    });
    expect(phases[0]?.error?.code).toBe("model_mismatch");
    expect(store.connection.values<number>("SELECT count(*) FROM link").get()).toBe(links);
    const next = await runSleep(store, second());
    expect(next.phases.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(store.vectors.count()).toBe(500);
    brain.close();
  });
});

describe("a process that changes the model", () => {
  function start(path: string, now: number, pauseMs: number): ChildProcess {
    const script = join(import.meta.dirname, "../support/reembed-child.ts");
    return spawn(process.execPath, ["--import", "tsx", script, path, String(now), "second", String(pauseMs)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Resolves with whether it ended by itself; calls `onStep` with the number of batches it has said. */
  async function watch(child: ChildProcess, onStep: (steps: number) => void = () => {}): Promise<boolean> {
    let steps = 0;
    let errors = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      steps += chunk.toString().split("\n").length - 1;
      onStep(steps);
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
      child.once("close", (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
    });
    if (code !== 0 && signal === null) throw new Error(`the child failed: ${errors}`);
    return signal === null;
  }

  it("killed at random points goes on and ends as if nothing had happened", async () => {
    const original = await makeBrain("kill.db", 2_000);
    const calm = openCopy(original, "calm.db");
    await reembed(calm.store, second());
    const disturbed = openCopy(original, "disturbed.db");
    const now = disturbed.clock.now();
    const progress: number[] = [];
    for (let round = 0; round < 4; round++) {
      const wanted = 1 + Math.floor(Math.random() * 2);
      const child = start(disturbed.path, now, 20);
      await watch(child, (steps) => {
        if (steps >= wanted) setTimeout(() => child.kill("SIGKILL"), Math.random() * 30);
      });
      expect(failures(disturbed.store)).toEqual([]);
      const state = disturbed.store.read(() => ({
        active: disturbed.store.models.required().name,
        done: disturbed.store.models.building() === null ? 2_000 : disturbed.store.models.buildProgress().done,
      }));
      if (state.active === "test-hash") {
        expect((await search(disturbed.store, disturbed.embedder, "tram")).results).not.toEqual([]);
      }
      progress.push(state.done);
    }
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(progress[0]).toBeGreaterThan(0);
    expect(progress[0]).toBeLessThan(2_000);
    expect(await watch(start(disturbed.path, now, 0))).toBe(true);
    expect(disturbed.store.read(() => disturbed.store.models.required()).name).toBe("second");
    expect(vectorRows(disturbed.store)).toEqual(vectorRows(calm.store));
    expect(await orders(disturbed.store, second())).toEqual(await orders(calm.store, second()));
    calm.close();
    disturbed.close();
  }, 120_000);

  it("lets no other do the same, while others search and write with the old model", async () => {
    const brain = openCopy(await makeBrain("two.db", 1_000), "two-copy.db");
    const child = start(brain.path, brain.clock.now(), 100);
    const ended = watch(child);
    await expect
      .poll(() => brain.store.read(() => brain.store.models.building())?.name, { timeout: 20_000 })
      .toBe("second");
    await expect(reembed(brain.store, second())).rejects.toEqual(expect.objectContaining({ code: "lease_held" }));
    expect(brain.store.leases.runningHolder("model")).toBe(child.pid);
    const [written] = await brain.remember("a marimba, remembered by another process");
    expect((await search(brain.store, brain.embedder, "marimba")).results[0]?.id).toBe(written?.id);
    expect(await ended).toBe(true);
    expect((await search(brain.store, second(), "marimba")).results[0]?.id).toBe(written?.id);
    const id = brain.store.thoughts.resolve(written?.id ?? "");
    expect(brain.store.vectors.get(id)).not.toBeNull();
    brain.close();
  }, 60_000);
});
