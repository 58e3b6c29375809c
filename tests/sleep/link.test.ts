import { describe, expect, test } from "vitest";
import { MS_PER_MINUTE } from "../../src/core/clock.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { type NearThought, planLinks, type Visit } from "../../src/sleep/link.ts";
import { DEFAULT_SLEEP_CONFIG } from "../../src/sleep/phase.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { readSleepState } from "../support/sleep-state.ts";

const THRESHOLDS = { randomMean: 0, link: 0.7, kin: 0.5, duplicate: 0.99, merge: 0.95 };

/** A visit whose neighbours are [id, cosine]. */
const visit = (nodeId: number, near: [number, number][], known: Partial<NearThought> = {}): Visit => ({
  nodeId,
  degree: 0,
  near: near.map(([id, cosine]) => ({ nodeId: id, cosine, isLinked: false, isAdjacent: false, degree: 0, ...known })),
});

const ends = (visits: Visit[], config = DEFAULT_SLEEP_CONFIG) =>
  planLinks(visits, THRESHOLDS, config).map(({ fromId, toId }) => `${fromId}-${toId}`);

describe("planning links", () => {
  test("takes the nearest above the threshold, each pair once, from the older to the newer", () => {
    const first = visit(5, [
      [2, 0.9],
      [9, 0.8],
      [3, 0.6],
    ]);
    expect(ends([first, visit(2, [[5, 0.9]])])).toEqual(["2-5", "5-9"]);
  });

  test("leaves out what is linked already and what stands next to it in a conversation", () => {
    expect(ends([visit(5, [[2, 0.9]])])).toEqual(["2-5"]);
    expect(ends([visit(5, [[2, 0.9]], { isLinked: true })])).toEqual([]);
    expect(ends([visit(5, [[2, 0.9]], { isAdjacent: true })])).toEqual([]);
  });

  test("stops at so many new links a visit and so many in all, at either end", () => {
    const many = visit(
      5,
      [1, 2, 3, 4, 6, 7, 8].map((id) => [id, 0.9]),
    );
    expect(ends([many])).toHaveLength(DEFAULT_SLEEP_CONFIG.linkNeighbors);
    const crowd = [10, 11, 12, 13].map((id) => ({ ...visit(id, [[1, 0.9]]), degree: 1 }));
    expect(ends(crowd, { ...DEFAULT_SLEEP_CONFIG, linkDegree: 3 })).toEqual(["1-10", "1-11", "1-12"]);
    expect(ends([{ ...visit(5, [[2, 0.9]]), degree: DEFAULT_SLEEP_CONFIG.linkDegree }])).toEqual([]);
  });

  test("joins a thought without any to the one nearest kin, and to no more below the threshold", () => {
    const kin: [number, number][] = [
      [2, 0.6],
      [3, 0.58],
    ];
    expect(ends([visit(5, kin)])).toEqual(["2-5"]);
    expect(ends([{ ...visit(5, kin), degree: 1 }])).toEqual([]);
    expect(ends([visit(5, [[2, 0.49]])])).toEqual([]);
    // Its kin stands beside it in a conversation, which holds nothing: the next one counts.
    const beside = visit(5, kin);
    const [first, second] = beside.near;
    expect(
      ends([{ ...beside, near: [{ ...(first as NearThought), isAdjacent: true }, second as NearThought] }]),
    ).toEqual(["3-5"]);
  });

  test("gives one link to a thought without any, however crowded its neighbours", () => {
    const near: [number, number][] = [
      [2, 0.9],
      [3, 0.9],
    ];
    const crowded = { degree: DEFAULT_SLEEP_CONFIG.linkDegree };
    expect(ends([visit(5, near, crowded)])).toEqual(["2-5"]);
    expect(ends([{ ...visit(5, near, crowded), degree: 1 }])).toEqual([]);
  });

  test("does not depend on where the batches are cut", () => {
    const visits = [4, 5, 6].map((id) => ({ ...visit(id, [[1, 0.9]]), degree: 1 }));
    const config = { ...DEFAULT_SLEEP_CONFIG, linkDegree: 2 };
    const later = [5, 6].map((id) => ({ ...visit(id, [[1, 0.9]], { degree: 1 }), degree: 1 }));
    expect(ends(visits, config)).toEqual(["1-4", "1-5"]);
    expect([...ends(visits.slice(0, 1), config), ...ends(later, config)]).toEqual(ends(visits, config));
  });
});

const NOTE = "the heating in the cellar is serviced every autumn by the same firm from";
const near = (place: string, extra: Partial<RememberInput> = {}): RememberInput => ({
  content: `${NOTE} ${place}`,
  ...extra,
});

const linksOf = (brain: TestStore) => readSleepState(brain.store).links;
const sleep = (brain: TestStore, options = {}) => runSleep(brain.store, brain.embedder, options);
const phase = (report: Awaited<ReturnType<typeof sleep>>, name: string) =>
  report.phases.find((entry) => entry.name === name);

describe("linking in a brain", () => {
  test("joins what is near and nothing else, and never twice", async () => {
    const brain = createTestStore();
    const results = await brain.remember(near("Lyon"), near("Oslo"), "a fox ran over the frozen lake at dawn");
    const report = await sleep(brain);
    expect(phase(report, "link")).toMatchObject({ planned: 1, applied: 1 });
    const [link] = linksOf(brain);
    expect(link).toContain(results[0]?.id ?? "");
    expect(link).toContain(results[1]?.id ?? "");
    expect(phase(await sleep(brain), "link")).toMatchObject({ planned: 0, details: { visited: 0 } });
    expect(linksOf(brain)).toHaveLength(1);
    brain.close();
  });

  test("never across scopes", async () => {
    const brain = createTestStore();
    await brain.remember(near("Lyon", { scope: "work" }), near("Oslo", { scope: "secret" }));
    expect(phase(await sleep(brain), "link")?.applied).toBe(0);
    await brain.remember(near("Rome", { scope: "secret" }));
    expect(phase(await sleep(brain), "link")?.applied).toBe(1);
    brain.close();
  });

  test("does not join neighbours in a conversation again", async () => {
    const brain = createTestStore();
    const source = { type: "session" as const, key: "s1", name: "s1", trust: "trusted" as const };
    await brain.remember(near("Lyon", { occurrence: { source } }), near("Oslo", { occurrence: { source } }));
    expect(phase(await sleep(brain), "link")?.applied).toBe(0);
    await brain.remember(
      "a fox ran over the frozen lake at dawn",
      near("Rome", { occurrence: { source: { ...source, key: "s2" } } }),
    );
    expect(phase(await sleep(brain), "link")?.applied).toBe(2);
    brain.close();
  });

  test("each batch of links is one event", async () => {
    const brain = createTestStore();
    await brain.remember(near("Lyon"), near("Oslo"), near("Rome"));
    await sleep(brain);
    expect(linksOf(brain)).toHaveLength(3);
    const events = brain.store.ledger.list({ limit: 100 }).filter(({ kind }) => kind === "link.added");
    expect(events).toHaveLength(1);
    expect(events[0]?.payload).toMatchObject({ count: 3 });
    brain.close();
  });

  test("old thoughts are visited again only when new ones come, a quarter as many, in turn", async () => {
    const brain = createTestStore();
    await brain.remember(
      ...Array.from({ length: 20 }, (_, index) => `alpha${index} beta${index * 7} gamma${index * 3}`),
    );
    expect(phase(await sleep(brain), "link")?.details).toMatchObject({ visited: 20 });
    await brain.remember(...Array.from({ length: 8 }, (_, index) => `delta${index} omega${index * 5}`));
    expect(phase(await sleep(brain), "link")?.details).toMatchObject({ visited: 8 + 2 });
    expect(phase(await sleep(brain), "link")?.details).toMatchObject({ visited: 0 });
    brain.close();
  });

  test("what waits for its vector is not passed over", async () => {
    const brain = createTestStore();
    const [first, second] = await brain.remember(near("Lyon"), near("Oslo"), "a fox ran over the lake");
    const id = brain.store.thoughts.resolve(second?.id ?? "");
    const table = brain.store.models.active()?.vecTable ?? "";
    brain.store.connection.db.prepare(`DELETE FROM ${table} WHERE node_id = ?`).run(BigInt(id));
    const report = await sleep(brain, { phases: ["link"] });
    expect(phase(report, "link")?.details).toMatchObject({ visited: 1 });
    const whole = await sleep(brain);
    expect(phase(whole, "embed")).toMatchObject({ planned: 1, applied: 1 });
    expect(linksOf(brain)[0]).toContain(first?.id ?? "");
    brain.close();
  });

  test("goes on where the time ran out", async () => {
    const brain = createTestStore();
    await brain.remember(...Array.from({ length: 450 }, (_, index) => `${NOTE} ${index % 9} ${index} ${index * 13}`));
    let calls = 0;
    const onProgress = () => {
      calls += 1;
      if (calls === 1) brain.clock.advance(2 * MS_PER_MINUTE);
    };
    const cut = await sleep(brain, { phases: ["link"], maxMinutes: 1, onProgress });
    expect(phase(cut, "link")?.details).toMatchObject({ visited: 200, stopped: 1 });
    const rest = await sleep(brain, { phases: ["link"] });
    expect(phase(rest, "link")?.details).toMatchObject({ visited: 250, stopped: 0 });
    brain.close();
  });
});
