/**
 * A scripted language model as a command: the prompt on standard input, the answer on standard output. The first
 * argument says how it behaves, the second is what it needs for that.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

const [behaviour = "", detail = ""] = process.argv.slice(2);

async function readInput() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

const behaviours = {
  answer: async () => {
    await readInput();
    process.stdout.write(detail);
  },
  echo: async () => {
    process.stdout.write(await readInput());
  },
  deaf: () => process.stdout.write("I did not listen."),
  silent: () => setInterval(() => {}, 1_000),
  trickle: () => setInterval(() => process.stdout.write("a"), 20),
  huge: () => {
    const more = () => process.stdout.write("a".repeat(65_536), more);
    more();
  },
  bytes: () => process.stdout.write(Buffer.from(detail, "hex")),
  fail: async () => {
    const words = await readInput();
    process.stdout.write(words);
    process.stderr.write(words);
    process.exitCode = 3;
  },
  surroundings: () => {
    process.stdout.write(
      JSON.stringify({ folder: process.cwd(), arguments: process.argv.slice(3), environment: process.env }),
    );
  },
  /** Leaves a process behind that outlives it, and tells its id in a file. */
  family: async () => {
    await readInput();
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: ["ignore", "inherit", "ignore"],
    });
    writeFileSync(detail, `${process.pid} ${child.pid}`);
    process.stdout.write("done");
    child.unref();
    process.exit(0);
  },
  /** The same, but it does not end by itself. */
  clan: async () => {
    await readInput();
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    writeFileSync(detail, `${process.pid} ${child.pid}`);
    setInterval(() => {}, 1_000);
  },
};

await behaviours[behaviour]();
