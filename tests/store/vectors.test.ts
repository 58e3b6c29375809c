import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RememberInput } from "../../src/core/types.ts";
import { search } from "../../src/retrieve/search.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { Eligible } from "../../src/store/eligible.ts";
import type { VectorFilter } from "../../src/store/vectors.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { idTest, SMALL_CELLS, searchEverything } from "../support/cells.ts";

const WORDS = "river stone lamp garden winter bread music harbour paper cloud wool salt bridge clock mirror fox".split(
  " ",
);
const SCOPES = ["personal", "work", "secret"];
const KINDS = ["fact", "belief", "decision"];
const DOMAINS = [undefined, "house", "boat"];

/** A thought that the numbers choose. */
function thought(seed: number): RememberInput {
  const pick = (turn: number) => WORDS[(seed * (turn * 7 + 3) + (seed >> turn)) % WORDS.length];
  const domain = DOMAINS[seed % 3];
  return {
    content: `${[1, 2, 3, 4].map(pick).join(" ")} ${seed}`,
    scope: SCOPES[seed % 5 === 0 ? 1 : seed % 31 === 0 ? 2 : 0] ?? "",
    kind: KINDS[seed % 2 === 0 ? 0 : seed % 7 === 0 ? 2 : 1] ?? "",
    ...(domain === undefined ? {} : { domain }),
    tags: seed % 40 === 0 ? ["rare"] : [],
  };
}

const shelve = (brain: TestStore, config = SMALL_CELLS) =>
  runSleep(brain.store, brain.embedder, { phases: ["shelve"], config });
const open = (brain: TestStore): VectorFilter => ({ scopeIds: brain.store.scopes.readableIds() });

describe("the nearest vectors of a brain without cells", () => {
  let brain: TestStore;
  beforeAll(async () => {
    brain = createTestStore();
    await brain.remember(...Array.from({ length: 300 }, (_, index) => thought(index)));
  });
  afterAll(() => brain.close());

  it("are exactly those of a search through everything, for any k and filter", async () => {
    const { store, embedder } = brain;
    await fc.assert(
      fc.asyncProperty(filters(), fc.integer({ min: 1, max: 400 }), words(), async (chosen, k, text) => {
        const query = await embedder.embedQuery(text);
        const filter = toFilter(brain, chosen);
        const found = store.vectors.nearest(query, k, filter);
        expect(found).toEqual({ neighbors: searchEverything(store, query, k, filter), exact: true });
      }),
      { numRuns: 60 },
    );
  });

  it("agree with sqlite-vec's own search", async () => {
    const { store } = brain;
    const query = await brain.embedder.embedQuery("winter bread and music");
    const table = store.models.required().vecTable;
    const distances = store.connection.db
      .prepare(
        `SELECT distance FROM ${table} WHERE embedding MATCH vec_int8(?) AND k = 50 AND hidden = 0 ORDER BY distance`,
      )
      .pluck()
      .all(Buffer.from(query.buffer)) as number[];
    const { neighbors } = store.vectors.nearest(query, 50, open(brain));
    expect(neighbors).toHaveLength(50);
    neighbors.forEach(({ cosine }, at) => {
      expect(cosine).toBeCloseTo(1 - (distances[at] ?? 0) ** 2 / (2 * 127 * 127), 5);
    });
  });
});

/** What a property chooses a filter from. */
interface Chosen {
  readonly scopes: readonly number[];
  readonly kinds: readonly number[] | null;
  readonly domains: readonly number[] | null;
  readonly everyNth: number | null;
}

const filters = (): fc.Arbitrary<Chosen> =>
  fc.record({
    scopes: fc.subarray([0, 1, 2], { minLength: 2 }),
    kinds: fc.option(fc.subarray([0, 1, 2], { minLength: 1 }), { freq: 1 }),
    domains: fc.option(fc.subarray([1, 2], { minLength: 1 }), { freq: 1 }),
    everyNth: fc.option(fc.integer({ min: 1, max: 150 }), { freq: 1 }),
  });
const words = () => fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 5 }).map((list) => list.join(" "));

function toFilter({ store }: TestStore, { scopes, kinds, domains, everyNth }: Chosen): VectorFilter {
  const idsOf = (type: "kind" | "domain", names: readonly (string | undefined)[], places: readonly number[]) =>
    places.flatMap((place) => store.labels.find(type, names[place] ?? "") ?? []);
  const step = everyNth ?? 1;
  const eligible = idTest("SELECT id FROM node WHERE id % ? = 0", [step], (nodeId) => nodeId % step === 0);
  return {
    scopeIds: scopes.flatMap((place) => store.scopes.idOf(SCOPES[place])),
    ...(kinds === null ? {} : { kindIds: idsOf("kind", KINDS, kinds) }),
    ...(domains === null ? {} : { domainIds: idsOf("domain", DOMAINS, domains) }),
    ...(everyNth === null ? {} : { eligible }),
  };
}

/** Takes a thought out of search. */
function forget({ store }: TestStore, nodeId: number): void {
  store.write(() =>
    store.ledger.record({
      kind: "decayed",
      actor: "person",
      payload: {},
      changes: [{ nodeId, axis: "decayed", to: 3 }],
    }),
  );
}

describe("the nearest vectors of a shelved brain", () => {
  const SHELVED = 5_600;
  let brain: TestStore;
  beforeAll(async () => {
    brain = createTestStore();
    const rare = { content: "five of a kind, far from all the rest", kind: "rare" };
    await brain.remember(...Array.from({ length: SHELVED - 5 }, (_, index) => thought(index)));
    await brain.remember(...[1, 2, 3, 4, 5].map((turn) => ({ ...rare, content: `${rare.content} ${turn}` })));
    await shelve(brain);
    // Fresh rows after the shelving, and hidden ones on both sides of it.
    await brain.remember(...Array.from({ length: 400 }, (_, index) => thought(SHELVED + index)));
    const ids = brain.store.thoughts.idsAfter(0, 10_000);
    for (const nodeId of ids.filter((_, at) => at % 23 === 7)) forget(brain, nodeId);
  }, 120_000);
  afterAll(() => brain.close());

  it("stand in cells, the fresh ones apart", () => {
    const [fresh, ...cells] = brain.store.vectors.cells.sizes();
    expect(fresh?.rows).toBe(400);
    expect(cells.length).toBeGreaterThan(200);
    expect(cells.reduce((sum, { rows }) => sum + rows, 0)).toBe(SHELVED);
  });

  it("are those of a search through everything when all cells are read, for any k and filter", async () => {
    const { store, embedder } = brain;
    await fc.assert(
      fc.asyncProperty(filters(), fc.integer({ min: 1, max: 200 }), words(), async (chosen, k, text) => {
        const query = await embedder.embedQuery(text);
        const filter = toFilter(brain, chosen);
        const { neighbors, exact } = store.vectors.nearest(query, k, { ...filter, exact: true });
        expect(exact).toBe(true);
        expect(neighbors).toEqual(searchEverything(store, query, k, filter));
      }),
      { numRuns: 15 },
    );
  });

  it("by cells are eligible, at their true distance and most of the true ones; or exact, and then say so", async () => {
    const { store, embedder } = brain;
    let byCells = 0;
    let found = 0;
    let wanted = 0;
    await fc.assert(
      fc.asyncProperty(filters(), fc.integer({ min: 1, max: 50 }), words(), async (chosen, k, text) => {
        const query = await embedder.embedQuery(text);
        const filter = toFilter(brain, chosen);
        const all = searchEverything(store, query, 10_000, filter);
        const { neighbors, exact } = store.vectors.nearest(query, k, filter);
        if (exact) {
          expect(neighbors).toEqual(all.slice(0, k));
          return;
        }
        byCells += 1;
        const cosines = new Map(all.map(({ nodeId, cosine }) => [nodeId, cosine]));
        expect(neighbors).toHaveLength(Math.min(k, all.length));
        for (const { nodeId, cosine } of neighbors) expect(cosine).toBe(cosines.get(nodeId));
        expect(neighbors).toEqual([...neighbors].sort((a, b) => b.cosine - a.cosine || a.nodeId - b.nodeId));
        const least = all[k - 1]?.cosine ?? -1;
        found += neighbors.filter(({ cosine }) => cosine >= least).length;
        wanted += Math.min(k, all.length);
      }),
      { numRuns: 50, seed: 7 },
    );
    expect(byCells).toBeGreaterThan(3);
    expect(found / wanted).toBeGreaterThan(0.9);
  }, 60_000);

  it("that a filter leaves are found all five, wherever their cells are", async () => {
    const { store } = brain;
    const query = await brain.embedder.embedQuery("river stone lamp garden");
    const kindIds = [store.labels.find("kind", "rare") ?? 0];
    const inNodes = new Eligible(store.connection, { kindIds });
    const far = searchEverything(store, query, 5, { ...open(brain), kindIds });
    expect(far.length).toBeGreaterThan(3);
    expect(far[0]?.cosine).toBeLessThan(store.vectors.nearest(query, 40, open(brain)).neighbors[39]?.cosine ?? 0);
    for (const filter of [{ kindIds }, { eligible: inNodes }]) {
      expect(store.vectors.nearest(query, 40, { ...open(brain), ...filter })).toEqual({ neighbors: far, exact: true });
    }
  });

  it("are all there for a k that sqlite-vec refuses", async () => {
    const { store } = brain;
    const query = await brain.embedder.embedQuery("paper cloud");
    const table = store.models.required().vecTable;
    const ask = () =>
      store.connection.db
        .prepare(`SELECT node_id FROM ${table} WHERE embedding MATCH vec_int8(?) AND k = 5000`)
        .all(Buffer.from(query.buffer));
    expect(ask).toThrow();
    const { neighbors } = store.vectors.nearest(query, 5_000, { ...open(brain), exact: true });
    expect(neighbors).toHaveLength(5_000);
    expect(neighbors).toEqual(searchEverything(store, query, 5_000, open(brain)));
    const found = new Set(store.vectors.nearest(query, 5_000, open(brain)).neighbors.map(({ nodeId }) => nodeId));
    expect(found.size).toBe(5_000);
  });

  it("have the cosine that the same rows have when they are asked for one by one", async () => {
    const query = await brain.embedder.embedQuery("salt bridge clock");
    const { neighbors } = brain.store.vectors.nearest(query, 300, open(brain));
    const cosines = brain.store.vectors.cosines(
      query,
      neighbors.map(({ nodeId }) => nodeId),
    );
    expect(neighbors).toHaveLength(300);
    for (const { nodeId, cosine } of neighbors) expect(cosines.get(nodeId)).toBe(cosine);
  });

  it("come with a search's word on whether they are exact", async () => {
    const { store, embedder } = brain;
    expect((await search(store, embedder, "winter bread music")).scanned.exact).toBe(false);
    expect((await search(store, embedder, "winter bread music", { kinds: ["rare"] })).scanned.exact).toBe(true);
  });

  it("follow a thought that is hidden after the shelving, and shown again", async () => {
    const { store } = brain;
    const query = await brain.embedder.embedQuery("winter bread music harbour");
    const first = store.vectors.nearest(query, 1, open(brain)).neighbors[0]?.nodeId ?? 0;
    forget(brain, first);
    expect(store.vectors.get(first)).not.toBeNull();
    expect(store.vectors.nearest(query, 50, open(brain)).neighbors.map(({ nodeId }) => nodeId)).not.toContain(first);
    store.write(() =>
      store.ledger.record({
        kind: "revived",
        actor: "person",
        payload: {},
        changes: [{ nodeId: first, axis: "decayed", to: 0 }],
      }),
    );
    expect(store.vectors.nearest(query, 1, open(brain)).neighbors[0]?.nodeId).toBe(first);
  });
});

describe("rows that are kept in memory between searches", () => {
  let near: TestStore;
  beforeAll(async () => {
    near = createTestStore();
    await near.remember(...Array.from({ length: 60 }, (_, index) => thought(index + 1)));
  });
  afterAll(() => near.close());

  const filter = () => ({ scopeIds: near.store.scopes.readableIds() });
  const ids = (query: Int8Array) =>
    near.store.vectors.nearest(query, 100, filter()).neighbors.map(({ nodeId }) => nodeId);

  it("are read again after this connection wrote one, another did, and one was rolled back", async () => {
    const query = await near.embedder.embedQuery("river lamp");
    const before = ids(query);
    expect(ids(query)).toEqual(before);

    const [own] = await near.remember("river lamp of one's own");
    const ownId = near.store.thoughts.resolve(own?.id ?? "");
    expect(ids(query)).toContain(ownId);

    const other = createTestStore({ path: near.path });
    const [theirs] = await other.remember("river lamp of another process");
    other.close();
    const theirId = near.store.thoughts.resolve(theirs?.id ?? "");
    expect(ids(query)).toContain(theirId);

    let inside: number[] = [];
    expect(() =>
      near.store.write(() => {
        near.store.ledger.record({
          kind: "decayed",
          actor: "sleep",
          payload: {},
          changes: [{ nodeId: theirId, axis: "decayed", to: 1 }],
        });
        inside = ids(query);
        throw new Error("rolled back");
      }),
    ).toThrow("rolled back");
    expect(inside).not.toContain(theirId);
    expect(ids(query)).toContain(theirId);
    expect(ids(query)).toEqual(searchEverything(near.store, query, 100, filter()).map(({ nodeId }) => nodeId));
  });
});
