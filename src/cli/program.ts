/**
 * The command line's grammar: commands, options, help, and what an exit status means (0 worked, 1 failed,
 * 2 called wrongly). Every command's module is loaded when it runs, so a start costs this file and commander.
 */
import { readFileSync } from "node:fs";
import { Command, CommanderError, Help, type HelpContext, Option } from "commander";
import { DormouseError, isUsageError } from "../core/errors.ts";
import { packagePath } from "../core/package-path.ts";
import { BASES, SOURCE_TYPES, THOUGHT_KINDS, TRUST_LEVELS } from "../core/types.ts";
import type { CommandFlags, HttpFlags } from "./commands/config-llm.ts";
import type { InstallFlags } from "./commands/daemon-install.ts";
import type { McpFlags } from "./commands/mcp.ts";
import type { RecallFlags } from "./commands/recall.ts";
import type { SourceListFlags } from "./commands/source.ts";
import type { VerifyFlags } from "./commands/verify.ts";
import type { ExitStatus, Invocation } from "./invocation.ts";
import { Output } from "./output.ts";

const USAGE_STATUS = 2;
/** Help of an option that several commands have. */
const AS_OF = "as the brain was then: what it held and believed; a bare date is the end of that day here";

/** A command that prints examples below its help and throws its usage errors. */
class DormouseCommand extends Command {
  #examples: readonly string[] = [];

  override createCommand(name?: string): DormouseCommand {
    return new DormouseCommand(name);
  }

  /** Complete command lines, shown under the help and in the reference. */
  examples(...lines: readonly string[]): this {
    this.#examples = lines;
    return this;
  }

  override helpInformation(context?: HelpContext): string {
    const help = super.helpInformation(context);
    if (this.#examples.length === 0) return help;
    const title = this.#examples.length === 1 ? "Example" : "Examples";
    return `${help}\n${title}:\n${this.#examples.map((line) => `  $ ${line}\n`).join("")}`;
  }

  /** Help that stands for a complaint becomes the complaint: it names what is missing or unknown. */
  override help(context?: HelpContext | ((text: string) => string)): never {
    if (typeof context !== "object" || context.error !== true) return super.help();
    const unknown = this.args[1];
    throw new DormouseError("usage", unknown === undefined ? "a command is missing" : `unknown command '${unknown}'`, {
      hint: `See \`${commandPath(this)} --help\`.`,
    });
  }

  override error(message: string): never {
    const [what = "", suggestion] = message.replace(/^error: /, "").split("\n");
    const name = commandPath(this);
    throw new DormouseError("usage", what.replace(/\.$/, ""), {
      hint: `${suggestion === undefined ? "" : `${suggestion.replace(/^\((.*)\)$/, "$1")} `}See \`${name} --help\`.`,
    });
  }
}

function commandPath(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return names.join(" ");
}

/**
 * Runs one command line, printing its result or its failure.
 * @param argv the arguments without node and script
 * @returns the exit status: 0, 1 for a failure, 2 for a usage error
 */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const end = argv.indexOf("--");
  const json = (end < 0 ? argv : argv.slice(0, end)).includes("--json");
  try {
    let status: number = 0;
    const program = createProgram((reported) => {
      status = reported;
    });
    if (argv.length === 0) {
      process.stderr.write(program.helpInformation());
      return USAGE_STATUS;
    }
    await program.parseAsync([...argv], { from: "user" });
    return status;
  } catch (error) {
    // Commander throws to end a command line that asked for help.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    new Output(json).fail(error);
    return isUsageError(error) ? USAGE_STATUS : 1;
  }
}

type Report = (status: ExitStatus) => void;

/** The whole grammar. `report` receives the status of the command that ran. */
export function createProgram(report: Report): DormouseCommand {
  const program = new DormouseCommand("dormouse");
  program
    .description("One person's memory for AI agents, in one file.")
    .option("--brain <file>", "the brain file (default: $DORMOUSE_BRAIN or ~/.dormouse/brain.db)")
    .option("--model-dir <dir>", "folder of the brain's model (default: $DORMOUSE_MODEL_DIR or as remembered)")
    .option("--json", "print JSON")
    .option("-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show the help of a command")
    .configureHelp({ showGlobalOptions: true, formatHelp })
    .exitOverride()
    .on("option:version", () => {
      process.stdout.write(`${readVersion()}\n`);
      throw new CommanderError(0, "dormouse.version", "");
    })
    .examples(
      "dormouse init",
      "dormouse extract ~/.claude/projects ~/notes",
      'dormouse search "what did we decide about the flat"',
    );
  addFillingCommands(program, report);
  addAskingCommands(program, report);
  addInspectingCommands(program, report);
  addStateCommands(program, report);
  addBeliefCommands(program, report);
  addRecallCommands(program, report);
  addSourceCommands(program, report);
  addLegCommands(program, report);
  addCareCommands(program, report);
  addProofCommands(program, report);
  addModelCommands(program, report);
  addConfigCommands(program, report);
  addDaemonCommands(program, report);
  addAgentCommands(program, report);
  return program;
}

/** Commander's layout at a fixed width, so that help and reference are the same everywhere. */
function formatHelp(command: Command, helper: Help): string {
  helper.helpWidth = 100;
  return Help.prototype.formatHelp.call(helper, command, helper);
}

function readVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(packagePath("package.json"), "utf8"));
  return version;
}

function invocationOf(command: Command): Invocation {
  const { brain, json, modelDir } = command.optsWithGlobals<{ brain?: string; json?: boolean; modelDir?: string }>();
  if (brain?.trim() === "") {
    throw new DormouseError("usage", "--brain names no file", { hint: "Leave it out for the default brain." });
  }
  if (modelDir?.trim() === "") {
    throw new DormouseError("usage", "--model-dir names no folder", { hint: "Leave it out for the remembered one." });
  }
  return { brainPath: brain, modelDirectory: modelDir, output: new Output(json === true) };
}

/** Appends a repeated option's value. */
function collect(value: string, earlier: readonly string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}

/** One thought is met in one source: a second would silently take the first one's place. */
function readSourceOnce(value: string, earlier: string | undefined): string {
  if (earlier === undefined) return value;
  throw new DormouseError("usage", "--source is given twice", {
    hint: "Remember it again from the other source, or name several that it needs together with --leg S1,S2.",
  });
}

function addFillingCommands(program: DormouseCommand, report: Report): void {
  program
    .command("init")
    .description("create the brain; does nothing when it is there")
    .examples("dormouse init", "dormouse init --brain ./project.db")
    .action(async (_options: object, command: Command) => {
      const { runInit } = await import("./commands/init.ts");
      report(await runInit(invocationOf(command)));
    });
  program
    .command("extract")
    .description("read transcripts, notes and text into the brain; only what is new is written")
    .argument("<path...>", "files or folders; - reads standard input")
    .addOption(
      new Option("--format <format>", "how to read the files")
        .choices(["auto", "claude-code", "markdown", "jsonl", "text"])
        .default("auto"),
    )
    .option("--domain <domain>", "domain of what is read (default: from the session or folder)")
    .option("--scope <scope>", "scope of what is read")
    .option("--dry-run", "tell what would be written, write nothing")
    .option("--subagents", "read what subagents said, too")
    .option("--strict", "exit 1 when anything could not be read")
    .examples("dormouse extract ~/.claude/projects", "dormouse extract ~/notes --format markdown --dry-run")
    .action(async (paths: string[], options: object, command: Command) => {
      const { runExtract } = await import("./commands/extract.ts");
      report(await runExtract(invocationOf(command), paths, options));
    });
  program
    .command("remember")
    .description("remember one thought, 20,000 characters at most")
    .argument("<text>", "the thought; - reads it from standard input")
    .option("--kind <kind>", `${THOUGHT_KINDS.join(", ")}, or a word of your own (default: fact)`)
    .option("--domain <domain>", "part of life or work it belongs to")
    .option("--tag <tag>", "a tag; may be repeated", collect)
    .option(
      "--when <time>",
      "when it happened: ISO 8601, FROM..TO, or words such as yesterday; a bare date is that day anywhere",
    )
    .option("--leg <ids>", "ids it rests on, all of them together, by commas; repeated: any leg is enough", collect)
    .option("--axiom", "your own word holds it up, too, beside its legs or source")
    .option(
      "--source <name>",
      "who or what it is from, such as anna or tool:weather; before a colon, session, file, page (or web), tool, model, " +
        "person or import is its type (default: your own word)",
      readSourceOnce,
    )
    .option("--scope <scope>", "scope it is kept in")
    .addOption(new Option("--basis <basis>", "how it is known").choices(BASES))
    .option("--confidence <n>", "0 to 100")
    .option("--salience <n>", "0 to 100")
    .option("--aspect <aspect>", "an aspect; may be repeated", collect)
    .option("--facet <name=value>", "a named value; may be repeated", collect)
    .option("--due <time>", "when it is due")
    .option("--valid <range>", "when it holds, FROM..TO; a bare date is that day on this machine")
    .option("--about <subject>", "whom or what it is about; may be repeated", collect)
    .option("--supersedes <id>", "a thought whose place it takes; may be repeated", collect)
    .examples(
      'dormouse remember "The flat in Graça costs 1,150 euros" --tag lisbon --when yesterday',
      "pbpaste | dormouse remember - --kind insight",
    )
    .action(async (text: string, options: object, command: Command) => {
      const { runRemember } = await import("./commands/remember.ts");
      report(await runRemember(invocationOf(command), text, options));
    });
}

function addAskingCommands(program: DormouseCommand, report: Report): void {
  program
    .command("search")
    .description("find thoughts by words and meaning")
    .argument("<query...>", "what to look for")
    .option("-k <n>", "results at most", "10")
    .option("--kind <kind>", "only this kind; repeated: any of them", collect)
    .option("--domain <domain>", "only this domain; repeated: any of them", collect)
    .option("--tag <tag>", "only with this tag; repeated: with all of them", collect)
    .option(
      "--when <range>",
      "only what happened FROM..TO, or at a time such as last week; a bare date is that day on this machine",
    )
    .option("--explain", "show why each result is where it is")
    .option("--now <time>", "answer as if it were this time")
    .option("--as-of <time>", AS_OF)
    .examples('dormouse search "landlord phone number"', "dormouse search tram --when 2026-03-01.. --explain")
    .action(async (words: string[], options: { k: string }, command: Command) => {
      const { runSearch } = await import("./commands/search.ts");
      report(await runSearch(invocationOf(command), words.join(" "), options));
    });
  program
    .command("context")
    .description("evidence for an agent: what is due, what is recent, what fits the hints")
    .argument("[hint...]", "what the agent is working on")
    .option("--budget <tokens>", "tokens at most", "2000")
    .option("--as-of <time>", AS_OF)
    .examples('dormouse context "moving to Lisbon" --budget 1000')
    .action(async (hints: string[], options: { budget: string }, command: Command) => {
      const { runContext } = await import("./commands/context.ts");
      report(await runContext(invocationOf(command), hints, options));
    });
}

function addInspectingCommands(program: DormouseCommand, report: Report): void {
  program
    .command("show")
    .description("everything about one thought or source")
    .argument("<id>", "n_… or s_…")
    .option("--as-of <time>", AS_OF)
    .examples("dormouse show n_0123456789abcdef")
    .action(async (id: string, options: object, command: Command) => {
      const { runShow } = await import("./commands/show.ts");
      report(await runShow(invocationOf(command), id, options));
    });
  program
    .command("why")
    .description("what a thought rests on")
    .argument("<id>", "n_… or s_…")
    .option("--depth <n>", "steps to follow", "5")
    .option("--as-of <time>", AS_OF)
    .examples("dormouse why n_0123456789abcdef --depth 3")
    .action(async (id: string, options: { depth: string }, command: Command) => {
      const { runWhy } = await import("./commands/why.ts");
      report(await runWhy(invocationOf(command), id, options));
    });
  program
    .command("how")
    .description("how two thoughts or sources are connected")
    .argument("<from>", "id of the one")
    .argument("<to>", "id of the other")
    .option("--as-of <time>", AS_OF)
    .examples("dormouse how n_0123456789abcdef n_fedcba9876543210")
    .action(async (from: string, to: string, options: object, command: Command) => {
      const { runHow } = await import("./commands/how.ts");
      report(await runHow(invocationOf(command), from, to, options));
    });
  program
    .command("list")
    .description("thoughts, latest first")
    .option("--kind <kind>", "only this kind; repeated: any of them", collect)
    .option("--domain <domain>", "only this domain; repeated: any of them", collect)
    .option("--tag <tag>", "only with this tag; repeated: with all of them", collect)
    .option(
      "--state <state>",
      "visible, decayed, forgotten, permanent, pinned, merged, recalled, erased, held, superseded, disputed, stale or all",
      "visible",
    )
    .option("--when <range>", "only what happened FROM..TO, or at a time; a bare date is that day on this machine")
    .option("--limit <n>", "thoughts at most", "20")
    .option("--as-of <time>", AS_OF)
    .examples("dormouse list --state decayed", "dormouse list --kind decision --limit 100")
    .action(async (options: { state: string; limit: string }, command: Command) => {
      const { runList } = await import("./commands/list.ts");
      report(await runList(invocationOf(command), options));
    });
}

function addStateCommands(program: DormouseCommand, report: Report): void {
  program
    .command("forget")
    .description("take a thought out of search until it is revived; nothing is deleted")
    .argument("<id>", "n_…")
    .requiredOption("--reason <words>", "why")
    .examples('dormouse forget n_0123456789abcdef --reason "out of date"')
    .action(async (id: string, options: { reason: string }, command: Command) => {
      const { runForget } = await import("./commands/forget.ts");
      report(await runForget(invocationOf(command), id, options));
    });
  program
    .command("revive")
    .description("bring a forgotten or decayed thought back")
    .argument("<id>", "n_…")
    .examples("dormouse revive n_0123456789abcdef")
    .action(async (id: string, _options: object, command: Command) => {
      const { runRevive } = await import("./commands/revive.ts");
      report(await runRevive(invocationOf(command), id));
    });
  program
    .command("pin")
    .description("keep a thought for good: it never decays")
    .argument("<id>", "n_…")
    .examples("dormouse pin n_0123456789abcdef")
    .action(async (id: string, _options: object, command: Command) => {
      const { runPin } = await import("./commands/pin.ts");
      report(await runPin(invocationOf(command), id));
    });
  program
    .command("unpin")
    .description("take a pin away")
    .argument("<id>", "n_…")
    .examples("dormouse unpin n_0123456789abcdef")
    .action(async (id: string, _options: object, command: Command) => {
      const { runUnpin } = await import("./commands/unpin.ts");
      report(await runUnpin(invocationOf(command), id));
    });
}

function addBeliefCommands(program: DormouseCommand, report: Report): void {
  program
    .command("supersede")
    .description("one thought takes another's place: the old one leaves search and stays readable")
    .argument("<old>", "n_…, the thought that no longer holds")
    .argument("[new]", "n_…, the thought that holds instead")
    .option("--reason <words>", "why")
    .option("--undo", "take it back: the old thought is believed as before")
    .examples(
      "dormouse supersede n_0123456789abcdef n_fedcba9876543210",
      "dormouse supersede --undo n_0123456789abcdef",
    )
    .action(async (oldId: string, newId: string | undefined, options: object, command: Command) => {
      const { runSupersede } = await import("./commands/supersede.ts");
      report(await runSupersede(invocationOf(command), oldId, newId, options));
    });
  program
    .command("contradict")
    .description("say that two thoughts cannot both be true: both are disputed until resolved")
    .argument("<one>", "n_…")
    .argument("<other>", "n_…")
    .option("--reason <words>", "why")
    .examples("dormouse contradict n_0123456789abcdef n_fedcba9876543210")
    .action(async (oneId: string, otherId: string, options: object, command: Command) => {
      const { runContradict } = await import("./commands/contradict.ts");
      report(await runContradict(invocationOf(command), oneId, otherId, options));
    });
  program
    .command("resolve")
    .description("settle a dispute: the thought holds, and the one that contradicts it is superseded")
    .argument("<id>", "n_…, the thought that holds")
    .option("--over <id>", "the thought that does not; needed when several contradict it")
    .option("--both", "both hold after all")
    .option("--reason <words>", "why")
    .examples(
      "dormouse resolve n_0123456789abcdef --over n_fedcba9876543210",
      "dormouse resolve n_0123456789abcdef --both",
    )
    .action(async (id: string, options: object, command: Command) => {
      const { runResolve } = await import("./commands/resolve.ts");
      report(await runResolve(invocationOf(command), id, options));
    });
  program
    .command("confirm")
    .description("say that a thought holds, also when what it rests on was replaced")
    .argument("<id>", "n_…")
    .examples("dormouse confirm n_0123456789abcdef")
    .action(async (id: string, _options: object, command: Command) => {
      const { runConfirm } = await import("./commands/confirm.ts");
      report(await runConfirm(invocationOf(command), id));
    });
  program
    .command("history")
    .description("what happened to one thought or source, the latest last")
    .argument("<id>", "n_… or s_…")
    .option("--limit <n>", "the newest events at most", "50")
    .examples("dormouse history n_0123456789abcdef", "dormouse history n_0123456789abcdef --limit 5 --json")
    .action(async (id: string, options: { limit: string }, command: Command) => {
      const { runHistory } = await import("./commands/history.ts");
      report(await runHistory(invocationOf(command), id, options));
    });
}

function addRecallCommands(program: DormouseCommand, report: Report): void {
  program
    .command("recall")
    .description("pull a bad source or thought back with everything that rested on it; shows it first")
    .argument("[id...]", "n_… or s_…")
    .option("--sources <pattern>", "every source of such a name, such as 'web:*'")
    .addOption(
      new Option("--rule <rule>", "fair: what has another leg stands; strict: everything it reached goes")
        .choices(["fair", "strict"])
        .default("fair"),
    )
    .option("--reason <reason>", "why; this version knows untrusted, and erases nothing", "untrusted")
    .option("--limit <n>", "nodes a list shows")
    .option("--apply", "do it")
    .examples("dormouse recall s_0123456789abcdef", "dormouse recall --sources 'tool:weather*' --apply")
    .action(async (ids: string[], options: RecallFlags, command: Command) => {
      const { runRecall } = await import("./commands/recall.ts");
      report(await runRecall(invocationOf(command), ids, options));
    });
  program
    .command("unrecall")
    .description("undo a recall")
    .argument("<event>", "e_… of the recall")
    .examples("dormouse unrecall e_42")
    .action(async (event: string, _options: object, command: Command) => {
      const { runUnrecall } = await import("./commands/unrecall.ts");
      report(await runUnrecall(invocationOf(command), event));
    });
}

function addSourceCommands(program: DormouseCommand, report: Report): void {
  const source = program
    .command("source")
    .description("where thoughts come from, and how far each source is trusted")
    .examples("dormouse source list --trust untrusted", "dormouse source trust s_0123456789abcdef untrusted");
  source
    .command("list")
    .description("sources, the newest first")
    .option("--type <type>", `only this type: ${SOURCE_TYPES.join(", ")}`)
    .option("--trust <level>", `only this level: ${TRUST_LEVELS.join(", ")}`)
    .option("--names <pattern>", "only of such a name; * stands for anything, ? for one character")
    .option("--limit <n>", "sources at most", "50")
    .examples("dormouse source list", "dormouse source list --type tool --names 'tool:weather*'")
    .action(async (options: SourceListFlags, command: Command) => {
      const { runSourceList } = await import("./commands/source.ts");
      report(await runSourceList(invocationOf(command), options));
    });
  source
    .command("trust")
    .description("set how far sources are trusted; thoughts that rest on them follow")
    .argument("<id-or-level...>", "s_… of sources, and last the level: trusted, unknown or untrusted")
    .option("--sources <pattern>", "every source of such a name, such as 'web:*'")
    .examples("dormouse source trust s_0123456789abcdef untrusted", "dormouse source trust --sources 'web:*' untrusted")
    .action(async (words: string[], options: { sources?: string }, command: Command) => {
      const { runSourceTrust } = await import("./commands/source.ts");
      report(await runSourceTrust(invocationOf(command), words, options));
    });
}

function addLegCommands(program: DormouseCommand, report: Report): void {
  const leg = program
    .command("leg")
    .description("what justifies a thought: each leg is enough, all of its parents must stand")
    .examples(
      "dormouse leg list n_0123456789abcdef",
      "dormouse leg add n_0123456789abcdef --leg n_fedcba9876543210,s_0123456789abcdef",
    );
  leg
    .command("add")
    .description("give a known thought another justification")
    .argument("<id>", "n_…")
    .option("--leg <ids>", "ids it rests on, all of them together, by commas; may be repeated", collect)
    .option("--axiom", "your own word holds it up")
    .examples(
      "dormouse leg add n_0123456789abcdef --leg n_fedcba9876543210",
      "dormouse leg add n_0123456789abcdef --axiom",
    )
    .action(async (id: string, options: object, command: Command) => {
      const { runLegAdd } = await import("./commands/leg.ts");
      report(await runLegAdd(invocationOf(command), id, options));
    });
  leg
    .command("list")
    .description("the legs of a thought, and what ended or broke them")
    .argument("<id>", "n_…")
    .examples("dormouse leg list n_0123456789abcdef")
    .action(async (id: string, _options: object, command: Command) => {
      const { runLegList } = await import("./commands/leg.ts");
      report(await runLegList(invocationOf(command), id));
    });
}

function addProofCommands(program: DormouseCommand, report: Report): void {
  program
    .command("verify")
    .description("prove that the history is what was recorded: events, rows and words; exits 1 when something differs")
    .option("--since <event>", "only events after this one and what they made, e_…")
    .option("--head <fingerprint>", "a head printed earlier, which today's ledger must contain")
    .option("--checkpoint <file>", "a signed checkpoint, whose head today's ledger must contain")
    .option("--key <fingerprint>", "the key that must have signed the checkpoint")
    .examples("dormouse verify", "dormouse verify --checkpoint ~/safe/march.json")
    .action(async (options: VerifyFlags, command: Command) => {
      const { runVerify } = await import("./commands/verify.ts");
      report(await runVerify(invocationOf(command), options));
    });
  program
    .command("checkpoint")
    .description("sign how far the ledger is, so that verify notices a history that was cut or rewritten")
    .argument("<file>", "a new file, to be kept apart from the brain")
    .option("--key <file>", "the private key, made when it is not there (default: the brain's name and .key)")
    .examples("dormouse checkpoint ~/safe/march.json")
    .action(async (file: string, options: { key?: string }, command: Command) => {
      const { runCheckpoint } = await import("./commands/checkpoint.ts");
      report(await runCheckpoint(invocationOf(command), file, options));
    });
}

function addAgentCommands(program: DormouseCommand, report: Report): void {
  program
    .command("mcp")
    .description("serve the brain to an agent over standard input and output (Model Context Protocol)")
    .option(
      "--scope <scope>",
      "scope the agent may read; may be repeated, the first is written into (default: all)",
      collect,
    )
    .examples("dormouse mcp", "dormouse mcp --brain ./project.db --scope work --scope public")
    .action(async (options: McpFlags, command: Command) => {
      const { runMcp } = await import("./commands/mcp.ts");
      report(await runMcp(invocationOf(command), options, readVersion()));
    });
}

function addModelCommands(program: DormouseCommand, report: Report): void {
  const model = program
    .command("model")
    .description("the embedding model: which there are, which is in use, change it")
    .examples("dormouse model list", "dormouse model use e5-small-v2 --dir ~/models/e5-small-v2");
  model
    .command("list")
    .description("models this machine knows of; the one in use is marked")
    .examples("dormouse model list")
    .action(async (_options: object, command: Command) => {
      const { runModelList } = await import("./commands/model.ts");
      report(await runModelList(invocationOf(command)));
    });
  model
    .command("use")
    .description("make the vectors again with a model and switch to it; goes on where it was stopped")
    .argument(
      "[name]",
      "builtin, e5-small-v2, all-MiniLM-L6-v2, OWNER/NAME of the hub, or your own name for --dir",
      "e5-small-v2",
    )
    .option("--dir <dir>", "folder with config.json, tokenizer.json and onnx/; remembered (default: fetched)")
    .option(
      "--query-prefix <text>",
      "put before questions (default: as before; with --dir, what the model's family wants)",
    )
    .option("--passage-prefix <text>", "put before stored texts")
    .option("--background", "return at once; the old vectors serve until the new ones are there")
    .examples(
      "dormouse model use e5-small-v2",
      "dormouse model use e5-small-v2 --background",
      "dormouse model use builtin",
    )
    .action(async (name: string, options: object, command: Command) => {
      const { runModelUse } = await import("./commands/model.ts");
      report(await runModelUse(invocationOf(command), name, options));
    });
  model
    .command("status")
    .description("the model in use, and how far another one is")
    .examples("dormouse model status --json")
    .action(async (_options: object, command: Command) => {
      const { runModelStatus } = await import("./commands/model.ts");
      report(await runModelStatus(invocationOf(command)));
    });
}

function addDaemonCommands(program: DormouseCommand, report: Report): void {
  const daemon = program
    .command("daemon")
    .description("sleep by itself every night: run it, see it, have it started")
    .examples("dormouse daemon install", "dormouse daemon status");
  daemon
    .command("run")
    .description("sleep when daemon.schedule says so, and read the folders of daemon.watch, until told to stop")
    .option("--once", "do what is due now and end")
    .examples("dormouse daemon run", "dormouse daemon run --once")
    .action(async (options: object, command: Command) => {
      const { runDaemonRun } = await import("./commands/daemon.ts");
      report(await runDaemonRun(invocationOf(command), options));
    });
  daemon
    .command("status")
    .description("whether it runs, what it is at, when it sleeps next, how the last night went")
    .examples("dormouse daemon status", "dormouse daemon status --json")
    .action(async (_options: object, command: Command) => {
      const { runDaemonStatus } = await import("./commands/daemon.ts");
      report(await runDaemonStatus(invocationOf(command)));
    });
  daemon
    .command("stop")
    .description("tell it to stop after its batch, and wait until it has")
    .examples("dormouse daemon stop")
    .action(async (_options: object, command: Command) => {
      const { runDaemonStop } = await import("./commands/daemon.ts");
      report(await runDaemonStop(invocationOf(command)));
    });
  daemon
    .command("log")
    .description("what it did, latest last; holds no words of yours")
    .option("--lines <n>", "lines at most", "20")
    .examples("dormouse daemon log --lines 100")
    .action(async (options: { lines: string }, command: Command) => {
      const { runDaemonLog } = await import("./commands/daemon.ts");
      report(await runDaemonLog(invocationOf(command), options));
    });
  const kind = () =>
    new Option("--kind <kind>", "what starts it (default: what this machine has)").choices([
      "systemd",
      "launchd",
      "crontab",
    ]);
  daemon
    .command("install")
    .description("have it started by systemd, launchd or cron; shows what would be written")
    .addOption(kind())
    .option("--apply", "write it and start it")
    .examples("dormouse daemon install", "dormouse daemon install --kind crontab --apply")
    .action(async (options: InstallFlags, command: Command) => {
      const { runDaemonInstall } = await import("./commands/daemon-install.ts");
      report(await runDaemonInstall(invocationOf(command), options));
    });
  daemon
    .command("uninstall")
    .description("have it started no more; shows what would be removed")
    .addOption(kind())
    .option("--apply", "stop it and remove it")
    .examples("dormouse daemon uninstall --apply")
    .action(async (options: InstallFlags, command: Command) => {
      const { runDaemonUninstall } = await import("./commands/daemon-install.ts");
      report(await runDaemonUninstall(invocationOf(command), options));
    });
}

function addConfigCommands(program: DormouseCommand, report: Report): void {
  const config = program
    .command("config")
    .description("what is settled in config.json beside the brain: language model, its budget, sleep, daemon")
    .examples("dormouse config show", "dormouse config set llmBudget.calls 100");
  config
    .command("show")
    .description("every key with its value; what differs from the default stands out")
    .examples("dormouse config show", "dormouse config show --json")
    .action(async (_options: object, command: Command) => {
      const { runConfigShow } = await import("./commands/config.ts");
      report(await runConfigShow(invocationOf(command)));
    });
  config
    .command("set")
    .description("set a key")
    .argument("<key>", "as `config show` lists it")
    .argument("<value...>", "its value; several for a list")
    .examples(
      "dormouse config set sleep.decayAgeDays 30",
      "dormouse config set daemon.watch ~/notes ~/.claude/projects",
    )
    .action(async (key: string, words: readonly string[], _options: object, command: Command) => {
      const { runConfigSet } = await import("./commands/config.ts");
      report(await runConfigSet(invocationOf(command), key, words));
    });
  config
    .command("unset")
    .description("take a key, or all keys of a section, back to the default")
    .argument("<key>", "as `config show` lists it, or llmBudget, sleep, daemon, llm")
    .examples("dormouse config unset sleep.decayAgeDays", "dormouse config unset sleep")
    .action(async (key: string, _options: object, command: Command) => {
      const { runConfigUnset } = await import("./commands/config.ts");
      report(await runConfigUnset(invocationOf(command), key));
    });
  addLlmCommands(config, report);
}

function addLlmCommands(config: DormouseCommand, report: Report): void {
  const llm = config
    .command("llm")
    .description("the language model that sleep may ask; without one it does without")
    .examples(
      "dormouse config llm http --url http://127.0.0.1:11434/v1 --model qwen3:8b",
      "dormouse config llm test",
      "dormouse config llm off",
    );
  llm
    .command("http")
    .description("a server that speaks the OpenAI protocol, on this machine or elsewhere")
    .requiredOption("--url <url>", "base address, to which /chat/completions is added")
    .requiredOption("--model <name>", "the model's name at the server")
    .option("--key-env <variable>", "environment variable that holds the key; the key itself is never stored")
    .option("--timeout <s>", "seconds that one answer may take, up to 300 (default: 120)")
    .option("--retries <n>", "tries after a busy server or a lost connection (default: 3)")
    .option("--insecure", "allow http:// to another machine: memories travel unencrypted")
    .examples(
      "dormouse config llm http --url http://127.0.0.1:11434/v1 --model qwen3:8b",
      "dormouse config llm http --url https://api.example.com/v1 --model m-large --key-env MODEL_KEY",
    )
    .action(async (options: HttpFlags, command: Command) => {
      const { runConfigLlmHttp } = await import("./commands/config-llm.ts");
      report(await runConfigLlmHttp(invocationOf(command), options));
    });
  llm
    .command("command")
    .description("a program without a shell: the prompt on its input, the answer on its output; give it no tools")
    .argument("<command...>", "program and arguments, behind --")
    .option("--model <name>", "what sources call it (default: the program's name)")
    .option("--env <variable>", "environment variable that it is given, such as a key; may be repeated", collect)
    .option("--timeout <s>", "seconds that one answer may take, up to 3600 (default: 120)")
    .examples("dormouse config llm command --model qwen3:8b -- ollama run qwen3:8b")
    .action(async (words: readonly string[], options: CommandFlags, command: Command) => {
      const { runConfigLlmCommand } = await import("./commands/config-llm.ts");
      report(await runConfigLlmCommand(invocationOf(command), words, options));
    });
  llm
    .command("off")
    .description("ask no language model any more; what it made stays")
    .examples("dormouse config llm off")
    .action(async (_options: object, command: Command) => {
      const { runConfigLlmOff } = await import("./commands/config-llm.ts");
      report(await runConfigLlmOff(invocationOf(command)));
    });
  llm
    .command("test")
    .description("ask it one small question; tells what came and how long it took")
    .examples("dormouse config llm test")
    .action(async (_options: object, command: Command) => {
      const { runConfigLlmTest } = await import("./commands/config-llm.ts");
      report(await runConfigLlmTest(invocationOf(command)));
    });
}

function addCareCommands(program: DormouseCommand, report: Report): void {
  program
    .command("sleep")
    .description("tidy the brain: link, merge, promote, let decay")
    .option("--dry-run", "tell what would be done, change nothing")
    .option("--max-minutes <m>", "stop after this long; the next sleep goes on from there")
    .option("--phase <name>", "only this phase; may be repeated", collect)
    .examples("dormouse sleep", "dormouse sleep --dry-run")
    .action(async (options: object, command: Command) => {
      const { runSleep } = await import("./commands/sleep.ts");
      report(await runSleep(invocationOf(command), options));
    });
  program
    .command("distil")
    .description("let an agent distil thoughts from what was said in sessions; each rests on those very turns")
    .argument("[session]", "s_… of one session (default: whatever is not distilled yet)")
    .option("--prepare", "print what to distil, with instructions, as JSON; changes nothing")
    .option("--ingest <file>", "take the agent's answers from this file; - reads standard input")
    .option("--batches <n>", "with --prepare: so many pieces at most", "1")
    .option("--again", "with --prepare and a session: from its beginning")
    .option("--model <name>", "with --ingest: who answered, as the source of what is taken (default: host agent)")
    .examples("dormouse distil --prepare > material.json", "dormouse distil --ingest answers.json --model my-agent")
    .action(async (session: string | undefined, options: { batches: string }, command: Command) => {
      const { runDistil } = await import("./commands/distil.ts");
      report(await runDistil(invocationOf(command), session, options));
    });
  program
    .command("think")
    .description("let an agent think about thoughts; what it finds rests on them")
    .option("--prepare", "print what to think about, with instructions, as JSON; changes nothing")
    .option("--ingest <file>", "take the agent's answers from this file; - reads standard input")
    .addOption(
      new Option("--task <task>", "with --prepare: new thoughts, contradictions, dreams across sources, or dates")
        .choices(["think", "tension", "dream", "date"])
        .default("think"),
    )
    .option("--batches <n>", "with --prepare: so many pieces at most", "1")
    .option("--model <name>", "with --ingest: who answered, as the source of what is taken (default: host agent)")
    .examples("dormouse think --prepare --task tension > material.json", "dormouse think --ingest answers.json")
    .action(async (options: { task: "think"; batches: string }, command: Command) => {
      const { runThink } = await import("./commands/think.ts");
      report(await runThink(invocationOf(command), options));
    });
  program
    .command("stats")
    .description("what the brain holds, in numbers")
    .option("--as-of <time>", AS_OF)
    .examples("dormouse stats")
    .action(async (options: object, command: Command) => {
      const { runStats } = await import("./commands/stats.ts");
      report(await runStats(invocationOf(command), options));
    });
  program
    .command("metrics")
    .description("how the brain changed from night to night, by the numbers that sleep leaves")
    .option("--since <time>", "nights from then on, such as 2026-01-01 or '30 days ago'")
    .option("--names <pattern>", "numbers of such names, such as 'phase.*'; may be repeated; '*' for all", collect)
    .option("--per <span>", "cycle: each night; day: the last of each day", "cycle")
    .examples("dormouse metrics", "dormouse metrics --since '30 days ago' --names 'phase.*.ms' --json")
    .action(async (options: object, command: Command) => {
      const { runMetrics } = await import("./commands/metrics.ts");
      report(await runMetrics(invocationOf(command), options));
    });
  program
    .command("doctor")
    .description("check the brain's invariants and the indexes made of it; exits 1 when a check fails")
    .option("--rebuild", "make full text and vectors again first")
    .examples("dormouse doctor", "dormouse doctor --rebuild")
    .action(async (options: object, command: Command) => {
      const { runDoctor } = await import("./commands/doctor.ts");
      report(await runDoctor(invocationOf(command), options));
    });
  program
    .command("ledger")
    .description("what was done to the brain, latest first")
    .option("--node <id>", "only what touched this thought or source")
    .option("--since <event>", "only after this event, e_…")
    .option("--limit <n>", "events at most", "20")
    .examples("dormouse ledger", "dormouse ledger --node n_0123456789abcdef")
    .action(async (options: { limit: string }, command: Command) => {
      const { runLedger } = await import("./commands/ledger.ts");
      report(await runLedger(invocationOf(command), options));
    });
  const demo = program
    .command("demo")
    .description("see it work on a small sample, or with PATH on your own folder")
    .argument("[path]", "a folder to read into your own brain (default: the sample, in a throw-away brain)")
    .option("-y, --yes", "read PATH without asking")
    .examples("dormouse demo", "dormouse demo ~/notes --yes", "dormouse demo recall")
    .action(async (path: string | undefined, options: object, command: Command) => {
      const { runDemo } = await import("./commands/demo.ts");
      report(await runDemo(invocationOf(command), path, options));
    });
  demo
    .command("recall")
    .description("see a bad source pulled back, in a throw-away brain")
    .examples("dormouse demo recall")
    .action(async (_options: object, command: Command) => {
      const { runDemoRecall } = await import("./commands/demo-recall.ts");
      report(await runDemoRecall(invocationOf(command)));
    });
}
