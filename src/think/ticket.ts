/**
 * What a host agent gets with its material and gives back with its answer: which task, which thoughts under which
 * numbers, sealed with the brain's own key. Holds ids and no words; one that was made up or changed is refused.
 */
import { timingSafeEqual } from "node:crypto";
import { DormouseError } from "../core/errors.ts";
import type { Store } from "../store/store.ts";
import type { Material } from "./material.ts";
import { TASK_NAMES, type TaskName } from "./task-names.ts";

/** What a ticket says. */
export interface Ticket {
  readonly task: TaskName;
  /** Public id of the only session that is distilled; null for all. */
  readonly session: string | null;
  /** Public ids by number, counted from 1; empty where a number stood for nothing. */
  readonly items: readonly (readonly string[])[];
}

const FORM = /^([A-Za-z0-9_-]{1,20000})\.([0-9a-f]{32})$/;

/** The ticket of a material, as one word. */
export function writeTicket(store: Store, material: Material, session: string | null): string {
  const last = Math.max(0, ...material.items.map(({ number }) => number));
  const byNumber = new Map(material.items.map(({ number, nodeIds }) => [number, nodeIds]));
  const items = Array.from({ length: last }, (_, index) =>
    (byNumber.get(index + 1) ?? []).map((id) => store.thoughts.publicId(id)),
  );
  const body = Buffer.from(JSON.stringify({ task: material.task, session, items } satisfies Ticket)).toString(
    "base64url",
  );
  return `${body}.${seal(store, body)}`;
}

/** @throws DormouseError `invalid` for a ticket that this brain did not write */
export function readTicket(store: Store, text: string): Ticket {
  const [, body = "", given = ""] = FORM.exec(text.trim()) ?? [];
  const wanted = Buffer.from(seal(store, body));
  if (given.length !== wanted.length || !timingSafeEqual(Buffer.from(given), wanted)) {
    throw new DormouseError("invalid", "that ticket is not one of this brain", {
      hint: "Copy it whole from what --prepare printed for this brain.",
    });
  }
  const ticket: Ticket = JSON.parse(Buffer.from(body, "base64url").toString("utf8"));
  if (!TASK_NAMES.includes(ticket.task)) {
    throw new DormouseError("invalid", "that ticket is of a task that this version does not know");
  }
  return ticket;
}

function seal(store: Store, body: string): string {
  return store.digest("material", body).toString("hex");
}
