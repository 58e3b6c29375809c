/** The models Dormouse knows by name, and where each comes from. Says nothing about this machine. */

/** Repository of the hub by the name of the model; the first is the one to take: 34 MB, English, 384 dimensions. */
const KNOWN: Readonly<Record<string, string>> = {
  "e5-small-v2": "Xenova/e5-small-v2",
  "all-MiniLM-L6-v2": "Xenova/all-MiniLM-L6-v2",
};

const NAME = /^[\w-][\w.-]{0,95}(\/[\w-][\w.-]{0,95})?$/;

export function knownModelNames(): string[] {
  return Object.keys(KNOWN);
}

/** The hub's repository of a model: of a known one, or the name itself if it has the form OWNER/NAME; else null. */
export function hubRepository(name: string): string | null {
  if (Object.hasOwn(KNOWN, name)) return KNOWN[name] ?? null;
  return isModelName(name) && name.includes("/") ? name : null;
}

/** True for a name that can stand for a model: NAME or OWNER/NAME. */
export function isModelName(name: string): boolean {
  return NAME.test(name) && !name.includes("..");
}
