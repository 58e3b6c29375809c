/** Sleep over real conversations. Runs only where the shared evaluation data is: set DORMOUSE_SHARED to its folder. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { MS_PER_DAY } from "../../src/core/clock.ts";
import type { RememberInput } from "../../src/core/types.ts";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import { rememberAll } from "../../src/remember/remember.ts";
import { runSleep } from "../../src/sleep/cycle.ts";
import { createTestStore } from "../support/brain.ts";
import { readSleepState } from "../support/sleep-state.ts";

const shared = process.env.DORMOUSE_SHARED ?? "";

interface Conversation {
  readonly conversation: Readonly<Record<string, unknown>>;
}

interface Turn {
  readonly speaker: string;
  readonly text: string;
  readonly dia_id: string;
}

function readTurns(): RememberInput[] {
  const file = join(shared, "data/locomo/locomo-dev5.json");
  const conversations = JSON.parse(readFileSync(file, "utf8")) as Conversation[];
  return conversations.flatMap(({ conversation }, index) =>
    Object.keys(conversation)
      .filter((name) => /^session_\d+$/.test(name))
      .flatMap((name) =>
        (conversation[name] as Turn[]).map(({ speaker, text, dia_id }) => ({
          content: text,
          speaker,
          occurrence: {
            source: { type: "session" as const, key: `${index} ${name}`, name, trust: "trusted" as const },
            recordKey: `${index} ${dia_id}`,
          },
        })),
      ),
  );
}

describe.skipIf(!process.env.DORMOUSE_SHARED)("LoCoMo", () => {
  test("28 nights: nothing goes before its age, what is linked stays, and few and true copies are merged", async () => {
    const brain = createTestStore();
    const embedder = createBuiltinEmbedder();
    const turns = readTurns().filter(({ content }) => content.trim() !== "");
    for (let start = 0; start < turns.length; start += 500) {
      await rememberAll(brain.store, embedder, turns.slice(start, start + 500), { actor: "extractor" });
    }
    for (let night = 0; night < 28; night++) {
      const report = await runSleep(brain.store, embedder);
      const decayed = report.phases.find(({ name }) => name === "decay")?.applied ?? 0;
      if (night < 14) expect(decayed).toBe(0);
      brain.clock.advance(MS_PER_DAY);
    }
    const { decays, links, merges } = readSleepState(brain.store);
    const gone = new Set(decays.map((line) => line.split(" ")[0]));
    const held = links.flatMap((line) => line.split(" ").slice(1, 3));
    expect(held.filter((id) => gone.has(id))).toEqual([]);
    expect(decays.length).toBeGreaterThan(0);
    expect(merges.length).toBeLessThanOrEqual(turns.length / 100);
    brain.close();
  }, 600_000);
});
