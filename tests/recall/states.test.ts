import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { forget, pin, revive, unpin } from "../../src/recall/states.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

describe("a thought named in capitals", () => {
  it("goes by its own id in the answer and in the ledger", async () => {
    const [result] = await brain.remember("one");
    const id = result?.id ?? "";
    const typed = id.toUpperCase();
    const { store } = brain;
    for (const change of [
      () => forget(store, typed, "out of date", "person"),
      () => revive(store, typed, "person"),
      () => pin(store, typed, "person"),
      () => unpin(store, typed, "person"),
    ]) {
      expect(change()).toMatchObject({ id, changed: true });
      const [event] = store.ledger.list({ limit: 1 });
      expect(event?.payload).toMatchObject({ node: id });
      expect(JSON.stringify(event?.payload)).not.toContain(typed);
    }
    expect(unpin(store, typed, "person")).toEqual({ id, changed: false, event: null });
  });
});
