/**
 * What starts the daemon without a person: systemd (user units), launchd or crontab. Says what would be written and
 * run; `apply` does it. A service belongs to one brain and is named after its path, so that two do not meet.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DormouseError } from "../core/errors.ts";

export const SERVICE_KINDS = ["systemd", "launchd", "crontab"] as const;
export type ServiceKind = (typeof SERVICE_KINDS)[number];

/** What a service runs, and for whom. */
export interface ServiceSpec {
  /** Absolute path of the brain. */
  readonly brainPath: string;
  /** Absolute path of the folder of the brain's model, when one is given. */
  readonly modelDirectory: string | null;
  /** The program up to its own arguments: node, its options, the script. */
  readonly program: readonly string[];
  readonly home: string;
  /** Where user units lie when not below `home`; `XDG_CONFIG_HOME`. */
  readonly configHome: string | null;
  readonly userId: number;
}

/** One step of a plan, in order. */
export type ServiceStep =
  | { readonly do: "write"; readonly path: string; readonly content: string }
  | { readonly do: "remove"; readonly path: string }
  | {
      readonly do: "run";
      readonly command: readonly [string, ...string[]];
      /** What the command reads. */
      readonly stdin?: string;
      /** It may fail: what it undoes may not be there. */
      readonly optional?: true;
    };

export interface ServicePlan {
  readonly kind: ServiceKind;
  readonly name: string;
  readonly steps: readonly ServiceStep[];
  /** What a person should know, a sentence each. */
  readonly notes: readonly string[];
}

const TOOL_TIMEOUT_MS = 30_000;
const ID_DIGITS = 8;

/** The name of a brain's service. */
export function serviceName(brainPath: string): string {
  return `dormouse-${createHash("sha256").update(brainPath).digest("hex").slice(0, ID_DIGITS)}`;
}

/** The whole command line of the daemon. @param rest of the arguments behind `daemon run` */
export function daemonCommand(spec: ServiceSpec, ...rest: readonly string[]): string[] {
  const place = spec.modelDirectory === null ? [] : ["--model-dir", spec.modelDirectory];
  return [...spec.program, "--brain", spec.brainPath, ...place, "daemon", "run", ...rest];
}

/** What this platform has. @throws DormouseError `service_failed` where there is none of the three */
export function detectServiceKind(platform: NodeJS.Platform, hasTool: (name: string) => boolean): ServiceKind {
  if (platform === "darwin") return "launchd";
  if (platform === "linux" && hasTool("systemctl")) return "systemd";
  if (platform !== "win32" && hasTool("crontab")) return "crontab";
  throw new DormouseError("service_failed", "this machine has neither systemd nor launchd nor crontab", {
    hint: "Let whatever starts programs here start `dormouse daemon run`.",
  });
}

/** A line break in a path would begin another line of the file that is written. @throws DormouseError `usage` */
export function assertPlainPaths(spec: ServiceSpec): void {
  if (daemonCommand(spec).some((part) => /\p{Cc}/u.test(part))) {
    throw new DormouseError("usage", "a path with control characters cannot be put into a service", {
      hint: "Rename the folder or the file.",
    });
  }
}

/** Does the steps of a plan, in order. @throws DormouseError `service_failed`, naming the tool; `io`, naming the file */
export function applyPlan({ steps }: ServicePlan): void {
  for (const step of steps) {
    if (step.do === "write") writeWhole(step.path, step.content);
    else if (step.do === "remove") rmSync(step.path, { force: true });
    else runTool(step);
  }
}

function writeWhole(path: string, content: string): void {
  const written = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    try {
      writeFileSync(written, content, { mode: 0o600 });
      renameSync(written, path);
    } finally {
      rmSync(written, { force: true });
    }
  } catch (error) {
    throw new DormouseError("io", `${path} cannot be written`, {
      hint: "Check the rights of its folder.",
      cause: error,
    });
  }
}

function runTool({ command: [tool, ...args], stdin, optional }: Extract<ServiceStep, { do: "run" }>): void {
  try {
    execFileSync(tool, args, {
      ...(stdin === undefined ? {} : { input: stdin }),
      stdio: [stdin === undefined ? "ignore" : "pipe", "ignore", "pipe"],
      timeout: TOOL_TIMEOUT_MS,
    });
  } catch (error) {
    if (optional === true) return;
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr).trim().split("\n")[0] : "";
    throw new DormouseError("service_failed", `\`${[tool, ...args].join(" ")}\` failed${stderr ? `: ${stderr}` : ""}`, {
      hint: "Nothing but what the preview names was done; run it again, or choose another --kind.",
      cause: error,
    });
  }
}
