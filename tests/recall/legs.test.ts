import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LegInput, RememberInput, SourceInput } from "../../src/core/types.ts";
import { addLegs } from "../../src/recall/legs.ts";
import { recall, unrecall } from "../../src/recall/recall.ts";
import { forget } from "../../src/recall/states.ts";
import { setTrust } from "../../src/recall/trust.ts";
import { show } from "../../src/retrieve/inspect.ts";
import { search } from "../../src/retrieve/search.ts";
import { why } from "../../src/retrieve/why.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { expectAudited } from "../support/audit.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const source = (name: string, trust: SourceInput["trust"] = "trusted"): SourceInput => ({
  type: "named",
  key: name,
  name,
  trust,
});

async function rememberAs(input: RememberInput): Promise<string> {
  const [result] = await brain.remember(input);
  return result?.id ?? "";
}
const remember = (content: string, ...legs: LegInput["parents"][]) =>
  rememberAs({ content, legs: legs.map((parents) => ({ parents })) });
const sourceId = (name: string) => brain.store.thoughts.publicId(brain.store.sources.find("named", name) ?? 0);
const add = (id: string, ...legs: string[][]) =>
  addLegs(brain.store, id, { legs: legs.map((parents) => ({ parents })) }, "person");
const recallSource = (name: string, rule: "fair" | "strict" = "fair") =>
  recall(brain.store, { ids: [sourceId(name)] }, { rule }, "person").event ?? "";
const isVisible = (id: string) => why(brain.store, id).visible;
const refusal = (code: string) => expect.objectContaining({ code });
const expectSound = () => expect(checkIntegrity(brain.store).filter(({ violations }) => violations > 0)).toEqual([]);

/** Legs of a thought as sets of parents; an axiom is the empty one. */
function legsOf(id: string): string[][] {
  const node = show(brain.store, id);
  if (node.role === "source") throw new Error("not a thought");
  return node.legs.map(({ parents }) => [...parents].sort());
}

describe("remember", () => {
  it("with several legs needs all within one and any between them", async () => {
    const [a, b, c] = [
      await remember("apple", [source("A")]),
      await remember("bread", [source("B")]),
      await remember("cheese", [source("C")]),
    ];
    const lunch = await remember("lunch is packed", [a, b], [c]);
    expect(legsOf(lunch)).toEqual([[a, b].sort(), [c]]);
    const first = recallSource("C");
    expect(isVisible(lunch)).toBe(true);
    recallSource("B");
    expect(isVisible(lunch)).toBe(false);
    unrecall(brain.store, first, "person");
    expect(isVisible(lunch)).toBe(true);
  });

  it("without leg and source is an axiom by the person's own word", async () => {
    const id = await rememberAs({ content: "lives in Pune" });
    expect(show(brain.store, id)).toMatchObject({ trust: "trusted", legs: [{ axiom: true, parents: [] }] });
  });

  it("takes the person's word beside legs and beside a source, only when asked", async () => {
    const claim = await remember("it will rain", [source("weather", "untrusted")]);
    const leaning = await rememberAs({ content: "take an umbrella", legs: [{ parents: [claim] }] });
    const standing = await rememberAs({ content: "take a coat", legs: [{ parents: [claim] }], axiom: true });
    const cited = await rememberAs({
      content: "the roof leaks",
      axiom: true,
      occurrence: { source: source("roofer") },
    });
    expect(legsOf(leaning)).toEqual([[claim]]);
    expect(legsOf(standing)).toEqual([[], [claim]]);
    expect(legsOf(cited)).toEqual([[sourceId("roofer")], []]);
    expect([leaning, standing].map((id) => why(brain.store, id).trust)).toEqual(["untrusted", "trusted"]);
    recallSource("weather");
    recallSource("roofer");
    expect([claim, leaning, standing, cited].map(isVisible)).toEqual([false, false, true, true]);
    expectSound();
  });
});

describe("adding a leg", () => {
  it("makes a thought stand on it, audited, and the same one again changes nothing", async () => {
    const id = await remember("the shop is open", [source("A")]);
    const note = await remember("the shop has new hours", [source("B")]);
    const { events } = await expectAudited(brain.store, () =>
      expect(add(id, [note], [note])).toMatchObject({ id, added: 1, risen: 0, trust: "trusted" }),
    );
    expect(events).toBe(1);
    expect(brain.store.ledger.list({ limit: 1 })).toMatchObject([{ kind: "leg.added", payload: { legs: [[note]] } }]);
    const head = brain.store.ledger.head();
    expect(add(id, [note])).toMatchObject({ added: 0, event: null });
    expect(brain.store.ledger.head()).toEqual(head);
    recallSource("A");
    expect(isVisible(id)).toBe(true);
    recallSource("B");
    expect(isVisible(id)).toBe(false);
    expectSound();
  });

  it("raises the trust of the thought and of what rests on it", async () => {
    const claim = await remember("the ferry is late", [source("forum", "untrusted")]);
    const plan = await remember("leave at ten", [claim]);
    const good = await remember("harbour notice", [source("harbour")]);
    expect([claim, plan].map((id) => why(brain.store, id).trust)).toEqual(["untrusted", "untrusted"]);
    expect(add(claim, [good])).toMatchObject({ trust: "trusted" });
    expect(why(brain.store, plan).trust).toBe("trusted");
    setTrust(brain.store, { ids: [sourceId("harbour")] }, "untrusted", "person");
    expect([claim, plan].map((id) => why(brain.store, id).trust)).toEqual(["untrusted", "untrusted"]);
    expect(addLegs(brain.store, claim, { axiom: true }, "person")).toMatchObject({ added: 1, trust: "trusted" });
    expect(legsOf(claim)).toContainEqual([]);
  });

  it("to what fell in a fair recall brings it back, with what rests on it", async () => {
    const id = await remember("the bridge is closed", [source("A")]);
    const plan = await remember("take the tram", [id]);
    const other = await remember("a sign at the bridge", [source("B")]);
    recallSource("A");
    expect([id, plan, other].map(isVisible)).toEqual([false, false, true]);
    await expectAudited(brain.store, () => expect(add(id, [other])).toMatchObject({ added: 1, risen: 2 }));
    expect([id, plan].map(isVisible)).toEqual([true, true]);
    const { results } = await search(brain.store, brain.embedder, "bridge closed");
    expect(results.map((result) => result.id)).toContain(id);
    recallSource("B");
    expect([id, plan].map(isVisible)).toEqual([false, false]);
    expectSound();
  });

  it("to what a recall pins is refused until the recall is undone", async () => {
    const id = await remember("the bridge is closed", [source("A")]);
    const other = await remember("a sign at the bridge", [source("B")]);
    const event = recallSource("A", "strict");
    expect(() => add(id, [other])).toThrow(refusal("recalled"));
    unrecall(brain.store, event, "person");
    expect(add(id, [other])).toMatchObject({ added: 1 });
  });

  it("refuses what no longer stands, the thought itself, and a leg without parents", async () => {
    const id = await remember("a thought", [source("A")]);
    const dead = await remember("bad", [source("B")]);
    recallSource("B");
    expect(() => add(id, [dead])).toThrow(refusal("dead_source"));
    expect(() => add(id, [sourceId("B")])).toThrow(refusal("dead_source"));
    expect(() => add(id, [id])).toThrow(refusal("invalid"));
    expect(() => add(id)).toThrow(refusal("usage"));
    expect(() => add(id, [])).toThrow(refusal("usage"));
    expect(() => add(sourceId("A"), [id])).toThrow(refusal("usage"));
    expect(() => add(id, ["n_0000000000000000"])).toThrow(refusal("not_found"));
    expect(() =>
      add(
        id,
        Array.from({ length: 101 }, () => id),
      ),
    ).toThrow(refusal("usage"));
    expect(legsOf(id)).toEqual([[sourceId("A")]]);
    await expect(rememberAs({ content: "on the dead", legs: [{ parents: [dead] }] })).resolves.toBe("");
  });

  it("refuses a parent of a stricter scope and takes one of a looser", async () => {
    const work = await rememberAs({ content: "the meeting is at nine", scope: "work" });
    const secret = await rememberAs({ content: "the code is 1234", scope: "secret" });
    const open = await rememberAs({ content: "the office is in Graça", scope: "public" });
    expect(() => add(work, [secret])).toThrow(refusal("invalid"));
    expect(() => add(work, [secret])).toThrow(/secret, stricter than work/);
    expect(add(work, [open])).toMatchObject({ added: 1 });
    expect(add(secret, [work])).toMatchObject({ added: 1 });
    expectSound();
  });

  it("leaves a forgotten thought forgotten", async () => {
    const id = await remember("an old plan", [source("A")]);
    const note = await remember("a note about plans", [source("B")]);
    forget(brain.store, id, "no longer wanted", "person");
    expect(add(id, [note])).toMatchObject({ added: 1 });
    expect(isVisible(id)).toBe(false);
  });

  it("in a circle holds nothing up", async () => {
    const first = await remember("first of a circle", [source("A")]);
    const second = await remember("second of a circle", [first]);
    expect(add(first, [second])).toMatchObject({ added: 1 });
    expect(isVisible(first)).toBe(true);
    recallSource("A");
    expect([first, second].map(isVisible)).toEqual([false, false]);
  });
});
