/**
 * What every LanguageModel must do, whichever server or program stands behind it. An adapter's test calls this once
 * with a way to have its other end behave; whatever is special about the adapter is tested beside the call.
 */
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { DormouseError } from "../../src/core/errors.ts";
import type { CompletionRequest, LanguageModel } from "../../src/core/ports.ts";
import { HOSTILE_TEXTS } from "../support/fake-llm.ts";

/** How the other end of an adapter behaves. */
export type Behaviour =
  | { readonly kind: "answer"; readonly text: string }
  /** Answers with the system text and the prompt that reached it. */
  | { readonly kind: "echo" }
  | { readonly kind: "silent" | "trickle" | "huge" | "fail" | "absent" | "noText" };

export interface ModelUnderTest {
  readonly model: LanguageModel;
  close(): Promise<void>;
}

/**
 * Registers the suite as vitest tests.
 * @param make a model with this other end, which gives up after `timeoutSeconds` and does not try again
 */
export function languageModelConformance(
  name: string,
  make: (behaviour: Behaviour, timeoutSeconds: number) => Promise<ModelUnderTest>,
): void {
  describe(`${name} as a LanguageModel`, () => {
    const open: ModelUnderTest[] = [];
    const modelWith = async (behaviour: Behaviour, timeoutSeconds = 30): Promise<LanguageModel> => {
      const made = await make(behaviour, timeoutSeconds);
      open.push(made);
      return made.model;
    };
    afterEach(async () => {
      await Promise.all(open.splice(0).map((made) => made.close()));
    });

    const request: CompletionRequest = {
      system: "You distil the quokka.",
      prompt: "The turns of the wombat.",
      schema: { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] },
      maxTokens: 200,
    };
    const failureOf = async (model: LanguageModel, asked: CompletionRequest = request): Promise<DormouseError> => {
      const error = await model.complete(asked).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!(error instanceof DormouseError)) throw new Error(`no failure of ours: ${String(error)}`);
      return error;
    };

    it("has a name", async () => {
      expect((await modelWith({ kind: "silent" })).name).not.toBe("");
    });

    it("gives the answer as text, and counts that are whole numbers or unknown", async () => {
      const model = await modelWith({ kind: "answer", text: '{"answer": "nine"}' });
      const { text, promptTokens, completionTokens } = await model.complete(request);
      expect(text).toBe('{"answer": "nine"}');
      for (const count of [promptTokens, completionTokens])
        expect(count === null || Number.isSafeInteger(count)).toBe(true);
    });

    it("answers again and again, and side by side", async () => {
      const model = await modelWith({ kind: "echo" });
      const prompts = ["one", "two", "three"];
      const answers = await Promise.all(prompts.map((prompt) => model.complete({ ...request, prompt })));
      for (const [at, prompt] of prompts.entries()) expect(answers[at]?.text).toContain(prompt);
      expect((await model.complete({ ...request, prompt: "four" })).text).toContain("four");
    });

    it("hands the system text and the prompt over as they are, whatever is in them", async () => {
      const model = await modelWith({ kind: "echo" });
      for (const prompt of [...HOSTILE_TEXTS, "Größe 你好 😍", "x".repeat(300_000)]) {
        const { text } = await model.complete({ ...request, prompt });
        expect(text).toContain(request.system);
        expect(text).toContain(prompt.trim());
      }
    });

    it.each(HOSTILE_TEXTS.map((text) => [text]))("gives a hostile answer as data: %j", async (text) => {
      const hostile = `answer: ${text.replaceAll("\0", "")}`;
      const model = await modelWith({ kind: "answer", text: hostile });
      expect((await model.complete(request)).text).toBe(hostile.trim());
    });

    it("leaves the reasoning out that some models put before their answer", async () => {
      const model = await modelWith({ kind: "answer", text: '<think>\nThe tram…\n</think>\n\n{"answer": "<think>"}' });
      expect((await model.complete(request)).text).toBe('{"answer": "<think>"}');
    });

    it.each([
      ["silent", "llm_timeout"],
      ["trickle", "llm_timeout"],
      ["huge", "llm_bad_reply"],
      ["noText", "llm_bad_reply"],
      ["absent", "llm_unreachable"],
    ] as const)("fails when its other end is %s with %s", async (kind, code) => {
      const model = await modelWith({ kind }, kind === "silent" || kind === "trickle" ? 1 : 30);
      expect((await failureOf(model)).code).toBe(code);
    });

    it.each(["empty", "reasoning alone"])("refuses an answer that is %s", async (what) => {
      const model = await modelWith({ kind: "answer", text: what === "empty" ? " \n " : "<think>Hm.</think>" });
      expect((await failureOf(model)).code).toBe("llm_bad_reply");
    });

    it.each(["silent", "trickle", "huge", "fail", "absent", "noText"] as const)(
      "quotes neither prompt nor reply when its other end is %s",
      async (kind) => {
        const { message, hint, cause } = await failureOf(await modelWith({ kind }, kind === "silent" ? 1 : 2));
        const told = `${message} ${hint} ${cause instanceof Error ? cause.message : String(cause)}`;
        expect(told).not.toMatch(/quokka|wombat|aaaa/);
      },
    );

    it("ends at once when the caller aborts, with the caller's reason", async () => {
      const model = await modelWith({ kind: "silent" });
      const controller = new AbortController();
      const running = model.complete({ ...request, signal: controller.signal });
      setTimeout(() => controller.abort(new Error("the night is over")), 200);
      await expect(running).rejects.toThrow("the night is over");
      await expect(model.complete({ ...request, signal: controller.signal })).rejects.toThrow("the night is over");
    });

    it("leaves no listener behind on the caller's signal or on this process", async () => {
      const model = await modelWith({ kind: "answer", text: "ok" });
      const { signal } = new AbortController();
      let listeners = 0;
      const counted = new Proxy(signal, {
        get: (target, key) => {
          if (key === "addEventListener") listeners += 1;
          if (key === "removeEventListener") listeners -= 1;
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      const before = ["SIGTERM", "SIGINT", "exit"].map((event) => process.listenerCount(event));
      for (let call = 0; call < 3; call++) await model.complete({ ...request, signal: counted });
      expect(listeners).toBe(0);
      expect(["SIGTERM", "SIGINT", "exit"].map((event) => process.listenerCount(event))).toEqual(before);
    });

    it("carries any text to the other end and back", async () => {
      const model = await modelWith({ kind: "echo" });
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1, maxLength: 200 }), async (words) => {
          const { text } = await model.complete({ ...request, prompt: `<${words}>` });
          expect(text).toContain(`<${words}>`);
        }),
        { numRuns: 15 },
      );
    });
  });
}
