/**
 * A language model behind a command: run without a shell, in an empty folder, with few variables of the environment,
 * the prompt on its standard input and the answer on its standard output. Bounded in time and output; when it ends,
 * for whatever reason, nothing it started is left behind. What it writes to its standard error is dropped.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { DormouseError } from "../core/errors.ts";
import type { Completion, CompletionRequest, LanguageModel } from "../core/ports.ts";
import { answerOf, decodeReply, MAX_REPLY_BYTES, tooLongReply } from "./reply-text.ts";

export interface CommandModelOptions {
  /** The program (a name that PATH finds, or an absolute path) and its arguments. Handed on as they are. */
  readonly command: readonly [string, ...string[]];
  /** What sources and events call it; default: the program's name. */
  readonly model?: string;
  readonly timeoutSeconds: number;
  /** Names of variables that it is given besides those every program needs. */
  readonly passEnvironment?: readonly string[];
}

/** What a program needs to find itself, its settings and its language; keys are passed by name only. */
const PLAIN_VARIABLES: readonly string[] = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TMPDIR",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_CACHE_HOME",
  "XDG_RUNTIME_DIR",
  "SystemRoot",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
  "TEMP",
];
/** Signals that end this process unless somebody handles them. */
const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const IS_WINDOWS = process.platform === "win32";

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** A model behind a command. Nothing is run before the first request. */
export function createCommandModel(options: CommandModelOptions): LanguageModel {
  const name = options.model ?? basename(options.command[0]);
  return { name, complete: (request) => completeByCommand(options, request) };
}

async function completeByCommand(options: CommandModelOptions, request: CompletionRequest): Promise<Completion> {
  request.signal?.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), "dormouse-llm-"));
  try {
    const reply = await runCommand(options, folder, request);
    return { text: answerOf(reply), promptTokens: null, completionTokens: null };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs the command once. @returns what it wrote, when it ended with status 0 */
function runCommand(options: CommandModelOptions, folder: string, request: CompletionRequest): Promise<string> {
  const [program, ...args] = options.command;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: folder,
      env: environmentFor(options),
      stdio: ["pipe", "pipe", "ignore"],
      // A process group of its own, so that whatever it starts ends with it.
      detached: !IS_WINDOWS,
      windowsHide: true,
    });
    const chunks: Buffer[] = [];
    let length = 0;
    let failure: unknown = null;
    const stop = (reason: unknown) => {
      failure ??= reason;
      killGroup(child);
      // One that left the group could hold the output open for ever.
      child.stdout.destroy();
    };
    const timer = setTimeout(() => stop(timeoutError(options.timeoutSeconds)), options.timeoutSeconds * 1_000);
    const onAbort = () => stop(request.signal?.reason);
    request.signal?.addEventListener("abort", onAbort, { once: true });
    const releaseSignals = endWith(child, folder);
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", onAbort);
      releaseSignals();
      finish();
    };

    child.stdout.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_REPLY_BYTES) stop(tooLongReply());
      else chunks.push(chunk);
    });
    // A program that does not read all of its input ends the pipe early, which is its own affair.
    child.stdin.on("error", () => {});
    child.on("error", (error) => settle(() => reject(startError(program, error))));
    // What it left running would hold the output open.
    child.on("exit", () => killGroup(child));
    child.on("close", (status) =>
      settle(() => {
        if (failure !== null) return reject(failure);
        if (status !== 0) return reject(statusError(program, status));
        try {
          resolve(decodeReply(chunks));
        } catch (error) {
          reject(error);
        }
      }),
    );
    child.stdin.end(`${request.system}\n\n${request.prompt}\n`);
  });
}

function environmentFor({ passEnvironment = [] }: CommandModelOptions): NodeJS.ProcessEnv {
  const names = [...PLAIN_VARIABLES, ...passEnvironment];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

/** Kills the command and all that it started; nothing when they are gone. */
function killGroup(child: Child): void {
  if (child.pid === undefined) return;
  try {
    if (IS_WINDOWS) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // ESRCH: all gone. EPERM: macOS says so of a group whose last member is ending.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

/**
 * Ends the command with this process, since Ctrl-C and other signals do not reach a group of its own, and removes its
 * folder.
 * @returns takes the listeners away again
 */
function endWith(child: Child, folder: string): () => void {
  const onExit = () => {
    killGroup(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const onSignal = (signal: NodeJS.Signals) => {
    onExit();
    // Nobody else handles it, so it ends this process as it would have without us.
    if (process.listenerCount(signal) === 1) {
      process.off(signal, onSignal);
      process.kill(process.pid, signal);
    }
  };
  process.on("exit", onExit);
  for (const signal of ENDING_SIGNALS) process.on(signal, onSignal);
  return () => {
    process.off("exit", onExit);
    for (const signal of ENDING_SIGNALS) process.off(signal, onSignal);
  };
}

function timeoutError(seconds: number): DormouseError {
  return new DormouseError("llm_timeout", `the language model's command took longer than ${seconds} s`, {
    hint: "`dormouse config set llm.timeoutSeconds NUMBER` allows more.",
  });
}

function startError(program: string, error: Error): DormouseError {
  const code = "code" in error ? String(error.code) : error.name;
  return new DormouseError("llm_unreachable", `${basename(program)} could not be started (${code})`, {
    hint: "Is the program installed, and on the PATH of whoever runs this?",
  });
}

function statusError(program: string, status: number | null): DormouseError {
  const how = status === null ? "was ended by a signal" : `ended with status ${status}`;
  return new DormouseError("llm_refused", `${basename(program)} ${how}`, {
    hint: "Run it by hand with a short text on its standard input to see why.",
  });
}
