/**
 * A daemon in a process of its own, on a clock that may begin at another time: `daemon-child.ts OPTIONS` as JSON.
 * Prints each status as a line. Ends as `dormouse daemon run` does, with status 1 and the error's code on stderr.
 */
import { writeSync } from "node:fs";
import { DormouseError } from "../../src/core/errors.ts";
import { runDaemon } from "../../src/daemon/daemon.ts";
import type { Patience } from "../../src/daemon/night.ts";
import { stopOnSignals } from "../../src/daemon/stop-signals.ts";

export interface DaemonChildOptions {
  readonly brainPath: string;
  /** What the daemon's clock says at its start; default: the true time. */
  readonly clockStart?: number;
  readonly once?: boolean;
  readonly patience?: Partial<Patience>;
}

const options: DaemonChildOptions = JSON.parse(process.argv[2] ?? "{}");
const offset = options.clockStart === undefined ? 0 : options.clockStart - Date.now();

try {
  await runDaemon({
    brainPath: options.brainPath,
    once: options.once === true,
    signal: stopOnSignals(),
    clock: { now: () => Date.now() + offset },
    patience: { quietMs: 0, pollMs: 10, longestMs: 60_000, lookMs: 100, ...options.patience },
    onStatus: (status) => writeSync(1, `${JSON.stringify(status)}\n`),
  });
  process.exit(0);
} catch (error) {
  const { code, message, hint } = error instanceof DormouseError ? error : { code: "internal", message: "", hint: "" };
  writeSync(2, JSON.stringify({ code, message, hint }));
  process.exit(1);
}
