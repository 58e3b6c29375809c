import Database from "better-sqlite3";
import * as sqliteVec from "sqlite-vec";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SourceInput } from "../../src/core/types.ts";
import { addLegs } from "../../src/recall/legs.ts";
import { recall } from "../../src/recall/recall.ts";
import { forget } from "../../src/recall/states.ts";
import { encodeIds } from "../../src/store/id-list.ts";
import { Store } from "../../src/store/store.ts";
import { verifyHistory } from "../../src/store/verify.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";
import { createTestFolder, extract, type TestFolder } from "../support/extract.ts";

const tool = (name: string): SourceInput => ({ type: "tool", key: name, name, trust: "unknown" });

let folder: TestFolder;
let brain: TestStore;
/** Local ids of what the changes below are about. */
let ids: { met: number; derived: number; forgotten: number; copy: number; survivor: number };
let recalls: { first: number; second: number };

beforeEach(async () => {
  folder = createTestFolder();
  folder.write("vault/.obsidian/app.json", "{}");
  folder.write("vault/a.md", "# A\n\nthe ferry leaves at nine, see [[b]]\n\nthe harbour is old\n");
  folder.write("vault/b.md", "# B\n\nferries are slow\n");
  brain = createTestStore();
  await extract(brain, folder.path);
  folder.write("vault/a.md", "# A\n\nthe ferry leaves at nine, see [[b]]\n");
  await extract(brain, folder.path);
  const [met, forgotten, copy, survivor] = await brain.remember(
    { content: "the bridge is closed", occurrence: { source: tool("one") }, subjects: ["bridge"], speaker: "Ann" },
    "the lift is slow",
    { content: "the road is wet", occurrence: { source: tool("three") } },
    { content: "the road is wet today", occurrence: { source: tool("one") } },
  );
  await brain.remember({
    content: "the bridge is closed",
    occurrence: { source: tool("two") },
    speaker: "Ann",
    referent: { from: 1_000, to: 2_000 },
  });
  const [derived] = await brain.remember({
    content: "go by the ferry",
    legs: [{ parents: [met?.id ?? ""] }, { parents: [forgotten?.id ?? ""] }],
  });
  const local = (node: { id: string | null } | undefined) => brain.store.thoughts.resolve(node?.id ?? "");
  ids = {
    met: local(met),
    derived: local(derived),
    forgotten: local(forgotten),
    copy: local(copy),
    survivor: local(survivor),
  };
  addLegs(brain.store, derived?.id ?? "", { axiom: true }, "person");
  forget(brain.store, forgotten?.id ?? "", "it was repaired", "person");
  brain.store.write(() => {
    brain.store.tombstones.add(brain.store.scopes.loosest(), Buffer.alloc(16, 7), "person");
    brain.store.ledger.record({
      kind: "merged",
      actor: "sleep",
      payload: {},
      changes: [{ nodeId: ids.copy, axis: "merged_into", to: ids.survivor }],
    });
  });
  const seqOf = (pattern: string) =>
    Number(recall(brain.store, { sources: pattern }, {}, "person").event?.replace("e_", ""));
  recalls = { first: seqOf("two"), second: seqOf("one") };
});
afterEach(() => {
  brain.close();
  folder.close();
});

/** Verifies the file again after somebody with any SQLite tool has changed it: every trigger is dropped first. */
function verifyAfter(change: (db: Database.Database) => unknown) {
  expect(verifyHistory(brain.store).problems).toEqual([]);
  const db = new Database(brain.path);
  sqliteVec.load(db);
  const triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all() as string[];
  for (const trigger of triggers) db.exec(`DROP TRIGGER ${trigger}`);
  db.pragma("foreign_keys = OFF");
  const before = db.prepare("SELECT total_changes()").pluck().get();
  change(db);
  expect(db.prepare("SELECT total_changes()").pluck().get()).not.toBe(before);
  db.close();
  const reopened = Store.open(brain.path, brain.clock);
  try {
    return verifyHistory(reopened);
  } finally {
    reopened.close();
  }
}

describe("verify names a changed column that no event speaks of:", () => {
  const changes: [string, RegExp, () => string][] = [
    ["a thought's time", /time of the thought/, () => `UPDATE node SET referent_from = 1 WHERE id = ${ids.met}`],
    [
      "a thought's time that is an earlier meeting's",
      /not of the latest/,
      () => `UPDATE node SET referent_from = NULL, referent_to = NULL, referent_kind = 0 WHERE id = ${ids.met}`,
    ],
    ["a stale flag", /stale by no event/, () => `UPDATE node SET stale_by = 5 WHERE id = ${ids.derived}`],
    ["the role of a parent", /takes a source for/, () => "UPDATE derivation SET parent_role = 1 - parent_role"],
    [
      "the leg of a meeting",
      /another leg than its event/,
      () => `UPDATE occurrence SET leg_id = (SELECT min(leg_id) FROM occurrence WHERE node_id = ${ids.met})
        WHERE node_id = ${ids.met}`,
    ],
    [
      "the end of a meeting",
      /the leg that it belongs to has ended/,
      () => "UPDATE occurrence SET ended_seq = NULL WHERE ended_seq IS NOT NULL",
    ],
    [
      "the link of a mention",
      /a link that is not its own/,
      () => `INSERT INTO link (type, from_id, to_id, weight, added_seq) VALUES (1, ${ids.met}, ${ids.derived}, 900, 5);
        UPDATE mention SET link_id = last_insert_rowid() WHERE link_id IS NOT NULL`,
    ],
    ["a lifted tombstone", /lifted by no event/, () => "UPDATE tombstone SET lifted_seq = added_seq"],
    ["a scope of consent", /scope of consent by no event/, () => "UPDATE subject SET consent_scope_id = 1"],
    [
      "an alias",
      /got an alias/,
      () => "INSERT INTO subject_alias (subject_id, label_id, added_seq) SELECT id, label_id, added_seq FROM subject",
    ],
    ["the scope of a source", /kept in another scope/, () => "UPDATE node SET scope_id = 1 WHERE role = 0"],
    [
      "the kind of a source",
      /of a kind of thoughts/,
      () => `UPDATE node SET kind_id = (SELECT kind_id FROM node WHERE id = ${ids.met}) WHERE role = 0`,
    ],
    ["a value key", /would be met again/, () => `UPDATE node SET value_key = randomblob(16) WHERE id = ${ids.met}`],
    ["a value key that is gone", /would be met again/, () => `UPDATE node SET value_key = NULL WHERE id = ${ids.met}`],
    [
      "a label's digest",
      /a label is found/,
      () => "UPDATE label SET digest = randomblob(16) WHERE id = (SELECT max(id) FROM label)",
    ],
    [
      "a leg's digest",
      /not that of its parents/,
      () => `UPDATE leg SET parents_digest = randomblob(16) WHERE node_id = ${ids.derived} AND axiom = 1`,
    ],
    [
      "the recall that a node lies under",
      /another recall than the one/,
      () => `UPDATE node SET recalled_by = ${recalls.first} WHERE recalled_by = ${recalls.second}`,
    ],
    [
      "what came out from behind a survivor",
      /brought out from behind/,
      () => `UPDATE recall_effect SET released = x'' WHERE event_seq = ${recalls.second}`,
    ],
    [
      "words that nobody wrote",
      /words that belong to nothing/,
      () => "INSERT INTO content (salt, body) VALUES (randomblob(32), CAST('slipped in' AS BLOB))",
    ],
    [
      "words given to two",
      /belong to something else/,
      () =>
        `UPDATE node SET content_id = (SELECT content_id FROM node WHERE id = ${ids.met}) WHERE id = ${ids.derived}`,
    ],
  ];
  it.each(changes)("%s", (_, message, sql) => {
    const { ok, problems } = verifyAfter((db) => db.exec(sql()));
    expect(ok).toBe(false);
    expect(problems.map((problem) => problem.message).join("\n")).toMatch(message);
  });

  it("a list of what came out that names another", () => {
    const { problems } = verifyAfter((db) =>
      db.prepare("UPDATE recall_effect SET released = ? WHERE event_seq = ?").run(encodeIds([ids.met]), recalls.second),
    );
    expect(problems).toContainEqual(
      expect.objectContaining({ name: "row_differs", event: `e_${recalls.second}`, node: null }),
    );
  });

  it("and the node that it belongs to", () => {
    const { problems } = verifyAfter((db) =>
      db.exec(`UPDATE node SET value_key = randomblob(16) WHERE id = ${ids.met}`),
    );
    expect(problems).toEqual([
      expect.objectContaining({ name: "row_differs", node: brain.store.thoughts.publicId(ids.met) }),
    ]);
  });
});
