/**
 * `dormouse daemon install` and `uninstall`: what starts the daemon without a person. Shows what would be written and
 * run; nothing is changed without `--apply`.
 */
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { DormouseError } from "../../core/errors.ts";
import type { ServiceKind, ServicePlan, ServiceSpec, ServiceStep } from "../../daemon/service.ts";
import { brainPathOf, type ExitStatus, type Invocation } from "../invocation.ts";
import { printable } from "../output.ts";

export interface InstallFlags {
  readonly kind?: ServiceKind;
  readonly apply?: boolean;
}

interface InstallReport extends ServicePlan {
  readonly applied: boolean;
}

export function runDaemonInstall(invocation: Invocation, flags: InstallFlags): Promise<ExitStatus> {
  return runService(invocation, flags, "install");
}

export function runDaemonUninstall(invocation: Invocation, flags: InstallFlags): Promise<ExitStatus> {
  return runService(invocation, flags, "uninstall");
}

async function runService(
  invocation: Invocation,
  { kind, apply }: InstallFlags,
  what: "install" | "uninstall",
): Promise<ExitStatus> {
  const service = await import("../../daemon/service.ts");
  const spec = await specOf(invocation, what);
  service.assertPlainPaths(spec);
  const plan = await planService(kind ?? service.detectServiceKind(process.platform, hasTool), spec, what);
  if (apply === true) service.applyPlan(plan);
  const report: InstallReport = { ...plan, applied: apply === true };
  invocation.output.print(report, (value) => renderReport(value, what));
  return 0;
}

async function planService(kind: ServiceKind, spec: ServiceSpec, what: "install" | "uninstall"): Promise<ServicePlan> {
  const isInstall = what === "install";
  if (kind === "systemd") {
    const { planSystemdInstall, planSystemdUninstall } = await import("../../daemon/systemd.ts");
    return isInstall ? planSystemdInstall(spec) : planSystemdUninstall(spec);
  }
  if (kind === "launchd") {
    const { planLaunchdInstall, planLaunchdUninstall } = await import("../../daemon/launchd.ts");
    return isInstall ? planLaunchdInstall(spec) : planLaunchdUninstall(spec);
  }
  const { planCrontabInstall, planCrontabUninstall, readCrontab } = await import("../../daemon/crontab.ts");
  return isInstall ? planCrontabInstall(spec, readCrontab()) : planCrontabUninstall(spec, readCrontab());
}

/** The service is for the file that the path leads to; one that is gone can still be uninstalled by its path. */
async function specOf(invocation: Invocation, what: "install" | "uninstall"): Promise<ServiceSpec> {
  const path = resolve(await brainPathOf(invocation, { mustExist: what === "install" }));
  const [node = "", script] = process.argv;
  if (script === undefined) throw new DormouseError("io", "this program does not know where it lies");
  const directory = invocation.modelDirectory ?? (process.env.DORMOUSE_MODEL_DIR || undefined);
  return {
    brainPath: existsSync(path) ? realpathSync(path) : path,
    modelDirectory: directory === undefined ? null : resolve(directory),
    program: [node, ...process.execArgv, realpathSync(script)],
    home: homedir(),
    configHome: process.env.XDG_CONFIG_HOME || null,
    userId: process.getuid?.() ?? 0,
  };
}

function hasTool(name: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => folder !== "" && existsSync(join(folder, name)));
}

function renderReport({ kind, name, steps, notes, applied }: InstallReport, what: "install" | "uninstall"): string {
  if (steps.length === 0) return `nothing of this brain is in ${kind}`;
  const done = what === "install" ? "installed" : "uninstalled";
  const title = applied ? `${done} ${name} (${kind})` : `would be ${done}: ${name} (${kind}); --apply does it`;
  const lines = applied ? [] : steps.map(renderStep);
  return printable([title, ...lines, ...notes].join("\n"));
}

function renderStep(step: ServiceStep): string {
  if (step.do === "remove") return `remove ${step.path}`;
  if (step.do === "write") return `write ${step.path}\n${indent(step.content)}`;
  return `run ${step.command.join(" ")}${step.stdin === undefined ? "" : `, with\n${indent(step.stdin)}`}`;
}

function indent(text: string): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `    ${line}`.trimEnd())
    .join("\n");
}
