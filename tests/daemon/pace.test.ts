/** Resting between batches, on clocks that the test moves. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPacer } from "../../src/daemon/pace.ts";

function createClock() {
  let cpu = 0;
  let wall = 0;
  let rested = 0;
  return {
    clock: {
      cpuMs: () => cpu,
      wallMs: () => wall,
      sleep: async (ms: number) => {
        wall += ms;
        rested += ms;
      },
    },
    work: (ms: number) => {
      cpu += ms;
      wall += ms;
    },
    wait: (ms: number) => {
      wall += ms;
    },
    read: () => ({ cpu, wall, rested }),
  };
}

const never = new AbortController().signal;

describe("the pace of a night", () => {
  it("keeps to its share of a processor over any batches", async () => {
    const batches = fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 5, maxLength: 80 });
    await fc.assert(
      fc.asyncProperty(batches, fc.double({ min: 0.05, max: 0.95, noNaN: true }), async (works, share) => {
        const machine = createClock();
        const rest = createPacer(share, never, machine.clock);
        for (const ms of works) {
          machine.work(ms);
          await rest();
        }
        const { cpu, wall } = machine.read();
        // Less than ten milliseconds may not yet have been worth a rest.
        expect(cpu).toBeLessThanOrEqual(share * (wall + 10) + 1e-6);
        // Control: it worked as fast as it may.
        expect(wall).toBeLessThanOrEqual(Math.max(cpu / share, cpu) + 1e-6);
      }),
    );
  });

  it("rests once for many small batches", async () => {
    const machine = createClock();
    const rest = createPacer(0.5, never, machine.clock);
    for (let at = 0; at < 9; at++) {
      machine.work(1);
      await rest();
    }
    expect(machine.read().rested).toBe(0);
    machine.work(1);
    await rest();
    expect(machine.read().rested).toBe(10);
  });

  it("saves nothing up while it waits for others", async () => {
    const machine = createClock();
    const rest = createPacer(0.5, never, machine.clock);
    machine.wait(600_000);
    await rest();
    machine.work(1_000);
    await rest();
    expect(machine.read().rested).toBe(1_000);
  });

  it("does not rest with the whole processor, nor once called off", async () => {
    const machine = createClock();
    machine.work(5_000);
    await createPacer(1, never, machine.clock)();
    const rest = createPacer(0.1, AbortSignal.abort(), machine.clock);
    machine.work(5_000);
    await rest();
    expect(machine.read().rested).toBe(0);
  });

  it("ends a real rest when called off", async () => {
    const stop = new AbortController();
    const rest = createPacer(0.001, stop.signal);
    for (const until = performance.now() + 100; performance.now() < until; );
    setTimeout(() => stop.abort(), 20);
    // Without the signal this would take ten seconds, and the test would run into its time limit.
    await rest();
    expect(stop.signal.aborted).toBe(true);
  });
});
