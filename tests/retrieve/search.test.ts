import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { recall } from "../../src/recall/recall.ts";
import { forget, revive } from "../../src/recall/states.ts";
import { search } from "../../src/retrieve/search.ts";
import { Eligible } from "../../src/store/eligible.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const find = (query: string, options = {}) => search(brain.store, brain.embedder, query, options);
const contents = async (query: string, options = {}) =>
  (await find(query, options)).results.map(({ content }) => content);

const turn = (content: string, session: string, record: string): RememberInput => ({
  content,
  occurrence: {
    source: { type: "session", key: session, name: session, trust: "trusted" },
    recordKey: `${session} ${record}`,
  },
});

describe("search", () => {
  it("puts first what shares the rarest words", async () => {
    await brain.remember("The cat sat on the mat", "The zymurgy course begins on Monday", "The dog sat on the rug");
    expect((await contents("zymurgy course"))[0]).toBe("The zymurgy course begins on Monday");
  });

  it("answers in the promised shape", async () => {
    const [result] = await brain.remember({
      content: "Tea is at five",
      domain: "home",
      tags: ["tea"],
      kind: "decision",
    });
    const answer = await find("tea");
    expect(answer).toMatchObject({
      query: "tea",
      results: [
        {
          id: result?.id,
          kind: "decision",
          content: "Tea is at five",
          domain: "home",
          scope: "personal",
          tags: ["tea"],
          recordedAt: "2026-03-01T12:00:00.000Z",
          referent: null,
          source: { name: "you", trust: "trusted" },
        },
      ],
      scanned: { eligible: 1, exact: true },
    });
    expect(Object.keys(answer.results[0]?.channels ?? {}).sort()).toEqual(["graph", "text", "vector"]);
  });

  it("gives an empty brain's empty answer", async () => {
    expect(await find("anything")).toMatchObject({ results: [], scanned: { eligible: 0, scored: 0 } });
  });

  it.each([
    ["an empty query", "", 10],
    ["a blank query", " \u200b\n", 10],
    ["k of zero", "a", 0],
    ["half a k", "a", 1.5],
    ["k beyond the limit", "a", 1_001],
    ["a query of a megabyte", "a ".repeat(500_000), 10],
  ])("refuses %s as a usage error", async (_, query, k) => {
    await expect(find(query, { k })).rejects.toMatchObject({ code: "usage" });
  });

  it("lets no query break it", async () => {
    await brain.remember(
      "AND OR NOT NEAR are words too",
      "node_modules is a folder",
      'she said "hello" twice',
      "emoji 🦉 owl",
    );
    for (const query of [
      '"',
      "'",
      "AND",
      "NEAR(a b)",
      "*",
      "a*",
      "-",
      "--",
      "col:val",
      "{a}",
      "^",
      "🦉",
      "node_modules",
      '"hello',
      "\\",
      "(",
      "NOT",
    ]) {
      if (/[\p{L}🦉]/u.test(query)) expect((await find(query)).query).toBe(query);
      else await expect(find(query)).rejects.toMatchObject({ code: "usage" });
    }
    expect((await contents("node_modules"))[0]).toBe("node_modules is a folder");
    expect((await contents("🦉"))[0]).toBe("emoji 🦉 owl");
  });

  it("takes any text for a query without failing", async () => {
    await brain.remember("something to find", "another one");
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", minLength: 1, maxLength: 40 }), async (query) => {
        try {
          await find(query);
        } catch (error) {
          expect(error).toMatchObject({ code: "usage" });
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ["Chinese", "我昨天在北京吃了烤鸭", "烤鸭"],
    ["Japanese", "来週の会議は大阪で開かれます", "大阪"],
    ["Thai", "ฉันชอบกินข้าวผัดกุ้ง", "ข้าวผัด"],
    ["Korean", "내일 서울역에서 만나요", "서울역"],
    ["Russian", "Мы купили билеты в театр", "билет"],
    ["Greek", "Το πλοίο φεύγει στις εννέα", "πλοίο"],
    ["Arabic", "القطار يغادر في الساعة التاسعة", "القطار"],
    ["Hindi", "कल बारिश होगी", "बारिश"],
    ["German", "Die Straßenbahn fährt über die Brücke", "strassenbahn"],
    ["Turkish", "İstanbul'da hava güzel", "istanbul"],
  ])("finds %s by a word of it", async (_, text, query) => {
    await brain.remember("an unrelated sentence", text, "another unrelated sentence");
    const { results } = await find(query);
    expect(results[0]?.content).toBe(text);
    expect(results[0]?.channels.text).toBeGreaterThan(0);
  });
});

describe("visibility in search", () => {
  const hidden: [string, (id: string, nodeId: number) => void][] = [
    ["forgotten", (id) => forget(brain.store, id, "r", "person")],
    ["recalled", (id) => recall(brain.store, { ids: [id] }, {}, "person")],
    ...(
      [
        ["decayed", "decayed", 1],
        ["superseded", "belief", 3],
        ["held", "belief", 4],
        ["rejected", "belief", 5],
        ["erased", "erased_by", 1],
      ] as const
    ).map(
      ([name, axis, to]) =>
        [
          name,
          (_: string, nodeId: number) => {
            brain.store.write(() =>
              brain.store.ledger.record({
                kind: "decayed",
                actor: "sleep",
                payload: {},
                changes: [{ nodeId, axis, to }],
              }),
            );
          },
        ] as [string, (id: string, nodeId: number) => void],
    ),
    [
      "merged away",
      (_, nodeId) => {
        const survivor = brain.store.thoughts.idsAfter(0, 1)[0] ?? 0;
        brain.store.write(() =>
          brain.store.ledger.record({
            kind: "merged",
            actor: "sleep",
            payload: {},
            changes: [{ nodeId, axis: "merged_into", to: survivor }],
          }),
        );
      },
    ],
  ];

  it.each(hidden)("leaves out a %s thought whose rows are still in both indexes", async (_, hide) => {
    const [, result] = await brain.remember("a survivor stands here", "the quixotic windmill turns");
    const id = result?.id ?? "";
    const nodeId = brain.store.thoughts.resolve(id);
    expect(await contents("quixotic windmill")).toContain("the quixotic windmill turns");
    hide(id, nodeId);
    const { db } = brain.store.connection;
    expect(db.prepare("SELECT 1 FROM full_text_docsize WHERE id = ?").get(nodeId)).toBeDefined();
    expect(brain.store.vectors.get(nodeId)).not.toBeNull();
    expect(await contents("quixotic windmill")).not.toContain("the quixotic windmill turns");
    expect(new Eligible(brain.store.connection, {}).count()).toBe(1);
  });

  it("finds a forgotten thought again once revived", async () => {
    const [result] = await brain.remember("the quixotic windmill turns");
    forget(brain.store, result?.id ?? "", "r", "person");
    revive(brain.store, result?.id ?? "", "person");
    expect(await contents("windmill")).toEqual(["the quixotic windmill turns"]);
  });

  it("does not spread from or through a hidden neighbour", async () => {
    const results = await brain.remember(
      turn("Where did you put the passport?", "s", "1"),
      turn("In the blue drawer", "s", "2"),
    );
    const answer = results[1]?.id;
    const before = (await find("passport")).results.find(({ id }) => id === answer);
    expect(before?.channels.graph).toBeGreaterThan(0);
    forget(brain.store, results[0]?.id ?? "", "r", "person");
    const after = (await find("passport")).results.find(({ id }) => id === answer);
    expect(after?.channels.graph ?? 0).toBe(0);
  });

  it("does not spread over a link or a leg that has ended", async () => {
    const { store } = brain;
    const [a, b] = await brain.remember("The walrus sings", "Completely different words");
    const [from, to] = [store.thoughts.resolve(a?.id ?? ""), store.thoughts.resolve(b?.id ?? "")];
    const gain = async () => (await find("walrus")).results.find(({ id }) => id === b?.id)?.channels.graph ?? 0;
    expect(await gain()).toBe(0);
    store.write(() => store.links.add([{ type: "similar", fromId: from, toId: to, weight: 900 }], "sleep"));
    expect(await gain()).toBeGreaterThan(0);
    store.write(() => store.links.end(store.links.of(from, 10), "sleep"));
    expect(await gain()).toBe(0);
  });
});

describe("the graph in search", () => {
  it("lifts the turn after the one that matches, and says over which edge", async () => {
    const results = await brain.remember(
      turn("When is Ada's birthday?", "s", "1"),
      turn("It is on the ninth of June", "s", "2"),
      turn("Something about gardening", "other", "1"),
    );
    const { results: found } = await find("Ada birthday", { explain: true });
    const answer = found.find(({ id }) => id === results[1]?.id);
    expect(answer?.explain?.paths).toMatchObject([{ from: results[0]?.id, via: "previous" }]);
    const unrelated = found.find(({ id }) => id === results[2]?.id);
    expect(answer?.score ?? 0).toBeGreaterThan(unrelated?.score ?? 0);
  });

  it("does not join turns of two sources or a person's single statements", async () => {
    await brain.remember("The kangaroo hopped", "An umbrella is needed");
    const named = { source: { type: "named" as const, key: "phone", name: "phone", trust: "unknown" as const } };
    await brain.remember(
      { content: "The kangaroo slept", occurrence: named },
      { content: "Call the plumber", occurrence: named },
    );
    await brain.remember(turn("The kangaroo jumped", "a", "1"), turn("Nothing to see", "b", "1"));
    const { results } = await find("kangaroo");
    for (const { content, channels } of results) {
      if (!content.includes("kangaroo")) expect(channels.graph).toBe(0);
    }
  });

  it("lifts a thought that rests on the one that matches", async () => {
    const [base] = await brain.remember("The harpsichord was sold in Vienna");
    const [derived] = await brain.remember({ content: "Look for it abroad", legs: [{ parents: [base?.id ?? ""] }] });
    const { results } = await find("harpsichord", { explain: true });
    expect(results.find(({ id }) => id === derived?.id)?.explain?.paths).toMatchObject([
      { from: base?.id, via: "derivation" },
    ]);
  });
});

describe("filters", () => {
  it.each([
    ["kind", { kinds: ["decision"] }],
    ["domain", { domains: ["Work"] }],
    ["tag", { tags: ["rare"] }],
    ["time", { when: { from: Date.UTC(2020, 0, 1), to: Date.UTC(2020, 11, 31) } }],
  ])("by %s apply before the cut to k", async (_, filter) => {
    const decoys = Array.from({ length: 400 }, (__, index) => ({
      content: `The meeting about budget number ${index} was about the budget meeting`,
      kind: "fact",
      domain: "home",
      tags: ["common"],
      referent: { from: Date.UTC(2024, 0, 1), to: Date.UTC(2024, 0, 1) },
    }));
    const [wanted] = await brain.remember(
      {
        content: "One remark on a budget",
        kind: "decision",
        domain: "work",
        tags: ["rare"],
        referent: { from: Date.UTC(2020, 5, 1), to: Date.UTC(2020, 5, 1) },
      },
      ...decoys,
    );
    const unfiltered = await find("budget meeting", { k: 1 });
    expect(unfiltered.results[0]?.id).not.toBe(wanted?.id);
    const { results, scanned } = await find("budget meeting", { k: 1, ...filter });
    expect(results.map(({ id }) => id)).toEqual([wanted?.id]);
    expect(scanned.eligible).toBe(1);
  });

  it("follow a kind that was changed later, in both channels", async () => {
    const { store } = brain;
    await brain.remember({ content: "Renew the passport", kind: "observation" });
    await brain.remember({ content: "Renew the passport", kind: "commitment" });
    expect(await contents("passport", { kinds: ["observation"] })).toEqual([]);
    expect(await contents("passport", { kinds: ["commitment"] })).toEqual(["Renew the passport"]);
    const kindId = store.labels.find("kind", "commitment") ?? 0;
    const query = await brain.embedder.embedQuery("passport");
    const near = store.vectors.nearest(query, 5, { scopeIds: store.scopes.readableIds(), kindIds: [kindId] });
    expect(near.neighbors).toHaveLength(1);
  });

  it("take an open referent interval for what it is", async () => {
    await brain.remember({ content: "Lives in Porto", referent: { from: Date.UTC(2020, 0, 1), to: null } });
    const year = (value: number) => ({ from: Date.UTC(value, 0, 1), to: Date.UTC(value, 11, 31) });
    expect(await contents("Porto", { when: year(2024) })).toEqual(["Lives in Porto"]);
    expect(await contents("Porto", { when: year(2019) })).toEqual([]);
  });

  it("that name an unknown word match nothing", async () => {
    await brain.remember("a thing");
    expect(await contents("thing", { kinds: ["no such kind"] })).toEqual([]);
    expect(await contents("thing", { tags: ["no such tag"] })).toEqual([]);
  });
});

describe("results that hold the same words", () => {
  it("stand behind one another only when they say the same", async () => {
    await brain.remember("Anna gave Bob the book", "Bob gave Anna the book", "Anna gave Bob the book!");
    const { results } = await find("Anna Bob book", { explain: true });
    expect(results).toHaveLength(2);
    expect(results.map(({ explain }) => explain?.collapsed.length).sort()).toEqual([0, 1]);
  });
});

describe("a text without a token that the model knows", () => {
  it("is like nothing, though it stands as far from everything as cosine 0.5 does", async () => {
    const { store } = brain;
    await brain.remember(...Array.from({ length: 50 }, (_, index) => `note ${index} on gardens`), "hello there");
    const zero = store.thoughts.resolve((await find("hello")).results[0]?.id ?? "");
    store.write(() => store.vectors.put(zero, new Int8Array(brain.embedder.model.dimensions)));
    const query = await brain.embedder.embedQuery("something quite unrelated");
    const scopeIds = store.scopes.readableIds();
    expect(store.vectors.nearest(query, 60, { scopeIds }).neighbors.map(({ nodeId }) => nodeId)).not.toContain(zero);
    expect(store.vectors.cosines(query, [zero]).size).toBe(0);
    expect(await contents("something quite unrelated", { k: 60 })).not.toContain("hello there");
    expect((await contents("hello"))[0]).toBe("hello there");
  });
});

describe("the clock of a query", () => {
  it("prefers the recent of two equals, by when it happened, and treats an unknown time as now", async () => {
    const now = Date.UTC(2026, 2, 1);
    await brain.remember(
      {
        content: "visited the harbour long ago",
        referent: { from: now - 1_500 * MS_PER_DAY, to: now - 1_500 * MS_PER_DAY },
      },
      { content: "visited the harbour just now", referent: { from: now - MS_PER_DAY, to: now - MS_PER_DAY } },
    );
    const { results } = await find("visited harbour", { now, explain: true });
    expect(results.map(({ content }) => content)).toEqual([
      "visited the harbour just now",
      "visited the harbour long ago",
    ]);
    const weights = results.map(({ explain }) => explain?.recency ?? 0);
    expect(weights[0]).toBeGreaterThan(0.99);
    expect(weights[1]).toBeGreaterThanOrEqual(0.84);
    expect(weights[1]).toBeLessThan(0.87);
  });

  it("leaves an old answer before a fresh passing mention", async () => {
    const now = Date.UTC(2026, 2, 1);
    await brain.remember(
      {
        content: "Discussed the harbour book with Steph",
        referent: { from: now - 900 * MS_PER_DAY, to: now - 900 * MS_PER_DAY },
      },
      "The harbour is mentioned here among many other places of the town",
      "Harbour fees are due",
    );
    const { results } = await find("harbour Steph", { now });
    expect(results[0]?.content).toBe("Discussed the harbour book with Steph");
  });

  it("weighs a thought of unknown time as one of now", async () => {
    await brain.remember({ content: "the quay at an unknown time", referent: null });
    const { results } = await find("quay", { explain: true });
    expect(results[0]?.explain?.recency).toBe(1);
  });
});

describe("determinism", () => {
  it("gives the same order whatever the order of insertion", async () => {
    const texts = [
      "apples and pears",
      "pears and apples",
      "apples with pears",
      "plums",
      "apples",
      "a pear tree",
      "an apple tree",
      "trees of apples and pears",
    ];
    const orderOf = async (inputs: readonly string[]) => {
      const other = createTestStore();
      await other.remember(...inputs);
      const { results } = await search(other.store, other.embedder, "apples pears tree");
      other.close();
      return results.map(({ content, score }) => `${score} ${content}`);
    };
    const expected = await orderOf(texts);
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(texts, { minLength: texts.length }), async (shuffled) => {
        expect(await orderOf(shuffled)).toEqual(expected);
      }),
      { numRuns: 12 },
    );
  });

  it("changes nothing in the file", async () => {
    await brain.remember("apples", "pears", "plums");
    const changes = () => brain.store.connection.db.prepare("SELECT total_changes()").pluck().get();
    const before = changes();
    await find("apples");
    expect(changes()).toBe(before);
  });
});

describe("candidates", () => {
  it("of one common word are not cut by age: the note that is nothing but the word comes first", async () => {
    const passing = Array.from(
      { length: 700 },
      (_, index) => `A budget came up in talk ${index} about many other things`,
    );
    const [, ...rest] = await brain.remember("budget", ...passing);
    expect(rest).toHaveLength(700);
    expect((await contents("budget", { k: 1 }))[0]).toBe("budget");
    const late = createTestStore();
    await late.remember(...passing, "budget");
    const { results } = await search(late.store, late.embedder, "budget", { k: 1 });
    late.close();
    expect(results[0]?.content).toBe("budget");
  });

  it("that say the same do not use up the places of others", async () => {
    const variants = Array.from({ length: 60 }, (_, index) => `The budget is approved${".".repeat(index + 1)}`);
    const others = Array.from({ length: 12 }, (_, index) => `Budget meeting with department ${index}`);
    await brain.remember(...variants, ...others);
    expect((await find("budget approved", { k: 10 })).results).toHaveLength(10);
  });

  it("are filtered before the bound on a very common word", async () => {
    const { store } = brain;
    await brain.remember({ content: "An old decision on the budget", kind: "decision" });
    for (let batch = 0; batch < 6; batch++) {
      await brain.remember(...Array.from({ length: 900 }, (_, index) => `budget fact ${batch} ${index}`));
    }
    const [term] = store.fullText.weigh([["budget"]]);
    expect(term?.documentCount).toBeGreaterThan(5_000);
    const within = new Eligible(store.connection, { kindIds: [store.labels.find("kind", "decision") ?? 0] });
    const groups = store.fullText.candidates(term === undefined ? [] : [term], within);
    expect(groups.flatMap(({ ids }) => ids)).toHaveLength(1);
  });
});

describe("near-duplicates", () => {
  it("stand behind the better one and are named by explain", async () => {
    const [first, second] = await brain.remember(
      "The password hint is the first pet",
      "the password hint is the first pet",
    );
    const { results } = await find("password hint", { explain: true });
    expect(results).toHaveLength(1);
    const collapsed = results[0]?.explain?.collapsed ?? [];
    expect(new Set([results[0]?.id, ...collapsed])).toEqual(new Set([first?.id, second?.id]));
  });
});
