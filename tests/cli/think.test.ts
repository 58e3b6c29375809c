/** `dormouse distil` and `dormouse think` as processes: out with the material, in with the answers. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { IngestedBatch, Prepared, SleepReport, ThoughtDetail } from "../../src/app.ts";
import { personLine } from "../support/claude-lines.ts";
import { Cli } from "./run-cli.ts";

let built: Cli;
let cli: Cli;
beforeAll(() => {
  built = Cli.build();
}, 60_000);
afterAll(() => built.removeBuild());
beforeEach(async () => {
  cli = built.fresh();
  const session = join(cli.home, "11111111-1111-4111-8111-111111111111.jsonl");
  writeFileSync(
    session,
    personLine("We are moving from Porto to a flat in the Graça quarter of Lisbon in June, it is decided.") +
      personLine("The landlady wants 1,150 euros a month and two months in advance.", {
        at: "2026-02-03T10:01:00.000Z",
      }),
  );
  await cli.run(["init"]);
  await cli.run(["extract", session]);
});
afterEach(() => cli.removeHome());

const write = (name: string, value: unknown): string => {
  const file = join(cli.home, name);
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  return file;
};
const TAKEN = { text: "They move to Graça in Lisbon in June.", kind: "decision", from: [[1, 2]] };
const ticket = async () => (await cli.json<Prepared>(["distil", "--prepare"])).batches[0]?.ticket ?? "";
const failure = async (args: readonly string[], status = 2) => {
  const result = await cli.run([...args, "--json"]);
  expect([result.status, result.stdout]).toEqual([status, ""]);
  return (JSON.parse(result.stderr) as { error: { code: string; message: string; hint: string | null } }).error;
};

describe("dormouse distil", () => {
  it("prints material for an agent and takes its answers", async () => {
    const prepared = await cli.json<Prepared>(["distil", "--prepare"]);
    expect(prepared.batches[0]?.material.map(({ n, who }) => [n, who])).toEqual([
      [1, "User"],
      [2, "User"],
    ]);
    const file = write("answers.json", {
      ticket: prepared.batches[0]?.ticket,
      answers: [TAKEN, { ...TAKEN, from: [[7]] }],
    });
    const { stdout, status } = await cli.run(["distil", "--ingest", file, "--model", "my agent"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^batch 1 \(distil\): 1 answer taken, 1 refused\n {2}1 {2}created n_[0-9a-z]{16}\n {2}2 {2}refused: unknown_number: it cites a number that was not given\n$/,
    );
    const [thought] = await cli.json<ThoughtDetail[]>(["list", "--kind", "decision"]);
    expect(thought).toMatchObject({ content: TAKEN.text, source: { name: "sleep:my agent" } });
    const again = await cli.run(["distil", "--prepare"]);
    expect(again.stderr).toBe("nothing new to ask about\n");
    expect((JSON.parse(again.stdout) as Prepared).batches).toEqual([]);
  });

  it("takes answers from standard input, and exits 1 when none was taken", async () => {
    const answers = JSON.stringify({ ticket: await ticket(), answers: [{ ...TAKEN, from: [[7]] }] });
    const { status, stdout } = await cli.run(["distil", "--ingest", "-", "--json"], { stdin: answers });
    expect(status).toBe(1);
    expect((JSON.parse(stdout) as { batches: IngestedBatch[] }).batches).toEqual([
      { task: "distil", accepted: [], refused: [{ item: 1, rule: "unknown_number" }], advanced: true },
    ]);
  });

  it("begins one session anew when asked", async () => {
    const [source] = await cli.json<{ id: string }[]>(["source", "list", "--type", "session"]);
    const session = source?.id ?? "";
    await cli.run(["distil", "--ingest", write("a.json", { ticket: await ticket(), answers: [] })]);
    expect((await cli.json<Prepared>(["distil", session, "--prepare"])).batches).toEqual([]);
    expect((await cli.json<Prepared>(["distil", session, "--prepare", "--again"])).batches).toHaveLength(1);
  });

  it("says what is missing or wrong, without repeating what a file says", async () => {
    expect(await failure(["distil"])).toMatchObject({
      code: "usage",
      hint: expect.stringContaining("sleep --phase distil"),
    });
    expect((await failure(["distil", "--prepare", "--ingest", "x"])).message).toContain("not both");
    expect((await failure(["distil", "--prepare", "--again"])).message).toContain("needs a session");
    expect((await failure(["distil", "--prepare", "--batches", "0"])).message).toContain("--batches");
    expect(await failure(["distil", "--ingest", join(cli.home, "absent.json")], 1)).toMatchObject({ code: "io" });
    const secret = "the person's own words";
    for (const text of [secret, JSON.stringify({ words: secret })]) {
      const error = await failure(["distil", "--ingest", write("b.json", text)], 1);
      expect(error.code).toBe("format");
      expect(JSON.stringify(error)).not.toContain(secret);
    }
    const forged = write("c.json", { ticket: `${await ticket()}0`, answers: [] });
    expect(await failure(["distil", "--ingest", forged])).toMatchObject({ code: "invalid" });
  });
});

describe("dormouse think", () => {
  it("prepares each of its tasks; an unknown one is refused", async () => {
    for (const task of ["think", "tension", "dream", "date"]) {
      expect((await cli.json<Prepared>(["think", "--prepare", "--task", task])).task).toBe(task);
    }
    expect((await failure(["think", "--prepare", "--task", "distil"])).code).toBe("usage");
  });

  it("takes dates for what has none", async () => {
    await cli.remember("The roof was made new in 2019");
    const prepared = await cli.json<Prepared>(["think", "--prepare", "--task", "date"]);
    const answer = { number: 1, words: "in 2019", first: "2019-01-01", last: "2019-12-31" };
    const file = write("d.json", { ticket: prepared.batches[0]?.ticket, answers: [answer] });
    expect((await cli.run(["think", "--ingest", file])).stdout).toMatch(/1 answer taken, 0 refused\n {2}1 {2}dated n_/);
    const [thought] = await cli.json<ThoughtDetail[]>(["list", "--when", "2019"]);
    expect(thought?.content).toBe("The roof was made new in 2019");
  });
});

describe("dormouse sleep", () => {
  it("tells in one line what it passed over without a language model", async () => {
    const { stdout, status } = await cli.run(["sleep"]);
    expect(status).toBe(0);
    expect(stdout).toContain("  skipped, no language model: distil, think, tension, dream, date\n");
    const report = await cli.json<SleepReport>(["sleep", "--phase", "dream"]);
    expect(report.phases[0]).toMatchObject({ name: "dream", planned: 0, applied: 0, details: { skipped: 1 } });
  });
});
