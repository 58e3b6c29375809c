import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Note, parseNote, whenFromName } from "../../src/extract/markdown.ts";
import { createLinkResolver } from "../../src/extract/vault-links.ts";
import { isTemplatePath, isVault, readTemplatesFolder, walkFiles } from "../../src/extract/walk.ts";

const shared = process.env.DORMOUSE_SHARED;

interface Sample {
  texts: Map<string, string>;
  notes: Map<string, Note>;
}

async function readVault(name: string): Promise<Sample> {
  const sample: Sample = { texts: new Map(), notes: new Map() };
  const faults: string[] = [];
  for await (const file of walkFiles(vaultPath(name), { onFault: (path, rule) => faults.push(`${rule} ${path}`) })) {
    if (!file.relative.endsWith(".md") || isTemplatePath(file.relative)) continue;
    const text = readFileSync(file.path, "utf8");
    sample.texts.set(file.relative, text);
    sample.notes.set(file.relative, parseNote(text));
  }
  expect(faults).toEqual([]);
  return sample;
}

function vaultPath(name: string): string {
  return join(shared ?? "", "samples", "vaults", name);
}

/** The text as a plain reader would strip it, without a Markdown parser: no frontmatter, fences, code spans. */
function proseOf(text: string): string {
  const lines: string[] = [];
  let fence = "";
  for (const line of text.replace(/^---\n[\s\S]*?\n---\n?/, "").split("\n")) {
    const mark = /^[\s>]*(?:[-*\d.]+\s+)?(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence === "" && mark !== "") fence = mark;
    else if (fence !== "" && mark.startsWith(fence)) fence = "";
    else if (fence === "") lines.push(line);
  }
  return lines.join("\n").replace(/(`+)[^`][\s\S]*?\1/g, "code");
}

function countIn(sample: Sample, pattern: RegExp): number {
  return [...sample.texts.values()].reduce((sum, text) => sum + [...proseOf(text).matchAll(pattern)].length, 0);
}

function tally(sample: Sample): Record<string, number> {
  const resolver = createLinkResolver([...sample.notes.keys()]);
  const notes = [...sample.notes];
  const blocks = notes.flatMap(([path, note]) => note.blocks.map((block) => ({ path, block })));
  const links = blocks.flatMap(({ path, block }) => block.links.map((link) => ({ path, link })));
  return {
    notes: notes.length,
    withoutBlocks: notes.filter(([, note]) => note.blocks.length === 0).length,
    dated: notes.filter(([path, note]) => (note.when ?? whenFromName(path)) !== null).length,
    // Pieces of one block count once: where a long one is cut is the chunker's affair.
    blocks: blocks.filter(({ block }) => block.part === 0).length,
    wiki: links.filter(({ link }) => link.style === "wiki").length,
    markdown: links.filter(({ link }) => link.style === "markdown").length,
    resolved: links.filter(({ path, link }) => resolver.resolve(path, link) !== null).length,
    propertyLinks: notes.reduce((sum, [, note]) => sum + note.links.length, 0),
    faults: notes.filter(([, note]) => note.frontmatterFault !== null).length,
    tooLong: blocks.filter(({ block }) => block.text.length > 1200).length,
  };
}

describe.skipIf(!shared)("kepano's vault", () => {
  let sample: Sample;
  beforeAll(async () => {
    sample = await readVault("kepano-obsidian");
  });

  it("gives these counts", () => {
    expect(tally(sample)).toEqual({
      notes: 51,
      withoutBlocks: 40,
      dated: 18,
      blocks: 82,
      wiki: 14,
      markdown: 0,
      resolved: 3,
      propertyLinks: 83,
      faults: 0,
      tooLong: 0,
    });
  });

  it("has a block for each run of lines that is neither heading nor embedded file", () => {
    for (const [path, text] of sample.texts) {
      const runs = proseOf(text)
        .replace(/^#{1,6} .*$/gm, "")
        .split(/\n\s*\n/)
        .filter((run) => run.replace(/!\[\[[^\]]*\.(?:base|jpg)[^\]]*\]\]/g, "").trim() !== "");
      const whole: string[] = [];
      for (const { text: piece, part } of sample.notes.get(path)?.blocks ?? []) {
        if (part === 0) whole.push(piece);
        else whole.push(`${whole.pop()}\n${piece}`);
      }
      // White space at a cut is lost.
      const bare = (list: readonly string[]): string[] => list.map((one) => one.replace(/\s+/g, ""));
      expect([path, bare(whole)]).toEqual([path, bare(runs)]);
    }
  });

  it("is a vault that names its templates folder", async () => {
    expect(await isVault(vaultPath("kepano-obsidian"))).toBe(true);
    expect(await readTemplatesFolder(vaultPath("kepano-obsidian"))).toBe("Templates");
  });

  it("resolves what the vault holds and nothing else", () => {
    const resolver = createLinkResolver([...sample.notes.keys()]);
    const links = [...sample.notes].flatMap(([path, note]) =>
      note.blocks.flatMap((block) => block.links.map((link) => ({ path, link }))),
    );
    const resolved = links.flatMap(({ path, link }) => resolver.resolve(path, link) ?? []);
    expect(resolved.sort()).toEqual([
      "Categories/Evergreen.md",
      "Clippings/Buy wisely.md",
      "References/Out of Control.md",
    ]);
    const names = new Set(
      [...sample.notes.keys()].map((path) => path.replace(/^.*\//, "").replace(/\.md$/, "").toLowerCase()),
    );
    expect(links.filter(({ link }) => names.has(link.target.toLowerCase()))).toHaveLength(resolved.length);
  });

  it("reads every template without failing", async () => {
    let templates = 0;
    for await (const file of walkFiles(vaultPath("kepano-obsidian"), { onFault: () => undefined })) {
      if (!isTemplatePath(file.relative) || !file.relative.endsWith(".md")) continue;
      templates += 1;
      expect(parseNote(readFileSync(file.path, "utf8")).frontmatterFault).toBeNull();
    }
    expect(templates).toBe(52);
  });
});

describe.skipIf(!shared)("Foam's documentation", () => {
  let sample: Sample;
  beforeAll(async () => {
    sample = await readVault("foam-docs");
  });

  it("gives these counts", () => {
    expect(tally(sample)).toEqual({
      notes: 86,
      withoutBlocks: 0,
      dated: 0,
      blocks: 1410,
      wiki: 199,
      markdown: 90,
      resolved: 264,
      propertyLinks: 0,
      faults: 0,
      tooLong: 0,
    });
  });

  it("finds as many links as a search without a parser", () => {
    expect(countIn(sample, /\[\[[^[\]\n]+\]\]/g)).toBe(199);
    expect(countIn(sample, /\]\((?!https?:|mailto:|vscode:|command:)[^)\s]+\)/g)).toBe(91);
    // One is a picture without a word, and makes no block.
    expect(countIn(sample, /^!\[\]\((?!https?:)[^)\s]+\)$/gm)).toBe(1);
  });

  it("holds each line of the notes in some block, but for headings, definitions, comments and pictures", () => {
    const pictures: string[] = [];
    for (const [path, text] of sample.texts) {
      const note = sample.notes.get(path);
      const kept = (note?.blocks.map((block) => block.text).join("") ?? "").replace(/\s+/g, "");
      for (const line of text.replace(/^---\n[\s\S]*?\n---\n/, "").split("\n")) {
        const bare = line.trim();
        if (kept.includes(bare.replace(/\s+/g, ""))) continue;
        if (/^\[[^\]]+\]: \S+(?: ["'].*["'])?$|^---$|^<!--.*-->$/.test(bare)) continue;
        if (/^#{1,6} /.test(bare)) continue;
        expect(`${path}: ${bare}`).toMatch(/: (?:!\[\]\([^)]+\)|<img width="\d+px" src="[^"]+" \/>)$/);
        pictures.push(bare);
      }
    }
    expect(pictures).toHaveLength(5);
  });
});
