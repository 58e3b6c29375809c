import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { DormouseError } from "../../src/core/errors.ts";
import type { CompletionRequest } from "../../src/core/ports.ts";
import {
  createHttpModel,
  describeBadEndpoint,
  type HttpModelOptions,
  type HttpModelSeams,
} from "../../src/llm/http.ts";
import { languageModelConformance } from "../conformance/language-model.ts";
import { createTestClock } from "../support/clock.ts";
import { type FakeLlm, type FakeLlmOptions, type FakeScript, startFakeLlm } from "../support/fake-llm.ts";

/** Nothing listens there. */
const NOBODY = "http://127.0.0.1:9/v1";

languageModelConformance("a model behind HTTP", async (behaviour, timeoutSeconds) => {
  const scripts: Record<typeof behaviour.kind, FakeScript> = {
    answer: [{ reply: behaviour.kind === "answer" ? behaviour.text : "" }],
    echo: ({ system, prompt }) => ({ reply: `${system}\n${prompt}` }),
    silent: [{ silence: true }],
    trickle: [{ trickle: "a".repeat(2_000), bytes: 1, everyMs: 20 }],
    huge: [{ hugeBytes: 50_000_000 }],
    fail: ({ system, prompt }) => ({ status: 400, message: `cannot do ${system} ${prompt}` }),
    absent: [],
    noText: [{ raw: '{"choices": [{"message": {"content": null}}]}' }],
  };
  const fake = await startFakeLlm(scripts[behaviour.kind]);
  const url = behaviour.kind === "absent" ? NOBODY : fake.url;
  const model = createHttpModel({ url, model: "fake", timeoutSeconds, maxRetries: 0 });
  return { model, close: fake.close };
});

const fakes: FakeLlm[] = [];
afterEach(async () => {
  await Promise.all(fakes.splice(0).map((fake) => fake.close()));
});

async function start(script: FakeScript, options: FakeLlmOptions & Partial<HttpModelOptions> = {}) {
  const fake = await startFakeLlm(script, options);
  fakes.push(fake);
  const clock = createTestClock();
  const waits: number[] = [];
  const seams: HttpModelSeams = {
    clock,
    random: () => 1,
    wait: async (ms) => {
      waits.push(ms);
    },
  };
  const { formats: _, refusedParameters: __, ...given } = options;
  const model = createHttpModel({ url: fake.url, model: "fake", timeoutSeconds: 20, maxRetries: 3, ...given }, seams);
  return { fake, model, clock, waits };
}

const request: CompletionRequest = {
  system: "Answer in JSON.",
  prompt: "When does the tram leave?",
  schema: { type: "object", properties: { at: { type: "string" } }, required: ["at"], additionalProperties: false },
  maxTokens: 50,
};

describe("a request over HTTP", () => {
  it("speaks the protocol: model, messages, limits, the schema, no tools", async () => {
    const { fake, model } = await start([{ reply: { at: "nine" } }], { apiKey: "s3cret" });
    expect(await model.complete(request)).toEqual({ text: '{"at":"nine"}', promptTokens: 8, completionTokens: 1 });
    expect(fake.requests[0]?.headers.authorization).toBe("Bearer s3cret");
    expect(fake.requests[0]?.body).toEqual({
      model: "fake",
      messages: [
        { role: "system", content: request.system },
        { role: "user", content: request.prompt },
      ],
      stream: false,
      max_tokens: 50,
      temperature: 0,
      response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema: request.schema } },
    });
  });

  it("sends no key when there is none, and finds the path whatever the address ends in", async () => {
    for (const tail of ["", "/", "/chat/completions", "?api-version=1"]) {
      const fake = await startFakeLlm([{ reply: "ok" }]);
      fakes.push(fake);
      const model = createHttpModel({ url: `${fake.url}${tail}`, model: "m", timeoutSeconds: 20, maxRetries: 0 });
      await model.complete(request);
      expect(fake.requests[0]?.headers.authorization).toBeUndefined();
      expect(fake.requests[0]?.url).toBe(`/v1/chat/completions${tail.startsWith("?") ? tail : ""}`);
    }
  });

  it("takes an answer in parts, and does without counts or with senseless ones", async () => {
    const parts = {
      choices: [
        {
          message: {
            content: [
              { type: "text", text: '{"at":' },
              { type: "text", text: '"nine"}' },
            ],
          },
        },
      ],
    };
    const { model } = await start([
      { raw: JSON.stringify(parts) },
      { reply: "ok", usage: null },
      {
        raw: '{"choices": [{"message": {"content": "ok"}}], "usage": {"prompt_tokens": -4, "completion_tokens": "many"}}',
      },
    ]);
    expect(await model.complete(request)).toEqual({
      text: '{"at":"nine"}',
      promptTokens: null,
      completionTokens: null,
    });
    expect(await model.complete(request)).toEqual({ text: "ok", promptTokens: null, completionTokens: null });
    expect(await model.complete(request)).toEqual({ text: "ok", promptTokens: null, completionTokens: null });
  });

  it("waits for a slow answer within its time", async () => {
    const { model } = await start([{ reply: "late", afterMs: 300 }]);
    expect(await model.complete(request)).toMatchObject({ text: "late" });
  });
});

describe("a server that cannot do everything", () => {
  it.each([
    ["json_schema and json_object", ["json_object", "none"], ["json_schema", "json_object", "json_object"]],
    ["any format", ["none"], ["json_schema", "json_object", "none", "none"]],
  ] as const)("is asked without %s from then on", async (_, formats, asked) => {
    const { fake, model, waits } = await start([{ reply: "one" }, { reply: "two" }], { formats });
    expect(await model.complete(request)).toMatchObject({ text: "one" });
    expect(await model.complete(request)).toMatchObject({ text: "two" });
    expect(fake.requests.map(({ format }) => format)).toEqual(asked);
    expect(waits).toEqual([]);
  });

  it("is asked by the other name of the limit, and without a temperature", async () => {
    const { fake, model } = await start([{ reply: "ok" }], { refusedParameters: ["max_tokens", "temperature"] });
    await model.complete(request);
    await model.complete(request);
    expect(fake.requests).toHaveLength(4);
    for (const { body } of fake.requests.slice(2)) {
      expect(body).toMatchObject({ max_completion_tokens: 50, response_format: { type: "json_schema" } });
      expect(body).not.toHaveProperty("max_tokens");
      expect(body).not.toHaveProperty("temperature");
    }
  });

  it("is not asked for ever when it refuses everything", async () => {
    const { fake, model } = await start([
      { status: 400, message: "response_format, temperature, max_tokens (use max_completion_tokens): all bad" },
    ]);
    await expect(model.complete(request)).rejects.toMatchObject({ code: "llm_refused" });
    expect(fake.requests).toHaveLength(5);
  });
});

describe("a server that fails", () => {
  it.each([
    ["429 and then an answer", [{ status: 429 }, { reply: "ok" }], [500]],
    [
      "500s and then an answer",
      [{ status: 500 }, { status: 503 }, { status: 529 }, { reply: "ok" }],
      [500, 1_000, 2_000],
    ],
    ["408 and then an answer", [{ status: 408 }, { reply: "ok" }], [500]],
    ["a lost connection and then an answer", [{ hangUp: true }, { reply: "ok" }], [500]],
    ["half an answer and then a whole one", [{ cutOff: "something long" }, { reply: "ok" }], [500]],
    ["a pause asked for", [{ status: 429, headers: { "retry-after": "7" } }, { reply: "ok" }], [7_000]],
    [
      "a pause asked for by date",
      [{ status: 503, headers: { "retry-after": "Sun, 01 Mar 2026 12:00:20 GMT" } }, { reply: "ok" }],
      [20_000],
    ],
  ] satisfies [string, FakeScript, number[]][])("is tried again after %s", async (_, script, expected) => {
    const { model, waits } = await start(script);
    expect(await model.complete(request)).toMatchObject({ text: "ok" });
    expect(waits).toEqual(expected);
  });

  it("is given up after the tries that are allowed", async () => {
    const { fake, model, waits } = await start([{ status: 500 }], { maxRetries: 2 });
    await expect(model.complete(request)).rejects.toMatchObject({ code: "llm_unreachable" });
    expect([fake.requests.length, waits.length]).toEqual([3, 2]);
  });

  it("is left alone when it wants more than a minute's pause", async () => {
    const { fake, model } = await start([{ status: 429, headers: { "retry-after": "3600" } }, { reply: "ok" }]);
    await expect(model.complete(request)).rejects.toMatchObject({ code: "llm_refused" });
    expect(fake.requests).toHaveLength(1);
  });

  it.each([
    [400, "invalid_request_error", /OpenAI protocol/],
    [401, "invalid_api_key", /key/],
    [403, "forbidden", /key/],
    [404, "model_not_found", /model's name/],
    [413, "too_large", /too long/],
    [400, "context_length_exceeded", /too long/],
    [429, "insufficient_quota", /credit/],
  ])("is not tried again after %i %s, and the hint says what to look at", async (status, code, hint) => {
    const { fake, model } = await start([{ status, code, message: "no" }, { reply: "ok" }]);
    await expect(model.complete(request)).rejects.toMatchObject({
      code: "llm_refused",
      hint: expect.stringMatching(hint),
    });
    expect(fake.requests).toHaveLength(1);
  });

  it("leaves half of what chance may shorten", async () => {
    const fake = await startFakeLlm([{ status: 500 }, { status: 500 }, { reply: "ok" }]);
    fakes.push(fake);
    const waits: number[] = [];
    const model = createHttpModel(
      { url: fake.url, model: "fake", timeoutSeconds: 20, maxRetries: 9 },
      { random: () => 0, wait: async (ms) => void waits.push(ms) },
    );
    await model.complete(request);
    expect(waits).toEqual([250, 500]);
  });

  it("can be left while its pause is waited for", async () => {
    const fake = await startFakeLlm([{ status: 429, headers: { "retry-after": "50" } }]);
    fakes.push(fake);
    const model = createHttpModel({ url: fake.url, model: "fake", timeoutSeconds: 20, maxRetries: 3 });
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 200);
    await expect(model.complete({ ...request, signal: controller.signal })).rejects.toThrow("enough");
  });
});

describe("a reply that cannot be taken", () => {
  it.each([
    ["no JSON", { raw: "<html>It works!</html>" }, "llm_bad_reply"],
    ["half a JSON", { cutOff: "something", politely: true }, "llm_bad_reply"],
    ["no choices", { raw: '{"object": "list"}' }, "llm_bad_reply"],
    ["null", { raw: "null" }, "llm_bad_reply"],
    ["choices that are none", { raw: '{"choices": {"0": {"message": {"content": "x"}}}}' }, "llm_bad_reply"],
    ["bytes that are no text", { raw: new Uint8Array([0x7b, 0xff, 0xfe]) }, "llm_bad_reply"],
    ["an answer cut at the limit", { reply: "so lo", finishReason: "length" }, "llm_bad_reply"],
    ["a filtered answer", { reply: "x", finishReason: "content_filter" }, "llm_refused"],
    ["a refusal", { raw: '{"choices": [{"message": {"content": null, "refusal": "I will not."}}]}' }, "llm_refused"],
    ["an error under status 200", { raw: '{"error": {"message": "upstream"}}' }, "llm_refused"],
    [
      "a call of a tool",
      { raw: '{"choices": [{"message": {"content": null, "tool_calls": [{"function": {"name": "shell"}}]}}]}' },
      "llm_bad_reply",
    ],
  ] as const)("is refused at once when it is %s", async (_, step, code) => {
    const { fake, model } = await start([step, { reply: "ok" }]);
    await expect(model.complete(request)).rejects.toMatchObject({ code });
    expect(fake.requests).toHaveLength(1);
  });

  it("fails in our words whatever JSON or bytes come", async () => {
    let body: string | Uint8Array = "";
    const { model } = await start(() => ({ raw: body }));
    const bodies = fc.oneof(
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc
        .record({ message: fc.jsonValue(), finish_reason: fc.jsonValue() }, { requiredKeys: [] })
        .map((choice) => JSON.stringify({ choices: [choice], usage: choice.message })),
      fc.jsonValue().map((content) => JSON.stringify({ choices: [{ message: { content } }] })),
      fc.uint8Array({ maxLength: 60 }),
    );
    await fc.assert(
      fc.asyncProperty(bodies, async (sent) => {
        body = sent;
        const outcome = await model.complete(request).catch((error: unknown) => error);
        if (outcome instanceof DormouseError) expect(outcome.code).toMatch(/^llm_(?:bad_reply|refused)$/);
        else expect(outcome).toMatchObject({ text: expect.stringMatching(/\S/) });
      }),
      { numRuns: 150 },
    );
  });

  it("is not followed to another address", async () => {
    const other = await start([{ reply: "stolen" }]);
    const { model } = await start([{ redirectTo: `${other.fake.url}/chat/completions` }]);
    await expect(model.complete(request)).rejects.toMatchObject({ code: "llm_refused", message: /redirects/ });
    expect(other.fake.requests).toEqual([]);
  });
});

describe("an endpoint's address", () => {
  it.each([
    ["http://localhost:11434/v1"],
    ["http://127.0.0.1:8080"],
    ["http://127.1:8080/v1"],
    ["http://[::1]:1234/v1"],
    ["https://models.example.org/v1"],
  ])("may be %s", (address) => {
    expect(describeBadEndpoint(address, false)).toBeNull();
  });

  it.each([
    ["not one", /no URL/],
    ["file:///etc/passwd", /http/],
    ["http://models.example.org/v1", /unencrypted/],
    ["http://127.0.0.1.example.org/v1", /unencrypted/],
    ["http://localhost.example.org/v1", /unencrypted/],
    ["http://192.168.1.5:11434/v1", /unencrypted/],
    ["https://me:word@models.example.org/v1", /secret/],
    ["https://models.example.org/v1?api_key=abc", /secret/],
  ])("may not be %s", (address, complaint) => {
    expect(describeBadEndpoint(address, false)).toMatch(complaint);
    expect(() => createHttpModel({ url: address, model: "m", timeoutSeconds: 1, maxRetries: 0 })).toThrow(complaint);
  });

  it("may be plain HTTP to another machine when that is allowed, with no secret all the same", () => {
    expect(describeBadEndpoint("http://192.168.1.5:11434/v1", true)).toBeNull();
    expect(describeBadEndpoint("http://me:word@192.168.1.5/v1", true)).toMatch(/secret/);
  });
});
