import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rebuildDerived } from "../../src/remember/rebuild.ts";
import { search } from "../../src/retrieve/search.ts";
import { checkIntegrity } from "../../src/store/integrity.ts";
import { createTestStore, type TestStore } from "../support/brain.ts";

let brain: TestStore;
beforeEach(async () => {
  brain = createTestStore();
  const [a] = await brain.remember("The lighthouse keeper retired", "The ferry leaves at nine", "A third thing");
  await brain.remember({ content: "Ask the keeper about the ferry", legs: [{ parents: [a?.id ?? ""] }] });
  await brain.remember({
    content: "The keeper waved",
    scope: "secret",
    occurrence: { source: { type: "session", key: "s", name: "s", trust: "trusted" } },
  });
});
afterEach(() => brain.close());

const failing = () => checkIntegrity(brain.store).filter(({ violations }) => violations > 0);

/** Runs SQL past every guard of the schema. */
const force = (...statements: string[]) => {
  const { db } = brain.store.connection;
  db.pragma("foreign_keys = OFF");
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  for (const statement of statements) db.exec(statement);
  for (const { sql } of triggers) db.exec(sql);
  db.pragma("foreign_keys = ON");
};

const vectors = () => brain.store.models.active()?.vecTable ?? "";

describe("the integrity checks", () => {
  it("pass on a sound brain, and there are more than fifteen of them", () => {
    expect(failing()).toEqual([]);
    expect(checkIntegrity(brain.store).length).toBeGreaterThan(15);
  });

  const breaks: [string, () => void][] = [
    [
      "full_text_row_missing",
      () => force("DELETE FROM full_text WHERE rowid = (SELECT max(id) FROM node WHERE role = 1)"),
    ],
    ["full_text_row_stray", () => force("INSERT INTO full_text (rowid, terms) VALUES (99999, 'stray')")],
    [
      "forward_index_row_missing",
      () => force("DELETE FROM forward_index WHERE node_id = (SELECT max(node_id) FROM forward_index)"),
    ],
    ["full_text_totals", () => force("UPDATE full_text_state SET documents = documents + 1")],
    ["full_text_analyser", () => force("UPDATE full_text_state SET analyser = 'another'")],
    [
      "vector_row_differs",
      () => force(`UPDATE ${vectors()} SET hidden = 1 WHERE node_id = (SELECT max(id) FROM node WHERE role = 1)`),
    ],
    [
      "vector_row_stray",
      () => {
        brain.store.connection
          .sql(
            `INSERT INTO ${vectors()} (node_id, cell, scope, kind, domain, hidden, embedding) VALUES (?, 0, ?, ?, ?, ?, vec_int8(?))`,
          )
          .run(88888n, 1n, 1n, 0n, 0n, Buffer.alloc(64));
      },
    ],
    [
      "vector_row_in_no_cell",
      () => {
        const { cells } = brain.store.vectors;
        const [row] = cells.rowsOf(0, 1);
        if (row === undefined) throw new Error("the brain has vectors");
        brain.store.write(() => {
          cells.add(row.vector);
          expect(cells.move(0, row, cells.open().ids[0] ?? 0)).toBe(true);
        });
        expect(failing()).toEqual([]);
        force("DELETE FROM vector_cell");
      },
    ],
    ["vector_cell_misshapen", () => force("INSERT INTO vector_cell (model_id, centroid) VALUES (1, zeroblob(7))")],
    [
      "recalled_differs_from_effects",
      () => force("UPDATE node SET recalled_by = 1 WHERE id = (SELECT max(id) FROM node WHERE role = 0)"),
    ],
    ["graph_snapshot_unreadable", () => force("INSERT INTO graph_snapshot VALUES (1, 1, x'00')")],
    [
      "permanent_but_decayed",
      () => force("UPDATE node SET permanence = 2, decayed = 1 WHERE id = (SELECT max(id) FROM node WHERE role = 1)"),
    ],
    [
      "merge_chain",
      () =>
        force(
          `UPDATE node SET merged_into = (SELECT min(id) FROM node WHERE role = 1) WHERE id = (SELECT max(id) FROM node WHERE role = 1);
           UPDATE node SET merged_into = (SELECT max(id) FROM node WHERE role = 1) WHERE id = (SELECT max(id) - 1 FROM node WHERE role = 1)`,
        ),
    ],
    [
      "merge_across_scopes",
      () =>
        force(
          `UPDATE node SET merged_into = (SELECT min(id) FROM node WHERE role = 1)
           WHERE id = (SELECT n.id FROM node n WHERE n.role = 1 ORDER BY n.scope_id DESC LIMIT 1)`,
        ),
    ],
    [
      "visible_without_leg",
      () => force("UPDATE leg SET ended_seq = 1 WHERE node_id = (SELECT min(id) FROM node WHERE role = 1)"),
    ],
    ["leg_without_parent", () => force("DELETE FROM derivation")],
    [
      "derivation_of_another_child",
      () => force("UPDATE derivation SET child_id = (SELECT min(id) FROM node WHERE role = 0)"),
    ],
    [
      "occurrence_of_another_node",
      () => force("UPDATE occurrence SET node_id = (SELECT max(id) FROM node WHERE role = 1) WHERE id = 1"),
    ],
    [
      "scope_looser_than_parents",
      () =>
        force(
          "UPDATE node SET scope_id = (SELECT max(id) FROM scope) WHERE id = (SELECT parent_id FROM derivation d JOIN node p ON p.id = d.parent_id AND p.role = 1)",
        ),
    ],
    [
      "state_differs_from_ledger",
      () => {
        const nodeId = brain.store.thoughts.idsAfter(0, 1)[0] ?? 0;
        brain.store.write(() =>
          brain.store.ledger.record({
            kind: "decayed",
            actor: "sleep",
            payload: {},
            changes: [{ nodeId, axis: "decayed", to: 1 }],
          }),
        );
        expect(failing()).toEqual([]);
        force(`UPDATE node SET decayed = 0 WHERE id = ${nodeId}`);
      },
    ],
    [
      "state_without_transition",
      () => force("UPDATE node SET belief = 1 WHERE id = (SELECT min(id) FROM node WHERE role = 1)"),
    ],
    ["row_beyond_ledger", () => force("UPDATE leg SET added_seq = 100000 WHERE id = 1")],
    [
      "erased_with_text",
      () => force("UPDATE node SET erased_by = 1 WHERE id = (SELECT min(id) FROM node WHERE role = 1)"),
    ],
    [
      "foreign_keys",
      () => force("UPDATE node SET content_id = 77777 WHERE id = (SELECT min(id) FROM node WHERE role = 1)"),
    ],
    ["ledger_chain", () => force("UPDATE event SET at = at + 1 WHERE seq = 5")],
  ];

  it.each(breaks)("name %s when it is broken on purpose", (name, breakIt) => {
    breakIt();
    expect(failing().map((check) => check.name)).toContain(name);
  });

  it("have a break for every check but the one of SQLite itself", () => {
    const names = checkIntegrity(brain.store).map(({ name }) => name);
    expect(names.filter((name) => !breaks.some(([broken]) => broken === name))).toEqual(["sqlite_file"]);
  });

  it("are all passed again after a rebuild of the derived indexes", async () => {
    const before = await search(brain.store, brain.embedder, "keeper ferry");
    force(
      "DELETE FROM forward_index",
      "INSERT INTO full_text (rowid, terms) VALUES (99999, 'stray')",
      "UPDATE full_text_state SET documents = 1",
      `DELETE FROM ${vectors()} WHERE node_id > 3`,
    );
    expect(failing().every(({ rebuildable }) => rebuildable)).toBe(true);
    expect(failing()).not.toEqual([]);
    await rebuildDerived(brain.store, brain.embedder);
    expect(failing()).toEqual([]);
    const after = await search(brain.store, brain.embedder, "keeper ferry");
    expect(after.results).toEqual(before.results);
  });
});
