/** What the command line says about recalls to somebody who has read the README alone. */
import { describe, expect, it } from "vitest";
import { useCli } from "./run-cli.ts";

const SLOW = 60_000;
const cli = useCli();

/** What a person reads on stdout. */
async function read(...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await cli.run(args);
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

async function refused(status: number, ...args: readonly string[]): Promise<string> {
  const result = await cli.run(args);
  expect(result.status).toBe(status);
  return result.stderr;
}

describe("a recalled thought on the command line", { timeout: SLOW }, () => {
  it("is called recalled, with the event and what undoes it", async () => {
    const id = await cli.remember("the first bus is late", "--source", "tool:transit");
    await cli.run(["pin", id]);
    expect(await read("show", id)).toContain("state       pinned\n");
    const { event } = await cli.json<{ event: string }>(["recall", "--sources", "tool:*", "--apply"]);
    expect(await read("show", id)).toMatch(
      new RegExp(`state +recalled by ${event}, pinned\n +undo +dormouse unrecall ${event}\n`),
    );
    for (const state of ["all", "recalled"]) {
      const listed = await cli.run(["list", "--state", state]);
      expect(listed.stdout).toContain(`[recalled by ${event}, pinned]`);
      expect(listed.stderr).toContain(`dormouse unrecall ${event}`);
      expect(await cli.json(["list", "--state", state])).toMatchObject([
        { state: { recalledBy: event, visible: false } },
      ]);
    }
    for (const command of ["pin", "unpin", "revive"]) {
      expect(await refused(1, command, id)).toContain(`dormouse unrecall ${event}`);
    }
    expect(await read("recall", "--sources", "tool:*")).toContain(`already recalled by ${event}`);
    expect(await read("recall", "--sources", "tool:*", "--apply")).toContain(`already recalled by ${event}`);
    expect(await cli.json(["remember", "the first bus is late"])).toEqual({ id, status: "revived", risen: 1 });
    expect(await refused(1, "unrecall", "e_999")).toContain("there is no event e_999");
    await read("unrecall", event);
    expect(await refused(1, "unrecall", event)).toContain("was undone already");
  });

  it("is said to rise when it is met again", async () => {
    await cli.remember("the first bus is late", "--source", "tool:transit");
    await read("recall", "--sources", "tool:*", "--apply");
    expect(await read("remember", "the first bus is late")).toMatch(
      /^revived n_.*\n {2}1 thought that had fallen in a recall stands again\n$/,
    );
  });

  it("is named as the root in its history", async () => {
    const id = await cli.remember("the first bus is late");
    await read("recall", id, "--apply");
    const told = await read("history", id);
    expect(told).toMatch(/ {4}recalled\n$/);
    expect(told).not.toContain("fell with");
  });
});

describe("sources on the command line", { timeout: SLOW }, () => {
  it("have the type that their name begins with", async () => {
    for (const name of ["tool:weather", "web:example.org", "person:Anna", "https://example.org/a", "a note: b"]) {
      await cli.remember(`from ${name}`, "--source", name);
    }
    const types = (await cli.json<{ type: string; name: string }[]>(["source", "list"])).map(({ type, name }) => [
      name,
      type,
    ]);
    expect(Object.fromEntries(types)).toMatchObject({
      "tool:weather": "tool",
      "web:example.org": "page",
      "person:Anna": "person",
      "https://example.org/a": "named",
      "a note: b": "named",
    });
  });

  it("order nothing that is remembered one by one", async () => {
    const ids = [await cli.remember("first", "--source", "web:a"), await cli.remember("second", "--source", "web:a")];
    for (const id of ids) {
      expect(await cli.json(["show", id])).toMatchObject({ occurrences: [{ previous: null, next: null }] });
    }
  });

  it("are named once for a thought", async () => {
    expect(await refused(2, "remember", "both say so", "--source", "a", "--source", "b")).toContain(
      "--source is given twice",
    );
    expect(await cli.json(["list"])).toEqual([]);
  });

  it("that a list leaves out are counted", async () => {
    for (const name of ["a", "b", "c"]) await cli.remember(`from ${name}`, "--source", name);
    expect(await read("source", "list", "--limit", "1")).toContain("\n… and 2 more");
    expect(await read("source", "list", "--limit", "3")).not.toContain("more");
    expect(await read("list", "--limit", "2")).toContain("\n… and more");
    expect(await read("list", "--limit", "3")).not.toContain("more");
  });
});

describe("a call that cannot be meant so", { timeout: SLOW }, () => {
  it("is refused with a hint", async () => {
    expect(await refused(2, "verify", "--since", "e_999")).toContain("there is no event e_999");
    expect(await refused(2, "verify", "--key", "abc")).toMatch(/no checkpoint is named\nhint: /);
    expect(await refused(2, "list", "--limit", "0")).toMatch(/\nhint: /);
    expect(await refused(2, "search", "bus", "--when", "2026-05-02..2026-05-01")).toMatch(/\nhint: /);
    expect(await refused(1, "show", "s_0123456789abcdef")).toContain("dormouse source list");
    expect(await refused(2, "recall", "tool:weather")).toMatch(/\nhint: .*--sources/);
    expect(await refused(2, "recall", "e_5")).toMatch(/\nhint: .*unrecall/);
    expect(await refused(2, "source", "trust", "tool:weather", "untrusted")).toMatch(/\nhint: .*--sources/);
    expect(await refused(2, "sleep", "--max-minutes", "0")).toMatch(/\nhint: /);
    expect(await read("recall", "--help")).not.toMatch(/choices: .*erase/);
  });
});

describe("stats", { timeout: SLOW }, () => {
  it("tells forgotten thoughts from those that decayed", async () => {
    const id = await cli.remember("the first bus is late");
    await read("forget", id, "--reason", "done");
    const told = await read("stats");
    expect(told).toMatch(/^states +forgotten 1$/m);
  });
});

describe("demo recall", { timeout: SLOW }, () => {
  it("says why a thought stands that loses a leg", async () => {
    expect(await read("demo", "recall")).toMatch(/You live in Pune\nIt stands, for you said so yourself/);
  });
});
