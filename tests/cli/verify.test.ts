import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { Census, Checkpoint, Verification } from "../../src/app.ts";
import { useCli } from "./run-cli.ts";

const SLOW = 60_000;
const cli = useCli((fresh) => fresh.remember("Lives in Pune"));

describe("verify", { timeout: SLOW }, () => {
  it("passes with status 0, knows the head that stats prints, and fails with status 1 after tampering", async () => {
    const { ledger } = await cli.json<Census>(["stats"]);
    expect(ledger.head).toMatch(/^e_\d+:[0-9a-f]{64}$/);
    await cli.remember("Lives in Goa");
    const verified = await cli.json<Verification>(["verify", "--head", ledger.head]);
    expect(verified).toMatchObject({ ok: true, relation: "extends", checkpoint: null, problems: [] });
    const stats = await cli.run(["stats"]);
    const printed = /head (e_\d+:[0-9a-f]{16})/.exec(stats.stdout)?.[1] ?? "";
    expect(await cli.json<Verification>(["verify", "--head", printed])).toMatchObject({ relation: "head" });

    const db = new Database(cli.brain);
    db.exec("DROP TRIGGER event_update; UPDATE event SET at = at + 1 WHERE seq = 9");
    db.close();
    const failed = await cli.run(["verify"]);
    expect(failed.status).toBe(1);
    expect(failed.stdout).toContain("event_altered e_9");
  });

  it("takes a checkpoint, and refuses what is none or two heads at once", async () => {
    const file = join(cli.home, "point.json");
    const made = await cli.json<Checkpoint>(["checkpoint", file]);
    expect(existsSync(made.keyFile)).toBe(true);
    await cli.remember("Lives in Goa");
    const args = ["verify", "--checkpoint", file];
    expect(await cli.json<Verification>([...args, "--key", made.fingerprint])).toMatchObject({
      ok: true,
      relation: "extends",
      checkpoint: { fingerprint: made.fingerprint, head: made.head },
    });
    expect((await cli.run([...args, "--key", "0".repeat(32)])).status).toBe(2);
    expect((await cli.run([...args, "--head", made.head])).status).toBe(2);
    expect((await cli.run(["verify", "--head", "nonsense"])).status).toBe(2);
    expect((await cli.run(["checkpoint", file])).status).toBe(2);
    expect((await cli.run(["verify", "--checkpoint", join(cli.home, "none.json")])).status).toBe(1);
  });
});
