/** `dormouse list`: thoughts in any state, latest first, one a line. */
import { LISTABLE_STATES, type ListFilter } from "../../app.ts";
import { DormouseError } from "../../core/errors.ts";
import type { Interval } from "../../core/types.ts";
import { type ExitStatus, type Invocation, readCount, withReader } from "../invocation.ts";
import { listLine } from "../render.ts";

interface ListFlags {
  readonly kind?: readonly string[];
  readonly domain?: readonly string[];
  readonly tag?: readonly string[];
  readonly state: string;
  readonly limit: string;
  readonly when?: string;
  readonly asOf?: string;
}

/** JSON: an array of thoughts. */
export async function runList(invocation: Invocation, flags: ListFlags): Promise<ExitStatus> {
  const filter: ListFilter = {
    limit: readCount("--limit", flags.limit),
    state: readState(flags.state),
    ...(flags.kind === undefined ? {} : { kinds: flags.kind }),
    ...(flags.domain === undefined ? {} : { domains: flags.domain }),
    ...(flags.tag === undefined ? {} : { tags: flags.tag }),
    ...(flags.when === undefined ? {} : { when: await readWhen(flags.when, flags.asOf) }),
  };
  const found = await withReader(invocation, flags.asOf, (brain) => brain.list({ ...filter, limit: filter.limit + 1 }));
  const thoughts = found.slice(0, filter.limit);
  const { output } = invocation;
  output.print(thoughts, (shown, style) => {
    if (shown.length === 0) return "no thoughts";
    const rest = found.length > shown.length ? ["… and more; --limit shows as many as you like"] : [];
    return [...shown.map((thought) => listLine(thought, style)), ...rest].join("\n");
  });
  const recalls = new Set(thoughts.flatMap(({ state }) => state.recalledBy ?? []));
  const [event, ...others] = recalls;
  if (event !== undefined) {
    const which = others.length === 0 ? [event, "that"] : ["EVENT", "one"];
    output.note(`\`dormouse unrecall ${which[0]}\` undoes ${which[1]} recall`);
  }
  return 0;
}

/** What happened then; a bare date is that day on this machine. */
async function readWhen(text: string, asOf: string | undefined): Promise<Interval> {
  const { readAsOf, readOption, readRange } = await import("../times.ts");
  const at = await readAsOf(asOf, Date.now());
  const { range } = await readOption("--when", () => readRange(text, at, "local"));
  return { from: range.from, to: range.to };
}

function readState(text: string): NonNullable<ListFilter["state"]> {
  const state = LISTABLE_STATES.find((known) => known === text);
  if (state === undefined) {
    throw new DormouseError("usage", "--state is none of the states", {
      hint: `One of ${LISTABLE_STATES.join(", ")}.`,
    });
  }
  return state;
}
