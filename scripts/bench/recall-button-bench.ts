/**
 * The recall button: pulling back a tool that 10,000 thoughts of all years rest on, and a source with about 20 beneath
 * it, beside one recursive query with its UPDATE on a copy of the same file, each durable. And what the graph behind it
 * takes: bytes a node, and the time until it is there, from the file's rows and from its snapshot.
 */
import { copyFileSync } from "node:fs";
import Database from "better-sqlite3";
import * as sqliteVec from "sqlite-vec";
import { batchesOf } from "../../src/core/batches.ts";
import { systemClock } from "../../src/core/clock.ts";
import { commitRecall, unrecall } from "../../src/recall/recall.ts";
import { settleRecalls } from "../../src/remember/settle.ts";
import { Store } from "../../src/store/store.ts";
import { percentile } from "../statistics.ts";
import type { BenchReport, Progress } from "./figures.ts";
import { soakRecalls } from "./recall-soak.ts";
import type { BrainShelf } from "./shelf.ts";

/** Thoughts that rest on the tool, spread over the whole life of the brain. */
const TOOL_THOUGHTS = 10_000;
/** Thoughts beneath the small source. */
const FEW = 20;
/** Legs added in one transaction. */
const LEG_BATCH = 1_000;
const REPEATS = 7;
/** Recalls on random graphs, each against the fixpoint. */
const SOAKED = 100_000;

interface RecallFigures {
  readonly nodes: number;
  readonly removed: number;
  readonly commitMs: number;
  readonly settleMs: number;
  readonly undoMs: number;
  readonly baselineMs: number;
  /** With the vectors' flags, without which a search by vectors would still find what went. */
  readonly obeyedMs: number;
}

interface GraphFigures {
  readonly nodes: number;
  readonly bytesPerNode: number;
  readonly fromRowsMs: number;
  readonly fromSnapshotMs: number;
  readonly snapshotBytes: number;
}

/** @throws DormouseError as Store does. */
export async function benchRecallButton(
  shelf: BrainShelf,
  sizes: readonly number[],
  onProgress: Progress,
): Promise<BenchReport> {
  const recalls: RecallFigures[] = [];
  const graphs: GraphFigures[] = [];
  for (const nodes of sizes) {
    const path = shelf.pathOf(`recall-button-${nodes}.db`);
    const plainPath = shelf.pathOf(`recall-plain-${nodes}.db`);
    copyFileSync(await shelf.brainOf(nodes), path);
    onProgress(`a tool that thoughts among ${nodes} rest on`);
    const toolId = addTool(path);
    copyFileSync(path, plainPath);
    onProgress(`the graph of ${nodes} thoughts`);
    graphs.push(measureGraph(path, nodes));
    recalls.push(...measureRecalls(path, plainPath, { nodes, toolId, onProgress }));
  }
  onProgress(`${SOAKED} recalls against the fixpoint`);
  const soak = soakRecalls(SOAKED);
  return {
    name: "recall-button",
    title: "recall of sources with everything that rests on them, milliseconds",
    head: [
      "thoughts",
      "nodes taken",
      "recall, durable",
      "query + UPDATE",
      "times faster",
      "and vectors",
      "times faster",
      "aftermath",
      "undo",
    ],
    rows: recalls.map(({ nodes, removed, commitMs, baselineMs, obeyedMs, settleMs, undoMs }) => [
      String(nodes),
      String(removed),
      commitMs.toFixed(2),
      baselineMs.toFixed(1),
      (baselineMs / commitMs).toFixed(0),
      obeyedMs.toFixed(0),
      (obeyedMs / commitMs).toFixed(0),
      settleMs.toFixed(0),
      undoMs.toFixed(0),
    ]),
    notes: [
      `medians of ${REPEATS}; every reader obeys after the first column, the aftermath mirrors it into rows and vectors`,
      "query + UPDATE: one recursive query over derivation with its UPDATE, one durable transaction, same file, no guards",
      "and vectors: the same with the flags by which a search over vectors leaves them out, which ours obeys already",
      `${soak.recalls} recalls on random graphs with circles stand as the fixpoint says: ${soak.fell} nodes fell, ` +
        `${soak.cameBack} came back, ${soak.seconds.toFixed(1)} s`,
      ...graphs.map(
        ({ nodes, bytesPerNode, fromRowsMs, fromSnapshotMs, snapshotBytes }) =>
          `graph of ${nodes}: ${bytesPerNode.toFixed(1)} bytes a node; from rows ${fromRowsMs.toFixed(0)} ms, ` +
          `from its snapshot of ${(snapshotBytes / 2 ** 20).toFixed(1)} MiB ${fromSnapshotMs.toFixed(0)} ms`,
      ),
    ],
    figures: { recalls, graphs, soak },
  };
}

function measureGraph(path: string, nodes: number): GraphFigures {
  const { graphMs: fromRowsMs, bytesPerNode } = openGraph(path, true);
  const { graphMs: fromSnapshotMs, snapshotBytes } = openGraph(path, false);
  return { nodes, bytesPerNode, fromRowsMs, fromSnapshotMs, snapshotBytes };
}

/** Opens the brain and has its graph ready, keeping a snapshot for the next when asked. */
function openGraph(path: string, keepSnapshot: boolean) {
  const store = Store.open(path, systemClock);
  try {
    const started = performance.now();
    const graph = store.read(() => store.aliveness.current());
    const graphMs = performance.now() - started;
    const bytesPerNode = graph.bytes / graph.highestId;
    if (keepSnapshot) store.write(() => store.aliveness.saveSnapshot());
    const snapshotBytes = store.connection.values<number>("SELECT length(body) FROM graph_snapshot").get() ?? 0;
    return { graphMs, bytesPerNode, snapshotBytes };
  } finally {
    store.close();
  }
}

/**
 * Gives thoughts at even distances a further leg: what they rest on, together with a tool whose results they cite.
 * @returns the tool
 */
function addTool(path: string): number {
  const store = Store.open(path, systemClock);
  try {
    const highest = store.connection.values<number>("SELECT max(id) FROM node").get() ?? 0;
    const step = highest / TOOL_THOUGHTS;
    const wanted = Array.from({ length: TOOL_THOUGHTS }, (_, index) => Math.floor((index + 0.5) * step));
    const thoughtAt = store.connection.values<number>(
      "SELECT id FROM node WHERE id >= ? AND role = 1 ORDER BY id LIMIT 1",
    );
    const sourceOf = store.connection.values<number>(
      "SELECT parent_id FROM derivation WHERE child_id = ? AND parent_role = 0 LIMIT 1",
    );
    const tool = { type: "tool", key: "bench", name: "tool:bench", trust: "untrusted" } as const;
    const toolId = store.write(() => store.sources.intern(tool, store.scopes.loosest(), "extractor"));
    for (const ids of batchesOf(wanted, LEG_BATCH)) {
      store.write(() => {
        for (const id of ids) {
          const nodeId = thoughtAt.get(id) ?? 0;
          const parentIds = [sourceOf.get(nodeId) ?? toolId, toolId].sort((a, b) => a - b);
          const leg = { axiom: false, parentIds: [...new Set(parentIds)] };
          if (store.legs.find(nodeId, leg) !== null) continue;
          const payload = { node: store.thoughts.publicId(nodeId), legs: [store.legs.describe(leg)] };
          store.legs.insert(nodeId, leg, store.ledger.record({ kind: "leg.added", actor: "extractor", payload }));
        }
      });
    }
    return toolId;
  } finally {
    store.close();
  }
}

interface Subject {
  readonly nodes: number;
  readonly toolId: number;
  readonly onProgress: Progress;
}

function measureRecalls(path: string, plainPath: string, { nodes, toolId, onProgress }: Subject): RecallFigures[] {
  const store = Store.open(path, systemClock);
  const plain = openPlain(plainPath);
  try {
    return [toolId, smallSource(store)].map((rootId) => {
      const rootIds = [rootId];
      const target = { ids: [store.thoughts.publicId(rootId)] };
      const samples = Array.from({ length: REPEATS }, (_, round) => {
        onProgress(`recalling in ${nodes} thoughts, ${round + 1} of ${REPEATS}`);
        const { baselineMs, obeyedMs } = plain(rootIds);
        let event = "";
        let removed = 0;
        const commitMs = elapsed(() => {
          const committed = commitRecall(store, target, "strict");
          event = committed.event ?? "";
          removed = committed.plan.fallen.length;
        });
        const settleMs = elapsed(() => settleRecalls(store, "person"));
        const undoMs = elapsed(() => unrecall(store, event, "person"));
        return { baselineMs, obeyedMs, commitMs, settleMs, undoMs, removed };
      });
      const median = (pick: (sample: (typeof samples)[number]) => number) => percentile(samples.map(pick), 0.5);
      return {
        nodes,
        removed: samples[0]?.removed ?? 0,
        commitMs: median((sample) => sample.commitMs),
        settleMs: median((sample) => sample.settleMs),
        undoMs: median((sample) => sample.undoMs),
        baselineMs: median((sample) => sample.baselineMs),
        obeyedMs: median((sample) => sample.obeyedMs),
      };
    });
  } finally {
    store.close();
  }
}

/** The first source that about so few nodes rest on. */
function smallSource(store: Store): number {
  return store.read(() => {
    const graph = store.aliveness.current();
    for (const id of store.connection.values<number>("SELECT node_id FROM source ORDER BY node_id").all()) {
      const size = graph.preview([id], "strict").fallen.length;
      if (size > 0.8 * FEW && size < 1.2 * FEW) return id;
    }
    throw new Error(`no source has about ${FEW} nodes beneath it`);
  });
}

interface PlainTimes {
  readonly baselineMs: number;
  readonly obeyedMs: number;
}

/** What one would write without a graph in memory. The copy's triggers would refuse the UPDATE. */
function openPlain(path: string): (rootIds: readonly number[]) => PlainTimes {
  const db = new Database(path);
  sqliteVec.load(db);
  db.pragma("synchronous = FULL");
  db.pragma("cache_size = -32768");
  const triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'node'").pluck();
  for (const name of triggers.all()) db.exec(`DROP TRIGGER ${String(name)}`);
  const table = db.prepare("SELECT vec_table FROM embedding_model WHERE active = 1").pluck().get();
  const update = db.prepare(
    `WITH RECURSIVE reached (id) AS (
       SELECT value FROM json_each(?) UNION SELECT d.child_id FROM reached r JOIN derivation d ON d.parent_id = r.id)
     UPDATE node SET recalled_by = 1 WHERE id IN (SELECT id FROM reached)`,
  );
  const fallen = db.prepare("SELECT id FROM node WHERE recalled_by IS NOT NULL AND role = 1").pluck();
  const hide = db.prepare(`UPDATE ${String(table)} SET hidden = ? WHERE node_id = ?`);
  const hideAll = (hidden: bigint) => {
    for (const id of fallen.all() as number[]) hide.run(hidden, BigInt(id));
  };
  const giveBack = db.transaction(() => {
    hideAll(0n);
    db.exec("UPDATE node SET recalled_by = NULL WHERE recalled_by IS NOT NULL");
  });
  return (rootIds) => {
    const roots = JSON.stringify(rootIds);
    const baselineMs = elapsed(() => update.run(roots));
    giveBack();
    const obeyedMs = elapsed(() =>
      db.transaction(() => {
        update.run(roots);
        hideAll(1n);
      })(),
    );
    giveBack();
    return { baselineMs, obeyedMs };
  };
}

function elapsed(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}
