/** The most memory this process has held. */
import { readFileSync } from "node:fs";

/** Bytes. Where the kernel tells it, the peak since this program started; a forked process inherits the other figure. */
export function peakMemory(): number {
  if (process.platform === "linux") {
    const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (kib !== undefined) return Number(kib) * 1024;
  }
  return process.resourceUsage().maxRSS * 1024;
}
