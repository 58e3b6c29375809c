import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

describe("a lease", () => {
  it("is renewed and given back by its holder only", () => {
    const { leases } = brain.store;
    leases.acquire("sleep", "a", 1_000);
    leases.release("sleep", "b");
    expect(leases.get("sleep")?.holder).toBe("a");
    expect(() => leases.renew("sleep", "b", 1_000)).toThrow(expect.objectContaining({ code: "lease_held" }));
    brain.clock.advance(500);
    leases.renew("sleep", "a", 1_000);
    expect(leases.get("sleep")?.expiresAt).toBe(brain.store.now() + 1_000);
    leases.release("sleep", "a");
    expect(leases.get("sleep")).toBeNull();
  });

  it("that is held is renewed once a third of its time is gone, and lost to whoever took it over", () => {
    const { leases } = brain.store;
    expect(leases.runningHolder("model")).toBeNull();
    const held = leases.hold("model", 900);
    const taken = brain.store.now();
    expect(leases.runningHolder("model")).toBe(process.pid);
    expect(() => leases.hold("model", 900)).toThrow(expect.objectContaining({ code: "lease_held" }));
    brain.clock.advance(300);
    held.keep();
    expect(leases.get("model")?.expiresAt).toBe(taken + 900);
    brain.clock.advance(1);
    held.keep();
    expect(leases.get("model")?.expiresAt).toBe(taken + 301 + 900);
    brain.clock.advance(1_000);
    expect(leases.runningHolder("model")).toBeNull();
    const other = leases.hold("model", 900);
    expect(() => held.keep()).toThrow(expect.objectContaining({ code: "lease_held" }));
    held.release();
    expect(leases.runningHolder("model")).toBe(process.pid);
    other.release();
    expect(leases.get("model")).toBeNull();
  });

  it("answers busy while another process writes, whatever is asked of it", () => {
    const { leases, connection } = brain.store;
    leases.acquire("sleep", "a", 1_000);
    const held = leases.hold("model", 1_000);
    connection.db.pragma("busy_timeout = 1");
    const other = new Database(brain.path);
    other.exec("BEGIN IMMEDIATE");
    const busy = expect.objectContaining({ name: "DormouseError", code: "busy" });
    expect(() => leases.acquire("sleep", "a", 1_000)).toThrow(busy);
    expect(() => leases.renew("sleep", "a", 1_000)).toThrow(busy);
    expect(() => leases.release("sleep", "a")).toThrow(busy);
    // Whoever holds one has a result or a failure of its own to tell.
    expect(() => held.release()).not.toThrow();
    expect(leases.runningHolder("model")).toBe(process.pid);
    other.exec("ROLLBACK");
    other.close();
    leases.release("sleep", "a");
    expect(leases.get("sleep")).toBeNull();
  });
});
