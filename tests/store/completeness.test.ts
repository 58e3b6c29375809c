import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { forget, pin, revive, unpin } from "../../src/recall/states.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const rich = {
  content: "Ada moves to Lisbon in May",
  kind: "decision",
  domain: "home",
  tags: ["move"],
  aspects: ["episodic"],
  facets: [{ name: "city", value: "Lisbon" }],
  subjects: ["person-1"],
  speaker: "Ada",
  occurrence: {
    source: {
      type: "file" as const,
      key: "/notes/move.md",
      name: "move",
      reference: "move.md",
      trust: "trusted" as const,
    },
    recordKey: "1",
  },
};

describe("every use-case leaves an event for each canonical row it changes", () => {
  it("notices a row that came without one", async () => {
    await brain.remember("something");
    await expect(expectAudited(brain.store, () => brain.store.contents.add("a text of nobody"))).rejects.toThrow(
      "content",
    );
  });

  it("notices a link that was changed without one", async () => {
    const [a, b] = await brain.remember("one", "two");
    const { store } = brain;
    const id = (publicId: string | null | undefined) => store.thoughts.resolve(publicId ?? "");
    store.write(() => store.links.add([{ type: "similar", fromId: id(a?.id), toId: id(b?.id), weight: 5 }], "sleep"));
    await expect(expectAudited(store, () => store.connection.db.exec("UPDATE link SET weight = 6"))).rejects.toThrow(
      "link",
    );
  });

  it("remember: new, reinforced, with attributes, with legs", async () => {
    const first = await expectAudited(brain.store, () => brain.remember(rich));
    expect(first.changedRows).toBeGreaterThan(15);
    await expectAudited(brain.store, () =>
      brain.remember({
        ...rich,
        tags: ["another"],
        kind: "fact",
        due: 5,
        occurrence: { ...rich.occurrence, recordKey: "2" },
      }),
    );
    await expectAudited(brain.store, async () => {
      const [base] = await brain.remember("A base");
      await brain.remember({ content: "Derived", legs: [{ parents: [base?.id ?? "", rich.occurrence.source] }] });
    });
  });

  it("forget, revive, pin, unpin, and a revival by a new source", async () => {
    const [result] = await brain.remember(rich);
    const id = result?.id ?? "";
    for (const change of [
      () => forget(brain.store, id, "because", "person"),
      () => revive(brain.store, id, "person"),
      () => pin(brain.store, id, "person"),
      () => unpin(brain.store, id, "person"),
    ]) {
      const { events } = await expectAudited(brain.store, change);
      expect(events).toBe(1);
    }
    const nodeId = brain.store.thoughts.resolve(id);
    await expectAudited(brain.store, () =>
      brain.store.write(() =>
        brain.store.ledger.record({
          kind: "decayed",
          actor: "sleep",
          payload: {},
          changes: [{ nodeId, axis: "decayed", to: 1 }],
        }),
      ),
    );
    await expectAudited(brain.store, () =>
      brain.remember({
        ...rich,
        occurrence: { source: { ...rich.occurrence.source, key: "/notes/other.md" }, recordKey: "9" },
      }),
    );
    expect(brain.store.thoughts.state(nodeId).decayed).toBe("none");
  });

  it("nothing at all for what was known", async () => {
    await brain.remember(rich);
    const { events, changedRows } = await expectAudited(brain.store, () => brain.remember(rich));
    expect({ events, changedRows }).toEqual({ events: 0, changedRows: 0 });
  });
});
