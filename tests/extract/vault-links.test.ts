import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NoteLink } from "../../src/extract/markdown.ts";
import { createLinkResolver, headingKey } from "../../src/extract/vault-links.ts";

function wiki(target: string): NoteLink {
  return { target, heading: null, block: null, alias: null, embed: false, style: "wiki" };
}

function markdown(target: string): NoteLink {
  return { ...wiki(target), style: "markdown" };
}

/** Resolves from `from` and checks that the order of the paths does not matter. */
function resolveIn(paths: readonly string[], from: string, link: NoteLink): string | null {
  const found = createLinkResolver(paths).resolve(from, link);
  expect(createLinkResolver(paths.toReversed()).resolve(from, link)).toBe(found);
  return found;
}

describe("wiki links", () => {
  it("finds a note by name from any folder, with and without extension and in any case", () => {
    const paths = ["Readme.md", "Notes/Kyoto Trip.md", "Notes/v1.2 plan.md"];
    for (const target of ["Kyoto Trip", "kyoto trip.md", "KYOTO TRIP", "Notes/Kyoto Trip", " Kyoto\u00a0Trip "]) {
      expect(resolveIn(paths, "Deep/er/x.md", wiki(target))).toBe("Notes/Kyoto Trip.md");
    }
    expect(resolveIn(paths, "Readme.md", wiki("v1.2 plan"))).toBe("Notes/v1.2 plan.md");
    expect(resolveIn(paths, "Readme.md", wiki("Kyoto"))).toBeNull();
    expect(resolveIn(paths, "Readme.md", wiki("yoto Trip"))).toBeNull();
  });

  it("finds names in another Unicode form and returns them as they were given", () => {
    const decomposed = "Caf\u0065\u0301/R\u0065\u0301sume\u0301.md";
    expect(resolveIn([decomposed], "x.md", wiki("r\u00e9sum\u00e9"))).toBe(decomposed);
    expect(resolveIn([decomposed], "x.md", wiki("CAF\u00c9/R\u00c9SUM\u00c9"))).toBe(decomposed);
  });

  it("prefers the exact path from the root, then the note's own folder, then the shortest path", () => {
    const todos = ["projects/house/todo.md", "zz/deep/todo.md", "b/todo.md"];
    expect(resolveIn([...todos, "todo.md"], "zz/deep/x.md", wiki("todo"))).toBe("todo.md");
    expect(resolveIn(todos, "zz/deep/x.md", wiki("todo"))).toBe("zz/deep/todo.md");
    // A folder above counts for nothing.
    expect(resolveIn(todos, "zz/x.md", wiki("todo"))).toBe("b/todo.md");
    expect(resolveIn(["archive-of-old/todo.md", "a/b/todo.md"], "x.md", wiki("todo"))).toBe("a/b/todo.md");
    expect(resolveIn(["aaa/todo.md", "a/b/todo.md"], "x.md", wiki("todo"))).toBe("aaa/todo.md");
    expect(resolveIn(["b/todo.md", "a/todo.md"], "x.md", wiki("todo"))).toBe("a/todo.md");
  });

  it("finds a note by the end of its path", () => {
    const paths = ["projects/house/todo.md", "work/todo.md", "greenhouse/todo.md"];
    expect(resolveIn(paths, "x.md", wiki("house/todo"))).toBe("projects/house/todo.md");
    expect(resolveIn(paths, "projects/x.md", wiki("house/todo.md"))).toBe("projects/house/todo.md");
    expect(resolveIn(paths, "x.md", wiki("farm/todo"))).toBeNull();
    const two = ["a/sub/n.md", "b/sub/n.md"];
    expect(resolveIn(two, "b/x.md", wiki("sub/n"))).toBe("b/sub/n.md");
  });

  it("takes targets that begin with a dot or slash for paths and nothing else", () => {
    const paths = ["a/n.md", "b/n.md", "b/c/m.md"];
    expect(resolveIn(paths, "b/x.md", wiki("/a/n"))).toBe("a/n.md");
    expect(resolveIn(paths, "b/x.md", wiki("/n"))).toBeNull();
    expect(resolveIn(paths, "b/x.md", wiki("./n"))).toBe("b/n.md");
    expect(resolveIn(paths, "b/c/m.md", wiki("../n"))).toBe("b/n.md");
    expect(resolveIn(paths, "b/c/m.md", wiki("../../../n"))).toBeNull();
    expect(resolveIn(paths, "b/c/m.md", wiki("./n"))).toBeNull();
  });

  it("tells notes apart whose names differ only in case", () => {
    const paths = ["n/Polish.md", "n/polish.md"];
    expect(resolveIn(paths, "x.md", wiki("polish"))).toBe("n/polish.md");
    expect(resolveIn(paths, "x.md", wiki("n/Polish"))).toBe("n/Polish.md");
    expect(resolveIn(paths, "x.md", wiki("POLISH"))).toBe("n/Polish.md");
    expect(resolveIn(paths, "n/polish.md", wiki(""))).toBe("n/polish.md");
  });

  it("opens the index or readme of a folder when no note has the name", () => {
    const paths = ["projects/index.md", "work/sub/README.md"];
    expect(resolveIn(paths, "x.md", wiki("projects"))).toBe("projects/index.md");
    expect(resolveIn(paths, "x.md", wiki("sub"))).toBe("work/sub/README.md");
    expect(resolveIn([...paths, "far/away/projects.md"], "x.md", wiki("projects"))).toBe("far/away/projects.md");
  });

  it("gives the note itself for a link to its own heading, and null for attachments", () => {
    const paths = ["a/n.md", "img/cat.png", "Daily.base"];
    expect(resolveIn(paths, "a/n.md", wiki(""))).toBe("a/n.md");
    expect(resolveIn(paths, "gone.md", wiki(""))).toBeNull();
    for (const target of ["cat.png", "img/cat.png", "Daily.base", "paper.pdf"]) {
      expect(resolveIn(paths, "a/n.md", wiki(target))).toBeNull();
    }
    expect(resolveIn(["img/cat.png.md"], "a/n.md", wiki("cat.png"))).toBe("img/cat.png.md");
  });
});

describe("Markdown links", () => {
  it("counts from the linking note's folder, decoded", () => {
    const paths = ["other note.md", "a/b/x.md", "a/other note.md", "a/100% sure.md"];
    expect(resolveIn(paths, "a/b/x.md", markdown("../other%20note.md"))).toBe("a/other note.md");
    expect(resolveIn(paths, "a/b/x.md", markdown("../../other%20note.md"))).toBe("other note.md");
    expect(resolveIn(paths, "a/x.md", markdown("other%20note.md"))).toBe("a/other note.md");
    expect(resolveIn(paths, "a/x.md", markdown("/other%20note.md"))).toBe("other note.md");
    expect(resolveIn(paths, "a/x.md", markdown("./100% sure.md"))).toBe("a/100% sure.md");
    expect(resolveIn(paths, "a/b/x.md", markdown("../../../other%20note.md"))).toBeNull();
  });

  it("falls back to the vault's root and to names, as Obsidian writes shortest links", () => {
    const paths = ["a/one.md", "b/c/two.md"];
    expect(resolveIn(paths, "b/x.md", markdown("a/one.md"))).toBe("a/one.md");
    expect(resolveIn(paths, "a/one.md", markdown("two.md"))).toBe("b/c/two.md");
    expect(resolveIn(paths, "a/one.md", markdown("./two.md"))).toBeNull();
    expect(resolveIn(paths, "a/one.md", markdown("LICENSE.txt"))).toBeNull();
  });
});

describe("any vault", () => {
  const name = fc.constantFrom("a", "b", "Note", "note", "sub", "index");
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => `${parts.join("/")}.md`);
  const vault = fc.uniqueArray(path, { minLength: 1, maxLength: 12 });

  it("finds each note by its full path, whatever stands beside it", () => {
    fc.assert(
      fc.property(vault, fc.nat(), fc.nat(), (paths, first, second) => {
        const from = paths[first % paths.length] ?? "";
        const to = paths[second % paths.length] ?? "";
        expect(resolveIn(paths, from, wiki(to))).toBe(to);
        expect(resolveIn(paths, from, wiki(`/${to}`))).toBe(to);
        const up = "../".repeat(from.split("/").length - 1);
        expect(resolveIn(paths, from, markdown(up === "" ? `./${to}` : `${up}${to}`))).toBe(to);
      }),
    );
  });

  it("finds a name exactly when some note ends with it", () => {
    fc.assert(
      fc.property(vault, fc.array(name, { minLength: 1, maxLength: 2 }), (paths, parts) => {
        const target = parts.join("/").toLowerCase();
        const keys = paths.map((one) => `/${one.toLowerCase().replace(/\.md$/, "")}`);
        const found = resolveIn(paths, "elsewhere/x.md", wiki(parts.join("/")));
        const matches = keys.some((key) => key.endsWith(`/${target}`) || key.endsWith(`/${target}/index`));
        expect(found !== null).toBe(matches);
      }),
    );
  });
});

describe("headingKey", () => {
  it("ignores case, blanks, punctuation and the anchor's dashes", () => {
    for (const text of ["What's in a  Foam?", "whats-in-a-foam", "WHATS IN A FOAM", "*What's* in a Foam"]) {
      expect(headingKey(text)).toBe("whatsinafoam");
    }
    expect(headingKey("E\u0301te\u0301")).toBe(headingKey("\u00e9t\u00e9"));
    expect(headingKey("1. One")).not.toBe(headingKey("2. One"));
  });

  it("keeps a heading of signs alone", () => {
    expect(headingKey(" \ud83c\udf32 ")).toBe("\ud83c\udf32");
    expect(headingKey("???")).not.toBe(headingKey("!!!"));
  });
});
