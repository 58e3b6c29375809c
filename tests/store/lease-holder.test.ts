import { spawn } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nameHolder, stateOfHolder } from "../../src/store/lease-holder.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

/** The name with one part changed: 1 machine, 2 its start, 3 space of process ids, 4 start of the process. */
function altered(part: number): string {
  return nameHolder()
    .split("/")
    .map((text, index) => (index === part ? `${text}9` : text))
    .join("/");
}

/** Takes the lease under a name, as a process of this id. */
function holdAs(holder: string, pid: number): void {
  brain.store.leases.acquire("sleep", holder, 600_000);
  brain.store.write(() => brain.store.connection.sql("UPDATE lease SET pid = ?").run(pid));
}

describe("a lease whose holder", () => {
  it("lives on this machine is refused, with the process, the time that is left and what to do", () => {
    holdAs(nameHolder(), process.pid);
    brain.clock.advance(150_000);
    expect(() => brain.store.leases.hold("sleep", 1_000)).toThrow(
      expect.objectContaining({
        code: "lease_held",
        message: expect.stringMatching(
          new RegExp(`^process ${process.pid} has been at "sleep" .*for 8 minutes more at most$`),
        ),
        hint: expect.stringContaining("takes over at once"),
      }),
    );
  });

  it("is somewhere else is refused until it has run out, whatever lives here under its number", () => {
    for (const [part, pid] of [
      [1, process.pid],
      [1, 2 ** 22 + 1],
      [3, 2 ** 22 + 1],
    ] as const) {
      const holder = altered(part);
      expect(stateOfHolder(holder, pid)).toBe("elsewhere");
      holdAs(holder, pid);
      expect(() => brain.store.leases.hold("sleep", 1_000)).toThrow(
        expect.objectContaining({ code: "lease_held", message: expect.stringContaining("on another machine") }),
      );
      brain.clock.advance(600_001);
      brain.store.leases.hold("sleep", 1_000).release();
    }
  });

  it("has ended is taken over at once", () => {
    const holder = nameHolder();
    expect(stateOfHolder(holder, process.pid)).toBe("running");
    expect(stateOfHolder(holder, 2 ** 22 + 1)).toBe("gone");
    holdAs(holder, 2 ** 22 + 1);
    brain.store.leases.hold("sleep", 1_000).release();
  });

  it("was named by an older version is judged by its process alone", () => {
    expect(stateOfHolder("a", process.pid)).toBe("running");
    expect(stateOfHolder("a", 2 ** 22 + 1)).toBe("gone");
  });

  describe.runIf(process.platform === "linux")("can be looked at", () => {
    it("is gone when the machine was started since, or its number went to another process", () => {
      expect(stateOfHolder(altered(2), process.pid)).toBe("gone");
      expect(stateOfHolder(altered(4), process.pid)).toBe("gone");
      holdAs(altered(4), process.pid);
      brain.store.leases.hold("sleep", 1_000).release();
    });

    it("is gone when it was killed and nobody has asked for its end", async () => {
      // The parent becomes a program that never asks.
      const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec sleep 600"], {
        stdio: ["ignore", "pipe", "ignore"],
      });
      try {
        const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (text) => resolve(Number(text))));
        expect(stateOfHolder("a", pid)).toBe("running");
        process.kill(pid, "SIGKILL");
        await expect.poll(() => stateOfHolder("a", pid)).toBe("gone");
        // It still has its number.
        expect(process.kill(pid, 0)).toBe(true);
      } finally {
        parent.kill("SIGKILL");
      }
    });
  });
});
