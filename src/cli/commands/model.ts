/**
 * `dormouse model`: which embedding models there are, which one the brain uses, and the change to another. The
 * change may go on in a process of its own, which says nothing; `status` tells how far it is.
 */
import { spawn } from "node:child_process";
import type { ListedModel, ModelStatus } from "../../app.ts";
import { DormouseError } from "../../core/errors.ts";
import { type ExitStatus, endOnInterrupt, type Invocation, withBrain } from "../invocation.ts";
import { printable, type Style } from "../output.ts";
import { countOf } from "../render.ts";

interface UseFlags {
  readonly dir?: string;
  readonly queryPrefix?: string;
  readonly passagePrefix?: string;
  readonly background?: boolean;
}

/** What `model use` prints in JSON; `process` is the id of the one that goes on, or null. */
interface UseReport extends ModelStatus {
  readonly process: number | null;
}

export async function runModelList(invocation: Invocation): Promise<ExitStatus> {
  const models = await withBrain(invocation, (brain) => brain.listModels());
  invocation.output.print(models, renderList);
  return 0;
}

export async function runModelStatus(invocation: Invocation): Promise<ExitStatus> {
  const status = await withBrain(invocation, (brain) => brain.modelStatus());
  invocation.output.print(status, renderStatus);
  return 0;
}

export async function runModelUse(invocation: Invocation, name: string, flags: UseFlags): Promise<ExitStatus> {
  const { output } = invocation;
  const options = {
    ...(flags.dir === undefined ? {} : { directory: flags.dir }),
    ...(flags.queryPrefix === undefined ? {} : { queryPrefix: flags.queryPrefix }),
    ...(flags.passagePrefix === undefined ? {} : { passagePrefix: flags.passagePrefix }),
    onProgress: output.progress,
    prepareOnly: flags.background === true,
  };
  endOnInterrupt(output);
  const { status, path } = await withBrain(invocation, async (brain) => ({
    status: await brain.useModel(name, options),
    path: brain.path,
  }));
  const isBackground = flags.background === true && status.building !== null;
  const report: UseReport = { ...status, process: isBackground ? startInBackground(invocation, path, name) : null };
  output.print(report, renderUse);
  return 0;
}

/** Starts this program again, by itself and without a terminal. @returns its process id */
function startInBackground({ modelDirectory }: Invocation, brain: string, name: string): number {
  const [node, program] = process.argv;
  if (node === undefined || program === undefined)
    throw new DormouseError("io", "this program cannot be started again");
  const place = modelDirectory === undefined ? [] : ["--model-dir", modelDirectory];
  const child = spawn(
    node,
    [...process.execArgv, program, "--brain", brain, ...place, "model", "use", "--json", "--", name],
    { detached: true, stdio: "ignore" },
  );
  if (child.pid === undefined) throw new DormouseError("io", "no process could be started for the background");
  child.unref();
  return child.pid;
}

function renderList(models: readonly ListedModel[], style: Style): string {
  const width = Math.max(...models.map(({ name }) => name.length));
  return models
    .map((model) => {
      const states = [model.active ? "in use" : "", model.building ? "being built" : ""].filter(
        (state) => state !== "",
      );
      const name = printable(model.name.padEnd(width));
      return `${model.active ? style.bold(name) : name}  ${[...states, placeOf(model)].join(", ")}`;
    })
    .join("\n");
}

function placeOf({ directory, missing, present, repository }: ListedModel): string {
  if (directory !== null && !present) return printable(`${directory} lacks ${missing.join(", ")}`);
  if (directory !== null) return printable(directory);
  if (present) return "part of this package";
  return repository === null ? "not on this machine" : `not on this machine; \`model use\` fetches ${repository}`;
}

function renderStatus(status: ModelStatus): string {
  const { active, building, current } = status;
  const lines = [
    active === null
      ? "no vectors yet: the built-in model makes the first"
      : `in use    ${describe(active)}, ${countOf(active.vectors, "vector")}`,
  ];
  if (!current)
    lines.push("          made by an older built-in model: a sleep or `dormouse model use builtin` makes them again");
  if (building !== null) {
    const { done, total, process, name } = building;
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    lines.push(`building  ${describe(building)}, ${done} of ${total} (${percent} %)`);
    lines.push(
      process === null
        ? `          stopped; \`dormouse model use ${printable(name)}\` or a sleep goes on`
        : `          process ${process} is at it`,
    );
  }
  return lines.join("\n");
}

function describe({ name, revision, dimensions }: { name: string; revision: string; dimensions: number }): string {
  return `${printable(name)}, revision ${revision.slice(0, 12)}, ${countOf(dimensions, "dimension")}`;
}

function renderUse(report: UseReport): string {
  if (report.process !== null) {
    // The process that was just started takes its lease in a moment; until then the status would say "stopped".
    const status =
      report.building === null ? report : { ...report, building: { ...report.building, process: report.process } };
    return `process ${report.process} makes the vectors; \`dormouse model status\` says how far\n${renderStatus(status)}`;
  }
  return renderStatus(report);
}
