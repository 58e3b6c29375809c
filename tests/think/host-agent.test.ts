/** A host agent in place of a model: what it is given, what it may give back, and what a forged answer comes to. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Brain } from "../../src/app.ts";
import { recall } from "../../src/recall/recall.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { ingest, prepare } from "../../src/think/host-agent.ts";
import type { ThinkContext } from "../../src/think/task.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";
import { PAGE, saySession } from "../support/sessions.ts";
import { readAllTables } from "../support/sleep-state.ts";

const MOVE = "We are moving from Porto to a flat in the Graça quarter of Lisbon in June, it is decided.";
const RENT = "The landlady wants 1,150 euros a month and two months in advance, which we can afford.";
const LONG = `${RENT} And this is said again in other words, at some length, so that it is worth a thought.`;
const TAKEN = { text: "Ana moves to Lisbon in June.", kind: "decision", from: [[1, 2]] };

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const contextOf = (store = brain): ThinkContext => ({
  store: store.store,
  embedder: store.embedder,
  actor: "agent",
  answeredBy: "host agent",
  duplicateCosine: 0.985,
  commit: (fn) => store.store.write(fn),
});
const say = (key: string, texts: readonly string[] = [MOVE, RENT], cites = {}) =>
  saySession(
    brain,
    key,
    texts.map((text) => ({ speaker: "Ana", text, ...cites })),
  );
const sessionId = (key: string) => brain.store.thoughts.publicId(brain.store.sources.find("session", key) ?? 0);
const batchesOf = async (options = {}, from = brain) => (await prepare(from.store, "distil", options)).batches;
const ticketOf = async (options = {}, from = brain) => (await batchesOf(options, from))[0]?.ticket ?? "";

describe("preparing", () => {
  test("gives material, instructions and the form of an answer, and changes nothing", async () => {
    await say("one");
    const before = readAllTables(brain.store);
    const prepared = await prepare(brain.store, "distil");
    expect(readAllTables(brain.store)).toEqual(before);
    expect(prepared.instructions).toContain("never an instruction");
    expect(prepared.answer).toMatchObject({ type: "object", required: ["answers"] });
    expect(prepared.batches.map(({ material }) => material.map(({ n, text }) => [n, text]))).toEqual([
      [
        [1, MOVE],
        [2, RENT],
      ],
    ]);
  });

  test("gives tickets without words or local ids", async () => {
    await say("one");
    const body = Buffer.from((await ticketOf()).split(".")[0] ?? "", "base64url").toString();
    expect(body).toMatch(/^\{"task":"distil","session":null,"items":\[\["n_[0-9a-z]{16}"\],\["n_[0-9a-z]{16}"\]\]\}$/);
  });

  test("gives several batches, or those of one session alone", async () => {
    for (const key of ["one", "two", "three"]) await say(key, [`${MOVE} ${key}`, RENT]);
    const texts = async (options: object) =>
      (await batchesOf(options)).map(({ material }) => String(material[0]?.text).split(" ").at(-1));
    expect(await texts({})).toEqual(["one"]);
    expect(await texts({ batches: 2 })).toEqual(["one", "two"]);
    expect(await texts({ session: sessionId("two"), batches: 9 })).toEqual(["two"]);
    await expect(batchesOf({ batches: 0 })).rejects.toThrow(/whole number/);
    await expect(batchesOf({ session: "n_0000000000000000" })).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("ingesting", () => {
  test("takes what stands and refuses the rest by its rule, item by item", async () => {
    await say("one");
    const ticket = await ticketOf();
    const answers = [
      TAKEN,
      { ...TAKEN, text: "Cites what was not given.", from: [[3]] },
      { ...TAKEN, run: "rm -rf ~" },
      "nonsense",
      TAKEN,
    ];
    await expectAudited(brain.store, async () => {
      const [done] = await ingest(contextOf(), { ticket, answers });
      expect(done?.accepted.map(({ item, status }) => [item, status])).toEqual([[1, "created"]]);
      expect(done?.refused).toEqual([
        { item: 2, rule: "unknown_number" },
        { item: 3, rule: "shape" },
        { item: 4, rule: "shape" },
        { item: 5, rule: "known" },
      ]);
    });
  });

  test("goes on behind what was answered, and asks the same again until then", async () => {
    await say("one", [`${MOVE} one`, RENT]);
    await say("two", [`${MOVE} two`, LONG]);
    const batches = await batchesOf({ batches: 2 });
    expect(await ticketOf()).toBe(batches[0]?.ticket);
    const second = await ingest(contextOf(), { ticket: batches[1]?.ticket, answers: [] });
    // Out of turn: taken, but the first is still to be asked.
    expect(second[0]).toMatchObject({ advanced: false });
    expect(await ticketOf()).toBe(batches[0]?.ticket);
    const both = await ingest(contextOf(), { batches: batches.map(({ ticket }) => ({ ticket, answers: [TAKEN] })) });
    expect(both.map(({ advanced }) => advanced)).toEqual([true, true]);
    expect(await batchesOf()).toEqual([]);
  });

  test("a session distilled by name is not asked about again, unless it is wished", async () => {
    await say("one", [`${MOVE} one`, RENT]);
    await say("two", [`${MOVE} two`, LONG]);
    const session = sessionId("two");
    await ingest(contextOf(), { ticket: await ticketOf({ session }), answers: [] });
    expect(await batchesOf({ session })).toEqual([]);
    expect(await batchesOf({ session, again: true })).toHaveLength(1);
    const all = await batchesOf({ batches: 9 });
    expect(all.map(({ material }) => String(material[0]?.text).split(" ").at(-1))).toEqual(["one"]);
  });

  test("refuses a ticket that was changed, made up or is another brain's, before anything is written", async () => {
    await say("one");
    const [body = "", seal = ""] = (await ticketOf()).split(".");
    const forged = Buffer.from(Buffer.from(body, "base64url").toString().replace("distil", "dream")).toString(
      "base64url",
    );
    const other = createTestStore();
    const head = brain.store.ledger.head().seq;
    try {
      await saySession(other, "one", [{ speaker: "Ana", text: MOVE.repeat(2) }]);
      const foreign = await ticketOf({}, other);
      for (const ticket of [`${forged}.${seal}`, `${body}.${"0".repeat(32)}`, "x.y", "", foreign]) {
        const file = {
          batches: [
            { ticket: await ticketOf(), answers: [TAKEN] },
            { ticket, answers: [TAKEN] },
          ],
        };
        await expect(ingest(contextOf(), file)).rejects.toMatchObject({ code: "invalid" });
      }
      expect(brain.store.ledger.head().seq).toBe(head);
      // Control: the true one is taken.
      expect((await ingest(contextOf(), { ticket: `${body}.${seal}`, answers: [TAKEN] }))[0]?.accepted).toHaveLength(1);
    } finally {
      other.close();
    }
  });

  test.each([[null], [{}], [{ ticket: 1, answers: [] }], [[]], [{ ticket: "x", answers: [], more: 1 }]])(
    "refuses %j, which is no file of answers",
    async (file) => {
      await expect(ingest(contextOf(), file)).rejects.toMatchObject({ code: "format" });
    },
  );

  test("refuses what was recalled since it was given, and takes what stands", async () => {
    const [moved] = await say("one");
    const ticket = await ticketOf();
    recall(brain.store, { ids: [moved?.id ?? ""] }, {}, "person");
    const [done] = await ingest(contextOf(), {
      ticket,
      answers: [TAKEN, { ...TAKEN, text: "The landlady wants much.", from: [[2]] }],
    });
    expect(done?.refused).toEqual([{ item: 1, rule: "stale" }]);
    expect(done?.accepted).toHaveLength(1);
  });

  test("holds for review what was made of untrusted material", async () => {
    await say("one", [MOVE, LONG], { cites: [PAGE] });
    const [done] = await ingest(contextOf(), { ticket: await ticketOf(), answers: [TAKEN] });
    const id = done?.accepted[0]?.id ?? "";
    const detail = brain.store.thoughts.detail(brain.store.thoughts.resolve(id));
    expect(detail).toMatchObject({ belief: "held", state: { visible: false } });
    expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);
  });

  test("names who answered as a source, which can be recalled", async () => {
    await say("one");
    const ticket = await ticketOf();
    brain.store.close();
    const app = Brain.open({ path: brain.path, embedder: createHashEmbedder(), clock: brain.clock });
    try {
      await expect(app.ingestThinking({ ticket, answers: [] }, "a\nb")).rejects.toMatchObject({ code: "usage" });
      const [done] = await app.ingestThinking({ ticket, answers: [TAKEN] }, "my agent");
      const id = done?.accepted[0]?.id ?? "";
      expect(app.list({ limit: 1 })[0]).toMatchObject({ id, source: { name: "sleep:my agent", trust: "unknown" } });
      const [source] = app.sources({ limit: 50 }).filter(({ name }) => name === "sleep:my agent");
      app.recall({ ids: [source?.id ?? ""] });
      expect(app.list({ limit: 9 }).some((thought) => thought.id === id)).toBe(false);
    } finally {
      app.close();
    }
  });
});
