/** Starts daemons as processes of their own, follows what they say, and makes sure that none outlives its test. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { packagePath } from "../../src/core/package-path.ts";
import type { DaemonStatus } from "../../src/daemon/status-file.ts";
import type { DaemonChildOptions } from "./daemon-child.ts";

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

export class DaemonProcess {
  readonly pid: number;
  /** Every status so far. */
  readonly statuses: DaemonStatus[] = [];
  readonly ended: Promise<Ending>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  #rest = "";
  #wake: () => void = () => {};

  /** @param owner user and group of the process, when it must not be root */
  constructor(options: DaemonChildOptions, owner: { uid?: number; gid?: number } = {}) {
    const script = packagePath("tests/support/daemon-child.ts");
    this.#child = spawn(process.execPath, ["--import", "tsx", script, JSON.stringify(options)], {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: packagePath("."),
      ...owner,
    });
    this.pid = this.#child.pid ?? 0;
    let stderr = "";
    this.#child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    this.#child.stdout.on("data", (chunk: Buffer) => this.#take(chunk.toString()));
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        resolve({ code, signal, stderr });
        this.#wake();
      });
    });
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.statuses.push(JSON.parse(line));
    this.#wake();
  }

  /** The first status that fits, also among those that came before. @throws Error when it ends without one */
  async until(what: string, fits: (status: DaemonStatus) => boolean): Promise<DaemonStatus> {
    let ending: Ending | null = null;
    void this.ended.then((known) => {
      ending = known;
    });
    for (;;) {
      const found = this.statuses.find(fits);
      if (found !== undefined) return found;
      if (ending !== null) throw new Error(`it ended without ${what}: ${JSON.stringify(ending)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      // The ending's own listener comes after this one.
      await Promise.resolve();
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
