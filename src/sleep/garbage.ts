/**
 * Phase 9: says what freeing would give back, by reason, and frees nothing: whatever is out of search can come back,
 * and only a person erases. Plans and changes nothing.
 */
import { findGarbage, vacantBytes } from "../store/sleep-garbage.ts";
import type { PhaseContext, PhaseOutcome } from "./phase.ts";

/** `nodes` and `bytes` that could be freed, then the same by reason, as `nodes.disuse`; `vacant`: bytes of empty pages. */
export function reportGarbage({ store }: PhaseContext): PhaseOutcome {
  const { garbage, vacant } = store.read(() => ({
    garbage: findGarbage(store.connection, store.models.active()?.dimensions ?? 0),
    vacant: vacantBytes(store.connection),
  }));
  const total = (pick: (entry: (typeof garbage)[number]) => number) =>
    garbage.reduce((sum, entry) => sum + pick(entry), 0);
  return {
    planned: 0,
    applied: 0,
    details: {
      nodes: total(({ nodes }) => nodes),
      bytes: total(({ bytes }) => bytes),
      vacant,
      ...Object.fromEntries(garbage.map(({ reason, nodes }) => [`nodes.${reason}`, nodes])),
      ...Object.fromEntries(garbage.map(({ reason, bytes }) => [`bytes.${reason}`, bytes])),
    },
  };
}
