/**
 * Plain-text tables for the reports of eval and bench: the first column to the left, the others to the
 * right. Knows nothing of what the cells mean.
 */

/** Rows of equal or smaller width under the head; a missing cell is blank. Ends without a line break. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? "").length), title.length),
  );
  const formatRow = (row: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = row[column] ?? "";
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd();
  return [formatRow(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(formatRow)].join("\n");
}
