/**
 * Tables of text: columns padded with spaces and no frames, so that both people and `awk` can read
 * them.
 */

export interface TableOptions {
  /** Columns (from 0) that hold numbers and are aligned to the right. */
  readonly right?: readonly number[];
}

/** Rows of cells as lines; the widths ignore colour codes. */
export function formatTable(rows: readonly (readonly string[])[], { right = [] }: TableOptions = {}): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell));
  return rows
    .map((row) =>
      row
        .map((cell, i) => {
          const padding = ' '.repeat(widths[i] - width(cell));
          if (right.includes(i)) return padding + cell;
          return i === row.length - 1 ? cell : cell + padding;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One line for each pair: the name, then the value. */
export function formatPairs(pairs: readonly (readonly [name: string, value: string])[]): string {
  return formatTable(pairs);
}

function width(cell: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colour codes are made of
  return cell.replace(/\u001b\[[0-9;]*m/g, '').length;
}
