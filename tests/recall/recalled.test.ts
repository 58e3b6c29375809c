/** What a person is told of a thought that a recall took, wherever he meets it. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LegInput, SourceInput } from "../../src/core/types.ts";
import { addLegs } from "../../src/recall/legs.ts";
import { previewRecall, recall, unrecall } from "../../src/recall/recall.ts";
import { forget, pin, revive, unpin } from "../../src/recall/states.ts";
import { countSources, listSources } from "../../src/recall/trust.ts";
import { matchStanding } from "../../src/remember/match-standing.ts";
import { rememberOne } from "../../src/remember/remember.ts";
import { history } from "../../src/retrieve/history.ts";
import { list, show } from "../../src/retrieve/inspect.ts";
import { verifyHistory } from "../../src/store/verify.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { assistantLine, personLine } from "../support/claude-lines.ts";
import { createTestFolder, extract, type TestFolder } from "../support/extract.ts";

let brain: TestStore;
let folder: TestFolder;
beforeEach(() => {
  brain = createTestStore();
  folder = createTestFolder();
});
afterEach(() => {
  brain.close();
  folder.close();
});

const source = (name: string): SourceInput => ({ type: "named", key: name, name, trust: "trusted" });
const refusal = (code: string, part: string, hint: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(part), hint: expect.stringContaining(hint) });

async function remember(content: string, ...parents: LegInput["parents"]): Promise<string> {
  const [result] = await brain.remember({ content, legs: [{ parents }] });
  return result?.id ?? "";
}

function sourceId(name: string): string {
  return brain.store.thoughts.publicId(brain.store.sources.find("named", name) ?? 0);
}

function pull(...ids: string[]): string {
  return recall(brain.store, { ids }, {}, "person").event ?? "";
}

const stateOf = (id: string) => show(brain.store, id).state;

describe("the state of what a recall took", () => {
  it("names the recall, also of a thought that is pinned or stands behind another", async () => {
    const pinned = await remember("the pinned thought about apples", source("A"));
    const survivor = await remember("bridges are built of stone", source("A"));
    const copy = await remember("BRIDGES are built of stone", source("A"));
    const [copyId, survivorId] = [copy, survivor].map((id) => brain.store.thoughts.resolve(id));
    pin(brain.store, pinned, "person");
    brain.store.write(() =>
      brain.store.ledger.record({
        kind: "merged",
        actor: "sleep",
        payload: {},
        changes: [{ nodeId: copyId ?? 0, axis: "merged_into", to: survivorId ?? 0 }],
      }),
    );
    expect(stateOf(pinned)).toMatchObject({ permanence: "pinned", recalledBy: null, unheldSince: null });
    const event = pull(sourceId("A"));
    expect(stateOf(pinned)).toMatchObject({ permanence: "pinned", visible: false, recalledBy: event });
    expect(stateOf(copy)).toMatchObject({ mergedInto: survivor, recalledBy: event });
    expect(stateOf(sourceId("A"))).toMatchObject({ recalledBy: event });
    expect(list(brain.store, { limit: 10, state: "recalled" }).map(({ state }) => state.recalledBy)).toEqual([
      event,
      event,
      event,
    ]);
    unrecall(brain.store, event, "person");
    expect(stateOf(pinned)).toMatchObject({ permanence: "pinned", visible: true, recalledBy: null });
  });

  it("names no recall to undo for thoughts that rest on each other in a circle", async () => {
    const one = await remember("first of the circle", source("A"));
    const two = await remember("second of the circle", one);
    addLegs(brain.store, one, { legs: [{ parents: [two] }] }, "person");
    const [oneId = 0, twoId = 0] = [one, two].map((id) => brain.store.thoughts.resolve(id));
    const outer = brain.store.legs.sample(oneId, 10, 10).filter(({ parentIds }) => !parentIds.includes(twoId));
    expect(outer).toHaveLength(1);
    brain.store.write(() => {
      brain.store.legs.end(
        oneId,
        outer.map(({ id }) => id),
        "person",
        "gone",
      );
      matchStanding(brain.store, [oneId], "person");
    });
    const state = stateOf(one);
    expect(state).toMatchObject({ visible: false, recalledBy: null, unheldSince: expect.stringMatching(/^e_\d+$/) });
    expect(() => revive(brain.store, one, "person")).toThrow(refusal("recalled", "no leg holds", "leg add"));
  });
});

describe("a recalled thought", () => {
  it("is not pinned, unpinned or revived, and the refusal names the recall; it can be forgotten", async () => {
    const id = await remember("a thought about apples", source("A"));
    const { store } = brain;
    expect(pin(store, id, "person").changed).toBe(true);
    expect(unpin(store, id, "person").changed).toBe(true);
    const event = pull(sourceId("A"));
    for (const act of [pin, unpin, revive]) {
      expect(() => act(store, id, "person")).toThrow(refusal("recalled", event, `unrecall ${event}`));
    }
    expect(stateOf(id)).toMatchObject({ permanence: "none" });
    expect(forget(store, id, "never again", "person").changed).toBe(true);
  });

  it("that the recall names itself is not remembered again, and the refusal names the recall", async () => {
    const id = await remember("a thought about apples", source("A"));
    const event = pull(id);
    const again = rememberOne(brain.store, brain.embedder, { content: "a thought about apples" }, { actor: "person" });
    await expect(again).rejects.toThrow(refusal("recalled", event, `unrecall ${event}`));
  });

  it("and its source hold nothing new up, and the refusal names the recall", async () => {
    const id = await remember("a thought about apples", source("A"));
    const event = pull(sourceId("A"));
    for (const parent of [id, source("A")]) {
      const input = { content: "a thought about bridges", legs: [{ parents: [parent] }] };
      await expect(rememberOne(brain.store, brain.embedder, input, { actor: "person" })).rejects.toThrow(
        refusal("dead_source", event, `unrecall ${event}`),
      );
    }
    const place = { content: "a thought about bridges", occurrence: { source: source("A") } };
    await expect(rememberOne(brain.store, brain.embedder, place, { actor: "person" })).rejects.toThrow(
      refusal("dead_source", event, `unrecall ${event}`),
    );
  });

  it("stands again when it is met elsewhere, and the result counts what stands with it", async () => {
    const id = await remember("a thought about apples", source("A"));
    await remember("what follows from apples", id);
    const [plain] = await brain.remember({ content: "a thought about apples" });
    expect(plain?.risen).toBeUndefined();
    const other = await remember("a thought about bridges", source("A"));
    await remember("what follows from bridges", other);
    pull(sourceId("A"));
    const [risen] = await brain.remember({ content: "a thought about bridges" });
    expect(risen).toEqual({ id: other, status: "revived", risen: 2 });
    const [next] = await brain.remember({ content: "a thought about bridges" });
    expect(next?.risen).toBeUndefined();
  });

  it("says of itself in its history that it was recalled, and what rested on it that it fell with it", async () => {
    const id = await remember("a thought about apples", source("A"));
    const child = await remember("what follows from apples", id);
    const first = pull(sourceId("A"));
    const second = pull(id);
    const parts = (node: string) =>
      history(brain.store, node).flatMap(({ event, recall: part }) => (part === null ? [] : [[event, part]]));
    expect(parts(sourceId("A"))).toEqual([[first, "recalled"]]);
    expect(parts(id)).toEqual([
      [first, "taken"],
      [second, "recalled"],
    ]);
    expect(parts(child)).toEqual([[first, "taken"]]);
  });
});

describe("extraction of what a recall took", () => {
  it("counts what stands again, and a dry run foretells it", async () => {
    const lines = (session: string) => personLine("Plant the beans by the wall.", { session });
    const [one, two] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
    await extract(brain, folder.write("a.jsonl", lines(one ?? "")));
    const [session] = listSources(brain.store, { type: "session" });
    pull(session?.id ?? "");
    const file = folder.write("b.jsonl", lines(two ?? ""));
    const counts = { thoughts: 0, reinforced: 1, risen: 1 };
    expect(await extract(brain, file, { dryRun: true })).toMatchObject(counts);
    expect(await extract(brain, file)).toMatchObject(counts);
  });

  it("refuses what goes on in a recalled session, and a dry run foretells it", async () => {
    const place = { session: "11111111-1111-4111-8111-111111111111" };
    const file = folder.write("a.jsonl", personLine("Plant the beans.", place));
    await extract(brain, file);
    pull(listSources(brain.store, { type: "session" })[0]?.id ?? "");
    folder.append("a.jsonl", assistantLine("They go by the wall.", place));
    const counts = { thoughts: 0, skipped: { dead_source: 1 } };
    expect(await extract(brain, file, { dryRun: true })).toMatchObject(counts);
    expect(await extract(brain, file)).toMatchObject(counts);
  });
});

describe("a second recall", () => {
  it("names the first, whether it names the same or what fell with it", async () => {
    const id = await remember("a thought about apples", source("A"), source("B"));
    const target = { ids: [sourceId("A")] };
    expect(previewRecall(brain.store, target).alreadyBy).toEqual([]);
    const first = recall(brain.store, target, {}, "person");
    expect(first.alreadyBy).toEqual([]);
    const event = first.event ?? "";
    expect(previewRecall(brain.store, target).alreadyBy).toEqual([event]);
    expect(previewRecall(brain.store, { ids: [id] }).alreadyBy).toEqual([event]);
    expect(previewRecall(brain.store, { ids: [sourceId("B")] }).alreadyBy).toEqual([]);
    expect(recall(brain.store, target, {}, "person")).toMatchObject({ event: null, alreadyBy: [event] });
    const strict = recall(brain.store, target, { rule: "strict" }, "person");
    expect(strict).toMatchObject({ event: expect.any(String), alreadyBy: [event] });
    expect(previewRecall(brain.store, target).alreadyBy).toEqual([event, strict.event]);
    unrecall(brain.store, event, "person");
    expect(previewRecall(brain.store, target).alreadyBy).toEqual([strict.event]);
  });

  it("cannot be undone by an event that is none, is no recall, or was undone: each says so", async () => {
    await remember("a thought about apples", source("A"));
    const event = pull(sourceId("A"));
    const undo = (id: string) => () => unrecall(brain.store, id, "person");
    expect(undo("e_999")).toThrow(refusal("not_found", "there is no event e_999", "list --state recalled"));
    expect(undo("e_1")).toThrow(refusal("not_found", "e_1 is no recall", "list --state recalled"));
    unrecall(brain.store, event, "person");
    expect(undo(event)).toThrow(refusal("undone", `${event} was undone already`, "list --state recalled"));
  });
});

describe("what is asked of an event or a list that is not there", () => {
  it("is refused by verify --since, which would find nothing wrong after the last event", async () => {
    await remember("a thought about apples", source("A"));
    const newest = brain.store.read(() => brain.store.ledger.head().seq);
    expect(verifyHistory(brain.store, { since: `e_${newest}` })).toMatchObject({ ok: true, events: 0 });
    expect(() => verifyHistory(brain.store, { since: `e_${newest + 1}` })).toThrow(
      refusal("usage", `there is no event e_${newest + 1}`, `e_${newest}`),
    );
  });

  it("counts all sources that a list would name", async () => {
    for (const name of ["web:a", "web:b", "mail:c"]) await remember(`from ${name}`, source(name));
    expect(listSources(brain.store, { names: "web:*", limit: 1 })).toHaveLength(1);
    expect(countSources(brain.store, { names: "web:*" })).toBe(2);
    expect(countSources(brain.store, { names: "web:*", trust: "untrusted" })).toBe(0);
    expect(countSources(brain.store, { type: "named" })).toBe(3);
    expect(countSources(brain.store, { trust: "trusted" })).toBe(listSources(brain.store, { trust: "trusted" }).length);
    expect(() => countSources(brain.store, { names: "" })).toThrow(expect.objectContaining({ code: "usage" }));
  });

  it("hints at the list that prints such ids", () => {
    const { thoughts } = brain.store;
    const none = "0123456789abcdef";
    expect(() => thoughts.resolve(`s_${none}`)).toThrow(refusal("not_found", "no source", "dormouse source list"));
    expect(() => thoughts.resolve(`n_${none}`)).toThrow(refusal("not_found", "no thought", "dormouse list"));
  });
});
