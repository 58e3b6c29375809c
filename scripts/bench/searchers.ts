/**
 * Searchers as the search bench sees them: ask one question at a time, wait for its times. A brain or the plain
 * baseline runs in a process of ours, a peer is any command that speaks JSON lines. Knows nothing of statistics.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { AskedQuestion, SearcherStep, SearchTimes } from "./searcher-process.ts";

/** A process that died, or says nothing for so long, ends the bench with an error. */
const ANSWER_TIMEOUT_MS = 120_000;

export interface Searcher {
  ask(question: AskedQuestion): Promise<SearchTimes>;
  /** Ends the process. @returns the most memory it held, in bytes; null when it does not say */
  end(): Promise<number | null>;
}

/** @throws Error, later, when the process fails */
export function startSearcher(step: SearcherStep): Searcher {
  const child = fork(fileURLToPath(new URL("./searcher-process.ts", import.meta.url)), [JSON.stringify(step)], {
    execArgv: ["--import", "tsx"],
  });
  const request = <T>(message: AskedQuestion | "end"): Promise<T> =>
    answerOf<T>(child, `the ${step.kind}`, (resolve) => {
      child.once("message", (answer) => resolve(answer as T));
      child.send(message);
    });
  return { ask: (question) => request<SearchTimes>(question), end: () => request<number>("end") };
}

interface PeerAnswer {
  readonly results?: readonly unknown[];
  readonly error?: string;
}

export interface Peer extends Searcher {
  /** Hands over texts until they end or the time is up. @returns how many it took, and how long */
  fill(texts: Iterable<string>, limitMs: number): Promise<{ readonly texts: number; readonly ms: number }>;
}

/**
 * A memory of somebody else behind a command, which reads a line `{"op":"add","text":…}` or
 * `{"op":"search","query":…,"k":…}` and answers each with a line of JSON: a search
 * with an array `results`, what it cannot do with a string `error`.
 * Its times hold its own embedding and the pipe, under a tenth of a millisecond.
 */
export function startPeer(command: string, k: number): Peer {
  const child = spawn(command, { shell: true, stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const request = async (message: object): Promise<PeerAnswer> => {
    const answer = await answerOf<PeerAnswer>(child, "the peer", (resolve) => {
      lines.once("line", (line) => resolve(JSON.parse(line)));
      child.stdin.write(`${JSON.stringify(message)}\n`);
    });
    if (answer.error !== undefined) throw new Error(`the peer says: ${answer.error}`);
    return answer;
  };
  return {
    async fill(texts, limitMs) {
      const started = performance.now();
      let taken = 0;
      for (const text of texts) {
        if (performance.now() - started > limitMs) break;
        await request({ op: "add", text });
        taken++;
      }
      return { texts: taken, ms: performance.now() - started };
    },
    async ask({ query }) {
      const started = performance.now();
      const { results = [] } = await request({ op: "search", query, k });
      const took = performance.now() - started;
      return {
        excludingEmbeddingMs: took,
        includingEmbeddingMs: took,
        withAccessMs: took,
        results: results.length,
      };
    },
    async end() {
      child.stdin.end();
      if (child.exitCode === null) await new Promise((resolve) => child.once("exit", resolve));
      return null;
    },
  };
}

/** What `ask` resolves with; rejects when the process ends first or says nothing. */
function answerOf<T>(child: ChildProcess, name: string, ask: (resolve: (answer: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      settle();
      reject(new Error(`${name} ${why}`));
    };
    const onExit = (code: number | null) => fail(`ended with ${code} instead of an answer`);
    const timer = setTimeout(() => fail(`gave no answer in ${ANSWER_TIMEOUT_MS / 1000} seconds`), ANSWER_TIMEOUT_MS);
    const settle = () => {
      clearTimeout(timer);
      child.off("exit", onExit);
    };
    child.once("exit", onExit);
    ask((answer) => {
      settle();
      resolve(answer);
    });
  });
}
