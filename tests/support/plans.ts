/** Which tables and indexes the statements of a use-case walk through, as SQLite plans them. */
import { vi } from "vitest";
import type { Store } from "../../src/store/store.ts";

/** Plan lines of every statement that the use-case asked for, each under its statement. */
export function plansOf(
  store: Store,
  useCase: () => unknown,
): { readonly sql: string; readonly lines: readonly string[] }[] {
  const { connection } = store;
  const asked = new Set<string>();
  const spies = [vi.spyOn(connection, "sql"), vi.spyOn(connection, "values"), vi.spyOn(connection, "tuples")];
  try {
    useCase();
    for (const { mock } of spies) for (const [sql] of mock.calls) asked.add(sql);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return [...asked].map((sql) => ({
    sql,
    // A plan depends on no value here, and a statement without parameters needs none bound.
    lines: connection.db
      .prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll(/[@:]\w+|\?/g, "1")}`)
      .all()
      .map((row) => String((row as { detail: unknown }).detail)),
  }));
}

/** Statements that walk through a whole table of the brain. */
export function scansOf(plans: ReturnType<typeof plansOf>): string[] {
  const tables =
    /^SCAN (?:\w+ )?(?:node|leg|derivation|occurrence|link|event|transition|n|l|d|o|e|t|p|m)\b(?! USING (?:COVERING )?INDEX \w+ \()/;
  return plans.flatMap(({ sql, lines }) => lines.filter((line) => tables.test(line)).map((line) => `${line}: ${sql}`));
}
