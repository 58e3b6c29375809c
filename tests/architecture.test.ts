/** The shape of the source tree: layers, where SQL may stand, who may write events and states. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const SRC = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

/** Each layer with the layers it may import, besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  text: ["core"],
  graph: ["core"],
  store: ["core", "text", "graph"],
  embed: ["core", "text"],
  llm: ["core"],
  remember: ["core", "text", "graph", "store"],
  extract: ["core", "text", "graph", "store", "remember"],
  retrieve: ["core", "text", "graph", "store", "remember"],
  recall: ["core", "text", "graph", "store", "remember"],
  think: ["core", "text", "store", "llm", "remember"],
  sleep: ["core", "text", "graph", "store", "llm", "remember", "think"],
  app: [
    "core",
    "text",
    "graph",
    "store",
    "embed",
    "llm",
    "remember",
    "extract",
    "retrieve",
    "recall",
    "think",
    "sleep",
  ],
  index: ["core", "llm", "app"],
  daemon: ["core", "app"],
  mcp: ["core", "app"],
  cli: ["core", "text", "app", "daemon", "mcp"],
};

interface SourceFile {
  readonly path: string;
  readonly layer: string;
  readonly text: string;
}

const files: SourceFile[] = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({
    path,
    layer: path.includes("/") ? (path.split("/")[0] ?? "") : path.replace(/\.ts$/, ""),
    text: readFileSync(join(SRC, path), "utf8"),
  }));

const importsOf = (file: SourceFile): string[] =>
  [...file.text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, target]) =>
    relative(SRC, resolve(SRC, dirname(file.path), target ?? "")),
  );

const layerOf = (path: string): string => (path.includes("/") ? (path.split("/")[0] ?? "") : path.replace(/\.ts$/, ""));

const code = (file: SourceFile): string =>
  file.text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");

const pathsWhere = (condition: (file: SourceFile) => boolean): string[] =>
  files.filter(condition).map(({ path }) => path);

describe("the source tree", () => {
  it("is seen by this test: files of every layer, with imports between them", () => {
    expect(files.length).toBeGreaterThan(60);
    const layers = new Set(files.map(({ layer }) => layer));
    for (const layer of [
      "core",
      "text",
      "store",
      "embed",
      "llm",
      "remember",
      "extract",
      "retrieve",
      "recall",
      "think",
      "sleep",
      "app",
      "daemon",
      "mcp",
      "cli",
    ]) {
      expect(layers).toContain(layer);
    }
    expect(files.flatMap(importsOf).length).toBeGreaterThan(200);
    for (const layer of layers) expect(Object.keys(MAY_IMPORT)).toContain(layer);
  });

  it("imports to the left only", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => layerOf(target) !== file.layer && !(MAY_IMPORT[file.layer] ?? []).includes(layerOf(target)))
        .map((target) => `${file.path} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("keeps SQL in the store", () => {
    const sql = /\b(?:SELECT\s+[\w(*]|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE)/;
    expect(pathsWhere((file) => file.layer === "store" && sql.test(code(file))).length).toBeGreaterThan(10);
    expect(pathsWhere((file) => file.layer !== "store" && sql.test(code(file)))).toEqual([]);
  });

  it("writes events, transitions and states in the audit helper alone", () => {
    expect(pathsWhere((file) => /INSERT INTO event\b/.test(code(file)))).toEqual(["store/ledger.ts"]);
    expect(pathsWhere((file) => /INSERT INTO transition\b/.test(code(file)))).toEqual(["store/ledger.ts"]);
    const state = /UPDATE node SET[^;"`]*\b(?:decayed|belief|permanence|merged_into|erased_by|stale_by|trust)\s*=/;
    expect(pathsWhere((file) => state.test(code(file)))).toEqual([]);
    // What a recall took is its effect row's to say; the column mirrors that, in one place.
    const recalled = /UPDATE node SET[^;"`]*\brecalled_by\s*=/;
    expect(pathsWhere((file) => recalled.test(code(file)))).toEqual(["store/recall-effects.ts"]);
  });

  it("keeps the biographical clock out of operational passes", () => {
    const readers = pathsWhere((file) => importsOf(file).includes("core/recency.ts"));
    expect(readers).toContain("retrieve/rank.ts");
    expect(readers.filter((path) => /^(?:sleep|recall|remember|store)\//.test(path))).toEqual([]);
    expect(pathsWhere((file) => file.layer === "sleep" && /referent/i.test(code(file)))).toEqual([]);
  });

  it("reads the machine's clock in one place below the faces", () => {
    const readers = pathsWhere((file) => file.layer !== "cli" && /Date\.now\(|new Date\(\)/.test(code(file)));
    expect(readers).toEqual(["core/clock.ts"]);
  });

  it("imports optional and heavy packages lazily", () => {
    const eager = /^import(?!\s+type)[^;]*from "(?:@xenova\/transformers|chrono-node|@clack\/prompts)"/m;
    expect(pathsWhere((file) => eager.test(file.text))).toEqual([]);
    // The protocol's packages and its face load when `dormouse mcp` runs, and with no other command.
    const protocol = /^import(?!\s+type)[^;]*from "(?:@modelcontextprotocol\/|[^"]*\/mcp\/)/m;
    const loaders = pathsWhere((file) => file.layer !== "mcp" && protocol.test(file.text));
    expect(loaders).toEqual(["cli/commands/mcp.ts"]);
    const commands = /^import(?!\s+type)[^;]*from "[^"]*commands\/mcp\.ts"/m;
    expect(pathsWhere((file) => commands.test(file.text))).toEqual([]);
  });

  it("loads zod only with what checks data by it, and whole only as a namespace that can be shaken", () => {
    const readers = new Set(pathsWhere((file) => /^import(?!\s+type)[^;]*from "zod"/m.test(file.text)));
    expect(readers).toContain("app/config-schema.ts");
    expect(pathsWhere((file) => /^import \{[^}]*\} from "zod"/m.test(file.text))).toEqual([]);
    const eager = files
      // The MCP server checks every message by it; that no command loads the server itself is tests/mcp's matter.
      .filter(({ path }) => !readers.has(path) && !path.startsWith("mcp/"))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/^(?:import|export)(?!\s+type)[^;]*?from "(\.[^"]+)"/gm)]
          .map(([, target]) => relative(SRC, resolve(SRC, dirname(path), target ?? "")))
          .filter((target) => readers.has(target))
          .map((target) => `${path} → ${target}`),
      );
    expect(eager).toEqual([]);
  });
});
