/**
 * A systemd user unit for the daemon of one brain. Quotes as systemd.service(5) and systemd.syntax(7) say; refuses
 * nothing that a path may hold but control characters, which `service.ts` turns away.
 */
import { join } from "node:path";
import { daemonCommand, type ServicePlan, type ServiceSpec, type ServiceStep, serviceName } from "./service.ts";

/** Exit status of a command line that was called wrongly: starting it again would not help. */
const USAGE_STATUS = 2;

export function planSystemdInstall(spec: ServiceSpec): ServicePlan {
  const name = serviceName(spec.brainPath);
  return {
    kind: "systemd",
    name,
    steps: [
      { do: "write", path: unitPath(spec, name), content: renderUnit(spec) },
      systemctl("daemon-reload"),
      systemctl("enable", `${name}.service`),
      // A daemon that runs already is the one of before.
      systemctl("restart", `${name}.service`),
    ],
    notes: [
      "It runs while you are logged in; `loginctl enable-linger` lets it run always.",
      "A language model's key must be in its environment: `systemctl --user edit` can set it.",
    ],
  };
}

export function planSystemdUninstall(spec: ServiceSpec): ServicePlan {
  const name = serviceName(spec.brainPath);
  return {
    kind: "systemd",
    name,
    steps: [
      { ...systemctl("disable", "--now", `${name}.service`), optional: true },
      { do: "remove", path: unitPath(spec, name) },
      systemctl("daemon-reload"),
    ],
    notes: [],
  };
}

function systemctl(...args: string[]): Extract<ServiceStep, { do: "run" }> {
  return { do: "run", command: ["systemctl", "--user", ...args] };
}

function unitPath({ home, configHome }: ServiceSpec, name: string): string {
  return join(configHome ?? join(home, ".config"), "systemd", "user", `${name}.service`);
}

function renderUnit(spec: ServiceSpec): string {
  return `# Made by \`dormouse daemon install\`; \`dormouse daemon uninstall\` removes it.
[Unit]
Description=Dormouse: sleep for the memory in ${escapeSpecifiers(spec.brainPath)}

[Service]
Type=simple
ExecStart=${renderCommand(daemonCommand(spec))}
Restart=on-failure
RestartSec=60
RestartPreventExitStatus=${USAGE_STATUS}
TimeoutStopSec=10
UMask=0077
Nice=10
IOSchedulingClass=idle
NoNewPrivileges=true

[Install]
WantedBy=default.target
`;
}

/** systemd takes no program whose path holds quotes, backslashes or variables; `env` does. */
function renderCommand([program = "", ...args]: readonly string[]): string {
  const isPlain = !/["'\\$]/.test(program);
  return [...(isPlain ? [] : ["/usr/bin/env"]), ...[program, ...args].map(quoteArgument)].join(" ");
}

/** Double quotes with escapes; `%` begins a specifier and `$` a variable, in quotes too. */
function quoteArgument(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("$", "$$$$");
  return `"${escapeSpecifiers(escaped)}"`;
}

function escapeSpecifiers(text: string): string {
  return text.replaceAll("%", "%%");
}
