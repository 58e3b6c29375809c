/** A launchd agent for the daemon of one brain, as launchd.plist(5) describes it. */
import { join } from "node:path";
import { daemonCommand, type ServicePlan, type ServiceSpec, serviceName } from "./service.ts";

export function planLaunchdInstall(spec: ServiceSpec): ServicePlan {
  const name = serviceName(spec.brainPath);
  const path = plistPath(spec, name);
  return {
    kind: "launchd",
    name,
    steps: [
      { do: "write", path, content: renderPlist(spec, name) },
      { do: "run", command: ["launchctl", "bootout", `gui/${spec.userId}/${name}`], optional: true },
      { do: "run", command: ["launchctl", "bootstrap", `gui/${spec.userId}`, path] },
    ],
    notes: ["It runs while you are logged in."],
  };
}

export function planLaunchdUninstall(spec: ServiceSpec): ServicePlan {
  const name = serviceName(spec.brainPath);
  return {
    kind: "launchd",
    name,
    steps: [
      { do: "run", command: ["launchctl", "bootout", `gui/${spec.userId}/${name}`], optional: true },
      { do: "remove", path: plistPath(spec, name) },
    ],
    notes: [],
  };
}

function plistPath({ home }: ServiceSpec, name: string): string {
  return join(home, "Library", "LaunchAgents", `${name}.plist`);
}

/** Started at login and again after a failure, never after an orderly end. */
function renderPlist(spec: ServiceSpec, name: string): string {
  const args = daemonCommand(spec).map((part) => `    <string>${escapeXml(part)}</string>`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Made by \`dormouse daemon install\`; \`dormouse daemon uninstall\` removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escapeXml(name)}</string>
  <key>ProgramArguments</key>
  <array>
${args.join("\n")}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>60</integer>
  <key>ExitTimeOut</key>
  <integer>10</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>LowPriorityIO</key>
  <true/>
  <key>Nice</key>
  <integer>10</integer>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
