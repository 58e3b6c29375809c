/**
 * Bundles the command line and the library into dist/ (or `--outdir DIR` inside the package): ES modules in
 * shared chunks, so that a command loads only what it needs. Copies the embedding table beside them and the
 * licences of what was bundled. Native modules stay outside. Refuses an outdir outside the package, where
 * the bundle could not find its migrations.
 */
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({ options: { outdir: { type: "string", default: "dist" } } });
const outdir = resolve(root, values.outdir);
if (!outdir.startsWith(root + sep)) throw new Error("--outdir must be a folder inside the package");

await rm(outdir, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: { cli: "src/cli/main.ts", index: "src/index.ts" },
  outdir,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  external: ["@xenova/transformers"],
  plugins: [bundleNativeLoaders()],
  // CommonJS dependencies ask for Node's own modules through require, which ES modules lack.
  banner: {
    js: 'import{createRequire as bundleRequire}from"node:module";const require=bundleRequire(import.meta.url);',
  },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});
await chmod(join(outdir, "cli.js"), 0o755);
await mkdir(join(outdir, "builtin"), { recursive: true });
for (const file of ["table.bin", "NOTICE.md"]) {
  await copyFile(join(root, "src/embed/builtin", file), join(outdir, "builtin", file));
}
await writeFile(join(outdir, "THIRD-PARTY.txt"), await collectLicences(Object.keys(metafile.inputs)));
const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
console.log(
  `built ${relative(root, outdir)}: ${Object.keys(metafile.outputs).length} files, ${Math.round(bytes / 1024)} KiB of code`,
);

/**
 * Lets the JavaScript half of better-sqlite3 and the path finder of sqlite-vec into the bundle: twenty small
 * files less to find at every start. Their native halves stay where npm put them. `bindings` looks for the
 * addon through the call stack, which a bundle does not have, so its place is written out; commander loads
 * `child_process` for executable subcommands only, of which there are none here.
 */
function bundleNativeLoaders() {
  const modules = new Map([
    ["bindings", 'module.exports = (name) => require("better-sqlite3/build/Release/" + name);'],
    ["node:child_process", "module.exports = {};"],
  ]);
  return {
    name: "native-loaders",
    setup(setup) {
      setup.onResolve({ filter: /^(bindings|node:child_process)$/ }, ({ path, importer }) =>
        /node_modules[\\/](better-sqlite3|commander)[\\/]/.test(importer) ? { path, namespace: "replaced" } : null,
      );
      setup.onLoad({ filter: /.*/, namespace: "replaced" }, ({ path }) => ({
        contents: modules.get(path),
        loader: "js",
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
