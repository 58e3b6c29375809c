import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXTRACT_WORDS, explainError, isFileSkip, isUnreadFormat } from "../../src/cli/extract-words.ts";
import { packagePath } from "../../src/core/package-path.ts";

/** Ways in which the readers name a reason or a rule. */
const NAMED = [
  /\b(?:skip|fail|fault|onFault|RecordFault)\((?:[^()";]|\([^()]*\))*"([a-z_]+)"/g,
  /\b(?:reason|rule|refused|fault): "([a-z_]+)"/g,
  /^ {2}\["[a-z-]+", "([a-z_]+)"\],$/gm,
];

function wordsOfReaders(): Set<string> {
  const folder = packagePath("src/extract");
  const source = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
  const words = source.flatMap((text) =>
    NAMED.flatMap((pattern) => [...text.matchAll(pattern)].map(([, word]) => word)),
  );
  return new Set(words.filter((word) => word !== undefined));
}

describe("the words of an extraction", () => {
  const { files, records, errors } = EXTRACT_WORDS;

  it("explains every reason and rule that the readers name", () => {
    // Reasons of events, which no report shows, and a field of front matter.
    const others = new Set(["replaced", "source_gone", "datetime"]);
    const words = [...wordsOfReaders()].filter((word) => !others.has(word));
    expect(words).toEqual(
      expect.arrayContaining(["tool_result", "system_reminder", "no_content", "unchanged", "codex"]),
    );
    expect(
      words.filter((word) => !(word in files || word in records || word in errors || isUnreadFormat(word))),
    ).toEqual([]);
  });

  it("stands in the order of the alphabet, half a sentence each", () => {
    for (const group of [files, records, errors]) {
      expect(Object.keys(group)).toEqual(Object.keys(group).sort());
      for (const meaning of Object.values(group)) expect(meaning).toMatch(/^[^.]{5,80}$/);
    }
  });

  it("is in the reference as a whole", () => {
    const reference = readFileSync(packagePath("src/cli/REFERENCE.md"), "utf8");
    for (const group of [files, records, errors]) {
      for (const [word, meaning] of Object.entries(group)) expect(reference).toContain(`- \`${word}\`: ${meaning}\n`);
    }
  });

  it("tells files from records, and leaves an unknown word without a meaning", () => {
    expect(["binary", "codex", "template"].map(isFileSkip)).toEqual([true, true, true]);
    expect(["unchanged", "tool_result", "known"].map(isFileSkip)).toEqual([false, false, false]);
    expect(explainError("no_content")).toBe("a record without content");
    expect(explainError("chatgpt")).toContain("no reader");
    expect(explainError("never_heard_of")).toBeNull();
  });
});
