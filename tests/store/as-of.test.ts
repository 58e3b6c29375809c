/** A brain as of a moment, against a copy of the file that was made at that very moment. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import type { RememberInput, SourceInput } from "../../src/core/types.ts";
import { confirm, contradict, resolve, supersede, undoSupersede } from "../../src/recall/belief.ts";
import { addLegs } from "../../src/recall/legs.ts";
import { recall, unrecall } from "../../src/recall/recall.ts";
import { forget, pin, revive, unpin } from "../../src/recall/states.ts";
import { setTrust } from "../../src/recall/trust.ts";
import { buildContext } from "../../src/retrieve/context.ts";
import { history } from "../../src/retrieve/history.ts";
import { how, list, show } from "../../src/retrieve/inspect.ts";
import { search } from "../../src/retrieve/search.ts";
import { why } from "../../src/retrieve/why.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { takeCensus } from "../../src/store/census.ts";
import { Store } from "../../src/store/store.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestFolder, extract, type TestFolder } from "../support/extract.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";
import { plansOf } from "../support/plans.ts";

const SLOW = 240_000;
const WORDS = "kettle garden gate river lamp bridge winter letter boat orchard candle mirror".split(" ");
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-as-of-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Small, seeded, and the same everywhere. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const source = (number: number): SourceInput => ({
  type: "tool",
  key: `t${number}`,
  name: `tool:t${number}`,
  trust: "unknown",
});

/** One thing that may happen to a brain; what is refused is no matter. */
async function happen(brain: TestStore, random: (below: number) => number): Promise<void> {
  const { store, clock } = brain;
  const ids = list(store, { limit: 500, state: "all" }).map(({ id }) => id);
  const any = () => ids[random(ids.length)] ?? "n_0000000000000000";
  const text = () => [0, 1, 2, 3, 4].map(() => WORDS[random(WORDS.length)]).join(" ");
  const recalls = store.ledger.list({ limit: 500 }).filter(({ kind }) => kind === "recalled");
  const input = (): RememberInput => ({
    content: text(),
    ...(random(3) === 0 ? { tags: [WORDS[random(3)] ?? ""] } : {}),
    ...(random(3) === 0
      ? { referent: { from: random(900) * MS_PER_DAY, to: random(900) * MS_PER_DAY + 900 * MS_PER_DAY } }
      : {}),
    ...(random(4) === 0 ? { kind: "decision" } : {}),
    ...(random(2) === 0 ? { legs: [{ parents: [source(random(4)), ...(random(2) === 0 ? [any()] : [])] }] } : {}),
  });
  const options: readonly (() => unknown)[] = [
    () => brain.remember(input()),
    () => brain.remember(input(), input(), input()),
    // The same value again, somewhere else.
    () => brain.remember({ ...input(), content: list(store, { limit: 20 })[random(20)]?.content ?? text() }),
    () => forget(store, any(), "out of date", "person"),
    () => revive(store, any(), "person"),
    () => pin(store, any(), "person"),
    () => unpin(store, any(), "person"),
    () => supersede(store, any(), any(), "person"),
    () => undoSupersede(store, any(), "person"),
    () => contradict(store, any(), any(), "person"),
    () => resolve(store, any(), "person", { both: true }),
    () => confirm(store, any(), "person"),
    () => addLegs(store, any(), { legs: [{ parents: [any()] }] }, "person"),
    () => setTrust(store, { sources: `tool:t${random(4)}` }, random(2) === 0 ? "untrusted" : "trusted", "person"),
    () => recall(store, { sources: `tool:t${random(4)}` }, { rule: random(2) === 0 ? "fair" : "strict" }, "person"),
    () => unrecall(store, recalls[random(recalls.length)]?.id ?? "e_1", "person"),
    () => runSleep(store, brain.embedder),
  ];
  clock.advance(1 + random(5 * MS_PER_DAY));
  try {
    // A life begins with learning.
    await options[random(ids.length < 20 ? 3 : options.length)]?.();
  } catch {
    // Refused: nothing happened, which is part of a life.
  }
}

interface Vault {
  readonly folder: TestFolder;
  readonly notes: Map<string, string[]>;
  /** Paragraphs that were taken out, and may come back. */
  readonly gone: string[];
}

/** One edit of a vault and what is read of it, or what a person or the night does to what was read. */
async function edit(brain: TestStore, vault: Vault, random: (below: number) => number): Promise<void> {
  const { folder, notes, gone } = vault;
  const { store, clock } = brain;
  const word = (below = WORDS.length) => WORDS[random(below)] ?? "";
  const paragraph = () =>
    `${[0, 1, 2, 3, 4].map(() => word()).join(" ")}${random(3) === 0 ? ` [[N${random(4)}]]` : ""}.`;
  clock.advance(1 + random(3 * MS_PER_DAY));
  const ids = list(store, { limit: 500, state: "all" }).map(({ id }) => id);
  const any = () => ids[random(ids.length)] ?? "n_0000000000000000";
  const name = `N${random(4)}`;
  const texts = notes.get(name) ?? [];
  const edits: readonly (() => unknown)[] = [
    () => texts.splice(random(texts.length + 1), 0, paragraph()),
    // What another note says too.
    () => texts.push([...notes.values()][0]?.[0] ?? paragraph()),
    () => gone.push(...texts.splice(random(texts.length), 1)),
    () => texts.push(gone[random(gone.length)] ?? paragraph()),
    () => gone.push(...texts.splice(0, texts.length, paragraph())),
    () => texts.reverse(),
  ];
  const others: readonly (() => unknown)[] = [
    () => forget(store, any(), "out of date", "person"),
    () => supersede(store, any(), any(), "person"),
    () => recall(store, { ids: [any()] }, { rule: "fair" }, "person"),
    () => runSleep(store, brain.embedder),
  ];
  const kind = random(ids.length < 6 ? edits.length : edits.length + others.length);
  try {
    if (kind >= edits.length) return void (await others[kind - edits.length]?.());
    edits[kind]?.();
    notes.set(name, texts);
    const date = random(2) === 0 ? `---\ntags: [${word(3)}]\ndate: 20${10 + random(15)}-05-01\n---\n` : "";
    folder.write(`${name}.md`, `${date}${texts.join("\n\n")}\n`);
    await extract(brain, folder.path);
  } catch {
    // Refused: nothing happened.
  }
}

/** Gives a copy the order of turns of the brain, which is of today whenever one asks. */
function takeOrder(copy: Store, path: string): void {
  copy.connection.db.exec(`DROP INDEX occurrence_place; ATTACH '${path}' AS today;
    UPDATE main.occurrence SET (ordinal, thread) = (SELECT t.ordinal, t.thread FROM today.occurrence t
      WHERE t.id = main.occurrence.id);
    DETACH today;`);
}

/** Everything that a reader can see of a brain, in an order of its own. */
async function readAll(store: Store, at: number) {
  const embedder = createHashEmbedder();
  const all = list(store, { limit: 1_000, state: "all" });
  const { fileBytes: _bytes, ...census } = takeCensus(store);
  const find = async (query: string, filters: object = {}) => {
    const { results, scanned } = await search(store, embedder, query, { k: 500, now: at, ...filters });
    return [
      scanned.eligible,
      results.map(({ score: _score, channels: _channels, ...view }) => view).sort((a, b) => (a.id < b.id ? -1 : 1)),
    ];
  };
  const when = { from: 100 * MS_PER_DAY, to: 400 * MS_PER_DAY };
  return {
    all,
    visible: list(store, { limit: 1_000 }).map(({ id }) => id),
    timed: list(store, { limit: 1_000, when }).map(({ id }) => id),
    tagged: list(store, { limit: 1_000, tags: ["kettle"] }).map(({ id }) => id),
    census,
    shown: all.map(({ id }) => ({ ...show(store, id), accessDays: 0 })),
    why: all.map(({ id }) => why(store, id, 4)),
    history: all.map(({ id }) => history(store, id)),
    path: all.length < 2 ? null : how(store, all[0]?.id ?? "", all.at(-1)?.id ?? ""),
    found: await find("kettle in the garden"),
    foundByTag: await find("river boat", { tags: ["garden"] }),
    foundByTime: await find("lamp", { when }),
    foundByWordsOfTime: await find("the mirror in March 1971"),
    foundByKind: await find("candle", { kinds: ["decision"] }),
    context: (await buildContext(store, embedder, ["winter letter"], { budget: 50_000, now: at })).items
      .map(({ id }) => id)
      .sort(),
  };
}

describe("a brain as of a moment", () => {
  it.each([1, 2, 3, 4])("is what a copy made then is (life %i)", { timeout: SLOW }, async (seed) => {
    const random = createRandom(seed * 7_919);
    const brain = createTestStore({ path: join(folder, `life-${seed}.db`) });
    const moments: { at: number; path: string }[] = [];
    for (let step = 0; step < 90; step++) {
      await happen(brain, random);
      if (step % 15 !== 7) continue;
      const path = join(folder, `life-${seed}-${step}.db`);
      brain.store.connection.db.exec(`VACUUM INTO '${path}'`);
      moments.push({ at: brain.clock.now(), path });
    }
    const now = await readAll(brain.store, brain.clock.now());
    expect(now.all.length).toBeGreaterThan(20);
    for (const { at, path } of moments) {
      const copy = Store.open(path, createTestClock(at));
      const past = Store.openAsOf(brain.path, at);
      const then = await readAll(copy, at);
      expect(then.census).not.toEqual(now.census);
      expect(await readAll(past, at)).toEqual(then);
      copy.close();
      past.close();
    }
    brain.close();
  });

  it.each([1, 2, 3, 4])(
    "is what a copy made then is, of notes that are edited (vault %i)",
    { timeout: SLOW },
    async (seed) => {
      const random = createRandom(seed * 104_729);
      const brain = createTestStore({ path: join(folder, `vault-${seed}.db`) });
      const vault: Vault = { folder: createTestFolder(), notes: new Map(), gone: [] };
      const moments: { at: number; path: string }[] = [];
      for (let step = 0; step < 60; step++) {
        await edit(brain, vault, random);
        if (step % 10 !== 7) continue;
        const path = join(folder, `vault-${seed}-${step}.db`);
        brain.store.connection.db.exec(`VACUUM INTO '${path}'`);
        moments.push({ at: brain.clock.now(), path });
      }
      const now = await readAll(brain.store, brain.clock.now());
      const kinds = new Set(brain.store.ledger.list({ limit: 1_000 }).map(({ kind }) => kind));
      expect([...kinds]).toEqual(expect.arrayContaining(["leg.ended", "thought.reinforced", "mention.joined"]));
      for (const { at, path } of moments) {
        const copy = Store.open(path, createTestClock(at));
        takeOrder(copy, brain.path);
        const past = Store.openAsOf(brain.path, at);
        const then = await readAll(copy, at);
        expect(then).not.toEqual(now);
        expect(await readAll(past, at)).toEqual(then);
        copy.close();
        past.close();
      }
      brain.close();
      vault.folder.close();
    },
  );

  it("reaches links by their indexes, whether they stand or have ended", async () => {
    const brain = createTestStore({ path: join(folder, "plans.db") });
    const [first, second] = await brain.remember("the kettle in the garden", "the kettle in the orchard");
    supersede(brain.store, second?.id ?? "", first?.id ?? "", "person");
    const past = Store.openAsOf(brain.path, brain.clock.now());
    const id = first?.id ?? "";
    const nodeId = past.thoughts.resolve(id);
    const plans = plansOf(past, () => {
      show(past, id);
      why(past, id);
      history(past, id);
      how(past, id, second?.id ?? "");
      past.links.neighbors([nodeId], "similar", 10);
      past.beliefs.relations([nodeId], 10);
    });
    const lines = plans.flatMap((plan) => plan.lines);
    expect(lines).toContainEqual(expect.stringMatching(/^SEARCH main\.link USING .*\(from_id=\?/));
    expect(lines.filter((line) => /^SCAN (?:main\.link|l)\b|^MATERIALIZE link/.test(line))).toEqual([]);
    past.close();
    brain.close();
  });

  it("knows an event of that very millisecond, and none of the next", async () => {
    const brain = createTestStore({ path: join(folder, "edges.db") });
    const born = brain.clock.now();
    brain.clock.advance(10);
    await brain.remember("said at ten");
    const countAt = (at: number) => {
      const past = Store.openAsOf(brain.path, at);
      const { thoughts } = takeCensus(past);
      past.close();
      return thoughts;
    };
    expect([countAt(born - 1), countAt(born + 9), countAt(born + 10), countAt(born + 1e9)]).toEqual([0, 0, 1, 1]);
    brain.close();
  });

  it("is the present brain from the newest event on, even after one of a clock that ran ahead", async () => {
    const brain = createTestStore({ path: join(folder, "clock.db") });
    brain.clock.advance(365 * MS_PER_DAY);
    await brain.remember("said a year too late");
    brain.clock.advance(-365 * MS_PER_DAY);
    await brain.remember("said at the right time", "and another");
    brain.clock.advance(MS_PER_DAY);
    const past = Store.openAsOf(brain.path, brain.clock.now());
    expect(takeCensus(past)).toEqual(takeCensus(brain.store));
    past.close();
    brain.close();
  });

  it("has no words that were erased since, and writes nothing", async () => {
    const brain = createTestStore({ path: join(folder, "erased.db") });
    await brain.remember("the secret kettle", "the open garden");
    const at = brain.clock.now();
    brain.clock.advance(1_000);
    const { db } = brain.store.connection;
    brain.store.write(() => {
      const nodeId = 0 + Number(db.prepare("SELECT min(id) FROM node WHERE role = 1").pluck().get());
      const kind = "decayed";
      const seq = brain.store.ledger.nextSeq();
      brain.store.ledger.record({
        kind,
        actor: "person",
        payload: {},
        changes: [{ nodeId, axis: "erased_by", to: seq }],
      });
      db.prepare(
        "UPDATE content SET salt = zeroblob(32), body = zeroblob(length(body)) WHERE id = (SELECT content_id FROM node WHERE id = ?)",
      ).run(nodeId);
    });
    const past = Store.openAsOf(brain.path, at);
    expect(list(past, { limit: 10 }).map(({ content }) => content)).toEqual(["the open garden"]);
    const found = async (query: string) =>
      (await search(past, brain.embedder, query)).results.map(({ content }) => content);
    expect([await found("open garden"), await found("secret kettle")]).toEqual([["the open garden"], []]);
    expect(() => past.write(() => {})).toThrow(expect.objectContaining({ code: "usage" }));
    expect(() => past.connection.db.exec("DELETE FROM main.access_day")).toThrow();
    past.close();
    brain.close();
  });
});
