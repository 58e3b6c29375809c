import { describe, expect, it } from "vitest";
import type { LegChange, SourceListing, TrustChange } from "../../src/app.ts";
import { useCli } from "./run-cli.ts";

const SLOW = 60_000;
const cli = useCli();

describe("source", { timeout: SLOW }, () => {
  it("lists sources, sets their trust by id or by name, and says what followed", async () => {
    const claim = await cli.remember("It will rain", "--source", "web:weather");
    await cli.remember("Take an umbrella", "--leg", claim);
    await cli.remember("Beans need soaking", "--source", "web:beans");
    const sources = await cli.json<SourceListing[]>(["source", "list", "--type", "page"]);
    expect(sources).toMatchObject([
      { name: "web:beans", trust: "unknown", thoughts: 1, recalled: false },
      { name: "web:weather", trust: "unknown", thoughts: 1, more: false },
    ]);
    const weather = sources.at(-1)?.id ?? "";
    const change = await cli.json<TrustChange>(["source", "trust", weather, "trusted"]);
    expect(change).toMatchObject({
      trust: "trusted",
      sources: 1,
      thoughts: 2,
      event: expect.stringMatching(/^e_\d+$/),
    });
    const byName = await cli.run(["source", "trust", "--sources", "web:*", "untrusted"]);
    expect(byName.stdout).toContain("2 sources are untrusted now");
    expect(byName.stdout).toContain("the trust of 3 thoughts changed with them");
    expect((await cli.run(["source", "trust", "--sources", "web:*", "untrusted"])).stdout).toBe(
      "untrusted already; nothing changed\n",
    );
    expect((await cli.run(["search", "umbrella"])).stdout).toContain("you (untrusted)");
    expect((await cli.run(["context", "umbrella"])).stdout).toContain("| source you | untrusted]");
    await cli.run(["recall", weather, "--apply"]);
    const listed = (await cli.run(["source", "list", "--names", "web:*"])).stdout;
    expect(listed).toContain("[recalled] web:weather");
    expect(listed.trim().split("\n")).toHaveLength(2);
    expect((await cli.run(["source", "list", "--names", "nothing*"])).stdout).toBe("no sources\n");
  });

  it("is called wrongly without a level, a source or a word that exists", async () => {
    const absent = "s_0123456789abcdef";
    expect((await cli.run(["source", "trust", absent])).status).toBe(2);
    expect((await cli.run(["source", "trust", "untrusted"])).status).toBe(2);
    expect((await cli.run(["source", "list", "--trust", "good"])).status).toBe(2);
    expect((await cli.run(["source", "trust", absent, "untrusted"])).status).toBe(1);
    expect((await cli.run(["source"])).status).toBe(2);
  });
});

describe("leg", { timeout: SLOW }, () => {
  it("adds legs and lists them with what broke them", async () => {
    const claim = await cli.remember("It will rain", "--source", "web:weather");
    const plan = await cli.remember("Take an umbrella", "--leg", claim);
    const before = (await cli.run(["leg", "list", plan])).stdout;
    expect(before).toContain("1 leg");
    expect(before).toContain(`${claim} (unknown)  It will rain`);
    const mine = await cli.remember("The sky is black");
    expect(await cli.json<LegChange>(["leg", "add", plan, "--leg", mine])).toMatchObject({
      added: 1,
      trust: "trusted",
    });
    expect((await cli.run(["leg", "add", plan, "--leg", mine])).stdout).toContain("nothing changed");
    const [source] = await cli.json<SourceListing[]>(["source", "list", "--names", "web:*"]);
    await cli.run(["recall", source?.id ?? "", "--apply"]);
    const list = await cli.json<{ legs: { state: string; axiom: boolean }[] }>(["leg", "list", plan]);
    expect(list.legs.map(({ state }) => state)).toEqual(["broken", "stands"]);
    expect((await cli.run(["leg", "list", plan])).stdout).toContain(`broken: ${claim} was recalled`);
    expect((await cli.run(["leg", "add", plan, "--leg", claim])).status).toBe(1);
    expect((await cli.run(["leg", "add", plan])).status).toBe(2);
    expect((await cli.run(["leg", "list", source?.id ?? ""])).stdout).toContain("is a source");
  });

  it("of the person's own word comes by --axiom, also with remember", async () => {
    const claim = await cli.remember("It will rain", "--source", "web:weather", "--axiom");
    const list = await cli.json<{ legs: { axiom: boolean }[] }>(["leg", "list", claim]);
    expect(list.legs.map(({ axiom }) => axiom)).toEqual([false, true]);
    const plan = await cli.remember("Take an umbrella", "--source", "web:weather");
    expect((await cli.run(["leg", "add", plan, "--axiom"])).stdout).toContain("1 leg added");
    expect((await cli.run(["leg", "list", plan])).stdout).toContain("the statement itself");
  });
});
