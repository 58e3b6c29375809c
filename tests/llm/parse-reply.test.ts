import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Completion, CompletionRequest, LanguageModel } from "../../src/core/ports.ts";
import { DEFAULT_LLM_BUDGET, meterModel } from "../../src/llm/budget.ts";
import { askForValue, parseReply } from "../../src/llm/parse-reply.ts";
import { createTestClock } from "../support/clock.ts";
import { HOSTILE_TEXTS } from "../support/fake-llm.ts";

const schema = z.strictObject({
  thoughts: z.array(z.strictObject({ content: z.string().max(60), kind: z.enum(["fact", "dream"]) })).max(2),
});
const good = { thoughts: [{ content: "The tram leaves at nine.", kind: "fact" }] };
const goodText = JSON.stringify(good);

describe("reading a reply", () => {
  it.each([
    ["bare", goodText],
    ["with white space around it", `\n  ${goodText}\r\n`],
    ["in a fenced block", `\`\`\`json\n${goodText}\n\`\`\``],
    ["in a fenced block without a language", `\`\`\`\n${JSON.stringify(good, null, 2)}\n\`\`\`\n`],
    ["with a fence inside a text", JSON.stringify({ thoughts: [{ content: "```js\n1\n```", kind: "fact" }] })],
  ])("takes JSON %s", (_, reply) => {
    expect(parseReply(reply, schema)).toHaveProperty("value");
  });

  it.each([
    ["nothing", ""],
    ["words before it", `Here you are: ${goodText}`],
    ["words behind it", `${goodText} Anything else?`],
    ["two blocks", `\`\`\`json\n${goodText}\n\`\`\`\n\`\`\`json\n${goodText}\n\`\`\``],
    ["words beside the block", `Sure!\n\`\`\`json\n${goodText}\n\`\`\``],
    ["an open block", `\`\`\`json\n${goodText}`],
    ["half of it", goodText.slice(0, -5)],
    ["two values", `${goodText}\n${goodText}`],
    ["single quotes", goodText.replaceAll('"', "'")],
    ["a comment", `${goodText} // done`],
    ["a block of another language", `\`\`\`sh\n${goodText}\n\`\`\``],
  ])("refuses %s", (_, reply) => {
    expect(parseReply(reply, schema)).toEqual({ rule: "the reply must be one JSON value and nothing else" });
  });

  it("names the rules that were broken, three at most", () => {
    const long = "x".repeat(61);
    const reply = JSON.stringify({
      thoughts: [
        { content: long, kind: "lie" },
        { content: 5, kind: "fact", run: "id" },
      ],
    });
    const parsed = parseReply(reply, schema);
    expect(parsed).toEqual({
      rule: expect.stringContaining("thoughts[0].content: too big: expected string to have <=60 characters"),
    });
    expect("rule" in parsed ? parsed.rule.split("; ") : []).toHaveLength(3);
  });

  it("repeats no word of the reply in a rule", () => {
    const open = z.strictObject({ said: z.record(z.string(), z.number()), kind: z.enum(["fact"]) });
    const parsed = parseReply(JSON.stringify({ said: { palindrome: "x" }, kind: "xylophone", zeppelin: 1 }), open);
    expect(parsed).toEqual({
      rule: 'said.*: invalid input: expected number, received string; kind: invalid input: expected "fact"; the value: has names that the schema does not have',
    });
  });

  it.each(HOSTILE_TEXTS.map((text) => [text]))(
    "refuses hostile words as the reply, and keeps them as data inside: %j",
    (text) => {
      expect(parseReply(text, schema)).toHaveProperty("rule");
      const inside = { thoughts: [{ content: text.slice(0, 60), kind: "fact" }] };
      expect(parseReply(JSON.stringify(inside), schema)).toEqual({ value: inside });
    },
  );

  it("takes exactly what the schema takes, bare or fenced, and throws at nothing", () => {
    const near = fc.record({
      thoughts: fc.array(
        fc.record(
          {
            content: fc.oneof(fc.string({ maxLength: 70 }), fc.integer()),
            kind: fc.constantFrom("fact", "dream", "lie", null),
            extra: fc.string(),
          },
          { requiredKeys: ["content", "kind"] },
        ),
        { maxLength: 3 },
      ),
    });
    let taken = 0;
    fc.assert(
      fc.property(fc.oneof(near, fc.jsonValue()), fc.boolean(), (value, isFenced) => {
        const text = JSON.stringify(value);
        const parsed = parseReply(isFenced ? `\`\`\`json\n${text}\n\`\`\`` : text, schema);
        const fits = schema.safeParse(JSON.parse(text)).success;
        expect("value" in parsed).toBe(fits);
        if ("value" in parsed) expect(JSON.stringify(parsed.value)).toBe(JSON.stringify(JSON.parse(text)));
        taken += fits ? 1 : 0;
      }),
      { numRuns: 500 },
    );
    expect(taken).toBeGreaterThan(20);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(Object.keys(parseReply(text, schema))).toHaveLength(1);
      }),
    );
  });

  it("refuses what would change an object's nature, and nesting without end", () => {
    expect(parseReply('{"thoughts": [], "__proto__": {"polluted": true}}', schema)).toHaveProperty("rule");
    expect(parseReply("[".repeat(200_000), schema)).toHaveProperty("rule");
    expect(parseReply("[".repeat(200_000) + "]".repeat(200_000), schema)).toHaveProperty("rule");
    expect({}).not.toHaveProperty("polluted");
  });
});

/** A model that answers from a list and keeps what it was asked. */
function listModel(...replies: readonly string[]): LanguageModel & { asked: CompletionRequest[] } {
  const asked: CompletionRequest[] = [];
  return {
    name: "list",
    asked,
    complete: async (request): Promise<Completion> => {
      asked.push(request);
      return { text: replies[asked.length - 1] ?? "", promptTokens: 10, completionTokens: 5 };
    },
  };
}

describe("asking for a value", () => {
  const question = { system: "You distil.", prompt: "The turns.", maxTokens: 100, answer: schema };
  const metered = (model: LanguageModel) => meterModel(model, DEFAULT_LLM_BUDGET, createTestClock());

  it("gives the schema to the model and to the server, and takes the first reply that fits", async () => {
    const list = listModel(goodText);
    const model = metered(list);
    expect(await askForValue(model, question)).toEqual({ value: good, repaired: false });
    expect(list.asked).toHaveLength(1);
    expect(list.asked[0]?.schema).toMatchObject({ type: "object", additionalProperties: false });
    expect(list.asked[0]?.system).toContain(JSON.stringify(list.asked[0]?.schema));
    expect(model.usage()).toMatchObject({ calls: 1, invalid: 0 });
  });

  it("asks once more with the rule that was broken, without the refused reply", async () => {
    const list = listModel('{"thoughts": [{"content": "The zeppelin.", "kind": "lie"}]}', goodText);
    const model = metered(list);
    expect(await askForValue(model, question)).toEqual({ value: good, repaired: true });
    expect(list.asked[1]?.prompt).toContain("The turns.");
    expect(list.asked[1]?.prompt).toContain('thoughts[0].kind: invalid option: expected one of "fact"|"dream"');
    expect(list.asked[1]?.prompt).not.toContain("zeppelin");
    expect(model.usage()).toMatchObject({ calls: 2, invalid: 1 });
  });

  it("gives up after the second, with an error without words", async () => {
    const list = listModel("The zeppelin.", "The zeppelin again.", goodText);
    const model = metered(list);
    const error = await askForValue(model, question).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "llm_bad_reply" });
    expect(String(error)).not.toContain("zeppelin");
    expect(list.asked).toHaveLength(2);
    expect(model.usage()).toMatchObject({ calls: 2, invalid: 2, failed: 0 });
  });

  it("has the repair paid from the budget", async () => {
    const model = meterModel(listModel("no", goodText), { ...DEFAULT_LLM_BUDGET, calls: 1 }, createTestClock());
    await expect(askForValue(model, question)).rejects.toMatchObject({ code: "llm_budget" });
    expect(model.usage()).toMatchObject({ calls: 1, invalid: 1 });
  });
});
