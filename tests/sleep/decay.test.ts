import { describe, expect, test } from "vitest";
import { dayOf, MS_PER_DAY } from "../../src/core/clock.ts";
import type { LinkType, RememberInput } from "../../src/core/types.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

/** A text like no other: the embedder finds nothing near it. */
const alone = (name: string) => [1, 2, 3, 4, 5, 6].map((part) => `${name}${part}`).join(" ");

const fileOf = (name: string): NonNullable<RememberInput["occurrence"]> => ({
  source: { type: "file", key: name, name, trust: "trusted" },
});

const sleep = (brain: TestStore, options = {}) => runSleep(brain.store, brain.embedder, options);
const decayedBy = (brain: TestStore, id: string) =>
  brain.store.thoughts.state(brain.store.thoughts.resolve(id)).decayed;
const days = (brain: TestStore, count: number) => brain.clock.advance(count * MS_PER_DAY);

async function remember(brain: TestStore, input: RememberInput | string): Promise<string> {
  const [result] = await brain.remember(input);
  return result?.id ?? "";
}

function setState(brain: TestStore, id: string, axis: "decayed" | "permanence" | "belief" | "recalled_by", to: number) {
  const nodeId = brain.store.thoughts.resolve(id);
  brain.store.write(() =>
    brain.store.ledger.record({ kind: "decayed", actor: "person", payload: {}, changes: [{ nodeId, axis, to }] }),
  );
}

function link(brain: TestStore, type: LinkType, from: string, to: string) {
  const [fromId, toId] = [from, to].map((id) => brain.store.thoughts.resolve(id));
  brain.store.write(() =>
    brain.store.links.add([{ type, fromId: fromId ?? 0, toId: toId ?? 0, weight: 500 }], "person"),
  );
}

const read = (brain: TestStore, id: string) =>
  brain.store.write(() =>
    brain.store.operations.noteAccess([brain.store.thoughts.resolve(id)], dayOf(brain.clock.now())),
  );

describe("disuse", () => {
  test("old, unread, isolated thoughts all go; one held by anything stays", async () => {
    const brain = createTestStore();
    const isolated: string[] = [];
    for (let index = 0; index < 12; index++) isolated.push(await remember(brain, alone(`gone${index}`)));
    const wasRead = await remember(brain, alone("read"));
    const pinned = await remember(brain, alone("pinned"));
    const supporter = await remember(brain, alone("supporter"));
    const supported = await remember(brain, { content: alone("supported"), legs: [{ parents: [supporter] }] });
    const mentioned = await remember(brain, alone("mentioned"));
    const awaited = await remember(brain, { content: alone("awaited"), due: brain.clock.now() + 90 * MS_PER_DAY });
    const disputed = await remember(brain, alone("disputed"));
    read(brain, wasRead);
    setState(brain, pinned, "permanence", 2);
    setState(brain, disputed, "belief", 2);
    link(brain, "mention", wasRead, mentioned);
    days(brain, 15);
    const young = await remember(brain, alone("young"));
    const report = await sleep(brain);
    expect(report.phases.find(({ name }) => name === "decay")).toMatchObject({ planned: 12, applied: 12 });
    expect(isolated.map((id) => decayedBy(brain, id))).toEqual(isolated.map(() => "disuse"));
    for (const id of [wasRead, pinned, supporter, supported, mentioned, awaited, disputed, young]) {
      expect(decayedBy(brain, id)).toBe("none");
    }
    expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
    brain.close();
  });

  test("a fresh brain loses nothing on its first sleep, however old what it read is", async () => {
    const brain = createTestStore();
    await brain.remember(
      ...Array.from({ length: 30 }, (_, index) => ({
        content: alone(`old${index}`),
        referent: { from: 0, to: MS_PER_DAY },
        occurrence: fileOf("diary"),
      })),
    );
    for (let night = 0; night < 14; night++) {
      expect((await sleep(brain)).phases.find(({ name }) => name === "decay")?.planned).toBe(0);
      days(brain, 1);
    }
    expect((await sleep(brain)).phases.find(({ name }) => name === "decay")?.applied).toBe(30);
    brain.close();
  });

  test("neighbours in a source, the source itself, and what decayed before do not hold a thought", async () => {
    const brain = createTestStore();
    const first = await remember(brain, { content: alone("first"), occurrence: fileOf("notes") });
    const second = await remember(brain, { content: alone("second"), occurrence: fileOf("notes") });
    const hidden = await remember(brain, alone("hidden"));
    const friend = await remember(brain, alone("friend"));
    link(brain, "about", friend, hidden);
    setState(brain, hidden, "decayed", 3);
    read(brain, second);
    days(brain, 15);
    await sleep(brain);
    expect([first, second, friend, hidden].map((id) => decayedBy(brain, id))).toEqual([
      "disuse",
      "none",
      "disuse",
      "forgotten",
    ]);
    brain.close();
  });

  test("a parent over a leg that ended holds nothing", async () => {
    const brain = createTestStore();
    const parent = await remember(brain, alone("parent"));
    const child = await remember(brain, { content: alone("child"), legs: [{ parents: [parent] }] });
    const childId = brain.store.thoughts.resolve(child);
    const [leg] = brain.store.legs.sample(childId, 100, 100);
    brain.store.write(() => brain.store.legs.end(childId, [leg?.id ?? 0], "person", "test"));
    days(brain, 15);
    await sleep(brain);
    expect(decayedBy(brain, parent)).toBe("disuse");
    brain.close();
  });

  test("met again in a new source, or revived, a thought is young again", async () => {
    const brain = createTestStore();
    const met = await remember(brain, { content: alone("met"), occurrence: fileOf("a") });
    const revived = await remember(brain, { content: alone("revived"), occurrence: fileOf("a") });
    const neither = await remember(brain, { content: alone("neither"), occurrence: fileOf("a") });
    days(brain, 10);
    await remember(brain, { content: alone("met"), occurrence: fileOf("b") });
    days(brain, 5);
    await sleep(brain);
    expect([met, revived, neither].map((id) => decayedBy(brain, id))).toEqual(["none", "disuse", "disuse"]);
    setState(brain, revived, "decayed", 0);
    days(brain, 10);
    await sleep(brain);
    expect([met, revived].map((id) => decayedBy(brain, id))).toEqual(["disuse", "none"]);
    days(brain, 5);
    await sleep(brain);
    expect(decayedBy(brain, revived)).toBe("disuse");
    brain.close();
  });

  test("what was not looked at for links yet is spared", async () => {
    const brain = createTestStore();
    const id = await remember(brain, alone("unvisited"));
    days(brain, 15);
    await sleep(brain, { phases: ["decay"] });
    expect(decayedBy(brain, id)).toBe("none");
    await sleep(brain);
    expect(decayedBy(brain, id)).toBe("disuse");
    brain.close();
  });

  test("the age is configurable", async () => {
    const brain = createTestStore();
    const id = await remember(brain, alone("short"));
    days(brain, 3);
    await sleep(brain);
    expect(decayedBy(brain, id)).toBe("none");
    await sleep(brain, { config: { decayAgeDays: 2 } });
    expect(decayedBy(brain, id)).toBe("disuse");
    brain.close();
  });

  test("the event says what decided it", async () => {
    const brain = createTestStore();
    const recordedAt = brain.clock.now();
    const id = await remember(brain, alone("told"));
    days(brain, 15);
    await sleep(brain);
    const [event] = brain.store.ledger.list({ limit: 5 }).filter(({ kind }) => kind === "decayed");
    expect(event).toMatchObject({
      actor: "sleep",
      payload: {
        reason: "disuse",
        count: 1,
        cycle: 1,
        gates: {
          permanence: 0,
          accessDays: 0,
          visibleNeighbors: 0,
          recordedUntil: brain.clock.now() - 14 * MS_PER_DAY,
        },
        decided: [[recordedAt, 0]],
        states: [[id, "decayed", "none", "disuse"]],
      },
    });
    brain.close();
  });
});

describe("a group of copies", () => {
  const NOTE = "the heating in our cellar gets serviced every autumn by that same firm";
  const copies = [NOTE, `${NOTE}.`, `${NOTE}!`];

  async function mergedCopies(): Promise<{ brain: TestStore; ids: string[] }> {
    const brain = createTestStore();
    const ids: string[] = [];
    for (const content of copies) ids.push(await remember(brain, { content, occurrence: fileOf(content) }));
    await sleep(brain);
    expect(brain.store.connection.sql("SELECT 1 FROM node WHERE merged_into IS NOT NULL").all()).toHaveLength(2);
    return { brain, ids };
  }

  test("goes together, each for itself, and comes back one by one", async () => {
    const { brain, ids } = await mergedCopies();
    days(brain, 15);
    const report = await sleep(brain);
    expect(report.phases.find(({ name }) => name === "decay")?.applied).toBe(1);
    expect(ids.map((id) => decayedBy(brain, id))).toEqual(["disuse", "disuse", "disuse"]);
    expect(brain.store.connection.sql("SELECT 1 FROM node WHERE merged_into IS NOT NULL").all()).toHaveLength(0);
    expect((await sleep(brain)).phases.every(({ planned }) => planned === 0)).toBe(true);
    const [again] = await brain.remember({ content: copies[2] ?? "", occurrence: fileOf("new") });
    expect(again).toEqual({ id: ids[2], status: "revived" });
    expect(ids.map((id) => decayedBy(brain, id))).toEqual(["disuse", "disuse", "none"]);
    brain.close();
  });

  test.each([
    ["one behind the survivor was read", (brain: TestStore, ids: string[]) => read(brain, ids[1] ?? "")],
    [
      "one behind the survivor is mentioned",
      (brain: TestStore, ids: string[]) => link(brain, "mention", ids[3] ?? "", ids[1] ?? ""),
    ],
    [
      "one behind the survivor is pinned",
      (brain: TestStore, ids: string[]) => setState(brain, ids[1] ?? "", "permanence", 2),
    ],
  ])("stays when %s", async (_, hold) => {
    const { brain, ids } = await mergedCopies();
    const witness = await remember(brain, alone("witness"));
    read(brain, witness);
    hold(brain, [...ids, witness]);
    days(brain, 15);
    await sleep(brain);
    expect(decayedBy(brain, ids[0] ?? "")).toBe("none");
    brain.close();
  });
});

describe("cascade", () => {
  /** A parent that fell with its source, and children of it. */
  async function family(): Promise<{
    brain: TestStore;
    parent: string;
    add(name: string, parents: string[]): Promise<string>;
  }> {
    const brain = createTestStore();
    const parent = await remember(brain, alone("parent"));
    const add = (name: string, parents: string[]) =>
      remember(brain, { content: alone(name), legs: parents.map((id) => ({ parents: [id] })) });
    return { brain, parent, add };
  }

  test("children thirty days old follow, and theirs in turn; the held ones stay", async () => {
    const { brain, parent, add } = await family();
    const other = await remember(brain, alone("other"));
    const child = await add("child", [parent]);
    const grandchild = await add("grandchild", [child]);
    const shared = await add("shared", [parent, other]);
    const wasRead = await add("read", [parent]);
    const underRead = await add("underread", [wasRead]);
    const pinned = await add("pinned", [parent]);
    read(brain, wasRead);
    setState(brain, pinned, "permanence", 2);
    setState(brain, parent, "decayed", 4);
    days(brain, 20);
    await sleep(brain);
    expect([child, grandchild].map((id) => decayedBy(brain, id))).toEqual(["none", "none"]);
    days(brain, 11);
    await sleep(brain);
    expect([child, grandchild].map((id) => decayedBy(brain, id))).toEqual(["cascade", "cascade"]);
    expect([other, shared, wasRead, underRead, pinned].map((id) => decayedBy(brain, id))).toEqual(
      Array.from({ length: 5 }, () => "none"),
    );
    expect((await sleep(brain)).phases.every(({ planned }) => planned === 0)).toBe(true);
    brain.close();
  });

  test("what a person forgot pulls nothing down", async () => {
    const { brain, parent, add } = await family();
    const child = await add("child", [parent]);
    const grandchild = await add("grandchild", [child]);
    setState(brain, parent, "decayed", 3);
    days(brain, 40);
    await sleep(brain);
    expect([child, grandchild].map((id) => decayedBy(brain, id))).toEqual(["none", "none"]);
    brain.close();
  });
});
