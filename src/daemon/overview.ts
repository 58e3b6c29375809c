/** What `daemon status` tells: the status file, and whether the process that wrote it is there. */
import { isSameProcess } from "./process-identity.ts";
import { type DaemonStatus, daemonFile, readStatus } from "./status-file.ts";

export interface DaemonOverview {
  readonly running: boolean;
  /** It was at work when its process ended without a word; the next one goes on from there. */
  readonly died: boolean;
  /** As written last; null when no daemon has ever run for this brain. */
  readonly status: DaemonStatus | null;
  readonly statusFile: string;
  readonly logFile: string;
}

export function readOverview(brainPath: string): DaemonOverview {
  const statusFile = daemonFile(brainPath, "json");
  const status = readStatus(statusFile);
  const isThere = status !== null && isSameProcess(status.process);
  return {
    running: isThere && status.state !== "stopped",
    died: status !== null && !isThere && status.state !== "stopped" && status.state !== "stopping",
    status,
    statusFile,
    logFile: daemonFile(brainPath, "log"),
  };
}
