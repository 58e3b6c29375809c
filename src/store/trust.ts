/**
 * What trust rests on: the standing legs of thoughts with the trust of their parents, and who rests on whom. Reads
 * only; trust changes through the ledger.
 */
import { batchesOf } from "../core/batches.ts";
import { BELIEFS } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { isLegInUse } from "./legs.ts";
import { unrecalled } from "./visibility.ts";

/** Beliefs from here on hold nothing up: held and rejected. */
const HELD = BELIEFS.indexOf("held");
/** Nodes whose edges one statement reads. */
const BATCH = 500;

/** A leg of which every parent stands. */
export interface WeighedLeg {
  readonly nodeId: number;
  readonly axiom: boolean;
  readonly parents: readonly { readonly id: number; readonly trust: number }[];
}

/** Thoughts next below any of these nodes, each once. */
export function childrenOf(connection: Connection, nodeIds: readonly number[]): number[] {
  const children = connection.values<number>(
    `SELECT DISTINCT d.child_id FROM json_each(?) wanted CROSS JOIN derivation d ON d.parent_id = wanted.value
     CROSS JOIN leg l ON l.id = d.leg_id WHERE ${isLegInUse("l")}`,
  );
  return [...new Set(batchesOf(nodeIds, BATCH).flatMap((batch) => children.all(JSON.stringify(batch))))];
}

/** The legs that hold these nodes up, those of a node together. */
export function* unbrokenLegs(connection: Connection, nodeIds: readonly number[]): Generator<WeighedLeg> {
  const rows = connection.tuples<
    [nodeId: number, legId: number, axiom: number, parentId: number | null, trust: number | null, stands: number | null]
  >(
    `SELECT l.node_id, l.id, l.axiom, p.id, p.trust,
       ${unrecalled("p")} AND p.erased_by IS NULL AND p.belief < ${HELD}
     FROM json_each(?) wanted CROSS JOIN leg l ON l.node_id = wanted.value
     LEFT JOIN derivation d ON d.leg_id = l.id LEFT JOIN node p ON p.id = d.parent_id
     WHERE ${isLegInUse("l")} ORDER BY l.node_id, l.id`,
  );
  for (const batch of batchesOf(nodeIds, BATCH)) {
    let leg: OpenLeg | undefined;
    for (const [nodeId, legId, axiom, parentId, trust, stands] of rows.all(JSON.stringify(batch))) {
      if (leg?.legId !== legId) {
        if (leg?.isWhole === true) yield leg;
        leg = { nodeId, legId, axiom: axiom === 1, isWhole: true, parents: [] };
      }
      if (parentId === null) continue;
      leg.parents.push({ id: parentId, trust: trust ?? 0 });
      if (stands !== 1) leg.isWhole = false;
    }
    if (leg?.isWhole === true) yield leg;
  }
}

interface OpenLeg extends WeighedLeg {
  readonly legId: number;
  readonly parents: { readonly id: number; readonly trust: number }[];
  isWhole: boolean;
}

/** Trust of nodes as their rows say it. */
export function trustOf(connection: Connection, nodeIds: readonly number[]): Map<number, number> {
  const rows = connection.tuples<[id: number, trust: number]>(
    "SELECT n.id, n.trust FROM json_each(?) wanted CROSS JOIN node n ON n.id = wanted.value",
  );
  return new Map(batchesOf(nodeIds, BATCH).flatMap((batch) => rows.all(JSON.stringify(batch))));
}
