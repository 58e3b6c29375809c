/** `dormouse config`: what is settled in `config.json` beside the brain; shown, set and taken back key by key. */
import type { ConfigListing } from "../../app/config-keys.ts";
import { brainPathOf, type ExitStatus, type Invocation } from "../invocation.ts";
import { printable, type Style } from "../output.ts";

/** What `set` and `unset` print in JSON. */
interface ChangeReport {
  readonly key: string;
  readonly path: string;
  /** The value from now on, for a single key; null: none. */
  readonly value: unknown;
}

export async function runConfigShow(invocation: Invocation): Promise<ExitStatus> {
  const { listConfig } = await import("../../app/config-keys.ts");
  const listing = await listConfig(await brainPathOf(invocation));
  invocation.output.print(listing, renderListing);
  return 0;
}

export async function runConfigSet(invocation: Invocation, key: string, words: readonly string[]): Promise<ExitStatus> {
  const { setConfigKey } = await import("../../app/config-keys.ts");
  const path = await brainPathOf(invocation, { mustExist: true });
  await setConfigKey(path, key, words);
  await reportChange(invocation, path, key);
  return 0;
}

export async function runConfigUnset(invocation: Invocation, key: string): Promise<ExitStatus> {
  const { unsetConfigKey } = await import("../../app/config-keys.ts");
  const path = await brainPathOf(invocation, { mustExist: true });
  await unsetConfigKey(path, key);
  await reportChange(invocation, path, key);
  return 0;
}

async function reportChange(invocation: Invocation, brainPath: string, key: string): Promise<void> {
  const { listConfig } = await import("../../app/config-keys.ts");
  const { path, entries } = await listConfig(brainPath);
  const entry = entries.find((one) => one.key === key);
  const report: ChangeReport = { key, path, value: entry?.value ?? null };
  invocation.output.print(report, ({ value }) =>
    entry === undefined
      ? `${printable(key)} is as at the beginning`
      : `${printable(key)} = ${describe(value)}${entry.isDefault ? " (the default)" : ""}`,
  );
}

function renderListing({ path, exists, entries, hasApiKey }: ConfigListing, style: Style): string {
  const width = Math.max(...entries.map(({ key }) => key.length));
  const lines = entries.map(({ key, value, isDefault }) => {
    const line = `${key.padEnd(width)}  ${describe(value)}${key === "llm.apiKeyEnv" ? describeKey(hasApiKey) : ""}`;
    return isDefault ? style.dim(line) : style.bold(line);
  });
  return [`${printable(path)}${exists ? "" : " (not there: all defaults)"}`, ...lines].join("\n");
}

function describeKey(hasApiKey: boolean | null): string {
  if (hasApiKey === null) return "";
  return hasApiKey ? " (set in this environment)" : " (not set in this environment)";
}

function describe(value: unknown): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map((one) => printable(String(one))).join(" ");
  // Shares such as two thirds would fill the line.
  return typeof value === "number" ? String(Number(value.toFixed(4))) : printable(String(value));
}
