import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { forget, pin, revive, unpin } from "../../src/recall/states.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(() => {
  brain = createTestStore();
});
afterEach(() => brain.close());

const seed = async () => {
  const [a, b] = await brain.remember("one thing", { content: "another thing", tags: ["t"], domain: "d" });
  return { a: a?.id ?? "", b: b?.id ?? "" };
};

describe("the ledger", () => {
  it("chains every event from the first", async () => {
    const { a } = await seed();
    forget(brain.store, a, "no longer true", "person");
    expect(brain.store.ledger.firstBreak()).toBeNull();
    expect(brain.store.ledger.head().seq).toBeGreaterThan(5);
  });

  it.each([
    ["changed", "UPDATE event SET at = at + 1 WHERE seq = 7", 7],
    ["dropped", "DELETE FROM event WHERE seq = 7", 7],
    [
      "swapped",
      "UPDATE event SET seq = CASE seq WHEN 7 THEN -7 ELSE seq END; UPDATE event SET seq = 7 WHERE seq = 8; UPDATE event SET seq = 8 WHERE seq = -7",
      7,
    ],
    ["recoloured", "UPDATE event SET payload = CAST('{}' AS BLOB) WHERE seq = 9", 9],
  ])("names the first event that was %s", async (_, tampering, seq) => {
    await seed();
    brain.store.connection.db.exec("DROP TRIGGER event_update; DROP TRIGGER event_delete;");
    brain.store.connection.db.exec(tampering);
    expect(brain.store.ledger.firstBreak()).toBe(seq);
  });

  it("refuses to change or drop an event", async () => {
    await seed();
    const { db } = brain.store.connection;
    expect(() => db.exec("UPDATE event SET at = 0")).toThrow("append-only");
    expect(() => db.exec("DELETE FROM event")).toThrow("append-only");
    expect(() =>
      db.exec(
        "INSERT OR REPLACE INTO event SELECT ledger_id, seq, version, kind, actor, 0, payload, commitment, chain FROM event WHERE seq = 3",
      ),
    ).toThrow();
    expect(brain.store.ledger.firstBreak()).toBeNull();
  });

  it("refuses a state change that goes past the audit helper", async () => {
    const { a } = await seed();
    const { db } = brain.store.connection;
    const nodeId = brain.store.thoughts.resolve(a);
    for (const change of ["decayed = 1", "belief = 3", "permanence = 2", "trust = 0", "scope_id = 1", `due_at = 5`]) {
      expect(() => db.exec(`UPDATE node SET ${change} WHERE id = ${nodeId}`)).toThrow("together with its transition");
    }
    pin(brain.store, a, "person");
    expect(brain.store.thoughts.state(nodeId).permanence).toBe("pinned");
  });

  it("refuses a transition of any event but the one just written", async () => {
    const { a } = await seed();
    const nodeId = brain.store.thoughts.resolve(a);
    const { db } = brain.store.connection;
    for (const seq of [99_999, 3]) {
      expect(() =>
        db.exec(`INSERT INTO transition (event_seq, node_id, axis, old, new) VALUES (${seq}, ${nodeId}, 1, 0, 1)`),
      ).toThrow("the event that was just written");
    }
  });

  it("goes on numbering in a new ledger, so that older rows keep their events", async () => {
    const { a } = await seed();
    const before = brain.store.ledger.head();
    brain.store.connection.db.exec(
      `UPDATE ledger SET writing = NULL;
       INSERT INTO ledger (id, public_id, started_at, own, writing, first_seq, genesis, continues_id)
       VALUES (2, zeroblob(10), 0, 1, 1, ${before.seq + 1}, x'${before.chain.toString("hex")}', 1)`,
    );
    const path = brain.store.connection.path;
    const reopened = createTestStore({ path });
    forget(reopened.store, a, "later", "person");
    revive(reopened.store, a, "person");
    expect(reopened.store.ledger.head().seq).toBe(before.seq + 2);
    expect(reopened.store.ledger.firstBreak()).toBeNull();
    reopened.close();
  });

  it("holds no word of a thought, its labels or its reasons", async () => {
    await brain.remember({
      content: "Zanzibar content",
      kind: "Zanzibar kind",
      domain: "Zanzibar domain",
      tags: ["Zanzibar tag"],
      aspects: ["Zanzibar aspect"],
      facets: [{ name: "Zanzibar name", value: "Zanzibar value" }],
      subjects: ["Zanzibar subject"],
      speaker: "Zanzibar speaker",
      occurrence: {
        source: {
          type: "file",
          key: "/Zanzibar/key",
          name: "Zanzibar source",
          reference: "/Zanzibar/path",
          trust: "trusted",
        },
        recordKey: "Zanzibar record",
      },
    });
    const [{ id } = { id: null }] = await brain.remember("to be forgotten");
    forget(brain.store, id ?? "", "Zanzibar reason", "person");
    const { db } = brain.store.connection;
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
      .pluck()
      .all() as string[];
    const holding = tables.filter((table) => {
      const rows = db.prepare(`SELECT * FROM "${table}"`).raw().all() as unknown[][];
      return rows.some((row) =>
        row.some((cell) => /zanzibar/i.test(Buffer.isBuffer(cell) ? cell.toString("latin1") : String(cell))),
      );
    });
    expect(holding.filter((table) => !table.startsWith("full_text_"))).toEqual(["content"]);
  });

  it("lists what touched a node, newest first", async () => {
    const { a, b } = await seed();
    pin(brain.store, a, "person");
    unpin(brain.store, a, "person");
    forget(brain.store, a, "r", "person");
    revive(brain.store, a, "person");
    const nodeId = brain.store.thoughts.resolve(a);
    const events = brain.store.ledger.list({ nodeId, limit: 10 });
    expect(events.map(({ kind }) => kind)).toEqual([
      "revived",
      "decayed",
      "permanence.changed",
      "permanence.changed",
      "thought.created",
    ]);
    expect(JSON.stringify(events)).not.toContain(b);
    expect(events[0]?.payload).toMatchObject({ states: [[a, "decayed", "forgotten", "none"]] });
  });

  it("asks for a state that already holds without an event", async () => {
    const { a } = await seed();
    pin(brain.store, a, "person");
    const { seq } = brain.store.ledger.head();
    expect(pin(brain.store, a, "person")).toMatchObject({ changed: false, event: null });
    expect(revive(brain.store, a, "person")).toMatchObject({ changed: false });
    expect(brain.store.ledger.head().seq).toBe(seq);
  });
});
