import { describe, expect, it } from "vitest";
import type { Census, ThoughtInspection, WhyNode } from "../../src/app.ts";
import type { SearchAnswer, ThoughtView } from "../../src/core/types.ts";
import { useCli } from "./run-cli.ts";

const SLOW = 60_000;
const cli = useCli();

const idsOf = (views: readonly { id: string }[]) => views.map(({ id }) => id).sort();

describe("--as-of", { timeout: SLOW }, () => {
  it("answers from what was known at that moment, in every command that reads", async () => {
    const pune = await cli.remember("Lives in Pune");
    const coat = await cli.remember("Needs a coat in Pune", "--leg", pune);
    const at = new Date().toISOString();
    const goa = await cli.remember("Lives in Goa");
    await cli.run(["supersede", pune, goa]);
    await cli.run(["forget", coat, "--reason", "warm there"]);
    const asked = async <T>(args: string[]) => [await cli.json<T>(args), await cli.json<T>([...args, "--as-of", at])];

    const [listed, listedThen] = await asked<ThoughtView[]>(["list"]);
    expect([idsOf(listed ?? []), idsOf(listedThen ?? [])]).toEqual([[goa], [pune, coat].sort()]);
    const [found, foundThen] = await asked<SearchAnswer>(["search", "lives Pune"]);
    expect([idsOf(found?.results ?? []), idsOf(foundThen?.results ?? [])]).toEqual([[goa], [pune, coat].sort()]);
    const [context, contextThen] = await asked<{ items: { id: string }[] }>(["context", "Pune"]);
    expect([idsOf(context?.items ?? []), idsOf(contextThen?.items ?? [])]).toEqual([[goa], [pune, coat].sort()]);
    const [shown, shownThen] = await asked<ThoughtInspection>(["show", coat]);
    expect(shown).toMatchObject({ state: { decayed: "forgotten" } });
    expect(shownThen).toMatchObject({ state: { decayed: "none" } });
    const [why, whyThen] = await asked<WhyNode>(["why", coat]);
    expect(why?.staleBy).toMatch(/^e_\d+$/);
    expect(whyThen?.staleBy).toBeNull();
    expect(await cli.json<object>(["how", pune, goa])).toMatchObject({ path: [{ id: pune }, { id: goa }] });
    expect((await cli.run(["how", pune, goa, "--as-of", at])).status).toBe(1);
    expect(await cli.json<object>(["how", pune, coat, "--as-of", at])).toMatchObject({
      path: [{ id: pune }, { id: coat }],
    });
    const [stats, statsThen] = await asked<Census>(["stats"]);
    expect([stats?.thoughts, stats?.visible, stats?.states.superseded]).toEqual([3, 1, 1]);
    expect([statsThen?.thoughts, statsThen?.visible, statsThen?.states.superseded]).toEqual([2, 2, 0]);

    const unknown = await cli.run(["show", goa, "--as-of", at, "--json"]);
    expect([unknown.status, JSON.parse(unknown.stderr)]).toMatchObject([1, { error: { code: "not_found" } }]);
  });

  it("takes a day at its end, is empty before the brain began, and is today from now on", async () => {
    const id = await cli.remember("Fed the cat");
    const listed = async (asOf: string) => idsOf(await cli.json<ThoughtView[]>(["list", "--as-of", asOf]));
    expect(await listed("today")).toEqual([id]);
    expect(await listed("2999-01-01")).toEqual([id]);
    expect(await listed("yesterday")).toEqual([]);
    expect((await cli.run(["search", "cat", "--as-of", "1999"])).stdout).toContain("nothing found");
    expect((await cli.run(["context", "cat", "--as-of", "1999-12-31"])).stdout).toContain("0 thoughts in memory");
    expect(await cli.json<Census>(["stats", "--as-of", "1999"])).toMatchObject({ thoughts: 0, legs: 0, sources: 0 });
  });

  it("goes together with --when, which counts from that moment", async () => {
    const old = await cli.remember("Fed the cat", "--when", "2024-05-01");
    const dog = await cli.remember("Walked the dog", "--when", "2023-02-01");
    const at = new Date().toISOString();
    const later = await cli.remember("Washed the cat", "--when", "2024-05-02");
    const ask = async (...args: string[]) => [
      idsOf(await cli.json<ThoughtView[]>(["list", ...args])),
      idsOf((await cli.json<SearchAnswer>(["search", "cat dog", ...args])).results),
    ];
    const may = ["--when", "2024-05-01..2024-05-31"];
    expect(await ask(...may)).toEqual([[old, later].sort(), [old, later].sort()]);
    expect(await ask(...may, "--as-of", at)).toEqual([[old], [old]]);
    expect(await ask("--when", "last year", "--as-of", at)).toEqual([[], []]);
    const beyond = "2999-01-01T00:00:00Z";
    expect(await ask("--when", "..2024-01-01", "--as-of", beyond)).toEqual([[dog], [dog]]);
    await cli.remember("Bought a bird", "--when", "2998-06-01");
    const bird = await cli.json<ThoughtView[]>(["list", "--when", "last year", "--as-of", beyond]);
    expect(bird).toMatchObject([{ content: "Bought a bird" }]);
    expect(await cli.json<ThoughtView[]>(["list", "--when", "last year"])).toEqual([]);
  });

  it("leaves no trace of having been read", async () => {
    const id = await cli.remember("Fed the cat");
    const days = async () => (await cli.json<ThoughtInspection>(["show", id])).accessDays;
    await cli.run(["search", "cat", "--as-of", "2999-01-01"]);
    expect(await days()).toBe(0);
    await cli.run(["search", "cat"]);
    expect(await days()).toBe(1);
  });

  it("exits 2 for a time that it cannot read", async () => {
    for (const time of ["soonish", "2024-05-01T10:30", "2024-13-45"]) {
      for (const command of [["list"], ["stats"], ["search", "cat"], ["search", "cat", "--when", "2024"]]) {
        const result = await cli.run([...command, "--as-of", time]);
        expect([result.status, result.stderr]).toEqual([2, expect.stringContaining("--as-of")]);
      }
    }
  });
});
