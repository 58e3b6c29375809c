/** `dormouse remember`: one thought from the arguments or from standard input. */
import { DormouseError } from "../../core/errors.ts";
import {
  type Basis,
  type Facet,
  type Interval,
  LOOSE_THREAD,
  type ReferentTime,
  type RememberInput,
  type RememberResult,
  SOURCE_TYPES,
  type SourceType,
} from "../../core/types.ts";
import { type ExitStatus, type Invocation, readCount, withBrain } from "../invocation.ts";
import { readLeg } from "../leg-option.ts";
import { risenWords } from "../render.ts";

interface RememberFlags {
  readonly kind?: string;
  readonly domain?: string;
  readonly tag?: readonly string[];
  readonly when?: string;
  readonly leg?: readonly string[];
  readonly axiom?: boolean;
  readonly source?: string;
  readonly scope?: string;
  readonly basis?: Basis;
  readonly confidence?: string;
  readonly salience?: string;
  readonly aspect?: readonly string[];
  readonly facet?: readonly string[];
  readonly due?: string;
  readonly valid?: string;
  readonly about?: readonly string[];
  readonly supersedes?: readonly string[];
}

/** Bytes of standard input read before the text counts as too long: 20,000 characters of the widest kind. */
const MAX_STDIN_BYTES = 80_000;

interface ThoughtTimes {
  referent?: ReferentTime;
  due?: number;
  valid?: Interval;
}

/** What a time came to, for the person to check. */
interface TimeNote {
  readonly option: string;
  readonly words: string;
  readonly meaning: string;
}

export async function runRemember(invocation: Invocation, text: string, flags: RememberFlags): Promise<ExitStatus> {
  const { times, notes } = await readTimes(flags);
  const attributes = readAttributes(flags);
  const result = await withBrain(invocation, async (brain) => {
    const content = text === "-" ? await readStdin() : text;
    return brain.remember({ content, ...attributes, ...times });
  });
  invocation.output.print(result, (answer) => renderRemembered(answer, notes));
  return 0;
}

function renderRemembered(answer: RememberResult, notes: readonly TimeNote[]): string {
  const known = answer.status === "known" ? "known already" : answer.status;
  return [
    `${known} ${answer.id}`,
    ...(answer.risen === undefined ? [] : [`  ${risenWords(answer.risen)}`]),
    ...notes.map(({ option, words, meaning }) => `  ${option} "${words}" was read as ${meaning}`),
  ].join("\n");
}

function readAttributes(flags: RememberFlags): Omit<RememberInput, "content"> {
  const { source } = flags;
  return {
    ...(flags.kind === undefined ? {} : { kind: flags.kind }),
    ...(flags.domain === undefined ? {} : { domain: flags.domain }),
    ...(flags.scope === undefined ? {} : { scope: flags.scope }),
    ...(flags.basis === undefined ? {} : { basis: flags.basis }),
    ...(flags.tag === undefined ? {} : { tags: flags.tag }),
    ...(flags.aspect === undefined ? {} : { aspects: flags.aspect }),
    ...(flags.about === undefined ? {} : { subjects: flags.about }),
    ...(flags.supersedes === undefined ? {} : { supersedes: flags.supersedes }),
    ...(flags.facet === undefined ? {} : { facets: flags.facet.map(readFacet) }),
    ...(flags.leg === undefined ? {} : { legs: flags.leg.map(readLeg) }),
    ...(flags.axiom === undefined ? {} : { axiom: flags.axiom }),
    ...(flags.confidence === undefined ? {} : { confidence: readCount("--confidence", flags.confidence, 0) }),
    ...(flags.salience === undefined ? {} : { salience: readCount("--salience", flags.salience, 0) }),
    ...(source === undefined
      ? {}
      : {
          occurrence: {
            source: { type: typeOf(source), key: source, name: source, trust: "unknown" },
            // What is typed one by one follows nothing, whatever it is from.
            thread: LOOSE_THREAD,
          },
        }),
  };
}

/** The type that the word before a colon names; a name without one is just a name. */
function typeOf(source: string): SourceType {
  const word = source.slice(0, Math.max(0, source.indexOf(":"))).toLowerCase();
  return SOURCE_TYPES.find((type) => type === word) ?? (word === "web" ? "page" : "named");
}

function readFacet(text: string): Facet {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1) {
    throw new DormouseError("usage", "--facet must be name=value", { hint: "For instance --facet city=Lisbon." });
  }
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

async function readTimes(flags: RememberFlags): Promise<{ times: ThoughtTimes; notes: TimeNote[] }> {
  const { when, due, valid } = flags;
  if (when === undefined && due === undefined && valid === undefined) return { times: {}, notes: [] };
  const { describeDue, describeReferent, readDue, readOption, readRange } = await import("../times.ts");
  const now = Date.now();
  const notes: TimeNote[] = [];
  const note = (option: string, words: string | null, meaning: string) => {
    if (words !== null) notes.push({ option, words, meaning });
  };
  const times: ThoughtTimes = {};
  if (when !== undefined) {
    const { range, words } = await readOption("--when", () => readRange(when, now));
    times.referent = range;
    note("--when", words, describeReferent(toShown(range)));
  }
  if (due !== undefined) {
    const answer = await readOption("--due", () => readDue(due, now));
    times.due = answer.due;
    note("--due", answer.words, describeDue(answer.due));
  }
  if (valid !== undefined) {
    const { range, words } = await readOption("--valid", () => readRange(valid, now, "local"));
    times.valid = range;
    note("--valid", words, describeReferent(toShown(range)));
  }
  return { times, notes };
}

function toShown({ from, to, floating = false }: ReferentTime): {
  from: string | null;
  to: string | null;
  floating: boolean;
} {
  return {
    from: from === null ? null : new Date(from).toISOString(),
    to: to === null ? null : new Date(to).toISOString(),
    floating,
  };
}

/** @throws DormouseError `too_long`, or `invalid` for bytes that are no UTF-8. */
async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_STDIN_BYTES) {
      throw new DormouseError("too_long", "standard input: 20,000 characters at most", {
        hint: "`dormouse extract` cuts long text into linked parts.",
      });
    }
    chunks.push(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new DormouseError("invalid", "standard input is not UTF-8 text");
  }
}
