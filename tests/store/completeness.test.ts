import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import { forget, pin, revive, unpin } from "../../src/recall/states.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { assistantLine, callLine, personLine, resultLine } from "../support/claude-lines.ts";
import { createTestFolder, extract } from "../support/extract.ts";

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

  it("extract: a session that grows, calls tools and is rewound", async () => {
    const folder = createTestFolder();
    const path = folder.write(
      "session.jsonl",
      personLine("Which tram goes to the flat?", { uuid: "u1", parent: "u0" }) +
        callLine("call-1", "WebFetch", { url: "https://example.org/trams" }) +
        resultLine("call-1", "a page") +
        assistantLine("The 28 does."),
    );
    const first = await expectAudited(brain.store, () => extract(brain, path));
    expect(first.changedRows).toBeGreaterThan(20);
    folder.append(
      "session.jsonl",
      personLine("Which bus goes to the flat?", { uuid: "u2", parent: "u0", at: "2026-02-03T10:09:00.000Z" }),
    );
    const { events } = await expectAudited(brain.store, () => extract(brain, path));
    expect(events).toBeGreaterThan(1);
    expect(brain.store.ledger.list({ limit: 10 }).map(({ kind }) => kind)).toContain("thread.split");
    folder.close();
  });

  it("extract: a vault whose notes are changed, moved, linked late and deleted", async () => {
    const folder = createTestFolder();
    folder.write("a.md", "# A\n\nFirst paragraph with [[b]].\n\nSecond paragraph.\n\nThird paragraph.\n");
    folder.write("c.md", "Something that will be deleted.\n");
    await expectAudited(brain.store, () => extract(brain, folder.path));
    folder.write("b.md", "The target of the link.\n");
    folder.write("a.md", "# A\n\nThird paragraph.\n\nFirst paragraph with [[b]].\n\nA second paragraph, rewritten.\n");
    folder.remove("c.md");
    const { changedRows } = await expectAudited(brain.store, () => extract(brain, folder.path));
    expect(changedRows).toBeGreaterThan(5);
    folder.close();
  });

  it("sleep: links, merges, permanence, decay, and what comes out again", async () => {
    const { store, clock, embedder } = brain;
    const words = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");
    const note = "the cellar heating gets serviced every autumn by that firm from";
    const results = await brain.remember(
      ...Array.from({ length: 60 }, (_, index) => `${note} town${index}`),
      ...Array.from({ length: 30 }, (_, index) => words(`lone${index}`)),
      `${note} Town1`,
    );
    clock.advance(40 * MS_PER_DAY);
    store.write(() => {
      const nodeId = store.thoughts.resolve(results[5]?.id ?? "");
      for (let back = 0; back < 9; back++) store.operations.noteAccess([nodeId], dayOf(clock.now()) - back);
    });
    const { changedRows } = await expectAudited(store, () => runSleep(store, embedder));
    expect(changedRows).toBeGreaterThan(50);
    const kinds = new Set(store.ledger.list({ limit: 1_000 }).map(({ kind }) => kind));
    for (const kind of ["link.added", "merged", "permanence.changed", "decayed"]) expect(kinds).toContain(kind);
    const survivor = [results[1]?.id, results[90]?.id].find(
      (id) => store.thoughts.state(store.thoughts.resolve(id ?? "")).mergedInto === null,
    );
    forget(store, survivor ?? "", "wrong", "person");
    await expectAudited(store, () => runSleep(store, embedder));
  });
});
