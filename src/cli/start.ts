/**
 * Starts the bundled command line from V8's compiled form of it, which lies beside the bundle and saves a
 * third of a cold start. Without one that fits this Node it compiles as usual and leaves one behind, if the
 * folder lets it. Only the bundle runs this: its CommonJS is what V8 can take a cache for.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, Script } from "node:vm";

/** Replaced by the build with the digest of the bundle: a cache of another bundle must never be taken. */
declare const BUNDLE_DIGEST: string;

const bundle = join(__dirname, "program.cjs");
const cache = join(
  __dirname,
  `program-${BUNDLE_DIGEST}-v8-${process.versions.v8}-${process.platform}-${process.arch}.cache`,
);

/** What lets the bundle `import()` packages; younger than Node 20.0, and without it there is no cache. */
const loader = constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;

if (loader === undefined) {
  require(bundle);
} else {
  const cachedData = readCache();
  // Read as Latin-1, since the build writes ASCII only: V8 then keeps one byte a character.
  const script = new Script(
    `(function(exports,require,module,__filename,__dirname){${readFileSync(bundle, "latin1")}\n})`,
    { filename: bundle, importModuleDynamically: loader, ...(cachedData === undefined ? {} : { cachedData }) },
  );
  if (script.cachedDataRejected !== false) process.once("exit", () => keepCache(script));
  script.runInThisContext()(exports, require, module, bundle, __dirname);
}

function readCache(): Buffer | undefined {
  try {
    return readFileSync(cache);
  } catch {
    return undefined;
  }
}

/** Written under another name first, so that nobody reads half of it. A folder that refuses it is no failure. */
function keepCache(script: Script): void {
  const written = `${cache}.${process.pid}`;
  try {
    writeFileSync(written, script.createCachedData(), { flag: "wx", mode: 0o644 });
    renameSync(written, cache);
  } catch {
    // The next start compiles again.
    rmSync(written, { force: true });
  }
}
