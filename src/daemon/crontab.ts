/**
 * A crontab line for one brain: every ten minutes it does what is due and ends, so that nothing has to stay there and
 * nothing is lost when it does not. The schedule stays in the configuration. Other lines are left as they are.
 */
import { execFileSync } from "node:child_process";
import { DormouseError } from "../core/errors.ts";
import { daemonCommand, type ServicePlan, type ServiceSpec, serviceName } from "./service.ts";

const TOOL = "crontab";
const EVERY_MINUTES = 10;
const TOOL_TIMEOUT_MS = 30_000;

/** @param current the user's crontab as it is */
export function planCrontabInstall(spec: ServiceSpec, current: string): ServicePlan {
  const name = serviceName(spec.brainPath);
  const command = daemonCommand(spec, "--once").map(quoteForShell).join(" ");
  // cron ends a command at a percent sign.
  const line = `*/${EVERY_MINUTES} * * * * nice -n 10 ${command.replaceAll("%", "\\%")} >/dev/null 2>&1 ${tagOf(name)}`;
  return {
    kind: "crontab",
    name,
    steps: [writeCrontab(`${withoutOurs(current, name)}${line}\n`)],
    notes: [
      `Every ${EVERY_MINUTES} minutes it looks whether a night is due by the configured schedule, and ends again.`,
      "cron gives it a bare environment: a language model's key must be set in the crontab.",
    ],
  };
}

export function planCrontabUninstall(spec: ServiceSpec, current: string): ServicePlan {
  const name = serviceName(spec.brainPath);
  const hasOurs = current.split("\n").some((line) => isOurs(line, name));
  return { kind: "crontab", name, steps: hasOurs ? [writeCrontab(withoutOurs(current, name))] : [], notes: [] };
}

/** The user's crontab; empty when there is none. @throws DormouseError `service_failed` when there is no such tool */
export function readCrontab(): string {
  try {
    return execFileSync(TOOL, ["-l"], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TOOL_TIMEOUT_MS,
    });
  } catch (error) {
    // What cannot be read must not be taken for empty: writing would lose it.
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
    if (/no crontab/i.test(stderr)) return "";
    throw new DormouseError("service_failed", "the crontab cannot be read", {
      hint: "Is there a `crontab` on this machine, and may you use it?",
      cause: error,
    });
  }
}

function writeCrontab(content: string): ServicePlan["steps"][number] {
  return { do: "run", command: [TOOL, "-"], stdin: content };
}

function tagOf(name: string): string {
  return `# ${name}`;
}

function isOurs(line: string, name: string): boolean {
  return line.endsWith(tagOf(name));
}

function withoutOurs(current: string, name: string): string {
  const text = current
    .split("\n")
    .filter((line) => !isOurs(line, name))
    .join("\n");
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function quoteForShell(text: string): string {
  return /^[\w@+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
