/**
 * Leases: one holder at a time for work that must not run twice at once. A holder that died is replaced
 * once its lease ran out or its process is gone.
 */
import { MS_PER_MINUTE } from "../core/clock.ts";
import { DormouseError } from "../core/errors.ts";
import type { Connection } from "./connection.ts";
import { type HolderState, nameHolder, stateOfHolder } from "./lease-holder.ts";

/** Failures after which a lease is left to run out. */
const PASSING_FAILURES = new Set(["busy", "disk_full", "io"]);

export interface LeaseRow {
  readonly name: string;
  readonly holder: string;
  readonly pid: number;
  readonly acquiredAt: number;
  readonly expiresAt: number;
}

/** A lease that this process holds. */
export interface HeldLease {
  /** Renews it when a third of its time is gone. @throws DormouseError `lease_held` when another took it over. */
  keep(): void;
  /** Never fails for what passes: a lease that cannot be given back runs out, and the work's own result counts. */
  release(): void;
}

export class Leases {
  readonly #connection: Connection;
  readonly #now: () => number;

  constructor(connection: Connection, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  /**
   * Takes the lease for `durationMs`.
   * @throws DormouseError `lease_held`, naming the process that holds it and when the lease ends.
   */
  acquire(name: string, holder: string, durationMs: number): void {
    this.#connection.write(() => {
      const now = this.#now();
      const held = this.get(name);
      if (held !== null && held.holder !== holder && held.expiresAt > now) {
        const state = stateOfHolder(held.holder, held.pid);
        if (state !== "gone") throw heldError(held, state, now);
      }
      this.#connection
        .sql(
          `INSERT INTO lease (name, holder, pid, acquired_at, heartbeat_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, pid = excluded.pid,
             acquired_at = excluded.acquired_at, heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at`,
        )
        .run(name, holder, process.pid, now, now, now + durationMs);
    });
  }

  /** As `acquire`, for a holder that may be silent for `durationMs` at most between two calls of `keep`. */
  hold(name: string, durationMs: number): HeldLease {
    const holder = nameHolder();
    this.acquire(name, holder, durationMs);
    let renewedAt = this.#now();
    return {
      keep: () => {
        const isOld = Math.abs(this.#now() - renewedAt) > durationMs / 3;
        if (!isOld && this.get(name)?.holder === holder) return;
        this.renew(name, holder, durationMs);
        renewedAt = this.#now();
      },
      release: () => {
        try {
          this.release(name, holder);
        } catch (error) {
          if (!(error instanceof DormouseError) || !PASSING_FAILURES.has(error.code)) throw error;
        }
      },
    };
  }

  /** Lengthens a lease that is still ours. @throws DormouseError `lease_held` when another took it over, `busy`. */
  renew(name: string, holder: string, durationMs: number): void {
    this.#connection.write(() => {
      const now = this.#now();
      const { changes } = this.#connection
        .sql("UPDATE lease SET heartbeat_at = ?, expires_at = ? WHERE name = ? AND holder = ?")
        .run(now, now + durationMs, name, holder);
      if (changes === 0) throw new DormouseError("lease_held", `the lease "${name}" was taken over by another process`);
    });
  }

  /** Gives the lease back; one that another took over stays theirs. @throws DormouseError `busy` */
  release(name: string, holder: string): void {
    this.#connection.write(() => {
      this.#connection.sql("DELETE FROM lease WHERE name = ? AND holder = ?").run(name, holder);
    });
  }

  /** Id of the process that holds the lease now, or null. */
  runningHolder(name: string): number | null {
    const held = this.get(name);
    const isHeld = held !== null && held.expiresAt > this.#now() && stateOfHolder(held.holder, held.pid) !== "gone";
    return isHeld ? held.pid : null;
  }

  get(name: string): LeaseRow | null {
    return (
      this.#connection
        .sql<LeaseRow>(
          "SELECT name, holder, pid, acquired_at AS acquiredAt, expires_at AS expiresAt FROM lease WHERE name = ?",
        )
        .get(name) ?? null
    );
  }
}

/** Who holds it, where, for how long at most, and what to do about it. */
function heldError(held: LeaseRow, state: Exclude<HolderState, "gone">, now: number): DormouseError {
  const { name, pid, acquiredAt, expiresAt } = held;
  const where = state === "running" ? "" : " on another machine or in a container";
  const minutes = Math.max(1, Math.ceil((expiresAt - now) / MS_PER_MINUTE));
  const left = `${minutes} minute${minutes === 1 ? "" : "s"}`;
  return new DormouseError(
    "lease_held",
    `process ${pid}${where} has been at "${name}" since ${new Date(acquiredAt).toISOString()}; ` +
      `silent, it keeps the lease for ${left} more at most`,
    {
      hint:
        state === "running"
          ? `Wait for it to finish. When process ${pid} has ended, the next one takes over at once.`
          : `Wait for it to finish; if it was killed, the next one takes over in ${left}.`,
    },
  );
}
