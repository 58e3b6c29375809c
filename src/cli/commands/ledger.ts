/** `dormouse ledger`: the events that made the brain what it is. They hold ids and numbers, no words. */
import type { EventView } from "../../app.ts";
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";
import { fitLine, type Style } from "../output.ts";
import { formatMinute } from "../times.ts";

interface LedgerFlags {
  readonly node?: string;
  readonly since?: string;
  readonly limit: string;
}

/** JSON: an array of events, latest first. */
export async function runLedger(invocation: Invocation, flags: LedgerFlags): Promise<ExitStatus> {
  const query = {
    limit: readCount("--limit", flags.limit),
    ...(flags.node === undefined ? {} : { node: flags.node }),
    ...(flags.since === undefined ? {} : { since: flags.since }),
  };
  const events = await withBrain(invocation, (brain) => brain.ledger(query));
  invocation.output.print(events, (found, style) =>
    found.length === 0 ? "no events" : found.map((event) => eventLine(event, style)).join("\n"),
  );
  return 0;
}

/** Event, time, actor, kind and what it touched. */
export function eventLine({ id, at, actor, kind, payload }: EventView, style: Style): string {
  const head = `${id.padEnd(7)} ${formatMinute(new Date(at))}  ${actor.padEnd(9)}  ${kind.padEnd(20)}`;
  const room = style.isTerminal ? Math.max(20, style.width - head.length - 2) : 2_000;
  return `${head}  ${style.dim(fitLine(JSON.stringify(payload), room))}`;
}
