/** The README's examples of the library compile under the package's own rules and run. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { packagePath } from "../../src/core/package-path.ts";

const blocks = [...readFileSync(packagePath("README.md"), "utf8").matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(
  ([, code = ""]) => code.replace('"dormouse-memory"', JSON.stringify(packagePath("src/index.ts"))),
);
let folder: string;
let home: string;

beforeEach(() => {
  const cache = packagePath("node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "dormouse-readme-"));
  home = mkdtempSync(join(tmpdir(), "dormouse-readme-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
});
afterEach(() => {
  for (const path of [folder, home]) rmSync(path, { recursive: true, force: true });
});

function compile(code: string): string {
  const file = join(folder, "example.ts");
  writeFileSync(file, code);
  const config = {
    extends: packagePath("tsconfig.json"),
    include: [file],
    compilerOptions: { typeRoots: [packagePath("node_modules/@types")] },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  try {
    execFileSync(process.execPath, [packagePath("node_modules/typescript/bin/tsc"), "--noEmit", "-p", folder]);
    return "";
  } catch (error) {
    return String(Object(error).stdout);
  }
}

describe("the README's examples", { timeout: 120_000 }, () => {
  it("are there, and a wrong one would not compile", () => {
    expect(blocks.length).toBeGreaterThan(0);
    expect(compile(`${blocks[0]}\nbrain.recollect();`)).toContain("recollect");
  });

  it.each(blocks)("compile and run", (code) => {
    expect(compile(code)).toBe("");
    const tsx = packagePath("node_modules/tsx/dist/cli.mjs");
    const env = { PATH: process.env.PATH, HOME: home };
    const out = execFileSync(process.execPath, [tsx, join(folder, "example.ts")], { cwd: home, env, encoding: "utf8" });
    expect(out).toContain("The kettle is descaled on the first of the month.");
    expect(out).toContain("<dormouse:evidence>");
    expect(out).toMatch(/Vinegar harms the seal\.[\s\S]*\n2\n/);
  });
});
