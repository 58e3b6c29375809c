/** Random small brains against a decay computed the slow way, and the promises every night keeps. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { DEFAULT_SLEEP_CONFIG } from "../../src/sleep/phase.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import type { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { readSleepState } from "../support/sleep-state.ts";

const alone = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");

interface Plan {
  /** Days that pass before it is remembered. */
  readonly wait: number;
  /** Earlier thoughts that each justify it alone. */
  readonly parents: readonly number[];
  readonly linkTo: number | null;
  readonly read: boolean;
  readonly permanence: number;
  readonly decayed: number;
  readonly belief: number;
}

const thought: fc.Arbitrary<Plan> = fc.record({
  wait: fc.integer({ min: 0, max: 9 }),
  parents: fc.oneof(fc.constant([]), fc.array(fc.nat(30), { minLength: 1, maxLength: 2 })),
  linkTo: fc.oneof(fc.constant(null), fc.constant(null), fc.nat(30)),
  read: fc.constantFrom(false, false, false, true),
  permanence: fc.constantFrom(0, 0, 0, 0, 0, 0, 2),
  decayed: fc.constantFrom(0, 0, 0, 3, 4, 4),
  belief: fc.constantFrom(0, 0, 0, 0, 2, 3),
});

async function build(plans: readonly Plan[], wait: number): Promise<{ brain: TestStore; ids: number[] }> {
  const brain = createTestStore();
  const ids: number[] = [];
  const { store, clock } = brain;
  for (const [index, plan] of plans.entries()) {
    clock.advance(plan.wait * MS_PER_DAY);
    const parents = ids.length === 0 ? [] : [...new Set(plan.parents.map((at) => ids[at % ids.length] ?? 0))];
    const legs = parents.map((id) => ({ parents: [store.thoughts.publicId(id)] }));
    const [result] = await brain.remember({ content: alone(`t${index}x`), ...(legs.length > 0 ? { legs } : {}) });
    const id = store.thoughts.resolve(result?.id ?? "");
    const other = plan.linkTo === null || ids.length === 0 ? undefined : ids[plan.linkTo % ids.length];
    store.write(() => {
      if (other !== undefined) store.links.add([{ type: "mention", fromId: id, toId: other, weight: 500 }], "person");
      if (plan.read) store.operations.noteAccess([id], dayOf(clock.now()));
    });
    ids.push(id);
  }
  // States come last: a leg may not rest on what is out already.
  store.write(() => {
    for (const [index, { permanence, decayed, belief }] of plans.entries()) {
      const nodeId = ids[index] ?? 0;
      store.ledger.record({
        kind: "attributes.set",
        actor: "person",
        payload: {},
        changes: [
          { nodeId, axis: "permanence", to: permanence },
          { nodeId, axis: "decayed", to: decayed },
          { nodeId, axis: "belief", to: belief },
        ],
      });
    }
  });
  clock.advance(wait * MS_PER_DAY);
  return { brain, ids };
}

interface Row {
  readonly id: number;
  readonly recordedAt: number;
  readonly permanence: number;
  readonly belief: number;
  readonly wasRead: number;
  decayed: number;
}

/** Which thoughts must be gone after a night, by the words of the design: repeat until nothing changes. */
function slowDecay(store: Store, now: number): Map<number, "disuse" | "cascade"> {
  const rows = store.connection
    .sql<Row>(
      `SELECT n.id, recorded_at AS recordedAt, permanence, belief, decayed,
         EXISTS (SELECT 1 FROM access_day a WHERE a.node_id = n.id) AS wasRead FROM node n WHERE role = 1`,
    )
    .all();
  const byId = new Map(rows.map((row) => [row.id, row]));
  const edges = store.connection
    .sql<{ parent: number; child: number }>("SELECT parent_id AS parent, child_id AS child FROM derivation")
    .all()
    .filter(({ parent }) => byId.has(parent));
  const links = store.connection.sql<{ a: number; b: number }>("SELECT from_id AS a, to_id AS b FROM link").all();
  const isVisible = (id: number) => {
    const row = byId.get(id);
    return row !== undefined && row.decayed === 0 && row.belief < 3;
  };
  const gone = new Map<number, "disuse" | "cascade">();
  for (let changed = true; changed; ) {
    changed = false;
    for (const row of rows) {
      if (!isVisible(row.id) || row.permanence > 0 || row.belief !== 0 || row.wasRead === 1) continue;
      const ageDays = (now - row.recordedAt) / MS_PER_DAY;
      const parents = edges.filter(({ child }) => child === row.id).map(({ parent }) => parent);
      const joined = [
        ...parents,
        ...edges.filter(({ parent }) => parent === row.id).map(({ child }) => child),
        ...links.flatMap(({ a, b }) => (a === row.id ? [b] : b === row.id ? [a] : [])),
      ];
      const fallen = parents.some((id) => [1, 2, 4].includes(byId.get(id)?.decayed ?? 0));
      const follows = fallen && !parents.some(isVisible) && ageDays >= DEFAULT_SLEEP_CONFIG.cascadeAgeDays;
      if (follows || (!joined.some(isVisible) && ageDays >= DEFAULT_SLEEP_CONFIG.decayAgeDays)) {
        row.decayed = follows ? 2 : 1;
        gone.set(row.id, follows ? "cascade" : "disuse");
        changed = true;
      }
    }
  }
  return gone;
}

test("exactly that decays which nothing holds, for the reason given; nothing permanent ever does", async () => {
  const reasons = { disuse: 0, cascade: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(thought, { minLength: 4, maxLength: 14 }),
      fc.integer({ min: 5, max: 60 }),
      async (plans, wait) => {
        const { brain, ids } = await build(plans, wait);
        const { store } = brain;
        const before = new Map(ids.map((id) => [id, store.thoughts.state(id)]));
        await runSleep(store, brain.embedder, { phases: ["calibrate", "consolidate", "link"] });
        const expected = slowDecay(store, brain.clock.now());
        const dry = await runSleep(store, brain.embedder, { phases: ["decay"], dryRun: true });
        const real = await runSleep(store, brain.embedder, { phases: ["decay"] });
        expect(dry.phases[0]?.planned).toBe(expected.size);
        expect(real.phases[0]).toMatchObject({ planned: expected.size, applied: expected.size });
        for (const id of ids) {
          const state = store.thoughts.state(id);
          expect([id, state.decayed]).toEqual([id, expected.get(id) ?? before.get(id)?.decayed]);
          if (before.get(id)?.permanence !== "none") expect(state.decayed).toBe(before.get(id)?.decayed);
        }
        for (const reason of expected.values()) reasons[reason] += 1;
        expect(checkIntegrity(store).filter(({ violations }) => violations > 0)).toEqual([]);
        brain.close();
      },
    ),
    { numRuns: 80 },
  );
  expect(Math.min(reasons.disuse, reasons.cascade), JSON.stringify(reasons)).toBeGreaterThan(0);
}, 120_000);

test("a second night changes nothing", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(thought, { minLength: 1, maxLength: 10 }),
      fc.integer({ min: 5, max: 60 }),
      async (plans, wait) => {
        const { brain } = await build(plans, wait);
        await runSleep(brain.store, brain.embedder);
        const state = readSleepState(brain.store);
        const again = await runSleep(brain.store, brain.embedder);
        expect(again.phases.map(({ planned }) => planned)).toEqual(again.phases.map(() => 0));
        expect(readSleepState(brain.store)).toEqual(state);
        brain.close();
      },
    ),
    { numRuns: 15 },
  );
}, 120_000);
