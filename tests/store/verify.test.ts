import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import * as sqliteVec from "sqlite-vec";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readCheckpoint, writeCheckpoint } from "../../src/app/checkpoint.ts";
import { contradict, supersede } from "../../src/recall/belief.ts";
import { recall, unrecall } from "../../src/recall/recall.ts";
import { forget, pin } from "../../src/recall/states.ts";
import { setTrust } from "../../src/recall/trust.ts";
import { encodeIds } from "../../src/store/id-list.ts";
import { formatHead } from "../../src/store/ledger.ts";
import { Store } from "../../src/store/store.ts";
import { type VerifyOptions, type VerifyReport, verifyHistory } from "../../src/store/verify.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
let ids: { a: string; b: string; c: string; d: string; recalled: string };
let recallSeq: number;

beforeEach(async () => {
  brain = createTestStore();
  const [a, b] = await brain.remember(
    {
      content: "the flat has two rooms",
      tags: ["lisbon"],
      facets: [{ name: "size", value: "small" }],
      subjects: ["landlord"],
    },
    {
      content: "the flat costs 900 euros",
      occurrence: { source: { name: "page", type: "page", key: "p", reference: "page one", trust: "unknown" } },
    },
  );
  const [c] = await brain.remember({
    content: "two rooms for 900 are cheap",
    legs: [{ parents: [a?.id ?? "", b?.id ?? ""] }],
  });
  const [d, recalled] = await brain.remember(
    { content: "the tram stops at the door", confidence: 40 },
    {
      content: "umbrellas are not needed",
      occurrence: { source: { name: "weather", type: "tool", key: "w", trust: "unknown" } },
    },
  );
  ids = { a: a?.id ?? "", b: b?.id ?? "", c: c?.id ?? "", d: d?.id ?? "", recalled: recalled?.id ?? "" };
  const [e, f] = await brain.remember("the door is blue", "the door is red");
  pin(brain.store, ids.a, "person");
  contradict(brain.store, e?.id ?? "", f?.id ?? "", "person", { reason: "two colours" });
  supersede(brain.store, ids.d, ids.b, "person");
  forget(brain.store, ids.d, "moved away", "person");
  setTrust(brain.store, { sources: "page" }, "untrusted", "person");
  const undone = recall(brain.store, { ids: [ids.b] }, {}, "person");
  unrecall(brain.store, undone.event ?? "", "person");
  const { event } = recall(brain.store, { sources: "weather" }, { rule: "strict" }, "person");
  recallSeq = Number(event?.slice(2));
});
afterEach(() => brain.close());

const verify = (options: VerifyOptions = {}): VerifyReport => verifyHistory(brain.store, options);
const local = (id: string) => brain.store.thoughts.resolve(id);
const at = (sql: string): number => Number(brain.store.connection.db.prepare(sql).pluck().get());
const named = (report: VerifyReport) => report.problems.map(({ name, event, node }) => ({ name, event, node }));

/** Changes the file as somebody with any SQLite tool would: every trigger is dropped first. */
function tamper(change: (db: Database.Database) => void): void {
  const db = new Database(brain.path);
  sqliteVec.load(db);
  const triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all() as string[];
  for (const trigger of triggers) db.exec(`DROP TRIGGER ${trigger}`);
  db.pragma("foreign_keys = OFF");
  change(db);
  db.close();
}

describe("verify", () => {
  it("passes a brain in which all of this happened, and prints its head", () => {
    const report = verify();
    expect(report.problems).toEqual([]);
    expect(report).toMatchObject({ ok: true, problemCount: 0, head: formatHead(brain.store.ledger.head()) });
    expect(report.events).toBe(brain.store.ledger.head().seq);
    expect(report.rows).toBeGreaterThan(40);
  });

  it("changes nothing", () => {
    const before = at("SELECT total_changes()");
    verify();
    expect(at("SELECT total_changes()")).toBe(before);
  });

  it("checks only what came since, when asked", () => {
    tamper((db) => db.exec("UPDATE event SET at = at + 1 WHERE seq = 12"));
    expect(verify().ok).toBe(false);
    expect(verify({ since: "e_12" })).toMatchObject({ ok: true, events: brain.store.ledger.head().seq - 12 });
    expect(verify({ since: "11" }).problems).toMatchObject([{ name: "event_altered", event: "e_12" }]);
  });

  describe("names tampering with events:", () => {
    it("one whose time was changed, and it alone", () => {
      tamper((db) => db.exec("UPDATE event SET at = at + 1 WHERE seq = 12"));
      expect(named(verify())).toEqual([{ name: "event_altered", event: "e_12", node: null }]);
    });

    it("one whose payload was changed, and the rows that do not bear it out", () => {
      const seq = at("SELECT seq FROM event WHERE kind = 'thought.created' LIMIT 1");
      tamper((db) =>
        db.exec(
          `UPDATE event SET payload = CAST(replace(CAST(payload AS TEXT), '"told"', '"observed"') AS BLOB) WHERE seq = ${seq}`,
        ),
      );
      expect(named(verify())).toContainEqual({ name: "event_altered", event: `e_${seq}`, node: null });
    });

    it("one dropped from the middle", () => {
      tamper((db) => db.exec("DELETE FROM event WHERE seq = 12"));
      expect(verify().problems).toContainEqual(expect.objectContaining({ name: "event_missing", event: "e_12" }));
      expect(named(verify()).map(({ name }) => name)).toContain("row_without_event");
    });

    it("the last ones cut off, by the rows that they made and by an earlier head", () => {
      const head = formatHead(brain.store.ledger.head());
      tamper((db) => db.exec(`DELETE FROM event WHERE seq >= ${recallSeq}`));
      const report = verify({ head });
      expect(named(report)).toContainEqual(
        expect.objectContaining({ name: "row_without_event", event: `e_${recallSeq}` }),
      );
      expect(report).toMatchObject({ ok: false, relation: "unknown" });
    });

    it("two that were swapped", () => {
      tamper((db) =>
        db.exec(`UPDATE event SET seq = -1 WHERE seq = 11; UPDATE event SET seq = 11 WHERE seq = 12;
                 UPDATE event SET seq = 12 WHERE seq = -1`),
      );
      const names = named(verify());
      expect(names).toContainEqual({ name: "event_altered", event: "e_11", node: null });
      expect(names).toContainEqual({ name: "event_altered", event: "e_12", node: null });
    });

    it("one that was appended without the chain", () => {
      tamper((db) =>
        db.exec(`INSERT INTO event SELECT ledger_id, (SELECT max(seq) + 1 FROM event), version, 'thread.split', actor,
                   at, payload, NULL, chain FROM event WHERE seq = 12`),
      );
      const seq = brain.store.ledger.head().seq;
      expect(named(verify())).toContainEqual({ name: "event_altered", event: `e_${seq}`, node: null });
    });
  });

  describe("names tampering with rows:", () => {
    it.each([
      [
        "a thought's kind",
        "UPDATE node SET kind_id = (SELECT kind_id FROM node WHERE role = 0 LIMIT 1) WHERE id = $a",
        "a",
      ],
      ["a thought's confidence", "UPDATE node SET confidence = 99 WHERE id = $d", "d"],
      ["who said it", "UPDATE node SET speaker_id = 1 WHERE id = $a", "a"],
      ["when it was recorded", "UPDATE node SET recorded_at = recorded_at - 86400000 WHERE id = $a", "a"],
      ["decay", "UPDATE node SET decayed = 1 WHERE id = $c", "c"],
      ["belief", "UPDATE node SET belief = 1 WHERE id = $c", "c"],
      ["permanence", "UPDATE node SET permanence = 0 WHERE id = $a", "a"],
      ["trust", "UPDATE node SET trust = 2 WHERE id = $b", "b"],
      ["a recall's mark", "UPDATE node SET recalled_by = NULL WHERE id = $recalled", "recalled"],
      ["the mark of a recall that never was", "UPDATE node SET recalled_by = 5 WHERE id = $c", "c"],
      ["an occurrence's place", "UPDATE occurrence SET ordinal = 7 WHERE node_id = $a", "a"],
      ["a tag", "UPDATE node_tag SET label_id = 1 WHERE node_id = $a", "a"],
      ["an ended tag", "UPDATE node_tag SET ended_seq = added_seq WHERE node_id = $a", "a"],
    ])("%s", (_, sql, id) => {
      expect(verify().ok).toBe(true);
      const filled = sql.replace(/\$(\w+)/, (_match, key: keyof typeof ids) => String(local(ids[key])));
      tamper((db) => db.exec(filled));
      const { ok, problems } = verify();
      expect(ok).toBe(false);
      expect(JSON.stringify(problems)).toContain(ids[id as keyof typeof ids]);
    });

    it("words that were changed", () => {
      tamper((db) =>
        db
          .prepare("UPDATE content SET body = ? WHERE id = (SELECT content_id FROM node WHERE id = ?)")
          .run(Buffer.from("the flat has ten rooms"), local(ids.a)),
      );
      expect(named(verify())).toContainEqual({
        name: "words_differ",
        event: expect.stringMatching(/^e_/),
        node: ids.a,
      });
    });

    it("two thoughts whose words were swapped", () => {
      const words = (id: string) => at(`SELECT content_id FROM node WHERE id = ${local(id)}`);
      const [a, b] = [words(ids.a), words(ids.b)];
      tamper((db) =>
        db.exec(`UPDATE node SET content_id = ${b} WHERE id = ${local(ids.a)};
                 UPDATE node SET content_id = ${a} WHERE id = ${local(ids.b)}`),
      );
      const names = named(verify());
      for (const node of [ids.a, ids.b])
        expect(names).toContainEqual(expect.objectContaining({ name: "words_differ", node }));
    });

    it("words wiped without an erasure", () => {
      tamper((db) =>
        db.exec(
          `UPDATE content SET salt = zeroblob(32), body = zeroblob(length(body)) WHERE id = (SELECT content_id FROM node WHERE id = ${local(ids.a)})`,
        ),
      );
      expect(named(verify())).toContainEqual(expect.objectContaining({ name: "words_missing", node: ids.a }));
    });

    it("a reason that somebody gave", () => {
      tamper((db) =>
        db.exec(
          `UPDATE content SET body = x'41' WHERE id = (SELECT content_id FROM reason ORDER BY event_seq LIMIT 1)`,
        ),
      );
      expect(named(verify())).toEqual([expect.objectContaining({ name: "words_differ" })]);
    });

    it("a leg that rests on something else", () => {
      tamper((db) =>
        db.exec(
          `UPDATE derivation SET parent_id = ${local(ids.d)} WHERE child_id = ${local(ids.c)} AND parent_id = ${local(ids.b)}`,
        ),
      );
      expect(named(verify())).toContainEqual(expect.objectContaining({ name: "row_differs", node: ids.c }));
    });

    it("a leg that was dropped", () => {
      tamper((db) =>
        db.exec(
          `DELETE FROM derivation WHERE child_id = ${local(ids.c)}; DELETE FROM leg WHERE node_id = ${local(ids.c)}`,
        ),
      );
      const { problems } = verify();
      expect(problems).toContainEqual(
        expect.objectContaining({ name: "row_missing", message: expect.stringContaining(ids.c) }),
      );
      expect(problems).toContainEqual(expect.objectContaining({ name: "aliveness_differs", node: ids.c }));
    });

    it("a leg that was slipped in", () => {
      tamper((db) =>
        db.exec(
          `INSERT INTO leg (node_id, axiom, parents_digest, added_seq) VALUES (${local(ids.recalled)}, 1, zeroblob(16), 14)`,
        ),
      );
      expect(named(verify())).toContainEqual({ name: "row_differs", event: "e_14", node: ids.recalled });
    });

    it("a thought that was slipped in", () => {
      tamper((db) =>
        db.exec(`INSERT INTO node (public_id, role, kind_id, scope_id, basis, trust, recorded_at, added_seq)
                 SELECT zeroblob(10), 1, kind_id, scope_id, basis, trust, recorded_at, added_seq FROM node WHERE id = ${local(ids.a)}`),
      );
      expect(named(verify())).toContainEqual({
        name: "row_differs",
        event: expect.anything(),
        node: "n_0000000000000000",
      });
    });

    it("a link that was slipped in, and one whose weight was changed", () => {
      const seq = at("SELECT added_seq FROM link LIMIT 1");
      tamper((db) => db.exec(`UPDATE link SET weight = 1 WHERE added_seq = ${seq}`));
      expect(named(verify())).toEqual([expect.objectContaining({ name: "row_differs", event: `e_${seq}` })]);
      tamper((db) =>
        db.exec(`UPDATE link SET weight = 1000; INSERT INTO link (type, from_id, to_id, weight, added_seq)
                 VALUES (1, ${local(ids.a)}, ${local(ids.b)}, 900, 14)`),
      );
      expect(named(verify())).toEqual([expect.objectContaining({ name: "row_differs", event: "e_14" })]);
    });

    it("a transition that was dropped together with what it did", () => {
      const seq = at(`SELECT event_seq FROM transition WHERE node_id = ${local(ids.a)} AND axis = 3`);
      tamper((db) =>
        db.exec(
          `UPDATE node SET permanence = 0 WHERE id = ${local(ids.a)}; DELETE FROM transition WHERE node_id = ${local(ids.a)} AND axis = 3`,
        ),
      );
      expect(named(verify())).toEqual([expect.objectContaining({ name: "row_missing", event: `e_${seq}` })]);
    });

    it("what a recall took", () => {
      tamper((db) =>
        db
          .prepare("UPDATE recall_effect SET removed = ? WHERE event_seq = ?")
          .run(encodeIds([local(ids.a)]), recallSeq),
      );
      const names = named(verify());
      expect(names).toContainEqual(expect.objectContaining({ name: "aliveness_differs", node: ids.a }));
      expect(names).toContainEqual(expect.objectContaining({ name: "aliveness_differs", node: ids.recalled }));
    });

    it("what a recall pins", () => {
      const seq = at("SELECT event_seq FROM recall_effect WHERE undone_seq IS NOT NULL");
      tamper((db) =>
        db.prepare("UPDATE recall_effect SET pinned = ? WHERE event_seq = ?").run(encodeIds([local(ids.a)]), seq),
      );
      expect(named(verify())).toContainEqual({ name: "row_differs", event: `e_${seq}`, node: ids.a });
    });

    it("a recall that is said to be undone", () => {
      tamper((db) => db.exec(`UPDATE recall_effect SET undone_seq = 12 WHERE event_seq = ${recallSeq}`));
      expect(named(verify())).toContainEqual(
        expect.objectContaining({ name: "aliveness_differs", event: `e_${recallSeq}` }),
      );
    });

    it("erased words that are back", () => {
      const nodeId = local(ids.a);
      const restored = brain.store.connection.db
        .prepare("SELECT c.id, c.salt, c.body FROM content c JOIN node n ON n.content_id = c.id WHERE n.id = ?")
        .get(nodeId) as { id: number; salt: Buffer; body: Buffer };
      const erase = () =>
        brain.store.write(() => {
          const seq = brain.store.ledger.nextSeq();
          brain.store.ledger.record({
            kind: "attributes.set",
            actor: "person",
            payload: {},
            changes: [{ nodeId, axis: "erased_by", to: seq }],
          });
          brain.store.connection.db
            .prepare("UPDATE content SET salt = zeroblob(32), body = zeroblob(length(body)) WHERE id = ?")
            .run(restored.id);
        });
      erase();
      expect(named(verify()).map(({ name }) => name)).not.toContain("words_missing");
      expect(named(verify()).map(({ name }) => name)).not.toContain("words_resurrected");
      tamper((db) =>
        db.prepare("UPDATE content SET salt = ?, body = ? WHERE id = ?").run(restored.salt, restored.body, restored.id),
      );
      expect(named(verify())).toContainEqual(expect.objectContaining({ name: "words_resurrected", node: ids.a }));
    });
  });

  describe("knows an earlier head:", () => {
    it("as today's, as one that today's ledger extends, by its digits alone", async () => {
      const head = formatHead(brain.store.ledger.head());
      expect(verify({ head })).toMatchObject({ ok: true, relation: "head" });
      await brain.remember("something new");
      expect(verify({ head })).toMatchObject({ ok: true, relation: "extends" });
      expect(verify({ head: head.split(":")[1]?.slice(0, 16).toUpperCase() ?? "" })).toMatchObject({
        relation: "extends",
      });
    });

    it("not, when it is of no event here or no fingerprint at all", () => {
      expect(verify({ head: `e_12:${"ab".repeat(32)}` })).toMatchObject({ ok: false, relation: "unknown" });
      expect(() => verify({ head: "e_12:abc" })).toThrow("fingerprint");
      expect(() => verify({ head: "%".repeat(20) })).toThrow("fingerprint");
    });

    it("as a fork after the brain was restored from a backup", () => {
      const head = formatHead(brain.store.ledger.head());
      const cut = brain.store.ledger.head().seq;
      tamper((db) =>
        db.exec(`UPDATE ledger SET writing = NULL;
          INSERT INTO ledger (id, public_id, started_at, own, writing, first_seq, genesis, continues_id)
          SELECT 2, randomblob(10), 0, 1, 1, ${cut}, chain, 1 FROM event WHERE seq = ${cut - 1}`),
      );
      const reopened = Store.open(brain.path, brain.clock);
      expect(verifyHistory(reopened, { head })).toMatchObject({ ok: false, relation: "fork" });
      reopened.close();
    });
  });

  describe("a history that was forged from some event on, with a chain that fits", () => {
    it("passes alone, and is told by a head of before", async () => {
      const backup = join(mkdtempSync(join(tmpdir(), "dormouse-test-")), "brain.db");
      brain.store.connection.db.exec(`VACUUM INTO '${backup}'`);
      await brain.remember("what really happened");
      const head = formatHead(brain.store.ledger.head());
      expect(verify({ head })).toMatchObject({ ok: true, relation: "head" });
      const forged = createTestStore({ path: backup, clock: brain.clock });
      await forged.remember("what never happened");
      expect(verifyHistory(forged.store)).toMatchObject({ ok: true });
      expect(forged.store.ledger.head().seq).toBe(brain.store.ledger.head().seq);
      expect(verifyHistory(forged.store, { head })).toMatchObject({ ok: false, relation: "unknown" });
      forged.close();
      rmSync(join(backup, ".."), { recursive: true });
    });
  });
});

describe("a checkpoint", () => {
  const file = () => join(brain.path, "..", "point.json");
  const keyFile = () => join(brain.path, "..", "my.key");

  it("is signed by a key of its own making, which only its owner can read", () => {
    const made = writeCheckpoint(brain.store, file(), keyFile());
    expect(made).toMatchObject({ newKey: true, head: formatHead(brain.store.ledger.head()) });
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
    const read = readCheckpoint(brain.store, file(), made.fingerprint);
    expect(verify({ head: read.head })).toMatchObject({ ok: true, relation: "head" });
    expect(readFileSync(file(), "utf8")).not.toContain("flat");
    expect(writeCheckpoint(brain.store, `${file()}.2`, keyFile())).toMatchObject({
      newKey: false,
      fingerprint: made.fingerprint,
    });
  });

  it("is refused when it was changed, of another brain, of another key, or none", async () => {
    const { fingerprint } = writeCheckpoint(brain.store, file(), keyFile());
    const text = readFileSync(file(), "utf8");
    const other = createTestStore();
    expect(() => readCheckpoint(other.store, file(), undefined)).toThrow("another brain");
    other.close();
    expect(() => readCheckpoint(brain.store, file(), fingerprint.replace(/^./, "x"))).toThrow("another key");
    const changed = { ...JSON.parse(text), head: `e_1:${"ab".repeat(32)}` };
    writeFileSync(file(), JSON.stringify(changed));
    expect(() => readCheckpoint(brain.store, file(), undefined)).toThrow("signature");
    for (const nonsense of ["", "[]", "{", '{"format":"dormouse.checkpoint.v1"}']) {
      writeFileSync(file(), nonsense);
      expect(() => readCheckpoint(brain.store, file(), undefined)).toThrow("no checkpoint");
    }
  });

  it("is never written over a file, nor with a key that is none", () => {
    writeFileSync(file(), "mine");
    expect(() => writeCheckpoint(brain.store, file(), keyFile())).toThrow("is there already");
    expect(readFileSync(file(), "utf8")).toBe("mine");
    writeFileSync(`${keyFile()}.bad`, "not a key");
    expect(() => writeCheckpoint(brain.store, `${file()}.new`, `${keyFile()}.bad`)).toThrow("no Ed25519 private key");
  });

  it("tells a ledger that was cut after it", () => {
    writeCheckpoint(brain.store, file(), keyFile());
    tamper((db) => db.exec(`DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)`));
    const { head } = readCheckpoint(brain.store, file(), undefined);
    expect(verify({ head })).toMatchObject({ ok: false, relation: "unknown" });
  });
});
