import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { migrate, SCHEMA_VERSION } from "../../src/store/migrate.ts";
import { Store } from "../../src/store/store.ts";
import { createTestStore } from "../support/brain.ts";
import { createTestClock } from "../support/clock.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dormouse-open-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (path: string, create = false) => Store.open(path, createTestClock(), { create });
const failureOf = (fn: () => unknown): unknown => {
  try {
    fn();
  } catch (error) {
    return error;
  }
  return null;
};
const codeOf = (fn: () => unknown): string => {
  const error = failureOf(fn);
  if (error === null) return "none";
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
};
const linkTo = (path: string, target: string): string => {
  symlinkSync(target, path);
  return path;
};

describe("opening a brain", () => {
  it("creates a private file in a private folder", () => {
    const path = join(folder, "new", "brain.db");
    open(path, true).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "new")).mode & 0o777).toBe(0o700);
  });

  it("names a missing brain and leaves no file behind", () => {
    const path = join(folder, "brain.db");
    expect(codeOf(() => open(path))).toBe("no_brain");
    expect(codeOf(() => statSync(path))).toBe("ENOENT");
  });

  it("makes a brain of an empty file only when asked to create", () => {
    const path = join(folder, "brain.db");
    writeFileSync(path, "");
    expect(codeOf(() => open(path))).toBe("no_brain");
    expect(statSync(path).size).toBe(0);
    open(path, true).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    open(path).close();
  });

  it.each([
    ["text", Buffer.from("just some notes, nothing else, for more than sixteen bytes")],
    ["binary", Buffer.from([0x7f, 0x45, 0x4c, 0x46, ...Array.from({ length: 200 }, (_, index) => index)])],
  ])("refuses a %s file without touching it", (_, bytes) => {
    const path = join(folder, "brain.db");
    writeFileSync(path, bytes);
    expect(codeOf(() => open(path, true))).toBe("not_a_brain");
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  it("refuses a folder", () => {
    expect(codeOf(() => open(folder, true))).toBe("not_a_brain");
  });

  it("refuses another program's SQLite file without touching it", () => {
    const path = join(folder, "other.db");
    const other = new Database(path);
    other.exec("CREATE TABLE bookmark (url TEXT)");
    other.close();
    const before = readFileSync(path);
    expect(codeOf(() => open(path, true))).toBe("not_a_brain");
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("refuses a brain of a newer version and says so", () => {
    const path = join(folder, "brain.db");
    open(path, true).close();
    const raw = new Database(path);
    raw.pragma("user_version = 99");
    raw.close();
    expect(codeOf(() => open(path))).toBe("newer_brain");
  });

  it("reports a damaged file", () => {
    const path = join(folder, "brain.db");
    open(path, true).close();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 100, 4096);
    writeFileSync(path, bytes);
    expect(["damaged", "not_a_brain"]).toContain(codeOf(() => open(path)));
  });

  it.each<[string, (path: string) => string]>([
    ["below a file", (path) => join(path, "brain.db")],
    ["two folders below a file", (path) => join(path, "a", "brain.db")],
    ["with a name no file system takes", (path) => `${path}${"x".repeat(300)}`],
    ["behind a link to itself", (path) => linkTo(`${path}.loop`, `${path}.loop`)],
    ["behind a link into a folder that is not there", (path) => linkTo(`${path}.link`, join(path, "..", "no", "b.db"))],
  ])("names a path %s and says what to do", (_, pathOf) => {
    const path = join(folder, "brain.db");
    open(path, true).close();
    const wrong = pathOf(path);
    const failure = failureOf(() => open(wrong, true));
    expect(failure).toMatchObject({ code: "io", hint: expect.any(String), message: expect.stringContaining(wrong) });
    expect(codeOf(() => open(wrong))).toBe("no_brain");
  });

  it.skipIf(process.getuid?.() === 0)("names a file it may not open", () => {
    const path = join(folder, "brain.db");
    open(path, true).close();
    chmodSync(path, 0o000);
    expect(codeOf(() => open(path))).toBe("io");
    chmodSync(path, 0o600);
  });

  it("takes a file that another process makes a brain of meanwhile for what it is", () => {
    const path = join(folder, "brain.db");
    const other = new Database(path);
    other.pragma("journal_mode = WAL");
    const pragma = Database.prototype.pragma;
    let isMade = false;
    const spy = vi.spyOn(Database.prototype, "pragma").mockImplementation(function (this: typeof other, ...args) {
      const answer: unknown = pragma.apply(this, args);
      if (this !== other && !isMade && args[0] === "application_id") {
        isMade = true;
        migrate(other, 0x444d4f55);
      }
      return answer;
    });
    try {
      open(path, true).close();
    } finally {
      spy.mockRestore();
      other.close();
    }
    expect(isMade).toBe(true);
    open(path).close();
  });

  it("writes nothing into a file that was deleted while it was open", async () => {
    const path = join(folder, "brain.db");
    const brain = createTestStore({ path });
    await brain.remember("before");
    rmSync(path);
    await expect(brain.remember("after")).rejects.toMatchObject({ code: "io" });
    brain.close();
  });

  it("never mixes the vectors of two models, even when another process changed the model", async () => {
    const path = join(folder, "brain.db");
    const here = createTestStore({ path });
    await here.remember("by the first model");
    const other = { ...here.embedder, model: { ...here.embedder.model, name: "another" } };
    const there = createTestStore({ path });
    there.store.write(() => {
      there.store.models.clear();
      there.store.models.use(other.model);
    });
    await expect(here.remember("still by the first model")).rejects.toMatchObject({ code: "model_mismatch" });
    here.close();
    there.close();
  });

  it("opens what it closed, with the same contents and scopes", async () => {
    const path = join(folder, "brain.db");
    const first = createTestStore({ path });
    const [result] = await first.remember("kept across opening");
    first.close();
    const again = createTestStore({ path });
    expect(again.store.thoughts.views([again.store.thoughts.resolve(result?.id ?? "")])[0]?.content).toBe(
      "kept across opening",
    );
    expect(again.store.scopes.names()).toEqual(["public", "work", "personal", "secret"]);
    again.close();
  });

  it("loses nothing and says disk_full when the disk fills up", async () => {
    const brain = createTestStore();
    await brain.remember("written before the disk was full");
    const { db } = brain.store.connection;
    const head = brain.store.ledger.head();
    const pages = db.pragma("page_count", { simple: true }) as number;
    db.pragma(`max_page_count = ${pages}`);
    const many = Array.from({ length: 200 }, (_, index) => `filler ${index} ${"x".repeat(2_000)}`);
    await expect(brain.remember(...many)).rejects.toMatchObject({ code: "disk_full" });
    expect(brain.store.ledger.head()).toEqual(head);
    db.pragma("max_page_count = 1000000000");
    const [result] = await brain.remember("written after room was made");
    expect(result?.status).toBe("created");
    expect(brain.store.ledger.firstBreak()).toBeNull();
    brain.close();
  });
});

describe("migrations", () => {
  it("end at the version the code knows, each with its user_version", () => {
    const db = new Database(join(folder, "m.db"));
    migrate(db, 1);
    expect(db.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
    db.close();
  });

  it("are idempotent and leave a half-done one undone", () => {
    const db = new Database(join(folder, "m.db"));
    db.exec("CREATE TABLE node (id INTEGER)");
    expect(() => migrate(db, 1)).toThrow();
    expect(db.pragma("user_version", { simple: true })).toBe(0);
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'brain'").pluck().get()).toBe(0);
    db.exec("DROP TABLE node");
    migrate(db, 1);
    migrate(db, 1);
    expect(db.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
    db.close();
  });

  it("keep every table strict", () => {
    const db = new Database(join(folder, "m.db"));
    migrate(db, 1);
    const loose = db
      .prepare(
        "SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%' AND schema = 'main'",
      )
      .pluck()
      .all();
    expect(loose).toEqual([]);
    db.close();
  });
});
