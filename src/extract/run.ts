/**
 * The extraction run: takes paths, tells what each file is, and hands it to the extraction of its kind. A
 * file that cannot be read, or is of a format without a reader, is reported by name and the rest goes on.
 */
import { createHash } from "node:crypto";
import type { EmbedderSource, ProgressListener } from "../core/ports.ts";
import type { ExtractReport } from "../core/types.ts";
import { Notes } from "../store/notes.ts";
import type { Store } from "../store/store.ts";
import { DETECT_HEAD_BYTES, detectFormat } from "./detect.ts";
import { type FileFacts, readFacts } from "./file-place.ts";
import { type FileWork, findWork, STDIN_PATH } from "./find-work.ts";
import type { Format } from "./format.ts";
import { Intake } from "./intake.ts";
import { ByteProgress } from "./progress.ts";
import type { RunContext } from "./run-context.ts";
import { extractRecordFile, extractRecordStream } from "./sessions.ts";
import { peekStream, readStreamLines } from "./stream-lines.ts";
import { Tally } from "./tally.ts";
import { extractVault } from "./vault.ts";

export interface ExtractOptions {
  /** What the files are; default "auto": told from names and first bytes. */
  readonly format?: Format | "auto";
  /** Domain of every thought, instead of the one its record or folder names. */
  readonly domain?: string;
  /** Scope of every thought; default the brain's. */
  readonly scope?: string;
  /** Say what would be stored and write nothing at all. */
  readonly dryRun?: boolean;
  /** Read what subagents said too, each as a source of its own. */
  readonly subagents?: boolean;
  /** Told of bytes done, a few times a second at most. */
  readonly onProgress?: ProgressListener;
  /** Texts per transaction; default 256. */
  readonly batchSize?: number;
  /** Once aborted, no file and no batch begins any more, and the run fails with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Awaited between files and batches, outside transactions, for whoever wants the machine to rest. */
  readonly rest?: () => Promise<void>;
  /** What the path `-` reads; default the process's standard input. */
  readonly stdin?: AsyncIterable<Uint8Array>;
}

type Detection = ReturnType<typeof detectFormat>;

const DEFAULT_BATCH_SIZE = 256;
const SUBAGENT_PATH = /(?:^|[\\/])(?:agent-[^\\/]+\.jsonl$|subagents[\\/])/;

/**
 * Extracts files, folders and, for `-`, standard input. Known records are skipped, so that the same paths can
 * be given again and again; several processes may do it at once.
 * @throws DormouseError `unknown_scope` before anything is read, and as the store does; the signal's reason when it
 * is aborted; what is wrong with a file is in the report instead.
 */
export async function runExtract(
  store: Store,
  embedder: EmbedderSource,
  paths: readonly string[],
  options: ExtractOptions = {},
): Promise<ExtractReport> {
  const tally = new Tally();
  const dryRun = options.dryRun === true;
  const breathe = async (): Promise<void> => {
    options.signal?.throwIfAborted();
    await options.rest?.();
  };
  const intake = new Intake(store, embedder, { domain: options.domain, scope: options.scope, dryRun, breathe }, tally);
  const format = options.format ?? "auto";
  const work = await findWork(paths, format, tally);
  const run: RunContext = {
    store,
    notes: new Notes(store),
    intake,
    tally,
    progress: new ByteProgress(options.onProgress, work.hasStdin ? null : work.bytes),
    dryRun,
    subagents: options.subagents === true,
    breathe,
    batchSize: Math.max(1, options.batchSize ?? DEFAULT_BATCH_SIZE),
  };
  if (work.hasStdin) await extractStdin(options.stdin ?? process.stdin, format, run);
  for (const file of work.files) {
    await breathe();
    await extractFile(file, format, run);
    run.progress.finish(file.size);
  }
  for (const vault of work.vaults) await extractVault(vault, run);
  run.progress.end();
  return tally.report();
}

async function extractFile(file: FileWork, wanted: Format | "auto", run: RunContext): Promise<void> {
  const facts = await readFacts(file.path, file.absolute, (rule) => run.tally.fail(file.path, null, rule));
  if (facts === null) return;
  const format = chooseFormat(detectFormat(file.absolute, facts.head), wanted, file.explicit);
  if (typeof format !== "string") {
    if (file.explicit) run.tally.fail(file.path, null, format.refused, hintFor(format.refused));
    else run.tally.skip(format.refused);
  } else if (isSubagentFile(facts, format, run)) {
    if (file.explicit) run.tally.fail(file.path, null, "subagent", "--subagents reads what subagents said.");
    else run.tally.skip("subagent");
  } else if (format === "markdown") {
    run.tally.skip("other_format");
  } else {
    await extractRecordFile(facts, format, run);
  }
}

/** What the caller says, where that is possible: a file that he did not name keeps a format that is told from it. */
function chooseFormat(detected: Detection, wanted: Format | "auto", explicit: boolean): Detection {
  if (wanted === "auto" || detected === wanted) return detected;
  if (typeof detected === "string") return explicit ? wanted : { refused: "other_format" };
  if (detected.refused === "empty" || detected.refused === "binary") return detected;
  return explicit || detected.refused.startsWith("unknown") ? wanted : detected;
}

function isSubagentFile(facts: FileFacts, format: Format, run: RunContext): boolean {
  return format === "claude-code" && !run.subagents && SUBAGENT_PATH.test(facts.absolute);
}

function hintFor(refused: string): string | undefined {
  if (refused === "empty" || refused === "binary") return undefined;
  return refused.startsWith("unknown") ? "Name its format with --format." : "There is no reader for this format.";
}

async function extractStdin(stdin: AsyncIterable<Uint8Array>, wanted: Format | "auto", run: RunContext): Promise<void> {
  const { head, chunks } = await peekStream(stdin, DETECT_HEAD_BYTES);
  const format = chooseFormat(detectFormat("stdin", head), wanted, true);
  if (typeof format !== "string") {
    run.tally.fail(STDIN_PATH, null, format.refused, hintFor(format.refused));
    return;
  }
  // What begins alike is the same text met again; anything else is a source of its own.
  const key = `stdin:${createHash("sha256").update(head).digest("hex")}`;
  await extractRecordStream(
    readStreamLines(chunks),
    { path: "stdin", key, format: format === "markdown" ? "text" : format },
    run,
  );
}
