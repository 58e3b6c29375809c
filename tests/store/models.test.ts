import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";

const model = (name: string, dimensions = 64, revision = "1") => ({ name, revision, dimensions, runtime: "test" });

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const tables = () =>
  brain.store.connection.db
    .prepare("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE vectors_%' ORDER BY name")
    .pluck()
    .all();

describe("the registry of models", () => {
  it("takes the first model that makes a vector, and refuses another", async () => {
    const { models } = brain.store;
    expect(models.active()).toBeNull();
    await brain.remember("the first thought");
    expect(models.active()?.name).toBe("test-hash");
    expect(() => models.use(model("test-hash"))).not.toThrow();
    for (const other of [model("other"), model("test-hash", 64, "2"), model("test-hash", 32)]) {
      expect(models.isActive(other)).toBe(false);
      expect(() => models.use(other)).toThrow(expect.objectContaining({ code: "model_mismatch" }));
    }
  });

  it("refuses to compare vectors of two models of the same dimensions, on every path that could mix them", async () => {
    await brain.remember("a thought of the first model");
    const second = createHashEmbedder(64, "second");
    const { store } = brain;
    const { search } = await import("../../src/retrieve/search.ts");
    const { rememberAll } = await import("../../src/remember/remember.ts");
    const mismatch = expect.objectContaining({ code: "model_mismatch" });
    await expect(search(store, second, "thought")).rejects.toEqual(mismatch);
    await expect(rememberAll(store, second, [{ content: "another" }], { actor: "person" })).rejects.toEqual(mismatch);
    expect(store.vectors.count()).toBe(1);
    await expect(search(store, brain.embedder, "thought")).resolves.toMatchObject({ results: [{}] });
  });

  it("keeps one model beside the active one, and gives up an earlier attempt at another", async () => {
    await brain.remember("a thought");
    const { store } = brain;
    store.write(() => store.models.begin(model("second")));
    const second = store.models.building();
    expect([store.models.active()?.name, second?.name]).toEqual(["test-hash", "second"]);
    store.write(() => store.models.begin(model("second")));
    expect(store.models.building()?.id).toBe(second?.id);
    store.write(() => store.models.begin(model("third", 8)));
    expect(store.models.building()?.name).toBe("third");
    expect(tables()).toHaveLength(2);
    store.write(() => store.models.abandon());
    expect(store.models.building()).toBeNull();
    expect(tables()).toEqual([store.models.required().vecTable]);
  });

  it("drops the old vectors when the new model takes their place", async () => {
    await brain.remember("one", "two");
    const { store } = brain;
    const old = store.models.required();
    store.write(() => store.models.begin(model("second", 16)));
    expect(store.models.unbuilt(0, 10)).toHaveLength(2);
    for (const id of store.models.unbuilt(0, 10)) {
      store.write(() => store.buildingVectors.insert(id, new Int8Array(16).fill(30)));
    }
    expect(store.models.buildProgress()).toEqual({ done: 2, total: 2 });
    store.write(() => store.models.activate());
    expect(store.models.active()).toMatchObject({ name: "second", dimensions: 16 });
    expect(store.models.building()).toBeNull();
    expect(tables()).not.toContain(old.vecTable);
    expect(store.vectors.count()).toBe(2);
    expect(() => store.models.requiredBuilding()).toThrow(expect.objectContaining({ code: "not_found" }));
  });

  it("never gives the table of a dropped model to another", async () => {
    await brain.remember("a thought");
    const { store } = brain;
    const names = ["a", "b", "c"].map((name) => {
      store.write(() => store.models.begin(model(name)));
      return store.models.requiredBuilding().vecTable;
    });
    expect(new Set(names).size).toBe(3);
  });

  it("sees what another process made of it", async () => {
    await brain.remember("a thought");
    const other = createTestStore({ path: brain.path });
    expect(other.store.models.active()?.name).toBe("test-hash");
    brain.store.write(() => brain.store.models.begin(model("second")));
    expect(other.store.read(() => other.store.models.building())?.name).toBe("second");
    brain.store.write(() => brain.store.models.activate());
    expect(other.store.read(() => other.store.models.active())?.name).toBe("second");
    other.close();
  });
});

describe("the checks", () => {
  it("look at the vectors of the model being built too", async () => {
    const [result] = await brain.remember("a thought that will be told apart");
    const { store } = brain;
    store.write(() => store.models.begin(model("second")));
    const id = store.thoughts.resolve(result?.id ?? "");
    store.write(() => store.buildingVectors.insert(id, new Int8Array(64).fill(10)));
    const failed = () =>
      checkIntegrity(store)
        .filter(({ violations }) => violations > 0)
        .map(({ name, sample }) => ({ name, sample }));
    expect(failed()).toEqual([]);
    const { vecTable } = store.models.requiredBuilding();
    store.connection.db.exec(`UPDATE ${vecTable} SET hidden = 1 WHERE node_id = ${id}`);
    expect(failed()).toEqual([{ name: "vector_row_differs", sample: [result?.id] }]);
    store.connection.db.exec(`UPDATE ${vecTable} SET hidden = 0 WHERE node_id = ${id}`);
    store.connection.db
      .prepare(
        `INSERT INTO ${vecTable} (scope, kind, domain, hidden, node_id, cell, embedding) VALUES (1, 1, 0, 0, 9999, 0, vec_int8(?))`,
      )
      .run(Buffer.alloc(64));
    expect(failed().map(({ name }) => name)).toEqual(["vector_row_stray"]);
  });
});
