import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Notes } from "../../src/store/notes.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
let notes: Notes;
beforeEach(() => {
  brain = createTestStore();
  notes = new Notes(brain.store);
});
afterEach(() => brain.close());

const file = (key: string) => ({ type: "file" as const, key, name: key, trust: "trusted" as const });

/** A thought that stands in two notes, both with a wikilink to the same target, joined to one link. */
async function joinTwice() {
  const { store } = brain;
  const results = await brain.remember(
    { content: "See the plan", occurrence: { source: file("a.md"), recordKey: "1" } },
    { content: "See the plan", occurrence: { source: file("b.md"), recordKey: "2" } },
    { content: "The plan", occurrence: { source: file("plan.md"), recordKey: "3" } },
  );
  const [fromId = 0, , toId = 0] = results.map(({ id }) => store.thoughts.resolve(id ?? ""));
  store.write(() => {
    const mentions = store.occurrences.sample(fromId, 100).map(({ id }) => ({
      occurrenceId: id,
      nodeId: fromId,
      targetDigest: store.digest("mention", "plan").subarray(0, 16),
      target: "plan",
    }));
    store.links.addMentions(mentions, "extractor");
  });
  const joins = notes.unjoinedMentions(0, 10).map(({ id }) => ({ mentionId: id, fromId, toId }));
  await expectAudited(store, () => store.write(() => notes.joinMentions(joins, "extractor")));
  const planSource = store.sources.find("file", "plan.md") ?? 0;
  return { store, fromId, toId, mentions: notes.mentionsInto(planSource) };
}

describe("mentions of one link", () => {
  it("are parted one at a time, each under its event; the link ends with the last", async () => {
    const { store, fromId, toId, mentions } = await joinTwice();
    expect(mentions).toHaveLength(2);
    const kinds = () => store.ledger.list({ limit: 2 }).map(({ kind }) => kind);
    const part = (index: number) => () =>
      store.write(() => notes.partMentions(mentions.slice(index, index + 1), "extractor"));

    const first = await expectAudited(store, part(0));
    expect(first).toEqual({ events: 1, changedRows: 1 });
    expect(kinds()[0]).toBe("mention.parted");
    expect(store.links.has("mention", fromId, toId)).toBe(true);

    const second = await expectAudited(store, part(1));
    expect(second).toEqual({ events: 2, changedRows: 2 });
    expect(kinds()).toEqual(["link.ended", "mention.parted"]);
    expect(store.links.has("mention", fromId, toId)).toBe(false);
  });

  it("leave no event when none is parted", async () => {
    const { store } = await joinTwice();
    const result = await expectAudited(store, () => store.write(() => notes.partMentions([], "extractor")));
    expect(result).toEqual({ events: 0, changedRows: 0 });
  });
});

describe("the audit", () => {
  it("notices a mention changed beside an event of another", async () => {
    const { store, mentions } = await joinTwice();
    const meddle = () =>
      store.write(() => {
        notes.partMentions(mentions.slice(0, 1), "extractor");
        store.connection.sql("UPDATE mention SET link_id = NULL WHERE id = ?").run(mentions[1]?.id);
      });
    await expect(expectAudited(store, meddle)).rejects.toThrow(`mention ${mentions[1]?.id}`);
  });

  it("notices an occurrence moved beside an event of another source", async () => {
    const { store, fromId } = await joinTwice();
    const [inA, inB] = store.occurrences.sample(fromId, 100);
    const move = (id: number | undefined) =>
      store.connection.sql("UPDATE occurrence SET ordinal = ordinal + 7 WHERE id = ?").run(id);
    const moveA = () => notes.moveOccurrences(inA?.sourceId ?? 0, [{ id: inA?.id ?? 0, to: 9_999 }], "extractor");
    await expectAudited(store, () => store.write(moveA));
    const moveBoth = () =>
      store.write(() => {
        notes.moveOccurrences(inA?.sourceId ?? 0, [{ id: inA?.id ?? 0, to: 5_555 }], "extractor");
        move(inB?.id);
      });
    await expect(expectAudited(store, moveBoth)).rejects.toThrow(`occurrence ${inB?.id}`);
  });

  it("notices a thread changed under an event that moved places only", async () => {
    const { store, fromId } = await joinTwice();
    const [inA] = store.occurrences.sample(fromId, 100);
    const meddle = () =>
      store.write(() => {
        notes.moveOccurrences(inA?.sourceId ?? 0, [{ id: inA?.id ?? 0, to: 5_555 }], "extractor");
        store.connection.sql("UPDATE occurrence SET thread = 3 WHERE id = ?").run(inA?.id);
      });
    await expect(expectAudited(store, meddle)).rejects.toThrow(`occurrence ${inA?.id}`);
  });
});
