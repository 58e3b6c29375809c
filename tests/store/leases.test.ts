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

  it("answers busy while another process writes, whatever is asked of it", () => {
    const { leases, connection } = brain.store;
    leases.acquire("sleep", "a", 1_000);
    connection.db.pragma("busy_timeout = 1");
    const other = new Database(brain.path);
    other.exec("BEGIN IMMEDIATE");
    const busy = expect.objectContaining({ name: "DormouseError", code: "busy" });
    expect(() => leases.acquire("sleep", "a", 1_000)).toThrow(busy);
    expect(() => leases.renew("sleep", "a", 1_000)).toThrow(busy);
    expect(() => leases.release("sleep", "a")).toThrow(busy);
    other.exec("ROLLBACK");
    other.close();
    leases.release("sleep", "a");
    expect(leases.get("sleep")).toBeNull();
  });
});
