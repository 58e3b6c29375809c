/**
 * A language model behind an OpenAI-compatible endpoint, on this machine or elsewhere: one request for one answer,
 * bounded in time and size, tried again when the server was busy. Refuses redirects, and plain HTTP to other machines
 * unless told otherwise. No tools are offered, and no failure quotes a prompt or a reply.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, systemClock } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import type { Completion, CompletionRequest, LanguageModel } from "../core/ports.ts";
import { answerOf, badReply, decodeReply, MAX_REPLY_BYTES, tooLongReply } from "./reply-text.ts";

const PATH = "/chat/completions";
/** Bytes of an error's body that are looked at. */
const MAX_ERROR_BYTES = 16 * 1024;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
/** A server that wants a longer pause than this is left alone. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** Statuses that another try may change, besides those from 500 on. */
const PASSING_STATUSES = new Set([408, 429]);
/** Statuses by which servers refuse a parameter. */
const PARAMETER_STATUSES = new Set([400, 422]);
/** What servers say about a format that they cannot force. */
const FORMAT_COMPLAINT = /response[_ ]?format|json[_ ]?schema|json[_ ]?object|json mode|structured output|grammar/i;
/** Names of query parameters that carry secrets, which belong in the environment. */
const SECRET_PARAMETER = /key|token|secret|sig/i;
/** Failures of the client itself when a server is silent for five minutes. */
const CLIENT_TIMEOUTS = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/** Formats from the strictest to none. */
const FORMATS = ["json_schema", "json_object", "none"] as const;
type AnswerFormat = (typeof FORMATS)[number];

export interface HttpModelOptions {
  /** Base address such as `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  readonly model: string;
  readonly apiKey?: string;
  /** Of one try, from the connection to the last byte. */
  readonly timeoutSeconds: number;
  /** Tries after the first one. */
  readonly maxRetries: number;
  /** Allows plain HTTP to another machine. */
  readonly insecure?: boolean;
}

/** What tests put in the place of time and chance. */
export interface HttpModelSeams {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

const SYSTEM_SEAMS: HttpModelSeams = {
  clock: systemClock,
  random: Math.random,
  wait: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch {
      signal?.throwIfAborted();
    }
  },
};

/** What is wrong with an endpoint's address; null: nothing. */
export function describeBadEndpoint(address: string, insecure: boolean): string | null {
  if (!URL.canParse(address)) return "the address is no URL";
  const url = new URL(address);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "the address must begin with http:// or https://";
  if (url.username !== "" || url.password !== "" || [...url.searchParams.keys()].some(isSecretName)) {
    return "the address holds a secret; name an environment variable for the key instead";
  }
  if (url.protocol === "http:" && !insecure && !isLoopback(url.hostname)) {
    return "plain http:// to another machine would send memories unencrypted; use https://, or allow it with insecure";
  }
  return null;
}

function isSecretName(name: string): boolean {
  return SECRET_PARAMETER.test(name);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d+){3}$/.test(host);
}

/**
 * A model behind an endpoint. What the server cannot do (a forced schema, a parameter) is remembered by the object.
 * @throws DormouseError `invalid` for an address that may not be used
 */
export function createHttpModel(options: HttpModelOptions, seams: Partial<HttpModelSeams> = {}): LanguageModel {
  const complaint = describeBadEndpoint(options.url, options.insecure === true);
  if (complaint !== null) throw new DormouseError("invalid", complaint);
  return new HttpModel(options, { ...SYSTEM_SEAMS, ...seams });
}

/** One try: an answer, another one at once in a simpler form, or a failure that another try may change or not. */
type Outcome =
  | { readonly completion: Completion }
  | { readonly isSimpler: true }
  | { readonly failure: DormouseError; readonly isPassing: boolean; readonly retryAfterMs?: number };

class HttpModel implements LanguageModel {
  readonly name: string;
  readonly #options: HttpModelOptions;
  readonly #seams: HttpModelSeams;
  readonly #url: URL;
  #format: AnswerFormat = "json_schema";
  #limitName: "max_tokens" | "max_completion_tokens" = "max_tokens";
  #hasTemperature = true;

  constructor(options: HttpModelOptions, seams: HttpModelSeams) {
    this.name = options.model;
    this.#options = options;
    this.#seams = seams;
    this.#url = new URL(options.url);
    const path = this.#url.pathname.replace(/\/+$/, "");
    this.#url.pathname = path.endsWith(PATH) ? path : `${path}${PATH}`;
  }

  async complete(request: CompletionRequest): Promise<Completion> {
    for (let tries = 0; ; ) {
      request.signal?.throwIfAborted();
      const outcome = await this.#try(request);
      if ("completion" in outcome) return outcome.completion;
      if ("isSimpler" in outcome) continue;
      const wait = outcome.retryAfterMs ?? this.#backOff(tries);
      if (!outcome.isPassing || tries >= this.#options.maxRetries || wait > LONGEST_RETRY_AFTER_MS) {
        throw outcome.failure;
      }
      tries += 1;
      await this.#seams.wait(wait, request.signal);
    }
  }

  /** Doubles with each try; half of it is left to chance, so that many clients do not come back together. */
  #backOff(tries: number): number {
    return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries) * (0.5 + this.#seams.random() / 2);
  }

  async #try(request: CompletionRequest): Promise<Outcome> {
    const { timeoutSeconds } = this.#options;
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(timeoutError(timeoutSeconds)), timeoutSeconds * 1_000);
    const forward = () => controller.abort(request.signal?.reason);
    request.signal?.addEventListener("abort", forward, { once: true });
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: this.#headers(),
        body: JSON.stringify(this.#body(request)),
        redirect: "manual",
        signal: controller.signal,
      });
      if (response.ok) return { completion: await readCompletion(response) };
      return await this.#refusal(response);
    } catch (error) {
      // A reply that was cut short by the timeout or the caller fails in many ways; the reason is theirs.
      if (controller.signal.aborted) throw controller.signal.reason;
      if (error instanceof DormouseError) throw error;
      const code = causeOf(error);
      if (CLIENT_TIMEOUTS.has(code)) throw timeoutError(timeoutSeconds);
      return { failure: unreachable(this.#url, code), isPassing: true };
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", forward);
    }
  }

  #headers(): Record<string, string> {
    const { apiKey } = this.#options;
    return {
      "content-type": "application/json",
      accept: "application/json",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    };
  }

  #body({ system, prompt, schema, maxTokens }: CompletionRequest): Record<string, unknown> {
    return {
      model: this.#options.model,
      messages: [
        { role: "system", content: system },
        { role: "user", content: prompt },
      ],
      stream: false,
      [this.#limitName]: maxTokens,
      ...(this.#hasTemperature ? { temperature: 0 } : {}),
      ...formatParameter(this.#format, schema),
    };
  }

  async #refusal(response: Response): Promise<Outcome> {
    const { status } = response;
    const text = await readErrorText(response);
    if (PARAMETER_STATUSES.has(status) && this.#simplify(text)) return { isSimpler: true };
    const isPassing = PASSING_STATUSES.has(status) || status >= 500;
    const retryAfterMs = readRetryAfter(response.headers.get("retry-after"), this.#seams.clock);
    return {
      failure: refused(status, text),
      // An account without credit answers 429 as well.
      isPassing: isPassing && !text.includes("insufficient_quota"),
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    };
  }

  /** Gives up what the server complains of; true when there was something to give up. */
  #simplify(complaint: string): boolean {
    if (this.#limitName === "max_tokens" && complaint.includes("max_completion_tokens")) {
      this.#limitName = "max_completion_tokens";
    } else if (this.#hasTemperature && /temperature/i.test(complaint)) {
      this.#hasTemperature = false;
    } else {
      const next = FORMATS[FORMATS.indexOf(this.#format) + 1];
      if (next === undefined || !FORMAT_COMPLAINT.test(complaint)) return false;
      this.#format = next;
    }
    return true;
  }
}

function formatParameter(format: AnswerFormat, schema: CompletionRequest["schema"]): Record<string, unknown> {
  if (format === "none") return {};
  if (format === "json_object") return { response_format: { type: format } };
  return { response_format: { type: format, json_schema: { name: "answer", strict: true, schema } } };
}

/** @throws DormouseError `llm_bad_reply`, `llm_refused` */
async function readCompletion(response: Response): Promise<Completion> {
  const { chunks, isWhole } = await readBytes(response, MAX_REPLY_BYTES);
  if (!isWhole) throw tooLongReply();
  const text = decodeReply(chunks);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw badReply("the server's reply is not JSON");
  }
  const choice = firstOf(fieldOf(body, "choices"));
  const message = fieldOf(choice, "message");
  const finish = fieldOf(choice, "finish_reason");
  if (typeof fieldOf(message, "refusal") === "string" || finish === "content_filter") {
    throw new DormouseError("llm_refused", "the language model refused to answer");
  }
  if (isRecord(fieldOf(body, "error"))) {
    throw new DormouseError("llm_refused", "the server reported an error in place of an answer");
  }
  if (finish === "length") throw badReply("the reply was cut off at the limit of tokens; a shorter one is needed");
  const content = textOf(fieldOf(message, "content"));
  if (content === null) throw badReply("the server's reply holds no text");
  const usage = fieldOf(body, "usage");
  return {
    text: answerOf(content),
    promptTokens: countOf(fieldOf(usage, "prompt_tokens")),
    completionTokens: countOf(fieldOf(usage, "completion_tokens")),
  };
}

/** A text, or the texts of the parts that some servers answer in. */
function textOf(content: unknown): string | null {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  const parts = content.map((part: unknown) => fieldOf(part, "text"));
  return parts.every((part) => typeof part === "string") ? parts.join("") : null;
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** Reads a body up to a size; what is longer is left unread. */
async function readBytes(response: Response, limit: number): Promise<{ chunks: Uint8Array[]; isWhole: boolean }> {
  const chunks: Uint8Array[] = [];
  const reader = response.body?.getReader();
  if (reader === undefined) return { chunks, isWhole: true };
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { chunks, isWhole: true };
    length += value.length;
    if (length > limit) {
      await reader.cancel();
      return { chunks, isWhole: false };
    }
    chunks.push(value);
  }
}

/** What the server says about its refusal, for our eyes only. */
async function readErrorText(response: Response): Promise<string> {
  const { chunks } = await readBytes(response, MAX_ERROR_BYTES);
  return Buffer.concat(chunks).toString("utf8");
}

/** Milliseconds that a Retry-After header asks for (RFC 9110, 10.2.3); null: none that can be read. */
function readRetryAfter(header: string | null, clock: Clock): number | null {
  if (header === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - clock.now());
}

function refused(status: number, text: string): DormouseError {
  if (status >= 300 && status < 400) {
    return new DormouseError("llm_refused", `the server redirects (status ${status}), which is not followed`, {
      hint: "Configure the address that it redirects to, if you trust it.",
    });
  }
  if (status === 408 || status >= 500) {
    return new DormouseError("llm_unreachable", `the server failed (status ${status})`, {
      hint: "Its own log says more. `dormouse config llm test` tries again.",
    });
  }
  const hint = refusalHint(status, text);
  return new DormouseError("llm_refused", `the server refused the request (status ${status})`, { hint });
}

function refusalHint(status: number, text: string): string {
  if (status === 401 || status === 403) return "Is the key right? `dormouse config show` names its variable.";
  if (text.includes("insufficient_quota")) return "The account has no credit left.";
  if (status === 429) return "Too many requests: the next night tries again.";
  if (status === 404 || text.includes("model_not_found")) return "Are the address and the model's name right?";
  if (status === 413 || text.includes("context_length_exceeded")) return "The prompt is too long for this model.";
  return "Does the server speak the OpenAI protocol at this address?";
}

function unreachable(url: URL, code: string): DormouseError {
  return new DormouseError("llm_unreachable", `the language model's server cannot be reached (${code})`, {
    hint: `Is it running? The address is ${url.origin}.`,
  });
}

function timeoutError(seconds: number): DormouseError {
  return new DormouseError("llm_timeout", `the language model took longer than ${seconds} s`, {
    hint: "`dormouse config set llm.timeoutSeconds NUMBER` allows more, up to 300.",
  });
}

/** The system's code for a failed connection, such as ECONNREFUSED. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = fieldOf(cause, "code");
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code : "connection lost";
}
