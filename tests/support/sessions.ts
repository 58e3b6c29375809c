/** Sessions of turns as extraction would leave them, for tests that need what was said and nothing of files. */
import type { RememberInput, RememberResult, SourceInput, Trust } from "../../src/core/types.ts";
import { rememberAll } from "../../src/remember/remember.ts";
import type { TestStore } from "./brain.ts";

export interface SaidTurn {
  readonly speaker: string;
  readonly text: string;
  /** Besides the session: what the turn rests on. */
  readonly cites?: readonly SourceInput[];
}

export function sessionSource(key: string, trust: Trust = "trusted"): SourceInput {
  return { type: "session", key, name: `session ${key}`, trust };
}

/** A page that nobody trusts. */
export const PAGE: SourceInput = {
  type: "page",
  key: "https://bad.example",
  name: "web:bad.example",
  trust: "untrusted",
};

/**
 * Stores a session's turns a minute apart.
 * @param saidAt milliseconds of the first turn
 * @param more for every turn, such as a scope
 */
export async function saySession(
  brain: TestStore,
  key: string,
  turns: readonly SaidTurn[],
  saidAt: number = brain.clock.now(),
  more: Partial<RememberInput> = {},
): Promise<RememberResult[]> {
  const source = sessionSource(key);
  return rememberAll(
    brain.store,
    brain.embedder,
    turns.map(({ speaker, text, cites = [] }, index): RememberInput => {
      const at = saidAt + index * 60_000;
      return {
        content: text,
        speaker,
        basis: "told",
        referent: { from: at, to: at },
        legs: cites.length === 0 ? [] : [{ parents: [...cites] }],
        occurrence: { source, recordKey: `${key} ${index} ${at}` },
        ...more,
      };
    }),
    { actor: "extractor" },
  );
}
