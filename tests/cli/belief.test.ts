import { describe, expect, it } from "vitest";
import type { BeliefChange, HistoryEntry, WhyNode } from "../../src/app.ts";
import type { SearchAnswer, ThoughtView } from "../../src/core/types.ts";
import { useCli } from "./run-cli.ts";

const SLOW = 60_000;
const cli = useCli();

const resultsOf = async (query: string) => (await cli.json<SearchAnswer>(["search", query])).results;

describe("supersede", { timeout: SLOW }, () => {
  it("hides the old thought, says what the new one replaced, and gives it back with --undo", async () => {
    const old = await cli.remember("Lives in Pune");
    const by = await cli.remember("Lives in Goa");
    const child = await cli.remember("Needs a coat", "--leg", old);
    const change = await cli.json<BeliefChange>(["supersede", old, by, "--reason", "moved house"]);
    expect(change).toMatchObject({ changed: true, flagged: 1, event: expect.stringMatching(/^e_\d+$/) });
    expect(await resultsOf("lives")).toMatchObject([
      { id: by, belief: "asserted", trust: "trusted", stale: false, replaces: [old] },
      { id: child, stale: true, replaces: [] },
    ]);
    expect((await cli.run(["search", "lives"])).stdout).toContain(`replaces ${old}`);
    expect((await cli.run(["context", "lives"])).stdout).toContain(`| replaces ${old}]`);
    expect(await cli.json<ThoughtView[]>(["list", "--state", "stale"])).toMatchObject([{ id: child, stale: true }]);
    expect((await cli.run(["list", "--state", "superseded"])).stdout).toContain(`${old}  fact`);
    const shown = (await cli.run(["show", old])).stdout;
    expect(shown).toContain("superseded");
    expect(shown).toContain("moved house");
    expect((await cli.run(["show", child])).stdout).toContain("visible, stale");
    const why = (await cli.run(["why", child])).stdout;
    expect(why).toContain(`stale since ${change.event}`);
    expect(why).toContain(`superseded by ${by}`);
    expect(await cli.json<WhyNode>(["why", child])).toMatchObject({ staleBy: change.event });
    const undone = await cli.run(["supersede", "--undo", old]);
    expect(undone.stdout).toContain(`${old} is asserted`);
    expect(undone.stdout).toContain("1 thought no longer stale");
    expect((await resultsOf("lives")).map(({ id }) => id)).toEqual(expect.arrayContaining([old, by]));
    expect((await cli.run(["supersede", "--undo", old])).stdout).toBe(`${old} is asserted already; nothing changed\n`);
  });

  it("is one step with remember --supersedes", async () => {
    const old = await cli.remember("Lives in Pune");
    const by = await cli.remember("Lives in Goa", "--supersedes", old);
    expect(await resultsOf("lives")).toMatchObject([{ id: by, replaces: [old] }]);
    const again = await cli.run(["remember", "Lives in Rome", "--supersedes", old, "--json"]);
    expect(again.status).toBe(1);
    expect(JSON.parse(again.stderr)).toMatchObject({ error: { code: "superseded" } });
    expect(await cli.json<ThoughtView[]>(["list"])).toHaveLength(1);
  });

  it("exits 2 when called wrongly and 1 when it cannot be", async () => {
    const one = await cli.remember("one");
    const two = await cli.remember("two");
    for (const args of [
      ["supersede", one],
      ["supersede", "--undo", one, two],
      ["supersede", one, one],
      ["history", one, "--limit", "0"],
    ]) {
      expect((await cli.run(args)).status).toBe(2);
    }
    await cli.run(["forget", two, "--reason", "r"]);
    const refused = await cli.run(["supersede", one, two]);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining(`dormouse revive ${two}`)]);
  });
});

describe("contradict, resolve and confirm", { timeout: SLOW }, () => {
  it("dispute both, settle for one, and confirm it", async () => {
    const one = await cli.remember("The flat costs 1,100");
    const other = await cli.remember("The flat costs 1,200");
    await cli.json(["contradict", one, other, "--reason", "two letters"]);
    expect((await cli.run(["search", "flat"])).stdout).toContain(`disputed by ${other}`);
    expect((await cli.run(["why", one])).stdout).toContain(`disputed by ${other}`);
    const early = await cli.run(["confirm", one]);
    expect([early.status, early.stderr]).toEqual([1, expect.stringContaining(`dormouse resolve ${one}`)]);
    expect(await cli.json<BeliefChange>(["resolve", one, "--over", other])).toMatchObject({
      beliefs: [
        { id: one, belief: "asserted" },
        { id: other, belief: "superseded" },
      ],
    });
    expect((await cli.run(["confirm", one])).stdout).toMatch(new RegExp(`^${one} is confirmed \\(e_\\d+\\)\\n$`));
    expect(await resultsOf("flat")).toMatchObject([{ id: one, belief: "confirmed", replaces: [other] }]);
    expect((await cli.run(["resolve", one])).status).toBe(1);
  });

  it("settles for both", async () => {
    const one = await cli.remember("one");
    const other = await cli.remember("other");
    await cli.run(["contradict", one, other]);
    expect((await cli.run(["resolve", one, "--both"])).stdout).toContain(`${one} is asserted, ${other} is asserted`);
  });
});

describe("history", { timeout: SLOW }, () => {
  it("tells what happened, the latest last, with reasons", async () => {
    const id = await cli.remember("The deposit is two months");
    await cli.run(["forget", id, "--reason", "not sure\nany more"]);
    await cli.run(["revive", id]);
    await cli.run(["remember", "The deposit is two months"]);
    const entries = await cli.json<HistoryEntry[]>(["history", id]);
    expect(entries.map(({ kind }) => kind)).toEqual(["thought.created", "decayed", "revived", "thought.reinforced"]);
    expect(entries[1]).toMatchObject({ actor: "person", reason: "not sure\nany more" });
    const { stdout } = await cli.run(["history", id]);
    expect(stdout).toContain("    decayed: none → forgotten\n    why: not sure\n    any more\n");
    expect(stdout).toContain("    met in you (s_");
    expect(stdout).toContain("    leg added: the statement itself");
    expect(stdout.indexOf("thought.created")).toBeLessThan(stdout.indexOf("thought.reinforced"));
    expect(await cli.json<HistoryEntry[]>(["history", id, "--limit", "1"])).toMatchObject([
      { kind: "thought.reinforced" },
    ]);
  });
});
