/** `dormouse stats`: what the brain holds. */
import type { Census } from "../../app.ts";
import { type ExitStatus, type Invocation, withReader } from "../invocation.ts";
import { printable, type Style } from "../output.ts";
import { countOf } from "../render.ts";

/** Digits of the head's fingerprint that are printed. */
const HEAD_DIGITS = 16;

export async function runStats(invocation: Invocation, flags: { readonly asOf?: string }): Promise<ExitStatus> {
  const census = await withReader(invocation, flags.asOf, (brain) => brain.stats());
  invocation.output.print(census, renderCensus);
  return 0;
}

function renderCensus(census: Census, style: Style): string {
  const { vectors, ledger } = census;
  const counts = (entries: Readonly<Record<string, number>>) =>
    Object.entries(entries)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${printable(name)} ${count}`)
      .join(", ");
  const facts: [string, string][] = [
    ["thoughts", `${census.thoughts}, ${census.visible} of them visible`],
    ["sources", String(census.sources)],
    ["states", describeStates(census)],
    ["kinds", counts(census.kinds)],
    ["domains", counts(census.domains)],
    ["legs", String(census.legs)],
    ["links", String(census.links)],
    ["met", `${census.occurrences} occurrences`],
    ["vectors", describeVectors(vectors)],
    ["ledger", `${ledger.events} events, head ${shortHead(ledger.head)}`],
    ["file", `${(census.fileBytes / 1_048_576).toFixed(1)} MiB`],
  ];
  return facts
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${style.dim(name.padEnd(9))} ${value}`)
    .join("\n");
}

/** Thoughts in each state; one that is forgotten has decayed, too, and a thought can be in several. */
function describeStates({ states, thoughts, visible }: Census): string {
  const { forgotten, ...others } = states;
  const words = Object.entries(others)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => (name === "decayed" ? decayedWords(count, forgotten) : `${name} ${count}`))
    .join(", ");
  const hidden = states.decayed + states.merged + states.recalled + states.erased + states.held + states.superseded;
  return hidden > thoughts - visible ? `${words}; a thought can be in several` : words;
}

function decayedWords(decayed: number, forgotten: number): string {
  if (forgotten === 0) return `decayed ${decayed}`;
  return forgotten === decayed ? `forgotten ${forgotten}` : `decayed ${decayed} (${forgotten} of them forgotten)`;
}

/** Event and the digits that `verify --head` needs. */
function shortHead(head: string): string {
  return head.slice(0, head.indexOf(":") + 1 + HEAD_DIGITS);
}

function describeVectors({ model, count, dimensions, building }: Census["vectors"]): string {
  const coming = building === null ? "" : `; ${building.done} of ${building.total} of ${nameOf(building.model)}`;
  if (model === null) return `none${coming}`;
  return `${countOf(count, "vector")}, ${countOf(dimensions ?? 0, "dimension")}, ${nameOf(model)}${coming}`;
}

function nameOf(model: string): string {
  return model === "builtin" ? "built-in model" : `model ${printable(model)}`;
}
