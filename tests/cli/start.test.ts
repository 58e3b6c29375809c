import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { analyse, termHash } from "../../src/text/analyse.ts";
import { Cli } from "./run-cli.ts";

const SLOW = 120_000;

describe("the compiled form beside the bundle", { timeout: SLOW }, () => {
  let cli: Cli;

  beforeAll(() => {
    cli = Cli.build();
  }, SLOW);
  afterAll(() => {
    cli.removeHome();
    cli.removeBuild();
  });

  const caches = () => readdirSync(cli.bundle).filter((name) => name.endsWith(".cache"));
  const cachePath = () => join(cli.bundle, caches()[0] ?? "");
  const version = async () => (await cli.run(["--version"])).stdout.trim();

  it("understands every alphabet as the sources do, though it is read byte by byte", async () => {
    expect(/[^\0-\x7F]/.test(readFileSync(join(cli.bundle, "program.cjs"), "latin1"))).toBe(false);
    const texts = [
      "Größere Häuser kosten müßige Bürger viel mehr als die kleinen",
      "Kırmızı çiçekler çok güzel kokuyor ve bahçede büyüyor",
      "Łódź jest pięknym miastem i mieszkamy tam od wielu lat",
      "昨日は東京で寿司を食べました",
    ];
    expect((await cli.run(["init"])).status).toBe(0);
    const path = cli.brain;
    for (const text of texts) expect((await cli.run(["remember", "--", text])).status).toBe(0);
    const db = new Database(path, { readonly: true });
    const packed = db
      .prepare<[], { terms: Buffer }>("SELECT terms FROM forward_index ORDER BY node_id")
      .all()
      .map(({ terms }) => new Set(Array.from({ length: terms.length / 5 }, (_, at) => terms.readUInt32LE(at * 5))));
    db.close();
    expect(packed).toEqual(
      texts.map((text) => new Set([...new Set(analyse(text).map(termHash))].sort((a, b) => a - b))),
    );
  });

  it("is made by the build, for this Node and this bundle", async () => {
    expect(caches()).toHaveLength(1);
    expect(caches()[0]).toContain(process.versions.v8);
    const before = readFileSync(cachePath());
    expect(await version()).toMatch(/^\d+\.\d+\.\d+/);
    expect(readFileSync(cachePath()).equals(before)).toBe(true);
  });

  it("is made again by the first start that misses it, and nothing else is left behind", async () => {
    rmSync(cachePath());
    const files = readdirSync(cli.bundle).sort();
    expect(await version()).toMatch(/^\d+\.\d+\.\d+/);
    expect(caches()).toHaveLength(1);
    expect(
      readdirSync(cli.bundle)
        .filter((name) => !name.endsWith(".cache"))
        .sort(),
    ).toEqual(files);
  });

  it.each([
    ["cut short", (whole: Buffer) => whole.subarray(0, whole.length / 2)],
    ["empty", () => Buffer.alloc(0)],
    [
      "of another V8",
      (whole: Buffer) => Buffer.concat([whole.subarray(0, 4).map((byte) => byte ^ 0xff), whole.subarray(4)]),
    ],
  ])("does no harm when it is %s, and is replaced", async (_, damage) => {
    await version();
    const damaged = damage(readFileSync(cachePath()));
    writeFileSync(cachePath(), damaged);
    expect(await version()).toMatch(/^\d+\.\d+\.\d+/);
    expect(readFileSync(cachePath()).equals(damaged)).toBe(false);
  });

  it("does no harm where it cannot be kept, and leaves nothing half done", async () => {
    const path = cachePath();
    rmSync(path);
    mkdirSync(join(path, "in the way"), { recursive: true });
    const files = readdirSync(cli.bundle).sort();
    expect(await version()).toMatch(/^\d+\.\d+\.\d+/);
    expect(readdirSync(cli.bundle).sort()).toEqual(files);
    rmSync(path, { recursive: true });
  });
});

describe("output into a pipe", { timeout: SLOW }, () => {
  it("arrives whole however much it is and however late it is read", async () => {
    const cli = Cli.build();
    await cli.run(["init"]);
    const note = join(cli.home, "notes.md");
    const paragraphs = Array.from({ length: 900 }, (_, index) => `Paragraph ${index} ${"says the same ".repeat(40)}`);
    writeFileSync(note, paragraphs.join("\n\n"));
    await cli.run(["extract", note]);
    const child = cli.start(["list", "--limit", "1000", "--json"]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const chunks: Buffer[] = [];
    for await (const chunk of child.stdout ?? []) chunks.push(chunk as Buffer);
    const printed = Buffer.concat(chunks).toString("utf8");
    expect(printed.length).toBeGreaterThan(400_000);
    expect(JSON.parse(printed)).toHaveLength(900);
    cli.removeHome();
    cli.removeBuild();
  });
});
