/**
 * Runs the built command line as a person or an agent would: as a process of its own, with a temporary home
 * and brain. Builds it once a test file, into a folder inside the package so that it finds its own files.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { packagePath } from "../../src/core/package-path.ts";

export interface CliResult {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly env?: NodeJS.ProcessEnv;
}

const BUILD_MS = 120_000;

/**
 * The command line for every test of a file: built once, with a new home and an empty brain for each test.
 * @param prepare runs after `init`
 */
export function useCli(prepare: (cli: Cli) => Promise<unknown> = async () => {}): Cli {
  const cli = Cli.unbuilt();
  beforeAll(() => cli.build(), BUILD_MS);
  afterAll(() => cli.removeBuild());
  beforeEach(async () => {
    await cli.run(["init"]);
    await prepare(cli);
  });
  afterEach(() => cli.removeHome());
  return cli;
}

export class Cli {
  /** The folder of the build. */
  readonly bundle: string;
  #home: string | null = null;

  private constructor(bundle: string) {
    this.bundle = bundle;
  }

  /** A command line that cannot run before `build`. */
  static unbuilt(): Cli {
    return new Cli(
      packagePath(`node_modules/.cache/dormouse-cli-${process.pid}-${Math.random().toString(36).slice(2)}`),
    );
  }

  static build(): Cli {
    const cli = Cli.unbuilt();
    cli.build();
    return cli;
  }

  build(): void {
    const outdir = relative(packagePath("."), this.bundle);
    execFileSync(process.execPath, [packagePath("scripts/build.mjs"), "--outdir", outdir]);
  }

  /** A temporary folder, made at first use. */
  get home(): string {
    this.#home ??= mkdtempSync(join(tmpdir(), "dormouse-cli-"));
    return this.#home;
  }

  get brain(): string {
    return join(this.home, "brain.db");
  }

  /** The same build with a new home and no brain. */
  fresh(): Cli {
    return new Cli(this.bundle);
  }

  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    return spawn(process.execPath, [join(this.bundle, "cli.js"), ...args], {
      env: { PATH: process.env.PATH, HOME: this.home, DORMOUSE_BRAIN: this.brain, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
  }

  run(args: readonly string[], options: RunOptions = {}): Promise<CliResult> {
    const child = this.start(args, options.env);
    // A command that fails early closes its end while we still write.
    child.stdin?.on("error", () => {});
    child.stdin?.end(options.stdin ?? "");
    return finished(child);
  }

  /** Runs with `--json`, expects the status and parses what was printed. */
  async json<T>(args: readonly string[], status = 0): Promise<T> {
    const result = await this.run([...args, "--json"]);
    if (result.status !== status) throw new Error(`status ${result.status}: ${result.stderr}`);
    return JSON.parse(result.stdout);
  }

  async remember(text: string, ...args: readonly string[]): Promise<string> {
    const { id } = await this.json<{ id: string }>(["remember", text, ...args]);
    return id;
  }

  /** The next use makes another one. */
  removeHome(): void {
    if (this.#home !== null) rmSync(this.#home, { recursive: true, force: true });
    this.#home = null;
  }

  removeBuild(): void {
    rmSync(this.bundle, { recursive: true, force: true });
  }
}

export function finished(child: ChildProcess): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.on("error", reject);
    child.on("close", (status, signal) => {
      resolve({
        status,
        signal,
        stdout: Buffer.concat(stdout).toString("utf8"),
        stderr: Buffer.concat(stderr).toString("utf8"),
      });
    });
  });
}
