import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { packagePath } from "../../src/core/package-path.ts";
import { useCli } from "./run-cli.ts";

interface Thought {
  readonly id: string;
  readonly content: string;
  readonly kind: string;
}
interface Answer {
  readonly query: string;
  readonly results: readonly (Thought & {
    readonly score: number;
    readonly channels: { readonly text: number; readonly vector: number; readonly graph: number };
    readonly explain?: { readonly terms: readonly string[] };
  })[];
  readonly scanned: { readonly eligible: number };
}
interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string | null };
}
interface Change {
  readonly changed: boolean;
  readonly event: string | null;
}

const SLOW = 60_000;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const cli = useCli();

function failureOf(stderr: string): Failure["error"] {
  const { error }: Failure = JSON.parse(stderr);
  return error;
}

describe("init", { timeout: SLOW }, () => {
  it("makes the brain once and leaves it alone afterwards", async () => {
    const bare = cli.fresh();
    expect(await bare.json(["init"])).toEqual({ path: bare.brain, created: true });
    await bare.remember("the key is under the third pot");
    expect(await bare.json(["init"])).toEqual({ path: bare.brain, created: false });
    expect(await bare.json(["list"])).toHaveLength(1);
    bare.removeHome();
  });

  it("uses the default place when neither option nor variable names one", async () => {
    const made = await cli.run(["init", "--json"], { env: { DORMOUSE_BRAIN: "" } });
    expect(JSON.parse(made.stdout).path).toBe(join(cli.home, ".dormouse", "brain.db"));
  });
});

describe("remember", { timeout: SLOW }, () => {
  it("creates, and reinforces what it knows", async () => {
    const first = await cli.json<{ id: string; status: string }>(["remember", "Lisbon has seven hills"]);
    expect(first).toEqual({ id: expect.stringMatching(/^n_[0-9a-z]{16}$/), status: "created" });
    expect(await cli.json(["remember", "Lisbon has seven hills"])).toEqual({ id: first.id, status: "reinforced" });
  });

  it("stores every attribute that an option names", async () => {
    const parent = await cli.remember("the deposit is two months' rent");
    const id = await cli.remember(
      "pay the deposit",
      ...["--kind", "commitment", "--domain", "lisbon", "--tag", "flat", "--tag", "money", "--when", "2026-05-09"],
      ...["--leg", parent, "--basis", "told", "--confidence", "90", "--salience", "70", "--aspect", "cost"],
      ...["--facet", "amount=2300", "--due", "2026-06-01T12:00:00Z", "--valid", "2026-05-01..", "--about", "Henrique"],
    );
    expect(await cli.json(["show", id])).toMatchObject({
      kind: "commitment",
      domain: "lisbon",
      tags: ["flat", "money"],
      referent: { from: "2026-05-08T10:00:00.000Z", to: "2026-05-10T11:59:59.999Z", floating: true },
      legs: [{ axiom: false, parents: [parent] }],
      basis: "told",
      confidence: 90,
      salience: 70,
      aspects: ["cost"],
      facets: [{ name: "amount", value: "2300" }],
      due: "2026-06-01T12:00:00.000Z",
      valid: { from: new Date(2026, 4, 1).toISOString(), to: null },
      subjects: ["Henrique"],
    });
  });

  it("names a source, whose word is not taken for the person's own", async () => {
    const id = await cli.remember("the 28 is often full", "--source", "a guide book");
    expect(await cli.json(["show", id])).toMatchObject({ source: { name: "a guide book", trust: "unknown" } });
  });

  it("reads standard input, with any script in it", async () => {
    const text = "Ginjinha 🍒 – 葡萄牙的樱桃酒, ロカ岬, مرحبا\nsecond line";
    const { stdout, status } = await cli.run(["remember", "-", "--json"], { stdin: text });
    expect(status).toBe(0);
    expect(await cli.json(["show", JSON.parse(stdout).id])).toMatchObject({ content: text });
  });

  it("tells what relative words came to", async () => {
    const { stdout } = await cli.run(["remember", "met the neighbours", "--when", "yesterday"], { env: { TZ: "UTC" } });
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    expect(stdout).toContain(`--when "yesterday" was read as ${yesterday}\n`);
  });

  it.each([["2026-05-01..2026-05-03"], ["2026-05-01"], ["2026-05"], ["..2020-01-01"]])(
    "shows %s as it was typed",
    async (when) => {
      const id = await cli.remember("the window was open", "--when", when);
      expect((await cli.run(["show", id])).stdout).toMatch(new RegExp(`happened +${when}\n`));
      expect((await cli.run(["list"])).stdout).toContain(` ${when} the window`);
    },
  );

  it.each([
    ["a date-time without offset", ["--when", "2026-05-01T10:00"], "naive_time"],
    ["words that are no time", ["--when", "when pigs fly"], "bad_time"],
    ["a facet without value", ["--facet", "city"], "usage"],
    ["a confidence above 100", ["--confidence", "101"], "usage"],
    ["an unknown basis", ["--basis", "hearsay"], "usage"],
    ["a leg that is no id", ["--leg", "somewhere"], "usage"],
    ["a kind without a name", ["--kind", ""], "invalid"],
    ["a range that ends a day before it begins", ["--when", "2026-05-02..2026-05-01"], "bad_time"],
  ])("refuses %s with status 2 and writes nothing", async (_, args, code) => {
    const result = await cli.run(["remember", "a thought", ...args, "--json"]);
    expect(result.status).toBe(2);
    expect(result.stdout).toBe("");
    expect(failureOf(result.stderr).code).toBe(code);
    expect(await cli.json(["list"])).toEqual([]);
  });

  it("takes 20,000 characters from standard input and no more", async () => {
    const most = await cli.run(["remember", "-"], { stdin: "a".repeat(20_000) });
    expect(most.status).toBe(0);
    for (const stdin of ["a".repeat(20_001), "a".repeat(300_000)]) {
      const more = await cli.run(["remember", "-", "--json"], { stdin });
      expect(more.status).toBe(2);
      expect(failureOf(more.stderr).code).toBe("too_long");
    }
  });

  it("refuses bytes that are no text, and nothing at all", async () => {
    const binary = await cli.run(["remember", "-", "--json"], { stdin: Uint8Array.of(0xff, 0xfe, 0x00, 0x80) });
    expect([binary.status, failureOf(binary.stderr).code]).toEqual([2, "invalid"]);
    for (const text of ["-", "", " "]) {
      const empty = await cli.run(["remember", text, "--json"]);
      expect([empty.status, failureOf(empty.stderr).code]).toEqual([2, "empty"]);
    }
  });
});

describe("search", { timeout: SLOW }, () => {
  beforeEach(async () => {
    await cli.remember("The landlord's number is +351 900 000 142", "--tag", "flat", "--when", "2026-05-09");
    await cli.remember("Miso is a grey cat", "--kind", "observation", "--domain", "home", "--when", "2026-03-01");
  });

  it("answers in the documented shape, best first", async () => {
    const answer = await cli.json<Answer>(["search", "landlord", "number"]);
    expect(answer).toMatchObject({ query: "landlord number", scanned: { eligible: 2 } });
    expect(answer.results[0]).toEqual({
      id: expect.stringMatching(/^n_/),
      kind: "fact",
      content: "The landlord's number is +351 900 000 142",
      score: expect.any(Number),
      channels: { text: expect.any(Number), vector: expect.any(Number), graph: expect.any(Number) },
      domain: null,
      scope: "personal",
      tags: ["flat"],
      recordedAt: expect.stringMatching(ISO),
      referent: { from: expect.stringMatching(ISO), to: expect.stringMatching(ISO), floating: true },
      source: { id: expect.stringMatching(/^s_/), name: "you", trust: "trusted" },
      trust: "trusted",
      belief: "asserted",
      stale: false,
      replaces: [],
      disputedWith: [],
    });
  });

  it("keeps to its filters", async () => {
    const found = async (...args: string[]) =>
      (await cli.json<Answer>(["search", "the cat's landlord", ...args])).results.map(({ content }) => content);
    expect(await found()).toHaveLength(2);
    expect(await found("-k", "1")).toHaveLength(1);
    expect(await found("--tag", "flat")).toEqual(["The landlord's number is +351 900 000 142"]);
    expect(await found("--kind", "observation")).toEqual(["Miso is a grey cat"]);
    expect(await found("--domain", "home")).toEqual(["Miso is a grey cat"]);
    expect(await found("--when", "2026-05-01..")).toEqual(["The landlord's number is +351 900 000 142"]);
    expect(await found("--when", "..2026-04")).toEqual(["Miso is a grey cat"]);
    expect(await found("--tag", "no such tag")).toEqual([]);
  });

  it("takes a bare date for the day on this machine", async () => {
    await cli.remember("the tram was late", "--when", "2026-07-01T10:30:00Z");
    const found = async (when: string, TZ: string) => {
      const { stdout } = await cli.run(["search", "tram", "--when", when, "--json"], { env: { TZ } });
      const { results }: Answer = JSON.parse(stdout);
      return results.map(({ content }) => content);
    };
    expect(await found("2026-07-01", "UTC")).toEqual(["the tram was late"]);
    expect(await found("2026-06-30", "UTC")).toEqual([]);
    expect(await found("2026-07-02", "UTC")).toEqual([]);
    expect(await found("2026-07-02", "Pacific/Kiritimati")).toEqual(["the tram was late"]);
    expect(await found("2026-07-01", "Pacific/Kiritimati")).toEqual([]);
  });

  it("names the option whose time cannot be read", async () => {
    for (const option of ["--when", "--now"]) {
      const { status, stderr } = await cli.run(["search", "cat", option, "soonish", "--json"]);
      expect(status).toBe(2);
      expect(failureOf(stderr).message).toContain(option);
      expect(failureOf(stderr).hint).toContain("yesterday");
    }
  });

  it("explains results on request and stands still at --now", async () => {
    const args = ["search", "landlord", "--explain", "--now", "2026-06-01T00:00:00Z"];
    const answer = await cli.json<Answer>(args);
    expect(answer.results[0]?.explain?.terms).toEqual(["landlord"]);
    expect((await cli.json<Answer>(args)).results).toEqual(answer.results);
    const { stdout } = await cli.run(args);
    expect(stdout).toContain("words");
    expect(stdout).toContain(answer.results[0]?.id);
  });

  it("finds nothing without calling it a failure", async () => {
    const empty = cli.fresh();
    await empty.run(["init"]);
    expect((await empty.json<Answer>(["search", "anything"])).results).toEqual([]);
    expect((await empty.run(["search", "anything"])).stdout).toContain("nothing found");
    empty.removeHome();
  });

  it.each([
    ["an empty query", ["search", " "]],
    ["a k that is no number", ["search", "cat", "-k", "many"]],
    ["a range that ends before it begins", ["search", "cat", "--when", "2026-05-01..2026-01-01"]],
    ["a range of nothing", ["search", "cat", "--when", ".."]],
  ])("refuses %s with status 2", async (_, args) => {
    expect((await cli.run(args)).status).toBe(2);
  });
});

describe("context", { timeout: SLOW }, () => {
  it("prints a fenced pack within its budget", async () => {
    const id = await cli.remember("The vet's appointment is in July", "--due", "in 2 days");
    const { stdout } = await cli.run(["context", "vet", "--budget", "500"]);
    expect(stdout).toContain(id);
    expect(stdout).toContain("## Due");
    const answer = await cli.json<{ tokens: number; counts: object }>(["context", "vet", "--budget", "500"]);
    expect(answer.tokens).toBeLessThanOrEqual(500);
    expect(answer.counts).toMatchObject({ thoughts: 1, due: 1 });
  });

  it("refuses a budget below what a fence takes", async () => {
    expect((await cli.run(["context", "--budget", "1"])).status).toBe(2);
  });
});

describe("extract", { timeout: SLOW }, () => {
  const sample = packagePath("src/cli/demo-sample");

  it("reads a session and a vault, and nothing twice", async () => {
    const first = await cli.json<{ files: number; thoughts: number; errors: unknown[] }>(["extract", sample]);
    expect(first).toMatchObject({ files: 8, errors: [] });
    expect(first.thoughts).toBeGreaterThan(20);
    expect(await cli.json(["extract", sample])).toMatchObject({ files: 8, thoughts: 0 });
    expect((await cli.json<Thought[]>(["list", "--limit", "500"])).length).toBe(first.thoughts);
  });

  it("writes nothing in a dry run", async () => {
    expect(await cli.json(["extract", sample, "--dry-run"])).toMatchObject({ files: 8 });
    expect(await cli.json(["list"])).toEqual([]);
  });

  it("names what it could not read: 0 beside something read, 1 alone, 1 when strict", async () => {
    const good = join(cli.home, "note.md");
    const empty = join(cli.home, "empty.jsonl");
    const binary = join(cli.home, "photo.jsonl");
    const missing = join(cli.home, "missing");
    writeFileSync(good, "# Note\n\nThe boiler makes a noise at night.\n");
    writeFileSync(empty, "");
    writeFileSync(binary, Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0, 255, 0]));
    const errors = [empty, binary, missing].map((file) => expect.objectContaining({ file, line: null }));
    const mixed = await cli.json<{ errors: object[] }>(["extract", good, empty, binary, missing]);
    expect(mixed.errors).toEqual(expect.arrayContaining(errors));
    expect(mixed.errors).toHaveLength(3);
    expect(await cli.json(["extract", missing], 1)).toMatchObject({ files: 0 });
    expect(await cli.json(["extract", good, missing, "--strict"], 1)).toMatchObject({ files: 1 });
  });

  it("explains what is wrong on stderr and leaves stdout to the summary", async () => {
    const good = join(cli.home, "note.md");
    const empty = join(cli.home, "empty.md");
    writeFileSync(good, "# Note\n\nThe boiler makes a noise at night.\n");
    writeFileSync(empty, "");
    const first = await cli.run(["extract", empty, good]);
    expect(first).toMatchObject({ status: 0, stdout: expect.stringMatching(/^read 1 file, 1 record: .*\n$/) });
    expect(first.stderr).toBe(`error: ${empty}: empty: there is nothing in the file\n`);
    const missing = join(cli.home, "missing.md");
    const unchanged = await cli.run(["extract", good, missing]);
    expect(unchanged).toMatchObject({ status: 0, stdout: expect.stringContaining("1 unchanged") });
    expect(unchanged.stderr).toBe(`error: ${missing}: not_found: there is nothing at this path (Check the path.)\n`);
    expect(await cli.run(["extract", missing])).toMatchObject({ status: 1, stderr: unchanged.stderr });
  });

  it("counts a note without any text as read", async () => {
    const heading = join(cli.home, "heading.md");
    writeFileSync(heading, "# Only a heading\n");
    expect(await cli.json(["extract", heading, join(cli.home, "missing.md")])).toMatchObject({ files: 1, records: 0 });
  });

  it("fails when a record in the one file is broken, whatever else was passed over", async () => {
    const folder = join(cli.home, "talks");
    mkdirSync(folder);
    writeFileSync(join(folder, "photo.jpg"), "no talk");
    writeFileSync(join(folder, "talk.jsonl"), '{"role":"user","content":{}}\n');
    const { status, stderr } = await cli.run(["extract", folder, "--format", "jsonl"]);
    expect(stderr).toContain("talk.jsonl:1: unknown_shape: a record without a text where one belongs");
    expect(status).toBe(1);
  });

  it("names the formats that have no reader, and fails when there is nothing else", async () => {
    const folder = join(cli.home, "sessions");
    mkdirSync(folder);
    const meta = JSON.stringify({ timestamp: "2026-05-01T10:00:00Z", type: "session_meta", payload: { id: "a" } });
    for (const name of ["one", "two"]) writeFileSync(join(folder, `${name}.jsonl`), `${meta}\n`);
    const alone = await cli.run(["extract", folder]);
    expect([alone.status, alone.stderr]).toEqual([1, "no reader yet for: codex (2 files)\n"]);
    expect(alone.stdout).not.toContain("codex");
    expect(await cli.json(["extract", folder], 1)).toMatchObject({ files: 0, skipped: { codex: 2 }, errors: [] });
    writeFileSync(join(folder, "note.md"), "Beside them lies a note.\n");
    expect(await cli.run(["extract", folder])).toMatchObject({ status: 0, stderr: alone.stderr });
  });

  it("counts broken lines by place and goes on", async () => {
    const file = join(cli.home, "talk.jsonl");
    const line = (content: string) => JSON.stringify({ role: "user", content, timestamp: "2026-05-01T10:00:00Z" });
    writeFileSync(file, `${line("the first is fine")}\n{"role": "user", "content":\n${line("the third as well")}\n`);
    const report = await cli.json<{ thoughts: number; errors: object[] }>(["extract", file, "--format", "jsonl"]);
    expect(report.thoughts).toBe(2);
    expect(report.errors).toEqual([{ file, line: 2, rule: expect.any(String) }]);
  });

  it("refuses an unknown format with status 2", async () => {
    const { status, stderr } = await cli.run(["extract", sample, "--format", "word"]);
    expect(status).toBe(2);
    expect(stderr).toContain("claude-code");
  });
});

describe("inspection", { timeout: SLOW }, () => {
  let parent: string;
  let child: string;

  beforeEach(async () => {
    parent = await cli.remember("The flat in Graça has a terrace");
    child = await cli.remember("We take the flat in Graça", "--kind", "decision", "--leg", parent);
  });

  it("shows a thought and its source", async () => {
    const thought = await cli.json<{ role: string; source: { id: string } }>(["show", child]);
    expect(thought).toMatchObject({ role: "thought", content: "We take the flat in Graça", state: { visible: true } });
    expect(await cli.json(["show", thought.source.id])).toMatchObject({ role: "source", name: "you", thoughts: 2 });
    const { stdout } = await cli.run(["show", child]);
    expect(stdout).toContain("We take the flat in Graça");
    expect(stdout).toContain(`rests on    ${parent}`);
  });

  it("tells why, to a depth", async () => {
    expect(await cli.json(["why", child])).toMatchObject({ id: child, legs: [{ parents: [{ id: parent }] }] });
    const { stdout } = await cli.run(["why", child, "--depth", "1"]);
    expect(stdout).toMatch(new RegExp(`${child}.*\\n {2}rests on\\n {4}${parent}`));
  });

  it("tells how two are connected, and when they are not", async () => {
    const answer = await cli.json<{ path: { id: string; via: string | null }[] }>(["how", parent, child]);
    expect(answer.path.map(({ id }) => id)).toEqual([parent, child]);
    const alone = cli.fresh();
    await alone.run(["init"]);
    const [a, b] = [await alone.remember("one"), await alone.remember("two", "--source", "elsewhere")];
    expect(await alone.json(["how", a, b])).toEqual({ from: a, to: b, path: null });
    expect((await alone.run(["how", a, b])).stdout).toContain("not connected");
    alone.removeHome();
  });

  it("lists by kind and state", async () => {
    expect((await cli.json<Thought[]>(["list", "--kind", "decision"])).map(({ id }) => id)).toEqual([child]);
    expect(await cli.json(["list", "--state", "forgotten"])).toEqual([]);
    expect((await cli.run(["list", "--state", "asleep"])).status).toBe(2);
    expect((await cli.run(["list", "--limit", "0"])).status).toBe(2);
  });

  it("counts the brain", async () => {
    expect(await cli.json(["stats"])).toMatchObject({ thoughts: 2, visible: 2, kinds: { fact: 1, decision: 1 } });
    const { stdout } = await cli.run(["stats"]);
    expect(stdout).toContain("2, 2 of them visible");
    expect(stdout).toContain("2 vectors, 256 dimensions, built-in model");
  });

  it("answers 1 for an id that is not there and 2 for one that is none", async () => {
    const missing = await cli.run(["show", "n_0000000000000000", "--json"]);
    expect([missing.status, failureOf(missing.stderr).code]).toEqual([1, "not_found"]);
    for (const command of ["show", "why", "revive", "pin", "unpin"]) {
      expect((await cli.run([command, "nonsense"])).status).toBe(2);
    }
  });
});

describe("states", { timeout: SLOW }, () => {
  it("forgets with a reason, revives, pins and unpins, each in the ledger", async () => {
    const id = await cli.remember("the old address");
    const found = async () => (await cli.json<Answer>(["search", "old address"])).results.length;
    expect(await found()).toBe(1);
    expect(await cli.json(["forget", id, "--reason", "we moved"])).toMatchObject({ id, changed: true });
    expect(await found()).toBe(0);
    expect(await cli.json(["show", id])).toMatchObject({ reason: "we moved", state: { decayed: "forgotten" } });
    expect(await cli.json<Change>(["revive", id])).toMatchObject({ changed: true });
    expect(await found()).toBe(1);
    const pinned = await cli.json<Change>(["pin", id]);
    expect(await cli.json<Change>(["pin", id])).toMatchObject({ changed: false, event: null });
    expect(await cli.json<Change>(["unpin", id])).toMatchObject({ changed: true });
    const events = await cli.json<{ id: string; kind: string }[]>(["ledger", "--node", id]);
    expect(events.map(({ kind }) => kind).slice(0, 4)).toEqual([
      "permanence.changed",
      "permanence.changed",
      "revived",
      "decayed",
    ]);
    const later = await cli.json<unknown[]>(["ledger", "--node", id, "--since", pinned.event ?? ""]);
    expect(later).toHaveLength(1);
  });

  it("forgets nothing without a reason", async () => {
    const id = await cli.remember("stays");
    expect((await cli.run(["forget", id])).status).toBe(2);
    expect((await cli.run(["forget", id, "--reason", " "])).status).toBe(2);
    expect(await cli.json(["list"])).toHaveLength(1);
  });
});

describe("care", { timeout: SLOW }, () => {
  it("sleeps in phases, all or some, dry or not", async () => {
    await cli.remember("a fresh thought");
    const night = await cli.json<{ phases: { name: string; planned: number; applied: number; tookMs: number }[] }>([
      "sleep",
    ]);
    expect(night.phases.length).toBeGreaterThan(3);
    expect(night.phases[0]).toEqual(
      expect.objectContaining({ name: "embed", planned: 0, applied: 0, tookMs: expect.any(Number) }),
    );
    const dry = await cli.json<{ dryRun: boolean; phases: object[] }>(["sleep", "--dry-run", "--phase", "decay"]);
    expect(dry).toMatchObject({ dryRun: true, phases: [{ name: "decay", applied: 0 }] });
    expect(await cli.json(["list"])).toHaveLength(1);
  });

  it.each([[["--phase", "snore"]], [["--max-minutes", "0"]], [["--max-minutes", "soon"]]])(
    "refuses sleep %j with status 2",
    async (args) => {
      expect((await cli.run(["sleep", ...args])).status).toBe(2);
    },
  );

  it("finds a healthy brain healthy, before and after a rebuild", async () => {
    await cli.remember("something to index");
    expect(await cli.json(["doctor"])).toMatchObject({ healthy: true, rebuilt: null });
    expect(await cli.json(["doctor", "--rebuild"])).toMatchObject({
      healthy: true,
      rebuilt: { fullText: 1, vectors: 1 },
    });
    expect((await cli.json<Answer>(["search", "index"])).results).toHaveLength(1);
  });

  it("lists events, latest first, at most as many as asked for", async () => {
    await cli.remember("one");
    const events = await cli.json<{ id: string; at: string; chain: string }[]>(["ledger", "--limit", "3"]);
    expect(events).toHaveLength(3);
    const numbers = events.map(({ id }) => Number(id.slice(2)));
    expect(numbers).toEqual([...numbers].sort((a, b) => b - a));
    expect(events[0]?.at).toMatch(ISO);
    expect((await cli.run(["ledger", "--since", "yesterday"])).status).toBe(2);
  });
});

describe("demo", { timeout: SLOW }, () => {
  it("shows the whole circle on the sample and leaves no brain behind", async () => {
    const home = cli.fresh();
    const { status, stdout } = await home.run(["demo"], { env: { TMPDIR: home.home } });
    expect(status).toBe(0);
    const asleep = ["$ dormouse sleep", "One note stands behind its twin", "1 new link"];
    for (const text of ["900 000 142", "because of the light", ...asleep, "dormouse extract ~/notes"]) {
      expect(stdout).toContain(text);
    }
    const { readdirSync } = await import("node:fs");
    expect(readdirSync(home.home)).toEqual([]);
    home.removeHome();
  });

  it("answers its questions with the right thought first", async () => {
    const report = await cli.json<{ answers: Answer[]; extract: object; ledger: unknown[] }>(["demo"]);
    expect(report.answers.map(({ results }) => results[0]?.content)).toEqual([
      expect.stringContaining("+351 900 000 142"),
      expect.stringContaining("because of the light"),
    ]);
    expect(report.extract).toMatchObject({ files: 8, errors: [] });
    expect(report.ledger.length).toBeGreaterThan(0);
  });

  it("reads a person's own folder into their own brain, but not unasked", async () => {
    const notes = join(cli.home, "notes");
    mkdirSync(notes);
    writeFileSync(join(notes, "plan.md"), "# Plan\n\nIt was decided to paint the kitchen green.\n");
    const unasked = await cli.run(["demo", notes, "--json"]);
    expect(unasked.status).toBe(2);
    expect(failureOf(unasked.stderr).hint).toContain("--yes");
    expect(await cli.json(["list"])).toEqual([]);
    const report = await cli.json<{ brain: string; answers: Answer[] }>(["demo", notes, "--yes"]);
    expect(report.brain).toBe(cli.brain);
    expect(report.answers[0]?.results[0]?.content).toContain("paint the kitchen green");
    expect(await cli.json(["list"])).toHaveLength(1);
  });

  it("says that an empty folder holds nothing, and stops", async () => {
    const empty = join(cli.home, "empty");
    mkdirSync(empty);
    const { status, stdout } = await cli.run(["demo", empty, "--yes"]);
    expect(status).toBe(1);
    expect(stdout).toContain("There was nothing to read");
    expect(stdout).not.toContain("dormouse search");
    expect(await cli.json(["demo", empty, "--yes"], 1)).toMatchObject({ answers: [], sleep: null, ledger: [] });
  });

  it("fails for a folder that is not there", async () => {
    expect((await cli.run(["demo", join(cli.home, "nowhere"), "--yes"])).status).toBe(1);
  });
});
