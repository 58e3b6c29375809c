import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isTemplatePath, isVault, readTemplatesFolder, walkFiles } from "../../src/extract/walk.ts";

let base: string;
let root: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "dormouse-walk-"));
  root = join(base, "vault");
  mkdirSync(root);
});

afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

function write(path: string, text = ""): void {
  const whole = join(root, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, text);
}

async function walk(
  options: { ignoreFile?: string; from?: string } = {},
): Promise<{ files: string[]; faults: string[] }> {
  const from = options.from ?? root;
  const files: string[] = [];
  const faults: string[] = [];
  const onFault = (path: string, rule: string): void => {
    faults.push(`${rule} ${path.slice(from.length + 1)}`);
  };
  const settings = options.ignoreFile === undefined ? { onFault } : { ignoreFile: options.ignoreFile, onFault };
  for await (const file of walkFiles(from, settings)) {
    expect(file.path).toBe(join(from, file.relative));
    files.push(file.relative);
  }
  return { files, faults };
}

describe("walkFiles", () => {
  it("yields files sorted by name, folders in place", async () => {
    for (const path of ["b.md", "a/z.md", "a/Z.md", "a/b/c.md", "B.md", "c.txt", "a.md"]) write(path);
    expect(await walk()).toEqual({
      files: ["B.md", "a/Z.md", "a/b/c.md", "a/z.md", "a.md", "b.md", "c.txt"],
      faults: [],
    });
  });

  it("leaves out hidden entries and node_modules, but not under a root that is hidden itself", async () => {
    for (const path of [
      ".git/x.md",
      ".obsidian/x.md",
      ".trash/x.md",
      "node_modules/p/x.md",
      ".h/x.md",
      "a/.h.md",
      "a/x.md",
    ]) {
      write(path);
    }
    expect((await walk()).files).toEqual(["a/x.md"]);
    expect((await walk({ from: join(root, ".h") })).files).toEqual(["x.md"]);
  });

  it("takes hidden folders back in when an ignore file says so, but never the trash", async () => {
    for (const path of [".notes/x.md", ".other/x.md", ".trash/x.md", ".git/x.md"]) write(path);
    write(".dormouseignore", "!.notes/\n!.trash/\n!.git\n");
    expect((await walk()).files).toEqual([".notes/x.md"]);
  });

  it("follows gitignore rules, also in nested folders, where the last rule that matches decides", async () => {
    for (const path of [
      "a.log",
      "keep.log",
      "drafts/x.md",
      "sub/drafts/x.md",
      "sub/a.log",
      "sub/own.md",
      "sub/deep/own.md",
    ]) {
      write(path);
    }
    for (const path of [
      "sub/only/here.md",
      "sub/deep/only/here.md",
      "build/x.md",
      "sub/build/x.md",
      "sub/build/y.log",
    ]) {
      write(path);
    }
    write(".dormouseignore", "\ufeff# comment\r\n*.log\r\n!keep.log\r\n/drafts/\r\nbuild/\r\n\r\n");
    write("sub/.dormouseignore", "own.md\n/only/\n!build/\n");
    expect((await walk()).files).toEqual(["keep.log", "sub/build/x.md", "sub/deep/only/here.md", "sub/drafts/x.md"]);
  });

  it("reads rules of folders with signs in their names, and other names for the ignore file", async () => {
    for (const path of ["[a] *b!/x.md", "[a] *b!/y.md", "a b/x.md"]) write(path);
    write("[a] *b!/.dormouseignore", "x.md\n");
    expect((await walk()).files).toEqual(["[a] *b!/y.md", "a b/x.md"]);
    write(".skip", "y.md");
    expect((await walk({ ignoreFile: ".skip" })).files).toEqual(["[a] *b!/x.md", "a b/x.md"]);
  });

  it("matches rules and names in different Unicode forms, and keeps names as they are on the disk", async () => {
    write("cafe\u0301.md");
    write("the\u0301.md");
    write(".dormouseignore", "caf\u00e9.md\n");
    expect((await walk()).files).toEqual(["the\u0301.md"]);
  });

  it("reports a name that is no text and goes on", async () => {
    const bytes = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x61, 0xff, 0x2e, 0x6d, 0x64])]);
    try {
      writeFileSync(bytes, "x");
    } catch {
      // This file system takes text only, so there is nothing to meet.
      return;
    }
    write("z.md");
    expect(await walk()).toEqual({ files: ["z.md"], faults: ["bad_name a\ufffd.md"] });
  });

  it("reports a folder it may not read and goes on", async () => {
    write("a/x.md");
    write("locked/x.md");
    write("z.md");
    const locked = join(root, "locked");
    expect((await walk()).files).toEqual(["a/x.md", "locked/x.md", "z.md"]);
    chmodSync(base, 0o755);
    chmodSync(locked, 0o000);
    // Permissions do not bind the superuser.
    const isSuperuser = process.geteuid?.() === 0;
    if (isSuperuser) process.seteuid?.(65_534);
    try {
      expect(await walk()).toEqual({ files: ["a/x.md", "z.md"], faults: ["no_permission locked"] });
      expect(await walk({ from: locked })).toEqual({ files: [], faults: ["no_permission "] });
    } finally {
      if (isSuperuser) process.seteuid?.(0);
      chmodSync(locked, 0o755);
    }
  });

  it("yields a file given as root, and refuses a root that is not there", async () => {
    write("a.md");
    const met: unknown[] = [];
    for await (const file of walkFiles(join(root, "a.md"), { onFault: () => undefined })) met.push(file);
    expect(met).toEqual([{ path: join(root, "a.md"), relative: "a.md" }]);
    await expect(walk({ from: join(root, "gone") })).rejects.toMatchObject({ code: "not_found" });
  });

  it("can be stopped early", async () => {
    for (const path of ["a.md", "b.md"]) write(path);
    for await (const file of walkFiles(root, { onFault: () => undefined })) {
      expect(file.relative).toBe("a.md");
      break;
    }
  });
});

describe("symbolic links", () => {
  function link(target: string, path: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(target, join(root, path));
  }

  it("follows files and folders outside the root, each once", async () => {
    mkdirSync(join(base, "out/inner"), { recursive: true });
    writeFileSync(join(base, "out/o.md"), "");
    writeFileSync(join(base, "out/inner/i.md"), "");
    writeFileSync(join(base, "single.md"), "");
    link(join(base, "single.md"), "a.md");
    link(join(base, "single.md"), "b.md");
    link(join(base, "out"), "folder");
    link(join(base, "out"), "other");
    link(join(base, "out/inner"), "part");
    expect(await walk()).toEqual({ files: ["a.md", "folder/inner/i.md", "folder/o.md"], faults: [] });
  });

  it("yields a file once that is linked before its linked folder comes", async () => {
    mkdirSync(join(base, "out"));
    writeFileSync(join(base, "out/o.md"), "");
    writeFileSync(join(base, "out/p.md"), "");
    link(join(base, "out/o.md"), "a.md");
    link(join(base, "out"), "z");
    expect((await walk()).files).toEqual(["a.md", "z/p.md"]);
  });

  it("does not enter a folder again that a link led to before", async () => {
    mkdirSync(join(base, "out/inner"), { recursive: true });
    writeFileSync(join(base, "out/o.md"), "");
    writeFileSync(join(base, "out/inner/i.md"), "");
    link(join(base, "out/inner"), "a");
    link(join(base, "out"), "z");
    expect((await walk()).files).toEqual(["a/i.md", "z/o.md"]);
  });

  it("leaves out links to what the walk meets anyway, follows those to what it ignores", async () => {
    write("notes/n.md");
    write("drafts/d.md");
    write(".dormouseignore", "drafts/\n");
    link("notes/n.md", "alias.md");
    link("notes", "again");
    link("drafts/d.md", "picked.md");
    expect((await walk()).files).toEqual(["notes/n.md", "picked.md"]);
  });

  it("never runs in circles", async () => {
    write("a/x.md");
    link("..", "a/up");
    link(".", "self");
    link(base, "above");
    link("two", "one");
    link("one", "two");
    mkdirSync(join(base, "out"));
    symlinkSync(root, join(base, "out/back"));
    symlinkSync(join(base, "out"), join(base, "out/loop"));
    writeFileSync(join(base, "out/o.md"), "");
    link(join(base, "out"), "out");
    expect(await walk()).toEqual({ files: ["a/x.md", "out/o.md"], faults: ["unreadable one", "unreadable two"] });
  });

  it("reports a link that leads nowhere, and honours ignore rules for links", async () => {
    write("x.md");
    link("gone.md", "broken.md");
    link("gone.md", "quiet.md");
    write(".dormouseignore", "quiet.md\n");
    expect(await walk()).toEqual({ files: ["x.md"], faults: ["broken_link broken.md"] });
  });

  it("walks a root that is a link itself", async () => {
    write("a/x.md");
    symlinkSync(root, join(base, "door"));
    expect((await walk({ from: join(base, "door") })).files).toEqual(["a/x.md"]);
  });
});

describe("isVault", () => {
  it("knows a vault by its settings folder or by any note", async () => {
    write("data.jsonl");
    write(".hidden/x.md");
    expect(await isVault(root)).toBe(false);
    mkdirSync(join(root, ".foam"));
    expect(await isVault(root)).toBe(true);
    rmSync(join(root, ".foam"), { recursive: true });
    write("deep/er/x.MD");
    expect(await isVault(root)).toBe(true);
    await expect(isVault(join(root, "gone"))).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("templates", () => {
  it("knows the usual folders by name, at any depth, and the configured one", () => {
    for (const path of ["Templates/a.md", "x/templates/b/c.md", "_templates/a.md"])
      expect(isTemplatePath(path)).toBe(true);
    for (const path of ["Templates.md", "notes/templates.md", "My Templates/a.md"])
      expect(isTemplatePath(path)).toBe(false);
    expect(isTemplatePath("Meta/Forms/x/a.md", "meta/forms")).toBe(true);
    expect(isTemplatePath("Meta/Formsheets/a.md", "meta/forms")).toBe(false);
  });

  it("reads the folder a vault configures, and no other thing", async () => {
    expect(await readTemplatesFolder(root)).toBeNull();
    for (const [text, folder] of [
      ['{"folder": "/Meta/Forms/"}', "Meta/Forms"],
      ['{"folder": ""}', null],
      ['{"folder": 3}', null],
      ["[]", null],
      ["{", null],
    ] as const) {
      write(".obsidian/templates.json", text);
      expect(await readTemplatesFolder(root)).toBe(folder);
    }
  });
});
