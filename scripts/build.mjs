/**
 * Bundles the library (ES modules) and the command line (CommonJS, with V8's compiled form beside it) into
 * dist/ or `--outdir DIR` inside the package. Copies the embedding table beside them and the licences of what
 * was bundled. Native modules stay outside. Refuses an outdir outside the package, where the bundle could not
 * find its migrations.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({ options: { outdir: { type: "string", default: "dist" } } });
const outdir = resolve(root, values.outdir);
if (!outdir.startsWith(root + sep)) throw new Error("--outdir must be a folder inside the package");

await rm(outdir, { recursive: true, force: true });
const shared = {
  absWorkingDir: root,
  outdir,
  bundle: true,
  platform: "node",
  target: "node20",
  external: ["@xenova/transformers"],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
};
const library = await build({
  ...shared,
  entryPoints: { index: "src/index.ts" },
  plugins: [bundleNativeLoaders(false)],
  splitting: true,
  format: "esm",
  // CommonJS dependencies ask for Node's own modules through require, which ES modules lack.
  banner: {
    js: 'import{createRequire as bundleRequire}from"node:module";const require=bundleRequire(import.meta.url);',
  },
});
const commonJs = {
  ...shared,
  plugins: [bundleNativeLoaders(true)],
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  define: { "import.meta.url": "bundleUrl" },
};
const program = await build({
  ...commonJs,
  entryPoints: { program: "src/cli/main.ts" },
  banner: { js: 'const bundleUrl=require("node:url").pathToFileURL(__filename).href;' },
});
await escapeNonAscii(join(outdir, "program.cjs"));
const digest = createHash("sha256")
  .update(await readFile(join(outdir, "program.cjs")))
  .digest("hex")
  .slice(0, 16);
const start = await build({
  ...commonJs,
  entryPoints: { cli: "src/cli/start.ts" },
  define: { BUNDLE_DIGEST: JSON.stringify(digest) },
  banner: { js: "#!/usr/bin/env node" },
});
await writeFile(join(outdir, "cli.js"), '#!/usr/bin/env node\nimport "./cli.cjs";\n');
for (const file of ["cli.js", "cli.cjs"]) await chmod(join(outdir, file), 0o755);
await mkdir(join(outdir, "builtin"), { recursive: true });
for (const file of ["table.bin", "NOTICE.md"]) {
  await copyFile(join(root, "src/embed/builtin", file), join(outdir, "builtin", file));
}
const metafiles = [library, program, start].map(({ metafile }) => metafile);
await writeFile(
  join(outdir, "THIRD-PARTY.txt"),
  await collectLicences(metafiles.flatMap(({ inputs }) => Object.keys(inputs))),
);
await warmCompileCache();
const outputs = metafiles.flatMap((metafile) => Object.values(metafile.outputs));
const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0);
console.log(`built ${relative(root, outdir)}: ${outputs.length} files, ${Math.round(bytes / 1024)} KiB of code`);

/**
 * Leaves a bundle of ASCII only, which `start.ts` counts on. esbuild escapes what strings hold but not what regular
 * expressions do; the escape of a UTF-16 unit means the same in both.
 */
async function escapeNonAscii(path) {
  const code = await readFile(path, "utf8");
  // Behind a backslash the escape would mean another thing.
  if (/\\[^\0-\x7F]/.test(code)) throw new Error("a character beyond ASCII stands behind a backslash");
  const escaped = code.replace(/[^\0-\x7F]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  await writeFile(path, escaped);
}

/**
 * Has the command line leave V8's compiled form of what a `context` runs, the command that agents start at
 * every prompt. A build without it works, only slower, so a failure is told and no more.
 */
async function warmCompileCache() {
  const home = await mkdtemp(join(tmpdir(), "dormouse-build-"));
  const run = (...args) =>
    spawnSync(process.execPath, [join(outdir, "cli.cjs"), ...args], {
      env: { ...process.env, HOME: home, DORMOUSE_BRAIN: join(home, "brain.db") },
      encoding: "utf8",
    });
  run("init");
  for (const text of ["The tram to Graça leaves at nine.", "Anna takes the tram on Mondays."]) run("remember", text);
  for (const file of await readdir(outdir)) if (file.endsWith(".cache")) await rm(join(outdir, file));
  const { status, stderr } = run("context", "when does the tram leave?");
  await rm(home, { recursive: true, force: true });
  const isKept = (await readdir(outdir)).some((file) => file.endsWith(".cache"));
  if (status !== 0 || !isKept) console.warn(`no compile cache was made: ${stderr.trim() || `status ${status}`}`);
}

/**
 * Lets the JavaScript half of better-sqlite3 and the path finder of sqlite-vec into the bundle: twenty small
 * files less to find at every start. Their native halves stay where npm put them. `bindings` looks for the
 * addon through the call stack, which a bundle does not have, so its place is written out; commander loads
 * `child_process` for executable subcommands only, of which there are none here. In CommonJS the vector
 * extension is looked for in the folders above first: asking Node to resolve it costs 5 ms of every start.
 */
function bundleNativeLoaders(isCommonJs) {
  const vectorLoader = join(root, "node_modules/sqlite-vec/index.cjs");
  const modules = new Map([
    ["bindings", 'module.exports = (name) => require("better-sqlite3/build/Release/" + name);'],
    ["node:child_process", "module.exports = {};"],
    [
      "sqlite-vec",
      `const { existsSync } = require("node:fs");
      const { dirname, join } = require("node:path");
      const system = process.platform === "win32" ? "windows" : process.platform;
      const suffix = { win32: "dll", darwin: "dylib" }[process.platform] ?? "so";
      const place = "node_modules/sqlite-vec-" + system + "-" + process.arch + "/vec0." + suffix;
      exports.load = (db) => {
        for (let folder = __dirname; dirname(folder) !== folder; folder = dirname(folder)) {
          if (existsSync(join(folder, place))) return db.loadExtension(join(folder, place));
        }
        return require(${JSON.stringify(vectorLoader)}).load(db);
      };`,
    ],
  ]);
  return {
    name: "native-loaders",
    setup(setup) {
      setup.onResolve({ filter: /^(bindings|node:child_process)$/ }, ({ path, importer }) =>
        /node_modules[\\/](better-sqlite3|commander)[\\/]/.test(importer) ? { path, namespace: "replaced" } : null,
      );
      if (isCommonJs) setup.onResolve({ filter: /^sqlite-vec$/ }, ({ path }) => ({ path, namespace: "replaced" }));
      setup.onLoad({ filter: /.*/, namespace: "replaced" }, ({ path }) => ({
        contents: modules.get(path),
        loader: "js",
        resolveDir: root,
      }));
    },
  };
}

/** The licence texts of the packages that these source files belong to. */
async function collectLicences(inputs) {
  const names = new Set();
  for (const input of inputs) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(input);
    if (match !== null) names.add(match[1]);
  }
  const parts = [];
  for (const name of [...names].sort()) {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    parts.push(`${name} ${version} (${license})\n\n${await readLicence(folder)}`);
  }
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

async function readLicence(folder) {
  for (const file of ["LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "license", "LICENSE-MIT"]) {
    try {
      return await readFile(join(folder, file), "utf8");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  return "The package ships no licence file.\n";
}
