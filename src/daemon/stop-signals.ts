/**
 * Ending when told: SIGTERM, SIGINT and SIGHUP ask the work to stop after its batch; what has not stopped in time is
 * ended, which a transaction survives like any kill. A second signal ends at once.
 */

/** From being told to being gone, at most. Service managers are told to wait twice as long. */
const DRAIN_MS = 4_500;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** A signal that aborts when the process is told to stop; from then on the process has so long. */
export function stopOnSignals(onStop: () => void = () => {}): AbortSignal {
  const stop = new AbortController();
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1);
      onStop();
      stop.abort();
      setTimeout(() => process.exit(0), DRAIN_MS).unref();
    });
  }
  return stop.signal;
}
