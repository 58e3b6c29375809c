import { describe, expect, it } from "vitest";
import { MS_PER_MINUTE } from "../../src/core/clock.ts";
import { DormouseError } from "../../src/core/errors.ts";
import type { Completion, CompletionRequest, LanguageModel } from "../../src/core/ports.ts";
import { estimateRequestTokens, estimateTokens, type LlmBudget, meterModel } from "../../src/llm/budget.ts";
import { createTestClock } from "../support/clock.ts";

const limits: LlmBudget = { calls: 3, tokens: 1_000, minutes: 5 };
const request: CompletionRequest = { system: "s", prompt: "p", schema: {}, maxTokens: 100 };
const answer: Completion = { text: "{}", promptTokens: 30, completionTokens: 20 };

const modelOf = (complete: LanguageModel["complete"]): LanguageModel => ({ name: "test", complete });

describe("a metered model", () => {
  it("lets as many calls through as the night has, and counts what they used", async () => {
    const model = meterModel(
      modelOf(async () => answer),
      limits,
      createTestClock(),
    );
    for (let call = 0; call < 3; call++) expect(await model.complete(request)).toEqual(answer);
    expect(model.hasRoomFor(1)).toBe(false);
    await expect(model.complete(request)).rejects.toMatchObject({
      code: "llm_budget",
      message: expect.stringContaining("calls"),
      hint: expect.stringContaining("llmBudget.calls"),
    });
    expect(model.usage()).toEqual({
      calls: 3,
      failed: 0,
      invalid: 0,
      promptTokens: 90,
      completionTokens: 60,
      estimatedTokens: 0,
      minutes: 0,
    });
  });

  it("refuses the request whose longest answer would not fit any more, and takes a smaller one", async () => {
    const model = meterModel(
      modelOf(async () => ({ ...answer, promptTokens: 800 })),
      limits,
      createTestClock(),
    );
    await model.complete(request);
    expect(model.hasRoomFor(180)).toBe(true);
    await expect(model.complete({ ...request, maxTokens: 200 })).rejects.toMatchObject({
      code: "llm_budget",
      message: expect.stringContaining("tokens"),
    });
    expect(await model.complete({ ...request, maxTokens: 100 })).toMatchObject({ text: "{}" });
    expect(model.usage()).toMatchObject({ calls: 2, failed: 0 });
  });

  it("keeps requests side by side within the limits together", async () => {
    let release = (_: Completion): void => {};
    const model = meterModel(
      modelOf(() => new Promise((resolve) => (release = resolve))),
      limits,
      createTestClock(),
    );
    const first = model.complete({ ...request, maxTokens: 600 });
    await expect(model.complete({ ...request, maxTokens: 600 })).rejects.toMatchObject({ code: "llm_budget" });
    release(answer);
    await first;
    expect(model.hasRoomFor(900)).toBe(true);
  });

  it("estimates what the server did not count, rather too much", async () => {
    const text = "Antwort: Größe, 你好世界.";
    const model = meterModel(
      modelOf(async () => ({ text, promptTokens: null, completionTokens: null })),
      limits,
      createTestClock(),
    );
    await model.complete(request);
    const { promptTokens, completionTokens, estimatedTokens } = model.usage();
    expect(completionTokens).toBe(estimateTokens(text));
    expect(promptTokens).toBe(estimateRequestTokens({ ...request, maxTokens: 0 }));
    expect(estimatedTokens).toBe(promptTokens + completionTokens);
    expect(estimateTokens("")).toBe(0);
    expect(estimateTokens("one two three four five six seven")).toBeGreaterThanOrEqual(7);
  });

  it("adds up the minutes of waiting and stops when they are over", async () => {
    const clock = createTestClock();
    const model = meterModel(
      modelOf(async () => {
        clock.advance(3 * MS_PER_MINUTE);
        return answer;
      }),
      limits,
      clock,
    );
    await model.complete(request);
    clock.advance(60 * MS_PER_MINUTE);
    await model.complete(request);
    expect(model.usage().minutes).toBe(6);
    await expect(model.complete(request)).rejects.toMatchObject({
      code: "llm_budget",
      message: expect.stringContaining("minutes"),
    });
  });

  it("ends a request that runs past the last minute", async () => {
    const model = meterModel(
      modelOf(
        ({ signal }) =>
          new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true })),
      ),
      { ...limits, minutes: 0.0005 },
      createTestClock(),
    );
    await expect(model.complete(request)).rejects.toMatchObject({ code: "llm_budget" });
    expect(model.usage()).toMatchObject({ calls: 1, failed: 1 });
  });

  it("hands the caller's abort on, and does not begin when it came before", async () => {
    const model = meterModel(
      modelOf(
        ({ signal }) =>
          new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true })),
      ),
      limits,
      createTestClock(),
    );
    const controller = new AbortController();
    const running = model.complete({ ...request, signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    await expect(model.complete({ ...request, signal: controller.signal })).rejects.toThrow("enough");
    expect(model.usage().calls).toBe(1);
  });

  it("counts a failed call, and its prompt when the model may have read it", async () => {
    const fail = (code: "llm_unreachable" | "llm_timeout") =>
      meterModel(
        modelOf(async () => {
          throw new DormouseError(code, "no");
        }),
        limits,
        createTestClock(),
      );
    const unreachable = fail("llm_unreachable");
    await expect(unreachable.complete(request)).rejects.toMatchObject({ code: "llm_unreachable" });
    expect(unreachable.usage()).toMatchObject({ calls: 1, failed: 1, promptTokens: 0 });
    const late = fail("llm_timeout");
    await expect(late.complete(request)).rejects.toMatchObject({ code: "llm_timeout" });
    expect(late.usage()).toMatchObject({ calls: 1, failed: 1, promptTokens: estimateTokens("s") * 2 + 16 });
  });
});
