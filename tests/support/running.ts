/** Whether a process still runs, for tests that promise to leave none behind. */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const TRIES = 100;
const PAUSE_MS = 50;

/** True while a process of this id does anything; a dead one that nobody has waited for yet only keeps its number. */
export function isRunning(id: number): boolean {
  try {
    process.kill(id, 0);
  } catch {
    return false;
  }
  const status = `/proc/${id}/status`;
  return !(existsSync(status) && /^State:\s+Z/m.test(readFileSync(status, "utf8")));
}

/** Waits until all of them have ended. Throws when one is left after five seconds. */
export async function waitUntilGone(ids: readonly number[]): Promise<void> {
  for (let tries = 0; ids.some(isRunning); tries++) {
    if (tries === TRIES) throw new Error("a process is left");
    await delay(PAUSE_MS);
  }
}
